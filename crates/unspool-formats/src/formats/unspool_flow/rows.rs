//! Rows of an export, one by one: what each says of itself, and by which ids it names others.
//!
//! In: the fields of a row, and where every id of the session stands. Out: agents, runs, steps, edges, issues. A word or an
//! id that is not known is an issue, and what it says is left out. Never here: whether rows fit together.

use crate::object::Object;
use crate::sink::Sink;
use rustc_hash::FxHashMap;
use unspool_model::flow::{Millis, NONE};
use unspool_model::usage::PackedUsage;
use unspool_model::{
    Agent, AgentSource, Code, Confidence, DeclaredLink, Edge, EdgeKind, Id, IntentSource, Issue,
    LinkStanding, Rival, RivalReason, Rule, Run, Spawn, Status, Step, StepKind, Sym, Usage, Verdict,
};

/// Where every id of a session stands.
#[derive(Default)]
pub(super) struct Places {
    pub(super) agents: FxHashMap<Id, u32>,
    pub(super) runs: FxHashMap<Id, u32>,
    pub(super) steps: FxHashMap<Id, u32>,
}

/// An id; what is none of ours is one all the same, as it names the same thing wherever it stands.
pub(super) fn id(row: &Object<'_>, key: &str, letter: char) -> Option<Id> {
    let text = row.text(key);
    (!text.is_empty()).then(|| Id::parse(&text, letter).unwrap_or_else(|| Id::of(&[text.as_bytes()])))
}

