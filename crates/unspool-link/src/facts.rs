//! What the witnesses say about each step, by a written precedence.
//!
//! - Names and text: transcripts, then recorded traffic, then telemetry, then notices; of equals, the first in order.
//! - Usage: the closest sort of witness (recorded traffic, transcript, telemetry, notice), and of its witnesses that are
//!   not copies the per-field maximum. Another sort that says otherwise is an issue.
//! - Times: a witness of the whole thing (a request with its answer, a span), the closest sort first. Else a tool call
//!   starts with the call and ends with its first result, and everything else spans its witnesses. A duration a source
//!   measured itself wins over a difference of times.
//! - Errors: any witness.
//! - Copies of history say something only where no first-hand record does, and never how many tokens were used.

use crate::draft::Draft;
use crate::steps::StepDraft;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;
use unspool_model::{
    AttrName, Code, Event, EventFlags, EventKind, IntentSource, KeyKind, Lines, RecordIx, RequestKind, Role,
    StepKind, Sym, Timestamp, Usage, Witness,
};

pub(crate) fn fill(draft: &mut Draft<'_>) {
    let mut others = Others::default();
    for sort in sorts(draft) {
        for at in 0..draft.event_step.len() {
            let step = draft.event_step[at];
            if step != NONE && sort.is_none_or(|sort| draft.witness(at) == sort) && !is_mere_copy(draft, at) {
                check_final(draft, at, step);
                take(draft, at, step as usize, &mut others);
            }
        }
    }
    choose_usage(draft, others);
    name_unreadable(draft);
    mark_local_commands(draft);
    estimate_model_starts(draft);
    for n in 0..draft.steps.len() {
        settle(draft, n);
    }
}

/// A field of a wrong type may cost a link, but only where the tool is one that starts agents or writes to them; what
/// other tools call `status` or `prompt` is theirs.
fn name_unreadable(draft: &mut Draft<'_>) {
    let mut found = Vec::new();
    for at in 0..draft.event_step.len() {
        let event = draft.event(at);
        let is_call = event.kind == EventKind::ToolCall;
        if draft.event_step[at] == NONE || !(is_call || event.kind == EventKind::ToolResult) {
            continue;
        }
        for attr in draft.corpus.batch.attrs_of(event).iter().filter(|attr| attr.name == AttrName::Unreadable)
        {
            let tool = draft.text(draft.steps[draft.event_step[at] as usize].name);
            let table = draft.table;
            let also_ours = if is_call { table.is_message_tool(tool) } else { table.is_workflow_tool(tool) };
            if also_ours || table.is_spawn_tool(tool) {
                found.push((attr.sym(), event.record));
            }
        }
    }
    for (field, record) in found {
        draft.issue(Code::WrongType, field, Some(record));
    }
}

/// Whether a first-hand record tells what this one is a copy or a moment of. It is a witness and has nothing to add.
fn is_mere_copy(draft: &Draft<'_>, at: usize) -> bool {
    if draft.event(at).flags.has(EventFlags::MOMENT) {
        return draft.spans.twin(at).is_some();
    }
    let is_copy = |at: usize| draft.event(at).flags.has(EventFlags::COPY);
    let step = draft.event_step[at];
    is_copy(at) && !is_copy(draft.steps[step as usize].first_event as usize)
}

/// Lines with a stop reason are final and should agree with what was counted so far.
fn check_final(draft: &mut Draft<'_>, at: usize, step: u32) {
    let event = *draft.event(at);
    if event.kind != EventKind::ModelCall || draft.attr_text(at, AttrName::StopReason).is_none() {
        return;
    }
    let Some(usage) = draft.corpus.batch.usage(&event) else { return };
    let step = &mut draft.steps[step as usize];
    let seen = std::mem::replace(&mut step.has_final_usage, true);
    if seen && draft.usages.get(step.usage as usize).is_some_and(|counted| *counted != usage) {
        draft.issue(Code::UsageConflict, Sym::EMPTY, Some(event.record));
    }
}

/// The sorts of witnesses at hand, the best for text first; one `None` when all are of one sort.
fn sorts(draft: &Draft<'_>) -> Vec<Option<Witness>> {
    let mut all = [Witness::Transcript, Witness::Wire, Witness::Telemetry, Witness::Notice].to_vec();
    let mut seen = Vec::with_capacity(all.len());
    let mut last = u32::MAX;
    for at in 0..draft.group.events.len() {
        let stream = draft.corpus.batch.records[draft.event(at).record as usize].stream;
        if stream != last {
            last = stream;
            seen.push(draft.witness(at));
        }
    }
    all.retain(|sort| seen.contains(sort));
    if all.len() < 2 { vec![None] } else { all.into_iter().map(Some).collect() }
}

