//! The arguments: every command, its options and its help. The only file that knows clap.

use crate::progress::Detail;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Compile and run .outpost workflows
///
/// A workflow drives coding agents and commands, saves every step, and goes on where it stopped.
#[derive(Debug, Parser)]
#[command(
    name = "outpostc",
    version,
    propagate_version = false,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Examples:
  outpostc check                        look for mistakes in every workflow of the project
  outpostc run release.outpost          run a workflow
  outpostc resume --last                go on with the newest unfinished run
  outpostc logs --last tests            read what a task printed"
)]
pub struct Arguments {
    /// Use colours: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub color: ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// As the environment and the stream say.
    Auto,
    /// Whatever they say.
    Always,
    /// Not at all.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Check(CheckArguments),
    Fmt(FmtArguments),
    Graph(GraphArguments),
    Plan(PlanArguments),
    Diff(DiffArguments),
    Run(RunArguments),
    Resume(ResumeArguments),
    Runs(RunsArguments),
    Status(StatusArguments),
    Events(EventsArguments),
    Logs(LogsArguments),
    Explain(ExplainArguments),
    Std(StdArguments),
    Schema(SchemaArguments),
    Classify(ClassifyArguments),
    Doctor(DoctorArguments),
}

/// Find everything that can be known before a run
///
/// Reads the files and what they import, and runs nothing.
/// Without PATH it reads every .outpost file of the project that Git does not ignore.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc check
  outpostc check ci.outpost workflows/
  outpostc check --deny warnings --format github
  outpostc check --fix

Exit codes: 0 nothing found, 1 something found, 2 wrong usage")]
pub struct CheckArguments {
    /// Files, or folders to search
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Choose the form of the diagnostics
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: ReportFormat,
    /// Fail on these too
    #[arg(long, value_name = "WHAT")]
    pub deny: Option<Deny>,
    /// Mend the mistakes whose mend is certain, in imported files too, then check again
    #[arg(long)]
    pub fix: bool,
    /// Say how much was checked and how long it took
    #[arg(long)]
    pub stats: bool,
}

/// Write files in their canonical form
///
/// Comments and meaning stay. A file with mistakes of form is refused, and the mistakes are shown.
/// Without PATH it formats every .outpost file of the project that Git does not ignore.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc fmt
  outpostc fmt ci.outpost workflows/
  outpostc fmt --check
  outpostc fmt - < ci.outpost

Exit codes: 0 done, 1 with --check a file is not in its canonical form,
2 a file has mistakes of form, or wrong usage")]
pub struct FmtArguments {
    /// Files, or folders to search; - formats standard input to standard output
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write nothing; print what would change, and fail if anything would
    #[arg(long)]
    pub check: bool,
}

/// Draw a workflow, or a run with the states of its tasks
///
/// A run is drawn over its file as it is now.
/// Arrows go from a task to those that wait for it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc graph ci.outpost
  outpostc graph release.outpost publish --format svg > publish.svg
  outpostc graph release.outpost --collapse
  outpostc graph --last")]
pub struct GraphArguments {
    /// The file of the workflow, or a run: its id, or a prefix that fits no other
    #[arg(value_name = "FILE|RUN", required_unless_present = "last")]
    pub target: Option<PathBuf>,
    /// The workflow, if the file has several
    #[arg(value_name = "WORKFLOW")]
    pub workflow: Option<String>,
    /// Draw the newest unfinished run of the project
    #[arg(long, conflicts_with = "target")]
    pub last: bool,
    /// Draw each called workflow as a single box
    #[arg(long)]
    pub collapse: bool,
    /// Choose the form of the picture
    #[arg(long, value_name = "FORMAT", default_value = "ascii")]
    pub format: GraphFormat,
}

/// The forms of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// Boxes of characters, or a list where they do not fit.
    Ascii,
    /// An SVG document.
    Svg,
    /// Mermaid, as Markdown renders it.
    Mermaid,
    /// Graphviz.
    Dot,
    /// One JSON object.
    Json,
}

