//! Values, types, the built-in functions, and the library written in the language.

pub mod functions;
pub mod types;
pub mod value;

pub use types::Type;
pub use value::{Object, Value};