/// What further sorts of witnesses say about a step's tokens.
type Others = FxHashMap<u32, Vec<(Witness, RecordIx, Usage)>>;

fn take_usage(draft: &mut Draft<'_>, at: usize, n: usize, others: &mut Others) {
    let event = *draft.event(at);
    let repeats = draft.spans.own(at).is_some_and(|span| span.repeats_usage);
    let is_own = !repeats && !event.flags.has(EventFlags::COPY);
    let Some(usage) = draft.corpus.batch.usage(&event).filter(|_| is_own) else { return };
    let witness = draft.witness(at);
    let step = &mut draft.steps[n];
    if step.usage == NONE {
        step.usage = u32::try_from(draft.usages.len()).unwrap_or(NONE);
        step.usage_from = witness;
        draft.usages.push(usage);
    } else if step.usage_from == witness {
        draft.usages[step.usage as usize].merge_witness(&usage);
    } else {
        let list = others.entry(u32::try_from(n).unwrap_or(NONE)).or_default();
        match list.iter_mut().find(|(other, _, _)| *other == witness) {
            Some((_, _, sum)) => sum.merge_witness(&usage),
            None => list.push((witness, event.record, usage)),
        }
    }
}

/// The closest sort of witness says how many tokens a step took.
fn choose_usage(draft: &mut Draft<'_>, others: Others) {
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_unstable_by_key(|(step, _)| *step);
    for (n, list) in others {
        let step = &draft.steps[n as usize];
        let first = (step.usage_from, draft.first_record(n), draft.usages[step.usage as usize]);
        let best = list.iter().chain([&first]).min_by_key(|(witness, _, _)| *witness).copied();
        let Some((_, _, counted)) = best else { continue };
        let slot = step.usage as usize;
        draft.usages[slot] = counted;
        for (_, record, usage) in list.iter().chain([&first]) {
            if !usage.agrees_with(&counted) {
                draft.issue(Code::UsageDisagreement, Sym::EMPTY, Some(*record));
            }
        }
    }
}

/// A witness of the whole thing knows its times best; of several, the closest sort.
fn take_times(draft: &mut Draft<'_>, at: usize, n: usize) {
    let event = *draft.event(at);
    let witness = draft.witness(at);
    let ended = draft.attr_int(at, AttrName::EndedAt).map_or(Timestamp::NONE, Timestamp::from_ns);
    let is_estimate = event.flags.has(EventFlags::START_INFERRED);
    let step = &mut draft.steps[n];
    if step.times_from.is_none_or(|other| witness < other) {
        step.times_from = Some(witness);
        (step.started, step.ended, step.start_estimated) = (event.at, ended, is_estimate);
    } else if step.times_from == Some(witness) {
        if event.at.is_some() && step.started.earlier(event.at) != step.started {
            (step.started, step.start_estimated) = (event.at, is_estimate);
        }
        step.ended = step.ended.later(ended);
    }
}

/// Of several who tell when a call began, those who state it are believed; of those, the earliest.
fn take_start(step: &mut StepDraft, event: &Event) {
    let is_estimate = event.flags.has(EventFlags::START_INFERRED);
    let rank = |is_estimate: bool, at: Timestamp| (!at.is_some(), is_estimate, at);
    if rank(is_estimate, event.at) < rank(step.start_estimated, step.started) {
        (step.started, step.start_estimated) = (event.at, is_estimate);
    }
}

/// What one witness says about a step, besides its times and tokens.
struct Said {
    preview: Sym,
    error: Sym,
    description: Sym,
    summary: Sym,
    model: Sym,
    duration_ms: Option<i64>,
}

impl Said {
    fn of(draft: &Draft<'_>, at: usize) -> Said {
        let text = |name| draft.attr_text(at, name).unwrap_or_default();
        Said {
            preview: text(AttrName::Preview),
            error: text(AttrName::ErrorText),
            description: text(AttrName::Description),
            summary: text(AttrName::Summary),
            model: text(AttrName::Model),
            duration_ms: draft.attr_int(at, AttrName::DurationMs).filter(|ms| *ms >= 0),
        }
    }
}

