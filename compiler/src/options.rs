//! The table of every kind of block: its properties, nested blocks and rules, with types, defaults and a line of documentation.
//!
//! It drives checking, suggestions, defaults, hover, completion and the reference page.
//! What a property *means* is decided where it is lowered.

mod reference;

pub use reference::reference;

/// The longest timeout, in milliseconds (LANGUAGE §7).
pub const MAX_TIMEOUT_MS: u64 = (1 << 31) - 1;
/// The most rounds of a loop (SEMANTICS L1).
pub const MAX_ROUNDS: i64 = (1 << 53) - 1;
/// The most attempts of a retry.
pub const MAX_RETRY_ATTEMPTS: i64 = 1_000_000;
/// The most attempts that run at once.
pub const MAX_CONCURRENCY: i64 = 65_536;
/// The most candidates of a race (LANGUAGE §9).
pub const MAX_RACE: usize = 8;
/// How many bytes of a stream a result keeps unless `keep` says otherwise (SEMANTICS C2).
pub const DEFAULT_KEEP: u64 = 1 << 20;
/// How many attempts run at once unless `concurrency` says otherwise.
pub const DEFAULT_CONCURRENCY: u32 = 8;
/// The cap of an exponential backoff unless `maxDelay` says otherwise, in milliseconds.
pub const DEFAULT_MAX_DELAY_MS: u64 = 30_000;

/// The built-in harnesses.
pub const HARNESSES: &[&str] = &[
    "claude",
    "codex",
    "copilot",
    "antigravity",
    "kimi",
    "gemini",
    "qwen",
    "opencode",
    "scripted",
];

/// The fault codes that `retry { on }` may name, and the mark `unavailable`.
pub const FAULTS: &[&str] = &[
    "unavailable",
    "timeout",
    "process",
    "provider",
    "session",
    "response",
    "prompt",
    "workspace",
    "conflict",
    "quota",
    "failed",
    "aborted",
    "guard",
    "replay",
];

/// A kind of block.
#[derive(Debug)]
pub struct BlockKind {
    /// Its keyword.
    pub name: &'static str,
    /// One line about it.
    pub doc: &'static str,
    /// Its properties, in groups that several kinds share.
    pub groups: &'static [&'static [Property]],
    /// The blocks inside it.
    pub blocks: &'static [Nested],
    /// Which of `reject accept expect input` may stand in it.
    pub rules: &'static [&'static str],
    /// Whether any property name is allowed (`env`, `inputs`, `prices`).
    pub open: bool,
}

/// A property.
#[derive(Debug, PartialEq)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it, as shown to people; empty if nothing does.
    pub default: &'static str,
    /// One line about it.
    pub doc: &'static str,
}

/// A block inside a block.
#[derive(Debug)]
pub struct Nested {
    /// Its keyword.
    pub name: &'static str,
    /// What is in it.
    pub kind: &'static BlockKind,
    /// Whether there may be several.
    pub many: bool,
}

/// What a property takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An expression of any type.
    Any,
    /// An expression of type `bool`.
    Bool,
    /// An expression of type `string`.
    Text,
    /// An expression of type `number`.
    Score,
    /// An expression of type `list<string>`.
    Texts,
    /// A literal whole number in a range.
    Int(i64, i64),
    /// A literal duration in a range of milliseconds.
    Duration(u64, u64),
    /// A literal size in bytes.
    Size,
    /// A literal amount of money.
    Money,
    /// A literal text.
    ConstantText,
    /// `true` or `false`.
    ConstantBool,
    /// A literal list of texts.
    ConstantTexts,
    /// Any constant value.
    Constant,
    /// One of some bare words.
    Word(&'static [&'static str]),
    /// A list of bare words.
    Words(&'static [&'static str]),
    /// A list of tasks.
    Tasks,
    /// A type.
    Type,
    /// An agent.
    Agent,
    /// A list of agents.
    Agents,
    /// A sandbox.
    Sandbox,
    /// A harness: a built-in one or a declared one.
    Harness,
    /// A call of a declared `step`.
    StepCall,
    /// A call of a declared `check`.
    CheckCall,
    /// A call of a declared `attempt`.
    AttemptCall,
    /// A call of a declared `loop`.
    LoopCall,
    /// A call of a workflow.
    WorkflowCall,
    /// A workflow.
    Workflow,
    /// An agent's result.
    Conversation,
    /// Exit statuses, or `any`.
    Accepts,
    /// `current`, `named(…)`, `integrate(…)`.
    Branch,
    /// `account`, `usage`, `account(…)`, `usage(…)`.
    Auth,
    /// `fail` or `pause(maxWait: …)`.
    Quota,
    /// A literal path of a file of the project.
    Path,
}

