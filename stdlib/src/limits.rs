//! Which failure texts of each agent CLI mean a limit or an outage: tables as data, shipped with the program.
//!
//! A table is JSON; the runtime reads it (`classify::Table`). What the fields mean is written in `docs/src/agents.md`.

/// The agents and their tables, in the order of the reference.
const TABLES: [(&str, &str); 9] = [
    ("claude", include_str!("../std/limits/claude.json")),
    ("codex", include_str!("../std/limits/codex.json")),
    ("copilot", include_str!("../std/limits/copilot.json")),
    (
        "antigravity",
        include_str!("../std/limits/antigravity.json"),
    ),
    ("kimi", include_str!("../std/limits/kimi.json")),
    ("gemini", include_str!("../std/limits/gemini.json")),
    ("qwen", include_str!("../std/limits/qwen.json")),
    ("opencode", include_str!("../std/limits/opencode.json")),
    ("aider", include_str!("../std/limits/aider.json")),
];

/// How many tables there are.
pub const COUNT: usize = TABLES.len();

/// The table of an agent, and its place among [`names`].
pub fn source(agent: &str) -> Option<(usize, &'static str)> {
    let place = TABLES.iter().position(|(name, _)| *name == agent)?;
    Some((place, TABLES[place].1))
}

/// The agents that have a table, in the order of the reference.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_json_that_names_its_agent() {
        for (place, name) in names().enumerate() {
            let (found, text) = source(name).unwrap();
            let table: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!((found, table["agent"].as_str()), (place, Some(name)));
        }
        assert_eq!(source("nobody"), None);
    }
}
