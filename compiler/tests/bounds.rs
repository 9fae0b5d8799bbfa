//! The two places that count attempts agree: the check of a budget, and the page of `plan`.

use outpost_compiler::bounds::{Bounds, Count};
use outpost_compiler::program::WorkflowId;
use outpost_compiler::{Memory, compile, plan};
use std::sync::Arc;

const WORKFLOWS: &str = r#"
workflow w {
  input go: bool
  input flags: list<string>
  budget { attempts: BUDGET }
  task calls { workflow: inner()  retry { attempts: 2 } }
  race best for x in ["a", "b", "c"] {
    attempt { command: ["make", x] }
    check { reject "No." when candidate.status != 0 }
  }
  race open for x in inputs.flags {
    attempt { command: ["make", x] }
    check { reject "No." when candidate.status != 0 }
  }
  loop items for y in [1, 2, 3] {
    maxRounds: 2
    attempt { value: feedback ?? "" }
    check { reject "No." when candidate == "" }
  }
  task kept { command: ["true"]  cache { key: 1  version: "1" }  retry { attempts: 4 } }
  task maybe { when: inputs.go  command: ["true"] }
  approval gate { prompt: "Go on?"  actors: ["anna"] }
  output: gate.actor
}
workflow inner {
  loop tries {
    maxRounds: 3
    retryPhase { attempts: 2 }
    attempt { value: feedback ?? "" }
    check { reject "No." when candidate == "" }
  }
  task each for x in [1, 2] { command: ["true"]  retry { attempts: 2 } }
  output: tries
}
"#;

/// The message about a budget of so many attempts, and the bounds of the plan.
fn told(attempts: u64) -> (Option<String>, Count) {
    let text = WORKFLOWS.replace("BUDGET", &attempts.to_string());
    let files = [("main.outpost".to_owned(), Arc::from(text))].into();
    let compiled = compile(&Memory { files }, "main.outpost");
    let mut found = compiled.diagnostics.iter();
    let message = found.find_map(|one| {
        let budget = one.code.0.starts_with("budget-");
        budget.then(|| one.message.clone())
    });
    let plan = plan::build(Arc::new(compiled.program), WorkflowId(0)).expect("it has no cycle");
    (message, Bounds::of(&plan).attempts)
}

#[test]
fn a_budget_is_held_against_what_plan_shows() {
    let (_, bounds) = told(1);
    let most = bounds.most.expect("the file says how often");
    let wanted = |part: String, message: Option<String>| {
        let message = message.expect("the budget is told about");
        assert!(message.contains(&part), "{message}");
    };
    let too_small = told(bounds.least - 1).0;
    wanted(format!("needs {} attempts", bounds.least), too_small);
    let below = told(most - 1).0;
    wanted(format!("may need {most} attempts"), below);
    assert_eq!(told(most).0, None);
    assert_eq!((bounds.least, most), (8, 48));
}
