//! Healthy files at random: every form of the grammar, with comments and odd layout wherever they may stand.

/// Numbers that look random and are the same each time (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// A file of a seed.
pub fn file(seed: u64) -> String {
    let mut random = Random(seed);
    let mut writer = Writer {
        wild: random.one_in(2),
        random,
        text: String::new(),
        inline: 0,
        level: 0,
        fuel: 0,
    };
    if writer.random.one_in(8) {
        writer.text.push('\u{feff}');
    }
    writer.maybe_gap();
    for _ in 0..1 + writer.random.below(4) {
        writer.fuel = 60;
        writer.item();
        writer.new_line();
    }
    writer.maybe_gap();
    writer.text
}

/// The operators of each level, the lowest first; the level of comparisons does not chain.
const LEVELS: [&[&str]; 5] = [
    &["||"],
    &["&&"],
    &["==", "!=", "<", "<=", ">", ">=", "in", "as"],
    &["+", "-"],
    &["*", "/", "%"],
];
const COMPARISONS: usize = 2;
const SUMS: usize = 3;

struct Writer {
    random: Random,
    text: String,
    /// Inside so many texts of one line: no line break, no comment.
    inline: usize,
    /// How deep brackets are nested.
    level: usize,
    /// Whether blanks are odd.
    wild: bool,
    /// How many more forms may be nested in others.
    fuel: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Where white space may stand.
    fn maybe_gap(&mut self) {
        if self.wild && self.random.one_in(2) {
            self.gap();
        } else if self.random.one_in(2) {
            self.put(" ");
        }
    }

    /// Where white space must stand.
    fn gap(&mut self) {
        if !self.wild {
            self.put(" ");
            return;
        }
        for _ in 0..1 + self.random.below(2) {
            if self.inline > 0 {
                let blank = self.random.of(&[" ", "  ", "\t"]);
                self.put(blank);
                continue;
            }
            match self.random.below(9) {
                0 => {
                    let comment = self.random.of(&[
                        "# a comment",
                        "#",
                        "## of what follows",
                        "##",
                        "# \"quoted ${x} 'it",
                        "#: }, {",
                        "# grün 🦀  ",
                    ]);
                    self.put(" ");
                    self.put(comment);
                    self.new_line();
                }
                1 => {
                    self.new_line();
                    self.new_line();
                }
                2 => self.put("\t"),
                3 | 4 => self.new_line(),
                _ => self.put(" "),
            }
        }
    }

    /// White space without a line break.
    fn blank(&mut self) {
        let blank = self.random.of(&[" ", "  ", "\t"]);
        self.put(if self.wild { blank } else { " " });
    }

