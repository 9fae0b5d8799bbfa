//! Number literals: units, separators, ranges.

use crate::diagnostic::Diagnostic;
use crate::mistakes;
use crate::source::{Location, Span};
use crate::tree::{Number, NumberValue};

/// A number's digits: the whole part, the fraction, and how many digits the fraction has.
#[derive(Clone, Copy)]
struct Digits {
    whole: u128,
    fraction: u128,
    places: u32,
}

/// Milliseconds of each unit of time, from large to small.
const DURATIONS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Bytes of each unit of size.
const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Units that people write, and the ones that are meant.
const ALIASES: [(&str, &str); 40] = [
    ("msec", "ms"),
    ("millis", "ms"),
    ("milliseconds", "ms"),
    ("S", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("min", "m"),
    ("mins", "m"),
    ("minute", "m"),
    ("minutes", "m"),
    ("H", "h"),
    ("hr", "h"),
    ("hrs", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("D", "d"),
    ("day", "d"),
    ("days", "d"),
    ("K", "k"),
    ("thousand", "k"),
    ("mio", "M"),
    ("million", "M"),
    ("b", "B"),
    ("bytes", "B"),
    ("kb", "KB"),
    ("kB", "KB"),
    ("Kb", "KB"),
    ("mb", "MB"),
    ("Mb", "MB"),
    ("gb", "GB"),
    ("Gb", "GB"),
    ("kib", "KiB"),
    ("mib", "MiB"),
    ("gib", "GiB"),
    ("Ki", "KiB"),
    ("Mi", "MiB"),
    ("usd", "USD"),
    ("eur", "EUR"),
];

/// The value of a number as written.
pub(crate) fn decode(raw: &str, at: Location) -> Result<Number<'_>, Box<Diagnostic>> {
    let value = match decode_value(raw) {
        Ok(value) => value,
        Err(mistake) => return Err(Box::new(describe(mistake, raw, at))),
    };
    Ok(Number { raw, value })
}

/// Whether a word may be meant as the unit of a number before it.
pub(crate) fn is_unit(word: &str) -> bool {
    matches!(word, "k" | "M")
        || factor(&DURATIONS, word).is_some()
        || factor(&SIZES, word).is_some()
        || ALIASES.iter().any(|(alias, _)| *alias == word)
        || is_currency(word)
}

enum Mistake {
    /// The unit at this offset is none.
    Unit { from: usize, to: usize },
    /// The separators or parts are not as they should be; why.
    Form(&'static str),
    /// Too large, or finer than the unit allows; why.
    Range(&'static str),
}

fn describe(mistake: Mistake, raw: &str, at: Location) -> Diagnostic {
    match mistake {
        Mistake::Unit { from, to } => {
            let start = at.span.start as usize;
            let unit = Location::new(at.source, Span::new(start + from, start + to));
            let meant = ALIASES.iter().find(|(alias, _)| *alias == &raw[from..to]);
            let meant = meant.map(|(_, unit)| format!("{}{unit}{}", &raw[..from], &raw[to..]));
            mistakes::unknown_unit(unit, &raw[from..to], meant)
        }
        Mistake::Form(why) => mistakes::malformed_number(at, raw, why),
        Mistake::Range(why) => mistakes::number_range(at, raw, why),
    }
}

fn decode_value(raw: &str) -> Result<NumberValue<'_>, Mistake> {
    let (digits, length) = digits(raw)?;
    let unit = &raw[length..];
    if unit.is_empty() {
        return plain(raw, digits);
    }
    if !unit.bytes().all(|b| b.is_ascii_alphabetic()) {
        return compound(raw);
    }
    if let Some(millis) = factor(&DURATIONS, unit) {
        return duration(scale(digits, millis)?).map(NumberValue::Duration);
    }
    if let Some(bytes) = factor(&SIZES, unit) {
        let bytes = u64::try_from(scale(digits, bytes)?)
            .ok()
            .filter(|b| i64::try_from(*b).is_ok());
        return bytes
            .map(NumberValue::Size)
            .ok_or(Mistake::Range("it is too large"));
    }
    match unit {
        "k" => int(scale(digits, 1_000)?),
        "M" => int(scale(digits, 1_000_000)?),
        _ if is_currency(unit) => {
            let micros = i64::try_from(scale(digits, 1_000_000)?);
            let micros = micros.map_err(|_| Mistake::Range("it is too large"))?;
            Ok(NumberValue::Money {
                micros,
                currency: unit,
            })
        }
        _ => Err(Mistake::Unit {
            from: length,
            to: raw.len(),
        }),
    }
}

fn factor(table: &[(&str, u64)], unit: &str) -> Option<u64> {
    table
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
}

fn is_currency(unit: &str) -> bool {
    unit.len() == 3 && unit.bytes().all(|b| b.is_ascii_uppercase())
}

/// `1_000.25` at the start of a text, and its length.
fn digits(text: &str) -> Result<(Digits, usize), Mistake> {
    let bytes = text.as_bytes();
    let mut found = Digits {
        whole: 0,
        fraction: 0,
        places: 0,
    };
    let mut at = 0;
    let mut last = 0;
    let mut fractional = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                let part = if fractional {
                    &mut found.fraction
                } else {
                    &mut found.whole
                };
                let digit = u128::from(byte - b'0');
                *part = part
                    .checked_mul(10)
                    .and_then(|part| part.checked_add(digit))
                    .filter(|part| *part < 1 << 100)
                    .ok_or(Mistake::Range("it has too many digits"))?;
                found.places += u32::from(fractional);
            }
            b'_' if last == b'_' => return Err(Mistake::Form("a `_` stands between two digits")),
            b'_' => {}
            b'.' if fractional || last == b'_' => break,
            b'.' => fractional = true,
            _ => break,
        }
        last = byte;
        at += 1;
    }
    match last {
        b'_' => Err(Mistake::Form("a `_` stands between two digits")),
        _ => Ok((found, at)),
    }
}

