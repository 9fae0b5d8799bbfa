//! Tasks of every kind.

use outpost_grammar::Location;
use outpost_grammar::tree::{Block, Entry, ExprKind as Kind};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::{Scope, Words};
use crate::lower::entries::Entries;
use crate::options::{self, BlockKind, DEFAULT_MAX_DELAY_MS, MAX_RACE};
use crate::program::{
    Action, Ask, Body, Cache, Check, Dependency, Each, Expr, ExprKind, Gate, LocalId, Loop, Race,
    Retry, Task, TaskKind, Trigger,
};
use crate::resolve::references::task_kind;
use crate::rules;

/// A loop's or a race's bodies.
pub(crate) struct Bodies {
    /// The attempt.
    pub attempt: Body,
    /// The check.
    pub check: Check,
    /// The candidate's type.
    pub kind: Type,
}

impl<'t> Context<'t> {
    /// A task of the current workflow.
    pub(crate) fn task(
        &mut self,
        source: outpost_grammar::SourceId,
        index: u32,
        dependencies: Box<[Dependency]>,
    ) -> Task {
        let info = &self.workflow().tasks[index as usize];
        let (block, name, at) = (info.block, info.name, info.at);
        let kind = task_kind(block.keyword.text).unwrap_or(&options::TASK);
        let entries = self.entries(source, block, kind);
        let mut scope = Scope::workflow(source, "a task");
        scope.task = Some(index);
        scope.words.task = true;
        self.parameters_of_task(&entries);
        let each = self.each(&mut scope, &entries, kind);
        let when = entries
            .field("when")
            .map(|field| self.condition(&mut scope, &field.value, "`when`"));
        if let Some(field) = entries.field("when") {
            // The body runs only where the condition holds.
            self.assume(&mut scope, &field.value, true);
        }
        let (task_kind, value_type) = self.task_body(&mut scope, &entries, name);
        self.workflow_mut().tasks[index as usize].agent = scope.answered;
        let trigger = match self.word(&entries, "trigger") {
            Some("failure") => Trigger::Failure,
            Some("always") => Trigger::Always,
            _ => Trigger::Success,
        };
        if trigger != Trigger::Success && dependencies.is_empty() && !entries.broken {
            let at = entries
                .field("trigger")
                .map_or(at, |field| entries.at(field.value.span));
            self.report(rules::tasks::trigger_without_dependency(at, name));
        }
        let timeout = self.duration(&entries, "timeout");
        let retry = entries
            .nested("retry")
            .and_then(|block| self.retry(source, block, &options::RETRY));
        let cache = entries
            .nested("cache")
            .and_then(|block| self.cache(&mut scope, block, &task_kind));
        self.workflow_mut().tasks[index as usize].value = value_type.clone();
        Task {
            key: Arc::from(name),
            at,
            doc: block.doc.as_ref().map(|doc| Arc::from(&**doc)),
            dependencies,
            when: when.map(Box::new),
            trigger,
            timeout,
            retry: retry.map(Box::new),
            cache,
            each,
            kind: task_kind,
            value_type,
            locals: scope.frame_size,
            places: entries.places(),
        }
    }

    fn parameters_of_task(&mut self, entries: &Entries<'t>) {
        if let Some(params) = &entries.block.params {
            let span = params
                .first()
                .map_or(entries.block.keyword.span, |param| param.name.span);
            let keyword = entries.block.keyword.text;
            self.report(rules::options::misplaced_parameters(
                entries.at(span),
                keyword,
            ));
        }
    }

