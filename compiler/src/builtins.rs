//! The built-in functions as the compiler looks them up.

use outpost_stdlib::functions::{self, Function, Lookup};
use outpost_stdlib::types::{NamedId, Type};

use crate::program::NamedType;

/// A function and its place in the table.
pub(crate) fn find(name: &str) -> Option<(u16, &'static Function)> {
    let place = functions::find(name)?;
    Some((place, functions::get(place)))
}

/// All names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    functions::all().iter().map(|function| function.name)
}

/// Named types, for relations between types.
pub(crate) struct Definitions<'a>(pub &'a [NamedType]);

impl Lookup for Definitions<'_> {
    fn definition(&self, id: NamedId) -> &Type {
        match self.0.get(id.0 as usize) {
            Some(named) => &named.definition,
            None => &Type::Unknown,
        }
    }
}
