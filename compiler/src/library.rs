//! The library written in the language, as the compiler looks it up.

/// The source of a module: `std.checks`.
pub(crate) fn source(name: &str) -> Option<&'static str> {
    outpost_stdlib::library::source(name)
}

/// The names of the modules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    outpost_stdlib::library::names()
}