    /// `for x in list`, with `key` and `parallel`.
    fn each(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        kind: &'static BlockKind,
    ) -> Option<Box<Each>> {
        let keyword = entries.block.keyword.text;
        let Some(each) = &entries.block.each else {
            if keyword == "race" && !entries.broken {
                self.report(rules::tasks::race_without_list(entries.head()));
            }
            for name in ["parallel", "key"] {
                if keyword != "race"
                    && let Some(field) = entries.field(name)
                {
                    self.touch(entries.source, &field.value);
                    self.report(rules::tasks::option_without_for(
                        entries.at(field.name.span),
                        name,
                    ));
                }
            }
            return None;
        };
        let repeats = matches!(keyword, "task" | "loop" | "race");
        if !repeats {
            self.report(rules::tasks::misplaced_for(
                entries.at(each.keyword),
                keyword,
            ));
        }
        let list = self.infer(scope, &each.list);
        let element = self.element_of(scope, each.list.span, &list.kind, "`for`");
        let at = entries.at(each.variable.span);
        let name = each.variable.text;
        if crate::resolve::RESERVED.contains(&name) {
            self.report(rules::names::reserved_name(at, name, "variable"));
        } else if let Some(task) = self.task_named(name) {
            let task_at = self.workflow().tasks[task.index()].at;
            self.report(rules::names::hides_task(at, name, "variable", task_at));
        }
        let variable = scope.declare(name, element);
        if let (Kind::List(items), "race") = (&bare(&each.list).kind, keyword)
            && items.len() > MAX_RACE
        {
            self.report(rules::tasks::race_too_large(
                entries.at(each.list.span),
                items.len(),
                MAX_RACE,
            ));
        }
        if !repeats {
            return None;
        }
        let key = entries.field("key").map(|field| {
            let lowered = self.expect(scope, &field.value, &Type::String, "`key`");
            if !mentions(&lowered, variable) && !matches!(bare(&field.value).kind, Kind::Broken) {
                self.report(rules::tasks::same_key(entries.at(field.value.span), name));
            }
            lowered
        });
        let parallel = match kind.property("parallel") {
            Some(_) => self
                .int(entries, "parallel")
                .and_then(|parallel| u32::try_from(parallel).ok()),
            None => None,
        };
        Some(Box::new(Each {
            variable,
            name: Arc::from(name),
            list: list.expr,
            key,
            parallel,
        }))
    }

    fn task_body(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'t str,
    ) -> (TaskKind, Type) {
        match entries.block.keyword.text {
            "loop" => self.loop_task(scope, entries, name),
            "race" => self.race(scope, entries, name),
            "approval" => (self.gate(scope, entries, false), self.shapes.gate.clone()),
            "pause" => (self.gate(scope, entries, true), self.shapes.gate.clone()),
            "ask" => self.ask(scope, entries),
            _ => {
                let (body, kind) = self.body(scope, entries);
                (TaskKind::Task(body), kind)
            }
        }
    }

    fn loop_task(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'t str,
    ) -> (TaskKind, Type) {
        if entries.field("maxRounds").is_none() && !entries.broken {
            self.report(rules::loops::max_rounds_missing(entries.head(), name));
        }
        let max_rounds = self
            .int(entries, "maxRounds")
            .and_then(|rounds| u64::try_from(rounds).ok());
        let stop_on_stall = self
            .int(entries, "stopOnStall")
            .and_then(|rounds| u64::try_from(rounds).ok());
        let retry_phase = entries
            .nested("retryPhase")
            .and_then(|block| self.retry(entries.source, block, &options::RETRY_PHASE));
        scope.words.round = true;
        let bodies = match entries.field("body") {
            Some(field) => {
                for other in ["attempt", "check"] {
                    let span = entries
                        .nested(other)
                        .map(|block| block.keyword.span)
                        .or_else(|| entries.field(other).map(|field| field.name.span));
                    if let Some(span) = span {
                        let body = entries.at(field.name.span);
                        self.report(rules::loops::beside_body(entries.at(span), other, body));
                    }
                }
                self.expand_loop(scope, &field.value).map(|mut inside| {
                    let declared = inside.declared;
                    let entries =
                        self.entries(declared.source, declared.block, &options::LOOP_TEMPLATE);
                    let bodies = self.loop_bodies(&mut inside.scope, &entries, declared.name.text);
                    self.expanded(scope, &inside);
                    bodies
                })
            }
            None => Some(self.loop_bodies(scope, entries, name)),
        };
        let bodies = bodies.unwrap_or_else(|| no_bodies(entries.head()));
        let kind = bodies.kind.clone();
        (
            TaskKind::Loop(Box::new(Loop {
                max_rounds: max_rounds.unwrap_or(1),
                attempt: bodies.attempt,
                check: bodies.check,
                stop_on_stall,
                retry_phase: retry_phase.map(Box::new),
            })),
            kind,
        )
    }