impl Kind {
    /// Whether a task's name inside is a reference to its value.
    pub fn reads_values(self) -> bool {
        matches!(
            self,
            Kind::Any | Kind::Bool | Kind::Text | Kind::Score | Kind::Texts | Kind::Conversation
        )
    }

    /// In words, for people.
    pub fn describe(self) -> String {
        match self {
            Kind::Any => "any value".into(),
            Kind::Bool => "bool".into(),
            Kind::Text => "string".into(),
            Kind::Score => "number".into(),
            Kind::Texts => "list<string>".into(),
            Kind::Int(..) => "a literal int".into(),
            Kind::Duration(..) => "a literal duration".into(),
            Kind::Size => "a literal size".into(),
            Kind::Money => "a literal amount of money".into(),
            Kind::ConstantText => "a quoted text".into(),
            Kind::ConstantBool => "`true` or `false`".into(),
            Kind::ConstantTexts => "a list of quoted texts".into(),
            Kind::Constant => "a constant".into(),
            Kind::Word(words) => words
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", "),
            Kind::Words(words) => format!("a list of {}", Kind::Word(words).describe()),
            Kind::Tasks => "a list of tasks".into(),
            Kind::Type => "a type".into(),
            Kind::Agent => "an agent".into(),
            Kind::Agents => "a list of agents".into(),
            Kind::Sandbox => "a sandbox".into(),
            Kind::Harness => "a harness".into(),
            Kind::StepCall => "a call of a declared `step`".into(),
            Kind::CheckCall => "a call of a declared `check`".into(),
            Kind::AttemptCall => "a call of a declared `attempt`".into(),
            Kind::LoopCall => "a call of a declared `loop`".into(),
            Kind::WorkflowCall => "a call of a workflow".into(),
            Kind::Workflow => "a workflow".into(),
            Kind::Conversation => "an agent's result".into(),
            Kind::Accepts => "a list of exit statuses, or `any`".into(),
            Kind::Branch => "`current`, `named(\"…\")` or `integrate()`".into(),
            Kind::Auth => "`account`, `usage`, `account(…)` or `usage(…)`".into(),
            Kind::Quota => "`fail` or `pause(maxWait: …)`".into(),
            Kind::Path => "a quoted path".into(),
        }
    }
}

impl BlockKind {
    /// All properties.
    pub fn properties(&self) -> impl Iterator<Item = &'static Property> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// A property by name.
    pub fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties().find(|property| property.name == name)
    }

    /// A nested block by keyword.
    pub fn block(&self, name: &str) -> Option<&'static Nested> {
        self.blocks.iter().find(|nested| nested.name == name)
    }
}

