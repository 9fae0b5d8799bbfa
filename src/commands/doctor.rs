//! `outpostc doctor`: what this machine has of what workflows need. It spends nothing and sends nothing.

use crate::args::{DoctorArguments, Format};
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::Project;
use crate::source::{self, Source};
use crate::terminal::{Streams, Style, Terminal, visible};
use outpost_compiler::bounds::Bounds;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{AuthKind, PlainAgent, WorkflowId};
use outpost_runtime::executor::HostEnvironment;
use outpost_runtime::harness::credentials;
use outpost_runtime::harness::probe::{self, FACTS, Facts, Login, Probed, Problem};
use outpost_runtime::process::Supervisor;
use outpost_runtime::runnable::unset_variables;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

mod machine;

/// How many programs are asked at once: each may bring an interpreter along.
const MAX_ASKED: usize = 2;

/// What was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: u32,
    /// Nothing that was asked for is wrong.
    healthy: bool,
    /// The file whose agents were looked at; without one all that there are.
    file: Option<String>,
    agents: Vec<AgentFinding>,
    machine: Vec<Finding>,
}

/// What was found of an agent CLI.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentFinding {
    harness: String,
    /// The agents of the file that it drives.
    agents: Vec<String>,
    state: State,
    text: String,
    help: Option<String>,
    program: Option<String>,
    path: Option<String>,
    /// What the program says of itself.
    #[serde(rename = "programVersion")]
    version: Option<String>,
    tried_version: Option<&'static str>,
    missing_options: Vec<String>,
    login: Option<&'static str>,
    login_file: Option<String>,
    /// The names of variables, never what they hold.
    keys: Vec<&'static str>,
}

/// What was found of the machine.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    state: State,
    text: String,
    help: Option<String>,
}

/// What a finding means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As it should be.
    Good,
    /// Not there, and nobody asked for it.
    Note,
    /// It may be in the way of some runs.
    Warning,
    /// It is in the way of what was asked for.
    Problem,
}

impl State {
    fn mark(self) -> (&'static str, Style) {
        match self {
            State::Good => ("✓", Style::Good),
            State::Note => ("·", Style::Dim),
            State::Warning => ("!", Style::Warn),
            State::Problem => ("✗", Style::Bad),
        }
    }
}

