//! Prints what is said about a file; a number instead of a file makes so many tasks and times them.
use outpost_compiler::{LoadError, Loader, compile};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
struct Folder(PathBuf);
impl Loader for Folder {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        std::fs::read_to_string(self.0.join(path))
            .map(Arc::from)
            .map_err(|_| LoadError::Missing)
    }
}
fn main() {
    for path in std::env::args().skip(1) {
        if let Ok(count) = path.parse::<usize>() {
            let mut text = String::from("workflow w {\n");
            for at in 0..count {
                if at < 2 {
                    writeln!(text, "  task t{at} {{\n    command: [\"true\"]\n  }}\n").unwrap();
                } else {
                    writeln!(
                        text,
                        "  task t{at} {{\n    after: [t{}, t{}]\n    command: [\"true\"]\n  }}",
                        at / 2,
                        at / 3
                    )
                    .unwrap();
                }
            }
            text.push_str("}\n");
            let start = std::time::Instant::now();
            let memory = outpost_compiler::Memory {
                files: [("main.outpost".to_owned(), Arc::from(text.as_str()))].into(),
            };
            let p = outpost_grammar::parse(outpost_grammar::SourceId(0), &text);
            println!("parse {:?} {}", start.elapsed(), p.diagnostics.len());
            drop(p);
            let start = std::time::Instant::now();
            let compiled = compile(&memory, "main.outpost");
            println!(
                "all {:?} {} tasks {} diagnostics",
                start.elapsed(),
                compiled.program.workflows[0].tasks.len(),
                compiled.diagnostics.len()
            );
            println!(
                "{}",
                std::fs::read_to_string("/proc/self/status")
                    .unwrap()
                    .lines()
                    .find(|l| l.starts_with("VmHWM"))
                    .unwrap()
            );
            let start = std::time::Instant::now();
            drop(compiled);
            println!("drop {:?}", start.elapsed());
            continue;
        }
        let full = PathBuf::from(&path);
        let loader = Folder(full.parent().unwrap().to_path_buf());
        let compiled = compile(&loader, &full.file_name().unwrap().to_string_lossy());
        println!("{path}: {} diagnostics", compiled.diagnostics.len());
        for d in &compiled.diagnostics {
            let place = |at: outpost_grammar::Location| {
                let s = compiled.program.sources.get(at.source);
                let a = s.line_column(at.span.start);
                let b = s.line_column(at.span.end);
                format!("{}:{}:{}-{}:{}", s.name, a.0, a.1, b.0, b.1)
            };
            println!(
                "  {:?} {} {} | {}",
                d.severity,
                d.code.0,
                place(d.at()),
                d.message
            );
            for l in &d.labels[1..] {
                println!("      also {} {}", place(l.at), l.text);
            }
            if let Some(h) = &d.help {
                println!("      help {h}");
            }
            for n in &d.notes {
                println!("      note {n}");
            }
        }
    }
}
