//! Shapes as SVG text, all of it escaped, and the colours.

use crate::graph::widths::{Face, width};
use std::fmt::Write;

/// Writes shapes.
#[derive(Default)]
pub(crate) struct Pen {
    /// What is written so far.
    pub text: String,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Its left side.
    pub left: f64,
    /// Its top.
    pub top: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

impl Area {
    /// The same rectangle, moved.
    pub fn moved(self, x: f64, y: f64) -> Area {
        Area {
            left: self.left + x,
            top: self.top + y,
            ..self
        }
    }
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub class: &'static str,
    pub face: Face,
    pub size: f64,
}

pub(crate) const NAME: Style = Style {
    class: "name",
    face: Face::Bold,
    size: 13.0,
};
pub(crate) const KIND: Style = Style {
    class: "kind",
    face: Face::Regular,
    size: 11.0,
};
pub(crate) const DOC: Style = Style {
    class: "doc",
    face: Face::Regular,
    size: 11.0,
};
pub(crate) const FACT: Style = Style {
    class: "fact",
    face: Face::Regular,
    size: 11.0,
};
pub(crate) const WORK: Style = Style {
    class: "work",
    face: Face::Regular,
    size: 11.5,
};
pub(crate) const MEANS: Style = Style {
    class: "means",
    face: Face::Regular,
    size: 11.0,
};
pub(crate) const PHASE: Style = Style {
    class: "phase",
    face: Face::Bold,
    size: 10.5,
};
pub(crate) const STATE: Style = Style {
    class: "state",
    face: Face::Bold,
    size: 11.0,
};
pub(crate) const TITLE: Style = Style {
    class: "title",
    face: Face::Bold,
    size: 18.0,
};

impl Style {
    /// The width of a text in this style.
    pub fn width(self, text: &str) -> f64 {
        width(text, self.face, self.size)
    }
}

impl Pen {
    /// Raw SVG.
    pub fn raw(&mut self, svg: &str) {
        self.text.push_str(svg);
    }

    /// `<title>`: shown by browsers while the pointer rests on the shape.
    pub fn tooltip(&mut self, text: &str) {
        let _ = write!(self.text, "<title>{}</title>", escaped(text));
    }

    /// A rectangle with round corners.
    pub fn area(&mut self, class: &str, area: Area, radius: f64) {
        let _ = write!(
            self.text,
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" rx="{}"/>"#,
            Number(area.left),
            Number(area.top),
            Number(area.width),
            Number(area.height),
            Number(radius),
        );
    }

    /// A path.
    pub fn path(&mut self, class: &str, way: &str) {
        let _ = write!(self.text, r#"<path class="{class}" d="{way}"/>"#);
    }

    /// The tip of an arrow at a point, pointing down or up, right or left.
    pub fn tip(&mut self, class: &str, (x, y): (f64, f64), direction: Direction) {
        let (long, wide) = (TIP, 3.6);
        let ends = match direction {
            Direction::Down => [(x - wide, y - long), (x + wide, y - long)],
            Direction::Up => [(x - wide, y + long), (x + wide, y + long)],
            Direction::Right => [(x - long, y - wide), (x - long, y + wide)],
        };
        let [one, other] = ends;
        let way = format!(
            "M{} {}L{} {}L{} {}Z",
            Number(x),
            Number(y),
            Number(one.0),
            Number(one.1),
            Number(other.0),
            Number(other.1)
        );
        self.path(class, &way);
    }

    /// A line of text with its baseline at a point.
    pub fn words(&mut self, style: Style, (x, y): (f64, f64), text: &str) {
        let _ = write!(
            self.text,
            r#"<text class="{}" x="{}" y="{}">{}</text>"#,
            style.class,
            Number(x),
            Number(y),
            escaped(text),
        );
    }

    /// Opens a group at a place.
    pub fn open(&mut self, class: &str, x: f64, y: f64) {
        let _ = write!(
            self.text,
            r#"<g class="{class}" transform="translate({} {})">"#,
            Number(x),
            Number(y),
        );
    }

    /// Closes a group.
    pub fn close(&mut self) {
        self.raw("</g>\n");
    }
}

/// How long the tip of an arrow is.
pub(crate) const TIP: f64 = 7.0;

/// Where an arrow points.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    Down,
    Up,
    Right,
}

/// A number with at most one decimal.
pub(crate) struct Number(pub f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        match (tenths / 10, tenths % 10) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, part) => {
                let sign = if tenths < 0 { "-" } else { "" };
                write!(f, "{sign}{}.{}", whole.abs(), part.abs())
            }
        }
    }
}

