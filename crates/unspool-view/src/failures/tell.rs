//! A failure in a few sentences, the same for `failures` and `explain`.
//!
//! In: a flow and how to name its steps. Out: sentences. Never here: what went wrong, which its source says.

use super::cause::{Causes, Link, causes};
use super::outcome::{Outcome, outcomes};
use super::touched::Touches;
use crate::asking::is_refused;
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::{Flow, Interner};

/// Links of a chain that are told one by one; the first cause is named in any case.
const TOLD_LINKS: usize = 5;
/// Receivers that are named; the rest is counted.
const NAMED_STEPS: usize = 3;
/// Steps it led to that are named, the nearest; the rest is counted.
const NAMED_TOUCHED: usize = 5;

/// What is known of the failures of a flow.
pub struct Telling {
    causes: Causes,
    touches: Touches,
    outcomes: FxHashMap<u32, Outcome>,
    /// Steps that a person refused.
    refused: FxHashSet<u32>,
}

impl Telling {
    /// Of all failures of a flow.
    pub fn new(flow: &Flow, text: &Interner) -> Telling {
        let outcomes: FxHashMap<u32, Outcome> = outcomes(flow).into_iter().collect();
        let refused = outcomes.keys().copied().filter(|n| is_refused(flow, text, *n)).collect();
        Telling { causes: causes(flow, text), touches: Touches::new(flow), outcomes, refused }
    }

    /// How a failure ended, where it came from and what it touched; nothing for a step that did not fail.
    pub fn tell(&self, step: u32, name: &dyn Fn(u32) -> String) -> Vec<String> {
        let Some(outcome) = self.outcomes.get(&step) else { return Vec::new() };
        let mut lines = vec![match outcome {
            Outcome::Retried(again) => format!("retried: {} did the same and worked", name(*again)),
            Outcome::WorkedAround => "worked around: its agent went on with something else".into(),
            Outcome::FailedAgain(last) => {
                format!("failed again: {} was the last try, and failed, too", name(*last))
            }
            Outcome::EndedAgent => "ended the agent: nothing it did afterwards worked".into(),
            Outcome::RunCompleted => "nothing worked afterwards, and the run completed all the same".into(),
            Outcome::EndedRun => "ended the run: nothing in it worked afterwards".into(),
        }];
        if self.refused.contains(&step) {
            lines.push("a person refused it".into());
        }
        lines.extend(self.came_from(step, name));
        lines.push(self.reached(step, name));
        lines
    }

    fn came_from(&self, step: u32, name: &dyn Fn(u32) -> String) -> Vec<String> {
        let chain = self.causes.back(step);
        let mut lines = Vec::new();
        for (n, (earlier, link)) in chain.told.iter().take(TOLD_LINKS).enumerate() {
            let because = if n == 0 { "because of" } else { "that because of" };
            let why = match link {
                Link::Edge { inferred: false } => "which led to it",
                Link::Edge { inferred: true } => "which led to it (inferred)",
                Link::Agent => "which ended the agent it had started",
                Link::Answer => "which the model was told before it asked (inferred)",
            };
            lines.push(format!("{because} {}, {why}", name(*earlier)));
        }
        let untold = chain.told.len().saturating_sub(TOLD_LINKS) as u64 + chain.left_out;
        if let Some(first) = chain.first.filter(|_| untold > 0) {
            lines.push(format!("and {untold} failures before that; the first is {}", name(first)));
        }
        lines
    }

    fn reached(&self, step: u32, name: &dyn Fn(u32) -> String) -> String {
        let receivers: Vec<u32> = self.causes.receivers(step).collect();
        if receivers.is_empty() {
            return "nothing is recorded to have received it".into();
        }
        let named: Vec<String> = receivers.iter().take(NAMED_STEPS).map(|receiver| name(*receiver)).collect();
        let more = receivers.len().saturating_sub(NAMED_STEPS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let all = match self.touches.count(step) {
            None => "too many steps to count".into(),
            Some(1) => "1 step".into(),
            Some(all) => format!("{all} steps"),
        };
        format!("received by {}{more}; touched {all} in all: {}", named.join(", "), self.touched(step, name))
    }

    fn touched(&self, step: u32, name: &dyn Fn(u32) -> String) -> String {
        let nearest = self.touches.of(step, NAMED_TOUCHED);
        let rest = self.touches.count(step).map(|all| all.saturating_sub(nearest.len() as u64));
        let named: Vec<String> = nearest.into_iter().map(name).collect();
        match rest {
            Some(0) => named.join(", "),
            Some(rest) => format!("{} and {rest} more", named.join(", ")),
            None => format!("{} and more", named.join(", ")),
        }
    }
}
