//! Quantities as text and back: durations, sizes, money.
//!
//! A duration is an `int` of milliseconds, a size an `int` of bytes, money a text; see [`crate::value`].

use std::cmp::Ordering;
use std::fmt;

/// Units of a duration and their milliseconds, the largest first.
pub const DURATION_UNITS: [(&str, i64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Units of a size and their bytes, the largest first.
pub const SIZE_UNITS: [(&str, i64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// Multipliers of a count: `20k`, `5M`.
pub const COUNT_UNITS: [(&str, i64); 2] = [("k", 1_000), ("M", 1_000_000)];

/// The milliseconds of `1h30m`: whole numbers with units, each unit once, the larger before the smaller.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut total: i64 = 0;
    let mut units = DURATION_UNITS.as_slice();
    if rest.is_empty() {
        return Err(not_a("duration", text, "30s` or `1h30m"));
    }
    while !rest.is_empty() {
        let (count, unit, after) =
            amount(rest).ok_or_else(|| not_a("duration", text, "30s` or `1h30m"))?;
        let place = units
            .iter()
            .position(|(name, _)| *name == unit)
            .ok_or_else(|| not_a("duration", text, "30s` or `1h30m"))?;
        total = count
            .checked_mul(units[place].1)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("the duration `{text}` is too long"))?;
        units = &units[place + 1..];
        rest = after;
    }
    Ok(if negative { -total } else { total })
}

/// A duration as text: `1h30m`, `500ms`, `0s`.
pub fn format_duration(milliseconds: i64) -> String {
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    let mut rest = milliseconds.unsigned_abs();
    if milliseconds < 0 {
        text.push('-');
    }
    for (unit, factor) in DURATION_UNITS {
        let count = rest / factor.unsigned_abs();
        rest %= factor.unsigned_abs();
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}

/// The bytes of `16MiB`: one whole number with a unit.
pub fn parse_size(text: &str) -> Result<i64, String> {
    let wrong = || not_a("size", text, "20KB` or `16MiB");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (count, unit, rest) = amount(digits).ok_or_else(wrong)?;
    let factor = SIZE_UNITS.iter().find(|(name, _)| *name == unit);
    let (_, factor) = factor.filter(|_| rest.is_empty()).ok_or_else(wrong)?;
    let bytes = count
        .checked_mul(*factor)
        .ok_or_else(|| format!("the size `{text}` is too large"))?;
    Ok(if negative { -bytes } else { bytes })
}

/// A size as text, in the largest unit that is exact: `16MiB`, `20KB`, `1001B`.
pub fn format_size(bytes: i64) -> String {
    let unit = SIZE_UNITS
        .iter()
        .find(|(_, factor)| bytes != 0 && bytes % factor == 0);
    match unit {
        Some((name, factor)) => format!("{}{name}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

/// A leading whole number (with `_` between digits) and the letters after it.
fn amount(text: &str) -> Option<(i64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '_')?;
    let number = &text[..digits];
    if number.is_empty() || number.starts_with('_') || number.ends_with('_') {
        return None;
    }
    let count = number.replace('_', "").parse().ok()?;
    let after = &text[digits..];
    let end = after
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(after.len());
    (end > 0).then(|| (count, &after[..end], &after[end..]))
}

fn not_a(what: &str, text: &str, example: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("`{shown}` is no {what} like `{example}`")
}

/// How many decimals an amount of money may have.
pub const MONEY_DECIMALS: usize = 6;

/// An amount of one currency, exact to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Money {
    millionths: i64,
    currency: [u8; 3],
}

impl Money {
    /// `2.50USD`: a decimal number with at most six decimals and three capitals.
    pub fn parse(text: &str) -> Result<Money, String> {
        let wrong = || not_a("amount of money", text, "2.50USD");
        let split = text.len().checked_sub(3).ok_or_else(wrong)?;
        if !text.is_char_boundary(split) {
            return Err(wrong());
        }
        let (number, letters) = text.split_at(split);
        let currency: [u8; 3] = letters.as_bytes().try_into().map_err(|_| wrong())?;
        if !currency.iter().all(u8::is_ascii_uppercase) {
            return Err(wrong());
        }
        let (negative, number) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let whole = whole.replace('_', "");
        if !digits(&whole) || !digits(part) {
            return Err(wrong());
        }
        if part.trim_end_matches('0').len() > MONEY_DECIMALS {
            return Err(format!("`{text}` has more than {MONEY_DECIMALS} decimals"));
        }
        let part = format!("{part:0<6}");
        let millionths = format!("{whole}{}", &part[..MONEY_DECIMALS])
            .parse::<i64>()
            .map_err(|_| format!("the amount `{text}` is too large"))?;
        Ok(Money {
            millionths: if negative { -millionths } else { millionths },
            currency,
        })
    }

    /// An amount in millionths of a currency of three capitals.
    pub fn new(millionths: i64, currency: &str) -> Option<Money> {
        let currency: [u8; 3] = currency.as_bytes().try_into().ok()?;
        let capitals = currency.iter().all(u8::is_ascii_uppercase);
        capitals.then_some(Money {
            millionths,
            currency,
        })
    }

    /// Millionths of the currency's unit.
    pub fn millionths(self) -> i64 {
        self.millionths
    }

    /// The currency: three capitals.
    pub fn currency(&self) -> &str {
        std::str::from_utf8(&self.currency).expect("three ASCII capitals")
    }

    /// The sum of two amounts of one currency.
    pub fn plus(self, other: Money) -> Result<Money, String> {
        self.same_currency(other)?;
        self.with(self.millionths.checked_add(other.millionths))
    }

    /// The difference of two amounts of one currency.
    pub fn minus(self, other: Money) -> Result<Money, String> {
        self.same_currency(other)?;
        self.with(self.millionths.checked_sub(other.millionths))
    }

    /// So many times the amount.
    pub fn times(self, factor: i64) -> Result<Money, String> {
        self.with(self.millionths.checked_mul(factor))
    }

    /// The price of so many tokens when this is the price of a million, rounded up to a millionth.
    pub fn per_million(self, tokens: u64) -> Result<Money, String> {
        let exact = i128::from(self.millionths) * i128::from(tokens);
        let rounded = exact.div_euclid(1_000_000) + i128::from(exact.rem_euclid(1_000_000) > 0);
        self.with(i64::try_from(rounded).ok())
    }

    /// Which of two amounts of one currency is larger.
    pub fn compare(self, other: Money) -> Result<Ordering, String> {
        self.same_currency(other)?;
        Ok(self.millionths.cmp(&other.millionths))
    }

    fn same_currency(self, other: Money) -> Result<(), String> {
        if self.currency == other.currency {
            return Ok(());
        }
        Err(format!(
            "`{}` and `{}` do not mix",
            self.currency(),
            other.currency()
        ))
    }

    fn with(self, millionths: Option<i64>) -> Result<Money, String> {
        let millionths = millionths.ok_or("the amount of money is too large")?;
        Ok(Money { millionths, ..self })
    }
}

impl fmt::Display for Money {
    /// At least two decimals, and as many more as are needed: `2.50USD`, `0.000125USD`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.millionths.unsigned_abs();
        let part = format!("{:06}", amount % 1_000_000);
        let part = match part.trim_end_matches('0') {
            short if short.len() < 2 => &part[..2],
            enough => enough,
        };
        let sign = if self.millionths < 0 { "-" } else { "" };
        write!(
            out,
            "{sign}{}.{part}{}",
            amount / 1_000_000,
            self.currency()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("20m", 1_200_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("-5m", -300_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(milliseconds), "{text}");
            assert_eq!(format_duration(milliseconds), text);
        }
        assert_eq!(parse_duration("90m"), Ok(5_400_000));
        assert_eq!(parse_duration("1_000s"), Ok(1_000_000));
        for text in [
            "",
            "-",
            "5",
            "m",
            "5M",
            "5 m",
            "1h5h",
            "5m1h",
            "1.5h",
            "1hh",
            "99999999999999d",
            "ü",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(format_duration(i64::MIN).starts_with("-106751991167d"));
    }

    #[test]
    fn sizes_take_the_largest_exact_unit() {
        for (text, bytes) in [
            ("16MiB", 16 << 20),
            ("20KB", 20_000),
            ("1001B", 1001),
            ("1KiB", 1024),
            ("3TB", 3_000_000_000_000),
            ("0B", 0),
            ("-1KB", -1000),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(format_size(bytes), text);
        }
        for text in ["", "5", "5kb", "5K", "1KB1B", "KB", "99999999999TB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn money_is_exact_and_does_not_mix() {
        for text in [
            "2.50USD",
            "0.000125EUR",
            "-0.01USD",
            "1000000.00JPY",
            "0.00USD",
        ] {
            assert_eq!(Money::parse(text).unwrap().to_string(), text);
        }
        let money = |text: &str| Money::parse(text).unwrap();
        assert_eq!(money("3USD").to_string(), "3.00USD");
        assert_eq!(money("1_000.5USD").to_string(), "1000.50USD");
        assert_eq!(
            money("0.10USD").plus(money("0.20USD")).unwrap(),
            money("0.30USD")
        );
        assert_eq!(money("0.10USD").times(3).unwrap(), money("0.30USD"));
        assert_eq!(money("1USD").minus(money("3USD")).unwrap(), money("-2USD"));
        assert_eq!(
            money("10USD").compare(money("9USD")).unwrap(),
            Ordering::Greater
        );
        assert_eq!(money("3USD").per_million(1).unwrap(), money("0.000003USD"));
        assert_eq!(
            money("0.50USD").per_million(1).unwrap(),
            money("0.000001USD")
        );
        let mixed = money("1USD").plus(money("1EUR")).unwrap_err();
        assert_eq!(mixed, "`USD` and `EUR` do not mix");
        assert!(money("9000000000000USD").times(2).is_err());
        for text in [
            "",
            "USD",
            "1usd",
            "1US",
            ".5USD",
            "1.USD",
            "1.1234567USD",
            "1 USD",
            "1e3USD",
            "€1",
            "99999999999999USD",
        ] {
            assert!(Money::parse(text).is_err(), "{text}");
        }
    }
}
