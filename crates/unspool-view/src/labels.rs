//! What things are called, in few words, wherever they are drawn.

use unspool_model::{Agent, Batch, Flow, IntentSource, Interner, RequestKind, Step, StepKind, without_codes};

/// A step's name: the tool, the model, or who spoke.
pub fn step_name(batch: &Batch, step: &Step) -> String {
    let name = batch.text.get(step.name);
    match step.kind {
        StepKind::UserMessage => "user".into(),
        StepKind::Compaction => "context compacted".into(),
        StepKind::ModelCall if name.is_empty() => "(model not named)".into(),
        StepKind::ModelCall => short_model(name).into(),
        StepKind::AgentStart => "agent starts".into(),
        StepKind::AgentStop => "agent stops".into(),
        kind if name.is_empty() => kind.name().replace('_', " "),
        _ => name.into(),
    }
}

/// What a step was about: what it was for, or the first words of it.
pub fn step_detail<'b>(batch: &'b Batch, step: &Step) -> &'b str {
    let said = match step.intent_source {
        IntentSource::None => step.preview,
        IntentSource::Data | IntentSource::Rule => step.intent,
    };
    batch.text.get(said)
}

/// An agent's kind, or that it is the main one.
pub fn agent_name(batch: &Batch, agent: &Agent) -> String {
    agent_label(&batch.text, agent)
}

/// The same, from the text alone.
pub(crate) fn agent_label(text: &Interner, agent: &Agent) -> String {
    let kind = text.get(agent.kind);
    match (agent.main, agent.internal) {
        (true, _) if kind.is_empty() => "main".into(),
        (true, _) => format!("main {kind}"),
        (_, true) => {
            // Helpers of recorded traffic are called after what they are for.
            let request = RequestKind::named(text.get(agent.native_id)).map_or("", RequestKind::name);
            format!("internal {}", if kind.is_empty() { request } else { kind }).trim_end().into()
        }
        _ if kind.is_empty() => "agent".into(),
        _ => kind.into(),
    }
}

/// Whether an agent is meant: by its type, its name or `main` and `internal`, or else by the id its source gave it or ours.
pub(crate) fn agent_is(
    text: &Interner,
    agent: &Agent,
    is_name: &dyn Fn(&str) -> bool,
    is_id: &dyn Fn(&str) -> bool,
) -> bool {
    let known = |word: &str, test: &dyn Fn(&str) -> bool| !word.is_empty() && test(word);
    known(text.get(agent.kind), is_name)
        || known(text.get(agent.name), is_name)
        || agent.main && is_name("main")
        || agent.internal && is_name("internal")
        || known(text.get(agent.native_id), is_id)
        || is_id(&agent.id.show('a'))
}

/// Whether an agent's type or name has this in it or its id begins with it, whatever the case.
pub fn agent_has(text: &Interner, agent: &Agent, part: &str) -> bool {
    let part = part.to_lowercase();
    let has = |word: &str| word.to_lowercase().contains(&part);
    agent_is(text, agent, &has, &|id| id.to_lowercase().starts_with(&part))
}

/// What an agent calls itself or was asked to do.
pub fn agent_detail<'b>(batch: &'b Batch, agent: &Agent) -> &'b str {
    if agent.main { "" } else { batch.text.get(agent.name) }
}

/// A session's title, or the id its source gave it.
pub fn session_title(flow: &Flow, batch: &Batch) -> String {
    let native = flow.session.native_ids.first().copied().unwrap_or_default();
    let title = flow.session.title.some().unwrap_or(native);
    without_codes(batch.text.get(title)).into_owned()
}

/// A model's name without the place it is served from, the vendor and the release date.
pub fn short_model(name: &str) -> &str {
    let name = name.rsplit_once("/models/").map_or(name, |(_, name)| name);
    let name = name.strip_prefix("claude-").unwrap_or(name);
    match name.rsplit_once('-') {
        Some((short, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => short,
        _ => name,
    }
}
