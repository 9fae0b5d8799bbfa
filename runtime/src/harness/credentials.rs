//! How an agent logs in on this machine: the variables that carry its credential, and what stands in their way.
//!
//! A CLI uses the session that the user has with it, and is given nothing but a token or a key.
//! Nothing here reads a file, and nothing looks into a keychain.

use std::collections::BTreeSet;
use std::fmt;

use outpost_compiler::graph;
use outpost_compiler::logins::{self, Login};
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{Agent, AgentKind, Auth, AuthKind, PlainAgent};
use outpost_grammar::Diagnostic;

use super::turn::Authentication;
use crate::executor::HostEnvironment;
use crate::fault::{Fault, FaultCode};
use crate::runnable::UNSET_VARIABLE;

/// How a token of GitHub begins that Copilot does not take.
const CLASSIC_TOKEN: &str = "ghp_";
/// Kimi reads a key from its environment only for a model whose provider is named there.
const KIMI_PROVIDER: (&str, &str) = ("KIMI_MODEL_PROVIDER_TYPE", "kimi");
/// The model that the key is for.
const KIMI_MODEL: &str = "KIMI_MODEL_NAME";

/// Whose account pays, as a turn wants to know it.
pub fn authentication(agent: &PlainAgent) -> Authentication {
    match agent.auth.as_ref().map(|auth| auth.kind) {
        None => Authentication::Unset,
        Some(AuthKind::Account) => Authentication::Account,
        Some(AuthKind::Usage) => Authentication::Usage,
    }
}

/// The variables that log an agent in. Those of the agent and of the action come later and win.
///
/// `credential` is the value of what `auth` was given, if it was given anything.
pub fn variables(
    agent: &PlainAgent,
    credential: Option<&str>,
    host: &HostEnvironment,
) -> Result<Vec<(String, String)>, Refused> {
    let Some(auth) = &agent.auth else {
        return Ok(Vec::new());
    };
    let Some(variable) = auth.variable.as_deref() else {
        return Ok(Vec::new());
    };
    let value = match credential {
        Some(value) => value,
        // The agent brings its own.
        None if sets(agent, variable) => return extras(agent, Vec::new()),
        None => from_host(agent, auth, host)?,
    };
    check(&agent.harness, variable, value)?;
    extras(agent, vec![(variable.to_owned(), value.to_owned())])
}

/// What the CLI wants beside its key.
fn extras(
    agent: &PlainAgent,
    mut variables: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, Refused> {
    if &*agent.harness == "kimi" {
        let model = agent.model.as_deref().ok_or(Refused::NoModel)?;
        let (name, value) = KIMI_PROVIDER;
        variables.push((name.to_owned(), value.to_owned()));
        variables.push((KIMI_MODEL.to_owned(), model.to_owned()));
    }
    Ok(variables)
}

/// The key that the machine has for `usage` alone.
fn from_host<'h>(
    agent: &PlainAgent,
    auth: &Auth,
    host: &'h HostEnvironment,
) -> Result<&'h str, Refused> {
    let names = host_names(agent, auth);
    let found = names.iter().find_map(|name| host.get(name));
    found.ok_or_else(|| Refused::Unset {
        names: names.into_iter().map(str::to_owned).collect(),
    })
}

/// The variables of the machine that `usage` alone takes a key from, the first that is set.
fn host_names<'a>(agent: &PlainAgent, auth: &'a Auth) -> Vec<&'a str> {
    let known = logins::login(&agent.harness)
        .and_then(|login| login.key(agent.model.as_deref()))
        .filter(|key| auth.variable.as_deref() == Some(key.variable));
    match known {
        Some(key) => key.host.to_vec(),
        None => auth.variable.as_deref().into_iter().collect(),
    }
}

fn sets(agent: &PlainAgent, variable: &str) -> bool {
    let mut names = agent.environment.iter();
    names.any(|(name, _)| &**name == variable)
}

