//! Digests.

use super::argument::{text, wants};
use super::{Function, Work, required};
use crate::types::Type;
use crate::value::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 1] = [Function {
    name: "sha256",
    family: "digests",
    params: &[required("text")],
    signature: "sha256(text: string) -> string",
    doc: "The SHA-256 of the text in UTF-8, as 64 small hexadecimal digits.",
    examples: &[(
        "sha256(\"abc\")",
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
    )],
    check: |types, lookup| {
        wants(types, 0, &Type::String, lookup)?;
        Ok(Type::String)
    },
    run: |values| Ok(Value::from(hex(&Sha256::digest(text(values, 0)?)))),
    special: false,
    work: Work::Shallow,
}];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::call;

    #[test]
    fn of_nothing() {
        assert!(
            call("sha256(\"\")")
                .unwrap()
                .starts_with("\"e3b0c44298fc1c149afbf4c8996fb924")
        );
    }
}
