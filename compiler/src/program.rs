//! The program: what the files mean.
//!
//! Names have become ids, types are checked, options have their defaults, constants are folded.
//! Nothing here refers to the tree; a [`Location`] rides along for messages.

use outpost_grammar::{Location, SourceMap};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;
use std::time::Duration;

/// Everything that a file and its imports declare.
#[derive(Debug, Default)]
pub struct Program {
    /// The sources, for messages and for the record of what a run was started from.
    pub sources: SourceMap,
    /// Workflows, in source order; those of the file that was asked for come first.
    pub workflows: Vec<Workflow>,
    /// How many of `workflows` are of the file that was asked for.
    pub own_workflows: usize,
    /// Pure functions.
    pub functions: Vec<Function>,
    /// Named types.
    pub types: Vec<NamedType>,
    /// Agents.
    pub agents: Vec<Agent>,
    /// Agent CLIs that files declare.
    pub harnesses: Vec<DeclaredHarness>,
    /// What files add to the failure texts of harnesses.
    pub extensions: Vec<Extension>,
    /// Sandboxes.
    pub sandboxes: Vec<Sandbox>,
    /// Secrets, by name.
    pub secrets: Vec<Secret>,
    /// Declared `step`s, called by actions.
    pub steps: Vec<StepTemplate>,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A workflow of the program.
    WorkflowId;
    /// A task of its workflow, in source order.
    TaskId;
    /// A function of the program.
    FunctionId;
    /// An agent of the program.
    AgentId;
    /// A declared harness of the program.
    HarnessId;
    /// A sandbox of the program.
    SandboxId;
    /// A secret of the program.
    SecretId;
    /// A declared step of the program.
    StepId;
    /// An input of its workflow, in source order.
    InputId;
    /// A variable of a function, a template or a comprehension: an index into the frame.
    LocalId;
}

/// A named type.
#[derive(Debug)]
pub struct NamedType {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// What it stands for.
    pub definition: Type,
}

/// A pure function: parameters are the first locals of its frame.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of its result.
    pub result: Type,
    /// How many locals a call needs, parameters included.
    pub locals: u32,
    /// What it computes.
    pub body: Expr,
}

/// A parameter of a function or a template.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Type,
    /// The value when the caller gives none.
    pub default: Option<Expr>,
}

/// A secret that the machine must provide.
#[derive(Debug)]
pub struct Secret {
    /// The name of the environment variable.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
}

/// An agent; a plain one is a fallback list of one (itself), a list names plain ones.
#[derive(Debug)]
pub struct Agent {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// What it is.
    pub kind: AgentKind,
}

/// Plain agents and lists of them.
#[derive(Debug)]
pub enum AgentKind {
    /// One agent CLI with its options.
    Plain(PlainAgent),
    /// Tried in order, on quota and outage faults.
    Fallback {
        /// At least two plain agents.
        members: Vec<AgentId>,
        /// Hand over on a quota.
        on_quota: bool,
        /// Hand over on an outage.
        on_unavailable: bool,
    },
    /// Declared but broken; reported.
    Broken,
}

/// An agent CLI with its options.
#[derive(Debug, Default)]
pub struct PlainAgent {
    /// The harness's name.
    pub harness: Arc<str>,
    /// The harness, if a file declares it; otherwise it is a built-in one.
    pub declared: Option<HarnessId>,
    /// `model`.
    pub model: Option<Arc<str>>,
    /// All properties as written, evaluated where constant, for fingerprints and for harnesses.
    pub options: Vec<(Arc<str>, Value)>,
    /// Its environment.
    pub environment: Environment,
    /// `auth`: whose account pays. Nothing: the CLI finds what it finds.
    pub auth: Option<Auth>,
}

/// Whose account pays for an agent.
#[derive(Debug)]
pub struct Auth {
    /// Which kind of account.
    pub kind: AuthKind,
    /// The token or the key, a text that holds a secret. Nothing: what the machine has.
    pub credential: Option<Expr>,
    /// The variable in which the CLI reads the credential; nothing where none is needed (`account` alone).
    pub variable: Option<Arc<str>>,
    /// Where it is written.
    pub at: Location,
}