/// Text for the inside of elements and attributes; what XML does not know is replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The colours, for light pages and for dark ones.
pub(crate) const THEME: &str = r#"<style>
.outpost-graph text{font-family:Helvetica,Arial,"Liberation Sans",sans-serif;font-size:11px;fill:#59636e}
.outpost-graph .title{font-size:18px;font-weight:700;fill:#1f2328}
.outpost-graph .name{font-size:13px;font-weight:700;fill:#1f2328}
.outpost-graph .work{font-size:11.5px;fill:#1f2328}
.outpost-graph .doc{font-style:italic}
.outpost-graph .phase{font-size:10.5px;font-weight:700}
.outpost-graph .state{font-weight:700}
.outpost-graph .paper{fill:#fff}
.outpost-graph .box{fill:#f6f8fa;stroke:#afb8c1}
.outpost-graph .back{fill:#eaeef2;stroke:#afb8c1}
.outpost-graph .inner{fill:#fff;stroke:#d1d9e0}
.outpost-graph .rule{fill:none;stroke:#d1d9e0}
.outpost-graph .edge{fill:none;stroke:#6e7781;stroke-width:1.4}
.outpost-graph .tip{fill:#6e7781;stroke:none}
.outpost-graph .order{stroke:#a9b2bb}
.outpost-graph .tip.order{fill:#a9b2bb;stroke:none}
.outpost-graph .soft{stroke-dasharray:5 4}
.outpost-graph .tip.soft{stroke-dasharray:none}
.outpost-graph .again{stroke:#8250df}
.outpost-graph .tip.again{fill:#8250df;stroke:none}
.outpost-graph .words-again{fill:#8250df}
.outpost-graph .task .bar{fill:#0969da}
.outpost-graph .loop .bar{fill:#8250df}
.outpost-graph .approval .bar,.outpost-graph .pause .bar{fill:#bf8700}
.outpost-graph .ask .bar{fill:#1b7c83}
.outpost-graph .race .bar{fill:#bf3989}
.outpost-graph .tasks .bar{fill:#6e7781}
.outpost-graph .approval>.box,.outpost-graph .pause>.box,.outpost-graph .ask>.box{fill:#fff8e5;stroke:#d4a72c}
.outpost-graph .is-done>.box{stroke:#1a7f37;stroke-width:1.8}
.outpost-graph .is-done>.state{fill:#1a7f37}
.outpost-graph .is-active>.box{stroke:#0969da;stroke-width:2.4}
.outpost-graph .is-active>.state{fill:#0969da}
.outpost-graph .is-failed>.box,.outpost-graph .is-rejected>.box{stroke:#cf222e;stroke-width:2.4}
.outpost-graph .is-failed>.state,.outpost-graph .is-rejected>.state{fill:#cf222e}
.outpost-graph .is-paused>.box,.outpost-graph .is-waiting-input>.box{stroke:#9a6700;stroke-width:2.4}
.outpost-graph .is-paused>.state,.outpost-graph .is-waiting-input>.state{fill:#9a6700}
.outpost-graph .is-skipped>.box,.outpost-graph .is-cancelled>.box{stroke-dasharray:4 3}
@media (prefers-color-scheme:dark){
.outpost-graph text{fill:#9198a1}
.outpost-graph .title,.outpost-graph .name,.outpost-graph .work{fill:#e6edf3}
.outpost-graph .paper{fill:#0d1117}
.outpost-graph .box{fill:#161b22;stroke:#484f58}
.outpost-graph .back{fill:#21262d;stroke:#484f58}
.outpost-graph .inner{fill:#0d1117;stroke:#30363d}
.outpost-graph .rule{stroke:#30363d}
.outpost-graph .edge{stroke:#8b949e}
.outpost-graph .tip{fill:#8b949e}
.outpost-graph .order{stroke:#565e67}
.outpost-graph .tip.order{fill:#565e67}
.outpost-graph .again{stroke:#a371f7}
.outpost-graph .tip.again,.outpost-graph .words-again{fill:#a371f7}
.outpost-graph .approval>.box,.outpost-graph .pause>.box,.outpost-graph .ask>.box{fill:#272115;stroke:#9e6a03}
.outpost-graph .is-done>.box{stroke:#3fb950}
.outpost-graph .is-done>.state{fill:#3fb950}
.outpost-graph .is-active>.box{stroke:#4493f8}
.outpost-graph .is-active>.state{fill:#4493f8}
.outpost-graph .is-failed>.box,.outpost-graph .is-rejected>.box{stroke:#f85149}
.outpost-graph .is-failed>.state,.outpost-graph .is-rejected>.state{fill:#f85149}
.outpost-graph .is-paused>.box,.outpost-graph .is-waiting-input>.box{stroke:#d29922}
.outpost-graph .is-paused>.state,.outpost-graph .is-waiting-input>.state{fill:#d29922}
}
</style>
"#;