/// Say what would run, and how much of it at most
///
/// Order, attempts, turns of agents, time, what it touches and who decides. Nothing runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc plan ci.outpost
  outpostc plan release.outpost publish --format json")]
pub struct PlanArguments {
    /// The file of the workflow
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The workflow, if the file has several
    #[arg(value_name = "WORKFLOW")]
    pub workflow: Option<String>,
    /// Choose the form of the plan
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Say whether a run of OLD can go on with NEW, task by task
///
/// Layout, comments, names of files and the order of declarations do not count.
/// For a run as OLD it is what `resume --plan` says.
/// Between two files every task is judged as if it were done: an edited body needs a choice, and what it waits for cannot change.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc diff HEAD:ci.outpost ci.outpost
  outpostc diff v1.2:ci.outpost main:ci.outpost --workflow nightly
  outpostc diff k3x9 ci.outpost --format json

Exit codes: 0 compatible, 2 a file has errors, 5 incompatible or needs a choice")]
pub struct DiffArguments {
    /// A file, a file at a Git revision (REV:PATH), or a run
    #[arg(value_name = "OLD")]
    pub old: String,
    /// A file, or a file at a Git revision (REV:PATH)
    #[arg(value_name = "NEW")]
    pub new: String,
    /// The workflow, if the files have several
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// Choose the form of the verdict
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// The forms of diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// With excerpts, for people.
    Human,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
}

/// What else fails a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// Warnings.
    Warnings,
}

/// The forms of other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}

/// The forms of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventFormat {
    /// A line of words for each.
    Human,
    /// A line of JSON for each.
    Ndjson,
}

/// Start a new run of a workflow
///
/// The output goes to standard output as one line of JSON, everything else to standard error.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc run fix.outpost
  outpostc run release.outpost publish --input version=1.2 --input dry=true
  outpostc run nightly.outpost --inputs inputs.json --events events.ndjson
  outpostc run fix.outpost -v

Exit codes: 0 done, 1 failed, 2 wrong file or inputs, 3 waiting, 4 rejected, 6 stopped by a budget,
7 a loop was exhausted, 130 interrupted, 143 terminated")]
pub struct RunArguments {
    /// The file of the workflow
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The workflow, if the file has several
    #[arg(value_name = "WORKFLOW")]
    pub workflow: Option<String>,
    /// Give an input: text as it is, anything else as a literal or JSON; may be repeated
    #[arg(long = "input", short, value_name = "NAME=VALUE")]
    pub input: Vec<String>,
    /// Read inputs from a JSON object in a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Keep nothing on disk; the run cannot be resumed
    #[arg(long)]
    pub ephemeral: bool,
    /// Write every event as a line of JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Write what agents do among the events as well, as it happens; nothing keeps it
    #[arg(long, requires = "events")]
    pub live: bool,
    /// How much is shown.
    #[command(flatten)]
    pub verbosity: Verbosity,
    /// Name the run; an existing name is refused
    #[arg(long, value_name = "ID", conflicts_with = "ephemeral")]
    pub run_id: Option<String>,
    /// Run at most this many attempts at once, instead of what the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub concurrency: Option<u32>,
    /// Admit at most this many attempts, instead of what the file says
    #[arg(long, value_name = "N")]
    pub budget_attempts: Option<u64>,
    /// Choose what goes to standard output: the output, or the whole result as JSON
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Go on with a run
///
/// Says first what is reused, what runs again and what is blocked, with the reasons.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc resume --last
  outpostc resume k3x9 --retry-incomplete
  outpostc resume k3x9 --plan
  outpostc resume k3x9 -v

Exit codes: those of run, and 5 if the run cannot go on as asked")]
pub struct ResumeArguments {
    /// Which run.
    #[command(flatten)]
    pub run: RunChoice,
    /// Run tasks again that failed or were interrupted; they may already have changed files
    #[arg(long)]
    pub retry_incomplete: bool,
    /// Keep the results of done tasks whose body was edited
    #[arg(long, conflicts_with = "rerun_changed")]
    pub keep_results: bool,
    /// Run done tasks again whose body was edited
    #[arg(long)]
    pub rerun_changed: bool,
    /// Run this task again and what depends on it; may be repeated
    #[arg(long, value_name = "TASK", action = ArgAction::Append)]
    pub rerun: Vec<String>,
    /// Use this file, if the one the run started from has moved
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Take the run over from another machine
    #[arg(long)]
    pub take_over: bool,
    /// Say what would happen, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// Write every event as a line of JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub events: Option<PathBuf>,
    /// Write what agents do among the events as well, as it happens; nothing keeps it
    #[arg(long, requires = "events")]
    pub live: bool,
    /// How much is shown.
    #[command(flatten)]
    pub verbosity: Verbosity,
    /// Choose what goes to standard output: the output, or the whole result as JSON
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// How much of a run is shown while it goes on.
#[derive(Clone, Copy, Debug, Args)]
pub struct Verbosity {
    /// Show each tool call and each message of the agents; -vv also what tools give, thoughts and tokens
    #[arg(long, short, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Show nothing but errors and how the run ended
    #[arg(long, short)]
    quiet: bool,
}

impl Verbosity {
    /// As the display wants it.
    pub fn detail(self) -> Detail {
        Detail::of(self.quiet, self.verbose)
    }
}

/// A run, by its id or as the newest unfinished one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct RunChoice {
    /// The run: its id, or a prefix that fits no other
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Take the newest unfinished run of the project
    #[arg(long)]
    pub last: bool,
}

/// List the runs of the project
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  outpostc runs
  outpostc runs --format json
  outpostc runs verify"
)]
pub struct RunsArguments {
    /// What to do with them.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// Choose the form of the list
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// What to do with runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    Verify(VerifyArguments),
}

