//! What a finding cost.
//!
//! In: steps and their sums. Out: tokens, money, time. Never here: prices.

use crate::prices::Money;
use crate::totals::Totals;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::Step;

/// What a finding cost: what would not have been spent without it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CostDoc {
    /// Tokens in all; null when no step of it says.
    pub tokens: Option<u64>,
    /// US dollars for the calls that have a price; null when none has.
    pub usd: Option<f64>,
    /// Calls without a price; when not 0, `usd` is a part only.
    pub unpriced_calls: u64,
    /// Milliseconds its steps took, those of parallel ones added up; null when none says.
    pub ms: Option<i64>,
    /// Some of it is a share of what several steps cost together, or has an estimated time.
    pub estimated: bool,
}

/// Sums in the making.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Cost {
    pub(super) tokens: u64,
    money: Money,
    priced: bool,
    unpriced_calls: u64,
    ms: Option<i64>,
    estimated: bool,
}

impl Cost {
    /// Of one step by itself.
    pub(super) fn of(step: &Step, sums: &Totals) -> Cost {
        let ms = step.duration_ms.get();
        Cost {
            tokens: sums.usage.total(),
            money: sums.cost,
            priced: !sums.usage.is_zero() && sums.unpriced_calls == 0,
            unpriced_calls: sums.unpriced_calls,
            ms,
            estimated: step.start_estimated && ms.is_some(),
        }
    }

    pub(super) fn add(&mut self, other: Cost) {
        self.tokens += other.tokens;
        self.money = self.money.plus(other.money);
        self.priced |= other.priced;
        self.unpriced_calls += other.unpriced_calls;
        self.ms = match (self.ms, other.ms) {
            (Some(ms), Some(more)) => Some(ms.saturating_add(more)),
            (ms, more) => ms.or(more),
        };
        self.estimated |= other.estimated;
    }

    /// One of so many equal parts.
    pub(super) fn share(self, parts: u32) -> Cost {
        let parts = parts.max(1);
        Cost {
            tokens: self.tokens / u64::from(parts),
            money: self.money.share(parts),
            ms: self.ms.map(|ms| ms / i64::from(parts)),
            estimated: true,
            ..self
        }
    }

    /// Only a number of tokens, reckoned.
    pub(super) fn of_tokens(tokens: u64) -> Cost {
        Cost { tokens, estimated: true, ..Cost::default() }
    }

    pub(super) fn doc(self) -> CostDoc {
        CostDoc {
            tokens: (self.tokens > 0).then_some(self.tokens),
            usd: self.priced.then(|| self.money.dollars()),
            unpriced_calls: self.unpriced_calls,
            ms: self.ms,
            estimated: self.estimated,
        }
    }
}
