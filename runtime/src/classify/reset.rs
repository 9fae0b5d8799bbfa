//! When a limit ends: the forms in which CLIs say it.
//!
//! What is structured is preferred to a moment, a moment to a duration, a duration to a clock time.
//! Everything is read against a given moment and zone; a hint that cannot be read is no hint.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use regex::Regex;
use std::sync::LazyLock;

use super::scan::{Clock, Day, Scanner, Zone};
use super::table::{Resets, folded};
use crate::harness::ResetHint;

/// The farthest reset that is believed: a limit of a month, with a year's room for one that was written down.
const FARTHEST: SignedDuration = SignedDuration::from_hours(400 * 24);
/// The oldest reset that is believed. One that is past is of use, it says that nothing need be waited for;
/// but a much older one is another number.
const OLDEST: SignedDuration = SignedDuration::from_hours(3 * 366 * 24);
/// A clock time shows minutes: it is not past before its minute is.
const SHOWN: SignedDuration = SignedDuration::from_secs(60);
/// A date without a year is of the first year in which it is not longer past than this.
const JUST_PAST: SignedDuration = SignedDuration::from_hours(31 * 24);
/// Epochs above this are milliseconds; in seconds it is the year 5138.
const MILLISECONDS: i64 = 100_000_000_000;

/// What relative and local times are read against.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The moment at which the text was printed.
    pub now: Timestamp,
    /// The zone of a clock time that names none.
    pub zone: TimeZone,
}

/// Reads the reset of a failure text.
pub(super) fn in_text(text: &str, resets: &Resets, reference: &Reference) -> Option<Timestamp> {
    let text = folded(text);
    if resets.common
        && let Some(reset) = common(&text, reference)
    {
        return Some(reset);
    }
    resets.patterns.iter().find_map(|pattern| {
        let found = pattern.captures(&text)?;
        let part = found.get(1).or_else(|| found.get(0))?.as_str();
        common(part, reference).or_else(|| bare(part, reference))
    })
}

/// The moment of a structured hint.
pub(super) fn of_hint(hint: ResetHint, reference: &Reference) -> Option<Timestamp> {
    match hint {
        ResetHint::At(epoch) => at_epoch(epoch, reference),
        ResetHint::In(duration) => after(SignedDuration::try_from(duration).ok()?, reference),
    }
}

/// A JSON key, or a header, that holds a moment: epoch seconds, or RFC 3339.
static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:\b(?:resets?_?at|reset_?time|quotaResetTimeStamp)['"]?\s*[:=]\s*['"]?|\|)(?:([0-9]{10,13})\b|([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})))"#,
    )
});
/// A JSON key, or a header, that holds a number of seconds or a compact duration.
static DELAY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\b(?:resets?_in(?:_seconds)?|retry[-_]after(?:_seconds)?|retryDelay|quotaResetDelay)['"]?\s*[:=]\s*['"]?([0-9][0-9.a-z ]*)"#,
    )
});
/// The header with a date, as HTTP writes it.
static HTTP_DATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"\bretry-after['"]?\s*[:=]\s*['"]?([a-z]{3}, [0-9a-z: ]{18,22} GMT)"#)
});
/// The words before a time.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:resets?|try again|retry(?: again)?|wait|regain access|available(?: again)?|renews?|refreshes)\b:? ?",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("a test reads every form")
}

fn common(text: &str, reference: &Reference) -> Option<Timestamp> {
    let leads: Vec<usize> = LEAD.find_iter(text).map(|lead| lead.end()).collect();
    let rests = || leads.iter().map(|at| &text[*at..]);
    structured(text, reference)
        .or_else(|| rests().find_map(|rest| moment(rest, reference)))
        .or_else(|| rests().find_map(|rest| wait(rest, reference)))
        .or_else(|| rests().find_map(|rest| clock(rest, reference)))
}

/// A time that stands alone, where a pattern of a table pointed at it.
fn bare(text: &str, reference: &Reference) -> Option<Timestamp> {
    let text = text.trim();
    match text.parse() {
        Ok(epoch) if text.len() >= 10 => at_epoch(epoch, reference),
        _ => moment(text, reference)
            .or_else(|| wait(text, reference))
            .or_else(|| clock(text, reference)),
    }
}

