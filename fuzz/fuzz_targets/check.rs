//! No text makes `check` panic, hang or use memory without bound; and what has no errors can be planned.

#![no_main]

use libfuzzer_sys::fuzz_target;
use outpost_compiler::program::WorkflowId;
use outpost_compiler::{Memory, compile, plan};
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let loader = Memory {
        files: [("main.outpost".to_owned(), Arc::from(text))].into(),
    };
    let compiled = compile(&loader, "main.outpost");
    if compiled.has_errors() {
        return;
    }
    let program = Arc::new(compiled.program);
    for at in 0..program.own_workflows {
        plan::build(program.clone(), WorkflowId(at as u32)).expect("it was checked");
    }
});
