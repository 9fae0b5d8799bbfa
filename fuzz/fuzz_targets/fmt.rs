//! What `fmt` writes can be read, and is written the same again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(once) = outpost_grammar::format(text) {
        let twice = outpost_grammar::format(&once).expect("what was written can be read");
        assert_eq!(once, twice);
    }
});