/// The first who says something is believed.
fn first(slot: &mut Sym, value: Sym) {
    if slot.is_empty() {
        *slot = value;
    }
}

fn take(draft: &mut Draft<'_>, at: usize, n: usize, others: &mut Others) {
    let event = *draft.event(at);
    take_usage(draft, at, n, others);
    if event.flags.has(EventFlags::WHOLE) {
        take_times(draft, at, n);
    }
    let said = Said::of(draft, at);
    let index = u32::try_from(n).unwrap_or(NONE);
    if !said.error.is_empty() {
        draft.errors.entry(index).or_insert(said.error);
    }
    let input_hash = draft.attr_int(at, AttrName::InputHash).filter(|_| event.kind == EventKind::ToolCall);
    if let Some(hash) = input_hash.and_then(|hash| u32::try_from(hash).ok()) {
        draft.inputs.push((index, hash));
    }
    let line = |name| draft.attr_int(at, name).and_then(|line| u32::try_from(line).ok());
    let lines = line(AttrName::FirstLine).zip(line(AttrName::LastLine));
    if let Some((first, last)) = lines.filter(|_| event.kind == EventKind::ToolCall) {
        draft.lines.push((index, Lines { first, last }));
    }
    let purpose = draft.attr_text(at, AttrName::Purpose).map(|purpose| draft.text(purpose));
    if let Some(request) = purpose.and_then(RequestKind::named) {
        draft.requests.push((index, request));
    }
    let uuid = draft.key(at, KeyKind::Uuid, Role::Provides).unwrap_or_default();
    let exchange = draft.key(at, KeyKind::Exchange, Role::Provides).unwrap_or_default();
    let step = &mut draft.steps[n];
    first(&mut step.uuid, uuid);
    first(&mut step.exchange, exchange);
    step.flags.set(event.flags);
    step.has_end |= !event.flags.has(EventFlags::BEGUN);
    match event.kind {
        EventKind::ToolCall => take_call(step, &event, &said),
        EventKind::ToolResult => take_result(step, &event, &said),
        EventKind::ModelCall => take_model_call(step, &event, &said),
        _ => take_other(step, &event, &said),
    }
}

fn take_call(step: &mut StepDraft, event: &Event, said: &Said) {
    first(&mut step.name, event.name);
    step.has_call = true;
    if step.times_from.is_none() {
        take_start(step, event);
    }
    step.is_error |= event.flags.has(EventFlags::WHOLE.with(EventFlags::ERROR));
    step.duration_ms = step.duration_ms.or(said.duration_ms);
    if step.intent_source != IntentSource::Data {
        let (intent, source) = match (said.description.some(), said.summary.some()) {
            (Some(stated), _) => (stated, IntentSource::Data),
            (None, Some(made)) => (made, IntentSource::Rule),
            (None, None) => (step.intent, step.intent_source),
        };
        step.intent = intent;
        step.intent_source = source;
    }
    first(&mut step.preview, said.summary);
}

fn take_result(step: &mut StepDraft, event: &Event, said: &Said) {
    first(&mut step.name, event.name);
    if step.times_from.is_none() {
        step.ended = step.ended.earlier(event.at);
    }
    step.is_error |= event.flags.has(EventFlags::ERROR);
    step.duration_ms = step.duration_ms.or(said.duration_ms);
}

fn take_model_call(step: &mut StepDraft, event: &Event, said: &Said) {
    // What only wraps the call is no model, and bears the name its source gave it.
    let wraps = step.kind == StepKind::Generic && !said.summary.is_empty();
    first(&mut step.name, if wraps { said.summary } else { event.name });
    first(&mut step.model, event.name);
    first(&mut step.preview, said.preview);
    if step.times_from.is_none() {
        step.started = step.started.earlier(event.at);
        step.ended = step.ended.later(event.at);
    }
    step.is_error |= event.flags.has(EventFlags::API_ERROR);
    step.duration_ms = step.duration_ms.or(said.duration_ms);
}

fn take_other(step: &mut StepDraft, event: &Event, said: &Said) {
    if step.kind == StepKind::ModelCall {
        first(&mut step.model, said.model);
        first(&mut step.name, said.model);
    }
    first(&mut step.name, event.name);
    first(&mut step.model, said.model);
    first(&mut step.preview, if said.preview.is_empty() { said.error } else { said.preview });
    // A message is a moment; others who tell of it later do not make it longer.
    let told = event.kind == EventKind::UserMessage && step.started.is_some();
    if step.times_from.is_none() && !told {
        step.started = step.started.earlier(event.at);
        step.ended = step.ended.later(event.at);
    }
    step.is_error |= event.flags.has(EventFlags::API_ERROR) || event.flags.has(EventFlags::ERROR);
    step.duration_ms = step.duration_ms.or(said.duration_ms);
}