/// Looks at the machine.
pub fn run(arguments: DoctorArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = match &arguments.file {
        Some(file) => {
            Project::of_file(file).map_err(|error| crate::files::unreadable(file, &error))?
        }
        None => Project::current()?,
    };
    let host =
        HostEnvironment::new(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
    let needs = match &arguments.file {
        Some(file) => Some(Needs::of(&source::of_path(file, streams)?, streams)?),
        None => None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))?;
    let report = runtime.block_on(look(&project, &host, needs.as_ref(), streams));
    let healthy = report.healthy;
    let text = match arguments.format {
        Format::Human => draw(&report, &streams.out),
        Format::Json => {
            let json = serde_json::to_string(&report).map_err(io::Error::other)?;
            format!("{json}\n")
        }
    };
    read_or_not(io::stdout().lock().write_all(text.as_bytes()))?;
    Ok(match healthy {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// What a file needs of the machine.
struct Needs {
    file: String,
    plans: Vec<Arc<Plan>>,
}

impl Needs {
    fn of(source: &Source, streams: Streams) -> Result<Needs, Failure> {
        let own = (0..source.program.own_workflows).map(|at| WorkflowId(at as u32));
        let plans = own.map(|workflow| source.plan(workflow, streams));
        Ok(Needs {
            file: source.name.clone(),
            plans: plans.collect::<Result<_, _>>()?,
        })
    }

    /// The agents by their harness, in the order of the file.
    fn agents(&self) -> Vec<(&str, Vec<(&str, &PlainAgent)>)> {
        let mut all: BTreeMap<(u32, u32), (&str, &PlainAgent)> = BTreeMap::new();
        for plan in &self.plans {
            for (agent, plain) in credentials::agents(plan) {
                let place = (agent.at.source.0, agent.at.span.start);
                all.insert(place, (&agent.name, plain));
            }
        }
        let mut groups: Vec<(&str, Vec<(&str, &PlainAgent)>)> = Vec::new();
        for (name, plain) in all.into_values() {
            match groups
                .iter_mut()
                .find(|(harness, _)| *harness == &*plain.harness)
            {
                Some((_, group)) => group.push((name, plain)),
                None => groups.push((&plain.harness, vec![(name, plain)])),
            }
        }
        groups
    }

    /// The program of a harness that the file declares.
    fn program(&self, harness: &str) -> Option<String> {
        let mut harnesses = self.plans.iter().flat_map(|plan| &plan.program().harnesses);
        let declared = harnesses.find(|declared| *declared.name == *harness)?;
        let mut options = declared.options.iter();
        let (_, command) = options.find(|(name, _)| &**name == "command")?;
        let program = command.as_list()?.first()?.as_text()?;
        Some(program.to_owned())
    }

    /// Whether a work tree is wanted.
    fn has_sandboxes(&self) -> bool {
        let mut bounds = self.plans.iter().map(|plan| Bounds::of(plan));
        bounds.any(|bounds| !bounds.sandboxes.is_empty())
    }

    /// The variables that are not set, each once.
    fn unset(&self, host: &HostEnvironment) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        let mut add = |text: String, help: Option<String>| {
            if !found.iter().any(|finding| finding.text == text) {
                found.push(Finding {
                    what: "variable",
                    state: State::Problem,
                    text,
                    help,
                });
            }
        };
        for plan in &self.plans {
            for diagnostic in unset_variables(plan, host) {
                add(diagnostic.message, diagnostic.help);
            }
            // A run wants every secret that its file declares.
            for secret in &plan.program().secrets {
                if host.get(&secret.name).is_none() {
                    let help = format!(
                        "set the environment variable `{}` before the run",
                        secret.name
                    );
                    add(
                        format!("`{}` is not set on this machine", secret.name),
                        Some(help),
                    );
                }
            }
        }
        found
    }
}

async fn look(
    project: &Project,
    host: &HostEnvironment,
    needs: Option<&Needs>,
    streams: Streams,
) -> Report {
    let supervisor = Supervisor::new();
    let agents: Vec<AgentFinding> = match needs {
        None => {
            let probed = probe_all(&supervisor, host, FACTS.iter()).await;
            probed.iter().map(|one| finding(one, None)).collect()
        }
        Some(needs) => {
            let groups = needs.agents();
            let facts = groups
                .iter()
                .filter_map(|(harness, _)| probe::facts(harness));
            let probed = probe_all(&supervisor, host, facts).await;
            let found = groups.iter().map(|(harness, agents)| {
                match probed.iter().find(|one| one.harness == *harness) {
                    Some(probed) => finding(probed, Some(agents)),
                    None => {
                        let program = needs.program(harness);
                        let path = host.get("PATH").unwrap_or_default();
                        let found = program.as_ref().map(|program| {
                            (program.clone(), probe::find(program, path, &project.root))
                        });
                        unasked(harness, agents, found)
                    }
                }
            });
            found.collect()
        }
    };
    let wants_git = needs.is_some_and(Needs::has_sandboxes);
    let mut machine = machine::git(&supervisor, host, project, wants_git).await;
    machine.push(machine::terminal(&streams.out, host));
    machine.push(machine::state(project));
    machine.extend(needs.into_iter().flat_map(|needs| needs.unset(host)));
    supervisor.close().await;
    let states = agents.iter().map(|found| found.state);
    let states = states.chain(machine.iter().map(|found| found.state));
    let worst = states.max().unwrap_or(State::Good);
    Report {
        version: 1,
        healthy: worst < State::Problem,
        file: needs.map(|needs| needs.file.clone()),
        agents,
        machine,
    }
}

/// Asks several programs side by side; the answers come in the order of the questions.
async fn probe_all(
    supervisor: &Supervisor,
    host: &HostEnvironment,
    facts: impl Iterator<Item = &'static Facts>,
) -> Vec<Probed> {
    let permits = Arc::new(Semaphore::new(MAX_ASKED));
    let mut asked = JoinSet::new();
    for (at, facts) in facts.enumerate() {
        let folder = std::env::temp_dir();
        let probing = probe::probe(supervisor.clone(), facts, host.clone(), folder);
        let permits = permits.clone();
        asked.spawn(async move {
            let _permit = permits.acquire().await.expect("it is never closed");
            (at, probing.await)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, probed)| probed).collect()
}

/// What a probed program means, for the agents of a file or for nobody in particular.
fn finding(probed: &Probed, agents: Option<&[(&str, &PlainAgent)]>) -> AgentFinding {
    let facts = probe::facts(probed.harness);
    let mut words = Vec::new();
    let mut state = State::Good;
    let help;
    if let Some(version) = &probed.version {
        words.push(version.clone());
    }
    match &probed.problem {
        Some(problem) => {
            words.push(problem.to_string());
            state = match (problem, agents) {
                (_, Some(_)) => State::Problem,
                (Problem::Missing, None) => State::Note,
                (_, None) => State::Warning,
            };
            help = remedy(problem, facts).filter(|_| state > State::Note);
        }
        None => {
            words.extend(age(probed, facts, &mut state));
            let (login, login_help) = login_words(probed, agents, &mut state);
            words.extend(login);
            help = login_help;
        }
    }
    let names = agents.into_iter().flatten().map(|(name, _)| *name);
    let names: Vec<String> = names.map(str::to_owned).collect();
    if !names.is_empty() && state > State::Good {
        words.push(format!("used by `{}`", names.join("`, `")));
    }
    let (login, file) = match &probed.login {
        Login::Found(path) => ("found", Some(path)),
        Login::Unknown => ("unknown", None),
        Login::None => ("none", None),
    };
    let shown = |path: &Path| path.display().to_string();
    AgentFinding {
        harness: probed.harness.to_owned(),
        agents: names,
        state,
        text: words.join("; "),
        help,
        program: Some(probed.program.clone()),
        path: probed.path.as_deref().map(shown),
        version: probed.version.clone(),
        tried_version: facts.and_then(|facts| facts.tried),
        missing_options: match &probed.problem {
            Some(Problem::Options { missing }) => missing.clone(),
            Some(_) | None => Vec::new(),
        },
        login: Some(login),
        login_file: file.map(|path| shown(path)),
        keys: probed.keys.clone(),
    }
}

/// What the harness was tried with, where that is another version.
fn age(probed: &Probed, facts: Option<&Facts>, state: &mut State) -> Option<String> {
    let tried = facts?.tried?;
    let Some(version) = &probed.version else {
        *state = State::Warning;
        return Some(format!("tells no version; tried with {tried}"));
    };
    match probe::compare(version, tried) {
        Ordering::Equal => None,
        Ordering::Greater => Some(format!("newer than {tried}, which was tried")),
        Ordering::Less => {
            *state = State::Warning;
            Some(format!("older than {tried}, which was tried"))
        }
    }
}

/// What is known of the login, as far as somebody needs one.
fn login_words(
    probed: &Probed,
    agents: Option<&[(&str, &PlainAgent)]>,
    state: &mut State,
) -> (Vec<String>, Option<String>) {
    let mut words = Vec::new();
    let brings_own = |agent: &PlainAgent| {
        agent
            .auth
            .as_ref()
            .is_some_and(|auth| auth.kind == AuthKind::Usage || auth.credential.is_some())
    };
    let needs_login = match agents {
        None => true,
        Some(agents) => agents.iter().any(|(_, agent)| !brings_own(agent)),
    };
    let mut help = None;
    if needs_login {
        words.push(match (&probed.login, probed.keys.is_empty()) {
            (Login::Found(_), _) => "logged in as far as files tell".to_owned(),
            (Login::Unknown, _) => "login unknown".to_owned(),
            (Login::None, keyless) => {
                if keyless || agents.is_some() {
                    *state = State::Warning;
                    help = Some(format!(
                        "start `{}` once and log in, or write `auth`",
                        probed.program
                    ));
                }
                "no login found".to_owned()
            }
        });
    }
    if !probed.keys.is_empty() {
        words.push(format!("`{}` is set", probed.keys.join("`, `")));
    }
    (words, help)
}

/// What to do about a problem.
fn remedy(problem: &Problem, facts: Option<&Facts>) -> Option<String> {
    let package = facts.and_then(|facts| facts.package);
    match problem {
        Problem::Missing => Some(match package {
            Some(package) => format!("install it, as with `npm install --global {package}`"),
            None => "install it".to_owned(),
        }),
        Problem::Options { .. } => Some(match facts.and_then(|facts| facts.tried) {
            Some(tried) => format!("install another version; the harness was tried with {tried}"),
            None => "install another version".to_owned(),
        }),
        Problem::NotStarted { .. } | Problem::Slow { .. } | Problem::Failed { .. } => None,
    }
}

/// An agent whose program is not asked: it has none, or a file declares it, and what it would answer is not known.
fn unasked(
    harness: &str,
    agents: &[(&str, &PlainAgent)],
    declared: Option<(String, Option<PathBuf>)>,
) -> AgentFinding {
    let (program, path) = declared.unzip();
    let path = path.flatten();
    let (state, text) = match (&program, &path) {
        (None, _) => (State::Good, "answers from the file".to_owned()),
        (Some(program), Some(_)) => (
            State::Good,
            format!("declared in the file, `{program}` is there"),
        ),
        (Some(program), None) => (State::Problem, format!("there is no program `{program}`")),
    };
    let help = (state == State::Problem)
        .then(|| "install it, or mend `command` of the harness".to_owned());
    AgentFinding {
        harness: harness.to_owned(),
        agents: agents.iter().map(|(name, _)| (*name).to_owned()).collect(),
        state,
        text,
        help,
        program,
        path: path.map(|path| path.display().to_string()),
        version: None,
        tried_version: None,
        missing_options: Vec::new(),
        login: None,
        login_file: None,
        keys: Vec::new(),
    }
}

/// The report for a person.
fn draw(report: &Report, terminal: &Terminal) -> String {
    let agents = report.agents.iter().map(|found| Line {
        name: &found.harness,
        state: found.state,
        text: &found.text,
        help: found.help.as_deref(),
    });
    let machine = report.machine.iter().map(|found| Line {
        name: found.what,
        state: found.state,
        text: &found.text,
        help: found.help.as_deref(),
    });
    let agents: Vec<Line> = agents.collect();
    let machine: Vec<Line> = machine.collect();
    let names = agents
        .iter()
        .chain(&machine)
        .map(|line| line.name.chars().count());
    let width = names.max().unwrap_or(0);
    let mut text = String::new();
    let heading = match &report.file {
        Some(file) => format!("agents of {}", visible(file, false)),
        None => "agents".to_owned(),
    };
    if agents.is_empty() {
        let _ = writeln!(text, "{}\n  none", terminal.paint(Style::Bold, &heading));
    } else {
        section(&mut text, &heading, &agents, width, terminal);
    }
    text.push('\n');
    section(&mut text, "machine", &machine, width, terminal);
    text
}

struct Line<'a> {
    name: &'a str,
    state: State,
    text: &'a str,
    help: Option<&'a str>,
}

fn section(text: &mut String, heading: &str, lines: &[Line], width: usize, terminal: &Terminal) {
    let _ = writeln!(text, "{}", terminal.paint(Style::Bold, heading));
    for line in lines {
        let (mark, style) = line.state.mark();
        let mark = terminal.paint(style, mark);
        let name = line.name;
        let words = visible(line.text, false).replace('\n', " ");
        let words = match line.state {
            State::Note => terminal.paint(Style::Dim, &words),
            State::Good | State::Warning | State::Problem => words,
        };
        let _ = writeln!(text, "  {mark} {name:width$}  {words}");
        if let Some(help) = line.help {
            let head = terminal.paint(Style::Hint, "help:");
            let _ = writeln!(text, "    {:width$}  {head} {}", "", visible(help, false));
        }
    }
}
