//! What a person sees while a run goes on: live lines at a terminal, plain lines in order elsewhere.
//!
//! It only shows what it is told; what a task does is folded from events by the caller.

mod screen;

use crate::terminal::{Style, Terminal, one_line};
use crate::words::elapsed;
use indicatif::{
    MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike,
};
use screen::Screen;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The most tasks with a live line of their own; the rest is counted.
const MAX_LINES: usize = 8;

/// How often live lines move.
const TICK: Duration = Duration::from_millis(120);

/// The most frames a second.
const FRAMES: u8 = 20;

/// Below this width a live line says only what matters most.
const NARROW: usize = 60;

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Nothing but errors, and the end.
    Quiet,
    /// What tasks do, and who works on them.
    Usual,
    /// Each call of a tool and each message of an agent, too.
    Calls,
    /// What tools give, what agents think, tokens.
    Everything,
}

impl Detail {
    /// From `-q`, and how often `-v` is given.
    pub fn of(quiet: bool, verbose: u8) -> Detail {
        match (quiet, verbose) {
            (true, _) => Detail::Quiet,
            (false, 0) => Detail::Usual,
            (false, 1) => Detail::Calls,
            (false, _) => Detail::Everything,
        }
    }
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has a value.
    Done,
    /// It has an error.
    Failed,
    /// It did not run.
    Skipped,
    /// It was stopped, or never started.
    Cancelled,
    /// It goes on with a later start.
    Paused,
    /// It was rejected at a gate.
    Rejected,
    /// It waits for an answer.
    WaitingInput,
}

impl Ending {
    /// The mark in front of its line, and its style.
    pub fn mark(self) -> (&'static str, Style) {
        match self {
            Ending::Done => ("✓", Style::Good),
            Ending::Failed | Ending::Rejected => ("✗", Style::Bad),
            Ending::Skipped | Ending::Cancelled => ("-", Style::Dim),
            Ending::Paused | Ending::WaitingInput => ("‖", Style::Warn),
        }
    }

    /// As words.
    pub fn words(self) -> &'static str {
        match self {
            Ending::Done => "done",
            Ending::Failed => "failed",
            Ending::Skipped => "skipped",
            Ending::Cancelled => "cancelled",
            Ending::Paused => "paused",
            Ending::Rejected => "rejected",
            Ending::WaitingInput => "waiting for an answer",
        }
    }
}

/// The display of a run in progress.
pub struct Progress {
    terminal: Terminal,
    detail: Detail,
    /// Active tasks, the oldest first.
    active: VecDeque<Active>,
    /// How many tasks have not started yet.
    waiting: usize,
    settled: usize,
    live: Option<Live>,
}

/// A task that is at work.
struct Active {
    key: String,
    /// Its stage, and what is done in it.
    doing: String,
    /// Tokens, or whatever else stands before the time.
    counted: String,
    since: Instant,
    /// Its live line, if it has one.
    line: Option<ProgressBar>,
}

/// The lines at the foot of a terminal.
struct Live {
    lines: MultiProgress,
    rest: ProgressBar,
}

impl Progress {
    /// Starts a display.
    pub fn start(terminal: Terminal, detail: Detail) -> Progress {
        let shows_lines = terminal.live && detail > Detail::Quiet;
        let live = shows_lines.then(|| {
            let lines = MultiProgress::with_draw_target(ProgressDrawTarget::term_like_with_hz(
                Box::new(Screen::default()),
                FRAMES,
            ));
            let rest = lines.add(ProgressBar::new_spinner());
            rest.set_style(style("  {msg}"));
            Live { lines, rest }
        });
        Progress {
            terminal,
            detail,
            active: VecDeque::new(),
            waiting: 0,
            settled: 0,
            live,
        }
    }

    /// How many tasks there are, once that is known.
    pub fn expect(&mut self, tasks: usize) {
        self.waiting = tasks.saturating_sub(self.settled + self.active.len());
        self.draw();
    }