    fn new_line(&mut self) {
        if self.inline > 0 {
            self.put(" ");
            return;
        }
        let indent = match self.wild {
            true => self.random.below(9),
            false => self.level * 2,
        };
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    /// Between two entries: a line break, a blank, or a comma.
    fn between(&mut self) {
        if self.random.one_in(4) {
            self.maybe_gap();
            self.put(",");
            self.maybe_gap();
        } else if self.random.one_in(3) {
            self.gap();
        } else {
            self.new_line();
        }
    }

    /// Parts with commas between them, and now and then one behind the last.
    fn separated(&mut self, count: usize, mut part: impl FnMut(&mut Writer, usize)) {
        for at in 0..count {
            part(self, at);
            self.maybe_gap();
            if at + 1 < count || self.random.one_in(4) {
                self.put(",");
                self.maybe_gap();
            }
        }
    }

    fn few(&mut self, most: usize) -> usize {
        match self.fuel {
            0 => 0,
            _ => self.random.below(most + 1),
        }
    }

    /// Whether something may be nested here; it is counted.
    fn nests(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0 && self.level < 12
    }

    fn name(&mut self) {
        let name = self.random.of(&[
            "a",
            "b2",
            "fix-tests",
            "_x",
            "x-1",
            "snake_case",
            "Review",
            "iffy",
            "in-side",
            "reject",
            "use",
            "`0.lint`",
            "`a-`",
        ]);
        self.put(name);
    }

    fn word(&mut self) {
        let word = self
            .random
            .of(&["a", "b2", "fix-tests", "_x", "Review", "lists"]);
        self.put(word);
    }

    fn key(&mut self) {
        match self.random.below(6) {
            0 => self.line_text(),
            1 => {
                let key = self
                    .random
                    .of(&["in", "as", "for", "if", "when", "match", "list", "null"]);
                self.put(key);
            }
            _ => self.name(),
        }
    }

    fn item(&mut self) {
        if self.random.one_in(3) && self.inline == 0 {
            self.put("## A line of documentation.");
            self.new_line();
            if self.random.one_in(3) {
                self.put("##   Another one: `x`.");
                self.new_line();
            }
        }
        match self.random.below(9) {
            0 => self.import(),
            1 => {
                self.put("secret");
                self.gap();
                self.name();
            }
            2 => {
                self.put("type");
                self.gap();
                self.name();
                if self.random.one_in(3) {
                    self.maybe_gap();
                    self.object_type();
                } else {
                    self.maybe_gap();
                    self.put("=");
                    self.maybe_gap();
                    self.kind();
                }
            }
            3 => {
                self.put("fn");
                self.gap();
                self.name();
                self.maybe_gap();
                self.params();
                self.maybe_gap();
                self.put("->");
                self.maybe_gap();
                self.kind();
                self.maybe_gap();
                self.put("=");
                self.maybe_gap();
                self.expr();
            }
            _ => self.block(&[
                "workflow", "agent", "sandbox", "step", "test", "check", "extend",
            ]),
        }
    }

    fn import(&mut self) {
        self.put("use");
        self.gap();
        match self.random.below(3) {
            0 => self.put("std.checks"),
            1 => self.put("\"./team.outpost\""),
            _ => self.put("'./other team.outpost'"),
        }
        self.gap();
        if self.random.one_in(2) {
            self.put("as");
            self.gap();
            self.name();
            return;
        }
        self.put("{");
        self.maybe_gap();
        let count = self.few(3);
        for at in 0..count {
            self.name();
            if at + 1 < count {
                self.between();
            }
        }
        self.maybe_gap();
        self.put("}");
    }

    fn block(&mut self, keywords: &[&str]) {
        let keyword = self.random.of(keywords);
        self.put(keyword);
        match self.random.below(5) {
            0 => self.maybe_gap(),
            1 => {
                self.maybe_gap();
                self.line_text();
                self.maybe_gap();
            }
            2 => {
                self.maybe_gap();
                self.list();
                self.maybe_gap();
            }
            _ => {
                self.gap();
                self.name();
                self.maybe_gap();
            }
        }
        if self.random.one_in(3) {
            self.params();
            self.maybe_gap();
        }
        if self.random.one_in(4) {
            self.gap();
            self.put("for");
            self.each();
        }
        self.maybe_gap();
        self.put("{");
        self.level += 1;
        self.entries();
        self.level -= 1;
        self.maybe_gap();
        self.put("}");
    }

    /// ` x in list`.
    fn each(&mut self) {
        self.gap();
        self.name();
        self.gap();
        self.put("in");
        self.gap();
        self.expr();
    }

    fn params(&mut self) {
        self.put("(");
        self.maybe_gap();
        let count = self.few(3);
        self.separated(count, |writer, _| {
            writer.name();
            writer.maybe_gap();
            writer.put(":");
            writer.maybe_gap();
            writer.kind();
            if writer.random.one_in(2) {
                writer.maybe_gap();
                writer.put("=");
                writer.maybe_gap();
                writer.expr();
            }
        });
        self.put(")");
    }

    fn entries(&mut self) {
        let count = self.few(4);
        self.maybe_gap();
        for at in 0..count {
            self.entry();
            match at + 1 < count {
                true => self.between(),
                false if self.random.one_in(6) => self.put(","),
                false => {}
            }
        }
    }

    fn entry(&mut self) {
        match self.random.below(9) {
            0 => self.block(&[
                "task", "loop", "attempt", "check", "run", "retry", "command",
            ]),
            1 => {
                self.put("reject");
                self.gap();
                self.expr();
                self.gap();
                self.put("when");
                self.gap();
                self.expr();
            }
            2 => {
                self.put("accept");
                self.gap();
                self.put("when");
                self.gap();
                self.expr();
            }
            3 => {
                self.put("expect");
                self.gap();
                self.expr();
            }
            4 => {
                self.put("input");
                self.gap();
                self.name();
                self.maybe_gap();
                self.put(":");
                self.maybe_gap();
                self.kind();
                if self.random.one_in(2) {
                    self.maybe_gap();
                    self.put("=");
                    self.maybe_gap();
                    self.expr();
                }
            }
            _ => {
                self.key();
                self.maybe_gap();
                self.put(":");
                self.maybe_gap();
                self.expr();
            }
        }
    }

    /// Any expression.
    fn expr(&mut self) {
        self.level += 1;
        match self.random.below(12) {
            0 if self.nests() => self.coalesce(),
            1 if self.nests() => self.conditional(),
            2 if self.nests() => self.choice(),
            3 => self.kind(),
            _ => {
                let level = self.random.below(LEVELS.len() + 1);
                self.chain(level);
            }
        }
        self.level -= 1;
    }

    /// `a ?? b`, whose operands are no comparisons.
    fn coalesce(&mut self) {
        self.chain(SUMS);
        for _ in 0..1 + self.random.below(2) {
            self.gap();
            self.put("??");
            self.maybe_gap();
            self.chain(SUMS);
        }
    }

    fn conditional(&mut self) {
        self.put("if");
        self.gap();
        for _ in 0..self.random.below(3) {
            self.expr();
            self.gap();
            self.put("then");
            self.gap();
            self.expr();
            self.gap();
            self.put("else");
            self.gap();
            self.put("if");
            self.gap();
        }
        self.expr();
        self.gap();
        self.put("then");
        self.gap();
        self.expr();
        self.gap();
        self.put("else");
        self.gap();
        self.chain(0);
    }

    fn choice(&mut self) {
        self.put("match");
        self.gap();
        self.chain(0);
        self.maybe_gap();
        self.put("{");
        self.maybe_gap();
        let count = self.few(3);
        self.separated(count, |writer, _| {
            match writer.random.below(4) {
                0 => writer.put("_"),
                1 => writer.kind(),
                _ => writer.chain(SUMS),
            }
            // `!=>` would be read as `!=`.
            match writer.text.ends_with('!') {
                true => writer.gap(),
                false => writer.maybe_gap(),
            }
            writer.put("=>");
            writer.maybe_gap();
            writer.expr();
        });
        self.put("}");
    }

    /// Operators of this level and the higher ones.
    fn chain(&mut self, level: usize) {
        let Some(operators) = LEVELS.get(level) else {
            self.operand();
            return;
        };
        self.chain(level + 1);
        let most = match level {
            COMPARISONS => 1,
            _ => 2,
        };
        let count = match self.random.one_in(3) && self.nests() {
            true => 1 + self.random.below(most),
            false => 0,
        };
        for _ in 0..count {
            let operator = self.random.of(operators);
            // A word operator stands on the line of its left operand; `-` must not touch a name, nor `?` a `?`.
            match operator {
                "in" | "as" => self.blank(),
                _ => self.gap(),
            }
            self.put(operator);
            match operator {
                "as" => {
                    self.gap();
                    self.kind_part();
                }
                "in" => {
                    self.gap();
                    self.chain(level + 1);
                }
                "-" => {
                    self.gap();
                    self.chain(level + 1);
                }
                _ => {
                    self.maybe_gap();
                    self.chain(level + 1);
                }
            }
        }
    }

    fn operand(&mut self) {
        if self.random.one_in(6) {
            let prefix = self.random.of(&["!", "-", "!!", "-!", "--"]);
            self.put(prefix);
        }
        self.primary();
        while self.random.one_in(3) && self.nests() {
            self.postfix();
        }
    }

    fn postfix(&mut self) {
        self.level += 1;
        match self.random.below(6) {
            0 => {
                self.put(".");
                self.name();
            }
            1 => {
                // `??.` would be an operator.
                let sign = if self.text.ends_with('?') { "." } else { "?." };
                self.put(sign);
                self.name();
            }
            2 => {
                self.put("[");
                self.maybe_gap();
                self.expr();
                self.maybe_gap();
                self.put("]");
            }
            3 | 4 => {
                self.put("(");
                self.maybe_gap();
                let count = self.few(3);
                self.separated(count, |writer, _| match writer.random.below(4) {
                    0 => {
                        writer.name();
                        writer.maybe_gap();
                        writer.put(":");
                        writer.maybe_gap();
                        writer.expr();
                    }
                    1 => writer.spread(),
                    _ => writer.expr(),
                });
                self.put(")");
            }
            _ => {
                let sign = self.random.of(&["!", "?"]);
                if !self.text.ends_with('?') || sign == "!" {
                    self.put(sign);
                }
            }
        }
        self.level -= 1;
    }

    fn spread(&mut self) {
        self.put("...");
        self.maybe_gap();
        self.expr();
    }

    fn primary(&mut self) {
        self.level += 1;
        let most = if self.nests() { 14 } else { 5 };
        match self.random.below(most) {
            0 | 1 => self.word(),
            2 => self.number(),
            3 => self.line_text(),
            4 => {
                let word = self.random.of(&["true", "false", "null", "`0.lint`"]);
                self.put(word);
            }
            5 | 6 => self.list(),
            7 | 8 => self.object(),
            9 => {
                self.put("(");
                self.maybe_gap();
                self.expr();
                self.maybe_gap();
                self.put(")");
            }
            10 => self.template(),
            11 => self.text_block(),
            12 => self.raw_block(),
            _ => self.word(),
        }
        self.level -= 1;
    }

    fn number(&mut self) {
        let number = self.random.of(&[
            "0", "17", "1_000", "1.5", "20k", "5M", "500ms", "1h30m", "2d", "20KB", "16MiB",
            "2.50USD",
        ]);
        self.put(number);
    }

    fn list(&mut self) {
        self.put("[");
        self.level += 1;
        self.maybe_gap();
        if self.random.one_in(4) {
            self.expr();
            self.gap();
            self.put("for");
            self.each();
            if self.random.one_in(2) {
                self.gap();
                self.put("if");
                self.gap();
                self.expr();
            }
            self.maybe_gap();
        } else {
            let count = self.few(3);
            self.separated(count, |writer, _| match writer.random.one_in(5) {
                true => writer.spread(),
                false => writer.expr(),
            });
        }
        self.level -= 1;
        self.put("]");
    }

    fn object(&mut self) {
        self.put("{");
        self.level += 1;
        self.maybe_gap();
        let count = self.few(3);
        for at in 0..count {
            let last = at + 1 == count;
            match self.random.below(5) {
                0 => {
                    self.word();
                    if !last {
                        self.maybe_gap();
                        self.put(",");
                        self.maybe_gap();
                        continue;
                    }
                }
                1 => self.spread(),
                _ => {
                    self.key();
                    if self.random.one_in(6) {
                        self.put("?");
                    }
                    self.maybe_gap();
                    self.put(":");
                    self.maybe_gap();
                    self.expr();
                }
            }
            if !last {
                self.between();
            }
        }
        self.level -= 1;
        self.maybe_gap();
        self.put("}");
    }

    /// A type, alternatives included.
    fn kind(&mut self) {
        self.kind_part();
        for _ in 0..self.few(2) {
            self.maybe_gap();
            self.put("|");
            self.maybe_gap();
            self.kind_part();
        }
    }

    fn kind_part(&mut self) {
        self.level += 1;
        let most = if self.nests() { 9 } else { 4 };
        match self.random.below(most) {
            0 | 1 => self.word(),
            2 => self.put("null"),
            3 => self.put("\"low\""),
            4 | 5 => {
                let generic = self.random.of(&["list", "map"]);
                self.put(generic);
                self.maybe_gap();
                self.put("<");
                self.maybe_gap();
                self.kind();
                self.maybe_gap();
                self.put(">");
            }
            6 => self.object_type(),
            7 => {
                self.put("(");
                self.maybe_gap();
                self.kind();
                self.maybe_gap();
                self.put(")");
            }
            _ => self.put("team.Review"),
        }
        if self.random.one_in(4) {
            self.put("?");
        }
        self.level -= 1;
    }

    fn object_type(&mut self) {
        self.put("{");
        self.maybe_gap();
        let count = self.few(3);
        for at in 0..count {
            self.key();
            if self.random.one_in(3) {
                self.put("?");
            }
            self.maybe_gap();
            self.put(":");
            self.maybe_gap();
            self.kind();
            if at + 1 < count {
                self.between();
            }
        }
        self.maybe_gap();
        self.put("}");
    }

    /// A text on one line without holes.
    fn line_text(&mut self) {
        let text = self.random.of(&[
            r#""""#,
            r#""plain""#,
            r#""it's # no {comment}""#,
            r#""a \"quote\" \\ \n \r \t \u{1F980}""#,
            r#""$HOME costs 5$""#,
            r#""\${x}""#,
            "'raw ${x} \\d+'",
            "''",
            "\"tab\there\"",
        ]);
        self.put(text);
    }

    fn template(&mut self) {
        self.inline += 1;
        self.put("\"");
        for _ in 0..1 + self.random.below(2) {
            let run = self.random.of(&["", "a ", "\\n", "$", " # "]);
            // A `$` before the `${` of a hole is text.
            self.put(run);
            self.hole();
        }
        self.put("\"");
        self.inline -= 1;
    }

    fn hole(&mut self) {
        self.put("${");
        self.maybe_gap();
        self.expr();
        self.maybe_gap();
        self.put("}");
    }

    fn text_block(&mut self) {
        if self.inline > 0 {
            self.line_text();
            return;
        }
        self.block_of(
            "\"\"\"",
            &[
                "",
                "text",
                "  more",
                "# no comment",
                "\\n \\\"",
                "a $ 'b'",
                "'''",
                "\ttab",
                "end  ",
            ],
            true,
        );
    }

    fn raw_block(&mut self) {
        if self.inline > 0 {
            self.line_text();
            return;
        }
        self.block_of(
            "'''",
            &["", "raw ${x}", "  more", "\\d+", "\"\"\"", "# no"],
            false,
        );
    }

    fn block_of(&mut self, delimiter: &str, lines: &[&str], holes: bool) {
        // The lines of a block are indented more than the line of its opener.
        let line = self.text.rfind('\n').map_or(0, |at| at + 1);
        let opening = self.text[line..].trim_start_matches('\u{feff}');
        let blanks = opening
            .bytes()
            .take_while(|byte| matches!(byte, b' ' | b'\t'));
        let outer: usize = blanks.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum();
        let indent = " ".repeat(outer + 1 + self.random.below(4));
        self.put(delimiter);
        for _ in 0..self.random.below(4) {
            self.put("\n");
            let line = self.random.of(lines);
            if line.is_empty() {
                if self.random.one_in(2) {
                    self.put(&indent);
                }
                continue;
            }
            self.put(&indent);
            self.put(line);
            if holes && self.random.one_in(3) && self.nests() {
                self.inline += 1;
                self.hole();
                self.inline -= 1;
            }
        }
        self.put("\n");
        self.put(&indent);
        self.put(delimiter);
    }
}