    /// Attempt and check of a loop, written or named.
    pub(crate) fn loop_bodies(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'t str,
    ) -> Bodies {
        let outer = std::mem::take(&mut scope.words);
        scope.words = Words {
            task: true,
            round: true,
            feedback: true,
            candidate: None,
            previous: Some(self.previous(entries)),
        };
        scope.place = "a loop's attempt";
        scope.answered = None;
        let (attempt, kind) = self.attempt_of(scope, entries, name, "loop");
        let answered = scope.answered;
        let outside = std::mem::replace(&mut scope.candidate_of, answered);
        scope.words = Words {
            task: true,
            round: true,
            candidate: Some(kind.clone()),
            ..Words::default()
        };
        scope.place = "a check";
        let check = self.check_of(scope, entries, name, "loop");
        scope.words = outer;
        scope.candidate_of = outside;
        scope.answered = answered;
        let check_at = match (entries.nested("check"), entries.field("check")) {
            (Some(block), _) => Some(block.keyword.span),
            (None, Some(field)) => Some(field.name.span),
            (None, None) => None,
        };
        if let Some(span) = check_at {
            rules::loops::judged_by_its_own(self, entries.at(span), &attempt, &check);
        }
        Bodies {
            attempt,
            check,
            kind,
        }
    }

    /// The type of `previous`: the last round's agent result.
    fn previous(&mut self, entries: &Entries<'t>) -> Type {
        let Some(block) = entries.nested("attempt") else {
            return Type::Unknown;
        };
        let mut response = None;
        let mut agent = false;
        let mut look = |block: &'t Block<'t>| {
            for entry in &block.entries {
                if let Entry::Field(field) = entry {
                    match &*field.name.text {
                        "agent" | "continue" | "fork" => agent = true,
                        "response" => response = Some(&field.value),
                        _ => {}
                    }
                }
            }
        };
        look(block);
        for entry in &block.entries {
            if let Entry::Block(inner) = entry
                && inner.keyword.text == "run"
            {
                look(inner);
            }
        }
        if !agent {
            return Type::Unknown;
        }
        self.mute();
        let response = response.map(|expr| self.type_of(entries.source, expr, false));
        self.unmute();
        Type::agent_result(response.as_ref()).nullable()
    }

    fn attempt_of(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'t str,
        kind: &'static str,
    ) -> (Body, Type) {
        match (entries.nested("attempt"), entries.field("attempt")) {
            (Some(block), field) => {
                if let Some(field) = field {
                    self.both_forms(entries, block, field, "attempt");
                }
                let inside = self.entries(entries.source, block, &options::ATTEMPT);
                let at = entries.at(block.keyword.span);
                self.with_feedback(scope, (at, name), |ctx, scope| {
                    let lowered = ctx.body(scope, &inside);
                    (lowered, !inside.broken, None)
                })
            }
            (None, Some(field)) => {
                let at = entries.at(field.name.span);
                self.with_feedback(scope, (at, name), |ctx, scope| {
                    match ctx.expand_attempt(scope, &field.value) {
                        Some((lowered, declared)) => (lowered, true, Some(declared)),
                        None => ((no_body(entries.head()), Type::Unknown), false, None),
                    }
                })
            }
            (None, None) => {
                if !entries.broken {
                    self.report(rules::loops::part_missing(
                        entries.head(),
                        kind,
                        name,
                        "attempt",
                    ));
                }
                (no_body(entries.head()), Type::Unknown)
            }
        }
    }