fn structured(text: &str, reference: &Reference) -> Option<Timestamp> {
    if let Some(found) = MOMENT.captures(text) {
        let epoch = found.get(1).and_then(|digits| digits.as_str().parse().ok());
        let moment = match (epoch, found.get(2)) {
            (Some(epoch), _) => at_epoch(epoch, reference),
            (None, Some(written)) => sane(written.as_str().parse().ok()?, reference),
            (None, None) => None,
        };
        if moment.is_some() {
            return moment;
        }
    }
    if let Some(found) = HTTP_DATE.captures(text) {
        let date = jiff::fmt::rfc2822::parse(&found[1]).ok()?;
        return sane(date.timestamp(), reference);
    }
    let found = DELAY.captures(text)?;
    let delay = found[1].trim_end_matches(['.', ' ']);
    match delay.parse::<f64>() {
        Ok(seconds) => after(SignedDuration::try_from_secs_f64(seconds).ok()?, reference),
        Err(_) => after(Scanner::new(delay).duration()?, reference),
    }
}

/// A date and time with its offset: RFC 3339, or the same in words (`2026-02-01 at 00:00 UTC`).
fn moment(text: &str, reference: &Reference) -> Option<Timestamp> {
    let mut scanner = Scanner::new(text);
    scanner.prepositions();
    let date = scanner.iso_date()?;
    scanner.between_date_and_time();
    let time = scanner.time_of_day()?;
    let zone = scanner.zone();
    resolve(date.to_datetime(time), &zone, reference)
}

/// A duration: `in 5 days 22 hours`, `after 143h32m18s`.
fn wait(text: &str, reference: &Reference) -> Option<Timestamp> {
    let mut scanner = Scanner::new(text);
    scanner.prepositions();
    after(scanner.duration()?, reference)
}

/// A clock time with or without its day: `3:50pm (Europe/Paris)`, `May 5 at 10pm`, `Apr 28th, 2026 2:03 PM`.
fn clock(text: &str, reference: &Reference) -> Option<Timestamp> {
    let Clock { day, time, zone } = Scanner::new(text).clock()?;
    let named = time_zone(&zone, reference)?;
    let today = reference.now.to_zoned_datetime(named).date();
    let time = time.unwrap_or(Time::midnight());
    let at = |date: Date| resolve(date.to_datetime(time), &zone, reference);
    match day {
        Day::None => {
            let first = at(today)?;
            // In the hour that comes twice, the second one may still be ahead; `resolve` has chosen it.
            if first + SHOWN > reference.now {
                Some(first)
            } else {
                at(today.tomorrow().ok()?)
            }
        }
        Day::Tomorrow => at(today.tomorrow().ok()?),
        Day::Weekday(weekday) => {
            let ahead = i64::from(today.weekday().until(weekday));
            let first = at(today.checked_add(Span::new().days(ahead)).ok()?)?;
            if first + SHOWN > reference.now {
                Some(first)
            } else {
                at(today.checked_add(Span::new().days(ahead + 7)).ok()?)
            }
        }
        Day::Date {
            year: Some(year),
            month,
            day,
        } => at(Date::new(year, month, day).ok()?),
        Day::Date {
            year: None,
            month,
            day,
        } => {
            let years = [today.year() - 1, today.year(), today.year() + 1];
            let dates = years
                .into_iter()
                .filter_map(|year| Date::new(year, month, day).ok());
            let mut moments = dates.filter_map(at);
            moments.find(|moment| *moment + JUST_PAST > reference.now)
        }
    }
}

/// A civil time in its zone. In the hour that is left out it is the moment after; in the hour that comes twice
/// it is the first one that is not past.
fn resolve(civil: DateTime, zone: &Zone, reference: &Reference) -> Option<Timestamp> {
    let zone = time_zone(zone, reference)?;
    let ambiguous = zone.to_ambiguous_timestamp(civil);
    let earlier = ambiguous.compatible().ok()?;
    let is_past = earlier + SHOWN <= reference.now;
    let moment = match ambiguous.offset() {
        jiff::tz::AmbiguousOffset::Fold { .. } if is_past => ambiguous.later().ok()?,
        _ => earlier,
    };
    sane(moment, reference)
}

fn time_zone(zone: &Zone, reference: &Reference) -> Option<TimeZone> {
    match zone {
        Zone::None => Some(reference.zone.clone()),
        Zone::Offset(offset) => Some(TimeZone::fixed(*offset)),
        // The name of an unknown place must not become a time of this one.
        Zone::Named(name) => TimeZone::get(name).ok(),
    }
}

fn at_epoch(epoch: i64, reference: &Reference) -> Option<Timestamp> {
    let moment = if epoch > MILLISECONDS {
        Timestamp::from_millisecond(epoch)
    } else {
        Timestamp::from_second(epoch)
    };
    sane(moment.ok()?, reference)
}

fn after(wait: SignedDuration, reference: &Reference) -> Option<Timestamp> {
    let moment = reference.now.checked_add(wait).ok()?;
    if wait.is_negative() {
        return None;
    }
    sane(moment, reference)
}