    /// Whether lines are redrawn, so that what changes often may be shown.
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Whether a live line has room only for what matters most.
    pub fn is_narrow(&self) -> bool {
        self.terminal.width < NARROW
    }

    /// A task has come to a stage: `round 2, check`.
    pub fn task(&mut self, key: &str, stage: &str) {
        if self.live.is_none() {
            self.tell(Detail::Usual, &format!("{key}: {stage}"));
        }
        self.show(key, stage, "");
    }

    /// What the live line of a task says: what is done, and what has been counted.
    pub fn show(&mut self, key: &str, doing: &str, counted: &str) {
        let doing = one_line(doing, self.terminal.width.saturating_mul(2));
        match self.active.iter_mut().find(|task| task.key == key) {
            Some(task) => {
                task.doing = doing;
                counted.clone_into(&mut task.counted);
                if let Some(line) = &task.line {
                    task.write(line, &self.terminal);
                }
            }
            None => {
                self.waiting = self.waiting.saturating_sub(1);
                self.active.push_back(Active {
                    key: key.to_owned(),
                    doing,
                    counted: counted.to_owned(),
                    since: Instant::now(),
                    line: None,
                });
            }
        }
        self.draw();
    }

    /// A task has ended, with a reason if there is one to tell.
    pub fn settled(&mut self, key: &str, ending: Ending, reason: &str) {
        let at = self.active.iter().position(|task| task.key == key);
        let task = at.and_then(|at| self.active.remove(at));
        if task.is_none() {
            self.waiting = self.waiting.saturating_sub(1);
        }
        self.settled += 1;
        let took = task.as_ref().map(|task| elapsed(task.since.elapsed()));
        if let Some(line) = task.and_then(|task| task.line) {
            line.finish_and_clear();
        }
        let mut words = ending.words().to_owned();
        if let (Some(took), Ending::Done | Ending::Failed) = (took, ending) {
            words.push_str(&format!(" in {took}"));
        }
        if !reason.is_empty() {
            words.push_str(match ending {
                Ending::Skipped | Ending::Cancelled => ", ",
                Ending::Done
                | Ending::Failed
                | Ending::Paused
                | Ending::Rejected
                | Ending::WaitingInput => ": ",
            });
            words.push_str(&one_line(reason, self.terminal.width.saturating_mul(2)));
        }
        let line = match self.live {
            None => format!("{key}: {words}"),
            Some(_) => {
                let (mark, style) = ending.mark();
                let mark = self.terminal.paint(style, mark);
                format!("{mark} {} {words}", self.terminal.paint(Style::Bold, key))
            }
        };
        match ending {
            // The end of the run tells them again, with all that is known.
            Ending::Failed | Ending::Rejected => self.print(&line),
            Ending::Done
            | Ending::Skipped
            | Ending::Cancelled
            | Ending::Paused
            | Ending::WaitingInput => {
                if self.detail > Detail::Quiet {
                    self.print(&line);
                }
            }
        }
        self.draw();
    }

    /// Says something that belongs to no line, whatever is shown besides.
    pub fn say(&mut self, line: &str) {
        self.print(line);
    }

    /// Says something to those who want that much detail, cut to one line.
    pub fn tell(&mut self, detail: Detail, line: &str) {
        if self.detail < detail {
            return;
        }
        // What comes often takes one row of a terminal.
        let width = match self.live {
            Some(_) if detail > Detail::Usual => self.terminal.width,
            Some(_) | None => self.terminal.width.saturating_mul(2),
        };
        self.print(&one_line(line, width));
    }

    /// Says something that a person should know.
    pub fn warn(&mut self, line: &str) {
        if self.detail == Detail::Quiet {
            return;
        }
        let word = self.terminal.paint(Style::Warn, "warning:");
        let line = one_line(line, self.terminal.width.saturating_mul(2));
        self.print(&format!("{word} {line}"));
    }

