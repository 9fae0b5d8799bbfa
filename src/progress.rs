//! What a person sees while a run goes on: live lines at a terminal, plain lines in order elsewhere.
//!
//! It only shows what it is told; what a task does is folded from events by the caller.

use crate::terminal::{Style, Terminal, one_line};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The most tasks with a live line of their own; the rest is counted.
const MAX_LINES: usize = 8;

/// How often live lines move.
const TICK: Duration = Duration::from_millis(120);

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
    doing: String,
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
    pub fn start(terminal: Terminal) -> Progress {
        let live = terminal.live.then(|| {
            let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            let rest = lines.add(ProgressBar::new_spinner());
            rest.set_style(style("  {wide_msg}"));
            Live { lines, rest }
        });
        Progress {
            terminal,
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

    /// A task is at work on something: `round 2, check`. A known one changes its words.
    pub fn task(&mut self, key: &str, doing: &str) {
        let doing = one_line(doing, self.terminal.width.saturating_mul(2));
        if self.live.is_none() {
            self.print(&format!("{key}: {doing}"));
        }
        match self.active.iter_mut().find(|task| task.key == key) {
            Some(task) => {
                if let Some(line) = &task.line {
                    line.set_message(doing.clone());
                }
                task.doing = doing;
            }
            None => {
                self.waiting = self.waiting.saturating_sub(1);
                self.active.push_back(Active {
                    key: key.to_owned(),
                    doing,
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
        self.print(&line);
        self.draw();
    }

    /// Says something that belongs to no line.
    pub fn say(&mut self, line: &str) {
        self.print(line);
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
            line.set_style(match self.terminal.color {
                true => style("{spinner:.cyan} {prefix:.bold} {wide_msg:.dim} {elapsed:.dim}"),
                false => style("{spinner} {prefix} {wide_msg} {elapsed}"),
            });
            line.set_prefix(task.key.clone());
            line.set_message(task.doing.clone());
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
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        live.rest.set_message(words.join(", "));
        live.rest.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants of this file")
}

/// A duration as people say it: `0.4s`, `12s`, `3m 05s`, `2h 10m`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", duration.as_millis() as f64 / 1000.0),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = |ms| elapsed(Duration::from_millis(ms));
        assert_eq!(
            [shown(0), shown(1234), shown(61_000), shown(7_800_000)],
            ["0.0s", "1.2s", "1m 01s", "2h 10m"]
        );
    }
}