/// What no CLI would take as a credential. The value itself is never told.
fn check(harness: &str, variable: &str, value: &str) -> Result<(), Refused> {
    let variable = || variable.to_owned();
    if value.trim().is_empty() {
        return Err(Refused::Empty {
            variable: variable(),
        });
    }
    if value.contains(['\0', '\n', '\r']) {
        return Err(Refused::Lines {
            variable: variable(),
        });
    }
    if harness == "copilot" && value.starts_with(CLASSIC_TOKEN) {
        return Err(Refused::Classic {
            variable: variable(),
        });
    }
    Ok(())
}

/// A variable that would make another account pay than `auth` says, among those that reach the CLI.
///
/// To be asked with the names that actions and sandboxes set; those of the agent itself were checked before the run.
pub fn conflict<'n>(
    agent: &PlainAgent,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let auth = agent.auth.as_ref()?;
    let login: &Login = logins::login(&agent.harness)?;
    names.into_iter().find(|name| match auth.kind {
        AuthKind::Account => login.is_paid_by(name),
        AuthKind::Usage => login.token == Some(*name),
    })
}

/// Why an agent cannot log in. Nothing has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `usage` alone, and the machine has no key.
    Unset {
        /// The variables that were looked at.
        names: Vec<String>,
    },
    /// The credential is empty.
    Empty {
        /// The variable that would carry it.
        variable: String,
    },
    /// The credential has several lines, or a NUL character.
    Lines {
        /// The variable that would carry it.
        variable: String,
    },
    /// A classic personal access token of GitHub.
    Classic {
        /// The variable that would carry it.
        variable: String,
    },
    /// The key is for a model, and none is named.
    NoModel,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unset { names } => {
                write!(out, "`{}` is not set on this machine", names.join("` or `"))
            }
            Refused::Empty { variable } => write!(out, "the credential for `{variable}` is empty"),
            Refused::Lines { variable } => write!(
                out,
                "the credential for `{variable}` holds a line break or a NUL character"
            ),
            Refused::Classic { variable } => write!(
                out,
                "the credential for `{variable}` is a classic token (`{CLASSIC_TOKEN}…`), which the CLI refuses: make a fine-grained one"
            ),
            Refused::NoModel => out.write_str("the key is for a model, and the agent names none"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Fault {
        Fault::new(FaultCode::Configuration, refused.to_string())
    }
}

/// The plain agents that a plan may use, the members of lists among them, in source order.
pub fn agents(plan: &Plan) -> Vec<(&Agent, &PlainAgent)> {
    let program = plan.program();
    let used = graph::agents(program, plan.workflow_id());
    let agents = used.iter().map(|id| &program.agents[id.index()]);
    agents
        .filter_map(|agent| match &agent.kind {
            AgentKind::Plain(plain) => Some((agent, plain)),
            AgentKind::Fallback { .. } | AgentKind::Broken => None,
        })
        .collect()
}

/// The keys that agents of a plan want from the machine and that it does not have: one error for each.
pub fn unset(plan: &Plan, host: &HostEnvironment) -> Vec<Diagnostic> {
    let mut known = BTreeSet::new();
    let mut diagnostics = Vec::new();
    for (agent, plain) in agents(plan) {
        let Some(auth) = &plain.auth else {
            continue;
        };
        // What a credential says is known only when the turn comes; its secrets are looked for elsewhere.
        if auth.credential.is_some() {
            continue;
        }
        if let Err(refused) = variables(plain, None, host)
            && known.insert(refused.to_string())
        {
            let diagnostic = Diagnostic::error(UNSET_VARIABLE, auth.at, refused.to_string())
                .note(format!("`{}` is paid by use, with this key", agent.name))
                .help("set it before the run, or write `usage(secret.NAME)`");
            diagnostics.push(diagnostic);
        }
    }
    diagnostics
}