/// Which kind of account pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthKind {
    /// A subscription.
    Account,
    /// A key that is billed by use.
    Usage,
}

impl AuthKind {
    /// The word of the language.
    pub fn word(self) -> &'static str {
        match self {
            AuthKind::Account => "account",
            AuthKind::Usage => "usage",
        }
    }
}

/// `harness name { … }`: an agent CLI that outpostc does not know.
#[derive(Debug)]
pub struct DeclaredHarness {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// Its properties as written.
    pub options: Vec<(Arc<str>, Value)>,
    /// How its lines become events, in source order.
    pub events: Vec<DeclaredEvent>,
    /// What its failure texts mean.
    pub limits: Limits,
    /// Its environment.
    pub environment: Environment,
}

/// `event kind { … }` of a declared harness.
#[derive(Debug)]
pub struct DeclaredEvent {
    /// `text`, `result`, `usage`, `conversation`, `failure`, `tool`, `retry` or `finished`.
    pub kind: Arc<str>,
    /// The kind's place.
    pub at: Location,
    /// Its properties as written.
    pub options: Vec<(Arc<str>, Value)>,
}

/// `limits { … }`: regular expressions, which compile.
#[derive(Debug, Default)]
pub struct Limits {
    /// A quota.
    pub quota: Vec<Arc<str>>,
    /// An outage.
    pub unavailable: Vec<Arc<str>>,
    /// A time of a reset, in the first group.
    pub reset: Vec<Arc<str>>,
}

/// `extend name { limits { … } }`.
#[derive(Debug)]
pub struct Extension {
    /// The harness's name.
    pub harness: Arc<str>,
    /// The harness, if a file declares it; otherwise it is a built-in one.
    pub declared: Option<HarnessId>,
    /// What is added.
    pub limits: Limits,
}

/// A sandbox.
#[derive(Debug)]
pub struct Sandbox {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// `local`, `bubblewrap`, `docker`, `podman`.
    pub provider: Arc<str>,
    /// Whether every attempt opens its own (`lifetime: task`).
    pub per_task: bool,
    /// The branch.
    pub branch: Branch,
    /// All properties as written, evaluated where constant, for fingerprints and for providers.
    pub options: Vec<(Arc<str>, Value)>,
    /// Its environment.
    pub environment: Environment,
    /// Where its `hook` stands, if it has one.
    pub hook: Option<Location>,
}

/// What a sandbox works on.
#[derive(Clone, Debug, PartialEq)]
pub enum Branch {
    /// The current checkout.
    Current,
    /// A named branch, made from another if it is not there.
    Named {
        /// The branch.
        name: Arc<str>,
        /// Where it starts.
        from: Option<Arc<str>>,
    },
    /// A branch of its own, merged back when the attempt is done.
    Integrate {
        /// Where it starts.
        from: Option<Arc<str>>,
    },
}

/// `env { NAME: value }`, in source order.
pub type Environment = Vec<(Arc<str>, Expr)>;

/// A declared step: parameters are the first locals of its frame.
#[derive(Debug)]
pub struct StepTemplate {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// Its parameters.
    pub params: Vec<Param>,
    /// How many locals a call needs, parameters included.
    pub locals: u32,
    /// What it does.
    pub body: Body,
}

/// A workflow.
#[derive(Debug)]
pub struct Workflow {
    /// Its name.
    pub name: Arc<str>,
    /// The name's place.
    pub at: Location,
    /// The documentation comment.
    pub doc: Option<Arc<str>>,
    /// `version`.
    pub version: Option<Arc<str>>,
    /// Inputs, in source order.
    pub inputs: Vec<Input>,
    /// Run policy.
    pub policy: Policy,
    /// Tasks, in source order. A task that is broken is not here; a workflow with one never becomes a plan.
    pub tasks: Vec<Task>,
    /// What the run gives.
    pub output: Option<Expr>,
    /// The type of `output`.
    pub output_type: Type,
}

/// An input of a workflow.
#[derive(Debug)]
pub struct Input {
    /// Its name.
    pub name: Arc<str>,
    /// The name's place.
    pub at: Location,
    /// Its documentation comment: its help.
    pub doc: Option<Arc<str>>,
    /// Its type.
    pub kind: Type,
    /// The value when none is given; constant.
    pub default: Option<Value>,
}

