//! A sheet of characters on which lines join where they meet.

use crate::graph::widths::columns;

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// The glyph for each set of directions.
const GLYPHS: [char; 16] = [
    ' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼',
];

#[derive(Clone, Copy)]
enum Cell {
    /// Lines to these sides; dashed if all of them are.
    Line(u8, bool),
    /// A character.
    Text(char),
    /// The second half of a wide character.
    Covered,
}

/// A sheet of characters.
pub(crate) struct Canvas {
    width: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    /// An empty sheet.
    pub fn new(width: usize, height: usize) -> Canvas {
        Canvas {
            width,
            cells: vec![Cell::Line(0, true); width * height],
        }
    }

    /// A vertical line; both ends stop in the middle of their cells.
    pub fn vertical(&mut self, x: usize, top: usize, bottom: usize, dashed: bool) {
        for y in top..bottom {
            self.join(x, y, DOWN, dashed);
            self.join(x, y + 1, UP, dashed);
        }
    }

    /// A horizontal line; both ends stop in the middle of their cells.
    pub fn horizontal(&mut self, y: usize, left: usize, right: usize, dashed: bool) {
        for x in left..right {
            self.join(x, y, RIGHT, dashed);
            self.join(x + 1, y, LEFT, dashed);
        }
    }

    /// The frame of a box.
    pub fn frame(&mut self, left: usize, top: usize, width: usize, height: usize) {
        let (right, bottom) = (left + width - 1, top + height - 1);
        self.horizontal(top, left, right, false);
        self.horizontal(bottom, left, right, false);
        self.vertical(left, top, bottom, false);
        self.vertical(right, top, bottom, false);
    }

    /// Text from a place on; what is not on the sheet is left out.
    pub fn text(&mut self, x: usize, y: usize, text: &str) {
        let mut x = x;
        for c in text.chars() {
            let width = columns(c);
            if width == 0 || x + width > self.width {
                continue;
            }
            self.put(x, y, Cell::Text(c));
            if width == 2 {
                self.put(x + 1, y, Cell::Covered);
            }
            x += width;
        }
    }

    /// The lines, without spaces at their ends.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for row in self.cells.chunks(self.width.max(1)) {
            let start = text.len();
            text.extend(row.iter().filter_map(|cell| match *cell {
                Cell::Line(directions, true) if directions == UP | DOWN => Some('┆'),
                Cell::Line(directions, true) if directions == LEFT | RIGHT => Some('┄'),
                Cell::Line(directions, _) => Some(GLYPHS[usize::from(directions)]),
                Cell::Text(c) => Some(c),
                Cell::Covered => None,
            }));
            let end = start + text[start..].trim_end().len();
            text.truncate(end);
            text.push('\n');
        }
        text
    }

    fn put(&mut self, x: usize, y: usize, cell: Cell) {
        if x < self.width
            && let Some(place) = self.cells.get_mut(y * self.width + x)
        {
            *place = cell;
        }
    }

    fn join(&mut self, x: usize, y: usize, direction: u8, dashed: bool) {
        if x < self.width
            && let Some(Cell::Line(directions, dashes)) = self.cells.get_mut(y * self.width + x)
        {
            *directions |= direction;
            *dashes &= dashed;
        }
    }
}