/// Check that saved runs are whole, without running anything
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc runs verify
  outpostc runs verify k3x9

Exit codes: 0 whole, 5 damaged")]
pub struct VerifyArguments {
    /// The runs; all of the project if none is given
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Choose the form of the verdicts
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Show where a run stands
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc status --last
  outpostc status k3x9 --format json")]
pub struct StatusArguments {
    /// Which run.
    #[command(flatten)]
    pub run: RunChoice,
    /// Choose the form of the status
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Show what happened in a run
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc events --last --follow
  outpostc events k3x9 --format ndjson")]
pub struct EventsArguments {
    /// Which run.
    #[command(flatten)]
    pub run: RunChoice,
    /// Wait for more until the run ends
    #[arg(long, short)]
    pub follow: bool,
    /// Choose the form of the events
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: EventFormat,
}

/// Show what the tasks of a run printed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc logs --last
  outpostc logs k3x9 tests --follow")]
pub struct LogsArguments {
    /// The run: its id, or a prefix that fits no other
    #[arg(value_name = "RUN", required_unless_present = "last")]
    pub run: Option<String>,
    /// The task; all if none is given
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// Take the newest unfinished run of the project
    #[arg(long)]
    pub last: bool,
    /// Wait for more until the run ends
    #[arg(long, short)]
    pub follow: bool,
}

impl LogsArguments {
    /// The run and the task. With `--last` the only name is that of a task.
    pub fn choice(self) -> Option<(RunChoice, Option<String>)> {
        match (self.last, self.run, self.task) {
            (true, _, Some(_)) => None,
            (true, task, None) => {
                let run = RunChoice {
                    run: None,
                    last: true,
                };
                Some((run, task))
            }
            (false, run, task) => Some((RunChoice { run, last: false }, task)),
        }
    }
}

/// Explain a diagnostic: what it means, a wrong and a right example, why the rule exists
///
/// Without CODE it lists all of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc explain
  outpostc explain unknown-name")]
pub struct ExplainArguments {
    /// The code, as a message shows it
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    /// Choose the form of the page
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Read the standard library
///
/// Without a command it lists the modules.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  outpostc std
  outpostc std show checks"
)]
pub struct StdArguments {
    /// What to do with it.
    #[command(subcommand)]
    pub command: Option<StdCommand>,
    /// Choose the form of the list
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// What to do with the library.
#[derive(Debug, Subcommand)]
pub enum StdCommand {
    List(StdListArguments),
    Show(StdShowArguments),
}

/// List the modules and what they declare
#[derive(Debug, Args)]
pub struct StdListArguments {
    /// Choose the form of the list
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Print the source of a module
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc std show checks
  outpostc std show std.loops")]
pub struct StdShowArguments {
    /// The module: checks or std.checks
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Choose the form of the module
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Print a JSON Schema
///
/// With FILE that of a type which the file declares or imports: what an agent is asked to answer with.
/// Without FILE that of an output of outpostc.
#[derive(Debug, Args)]
#[command(after_help = "Outputs:
  diagnostics   check --format json
  diff          diff --format json and resume --plan --format json
  doctor        doctor --format json
  events        a line of events --format ndjson and of run --events
  graph         graph --format json
  plan          plan --format json
  report        run, resume and status with --format json

Examples:
  outpostc schema report
  outpostc schema Review review.outpost")]
pub struct SchemaArguments {
    /// The type, or the output
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The file of the type
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Show how a turn of an agent would be judged
///
/// Says whether the turn failed, whether by a quota or an outage, by which rule, and when a limit ends.
/// Runs nothing and asks nobody.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc classify --agent claude --text \"You've hit your 5-hour limit · resets 5:09pm (UTC)\"
  outpostc classify --agent codex --stdout turn.jsonl --stderr turn.err --exit 1 --format json")]
pub struct ClassifyArguments {
    /// The agent's harness
    #[arg(long, value_name = "NAME")]
    pub agent: String,
    /// One failure text, as if a turn had failed by it
    #[arg(long, value_name = "LINE", conflicts_with_all = ["stdout", "stderr", "exit"])]
    pub text: Option<String>,
    /// The recorded standard output
    #[arg(long, value_name = "FILE", required_unless_present = "text")]
    pub stdout: Option<PathBuf>,
    /// The recorded standard error
    #[arg(long, value_name = "FILE")]
    pub stderr: Option<PathBuf>,
    /// The exit status
    #[arg(long, value_name = "STATUS", default_value_t = 0)]
    pub exit: i32,
    /// The moment at which the turn ended, as RFC 3339; now by default
    #[arg(long, value_name = "TIME")]
    pub now: Option<String>,
    /// The zone of times that name none; that of the machine by default
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Choose the form of the verdict
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Say what this machine has of what workflows need
///
/// Looks for the agents, their versions and logins, Git, the terminal, and a place for runs.
/// Spends nothing and sends nothing. With FILE it looks for the agents that the file uses, and they must be there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outpostc doctor
  outpostc doctor release.outpost

Exit codes: 0 nothing is wrong, 1 something is, 2 the file has errors")]
pub struct DoctorArguments {
    /// The file whose agents are looked for
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Choose the form of the findings
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Arguments that could not be understood, or help that was asked for.
pub struct Refused(clap::Error);

impl Refused {
    /// Prints the message or the help, and tells whether it is a mistake.
    pub fn print(&self) -> bool {
        // Nobody is left to tell if this cannot be written.
        let _ = self.0.print();
        self.0.use_stderr()
    }
}

/// Reads the arguments of the process.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, Refused> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = Arguments::command()
        .color(color_of(&arguments))
        .try_get_matches_from(&arguments)
        .map_err(Refused)?;
    Arguments::from_arg_matches(&matches).map_err(Refused)
}

/// The colours of clap's own messages, known before the arguments are.
fn color_of(arguments: &[OsString]) -> clap::ColorChoice {
    let words = arguments.iter().filter_map(|word| word.to_str());
    let mut after = words.skip_while(|word| !word.starts_with("--color"));
    let value = match after.next() {
        Some("--color") => after.next(),
        Some(word) => word.strip_prefix("--color="),
        None => None,
    };
    match value {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }
}
