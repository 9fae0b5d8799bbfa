//! Bounds as JSON.

use crate::bounds::{Bounds, Count, TaskBounds};
use crate::graph::json::{AgentPage, SandboxPage};
use crate::graph::words::milliseconds;
use crate::program::{OnError, OnQuota};
use outpost_stdlib::Value;
use serde::Serialize;

/// The version of the format. Fields may be added, never renamed.
pub const VERSION: u32 = 1;

/// The bounds on one line.
pub fn draw(bounds: &Bounds) -> String {
    let policy = &bounds.policy;
    let page = Page {
        version: VERSION,
        workflow: &bounds.workflow,
        doc: bounds.doc.as_deref(),
        tasks: bounds.tasks.iter().map(TaskPage::of).collect(),
        attempts: CountPage::of(bounds.attempts),
        agent_turns: bounds.turns,
        time_ms: bounds.time.map(milliseconds),
        unlimited: &bounds.unlimited,
        concurrency: policy.concurrency,
        on_error: match policy.on_error {
            OnError::Stop => "stop",
            OnError::Continue => "continue",
        },
        quota_wait_ms: match policy.on_quota {
            OnQuota::Fail => None,
            OnQuota::Pause { max_wait } => Some(milliseconds(max_wait)),
        },
        timeout_ms: policy.timeout.map(milliseconds),
        budget: policy.budget.as_ref().map(|budget| BudgetPage {
            attempts: budget.attempts,
            input_tokens: budget.input_tokens,
            output_tokens: budget.output_tokens,
            cached_tokens: budget.cached_tokens,
            cost: budget.cost.as_ref().and_then(money),
        }),
        agents: bounds.agents.iter().map(AgentPage::of).collect(),
        sandboxes: bounds.sandboxes.iter().map(SandboxPage::of).collect(),
        secrets: &bounds.secrets,
        gates: bounds.gates().map(|task| task.key.as_str()).collect(),
    };
    serde_json::to_string(&page).expect("texts and numbers always are JSON")
}

/// An amount of money, as it is written.
pub(crate) fn money(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) => None,
        Value::List(_) | Value::Object(_) => None,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'b> {
    version: u32,
    workflow: &'b str,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'b str>,
    tasks: Vec<TaskPage<'b>>,
    attempts: CountPage,
    /// `null` if the file does not bound them.
    agent_turns: Option<u64>,
    /// `null` if the file does not bound it.
    time_ms: Option<u64>,
    unlimited: &'b [String],
    concurrency: u32,
    on_error: &'static str,
    /// `null` if a quota is a failure.
    quota_wait_ms: Option<u64>,
    timeout_ms: Option<u64>,
    budget: Option<BudgetPage<'b>>,
    agents: Vec<AgentPage<'b>>,
    sandboxes: Vec<SandboxPage<'b>>,
    secrets: &'b [String],
    gates: Vec<&'b str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetPage<'b> {
    attempts: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    cost: Option<&'b str>,
}

#[derive(Serialize)]
struct CountPage {
    least: u64,
    /// `null` if the file does not bound it.
    most: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPage<'b> {
    key: &'b str,
    kind: &'static str,
    layer: usize,
    depth: usize,
    after: &'b [String],
    conditions: &'b [String],
    attempts: CountPage,
    agent_turns: Option<u64>,
    time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actors: Option<&'b [String]>,
    effects: Vec<&'static str>,
    agents: &'b [String],
    sandboxes: &'b [String],
    secrets: &'b [String],
}

impl CountPage {
    fn of(count: Count) -> CountPage {
        CountPage {
            least: count.least,
            most: count.most,
        }
    }
}

impl<'b> TaskPage<'b> {
    fn of(task: &'b TaskBounds) -> TaskPage<'b> {
        TaskPage {
            key: &task.key,
            kind: task.kind.keyword(),
            layer: task.layer,
            depth: task.depth,
            after: &task.after,
            conditions: &task.conditions,
            attempts: CountPage::of(task.attempts),
            agent_turns: task.turns,
            time_ms: task.time.map(milliseconds),
            actors: task.actors.as_deref(),
            effects: task.effects.iter().map(|effect| effect.word()).collect(),
            agents: &task.agents,
            sandboxes: &task.sandboxes,
            secrets: &task.secrets,
        }
    }
}
