//! How wide text is, without a font at hand.

/// The advance widths of Helvetica and the fonts made to its measure, U+0020 to U+007E, in thousandths of the size.
const REGULAR: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The same for its bold face.
const BOLD: [u16; 95] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667,
    611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556,
    278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
];

/// The face of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Upright or slanted.
    Regular,
    /// Bold.
    Bold,
}

/// The width of a text in a size.
pub(crate) fn width(text: &str, face: Face, size: f64) -> f64 {
    let thousandths: u64 = text.chars().map(|c| advance(c, face)).sum();
    thousandths as f64 * size / 1000.0
}

/// The start of a text that is not wider than `most`, with `…` if something is missing.
pub(crate) fn fitted(text: &str, face: Face, size: f64, most: f64) -> String {
    if width(text, face, size) <= most {
        return text.to_owned();
    }
    let limit = ((most - width("…", face, size)).max(0.0) / size * 1000.0) as u64;
    let mut used = 0;
    let mut kept = String::new();
    for c in text.chars() {
        used += advance(c, face);
        if used > limit {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// Breaks a text at spaces into lines that are not wider than `most`; the last one is cut.
pub(crate) fn wrapped(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.peek() {
        let longer = if line.is_empty() {
            (*word).to_owned()
        } else {
            format!("{line} {word}")
        };
        if line.is_empty() || width(&longer, Face::Regular, size) <= most {
            line = longer;
            words.next();
            continue;
        }
        if done.len() + 1 == lines {
            let rest: Vec<&str> = words.collect();
            line = format!("{line} {}", rest.join(" "));
            break;
        }
        done.push(std::mem::take(&mut line));
    }
    if !line.is_empty() {
        done.push(line);
    }
    done.iter()
        .map(|line| fitted(line, Face::Regular, size, most))
        .collect()
}

fn advance(c: char, face: Face) -> u64 {
    let table = match face {
        Face::Regular => &REGULAR,
        Face::Bold => &BOLD,
    };
    let ascii = (c as usize).checked_sub(0x20).and_then(|at| table.get(at));
    match ascii {
        Some(width) => u64::from(*width),
        None if columns(c) == 0 => 0,
        None if c == '…' || columns(c) == 2 => 1000,
        None if matches!(c, '\u{a0}'..='\u{24f}') => 600,
        None => 800,
    }
}

/// How many columns of a terminal a character takes: none for marks that combine, two for wide ones.
pub(crate) fn columns(c: char) -> usize {
    match c as u32 {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f | 0x20d0..=0x20ff => 0,
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0xa4cf | 0xac00..=0xd7a3 => 2,
        0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1f64f | 0x1f680..=0x1f6ff | 0x1f900..=0x1f9ff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The columns of a text.
pub(crate) fn columns_of(text: &str) -> usize {
    text.chars().map(columns).sum()
}
