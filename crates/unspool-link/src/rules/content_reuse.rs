//! Words that wander: an agent's answer in another's input, a command or a prompt in the request of a helper.
//!
//! Only recorded traffic shows what really stood in a request, so only its events are looked at. The words are whole
//! texts, compared by hash; that they are the same is certain, that one came from the other is inferred.

use super::tool_calls::receiver_in_record;
use crate::agents::Origin;
use crate::draft::{Draft, exact};
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{Confidence, Edge, EdgeKind, EventKind, KeyKind, Role, Rule, Sym, Timestamp, Witness};

pub(crate) fn link(draft: &mut Draft<'_>) {
    let recorded: Vec<usize> =
        (0..draft.group.events.len()).filter(|at| draft.witness(*at) == Witness::Wire).collect();
    if recorded.is_empty() {
        return;
    }
    answers(draft, &recorded);
    helpers(draft, &recorded);
}

/// Steps that said something, by what they said, in order of the group.
type Said = FxHashMap<Sym, Vec<(Timestamp, u32)>>;

fn collect(draft: &Draft<'_>, kinds: &[EventKind], key: KeyKind) -> Said {
    let mut said = Said::default();
    for at in 0..draft.event_step.len() {
        let (event, step) = (draft.event(at), draft.event_step[at]);
        if step == NONE || !kinds.contains(&event.kind) || is_helper(draft, step) {
            continue;
        }
        let keys = draft.corpus.batch.keys_of(event).iter();
        for key in keys.filter(|own| own.kind == key && own.role == Role::Provides) {
            let (value, step_end) = (key.value, draft.steps[step as usize].ended);
            said.entry(value).or_default().push((step_end.later(event.at), step));
        }
    }
    said
}

fn is_helper(draft: &Draft<'_>, step: u32) -> bool {
    let agent = draft.steps[step as usize].agent;
    matches!(draft.agents.get(agent as usize).map(|agent| agent.origin), Some(Origin::Helper(_)))
}

/// The latest of some steps by then, not of one agent.
fn latest(
    draft: &Draft<'_>,
    said: Option<&Vec<(Timestamp, u32)>>,
    by: Timestamp,
    not_of: u32,
) -> Option<u32> {
    let fits = |(at, step): &&(Timestamp, u32)| {
        draft.steps[*step as usize].agent != not_of && at.ms_since(by).is_none_or(|ms| ms <= 0)
    };
    said?
        .iter()
        .filter(fits)
        .max_by_key(|(at, step)| (*at, draft.place_of(&draft.steps[*step as usize])))
        .map(|(_, step)| *step)
}

/// An agent's answer in what a tool returned to another.
fn answers(draft: &mut Draft<'_>, recorded: &[usize]) {
    let said = collect(draft, &[EventKind::ModelCall], KeyKind::AnswerHash);
    for at in recorded {
        let event = *draft.event(*at);
        if event.kind != EventKind::ToolResult {
            continue;
        }
        let Some(answer) = draft.key(*at, KeyKind::AnswerHash, Role::Provides) else { continue };
        let Some(to) = receiver_in_record(draft, *at) else { continue };
        let own = draft.steps[to as usize].agent;
        if let Some(from) = latest(draft, said.get(&answer), event.at, own) {
            reuse(draft, from, to, event.record);
        }
    }
}

/// What a client asked a helper about: a command some tool ran, or what a person said.
fn helpers(draft: &mut Draft<'_>, recorded: &[usize]) {
    let commands = collect(draft, &[EventKind::ToolCall], KeyKind::Command);
    let prompts = collect(draft, &[EventKind::UserMessage], KeyKind::PromptHash);
    let mut record = (u32::MAX, None);
    for at in recorded {
        let event = *draft.event(*at);
        if event.record != record.0 {
            record = (event.record, None);
        }
        let step = draft.event_step[*at];
        if step == NONE || !is_helper(draft, step) {
            continue;
        }
        let own = draft.steps[step as usize].agent;
        // A helper is asked at once: what it is about may be recorded a moment later.
        let by = event.at.plus_ms(draft.table.fusion_window_ms);
        if event.kind == EventKind::UserMessage {
            let keys =
                draft.corpus.batch.keys_of(&event).iter().filter(|key| key.kind == KeyKind::PromptHash);
            record.1 = keys.map(|key| key.value).find_map(|hash| latest(draft, prompts.get(&hash), by, own));
        }
        if event.kind == EventKind::ModelCall {
            let command = draft.key(*at, KeyKind::Command, Role::Refers);
            let from = command.and_then(|hash| latest(draft, commands.get(&hash), by, own)).or(record.1);
            if let Some(from) = from {
                reuse(draft, from, step, event.record);
            }
        }
    }
}

fn reuse(draft: &mut Draft<'_>, from: u32, to: u32, record: unspool_model::RecordIx) {
    let confidence: Confidence = draft.table.content_reuse;
    let edge = Edge { confidence, ..exact(from, to, EdgeKind::ContentReuse, Rule::ContentReuse) };
    let evidence = [draft.first_record(from), record];
    draft.add_edge(edge, &evidence);
}