/// How a run of the workflow goes about.
#[derive(Debug)]
pub struct Policy {
    /// How many attempts run at once, at least 1.
    pub concurrency: u32,
    /// What a failure does to the rest.
    pub on_error: OnError,
    /// The deadline of one start of the run.
    pub timeout: Option<Duration>,
    /// Limits.
    pub budget: Option<Budget>,
    /// Prices per million tokens, by model.
    pub prices: Vec<(Arc<str>, Value)>,
    /// What a quota fault does.
    pub on_quota: OnQuota,
    /// Where each property of the policy stands, by its name.
    pub places: Vec<(&'static str, Location)>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            concurrency: 8,
            on_error: OnError::Stop,
            timeout: None,
            budget: None,
            prices: Vec::new(),
            on_quota: OnQuota::Fail,
            places: Vec::new(),
        }
    }
}

/// What a failure does to the rest of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Running tasks are cancelled, nothing new starts but clean-up.
    Stop,
    /// Dependents are skipped, the rest runs.
    Continue,
}

/// What a quota fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnQuota {
    /// It is a failure.
    Fail,
    /// The task pauses; waits in process if the reset is within `max_wait`.
    Pause {
        /// The longest wait in process.
        max_wait: Duration,
    },
}

/// Limits of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// Attempts.
    pub attempts: Option<u64>,
    /// Input tokens.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// Cached tokens.
    pub cached_tokens: Option<u64>,
    /// Money, as a value of type `money`.
    pub cost: Option<Value>,
}

/// A task of any kind.
#[derive(Debug)]
pub struct Task {
    /// Its key: unique in the workflow.
    pub key: Arc<str>,
    /// The name's place.
    pub at: Location,
    /// The documentation comment.
    pub doc: Option<Arc<str>>,
    /// What it waits for: `after` and every task whose value it reads, each once, in order of first mention.
    pub dependencies: Box<[Dependency]>,
    /// Whether it runs at all.
    pub when: Option<Box<Expr>>,
    /// When it runs relative to its dependencies.
    pub trigger: Trigger,
    /// The deadline of an attempt; of a round in a loop.
    pub timeout: Option<Duration>,
    /// Repetition of a failed attempt.
    pub retry: Option<Box<Retry>>,
    /// Result cache.
    pub cache: Option<Box<Cache>>,
    /// `for x in list`: one task for each item.
    pub each: Option<Box<Each>>,
    /// What it does.
    pub kind: TaskKind,
    /// The type of its value (of one item, with `for`).
    pub value_type: Type,
    /// How many locals its bodies need.
    pub locals: u32,
    /// Where each written property and block stands, by its name: for refusals that show the place.
    pub places: Box<[(&'static str, Location)]>,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependency {
    /// The task.
    pub task: TaskId,
    /// A soft reference: waits until it has settled, however it ended.
    pub soft: bool,
    /// The reference that made the edge.
    pub at: Location,
}

/// When a task runs relative to its dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// All are done.
    Success,
    /// One has failed.
    Failure,
    /// All have settled.
    Always,
}

/// Repetition of failed attempts (SEMANTICS §3).
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The first try counts; at least 1.
    pub attempts: u32,
    /// The first wait.
    pub delay: Duration,
    /// Whether the wait doubles.
    pub exponential: bool,
    /// The longest wait.
    pub max_delay: Option<Duration>,
    /// Whether the wait is drawn between nothing and itself.
    pub full_jitter: bool,
    /// Fault codes and the mark `unavailable`; `None` is everything.
    pub on: Option<Vec<Arc<str>>>,
}

/// Result cache (SEMANTICS C1).
#[derive(Debug)]
pub struct Cache {
    /// The key.
    pub key: Expr,
    /// The version.
    pub version: Expr,
    /// How long an entry is good.
    pub max_age: Option<Duration>,
    /// Whether entries are only written.
    pub refresh: bool,
}

/// `for x in list`.
#[derive(Debug)]
pub struct Each {
    /// The variable.
    pub variable: LocalId,
    /// Its name.
    pub name: Arc<str>,
    /// What it goes through.
    pub list: Expr,
    /// `key:`.
    pub key: Option<Expr>,
    /// How many items run at once.
    pub parallel: Option<u32>,
}

