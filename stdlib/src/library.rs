//! The standard library: sources in the language, shipped with the program.

/// The modules and their sources, in the order of the reference.
const MODULES: [(&str, &str); 5] = [
    ("std.checks", include_str!("../std/checks.outpost")),
    ("std.review", include_str!("../std/review.outpost")),
    ("std.loops", include_str!("../std/loops.outpost")),
    ("std.git", include_str!("../std/git.outpost")),
    ("std.harness", include_str!("../std/harness.outpost")),
];

/// The source of a module: `std.checks`.
pub fn source(name: &str) -> Option<&'static str> {
    let found = MODULES.iter().find(|(module, _)| *module == name);
    found.map(|(_, source)| *source)
}

/// The modules, in the order of the reference.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_a_source_that_says_what_it_is_for() {
        for name in names() {
            assert!(source(name).unwrap().starts_with("# "), "{name}");
        }
        assert_eq!(source("std.nothing"), None);
        assert_eq!(source("checks"), None);
    }
}
