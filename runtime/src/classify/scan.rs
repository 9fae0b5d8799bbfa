//! Reading dates, clock times and durations as people write them.

use jiff::SignedDuration;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::Offset;

/// A clock time as written.
#[derive(Debug, PartialEq)]
pub(super) struct Clock {
    pub(super) day: Day,
    /// Nothing where only a day is given.
    pub(super) time: Option<Time>,
    pub(super) zone: Zone,
}

/// Which day a clock time is of.
#[derive(Debug, PartialEq)]
pub(super) enum Day {
    /// Not said: today or tomorrow.
    None,
    /// `tomorrow`.
    Tomorrow,
    /// `Thursday`.
    Weekday(Weekday),
    /// `Apr 28th, 2026`, `May 5`.
    Date {
        year: Option<i16>,
        month: i8,
        day: i8,
    },
}

/// Which zone a clock time is of.
#[derive(Debug, PartialEq)]
pub(super) enum Zone {
    /// Not said.
    None,
    /// `UTC`, `+02:00`.
    Offset(Offset),
    /// `(Europe/Paris)`.
    Named(String),
}

/// A place in a text.
pub(super) struct Scanner<'t> {
    rest: &'t str,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { rest: text }
    }

    /// Leaves out the little words before a time.
    pub(super) fn prepositions(&mut self) {
        while self.word(&["at", "on", "in", "after", "for", "until", "by", "about"]) {}
    }

    /// Leaves out what stands between a date and its time.
    pub(super) fn between_date_and_time(&mut self) {
        if self.rest.starts_with(['T', 't']) {
            self.rest = &self.rest[1..];
        }
        self.rest = self.rest.trim_start_matches([',', ' ']);
        self.word(&["at"]);
    }

    /// Numbers with units, up to the first thing that is none.
    pub(super) fn duration(&mut self) -> Option<SignedDuration> {
        let mut total: Option<SignedDuration> = None;
        loop {
            let start = self.rest;
            let part = self.duration_part();
            match part {
                Some(part) => total = Some(total.unwrap_or_default().checked_add(part)?),
                None => {
                    self.rest = start;
                    return total;
                }
            }
            self.rest = self.rest.trim_start_matches([',', ' ']);
            self.word(&["and"]);
        }
    }

    fn duration_part(&mut self) -> Option<SignedDuration> {
        self.spaces();
        let number = self.take(|each| each.is_ascii_digit() || each == '.');
        let number: f64 = number.trim_end_matches('.').parse().ok()?;
        self.spaces();
        let unit = self
            .take(|each| each.is_ascii_alphabetic())
            .to_ascii_lowercase();
        let seconds = match unit.as_str() {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            _ => return None,
        };
        SignedDuration::try_from_secs_f64(number * seconds).ok()
    }

    /// `2026-02-01`.
    pub(super) fn iso_date(&mut self) -> Option<Date> {
        let written = self.rest.get(..10)?;
        let date = written.parse().ok()?;
        // `20260201` is ten characters with what follows; only the form with hyphens is meant.
        if written.as_bytes()[4] != b'-' {
            return None;
        }
        self.rest = &self.rest[10..];
        Some(date)
    }

    /// A time with a colon, or with `am` or `pm`.
    pub(super) fn time_of_day(&mut self) -> Option<Time> {
        self.spaces();
        let hour: i8 = self.digits(2)?;
        let mut minute = 0;
        let mut second = 0;
        let has_colon = self.symbol(':');
        if has_colon {
            minute = self.exactly_two()?;
            if self.symbol(':') {
                second = self.exactly_two()?;
                if self.symbol('.') {
                    self.take(|each| each.is_ascii_digit());
                }
            }
        }
        let hour = match self.half() {
            Some(_) if !(1..=12).contains(&hour) => return None,
            Some(Half::Morning) => hour % 12,
            Some(Half::Afternoon) => hour % 12 + 12,
            None if has_colon => hour,
            None => return None,
        };
        Time::new(hour, minute, second, 0).ok()
    }

    /// A zone in brackets, or `UTC`, `GMT`, `Z` or an offset.
    pub(super) fn zone(&mut self) -> Zone {
        self.spaces();
        if let Some(inside) = self.rest.strip_prefix('(')
            && let Some((name, _)) = inside.split_once(')')
        {
            let is_name = |each: char| each.is_ascii_alphanumeric() || "_+-/".contains(each);
            return match name {
                "" => Zone::None,
                // Known on machines without a database of zones, too.
                "UTC" | "GMT" => Zone::Offset(Offset::UTC),
                _ if name.chars().all(is_name) => Zone::Named(name.to_owned()),
                // A remark, as `(in 2 hours)`.
                _ => Zone::None,
            };
        }
        if self.word(&["utc", "gmt", "z"]) {
            return Zone::Offset(Offset::UTC);
        }
        match self.offset() {
            Some(offset) => Zone::Offset(offset),
            None => Zone::None,
        }
    }

    fn offset(&mut self) -> Option<Offset> {
        let sign = match self.rest.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let hours = i32::from(self.exactly_two()?);
        self.symbol(':');
        let minutes = i32::from(self.exactly_two()?);
        Offset::from_seconds(sign * (hours * 60 + minutes) * 60).ok()
    }

    /// A clock time with or without a day, or a day alone.
    pub(super) fn clock(&mut self) -> Option<Clock> {
        self.prepositions();
        let day = self.day()?;
        self.between_date_and_time();
        let before = self.rest;
        let time = self.time_of_day();
        if time.is_none() {
            self.rest = before;
            if day == Day::None {
                return None;
            }
        }
        let zone = self.zone();
        Some(Clock { day, time, zone })
    }

    /// Nothing at all if a word that begins like a date does not go on like one.
    fn day(&mut self) -> Option<Day> {
        let before = self.rest;
        if let Some(date) = self.iso_date() {
            return Some(Day::Date {
                year: Some(date.year()),
                month: date.month(),
                day: date.day(),
            });
        }
        let word = self
            .take(|each| each.is_ascii_alphabetic())
            .to_ascii_lowercase();
        match word.as_str() {
            "" => return Some(Day::None),
            "today" => return Some(Day::None),
            "tomorrow" => return Some(Day::Tomorrow),
            _ => {}
        }
        let short = word.get(..3)?;
        if let Some(month) = MONTHS.iter().position(|name| *name == short) {
            self.rest = self.rest.trim_start_matches(['.', ' ']);
            let day = self.digits(2)?;
            self.word(&["st", "nd", "rd", "th"]);
            let year = self.year();
            let month = i8::try_from(month + 1).ok()?;
            return Some(Day::Date { year, month, day });
        }
        let weekday = WEEKDAYS.iter().find(|(name, _)| *name == short);
        if weekday.is_none() {
            self.rest = before;
        }
        weekday.map(|(_, weekday)| Day::Weekday(*weekday))
    }

    /// `, 2026`: four digits that no colon or `am` follows.
    fn year(&mut self) -> Option<i16> {
        let before = self.rest;
        self.rest = self.rest.trim_start_matches([',', ' ']);
        let digits = self.take(|each| each.is_ascii_digit());
        match digits.parse() {
            Ok(year) if digits.len() == 4 => Some(year),
            _ => {
                self.rest = before;
                None
            }
        }
    }

    fn half(&mut self) -> Option<Half> {
        let before = self.rest;
        self.spaces();
        let word = self.take(|each| each.is_ascii_alphabetic() || each == '.');
        let word = word.to_ascii_lowercase();
        match word.trim_end_matches('.').replace('.', "").as_str() {
            "am" => Some(Half::Morning),
            "pm" => Some(Half::Afternoon),
            _ => {
                self.rest = before;
                None
            }
        }
    }

    /// Takes one of these words, and the spaces after it.
    fn word(&mut self, words: &[&str]) -> bool {
        let rest = self.rest.trim_start_matches(' ');
        let end = rest
            .find(|each: char| !each.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let found = words
            .iter()
            .any(|word| rest[..end].eq_ignore_ascii_case(word));
        if found {
            self.rest = rest[end..].trim_start_matches(' ');
        }
        found
    }

    fn symbol(&mut self, symbol: char) -> bool {
        let after = self.rest.strip_prefix(symbol);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// A number of at most so many digits, and no more digits behind.
    fn digits(&mut self, most: usize) -> Option<i8> {
        let digits = self.take(|each| each.is_ascii_digit());
        (digits.len() <= most).then(|| digits.parse().ok())?
    }

    fn exactly_two(&mut self) -> Option<i8> {
        let two = self.rest.get(..2)?;
        let all_digits = two.bytes().all(|each| each.is_ascii_digit());
        self.rest = &self.rest[2..];
        all_digits.then(|| two.parse().ok())?
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|each| !belongs(each));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }
}

/// `am` and `pm`.
#[derive(Clone, Copy)]
enum Half {
    Morning,
    Afternoon,
}