const fn property(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Property {
    Property {
        name,
        kind,
        default,
        doc,
    }
}

const fn nested(name: &'static str, kind: &'static BlockKind) -> Nested {
    Nested {
        name,
        kind,
        many: false,
    }
}

const fn several(name: &'static str, kind: &'static BlockKind) -> Nested {
    Nested {
        name,
        kind,
        many: true,
    }
}

/// A timeout.
const TIMEOUT: Kind = Kind::Duration(1, MAX_TIMEOUT_MS);
/// A duration that may be nothing.
const DELAY: Kind = Kind::Duration(0, MAX_TIMEOUT_MS);

const ORDER: &[Property] = &[
    property(
        "after",
        Kind::Tasks,
        "[]",
        "Tasks that must be done first; reading a task's value already makes it one.",
    ),
    property(
        "when",
        Kind::Bool,
        "true",
        "Whether the task runs; if not, it is skipped, and so is what depends on it.",
    ),
];

const TRIGGER: &[Property] = &[property(
    "trigger",
    Kind::Word(&["success", "failure", "always"]),
    "success",
    "When it runs relative to its dependencies.",
)];

const TASK_TIMEOUT: &[Property] = &[property(
    "timeout",
    TIMEOUT,
    "none",
    "The deadline of an attempt; of a round in a loop.",
)];

const EACH: &[Property] = &[
    property(
        "parallel",
        Kind::Int(1, MAX_CONCURRENCY),
        "none",
        "How many items run at once; needs a `for`.",
    ),
    property(
        "key",
        Kind::Text,
        "the index",
        "The key of an item; needs a `for`.",
    ),
];

/// The properties that make an action: exactly one of them stands in a body without `run`.
pub const ACTIONS: &[Property] = &[
    property("value", Kind::Any, "", "Evaluates an expression."),
    property(
        "command",
        Kind::Texts,
        "",
        "Runs a program with its arguments.",
    ),
    property(
        "shell",
        Kind::Text,
        "",
        "Runs a text with `sh -eu -c`; every hole is quoted.",
    ),
    property("agent", Kind::Agent, "", "Gives an agent a brief."),
    property("step", Kind::StepCall, "", "Runs a declared step."),
    property("workflow", Kind::WorkflowCall, "", "Runs another workflow."),
    property(
        "assert",
        Kind::Bool,
        "",
        "Fails with `assertion` when it does not hold.",
    ),
];

/// The properties of actions.
const ACTION_OPTIONS: &[Property] = &[
    property(
        "in",
        Kind::Sandbox,
        "the file's folder",
        "The sandbox where it runs.",
    ),
    property("stdin", Kind::Text, "empty", "The standard input."),
    property(
        "directory",
        Kind::Text,
        "the top",
        "The folder, relative to the sandbox's top or to the file.",
    ),
    property(
        "accepts",
        Kind::Accepts,
        "[0]",
        "Which exit statuses are no failure.",
    ),
    property(
        "returns",
        Kind::Type,
        "none",
        "The type of the standard output as JSON; makes `value`.",
    ),
    property("idle", TIMEOUT, "10m for agents", "The longest silence."),
    property(
        "keep",
        Kind::Size,
        "1MiB",
        "How many bytes of each stream the result keeps.",
    ),
    property("brief", Kind::Text, "", "What the agent is told."),
    property(
        "briefFile",
        Kind::Path,
        "",
        "A file that holds the brief, read when the file is compiled.",
    ),
    property(
        "response",
        Kind::Type,
        "none",
        "The type of the agent's answer; makes `value`.",
    ),
    property(
        "repairs",
        Kind::Int(0, 100),
        "0",
        "How often a bad answer may be mended.",
    ),
    property(
        "continue",
        Kind::Conversation,
        "none",
        "An agent's result whose conversation goes on.",
    ),
    property(
        "fork",
        Kind::Conversation,
        "none",
        "An agent's result whose conversation is copied.",
    ),
    property("passes", Kind::Int(1, 1000), "1", "How many turns at most."),
    property("until", Kind::Bool, "none", "Ends the turns."),
    property(
        "message",
        Kind::Text,
        "none",
        "What is said when an assertion does not hold.",
    ),
];

const OUTPUT: &[Property] = &[property(
    "output",
    Kind::Any,
    "the last result",
    "The body's value.",
)];

const ACTION_TIMEOUT: &[Property] = &[property(
    "timeout",
    TIMEOUT,
    "none",
    "The deadline of this action.",
)];

/// Which options belong to which action.
pub fn belongs(option: &str, action: &str) -> bool {
    match action {
        "command" | "shell" => matches!(
            option,
            "in" | "stdin"
                | "env"
                | "directory"
                | "accepts"
                | "returns"
                | "timeout"
                | "idle"
                | "keep"
        ),
        "agent" | "continue" | "fork" => matches!(
            option,
            "in" | "brief"
                | "briefFile"
                | "response"
                | "repairs"
                | "continue"
                | "fork"
                | "passes"
                | "until"
                | "timeout"
                | "idle"
                | "env"
                | "agent"
        ),
        "assert" => option == "message",
        _ => false,
    }
}

/// `env { NAME: value }`.
pub static ENV: BlockKind = BlockKind {
    name: "env",
    doc: "Environment variables; the only place for `secret.NAME` and `env.NAME`.",
    groups: &[],
    blocks: &[],
    rules: &[],
    open: true,
};

/// `retry { … }`.
pub static RETRY: BlockKind = BlockKind {
    name: "retry",
    doc: "Repeats a failed attempt.",
    groups: &[RETRY_PROPERTIES],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `retryPhase { … }`.
pub static RETRY_PHASE: BlockKind = BlockKind {
    name: "retryPhase",
    doc: "Repeats a phase of a round when something was unavailable.",
    groups: &[RETRY_PROPERTIES],
    blocks: &[],
    rules: &[],
    open: false,
};

const RETRY_PROPERTIES: &[Property] = &[
    property(
        "attempts",
        Kind::Int(1, MAX_RETRY_ATTEMPTS),
        "",
        "How many attempts at most; the first counts.",
    ),
    property("delay", DELAY, "0s", "The first wait."),
    property(
        "backoff",
        Kind::Word(&["fixed", "exponential"]),
        "fixed",
        "Whether the wait doubles.",
    ),
    property(
        "maxDelay",
        DELAY,
        "30s for exponential",
        "The longest wait.",
    ),
    property(
        "jitter",
        Kind::Word(&["none", "full"]),
        "none",
        "Whether the wait is drawn at random.",
    ),
    property(
        "on",
        Kind::Words(FAULTS),
        "everything",
        "Which faults are retried.",
    ),
];

/// `cache { … }`.
pub static CACHE: BlockKind = BlockKind {
    name: "cache",
    doc: "Reuses an earlier result.",
    groups: &[&[
        property("key", Kind::Any, "", "What the result depends on."),
        property(
            "version",
            Kind::Text,
            "",
            "Changes when the way of computing it does.",
        ),
        property(
            "maxAge",
            Kind::Duration(1, u64::MAX >> 1),
            "none",
            "How long an entry is good.",
        ),
        property(
            "mode",
            Kind::Word(&["reuse", "refresh"]),
            "reuse",
            "Whether entries are used or only written.",
        ),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `run name { … }` in a body.
pub static RUN: BlockKind = BlockKind {
    name: "run",
    doc: "One action of a sequence.",
    groups: &[ACTIONS, ACTION_OPTIONS, ACTION_TIMEOUT],
    blocks: &[nested("env", &ENV)],
    rules: &[],
    open: false,
};

/// `task name { … }`.
pub static TASK: BlockKind = BlockKind {
    name: "task",
    doc: "One body of actions.",
    groups: &[
        ORDER,
        TRIGGER,
        TASK_TIMEOUT,
        EACH,
        ACTIONS,
        ACTION_OPTIONS,
        OUTPUT,
    ],
    blocks: &[
        nested("retry", &RETRY),
        nested("cache", &CACHE),
        nested("env", &ENV),
        several("run", &RUN),
    ],
    rules: &[],
    open: false,
};

/// `attempt { … }`.
pub static ATTEMPT: BlockKind = BlockKind {
    name: "attempt",
    doc: "Produces a loop's candidate.",
    groups: &[ACTIONS, ACTION_OPTIONS, ACTION_TIMEOUT, OUTPUT],
    blocks: &[nested("env", &ENV), several("run", &RUN)],
    rules: &[],
    open: false,
};

/// `check { … }`.
pub static CHECK: BlockKind = BlockKind {
    name: "check",
    doc: "Rejects or accepts a loop's candidate.",
    groups: &[ACTIONS, ACTION_OPTIONS, ACTION_TIMEOUT],
    blocks: &[nested("env", &ENV), several("run", &RUN)],
    rules: &["reject", "accept"],
    open: false,
};

/// A declared `step name(…) { … }`.
pub static STEP: BlockKind = BlockKind {
    name: "step",
    doc: "A body with parameters, run by `step:`.",
    groups: &[ACTIONS, ACTION_OPTIONS, ACTION_TIMEOUT, OUTPUT],
    blocks: &[nested("env", &ENV), several("run", &RUN)],
    rules: &[],
    open: false,
};

const ROUNDS: &[Property] = &[
    property(
        "maxRounds",
        Kind::Int(1, MAX_ROUNDS),
        "",
        "How many rounds at most; required.",
    ),
    property(
        "stopOnStall",
        Kind::Int(1, MAX_ROUNDS),
        "none",
        "Ends with `stuck` after so many equal rounds.",
    ),
    property("attempt", Kind::AttemptCall, "", "A declared attempt."),
    property("check", Kind::CheckCall, "", "A declared check."),
    property(
        "body",
        Kind::LoopCall,
        "",
        "A declared loop: attempt and check.",
    ),
];

/// `loop name { … }`.
pub static LOOP: BlockKind = BlockKind {
    name: "loop",
    doc: "Attempts and checks until a candidate is accepted.",
    groups: &[ORDER, TRIGGER, TASK_TIMEOUT, EACH, ROUNDS],
    blocks: &[
        nested("attempt", &ATTEMPT),
        nested("check", &CHECK),
        nested("cache", &CACHE),
        nested("retryPhase", &RETRY_PHASE),
    ],
    rules: &[],
    open: false,
};

/// A declared `loop name(…) { … }`.
pub static LOOP_TEMPLATE: BlockKind = BlockKind {
    name: "loop",
    doc: "An attempt and a check with parameters, used by `body:`.",
    groups: &[],
    blocks: &[nested("attempt", &ATTEMPT), nested("check", &CHECK)],
    rules: &[],
    open: false,
};

/// `race name for x in list { … }`.
pub static RACE: BlockKind = BlockKind {
    name: "race",
    doc: "Candidates against one another.",
    groups: &[
        ORDER,
        TRIGGER,
        TASK_TIMEOUT,
        &[
            property(
                "parallel",
                Kind::Int(1, MAX_CONCURRENCY),
                "all",
                "How many candidates run at once.",
            ),
            property(
                "score",
                Kind::Score,
                "",
                "How good an accepted candidate is; needs `select: best`.",
            ),
            property(
                "select",
                Kind::Word(&["first", "best"]),
                "first",
                "Which accepted candidate wins.",
            ),
            property("attempt", Kind::AttemptCall, "", "A declared attempt."),
            property("check", Kind::CheckCall, "", "A declared check."),
        ],
    ],
    blocks: &[nested("attempt", &ATTEMPT), nested("check", &CHECK)],
    rules: &[],
    open: false,
};

const GATE: &[Property] = &[
    property("prompt", Kind::Text, "", "What is asked; required."),
    property(
        "actors",
        Kind::ConstantTexts,
        "",
        "Who may decide; `\"*\"` is anyone; required.",
    ),
];

/// `approval name { … }`.
pub static APPROVAL: BlockKind = BlockKind {
    name: "approval",
    doc: "Waits until somebody approves or rejects.",
    groups: &[ORDER, TRIGGER, GATE],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `pause name { … }`.
pub static PAUSE: BlockKind = BlockKind {
    name: "pause",
    doc: "Waits until somebody resumes or rejects.",
    groups: &[ORDER, TRIGGER, GATE],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `ask name { … }`.
pub static ASK: BlockKind = BlockKind {
    name: "ask",
    doc: "Asks somebody a question.",
    groups: &[
        ORDER,
        TRIGGER,
        &[
            property("question", Kind::Text, "", "The question; required."),
            property(
                "choices",
                Kind::Texts,
                "none",
                "The answers to choose from.",
            ),
            property(
                "freeText",
                Kind::ConstantBool,
                "true",
                "Whether any text will do.",
            ),
            property(
                "actors",
                Kind::ConstantTexts,
                "",
                "Who may answer; `\"*\"` is anyone; required.",
            ),
        ],
    ],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `budget { … }`.
pub static BUDGET: BlockKind = BlockKind {
    name: "budget",
    doc: "Limits of a run.",
    groups: &[&[
        property(
            "attempts",
            Kind::Int(0, i64::MAX),
            "none",
            "Attempts: tries, rounds, replayed phases.",
        ),
        property(
            "inputTokens",
            Kind::Int(0, i64::MAX),
            "none",
            "Input tokens.",
        ),
        property(
            "outputTokens",
            Kind::Int(0, i64::MAX),
            "none",
            "Output tokens.",
        ),
        property(
            "cachedTokens",
            Kind::Int(0, i64::MAX),
            "none",
            "Cached input tokens.",
        ),
        property(
            "cost",
            Kind::Money,
            "none",
            "Money; needs a price for every model used.",
        ),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `prices { "model": { … } }`.
pub static PRICES: BlockKind = BlockKind {
    name: "prices",
    doc: "Prices per million tokens, by model, in one currency.",
    groups: &[],
    blocks: &[],
    rules: &[],
    open: true,
};

/// `workflow name { … }`.
pub static WORKFLOW: BlockKind = BlockKind {
    name: "workflow",
    doc: "Inputs, policy, tasks and an output.",
    groups: &[&[
        property(
            "version",
            Kind::ConstantText,
            "none",
            "A change makes unfinished runs incompatible.",
        ),
        property(
            "concurrency",
            Kind::Int(1, MAX_CONCURRENCY),
            "8",
            "How many attempts run at once.",
        ),
        property(
            "onError",
            Kind::Word(&["stop", "continue"]),
            "stop",
            "What a failure does to the rest.",
        ),
        property(
            "timeout",
            Kind::Duration(1, MAX_TIMEOUT_MS),
            "none",
            "The deadline of one start of the run.",
        ),
        property("onQuota", Kind::Quota, "fail", "What a quota fault does."),
        property("output", Kind::Any, "null", "What the run gives."),
    ]],
    blocks: &[
        nested("budget", &BUDGET),
        nested("prices", &PRICES),
        several("task", &TASK),
        several("loop", &LOOP),
        several("race", &RACE),
        several("approval", &APPROVAL),
        several("pause", &PAUSE),
        several("ask", &ASK),
    ],
    rules: &["input"],
    open: false,
};

/// `agent name { … }`.
pub static AGENT: BlockKind = BlockKind {
    name: "agent",
    doc: "One agent CLI with its options, or a fallback list.",
    groups: &[&[
        property(
            "harness",
            Kind::Harness,
            "",
            "How its CLI is driven; required without `fallback`.",
        ),
        property("model", Kind::ConstantText, "the CLI's", "The model."),
        property(
            "reasoning",
            Kind::Word(&["low", "medium", "high", "xhigh", "max"]),
            "the CLI's",
            "How hard it thinks.",
        ),
        property(
            "maxOutputTokens",
            Kind::Int(1, i64::MAX),
            "the CLI's",
            "The longest answer.",
        ),
        property("auth", Kind::Auth, "none", "Whose account pays."),
        property(
            "permissions",
            Kind::Word(&["ask", "edits", "bypass"]),
            "edits; bypass in an isolating sandbox",
            "What it may do unasked.",
        ),
        property(
            "giveUpAfter",
            TIMEOUT,
            "none",
            "Ends a turn that shows nothing but retry notices.",
        ),
        property("idle", TIMEOUT, "10m", "The longest silence."),
        property("timeout", TIMEOUT, "none", "The deadline of a turn."),
        property(
            "args",
            Kind::ConstantTexts,
            "[]",
            "More arguments of the CLI.",
        ),
        property(
            "turns",
            Kind::Constant,
            "",
            "What a scripted agent answers.",
        ),
        property("fallback", Kind::Agents, "", "Agents tried in order."),
        property(
            "on",
            Kind::Words(&["quota", "unavailable"]),
            "",
            "Which faults hand over; required beside `fallback`.",
        ),
    ]],
    blocks: &[nested("env", &ENV)],
    rules: &[],
    open: false,
};

/// `sandbox name { … }`.
pub static SANDBOX: BlockKind = BlockKind {
    name: "sandbox",
    doc: "A work tree where actions run.",
    groups: &[&[
        property(
            "provider",
            Kind::Word(&["local", "bubblewrap", "docker", "podman"]),
            "",
            "What makes it; required.",
        ),
        property(
            "repository",
            Kind::ConstantText,
            "\".\"",
            "The repository it is a work tree of.",
        ),
        property("branch", Kind::Branch, "current", "What it works on."),
        property(
            "lifetime",
            Kind::Word(&["workflow", "task"]),
            "workflow",
            "One warm sandbox, or one for each attempt.",
        ),
        property(
            "quotaResume",
            Kind::Word(&["continue", "restart"]),
            "continue",
            "Where the attempt after a quota pause starts.",
        ),
        property(
            "copies",
            Kind::ConstantTexts,
            "[]",
            "Files copied into it that Git ignores.",
        ),
        property("image", Kind::ConstantText, "", "The container's image."),
        property(
            "network",
            Kind::Word(&["none", "host"]),
            "host",
            "Whether it reaches the network.",
        ),
        property(
            "setup",
            Kind::ConstantTexts,
            "none",
            "A command run when it is opened.",
        ),
        property(
            "mounts",
            Kind::ConstantTexts,
            "[]",
            "More folders that it sees.",
        ),
        property("memory", Kind::Size, "none", "The most memory."),
        property("cpus", Kind::Int(1, 1024), "none", "The most processors."),
        property("timeout", TIMEOUT, "none", "The deadline of opening it."),
    ]],
    blocks: &[nested("env", &ENV), nested("hook", &HOOK)],
    rules: &[],
    open: false,
};

/// `hook { … }` of a sandbox.
pub static HOOK: BlockKind = BlockKind {
    name: "hook",
    doc: "Commands run when a sandbox is opened and closed.",
    groups: &[&[
        property(
            "open",
            Kind::ConstantTexts,
            "none",
            "A command run when it is opened.",
        ),
        property(
            "close",
            Kind::ConstantTexts,
            "none",
            "A command run before it is closed.",
        ),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `limits { … }` of a harness.
pub static LIMITS: BlockKind = BlockKind {
    name: "limits",
    doc: "Failure texts that mean a quota or an outage: regular expressions.",
    groups: &[&[
        property("quota", Kind::Constant, "", "One pattern or a list."),
        property("unavailable", Kind::Constant, "", "One pattern or a list."),
        property(
            "reset",
            Kind::Constant,
            "",
            "Patterns whose first group is a time.",
        ),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `harness name { … }`.
pub static HARNESS: BlockKind = BlockKind {
    name: "harness",
    doc: "How another agent CLI is driven.",
    groups: &[&[
        property(
            "command",
            Kind::ConstantTexts,
            "",
            "Program and arguments; required.",
        ),
        property(
            "brief",
            Kind::Word(&["stdin", "argument", "file"]),
            "stdin",
            "How the brief is delivered.",
        ),
        property(
            "briefArgument",
            Kind::ConstantTexts,
            "[]",
            "The arguments before the brief.",
        ),
        property(
            "modelArgument",
            Kind::ConstantTexts,
            "[]",
            "The arguments before the model.",
        ),
        property(
            "reasoningArgument",
            Kind::ConstantTexts,
            "[]",
            "The arguments before the reasoning.",
        ),
        property(
            "continueArgument",
            Kind::ConstantTexts,
            "[]",
            "The arguments before a conversation that goes on.",
        ),
        property(
            "forkArgument",
            Kind::ConstantTexts,
            "[]",
            "The arguments before a conversation that is copied.",
        ),
        property(
            "bypassArguments",
            Kind::ConstantTexts,
            "[]",
            "The arguments of `permissions: bypass`.",
        ),
        property(
            "editsArguments",
            Kind::ConstantTexts,
            "[]",
            "The arguments of `permissions: edits`.",
        ),
        property(
            "output",
            Kind::Word(&["text", "lines"]),
            "text",
            "Plain text, or a JSON value on each line.",
        ),
        property(
            "supports",
            Kind::Words(&["continue", "fork", "reasoning", "maxOutputTokens", "images"]),
            "[]",
            "What it can do.",
        ),
        property(
            "key",
            Kind::ConstantText,
            "",
            "The environment variable of `auth: usage`.",
        ),
        property(
            "versionArgument",
            Kind::ConstantTexts,
            "[\"--version\"]",
            "The arguments that print its version.",
        ),
    ]],
    blocks: &[
        nested("limits", &LIMITS),
        several("event", &EVENT),
        nested("env", &ENV),
    ],
    rules: &[],
    open: false,
};

/// `event name { … }` of a harness: how a line of output becomes an event.
pub static EVENT: BlockKind = BlockKind {
    name: "event",
    doc: "How a line of output becomes an event: `text`, `result`, `usage`, `conversation`, `failure`, `tool`, `retry`, `finished`.",
    groups: &[&[
        property(
            "line",
            Kind::ConstantText,
            "",
            "A regular expression for plain lines; its named groups are the parts.",
        ),
        property(
            "when",
            Kind::Constant,
            "",
            "For JSON lines: which values stand at which paths, `{ \"type\": \"assistant\" }`.",
        ),
        property("text", Kind::ConstantText, "", "The path of a text."),
        property(
            "id",
            Kind::ConstantText,
            "",
            "The path of an id: of a conversation, of a call.",
        ),
        property("name", Kind::ConstantText, "", "The path of a tool's name."),
        property(
            "input",
            Kind::ConstantText,
            "",
            "The path of a tool's input, or of input tokens.",
        ),
        property(
            "output",
            Kind::ConstantText,
            "",
            "The path of output tokens.",
        ),
        property(
            "cached",
            Kind::ConstantText,
            "",
            "The path of cached tokens.",
        ),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};
/// The events that a declared harness can tell of.
pub const EVENTS: [&str; 8] = [
    "text",
    "result",
    "usage",
    "conversation",
    "failure",
    "tool",
    "retry",
    "finished",
];

/// `extend name { … }`.
pub static EXTEND: BlockKind = BlockKind {
    name: "extend",
    doc: "Adds failure texts to a harness.",
    groups: &[],
    blocks: &[nested("limits", &LIMITS)],
    rules: &[],
    open: false,
};

/// `inputs { … }` of a test.
pub static INPUTS: BlockKind = BlockKind {
    name: "inputs",
    doc: "The inputs of a test's run.",
    groups: &[],
    blocks: &[],
    rules: &[],
    open: true,
};

/// `agent name { … }` of a test.
pub static AGENT_STUB: BlockKind = BlockKind {
    name: "agent",
    doc: "What an agent answers in a test, turn by turn.",
    groups: &[&[property("turns", Kind::Constant, "", "The turns.")]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `command [...] { … }` of a test.
pub static COMMAND_STUB: BlockKind = BlockKind {
    name: "command",
    doc: "What a command gives in a test, call by call.",
    groups: &[&[property("results", Kind::Constant, "", "The results.")]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `decide name { … }` of a test.
pub static DECIDE: BlockKind = BlockKind {
    name: "decide",
    doc: "Decides a gate in a test.",
    groups: &[&[
        property("approve", Kind::ConstantText, "", "Who approves."),
        property("resume", Kind::ConstantText, "", "Who resumes."),
        property("reject", Kind::ConstantText, "", "Who rejects."),
        property("reason", Kind::ConstantText, "none", "Why."),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `answer name { … }` of a test.
pub static ANSWER: BlockKind = BlockKind {
    name: "answer",
    doc: "Answers a question in a test.",
    groups: &[&[
        property("text", Kind::ConstantText, "", "The answer."),
        property("actor", Kind::ConstantText, "", "Who answers."),
    ]],
    blocks: &[],
    rules: &[],
    open: false,
};

/// `test "…" { … }`.
pub static TEST: BlockKind = BlockKind {
    name: "test",
    doc: "A run with stubs, and what must hold of it.",
    groups: &[&[property(
        "workflow",
        Kind::Workflow,
        "",
        "The workflow that runs; required.",
    )]],
    blocks: &[
        nested("inputs", &INPUTS),
        several("agent", &AGENT_STUB),
        several("command", &COMMAND_STUB),
        several("shell", &COMMAND_STUB),
        several("decide", &DECIDE),
        several("answer", &ANSWER),
    ],
    rules: &["expect"],
    open: false,
};

/// The blocks at the top of a file.
pub static FILE: BlockKind = BlockKind {
    name: "file",
    doc: "What a file declares, besides `use`, `secret`, `type` and `fn`.",
    groups: &[],
    blocks: &[
        several("workflow", &WORKFLOW),
        several("agent", &AGENT),
        several("sandbox", &SANDBOX),
        several("harness", &HARNESS),
        several("extend", &EXTEND),
        several("step", &STEP),
        several("check", &CHECK),
        several("attempt", &ATTEMPT),
        several("loop", &LOOP_TEMPLATE),
        several("test", &TEST),
    ],
    rules: &[],
    open: false,
};

/// Every kind of block, in the order of the reference.
pub static KINDS: &[&BlockKind] = &[
    &FILE,
    &WORKFLOW,
    &BUDGET,
    &PRICES,
    &TASK,
    &LOOP,
    &RACE,
    &ATTEMPT,
    &CHECK,
    &RUN,
    &RETRY,
    &RETRY_PHASE,
    &CACHE,
    &ENV,
    &APPROVAL,
    &PAUSE,
    &ASK,
    &AGENT,
    &SANDBOX,
    &HOOK,
    &HARNESS,
    &LIMITS,
    &EVENT,
    &EXTEND,
    &STEP,
    &LOOP_TEMPLATE,
    &TEST,
    &INPUTS,
    &AGENT_STUB,
    &COMMAND_STUB,
    &DECIDE,
    &ANSWER,
];

/// The kinds of block that have a property of this name, for advice.
pub fn owners(name: &str) -> Vec<&'static str> {
    let mut owners: Vec<&'static str> = Vec::new();
    for kind in KINDS {
        let has = kind.property(name).is_some() || kind.block(name).is_some();
        if has && !owners.contains(&kind.name) {
            owners.push(kind.name);
        }
    }
    owners
}

/// The kinds of block in which a block of this keyword may stand, for advice.
pub fn owners_of_block(keyword: &str) -> Vec<&'static str> {
    KINDS
        .iter()
        .filter(|kind| kind.block(keyword).is_some())
        .map(|kind| kind.name)
        .collect()
}