/// What a task does.
#[derive(Debug)]
pub enum TaskKind {
    /// One body.
    Task(Body),
    /// Attempt and check until accepted.
    Loop(Box<Loop>),
    /// A gate: `approval` or `pause`.
    Gate(Box<Gate>),
    /// A question.
    Ask(Box<Ask>),
    /// Candidates against one another.
    Race(Box<Race>),
}

impl TaskKind {
    /// The keyword that declares it.
    pub fn keyword(&self) -> &'static str {
        match self {
            TaskKind::Task(_) => "task",
            TaskKind::Loop(_) => "loop",
            TaskKind::Gate(gate) if gate.pause => "pause",
            TaskKind::Gate(_) => "approval",
            TaskKind::Ask(_) => "ask",
            TaskKind::Race(_) => "race",
        }
    }
}

/// A loop (SEMANTICS §5).
#[derive(Debug)]
pub struct Loop {
    /// At least 1, at most 2^53 − 1.
    pub max_rounds: u64,
    /// Produces the candidate.
    pub attempt: Body,
    /// Rejects or accepts it.
    pub check: Check,
    /// Ends with `stuck` after so many equal rounds.
    pub stop_on_stall: Option<u64>,
    /// Repetition of a phase on an outage.
    pub retry_phase: Option<Box<Retry>>,
}

/// Actions in order, and the value they make.
#[derive(Debug)]
pub struct Body {
    /// At least one; a single unnamed one is the body's only action, whose result is `result`.
    pub steps: Box<[Step]>,
    /// `output:`; without it the last step's result.
    pub output: Option<Box<Expr>>,
}

/// One action.
#[derive(Debug)]
pub struct Step {
    /// `run name { … }`; `None` for a single action.
    pub name: Option<Arc<str>>,
    /// The action's keyword or the step's name.
    pub at: Location,
    /// What it does.
    pub action: Action,
}

/// Actions and rules in order.
#[derive(Debug)]
pub struct Check {
    /// The word `check`.
    pub at: Location,
    /// In source order; the end accepts.
    pub items: Box<[CheckItem]>,
}

/// A part of a check. Steps are numbered among themselves, as in a body.
#[derive(Debug)]
pub enum CheckItem {
    /// An action.
    Step(Step),
    /// Ends the round with feedback.
    Reject {
        /// The keyword.
        at: Location,
        /// The feedback.
        text: Expr,
        /// When.
        when: Expr,
    },
    /// Ends the check.
    Accept {
        /// The keyword.
        at: Location,
        /// When.
        when: Expr,
    },
}

/// What is done by one step.
#[derive(Debug)]
pub enum Action {
    /// `value:`: evaluated in process.
    Value(Expr),
    /// `command:` and `shell:`.
    Command(Box<Command>),
    /// `assert:`.
    Assert {
        /// What must hold.
        condition: Box<Expr>,
        /// What is said when it does not.
        message: Option<Box<Expr>>,
    },
    /// `agent:`, `continue:`, `fork:`.
    Agent(Box<AgentTurn>),
    /// `step:`: a declared step.
    Call {
        /// Which.
        step: StepId,
        /// Its arguments, one for each parameter, in the order of parameters; entities are in `entities`.
        arguments: Box<[Argument]>,
    },
    /// `workflow:`: a called workflow.
    Workflow {
        /// Which.
        workflow: WorkflowId,
        /// Its inputs as given.
        inputs: Box<[(InputId, Expr)]>,
    },
}

/// An argument of a template.
#[derive(Debug)]
pub enum Argument {
    /// A value.
    Value(Expr),
    /// A sandbox.
    Sandbox(SandboxRef),
    /// An agent.
    Agent(AgentRef),
}

/// A sandbox by name or by parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxRef {
    /// A declared one.
    Named(SandboxId),
    /// A parameter of the template.
    Param(LocalId),
}

/// An agent by name or by parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentRef {
    /// A declared one.
    Named(AgentId),
    /// A parameter of the template.
    Param(LocalId),
}

