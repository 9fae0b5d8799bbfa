//! The pages of the commands show what the commands print.
//!
//! A block of ```` ```outpost ```` is a file, named by the last `name.outpost` before it. A block of ```` ```console ```` holds commands
//! behind `$ ` and all that they print, in the order of the page.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A block of code: its language and its text.
struct Block<'a> {
    language: &'a str,
    /// The last line of words before it that names a file.
    name: &'a str,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut name = "";
    let mut open = false;
    for line in page.lines() {
        match (open, line.strip_prefix("```")) {
            (false, Some(language)) => {
                open = true;
                let text = String::new();
                blocks.push(Block {
                    language,
                    name,
                    text,
                });
            }
            (true, Some(_)) => open = false,
            (true, None) => {
                let block = blocks.last_mut().expect("one is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (false, None) => {
                let mut words = line.split('`');
                let named = words.rfind(|word| word.ends_with(".outpost") && !word.contains(' '));
                name = named.unwrap_or(name);
            }
        }
    }
    blocks
}

/// The commands of a block with what they print now.
fn played(root: &Path, text: &str) -> String {
    let mut played = String::new();
    for line in text.lines() {
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(root)
            .env_clear()
            .env("PATH", path())
            .env("HOME", root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
        // Blanks at the ends of lines do not survive editors.
        let lines = printed.lines().map(|line| format!("{}\n", line.trim_end()));
        played.push_str(&format!("{line}\n{}", lines.collect::<String>()));
    }
    played
}

fn path() -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_outpostc"));
    let folder = binary.parent().expect("the binary is in a folder");
    let path = std::env::var("PATH").expect("there are programs");
    format!("{}:{path}", folder.display())
}

#[test]
fn the_pages_of_the_commands_show_what_they_print() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/commands");
    let entries = fs::read_dir(folder).expect("the folder is part of the repository");
    let mut pages: Vec<_> = entries
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    pages.sort();
    assert!(pages.len() > 5, "the pages are gone");
    for page in pages {
        let work = tempfile::tempdir().expect("a temporary folder can be made");
        let root = fs::canonicalize(work.path()).expect("it was just made");
        fs::create_dir(root.join(".outpost")).expect("it is new");
        let text = fs::read_to_string(&page).expect("a page is text");
        let mut commands = 0;
        for block in blocks(&text) {
            match block.language {
                "outpost" => fs::write(root.join(block.name), &block.text)
                    .expect("the block follows the name of its file"),
                "console" => {
                    commands += 1;
                    let now = played(&root, &block.text);
                    assert_eq!(now, block.text, "{}\nprints now\n{now}", page.display());
                }
                "" | "sh" => {}
                other => panic!("{}: a block of `{other}`", page.display()),
            }
        }
        assert!(commands > 0, "{} shows nothing", page.display());
    }
}
