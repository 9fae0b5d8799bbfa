//! Functions that may stand in certain places only, where the compiler or the runtime takes care of them.

use super::argument::{mismatch, wants};
use super::{Function, Work, required};
use crate::types::{Entity, Type};

const FAMILY: &str = "files and commands";

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 4] = [
    Function {
        name: "readFile",
        family: FAMILY,
        params: &[required("path")],
        signature: "readFile(path: string) -> string",
        doc: "The text of a file of the project, by a literal path relative to this file; read when the file is compiled.",
        examples: &[],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            Ok(Type::String)
        },
        run: |_| {
            Err("`readFile` takes a literal path: it is read when the file is compiled".to_owned())
        },
        special: true,
        work: Work::Constant,
    },
    Function {
        name: "fileHash",
        family: FAMILY,
        params: &[required("glob")],
        signature: "fileHash(glob: string) -> string",
        doc: "A digest of the names and contents of the files that match; only in the inputs of actions and in cache keys.",
        examples: &[],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            Ok(Type::String)
        },
        run: |_| {
            Err("`fileHash` may stand only in the inputs of actions and in cache keys".to_owned())
        },
        special: true,
        work: Work::Constant,
    },
    Function {
        name: "repositoryFingerprint",
        family: FAMILY,
        params: &[required("sandbox")],
        signature: "repositoryFingerprint(sandbox: Sandbox) -> string",
        doc: "A digest of the commit and the uncommitted changes of a sandbox; only in the inputs of actions and in cache keys.",
        examples: &[],
        check: |types, _| match types.first() {
            Some(Type::Entity(Entity::Sandbox) | Type::Unknown) => Ok(Type::String),
            _ => Err(mismatch(0, "a sandbox")),
        },
        run: |_| {
            Err(
                "`repositoryFingerprint` may stand only in the inputs of actions and in cache keys"
                    .to_owned(),
            )
        },
        special: true,
        work: Work::Constant,
    },
    Function {
        name: "raw",
        family: FAMILY,
        params: &[required("text")],
        signature: "raw(text: string) -> string",
        doc: "In a `${…}` of `shell:`, the text as it is, without quotes: part of the program, not of its data.",
        examples: &[],
        check: |types, lookup| match types.first() {
            Some(kind) if kind.is_scalar(lookup) => Ok(Type::String),
            _ => Err(mismatch(0, Type::String)),
        },
        run: |_| Err("`raw` may stand only directly in a `${…}` of `shell:`".to_owned()),
        special: true,
        work: Work::Constant,
    },
];