/// A command or a shell text.
#[derive(Debug)]
pub struct Command {
    /// What runs.
    pub what: Executable,
    /// Where it runs.
    pub sandbox: Option<(SandboxRef, Location)>,
    /// Standard input.
    pub stdin: Option<Box<Expr>>,
    /// Its own environment.
    pub environment: Environment,
    /// Relative to the sandbox's top, or to the file's folder.
    pub directory: Option<Box<Expr>>,
    /// Which exit statuses are no failure. In a check every status is a value: [`Accepts::Any`].
    pub accepts: Accepts,
    /// The type of its standard output as JSON.
    pub returns: Option<Type>,
    /// Deadline of this action.
    pub timeout: Option<Duration>,
    /// The longest silence.
    pub idle: Option<Duration>,
    /// How many bytes of each stream the result keeps; [`DEFAULT_KEEP`] unless said.
    pub keep: u64,
}

/// What a command runs.
#[derive(Debug)]
pub enum Executable {
    /// A list of texts: program and arguments.
    List(Expr),
    /// Text for `sh -eu -c`, its holes already quoted by [`ExprKind::Quote`].
    Shell(Expr),
}

/// Which exit statuses are no failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Zero and nothing else, or the listed ones.
    Only(Vec<i32>),
    /// All.
    Any,
}

/// A turn of an agent.
#[derive(Debug)]
pub struct AgentTurn {
    /// Who; absent beside `continue` of a result that cannot be null.
    pub agent: Option<AgentRef>,
    /// Where.
    pub sandbox: Option<(SandboxRef, Location)>,
    /// What it is told.
    pub brief: Expr,
    /// The type of its answer.
    pub response: Option<Type>,
    /// How often a bad answer may be mended.
    pub repairs: u32,
    /// A result whose conversation goes on.
    pub continues: Option<Expr>,
    /// A result whose conversation is copied.
    pub forks: Option<Expr>,
    /// How many passes.
    pub passes: Option<u32>,
    /// Ends the passes.
    pub until: Option<Expr>,
    /// Deadline of this action.
    pub timeout: Option<Duration>,
    /// The longest silence; without it the agent's own, else [`AGENT_IDLE`].
    pub idle: Option<Duration>,
    /// Its own environment.
    pub environment: Environment,
}

/// `approval` and `pause`.
#[derive(Debug)]
pub struct Gate {
    /// Whether it is a `pause`.
    pub pause: bool,
    /// What is asked.
    pub prompt: Expr,
    /// Who may decide.
    pub actors: Vec<Arc<str>>,
}

/// `ask`.
#[derive(Debug)]
pub struct Ask {
    /// The question.
    pub question: Expr,
    /// The choices.
    pub choices: Option<Expr>,
    /// Whether any text will do.
    pub free_text: bool,
    /// Who may answer.
    pub actors: Vec<Arc<str>>,
}

/// `race`.
#[derive(Debug)]
pub struct Race {
    /// The attempt of each candidate.
    pub attempt: Body,
    /// The check of each candidate.
    pub check: Check,
    /// The score of an accepted one.
    pub score: Option<Expr>,
    /// Whether the best wins, not the first.
    pub best: bool,
}

/// A typed, resolved expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Where it stands.
    pub at: Location,
}

