//! Values, types, the built-in functions, and the library written in the language.

pub mod value;

pub mod json;

pub mod quantity;

pub mod types;

pub mod functions;

pub mod library;

pub mod limits;

pub use functions::Lookup;
pub use types::Type;
pub use value::{Object, Value};