    /// Lowers an attempt, and warns if an agent works in it that is never told why its work was rejected.
    fn with_feedback(
        &mut self,
        scope: &mut Scope<'t>,
        (at, name): (Location, &'t str),
        lower: impl FnOnce(&mut Context<'t>, &mut Scope<'t>) -> ((Body, Type), bool, Option<Location>),
    ) -> (Body, Type) {
        let read = std::mem::replace(&mut scope.reads_feedback, false);
        let had_agent = std::mem::replace(&mut self.findings.has_agent, false);
        let before = self.diagnostics.len();
        let (lowered, healthy, declared) = lower(self, scope);
        let healthy = healthy && self.diagnostics.len() == before;
        if self.findings.has_agent && !scope.reads_feedback && scope.words.feedback && healthy {
            self.report(rules::loops::feedback_unused(at, name, declared));
        }
        self.findings.has_agent |= had_agent;
        scope.reads_feedback |= read;
        lowered
    }

    fn check_of(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'t str,
        kind: &'static str,
    ) -> Check {
        match (entries.nested("check"), entries.field("check")) {
            (Some(block), field) => {
                if let Some(field) = field {
                    self.both_forms(entries, block, field, "check");
                }
                let inside = self.entries(entries.source, block, &options::CHECK);
                self.check(scope, &inside)
            }
            (None, Some(field)) => self
                .expand_check(scope, &field.value)
                .unwrap_or_else(|| no_check(entries.head())),
            (None, None) => {
                if !entries.broken {
                    self.report(rules::loops::part_missing(
                        entries.head(),
                        kind,
                        name,
                        "check",
                    ));
                }
                no_check(entries.head())
            }
        }
    }

    fn both_forms(
        &mut self,
        entries: &Entries<'t>,
        block: &'t Block<'t>,
        field: &'t outpost_grammar::tree::Field<'t>,
        name: &str,
    ) {
        let (block, field) = (block.keyword.span, field.name.span);
        let (later, earlier) = if block.start > field.start {
            (block, field)
        } else {
            (field, block)
        };
        self.report(rules::options::duplicate_property(
            entries.at(later),
            name,
            entries.at(earlier),
        ));
    }

    fn race(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'t str,
    ) -> (TaskKind, Type) {
        scope.place = "a race's attempt";
        scope.answered = None;
        let (attempt, kind) = self.attempt_of(scope, entries, name, "race");
        scope.candidate_of = scope.answered;
        scope.words.candidate = Some(kind.clone());
        scope.place = "a check";
        let check = self.check_of(scope, entries, name, "race");
        scope.place = "`score`";
        let score = entries
            .field("score")
            .map(|field| self.expect(scope, &field.value, &Type::Number, "`score`"));
        scope.words.candidate = None;
        scope.candidate_of = None;
        scope.answered = None;
        scope.place = "a task";
        let best = self.word(entries, "select") == Some("best");
        match (entries.field("score"), entries.field("select"), best) {
            (Some(score), _, false) => self.report(rules::tasks::score_without_best(
                entries.at(score.name.span),
            )),
            (None, Some(select), true) => self.report(rules::tasks::best_without_score(
                entries.at(select.value.span),
            )),
            _ => {}
        }
        (
            TaskKind::Race(Box::new(Race {
                attempt,
                check,
                score,
                best,
            })),
            Type::race_result(&kind),
        )
    }

    fn gate(&mut self, scope: &mut Scope<'t>, entries: &Entries<'t>, pause: bool) -> TaskKind {
        let prompt = self.shown_text(scope, entries, "prompt");
        let actors = self.actors(entries);
        TaskKind::Gate(Box::new(Gate {
            pause,
            prompt,
            actors,
        }))
    }

    /// A prompt or a question: required, and not blank.
    fn shown_text(
        &mut self,
        scope: &mut Scope<'t>,
        entries: &Entries<'t>,
        name: &'static str,
    ) -> Expr {
        let keyword = entries.block.keyword.text;
        match entries.field(name) {
            Some(field) => {
                let outer = scope.slot.replace("what a person is shown");
                let lowered = self.expect(scope, &field.value, &Type::String, &format!("`{name}`"));
                scope.slot = outer;
                if let ExprKind::Const(Value::Text(text)) = &lowered.kind
                    && text.trim().is_empty()
                    && matches!(bare(&field.value).kind, Kind::Text(_))
                {
                    self.report(rules::gates::blank(entries.at(field.value.span), name));
                }
                lowered
            }
            None => {
                let head = entries.head();
                if !entries.broken {
                    let task = self.text_at(head);
                    self.report(rules::options::missing_property(head, keyword, task, name));
                }
                crate::infer::unknown(head).expr
            }
        }
    }

    fn actors(&mut self, entries: &Entries<'t>) -> Vec<Arc<str>> {
        if entries.field("actors").is_none() {
            let head = entries.head();
            if !entries.broken {
                let task = self.text_at(head);
                self.report(rules::options::missing_property(
                    head,
                    entries.block.keyword.text,
                    task,
                    "actors",
                ));
            }
            return Vec::new();
        }
        let before = self.diagnostics.len();
        let Some(list) = self.quoted_list(entries, "actors") else {
            return Vec::new();
        };
        if let (Some(field), true, true) = (
            entries.field("actors"),
            list.is_empty(),
            self.diagnostics.len() == before,
        ) {
            self.report(rules::gates::no_actors(entries.at(field.value.span)));
        }
        let mut actors: Vec<(Arc<str>, Location)> = Vec::with_capacity(list.len());
        for (actor, at) in list {
            match actors.iter().find(|(other, _)| *other == actor) {
                Some((_, first)) => {
                    let diagnostic = rules::options::listed_twice(at, &actor, "actors", *first);
                    self.report(diagnostic);
                }
                None if actor.trim().is_empty() => self.report(rules::gates::blank(at, "actor")),
                None => actors.push((actor, at)),
            }
        }
        actors.into_iter().map(|(actor, _)| actor).collect()
    }

    fn ask(&mut self, scope: &mut Scope<'t>, entries: &Entries<'t>) -> (TaskKind, Type) {
        let question = self.shown_text(scope, entries, "question");
        let choices = entries
            .field("choices")
            .map(|field| self.expect(scope, &field.value, &Type::list(Type::String), "`choices`"));
        let free_text = self.flag(entries, "freeText").unwrap_or(true);
        let actors = self.actors(entries);
        let mut kind = Type::String;
        let empty = match choices.as_ref().map(|choices| &choices.kind) {
            None => true,
            Some(ExprKind::Const(Value::List(items))) => {
                if !free_text && !items.is_empty() {
                    kind = Type::union(items.iter().filter_map(|item| match item {
                        Value::Text(text) => Some(Type::Literal(text.clone())),
                        _ => None,
                    }));
                }
                items.is_empty()
            }
            Some(_) => false,
        };
        if empty && !free_text && !entries.broken {
            let at = match entries.field("choices") {
                Some(field) => entries.at(field.value.span),
                None => entries
                    .field("freeText")
                    .map_or(entries.head(), |field| entries.at(field.name.span)),
            };
            self.report(rules::gates::no_answer_possible(at));
        }
        if let Some(field) = entries.field("choices")
            && let Kind::List(list) = &bare(&field.value).kind
        {
            self.repeated_choices(entries, list);
        }
        (
            TaskKind::Ask(Box::new(Ask {
                question,
                choices,
                free_text,
                actors,
            })),
            kind,
        )
    }

    fn repeated_choices(
        &mut self,
        entries: &Entries<'t>,
        list: &'t [outpost_grammar::tree::Element<'t>],
    ) {
        let mut seen: Vec<(&str, Location)> = Vec::new();
        for expr in crate::lower::entries::elements(list) {
            if let Kind::Text(text) = &expr.kind {
                let at = entries.at(expr.span);
                match seen.iter().find(|(other, _)| *other == &**text) {
                    Some((_, first)) => {
                        let diagnostic = rules::options::listed_twice(at, text, "choices", *first);
                        self.report(diagnostic);
                    }
                    None => seen.push((text, at)),
                }
            }
        }
    }

