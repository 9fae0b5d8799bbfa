//! A turn: what an agent CLI is asked to do, with the options of its agent.

use outpost_compiler::program::PlainAgent;
use outpost_stdlib::Value;

use super::conversation::Conversation;
use super::invocation::Unfit;

/// One turn of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn<'a> {
    /// What the agent is told.
    pub brief: &'a str,
    /// The options of the agent.
    pub settings: &'a Settings,
    /// In which conversation.
    pub start: Start,
}

/// In which conversation a turn takes place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new one.
    New,
    /// This one goes on.
    Continue(Conversation),
    /// A copy of this one.
    Fork(Conversation),
}

/// The options of an agent that reach its CLI.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `model`.
    pub model: Option<String>,
    /// `reasoning`.
    pub reasoning: Option<Reasoning>,
    /// `maxOutputTokens`.
    pub max_output_tokens: Option<u64>,
    /// `permissions`.
    pub permissions: Permissions,
    /// `auth`.
    pub authentication: Authentication,
    /// `args`.
    pub arguments: Vec<String>,
}

/// What an agent may do unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// What its CLI allows by itself; the rest is refused, since nobody is there to ask.
    Ask,
    /// Edit files.
    Edits,
    /// Anything.
    Bypass,
}

impl Permissions {
    /// As it is written in a file.
    pub fn name(self) -> &'static str {
        match self {
            Permissions::Ask => "ask",
            Permissions::Edits => "edits",
            Permissions::Bypass => "bypass",
        }
    }
}

/// How hard an agent thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// `low`.
    Low,
    /// `medium`.
    Medium,
    /// `high`.
    High,
    /// `xhigh`.
    ExtraHigh,
    /// `max`.
    Max,
}

impl Reasoning {
    /// As it is written in a file, and as the CLIs call it.
    pub fn name(self) -> &'static str {
        match self {
            Reasoning::Low => "low",
            Reasoning::Medium => "medium",
            Reasoning::High => "high",
            Reasoning::ExtraHigh => "xhigh",
            Reasoning::Max => "max",
        }
    }

    fn named(name: &str) -> Option<Reasoning> {
        let all = [
            Reasoning::Low,
            Reasoning::Medium,
            Reasoning::High,
            Reasoning::ExtraHigh,
            Reasoning::Max,
        ];
        all.into_iter().find(|each| each.name() == name)
    }
}

/// Whose account pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Nothing is prepared; the CLI finds what it finds.
    Unset,
    /// A subscription.
    Account,
    /// A key that is billed by use.
    Usage,
}

impl Settings {
    /// Settings without any option, for a mode of permissions.
    pub fn plain(permissions: Permissions) -> Settings {
        Settings {
            model: None,
            reasoning: None,
            max_output_tokens: None,
            permissions,
            authentication: Authentication::Unset,
            arguments: Vec::new(),
        }
    }

    /// The options of an agent. Inside an isolating sandbox an agent may do anything unless its file says otherwise.
    pub fn of(
        agent: &PlainAgent,
        is_isolated: bool,
        authentication: Authentication,
    ) -> Result<Settings, Unfit> {
        let mut settings = Settings::plain(match is_isolated {
            true => Permissions::Bypass,
            false => Permissions::Edits,
        });
        settings.model = agent.model.as_deref().map(str::to_owned);
        settings.authentication = authentication;
        for (name, value) in &agent.options {
            let bad = || Unfit::Option {
                name: name.to_string(),
            };
            match (&**name, value) {
                ("reasoning", Value::Text(text)) => {
                    settings.reasoning = Some(Reasoning::named(text).ok_or_else(bad)?);
                }
                ("maxOutputTokens", Value::Int(most)) => {
                    settings.max_output_tokens = Some(u64::try_from(*most).map_err(|_| bad())?);
                }
                ("permissions", Value::Text(text)) => {
                    settings.permissions = match &**text {
                        "ask" => Permissions::Ask,
                        "edits" => Permissions::Edits,
                        "bypass" => Permissions::Bypass,
                        _ => return Err(bad()),
                    };
                }
                ("args", Value::List(arguments)) => {
                    for argument in arguments.iter() {
                        match argument {
                            Value::Text(text) => settings.arguments.push(text.to_string()),
                            _ => return Err(bad()),
                        }
                    }
                }
                ("reasoning" | "maxOutputTokens" | "permissions" | "args", _) => return Err(bad()),
                // Every other option is somebody else's: limits, deadlines, scripts.
                _ => {}
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_the_default_of_permissions_follows_the_sandbox() {
        let mut agent = PlainAgent {
            model: Some("opus".into()),
            ..PlainAgent::default()
        };
        agent
            .options
            .push(("reasoning".into(), Value::Text("xhigh".into())));
        agent
            .options
            .push(("maxOutputTokens".into(), Value::Int(9)));
        agent.options.push(("idle".into(), Value::Int(9)));
        agent.options.push((
            "args".into(),
            Value::List([Value::Text("-x".into())].into()),
        ));
        let settings = Settings::of(&agent, false, Authentication::Account).unwrap();
        assert_eq!(settings.model.as_deref(), Some("opus"));
        assert_eq!(settings.reasoning, Some(Reasoning::ExtraHigh));
        assert_eq!(settings.max_output_tokens, Some(9));
        assert_eq!(settings.permissions, Permissions::Edits);
        assert_eq!(settings.arguments, ["-x"]);
        let isolated = Settings::of(&agent, true, Authentication::Account).unwrap();
        assert_eq!(isolated.permissions, Permissions::Bypass);
        agent
            .options
            .push(("permissions".into(), Value::Text("ask".into())));
        let asked = Settings::of(&agent, true, Authentication::Account).unwrap();
        assert_eq!(asked.permissions, Permissions::Ask);
        agent
            .options
            .push(("reasoning".into(), Value::Text("most".into())));
        assert!(Settings::of(&agent, true, Authentication::Account).is_err());
    }
}
