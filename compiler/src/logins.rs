//! How agent CLIs log in: in which variables each reads the token of an account, or a key that is billed by use.
//!
//! A table of facts; what an agent of a file asks for is [`crate::program::Auth`].

/// How a built-in harness logs in without a person.
#[derive(Debug)]
pub struct Login {
    /// The harness.
    pub harness: &'static str,
    /// The variable that takes the token of an account; without one `account(…)` is not possible.
    pub token: Option<&'static str>,
    /// The variables that take a key billed by use; without one `usage` is not possible.
    pub keys: &'static [Key],
    /// Whether a key alone says too little: the agent has to name its `model`.
    pub needs_model: bool,
    /// More variables of the CLI by which somebody pays by use.
    pub also: &'static [&'static str],
}

/// Where a key that is billed by use comes from, and where the CLI reads it.
#[derive(Debug)]
pub struct Key {
    /// Of which provider it is: what `model` has before its first `/`. Empty if the CLI has a single one.
    pub provider: &'static str,
    /// The variable that the CLI reads.
    pub variable: &'static str,
    /// The variables of the machine that `usage` alone takes it from, in this order.
    pub host: &'static [&'static str],
}

/// A key of the only provider of a CLI.
const fn key(variable: &'static str, host: &'static [&'static str]) -> Key {
    of("", variable, host)
}

/// A key of one of several providers.
const fn of(provider: &'static str, variable: &'static str, host: &'static [&'static str]) -> Key {
    Key {
        provider,
        variable,
        host,
    }
}

/// All of them, in the order of the reference.
pub static LOGINS: [Login; 8] = [
    Login {
        harness: "claude",
        token: Some("CLAUDE_CODE_OAUTH_TOKEN"),
        keys: &[key("ANTHROPIC_API_KEY", &["ANTHROPIC_API_KEY"])],
        needs_model: false,
        also: &["ANTHROPIC_AUTH_TOKEN"],
    },
    // `codex exec` reads a variable of its own, which leaves the login of the user alone.
    Login {
        harness: "codex",
        token: None,
        keys: &[key("CODEX_API_KEY", &["CODEX_API_KEY", "OPENAI_API_KEY"])],
        needs_model: false,
        also: &["OPENAI_API_KEY"],
    },
    Login {
        harness: "copilot",
        token: Some("COPILOT_GITHUB_TOKEN"),
        keys: &[],
        needs_model: false,
        also: &["COPILOT_PROVIDER_API_KEY"],
    },
    Login {
        harness: "antigravity",
        token: None,
        keys: &[key("GEMINI_API_KEY", &["GEMINI_API_KEY"])],
        needs_model: false,
        also: &[],
    },
    // Of its environment the CLI reads a key only together with the model that the key is for.
    Login {
        harness: "kimi",
        token: None,
        keys: &[key(
            "KIMI_MODEL_API_KEY",
            &["KIMI_MODEL_API_KEY", "KIMI_API_KEY"],
        )],
        needs_model: true,
        also: &[],
    },
    Login {
        harness: "gemini",
        token: None,
        keys: &[key("GEMINI_API_KEY", &["GEMINI_API_KEY"])],
        needs_model: false,
        also: &["GOOGLE_API_KEY"],
    },
    Login {
        harness: "qwen",
        token: None,
        keys: &[key("OPENAI_API_KEY", &["OPENAI_API_KEY"])],
        needs_model: false,
        also: &[],
    },
    Login {
        harness: "opencode",
        token: None,
        keys: &[
            of("anthropic", "ANTHROPIC_API_KEY", &["ANTHROPIC_API_KEY"]),
            of("openai", "OPENAI_API_KEY", &["OPENAI_API_KEY"]),
            of(
                "google",
                "GOOGLE_GENERATIVE_AI_API_KEY",
                &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
            ),
            of("openrouter", "OPENROUTER_API_KEY", &["OPENROUTER_API_KEY"]),
            of("opencode", "OPENCODE_API_KEY", &["OPENCODE_API_KEY"]),
            of("deepseek", "DEEPSEEK_API_KEY", &["DEEPSEEK_API_KEY"]),
            of("groq", "GROQ_API_KEY", &["GROQ_API_KEY"]),
            of("mistral", "MISTRAL_API_KEY", &["MISTRAL_API_KEY"]),
            of("moonshotai", "MOONSHOT_API_KEY", &["MOONSHOT_API_KEY"]),
            of("xai", "XAI_API_KEY", &["XAI_API_KEY"]),
        ],
        needs_model: true,
        also: &[],
    },
];

/// How a built-in harness logs in. A declared one has no row, and neither has `scripted`, which starts no CLI.
pub fn login(harness: &str) -> Option<&'static Login> {
    LOGINS.iter().find(|login| login.harness == harness)
}

impl Login {
    /// The key for a model.
    pub fn key(&self, model: Option<&str>) -> Option<&'static Key> {
        let provider = model.and_then(|model| model.split_once('/'));
        let provider = provider.map_or("", |(provider, _)| provider);
        let fits = |key: &&Key| key.provider.is_empty() || key.provider == provider;
        self.keys.iter().find(fits)
    }

    /// Whether somebody pays by use once this variable is set.
    pub fn is_paid_by(&self, variable: &str) -> bool {
        self.also.contains(&variable) || self.keys.iter().any(|key| key.variable == variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::HARNESSES;

    #[test]
    fn every_harness_that_starts_a_cli_has_a_row() {
        let names: Vec<&str> = LOGINS.iter().map(|login| login.harness).collect();
        let started = HARNESSES.iter().filter(|name| **name != "scripted");
        assert_eq!(names, started.copied().collect::<Vec<_>>());
    }

    #[test]
    fn a_key_follows_the_provider_where_there_are_several() {
        let variable = |harness: &str, model: Option<&str>| {
            login(harness)
                .unwrap()
                .key(model)
                .map(|key| key.variable)
                .unwrap_or_default()
        };
        assert_eq!(variable("opencode", Some("xai/grok")), "XAI_API_KEY");
        assert_eq!(variable("opencode", Some("grok")), "");
        assert_eq!(variable("opencode", None), "");
        assert_eq!(variable("codex", Some("a/b")), "CODEX_API_KEY");
        assert_eq!(variable("copilot", None), "");
    }
}