/// The values that `usage` alone takes from the machine: no secrets of the file, and to be hidden like them.
pub fn passed_through(plan: &Plan, host: &HostEnvironment) -> Vec<(String, String)> {
    let mut passed: Vec<(String, String)> = Vec::new();
    for (_, plain) in agents(plan) {
        let Some(auth) = &plain.auth else {
            continue;
        };
        if auth.kind == AuthKind::Usage
            && auth.credential.is_none()
            && let Ok(variables) = variables(plain, None, host)
        {
            let carried = variables
                .into_iter()
                .filter(|(name, _)| auth.variable.as_deref() == Some(&**name));
            passed.extend(
                carried
                    .filter(|pair| !passed.contains(pair))
                    .collect::<Vec<_>>(),
            );
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_compiler::program::WorkflowId;
    use outpost_grammar::{SourceId, Span};

    fn agent(harness: &str, kind: Option<AuthKind>, variable: Option<&str>) -> PlainAgent {
        PlainAgent {
            harness: harness.into(),
            model: Some("xai/grok".into()),
            auth: kind.map(|kind| Auth {
                kind,
                credential: None,
                variable: variable.map(Into::into),
                at: outpost_grammar::Location::new(SourceId(0), Span { start: 0, end: 0 }),
            }),
            ..PlainAgent::default()
        }
    }

    fn host(names: &[(&str, &str)]) -> HostEnvironment {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        HostEnvironment::new(names.iter().map(pair))
    }

    fn set(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn an_account_alone_and_no_auth_prepare_nothing() {
        let rich = host(&[("ANTHROPIC_API_KEY", "k")]);
        let none = agent("claude", None, None);
        assert_eq!(variables(&none, None, &rich), Ok(Vec::new()));
        assert_eq!(authentication(&none), Authentication::Unset);
        let account = agent("claude", Some(AuthKind::Account), None);
        assert_eq!(variables(&account, None, &rich), Ok(Vec::new()));
        assert_eq!(authentication(&account), Authentication::Account);
    }

    #[test]
    fn a_credential_goes_into_the_variable_of_its_cli() {
        let bare = host(&[]);
        let account = Some(AuthKind::Account);
        let claude = agent("claude", account, Some("CLAUDE_CODE_OAUTH_TOKEN"));
        assert_eq!(
            variables(&claude, Some("t"), &bare),
            Ok(vec![set("CLAUDE_CODE_OAUTH_TOKEN", "t")])
        );
        let kimi = agent("kimi", Some(AuthKind::Usage), Some("KIMI_MODEL_API_KEY"));
        assert_eq!(
            variables(&kimi, Some("k"), &bare),
            Ok(vec![
                set("KIMI_MODEL_API_KEY", "k"),
                set("KIMI_MODEL_PROVIDER_TYPE", "kimi"),
                set("KIMI_MODEL_NAME", "xai/grok"),
            ])
        );
        let unnamed = PlainAgent {
            model: None,
            ..kimi
        };
        assert_eq!(variables(&unnamed, Some("k"), &bare), Err(Refused::NoModel));
    }

    #[test]
    fn usage_alone_takes_the_first_key_of_the_machine() {
        let codex = agent("codex", Some(AuthKind::Usage), Some("CODEX_API_KEY"));
        let one = host(&[("OPENAI_API_KEY", "o")]);
        assert_eq!(
            variables(&codex, None, &one),
            Ok(vec![set("CODEX_API_KEY", "o")])
        );
        let two = host(&[("OPENAI_API_KEY", "o"), ("CODEX_API_KEY", "c")]);
        assert_eq!(
            variables(&codex, None, &two),
            Ok(vec![set("CODEX_API_KEY", "c")])
        );
        let refused = variables(&codex, None, &host(&[])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`CODEX_API_KEY` or `OPENAI_API_KEY` is not set on this machine"
        );
        assert_eq!(Fault::from(refused).code, FaultCode::Configuration);
        let own = agent("opencode", Some(AuthKind::Usage), Some("XAI_API_KEY"));
        let refused = variables(&own, None, &one).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`XAI_API_KEY` is not set on this machine"
        );
        let declared = agent("aider", Some(AuthKind::Usage), Some("AIDER_KEY"));
        let host = host(&[("AIDER_KEY", "a")]);
        assert_eq!(
            variables(&declared, None, &host),
            Ok(vec![set("AIDER_KEY", "a")])
        );
    }

    #[test]
    fn what_cannot_be_a_credential_is_refused_without_telling_it() {
        let bare = host(&[]);
        let account = Some(AuthKind::Account);
        let copilot = agent("copilot", account, Some("COPILOT_GITHUB_TOKEN"));
        let variable = || "COPILOT_GITHUB_TOKEN".to_owned();
        let refused = |value| variables(&copilot, Some(value), &bare).unwrap_err();
        let classic = refused("ghp_4711");
        assert!(!classic.to_string().contains("4711"));
        assert_eq!(
            classic,
            Refused::Classic {
                variable: variable()
            }
        );
        assert_eq!(
            refused(" "),
            Refused::Empty {
                variable: variable()
            }
        );
        assert_eq!(
            refused("a\nb"),
            Refused::Lines {
                variable: variable()
            }
        );
        assert!(variables(&copilot, Some("github_pat_1"), &bare).is_ok());
    }

    #[test]
    fn a_plan_wants_the_keys_of_the_agents_that_it_uses() {
        let text = r#"
secret TOKEN_OF_GITHUB
agent claude { harness: claude  auth: usage }
agent codex { harness: codex  auth: usage }
agent own { harness: gemini  auth: usage  env { GEMINI_API_KEY: "k" } }
agent helper { harness: copilot  auth: account(secret.TOKEN_OF_GITHUB) }
agent any { fallback: [claude, codex, own, helper]  on: [quota] }
agent other { harness: qwen  auth: usage }
workflow inner { task a { agent: any  brief: "x" }  output: a.text }
workflow w { task a { workflow: inner() }  output: a }
workflow v { task a { agent: other  brief: "x" }  output: a.text }
"#;
        let mut files = outpost_compiler::Memory::default();
        files.files.insert("w.outpost".to_owned(), text.into());
        let compiled = outpost_compiler::compile(&files, "w.outpost");
        assert!(
            compiled.diagnostics.is_empty(),
            "{:?}",
            compiled.diagnostics
        );
        let program = std::sync::Arc::new(compiled.program);
        let plan = outpost_compiler::plan::build(program, WorkflowId(1)).unwrap();
        let names: Vec<&str> = agents(&plan)
            .iter()
            .map(|(agent, _)| &*agent.name)
            .collect();
        assert_eq!(names, ["claude", "codex", "own", "helper"]);
        let some = host(&[("OPENAI_API_KEY", "o"), ("GEMINI_API_KEY", "g")]);
        let missing = unset(&plan, &some);
        let messages: Vec<&str> = missing.iter().map(|one| &*one.message).collect();
        assert_eq!(messages, ["`ANTHROPIC_API_KEY` is not set on this machine"]);
        assert_eq!(passed_through(&plan, &some), [set("CODEX_API_KEY", "o")]);
        let all = crate::runnable::unset_variables(&plan, &some);
        let messages: Vec<&str> = all.iter().map(|one| &*one.message).collect();
        assert_eq!(
            messages,
            [
                "`ANTHROPIC_API_KEY` is not set on this machine",
                "`TOKEN_OF_GITHUB` is not set on this machine",
            ]
        );
    }

    #[test]
    fn variables_that_change_who_pays_are_found() {
        let account = agent("claude", Some(AuthKind::Account), None);
        assert_eq!(
            conflict(&account, ["PATH", "ANTHROPIC_API_KEY"]),
            Some("ANTHROPIC_API_KEY")
        );
        let usage = agent("claude", Some(AuthKind::Usage), Some("ANTHROPIC_API_KEY"));
        assert_eq!(conflict(&usage, ["ANTHROPIC_API_KEY"]), None);
        assert_eq!(
            conflict(&usage, ["CLAUDE_CODE_OAUTH_TOKEN"]),
            Some("CLAUDE_CODE_OAUTH_TOKEN")
        );
        assert_eq!(
            conflict(&agent("claude", None, None), ["ANTHROPIC_API_KEY"]),
            None
        );
    }
}
