//! What a run has spent: tokens by model, and their price (SEMANTICS B2, B3).

use crate::event::Usage;
use crate::fault::FaultCode;
use crate::harness;
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{AgentKind, PlainAgent, Policy};
use outpost_stdlib::Value;
use outpost_stdlib::quantity::Money;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// All tokens that were ever reported.
#[derive(Clone, Debug, Default)]
pub struct Spending {
    all: Usage,
    /// By model, and whether `input` leaves out what came from a cache.
    models: BTreeMap<(Option<String>, bool), Usage>,
    /// Whether a report was known to be a part only.
    incomplete: bool,
}

impl Spending {
    /// Takes a report into account.
    pub fn add(&mut self, plan: &Plan, usage: &Usage, agent: Option<&str>) {
        self.all.add(usage);
        self.incomplete |= usage.complete == Some(false);
        let plain = agent.and_then(|name| plain(plan, name));
        let declared = plain.and_then(|plain| plain.model.as_deref());
        let prices = &plan.workflow().policy.prices;
        let priced = |model: &&str| prices.iter().any(|(name, _)| **name == **model);
        let reported = usage.model.as_deref();
        let model = [declared, reported]
            .into_iter()
            .flatten()
            .find(priced)
            .or(reported)
            .or(declared);
        let uncached = plain.is_some_and(|plain| {
            let harness = harness::built_in(&plain.harness);
            harness.is_some_and(|harness| harness.capabilities().uncached_input)
        });
        let of = (model.map(str::to_owned), uncached);
        self.models.entry(of).or_default().add(usage);
    }

    /// Takes into account that something was used, and nobody knows how much.
    pub fn add_unknown(&mut self) {
        self.incomplete = true;
    }

    /// Why nothing more may be spent: a limit that was exceeded, or one that can no longer be kept.
    pub fn over(&self, plan: &Plan, attempts: Option<u64>) -> Option<(FaultCode, String)> {
        let policy = &plan.workflow().policy;
        let budget = policy.budget.as_ref()?;
        let counts = [
            ("input", budget.input_tokens, self.all.input),
            ("output", budget.output_tokens, self.all.output),
            (
                "cached",
                budget.cached_tokens,
                self.all.cached.unwrap_or_default(),
            ),
        ];
        for (name, limit, count) in counts {
            if let Some(limit) = limit.filter(|limit| count > *limit) {
                let message =
                    format!("{count} {name} tokens were used, and the budget holds {limit}");
                return Some((FaultCode::Limit, message));
            }
        }
        let limited = counts.iter().any(|(_, limit, _)| limit.is_some());
        if self.incomplete && attempts.is_none() && (limited || budget.cost.is_some()) {
            let message = "an agent did not report all its tokens, so the budget cannot be kept; \
                           add `attempts` to it";
            return Some((FaultCode::UsageUnavailable, message.to_owned()));
        }
        let limit = budget.cost.as_ref().and_then(money)?;
        match self.cost(policy) {
            Err(message) => Some((FaultCode::UsageUnavailable, message)),
            Ok(None) => None,
            Ok(Some(cost)) if cost.compare(limit) == Ok(Ordering::Greater) => {
                let message = format!("{cost} were spent, and the budget holds {limit}");
                Some((FaultCode::Limit, message))
            }
            Ok(Some(_)) => None,
        }
    }

    /// What all of it costs; nothing before anything was used.
    fn cost(&self, policy: &Policy) -> Result<Option<Money>, String> {
        let mut sum: Option<Money> = None;
        for ((model, uncached), usage) in &self.models {
            let name = model.as_deref().unwrap_or("unknown");
            let prices = policy.prices.iter().find(|(model, _)| **model == *name);
            let Some((_, Value::Object(prices))) = prices else {
                return Err(format!(
                    "tokens of the model `{name}` were used, which has no price"
                ));
            };
            let price = |name: &str| prices.get(name).and_then(money);
            let cached = usage.cached.unwrap_or_default();
            let input = match uncached {
                true => usage.input,
                false => usage.input.saturating_sub(cached),
            };
            let parts = [
                (price("input"), input),
                (price("output"), usage.output),
                (price("cached").or(price("input")), cached),
                (
                    price("cacheCreated").or(price("input")),
                    usage.cache_created.unwrap_or_default(),
                ),
            ];
            for (price, tokens) in parts {
                let Some(price) = price else { continue };
                let part = price.per_million(tokens)?;
                sum = Some(match sum {
                    Some(sum) => sum.plus(part)?,
                    None => part,
                });
            }
        }
        Ok(sum)
    }
}

fn money(value: &Value) -> Option<Money> {
    Money::parse(value.as_text()?).ok()
}

/// A plain agent by its name.
pub(crate) fn plain<'a>(plan: &'a Plan, name: &str) -> Option<&'a PlainAgent> {
    plan.program()
        .agents
        .iter()
        .find_map(|agent| match &agent.kind {
            AgentKind::Plain(plain) if *agent.name == *name => Some(plain),
            AgentKind::Plain(_) | AgentKind::Fallback { .. } | AgentKind::Broken => None,
        })
}