    /// Takes the live lines away.
    pub fn finish(&mut self) {
        for task in &mut self.active {
            if let Some(line) = task.line.take() {
                line.finish_and_clear();
            }
        }
        if let Some(live) = self.live.take() {
            live.rest.finish_and_clear();
        }
    }

    fn print(&self, line: &str) {
        // A terminal or a log that is gone does not change the run.
        let _ = match &self.live {
            Some(live) => live.lines.println(line),
            // One write a line: standard error has no buffer.
            None => io::stderr().write_all(format!("{line}\n").as_bytes()),
        };
    }

    /// Gives lines to the oldest tasks, and counts the rest.
    fn draw(&mut self) {
        let Some(live) = &self.live else { return };
        let mut shown = self
            .active
            .iter()
            .filter(|task| task.line.is_some())
            .count();
        for task in &mut self.active {
            if task.line.is_some() || shown >= MAX_LINES {
                continue;
            }
            let line = ProgressBar::new_spinner().with_elapsed(task.since.elapsed());
            let line = live.lines.insert_before(&live.rest, line);
            line.set_style(live_style(self.terminal.color));
            task.write(&line, &self.terminal);
            line.enable_steady_tick(TICK);
            task.line = Some(line);
            shown += 1;
        }
        let more = self.active.len() - shown;
        let counts = [
            (more, "more active"),
            (self.waiting, "waiting"),
            (self.settled, "settled"),
        ];
        let words: Vec<String> = counts
            .iter()
            .filter(|(count, what)| *count > 0 || *what == "waiting")
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        // It must not be empty, nor fill its row: the cursor stays behind it.
        let room = self.terminal.width.saturating_sub(6);
        live.rest.set_message(one_line(&words.join(", "), room));
        live.rest.tick();
    }
}

impl Active {
    /// Writes its line. The bar cuts the message to what is left of the terminal's width.
    fn write(&self, line: &ProgressBar, terminal: &Terminal) {
        let key = terminal.paint(Style::Bold, &both_ends(&self.key, terminal.width / 3));
        let doing = terminal.paint(Style::Dim, &self.doing);
        line.set_message(format!("{key} {doing}"));
        line.set_prefix(match self.counted.is_empty() {
            true => String::new(),
            false => format!(" {}", self.counted),
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A name cut in its middle: names of related tasks differ at their ends.
fn both_ends(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let before = width / 2;
    let after = width.saturating_sub(before + 1);
    let start = name.chars().take(before);
    start
        .chain(['…'])
        .chain(name.chars().skip(length - after))
        .collect()
}

fn live_style(color: bool) -> ProgressStyle {
    let style = match color {
        true => style("{spinner:.cyan} {wide_msg}{prefix:.dim} {took:.dim}"),
        false => style("{spinner} {wide_msg}{prefix} {took}"),
    };
    style.with_key("took", |state: &ProgressState, to: &mut dyn fmt::Write| {
        // Tenths would only flicker.
        let took = Duration::from_secs(state.elapsed().as_secs());
        let _ = match took.as_secs() {
            seconds @ 0..10 => write!(to, "{seconds}s"),
            _ => write!(to, "{}", elapsed(took)),
        };
    })
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants of this file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(both_ends("audit", 5), "audit");
        assert_eq!(both_ends("audit-1", 5), "au…-1");
        assert_eq!(both_ends("audit-1", 1), "…");
        assert_eq!(both_ends("", 0), "");
    }

    #[test]
    fn how_much_is_shown_follows_the_flags() {
        let levels = [(true, 0), (false, 0), (false, 1), (false, 9)];
        assert_eq!(
            levels.map(|(quiet, verbose)| Detail::of(quiet, verbose)),
            [
                Detail::Quiet,
                Detail::Usual,
                Detail::Calls,
                Detail::Everything
            ]
        );
    }
}
