//! The same from source: words as written, uses behind called steps and checks.

use outpost_compiler::bounds::{Bounds, page};
use outpost_compiler::graph::{Graph, ascii, mermaid, svg};
use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::WorkflowId;
use outpost_compiler::{Memory, compile};
use std::sync::Arc;

const FILE: &str = r#"
use std.checks { worktree-clean }

secret OPENAI_API_KEY
secret HOOK

agent opus   { harness: claude  model: "opus"  auth: account }
agent codex  { harness: codex   auth: usage(secret.OPENAI_API_KEY) }

## Tried in order; the next one starts only on a quota or an outage.
agent coder {
  fallback: [opus, codex]
  on: [quota, unavailable]
}

type Review { approved: bool, feedback: string }

sandbox work {
  provider: local
  repository: "."
  branch: named("outpost/fix-tests")
}

check suite(work: Sandbox, reviewer: Agent) {
  run tests { command: ["npm", "test"]  in: work  timeout: 5m }
  reject tail("${tests.stdout}\n${tests.stderr}", 20k) when tests.status != 0

  run tree { step: worktree-clean(work) }
  reject "Commit your work." when !tree.clean

  run review {
    agent: reviewer
    in: work
    brief: "Review the last commit."
    response: Review
  }
  reject review.value.feedback when !review.value.approved
}

## Loops until the tests pass and a second agent approves.
workflow fix-tests {
  input goal: string = "Fix the failing tests and commit."
  input topics: list<string> = ["names", "errors"]

  concurrency: 2
  budget { attempts: 12  outputTokens: 500k }
  onQuota: pause(maxWait: 4h)

  task deps {
    command: ["npm", "ci", inputs.goal]
    in: work
    timeout: 10m
    retry { attempts: 3  delay: 1s  backoff: exponential }
  }

  loop fix {
    after: [deps]
    maxRounds: 4
    timeout: 20m
    attempt {
      agent: coder
      in: work
      brief: "${inputs.goal} ${feedback ?? ""}"
      output: { summary: result.text, commits: len(result.commits) }
    }
    check: suite(work, opus)
  }

  task audit for topic in inputs.topics {
    value: "${topic}: ${fix.summary}"
  }

  approval ship {
    prompt: "Merge? ${fix.summary}"
    actors: ["maintainer"]
  }

  task publish {
    after: [ship]
    when: fix.commits > 0
    command: ["git", "push", "origin", "outpost/fix-tests"]
    in: work
    timeout: 1m
  }

  task tell {
    after: [publish?]
    trigger: always
    shell: "curl --data ${len(audit? ?? [])} \"$HOOK\""
    env { HOOK: secret.HOOK }
    timeout: 10s
  }

  output: { summary: fix.summary, approvedBy: ship.actor }
}
"#;

fn compiled() -> Plan {
    let files = [("main.outpost".to_owned(), Arc::from(FILE))];
    let loader = Memory {
        files: files.into_iter().collect(),
    };
    let compiled = compile(&loader, "main.outpost");
    assert!(!compiled.has_errors(), "{:#?}", compiled.diagnostics);
    plan::build(Arc::new(compiled.program), WorkflowId(0)).expect("the tasks are in order")
}

#[test]
fn a_real_file() {
    let plan = compiled();
    let graph = Graph::of(&plan);
    insta::assert_snapshot!("compiled.wide", ascii::draw(&graph, 100));
    insta::assert_snapshot!("compiled.mermaid", mermaid::draw(&graph));
    insta::assert_snapshot!("compiled.page", page::draw(&Bounds::of(&plan)));
    assert!(svg::draw(&graph).contains("agent opus"));
}