fn plain(raw: &str, digits: Digits) -> Result<NumberValue<'_>, Mistake> {
    if !raw.contains('.') {
        return int(digits.whole);
    }
    let clean: String = raw.chars().filter(|c| *c != '_').collect();
    match clean.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(NumberValue::Float(value)),
        Ok(_) | Err(_) => Err(Mistake::Range("it is too large")),
    }
}

fn int<'s>(value: u128) -> Result<NumberValue<'s>, Mistake> {
    match i64::try_from(value) {
        Ok(value) => Ok(NumberValue::Int(value)),
        Err(_) => Err(Mistake::Range("an `int` has 64 bits")),
    }
}

fn duration(millis: u128) -> Result<u64, Mistake> {
    match i64::try_from(millis) {
        Ok(millis) => Ok(millis.unsigned_abs()),
        Err(_) => Err(Mistake::Range("it is too large")),
    }
}

/// The digits times a factor, which must come out whole.
fn scale(digits: Digits, factor: u64) -> Result<u128, Mistake> {
    let factor = u128::from(factor);
    let too_large = || Mistake::Range("it is too large");
    let power = 10_u128.checked_pow(digits.places).ok_or_else(too_large)?;
    let part = digits.fraction.checked_mul(factor).ok_or_else(too_large)?;
    if !part.is_multiple_of(power) {
        return Err(Mistake::Range("its fraction is finer than the unit allows"));
    }
    let whole = digits.whole.checked_mul(factor).ok_or_else(too_large)?;
    whole.checked_add(part / power).ok_or_else(too_large)
}

/// `1h30m`: whole numbers of units that get smaller.
fn compound(raw: &str) -> Result<NumberValue<'_>, Mistake> {
    let mut total = 0_u128;
    let mut at = 0;
    let mut smallest = u64::MAX;
    while at < raw.len() {
        if !raw.as_bytes()[at].is_ascii_digit() {
            return Err(Mistake::Form(
                "after a unit of time comes a number with a smaller one, as in `1h30m`",
            ));
        }
        let (number, length) = digits(&raw[at..])?;
        let from = at + length;
        let letters = raw[from..]
            .bytes()
            .take_while(u8::is_ascii_alphabetic)
            .count();
        let to = from + letters;
        let Some(millis) = factor(&DURATIONS, &raw[from..to]) else {
            return Err(match letters {
                0 => Mistake::Form("the last number has no unit"),
                _ if is_unit(&raw[from..to])
                    && factor(&DURATIONS, alias(&raw[from..to])).is_none() =>
                {
                    Mistake::Form("only units of time can be combined")
                }
                _ => Mistake::Unit { from, to },
            });
        };
        if millis >= smallest {
            return Err(Mistake::Form(
                "units of time go from large to small, each once",
            ));
        }
        smallest = millis;
        total += scale(number, millis)?;
        at = to;
    }
    duration(total).map(NumberValue::Duration)
}

fn alias(unit: &str) -> &str {
    ALIASES
        .iter()
        .find(|(alias, _)| *alias == unit)
        .map_or(unit, |(_, meant)| meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceId;

    fn value(raw: &str) -> String {
        let at = Location::new(SourceId(0), Span::new(0, raw.len()));
        match decode(raw, at) {
            Ok(number) => format!("{:?}", number.value),
            Err(mistake) => format!("{}: {}", mistake.code.0, mistake.message),
        }
    }

    #[test]
    fn plain_numbers() {
        assert_eq!(value("1_000"), "Int(1000)");
        assert_eq!(value("1.5"), "Float(1.5)");
        assert_eq!(value("9223372036854775807"), "Int(9223372036854775807)");
        assert!(value("9223372036854775808").starts_with("number-range"));
        assert!(value("1__0").starts_with("malformed-number"));
        assert!(value("1_").starts_with("malformed-number"));
    }

    #[test]
    fn units() {
        assert_eq!(value("20k"), "Int(20000)");
        assert_eq!(value("1.5M"), "Int(1500000)");
        assert_eq!(value("500ms"), "Duration(500)");
        assert_eq!(value("1h30m"), "Duration(5400000)");
        assert_eq!(value("1d2h3m4s5ms"), "Duration(93784005)");
        assert_eq!(value("16MiB"), "Size(16777216)");
        assert_eq!(value("20KB"), "Size(20000)");
        assert_eq!(
            value("2.50USD"),
            "Money { micros: 2500000, currency: \"USD\" }"
        );
    }

    #[test]
    fn wrong_units() {
        assert!(value("20min").starts_with("unknown-unit"));
        assert!(value("5x").starts_with("unknown-unit"));
        assert!(value("1h5h").starts_with("malformed-number"));
        assert!(value("1h30").starts_with("malformed-number"));
        assert!(value("1h2KB").starts_with("malformed-number"));
        assert!(value("0.5ms").starts_with("number-range"));
        assert!(value("1e5").starts_with("unknown-unit"), "{}", value("1e5"));
    }
}
