//! "What if this tool were twice as fast": the scope replayed with other durations.
//!
//! In: a network and changes. Out: the new wall clock. Never here: a change of what waits for what: an agent that gets an
//! answer sooner is assumed to do the same things with it.

use super::class::Class;
use super::joints::Piece;
use super::network::Network;
use super::split::ratio;
use crate::labels::agent_has;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::flow::NONE;
use unspool_model::{Flow, Interner, StepKind};

/// What changes its pace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Calls of the tool of this name, in any case of letters.
    Tool(String),
    /// Calls of models whose name contains this.
    Model(String),
    /// Own steps of agents whose type, name or id contains this.
    Agent(String),
    /// Everything of a class, gaps too.
    Class(Class),
}

/// One change: the time of the subject times the factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// As it was written.
    pub text: String,
    /// What it is about.
    pub subject: Subject,
    /// 0.5 = twice as fast.
    pub factor: f64,
}

impl Change {
    /// Reads `tool:Bash=0.5`, `model:opus=2`, `agent:Explore=0.1` or `human=0`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Change, String> {
        let (subject, factor) =
            text.rsplit_once('=').ok_or("there is no `=` before a factor, as in tool:Bash=0.5")?;
        let factor: f64 = factor.trim().parse().map_err(|_| format!("`{factor}` is no number"))?;
        if !(0.0..=MAX_FACTOR).contains(&factor) {
            return Err(format!("the factor must be from 0 to {MAX_FACTOR}"));
        }
        let subject = match subject.trim().split_once(':') {
            Some((_, "")) => return Err("there is no name behind the `:`".into()),
            Some(("tool", name)) => Subject::Tool(name.to_lowercase()),
            Some(("model", name)) => Subject::Model(name.to_lowercase()),
            Some(("agent", name)) => Subject::Agent(name.to_lowercase()),
            Some((other, _)) => return Err(format!("`{other}` is none of tool, model and agent")),
            None => {
                let known = Class::ALL.map(Class::name).join(", ");
                let unknown =
                    format!("`{subject}` is neither tool:NAME, model:NAME, agent:NAME nor one of {known}");
                Subject::Class(Class::of_name(subject.trim()).ok_or(unknown)?)
            }
        };
        Ok(Change { text: text.to_string(), subject, factor })
    }
}

/// No piece becomes longer than so many times, by several changes together neither.
const MAX_FACTOR: f64 = 1000.0;

/// The answer to changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhatIfDoc {
    /// The changes as they were asked for.
    pub changes: Vec<ChangeDoc>,
    /// Milliseconds from the first moment to the last, as it was.
    pub before_ms: i64,
    /// As it would be. An estimate: everything else is assumed to stay as it was.
    pub after_ms: i64,
    /// The difference; negative when it would take longer.
    pub saved_ms: i64,
    /// The difference as a part of what it was.
    pub saved_share: f64,
}

/// One change and what it touches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeDoc {
    /// As it was asked for.
    pub text: String,
    /// Steps and gaps whose time changes.
    pub touched: u64,
    /// Milliseconds of the critical path that change.
    pub on_path_ms: i64,
}

/// Which steps a change is about.
fn chosen(flow: &Flow, text: &Interner, subject: &Subject) -> Vec<bool> {
    let has = |sym, part: &str| text.get(sym).to_lowercase().contains(part);
    let agents: Vec<bool> = match subject {
        Subject::Agent(part) => flow.agents.iter().map(|agent| agent_has(text, agent, part)).collect(),
        _ => Vec::new(),
    };
    let is_chosen = |step: &unspool_model::Step| match subject {
        Subject::Tool(name) => step.kind == StepKind::ToolCall && text.get(step.name).to_lowercase() == *name,
        Subject::Model(part) => {
            step.kind == StepKind::ModelCall && (has(step.model, part) || has(step.name, part))
        }
        Subject::Agent(_) => agents.get(step.agent as usize).copied().unwrap_or(false),
        Subject::Class(_) => false,
    };
    flow.steps.iter().map(is_chosen).collect()
}

/// The scope with all changes made at once.
pub(crate) fn what_if(flow: &Flow, text: &Interner, network: &Network, changes: &[Change]) -> WhatIfDoc {
    let mut on_path = vec![false; network.moments.len()];
    for slot in network.critical() {
        on_path[slot as usize] = true;
    }
    let slots = 0..u32::try_from(network.moments.len()).unwrap_or(NONE);
    let pieces =
        slots.flat_map(|slot| network.pieces_of(slot).into_iter().map(move |piece| (slot as usize, piece)));
    let mut pieces: Vec<(usize, Piece, f64)> = pieces.map(|(slot, piece)| (slot, piece, 1.0)).collect();
    let mut docs = Vec::new();
    for change in changes {
        let chosen = chosen(flow, text, &change.subject);
        let mut doc = ChangeDoc { text: change.text.clone(), touched: 0, on_path_ms: 0 };
        for (slot, piece, factor) in &mut pieces {
            let touched = match change.subject {
                Subject::Class(class) => piece.class == class,
                _ => piece.worker != NONE && chosen[piece.worker as usize],
            };
            if touched && piece.ms > 0 {
                *factor *= change.factor;
                doc.touched += 1;
                let on_path_ms = if on_path[*slot] { piece.ms } else { 0 };
                doc.on_path_ms = doc.on_path_ms.saturating_add(on_path_ms);
            }
        }
        docs.push(doc);
    }
    let mut lags: Vec<i64> = vec![0; network.moments.len()];
    for (slot, piece, factor) in pieces {
        lags[slot] = lags[slot].saturating_add(scaled(piece.ms, capped(factor)));
    }
    let at = network.replay(|slot| lags[slot]);
    let after_ms = at.into_iter().max().unwrap_or(0);
    WhatIfDoc {
        changes: docs,
        before_ms: network.wall,
        after_ms,
        saved_ms: network.wall - after_ms,
        saved_share: ratio(network.wall - after_ms, network.wall),
    }
}

/// A product of factors within bounds; one beyond all numbers times 0 is 0.
fn capped(product: f64) -> f64 {
    if product.is_nan() { 0.0 } else { product.min(MAX_FACTOR) }
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a what-if is an estimate")]
fn scaled(ms: i64, factor: f64) -> i64 {
    if factor.to_bits() == 1.0_f64.to_bits() { ms } else { (ms as f64 * factor).round() as i64 }
}