    /// `retry { … }` and `retryPhase { … }`.
    fn retry(
        &mut self,
        source: outpost_grammar::SourceId,
        block: &'t Block<'t>,
        kind: &'static BlockKind,
    ) -> Option<Retry> {
        let entries = self.entries(source, block, kind);
        if entries.field("attempts").is_none() && !entries.broken {
            let head = entries.head();
            self.report(rules::options::missing_property(
                head, kind.name, kind.name, "attempts",
            ));
        }
        let attempts = self
            .int(&entries, "attempts")
            .and_then(|attempts| u32::try_from(attempts).ok());
        let exponential = self.word(&entries, "backoff") == Some("exponential");
        let max_delay = self.duration(&entries, "maxDelay");
        let delay = self.duration(&entries, "delay").unwrap_or_default();
        if let (Some(most), Some(field)) = (max_delay, entries.field("maxDelay"))
            && most < delay
        {
            self.report(rules::tasks::max_delay_below_delay(
                entries.at(field.value.span),
            ));
        }
        let on = self.word_list(&entries, "on");
        if let (Some(list), Some(field)) = (&on, entries.field("on"))
            && list.is_empty()
        {
            self.report(rules::tasks::retry_on_nothing(entries.at(field.value.span)));
        }
        Some(Retry {
            attempts: attempts?,
            delay,
            exponential,
            max_delay: max_delay
                .or(exponential.then_some(Duration::from_millis(DEFAULT_MAX_DELAY_MS))),
            full_jitter: self.word(&entries, "jitter") == Some("full"),
            on: on.map(|list| list.into_iter().map(|(word, _)| Arc::from(word)).collect()),
        })
    }