/// The rows of a list by their ids; of rows with one id, the first.
pub(super) fn places(rows: &[Object<'_>], letter: char) -> FxHashMap<Id, u32> {
    let mut places = FxHashMap::default();
    for (n, row) in (0..).zip(rows) {
        if let Some(id) = id(row, "id", letter) {
            places.entry(id).or_insert(n);
        }
    }
    places
}

/// The row that a field names; `NONE` when it names none.
fn find(row: &Object<'_>, key: &str, letter: char, places: &FxHashMap<Id, u32>, out: &mut Sink<'_>) -> u32 {
    let Some(id) = id(row, key, letter) else { return NONE };
    places.get(&id).copied().unwrap_or_else(|| {
        out.issue(Code::ReferenceMissing, key);
        NONE
    })
}

/// What a word stands for.
pub(super) fn word<T: Copy>(
    row: &Object<'_>,
    key: &str,
    all: &[T],
    name: fn(T) -> &'static str,
    out: &mut Sink<'_>,
) -> Option<T> {
    let text = row.text(key);
    let found = all.iter().copied().find(|one| name(*one) == text);
    if found.is_none() {
        out.issue(Code::WordUnknown, &format!("{key} {text}"));
    }
    found
}

pub(super) fn text(row: &Object<'_>, key: &str, out: &mut Sink<'_>) -> Sym {
    out.intern(&row.text(key))
}

/// A text that people see.
pub(super) fn label(row: &Object<'_>, key: &str, out: &mut Sink<'_>) -> Sym {
    out.label(&row.text(key))
}

pub(super) fn small(row: &Object<'_>, key: &str) -> u32 {
    u32::try_from(row.count(key)).unwrap_or(u32::MAX)
}

fn confidence(row: &Object<'_>) -> Confidence {
    share(row, "confidence")
}

fn share(row: &Object<'_>, key: &str) -> Confidence {
    let written = row.get(key).and_then(|raw| std::str::from_utf8(raw).ok());
    let share: f64 = written.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let ten_thousandths = format!("{:.0}", share.clamp(0.0, 1.0) * 10_000.0);
    Confidence::from_ten_thousandths(ten_thousandths.parse().unwrap_or(0))
}

fn status(row: &Object<'_>, out: &mut Sink<'_>) -> Status {
    word(row, "status", &Status::ALL, Status::name, out).unwrap_or_default()
}

pub(super) fn agent(row: &Object<'_>, places: &Places, out: &mut Sink<'_>) -> Agent {
    Agent {
        id: id(row, "id", 'a').unwrap_or_default(),
        native_id: text(row, "native_id", out),
        kind: label(row, "type", out),
        kind_inferred: row.is("type_inferred"),
        name: label(row, "name", out),
        model: label(row, "model", out),
        parent: find(row, "parent_id", 'a', &places.agents, out),
        depth: 0,
        status: status(row, out),
        internal: row.is("internal"),
        main: row.is("main"),
        task_number: small(row, "task_number"),
        spawn: spawn(&row.object("spawn"), places, out),
        rivals: row.list("rivals").into_iter().filter_map(|raw| rival(&Object::of(raw), out)).collect(),
        rival_count: small(row, "rival_count"),
        started: row.time("started_at", out),
        ended: row.time("ended_at", out),
        first_step: find(row, "first_step_id", 's', &places.steps, out),
        last_step: find(row, "last_step_id", 's', &places.steps, out),
        message_count: small(row, "message_count"),
    }
}

fn spawn(row: &Object<'_>, places: &Places, out: &mut Sink<'_>) -> Option<Spawn> {
    if row.is_empty() {
        return None;
    }
    let step = find(row, "step_id", 's', &places.steps, out);
    let rule = word(row, "rule", Rule::ALL, Rule::name, out)?;
    let tool_use_id = text(row, "tool_use_id", out);
    (step != NONE).then(|| Spawn { step, tool_use_id, rule, confidence: confidence(row) })
}

fn rival(row: &Object<'_>, out: &mut Sink<'_>) -> Option<Rival> {
    let reason = word(row, "reason", &RivalReason::ALL, RivalReason::name, out)?;
    Some(Rival { tool_use_id: text(row, "tool_use_id", out), reason })
}

/// A run; none when what started it is not there.
pub(super) fn run(row: &Object<'_>, places: &Places, out: &mut Sink<'_>) -> Option<Run> {
    let trigger = find(row, "trigger_step_id", 's', &places.steps, out);
    (trigger != NONE).then(|| Run {
        id: id(row, "id", 'u').unwrap_or_default(),
        native_id: text(row, "native_id", out),
        channel: label(row, "channel", out),
        stated: label(row, "stated_status", out),
        trigger,
        status: status(row, out),
        started: row.time("started_at", out),
        ended: row.time("ended_at", out),
    })
}

/// A step. Its tokens, its error and its place among the witnesses are kept elsewhere in a flow.
pub(super) fn step(row: &Object<'_>, places: &Places, out: &mut Sink<'_>) -> Step {
    let intent = row.object("intent");
    let shown = |row: &Object<'_>, key: &str, out: &mut Sink<'_>| {
        if out.wants_text() { label(row, key, out) } else { Sym::EMPTY }
    };
    let preview = shown(row, "preview", out);
    let words = shown(&intent, "text", out);
    let agent = find(row, "agent_id", 'a', &places.agents, out);
    let source = word(row, "agent_source", &AgentSource::ALL, AgentSource::name, out).unwrap_or_default();
    Step {
        id: id(row, "id", 's').unwrap_or_default(),
        kind: word(row, "kind", &StepKind::ALL, StepKind::name, out).unwrap_or(StepKind::Generic),
        // Every step has an agent: where nothing says which, the first one is taken.
        agent: if agent == NONE { 0 } else { agent },
        agent_source: if agent == NONE { AgentSource::Assumed } else { source },
        run: find(row, "run_id", 'u', &places.runs, out),
        parent: find(row, "parent_id", 's', &places.steps, out),
        name: label(row, "name", out),
        tool_use_id: text(row, "tool_use_id", out),
        message_id: text(row, "message_id", out),
        uuid: text(row, "uuid", out),
        native_id: text(row, "native_id", out),
        model: label(row, "model", out),
        started: row.time("started_at", out),
        ended: row.time("ended_at", out),
        duration_ms: Millis::new(row.int("duration_ms")),
        start_estimated: row.is("started_at_estimated"),
        is_error: row.is("is_error"),
        pending: row.is("pending"),
        is_async: row.is("is_async"),
        meta: row.is("meta"),
        preview,
        intent: words,
        intent_source: match (words.is_empty(), intent.is("inferred")) {
            (true, _) => IntentSource::None,
            (false, true) => IntentSource::Rule,
            (false, false) => IntentSource::Data,
        },
        ..Step::default()
    }
}

/// The tokens of a step, if it has any.
pub(super) fn usage(row: &Object<'_>) -> Option<Usage> {
    let usage = row.object("usage");
    let usage = (!usage.is_empty()).then(|| Usage {
        input: usage.count("input"),
        cache_read: usage.count("cache_read"),
        cache_write: usage.count("cache_write"),
        cache_write_long: usage.count("cache_write_long"),
        output: usage.count("output"),
        reasoning: usage.count("reasoning"),
    })?;
    Some(PackedUsage::from(usage).into())
}

/// An edge; none when an end of it is not there, or nothing is known by its kind or rule.
pub(super) fn edge(row: &Object<'_>, places: &Places, out: &mut Sink<'_>) -> Option<Edge> {
    let from = find(row, "from", 's', &places.steps, out);
    let to = find(row, "to", 's', &places.steps, out);
    let kind = word(row, "kind", &EdgeKind::ALL, EdgeKind::name, out)?;
    let rule = word(row, "rule", Rule::ALL, Rule::name, out)?;
    let tool_use_id = text(row, "tool_use_id", out);
    (from != NONE && to != NONE).then(|| Edge {
        from,
        to,
        first_evidence: 0,
        evidence_count: u16::from(!row.list("evidence").is_empty()),
        tool_use_id,
        confidence: confidence(row),
        kind,
        rule,
        is_error: row.is("is_error"),
    })
}

/// An issue; none when its code is not known.
pub(super) fn link(row: &Object<'_>, places: &Places, out: &mut Sink<'_>) -> Option<DeclaredLink> {
    let rule = Rule::ALL.iter().copied().find(|rule| rule.name() == row.text("was_rule"));
    Some(DeclaredLink {
        record: out.record(),
        verdict: word(row, "action", &Verdict::ALL, Verdict::name, out)?,
        kind: word(row, "kind", &EdgeKind::ALL, EdgeKind::name, out)?,
        from: text(row, "from", out),
        to: text(row, "to", out),
        from_step: find(row, "from_step_id", 's', &places.steps, out),
        to_step: find(row, "to_step_id", 's', &places.steps, out),
        who: label(row, "who", out),
        note: label(row, "note", out),
        at: row.time("at", out),
        was: rule.map(|rule| (rule, share(row, "was_confidence"))),
        standing: word(row, "standing", &LinkStanding::ALL, LinkStanding::name, out)?,
    })
}

pub(super) fn issue(row: &Object<'_>, out: &mut Sink<'_>) -> Option<Issue> {
    let code = word(row, "code", Code::ALL, Code::name, out)?;
    let detail = row.text("detail");
    // The sentence of the code stands where an issue is about nothing in particular.
    let detail = if detail == code.sentence() { Sym::EMPTY } else { out.label(&detail) };
    let records = if row.list("records").is_empty() { Vec::new() } else { vec![out.record()] };
    Some(Issue { code, detail, count: row.count("count"), records })
}