/// A slash command whose answer is output of the client was the client's own; others became prompts.
fn mark_local_commands(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        let mut next_is_output = false;
        for n in draft.timeline[agent].clone().into_iter().rev() {
            let step = &mut draft.steps[n as usize];
            if step.kind == StepKind::UserMessage && step.flags.has(EventFlags::META) {
                continue;
            }
            if next_is_output && step.flags.has(EventFlags::SLASH) {
                step.flags.set(EventFlags::COMMAND);
            }
            next_is_output = step.kind == StepKind::UserMessage && step.flags.has(EventFlags::COMMAND);
        }
    }
}

/// A transcript notes when a model's answer arrived, not when it was asked for. The call began when its input
/// was complete: at the last message or result before it in its agent. That is an estimate and marked so.
fn estimate_model_starts(draft: &mut Draft<'_>) {
    for agent in 0..draft.timeline.len() {
        let mut inputs: Vec<(crate::order::Place, Timestamp)> = Vec::new();
        for n in &draft.timeline[agent] {
            let step = &draft.steps[*n as usize];
            match step.kind {
                StepKind::UserMessage | StepKind::Compaction => {
                    inputs.push((draft.place_of(step), step.ended));
                }
                StepKind::ToolCall if step.result_event != NONE => {
                    inputs.push((draft.place(step.result_event as usize), step.ended));
                }
                _ => {}
            }
        }
        inputs.sort_unstable();
        let mut next = 0;
        let mut last_input = Timestamp::NONE;
        for n in draft.timeline[agent].clone() {
            let own_place = draft.place_of(&draft.steps[n as usize]);
            let step = &mut draft.steps[n as usize];
            if step.kind != StepKind::ModelCall {
                continue;
            }
            while let Some((_, at)) = inputs.get(next).filter(|(place, _)| *place < own_place) {
                last_input = last_input.later(*at);
                next += 1;
            }
            let is_stated = step.times_from.is_some() || step.flags.has(EventFlags::BEGUN);
            if !is_stated && last_input.is_some() && last_input < step.started {
                step.started = last_input;
                step.start_estimated = true;
            }
            // An input feeds one call; the next call starts from its own.
            last_input = Timestamp::NONE;
        }
    }
}

fn settle(draft: &mut Draft<'_>, n: usize) {
    let step = &draft.steps[n];
    let result = (step.result_event != NONE).then(|| draft.event(step.result_event as usize));
    let call = draft.event(step.first_event as usize).record;
    let has_result =
        result.is_some_and(|result| result.record != call && !result.flags.has(EventFlags::COPY));
    let has_two_moments = has_result || (step.flags.has(EventFlags::BEGUN) && step.has_end);
    let step = &mut draft.steps[n];
    if step.kind == StepKind::ToolCall && !step.has_call {
        step.started = step.started.earlier(step.ended);
    }
    let is_pending = step.is_pending();
    if is_pending {
        step.ended = Timestamp::NONE;
    }
    let between = step.ended.ms_since(step.started);
    let skewed = between.is_some_and(|ms| ms < 0);
    // Where one record tells of it and not of the whole, its beginning and its end are one moment: how long it took is not known.
    let is_known = step.times_from.is_some() || between != Some(0) || has_two_moments;
    step.duration_ms = step.duration_ms.or(between.filter(|ms| *ms >= 0 && is_known));
    let (kind, has_call) = (step.kind, step.has_call);
    let native_id = draft.native_id_of(&draft.steps[n]);
    let record = draft.first_record(u32::try_from(n).unwrap_or(NONE));
    if skewed {
        draft.issue(Code::ClockSkew, Sym::EMPTY, Some(record));
    }
    if kind == StepKind::ToolCall && !has_call {
        draft.issue(Code::ResultWithoutCall, Sym::EMPTY, Some(record));
    }
    match kind {
        _ if !is_pending => {}
        StepKind::ToolCall => draft.issue(Code::CallWithoutResult, Sym::EMPTY, Some(record)),
        _ => draft.issue(Code::StepUnfinished, native_id, Some(record)),
    }
}