fn sane(moment: Timestamp, reference: &Reference) -> Option<Timestamp> {
    let ahead = moment.duration_since(reference.now);
    (ahead <= FARTHEST && ahead >= -OLDEST).then_some(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(now: &str, zone: &str) -> Reference {
        Reference {
            now: now.parse().unwrap(),
            zone: TimeZone::get(zone).unwrap(),
        }
    }

    /// What is read from a text, as RFC 3339.
    fn read(text: &str, now: &str, zone: &str) -> String {
        let resets = Resets {
            common: true,
            patterns: Vec::new(),
        };
        let reset = in_text(text, &resets, &reference(now, zone));
        reset.map_or_else(|| "none".to_owned(), |reset| reset.to_string())
    }

    #[test]
    fn every_form_is_read() {
        let now = "2026-04-14T12:00:00Z";
        let cases = [
            ("resets 3:50pm (Europe/Paris)", "2026-04-14T13:50:00Z"),
            ("resets 5am (Australia/Sydney)", "2026-04-14T19:00:00Z"),
            ("resets 3pm (Etc/GMT+5)", "2026-04-14T20:00:00Z"),
            ("resets 9pm (Asia/Calcutta)", "2026-04-14T15:30:00Z"),
            ("resets 3pm (Nowhere/Atlantis)", "none"),
            (
                "resets May 5 at 10pm (Africa/Lagos)",
                "2026-05-05T21:00:00Z",
            ),
            ("resets Oct 31, 12am", "2026-10-31T00:00:00Z"),
            ("resets Jan 2, 12am", "2027-01-02T00:00:00Z"),
            (
                "Your limit will reset at 12am (America/Sao_Paulo).",
                "2026-04-15T03:00:00Z",
            ),
            ("Limits will reset at 9:30 AM", "2026-04-15T09:30:00Z"),
            (
                "limit to reset on April 20, 2026 at 2:00 AM or switch",
                "2026-04-20T02:00:00Z",
            ),
            ("usage limit reached|1777936568", "2026-05-04T23:16:08Z"),
            (r#"{"resetsAt":1777936568}"#, "2026-05-04T23:16:08Z"),
            (
                r#"{"resets_at":1777936568,"resets_in_seconds":5}"#,
                "2026-05-04T23:16:08Z",
            ),
            (r#"{"resets_at":1777936568000}"#, "2026-05-04T23:16:08Z"),
            (r#"{"resets_in_seconds":13872}"#, "2026-04-14T15:51:12Z"),
            ("try again at 1:16 PM.", "2026-04-14T13:16:00Z"),
            ("try again at 11:16 AM.", "2026-04-15T11:16:00Z"),
            (
                "or try again at Apr 28th, 2026 2:03 PM.",
                "2026-04-28T14:03:00Z",
            ),
            (
                "try again after July 3, 2026 at 5:45 PM.",
                "2026-07-03T17:45:00Z",
            ),
            (
                "try again in 5 days 22 hours 11 minutes.",
                "2026-04-20T10:11:00Z",
            ),
            (
                "try again in 2 hours. Please review",
                "2026-04-14T14:00:00Z",
            ),
            ("try again in 11 seconds", "2026-04-14T12:00:11Z"),
            ("Please wait 587 hours 33 minutes", "2026-05-08T23:33:00Z"),
            ("try again after 1 seconds", "2026-04-14T12:00:01Z"),
            ("retry in 15.002899939s", "2026-04-14T12:00:15.002899939Z"),
            ("Resets in 143h32m18s.", "2026-04-20T11:32:18Z"),
            ("will reset after 8h44m7s.", "2026-04-14T20:44:07Z"),
            ("resets in 3h 21min", "2026-04-14T15:21:00Z"),
            (r#""retryDelay": "34.5s""#, "2026-04-14T12:00:34.5Z"),
            (r#""quotaResetDelay":"1h2m""#, "2026-04-14T13:02:00Z"),
            (
                r#""quotaResetTimeStamp":"2026-04-15T01:02:03Z""#,
                "2026-04-15T01:02:03Z",
            ),
            (
                "regain access on 2026-05-01 at 00:00 UTC",
                "2026-05-01T00:00:00Z",
            ),
            ("retry-after: 120", "2026-04-14T12:02:00Z"),
            (
                "Retry-After: Wed, 15 Apr 2026 07:28:00 GMT",
                "2026-04-15T07:28:00Z",
            ),
            ("resets Thursday at 3pm", "2026-04-16T15:00:00Z"),
            ("resets tomorrow at 3pm", "2026-04-15T15:00:00Z"),
            ("Resets in <delay>.", "none"),
            ("try again later", "none"),
            ("total retry wait time: 59.32 seconds", "none"),
            ("exceeded retry limit, last status: 429", "none"),
            ("resets 25:00", "none"),
            ("resets 0pm", "none"),
            ("try again in 99999 days", "none"),
            (r#"{"resets_at":1077936568}"#, "none"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, now, "UTC"), expected, "{text}");
        }
    }

    #[test]
    fn a_clock_time_that_is_past_is_tomorrows() {
        let text = "resets 3pm";
        assert_eq!(
            read(text, "2026-04-14T14:59:59Z", "UTC"),
            "2026-04-14T15:00:00Z"
        );
        assert_eq!(
            read(text, "2026-04-14T15:00:30Z", "UTC"),
            "2026-04-14T15:00:00Z"
        );
        assert_eq!(
            read(text, "2026-04-14T15:01:00Z", "UTC"),
            "2026-04-15T15:00:00Z"
        );
        let text = "resets 12am";
        assert_eq!(
            read(text, "2026-12-31T23:59:59Z", "UTC"),
            "2027-01-01T00:00:00Z"
        );
        assert_eq!(
            read(text, "2027-01-01T00:00:00Z", "UTC"),
            "2027-01-01T00:00:00Z"
        );
        assert_eq!(
            read(text, "2027-01-01T00:02:00Z", "UTC"),
            "2027-01-02T00:00:00Z"
        );
        // The day is that of the named zone, not the host's.
        let text = "resets 1am (Pacific/Auckland)";
        assert_eq!(
            read(text, "2026-06-10T11:30:00Z", "America/New_York"),
            "2026-06-10T13:00:00Z"
        );
    }

    #[test]
    fn the_days_on_which_clocks_change_are_right() {
        // Berlin, 29 March 2026: 02:00 becomes 03:00. Tomorrow's 3pm is 23 hours after today's.
        let zone = "Europe/Berlin";
        let now = "2026-03-28T14:30:00Z";
        assert_eq!(read("resets 3pm", now, zone), "2026-03-29T13:00:00Z");
        // 02:30 does not exist; an hour later it is.
        let now = "2026-03-28T23:30:00Z";
        assert_eq!(read("resets 2:30am", now, zone), "2026-03-29T01:30:00Z");
        // 25 October 2026: 03:00 becomes 02:00, so that 02:30 comes twice.
        let now = "2026-10-24T23:30:00Z";
        assert_eq!(read("resets 2:30am", now, zone), "2026-10-25T00:30:00Z");
        let now = "2026-10-25T00:45:00Z";
        assert_eq!(read("resets 2:30am", now, zone), "2026-10-25T01:30:00Z");
        let now = "2026-10-25T01:45:00Z";
        assert_eq!(read("resets 2:30am", now, zone), "2026-10-26T01:30:00Z");
        // A duration counts hours, whatever clocks do.
        let now = "2026-10-24T23:30:00Z";
        assert_eq!(
            read("try again in 1 day", now, zone),
            "2026-10-25T23:30:00Z"
        );
    }

    #[test]
    fn a_date_without_a_year_is_the_next_or_just_past() {
        assert_eq!(
            read("resets Jan 2, 12am", "2026-12-30T00:00:00Z", "UTC"),
            "2027-01-02T00:00:00Z"
        );
        assert_eq!(
            read("resets Dec 31, 11pm", "2027-01-01T00:00:00Z", "UTC"),
            "2026-12-31T23:00:00Z"
        );
        assert_eq!(
            read("resets Feb 29, 1pm", "2028-02-20T00:00:00Z", "UTC"),
            "2028-02-29T13:00:00Z"
        );
        assert_eq!(
            read("resets Feb 30, 1pm", "2028-02-20T00:00:00Z", "UTC"),
            "none"
        );
    }

    #[test]
    fn every_minute_of_a_year_of_changes_gives_a_moment_within_a_day() {
        for zone in [
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Asia/Kolkata",
        ] {
            let mut now: Timestamp = "2026-01-01T00:07:00Z".parse().unwrap();
            while now < "2027-01-01T00:00:00Z".parse().unwrap() {
                let reset: Timestamp = read("resets 2:15am", &now.to_string(), zone)
                    .parse()
                    .unwrap();
                let ahead = reset.duration_since(now);
                assert!(
                    ahead > -SHOWN && ahead <= SignedDuration::from_hours(26),
                    "{now} {zone}"
                );
                now = now.checked_add(SignedDuration::from_mins(37)).unwrap();
            }
        }
    }
}