    /// `cache { … }`.
    fn cache(
        &mut self,
        scope: &mut Scope<'t>,
        block: &'t Block<'t>,
        kind: &TaskKind,
    ) -> Option<Box<Cache>> {
        let entries = self.entries(scope.source, block, &options::CACHE);
        if whole_agent_result(kind) {
            self.report(rules::tasks::cache_of_agent(entries.head()));
        }
        for name in ["key", "version"] {
            if entries.field(name).is_none() && !entries.broken {
                self.report(rules::options::missing_property(
                    entries.head(),
                    "cache",
                    "cache",
                    name,
                ));
            }
        }
        let outer = scope.slot.replace("the key of a cache");
        let key = entries
            .field("key")
            .map(|field| self.infer(scope, &field.value).expr);
        scope.slot = outer;
        let version = entries
            .field("version")
            .map(|field| self.expect(scope, &field.value, &Type::String, "`version`"));
        let max_age = self.duration(&entries, "maxAge");
        let refresh = self.word(&entries, "mode") == Some("refresh");
        Some(Box::new(Cache {
            key: key?,
            version: version?,
            max_age,
            refresh,
        }))
    }
}

/// Whether the task's value is an agent's whole result.
fn whole_agent_result(kind: &TaskKind) -> bool {
    let body = match kind {
        TaskKind::Task(body) => body,
        TaskKind::Loop(inner) => &inner.attempt,
        TaskKind::Race(race) => &race.attempt,
        TaskKind::Gate(_) | TaskKind::Ask(_) => return false,
    };
    body.output.is_none()
        && matches!(
            body.steps.last().map(|step| &step.action),
            Some(Action::Agent(_))
        )
}

fn no_body(_: Location) -> Body {
    Body {
        steps: Box::new([]),
        output: None,
    }
}

fn no_check(at: Location) -> Check {
    Check {
        at,
        items: Box::new([]),
    }
}

fn no_bodies(at: Location) -> Bodies {
    Bodies {
        attempt: no_body(at),
        check: no_check(at),
        kind: Type::Unknown,
    }
}

/// Whether an expression reads a variable.
pub(crate) fn mentions(expr: &Expr, variable: LocalId) -> bool {
    use crate::program::{Entry as ObjectEntry, Item, Ref, TemplatePart};
    let inside = |expr: &Expr| mentions(expr, variable);
    match &expr.kind {
        ExprKind::Const(_) => false,
        ExprKind::Ref(reference) => matches!(reference, Ref::Local(local) if *local == variable),
        ExprKind::Field { of, .. } => inside(of),
        ExprKind::Index { of, index } => inside(of) || inside(index),
        ExprKind::Builtin { arguments, .. } | ExprKind::Call { arguments, .. } => {
            arguments.iter().any(inside)
        }
        ExprKind::Not(inner)
        | ExprKind::Negate(inner)
        | ExprKind::NotNull(inner)
        | ExprKind::As(inner, _)
        | ExprKind::Quote(inner)
        | ExprKind::Format(inner, _) => inside(inner),
        ExprKind::Chain { first, rest } => {
            inside(first) || rest.iter().any(|(_, operand)| inside(operand))
        }
        ExprKind::If { arms, otherwise } => {
            inside(otherwise)
                || arms
                    .iter()
                    .any(|(condition, value)| inside(condition) || inside(value))
        }
        ExprKind::Match { subject, arms } => {
            inside(subject) || arms.iter().any(|(_, value)| inside(value))
        }
        ExprKind::List(items) => items.iter().any(|item| match item {
            Item::One(expr) | Item::Spread(expr) => inside(expr),
        }),
        ExprKind::Object(entries) => entries.iter().any(|entry| match entry {
            ObjectEntry::Pair(_, expr) | ObjectEntry::Spread(expr) => inside(expr),
        }),
        ExprKind::Comprehension(inner) => {
            inside(&inner.element)
                || inside(&inner.list)
                || inner.condition.as_ref().is_some_and(inside)
        }
        ExprKind::Template(parts) => parts.iter().any(|part| match part {
            TemplatePart::Text(_) => false,
            TemplatePart::Hole(expr) => inside(expr),
        }),
    }
}