/// The forms of an expression after checking.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Const(Value),
    /// A value in scope.
    Ref(Ref),
    /// A field of an object; absent optional fields and, when safe, a null object give null.
    Field {
        /// The object.
        of: Box<Expr>,
        /// The field.
        name: Arc<str>,
        /// Whether the object may be null.
        safe: bool,
    },
    /// An element of a list or a map, null when absent.
    Index {
        /// The list or map.
        of: Box<Expr>,
        /// The index or key.
        index: Box<Expr>,
    },
    /// A built-in function, by its place in the table of `outpost_stdlib::functions`; one argument for each parameter, `null` for those left out.
    Builtin {
        /// Its index in the table.
        function: u16,
        /// The arguments.
        arguments: Box<[Expr]>,
    },
    /// A declared function; one argument for each parameter, defaults filled in.
    Call {
        /// Which.
        function: FunctionId,
        /// The arguments.
        arguments: Box<[Expr]>,
    },
    /// `!x`.
    Not(Box<Expr>),
    /// `-x`.
    Negate(Box<Expr>),
    /// `x!`: fails on null.
    NotNull(Box<Expr>),
    /// A flat chain, evaluated from the left; `&&`, `||` and `??` stop early.
    Chain {
        /// The first operand.
        first: Box<Expr>,
        /// Operators and operands.
        rest: Box<[(BinaryOperator, Expr)]>,
    },
    /// `if`.
    If {
        /// Conditions and values.
        arms: Box<[(Expr, Expr)]>,
        /// The last `else`.
        otherwise: Box<Expr>,
    },
    /// `match`: the first arm whose pattern fits.
    Match {
        /// What is looked at.
        subject: Box<Expr>,
        /// Patterns and values.
        arms: Box<[(Pattern, Expr)]>,
    },
    /// `[a, ...b]`.
    List(Box<[Item]>),
    /// `{ a: 1, ...b }`.
    Object(Box<[Entry]>),
    /// `[f(x) for x in xs if c]`.
    Comprehension(Box<Comprehension>),
    /// Text with holes; every hole is text, int, number or bool.
    Template(Box<[TemplatePart]>),
    /// `x as T`: checked.
    As(Box<Expr>, Box<Type>),
    /// A hole of a shell text: quoted for `sh`.
    Quote(Box<Expr>),
    /// A duration, size as text: `1h30m`, `16MiB`.
    Format(Box<Expr>, Quantity),
}

/// Quantities that are written with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Milliseconds.
    Duration,
    /// Bytes.
    Size,
}

/// What is in scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Ref {
    /// `inputs.name`.
    Input(InputId),
    /// A task's value; a soft one is null unless the task is done.
    Task {
        /// Which.
        task: TaskId,
        /// Whether it is `name?`.
        soft: bool,
    },
    /// The result of a step of this body or check, by its index; `result` of a single action is 0.
    Step(u32),
    /// A parameter, a `for` variable, a variable of a comprehension.
    Local(LocalId),
    /// `feedback`: null in round one.
    Feedback,
    /// `candidate`.
    Candidate,
    /// `previous`: the candidate of the last round; null in round one.
    Previous,
    /// `round`.
    Round,
    /// `phase`.
    Phase,
    /// `attempt`.
    Attempt,
    /// `idempotencyKey`.
    IdempotencyKey,
    /// `quota`: null but in the first attempt after a quota pause.
    Quota,
    /// `run.id`.
    RunId,
    /// `run.name`.
    RunName,
    /// `secret.NAME`, only in environments.
    Secret(SecretId),
    /// `env.NAME`, only in environments.
    Env(Arc<str>),
}

/// Infix operators after checking; `Equal` on values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are what they are")]
pub enum BinaryOperator {
    Coalesce,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Add,
    Subtract,
    Multiply,
    /// Gives a number.
    Divide,
    Remainder,
    /// Joins texts.
    Concat,
}

/// A pattern of a `match`.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// `_`.
    Any,
    /// One of some constants.
    Constants(Vec<Value>),
    /// One of some types.
    Types(Vec<Type>),
}

/// An element of a list.
#[derive(Clone, Debug)]
pub enum Item {
    /// One value.
    One(Expr),
    /// All of a list.
    Spread(Expr),
}

/// An entry of an object; a later key replaces an earlier one's value.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A key and its value.
    Pair(Arc<str>, Expr),
    /// All of an object.
    Spread(Expr),
}

/// `[element for variable in list if condition]`.
#[derive(Clone, Debug)]
pub struct Comprehension {
    /// What is collected.
    pub element: Expr,
    /// The variable.
    pub variable: LocalId,
    /// What it goes through.
    pub list: Expr,
    /// Which elements count.
    pub condition: Option<Expr>,
}

/// A piece of a template.
#[derive(Clone, Debug)]
pub enum TemplatePart {
    /// Text.
    Text(Arc<str>),
    /// A hole.
    Hole(Expr),
}

/// The longest silence of an agent unless it is said (SEMANTICS S4a).
pub const AGENT_IDLE: Duration = Duration::from_secs(600);

/// How many bytes of a stream a command's result keeps when `keep` does not say (SEMANTICS C2).
pub const DEFAULT_KEEP: u64 = 1 << 20;
