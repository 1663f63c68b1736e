//! What every agent's session file tells in some shape: somebody spoke, the model answered, a tool was called and
//! answered. Formats find these things in their records; what to say about them stands here once.

use crate::asked::{Asked, subject_rank};
use crate::json::RawStr;
use crate::object::{Object, elements, string};
use crate::prose::{PREVIEW_SOURCE_BYTES, preview};
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::prompt::{input_hash, text_hash, without_reminders};
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp};

/// What a record says about itself; its first event carries it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Head<'a> {
    pub(crate) session: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) uuid: &'a str,
    /// The record before it in its chain.
    pub(crate) parent: &'a str,
    pub(crate) flags: EventFlags,
}

impl Head<'_> {
    /// Opens the record's first event.
    pub(crate) fn open(&self, kind: EventKind, at: Timestamp, out: &mut Sink<'_>) {
        out.begin(kind, at).flag(self.flags);
        out.key(KeyKind::Session, Role::Refers, self.session);
        // An event about an agent names it as its subject.
        let about = matches!(kind, EventKind::AgentStart | EventKind::AgentStop | EventKind::AgentInfo);
        let role = if about { Role::Provides } else { Role::Refers };
        out.key(KeyKind::Agent, role, self.agent);
        out.key(KeyKind::Uuid, Role::Provides, self.uuid);
        out.key(KeyKind::Uuid, Role::Refers, self.parent);
    }
}

/// The texts of a content: a string, or blocks that have one. Thinking is not said to anybody and left out.
pub(crate) fn texts(raw: Option<&[u8]>) -> Vec<Cow<'_, str>> {
    let Some(raw) = raw else { return Vec::new() };
    if let Some(text) = string(raw) {
        return vec![text.decode()];
    }
    let blocks = elements(raw).into_iter();
    blocks.filter_map(block_text).filter(|text| !text.is_empty()).collect()
}

fn block_text(raw: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(text) = string(raw) {
        return Some(text.decode());
    }
    let block = Object::of(raw);
    let kind = block.text("type");
    let said = matches!(kind.as_ref(), "" | "text" | "input_text" | "output_text" | "summary_text");
    (said && !block.is("thought")).then(|| block.text("text"))
}

/// Adds what a message to the agent says: its hashes and its first words.
pub(crate) fn prompt(texts: &[Cow<'_, str>], out: &mut Sink<'_>) {
    for text in texts {
        if let Some(hash) = text_hash(text) {
            out.key(KeyKind::PromptHash, Role::Provides, &hash);
        }
    }
    if texts.len() > 1
        && let Some(hash) = text_hash(&texts.concat())
    {
        out.key(KeyKind::PromptHash, Role::Provides, &hash);
    }
    // An image or a document is something said, too.
    if texts.is_empty() || texts.iter().any(|text| !without_reminders(text).trim().is_empty()) {
        out.flag(EventFlags::HAS_TEXT);
    }
    if let Some(shown) = texts.iter().map(|text| shown(text)).find(|text| !text.is_empty()) {
        out.message_preview(&shown);
    }
}

/// Adds what a model answered. `in_agent`: a parent may have been given these words.
pub(crate) fn answer(texts: &[Cow<'_, str>], in_agent: bool, out: &mut Sink<'_>) {
    if texts.iter().any(|text| !text.trim().is_empty()) {
        out.flag(EventFlags::HAS_TEXT);
    }
    if in_agent {
        for hash in texts.iter().filter_map(|text| text_hash(text)) {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
    }
    if out.wants_text()
        && let Some(text) = texts.iter().find(|text| !text.trim().is_empty())
    {
        out.text(AttrName::Preview, &shown(text));
    }
}

/// The first words of a text.
pub(crate) fn shown(text: &str) -> String {
    let mut end = text.len().min(PREVIEW_SOURCE_BYTES);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    preview(&text[..end])
}

/// A call of a tool that a model asked for, on its own.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON.
    pub(crate) input: String,
}

/// Emits a call with what its input says. The input is an object, or an object as text.
pub(crate) fn call(id: &str, name: &str, input: Option<&[u8]>, at: Timestamp, out: &mut Sink<'_>) {
    out.begin(EventKind::ToolCall, at).name(name).key(KeyKind::ToolUse, Role::Provides, id);
    call_facts(input, out);
}

/// Adds what the input of a call says to the open event.
pub(crate) fn call_facts(input: Option<&[u8]>, out: &mut Sink<'_>) {
    let Some(raw) = input else { return };
    if out.wants_text() {
        out.int(AttrName::InputHash, input_hash(raw).into());
    }
    match string(raw).map(RawStr::decode) {
        Some(text) if text.trim_start().starts_with('{') => {
            input_facts(&Object::of(text.as_bytes()), out);
        }
        Some(text) if out.wants_text() => _ = out.text(AttrName::Summary, &shown(&text)),
        Some(_) => {}
        None => input_facts(&Object::of(raw), out),
    }
}

fn input_facts(input: &Object<'_>, out: &mut Sink<'_>) {
    let prompt = input.first_text(&["prompt", "message", "task", "objective", "instructions", "Prompt"]);
    let kind = input.first_text(&["subagent_type", "agent_type", "agentType"]);
    let kind = if kind.is_empty() && !prompt.is_empty() { input.text("agent") } else { kind };
    let description = input.first_text(&["description", "toolSummary", "title", "intent"]);
    let asked = Asked {
        prompt: &prompt,
        agent_type: shown(&kind),
        agent_name: shown(&input.first_text(&["name", "task_name"])),
        description: shown(description.trim_matches('"')),
        subject: if out.wants_text() { subject(input, &prompt) } else { String::new() },
        is_async: input.is("run_in_background")
            || input.is("background")
            || input.text("mode") == "background",
    };
    asked.emit(out);
}

/// The field that shows best what a call does.
fn subject(input: &Object<'_>, prompt: &str) -> String {
    let ranked = input.fields().filter_map(|(key, raw)| Some((subject_rank(key)?, raw)));
    let mut ranked: Vec<(usize, &[u8])> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let text = |raw: &[u8]| match string(raw) {
        Some(text) => shown(text.decode().trim_matches('"')),
        None => shown(texts(Some(raw)).join(" ").trim_matches('"')),
    };
    let found = ranked.into_iter().map(|(_, raw)| text(raw)).find(|text| !text.is_empty());
    found.unwrap_or_else(|| shown(prompt))
}

/// What became of a call.
#[derive(Default)]
pub(crate) struct Outcome<'a> {
    pub(crate) failed: bool,
    /// What the model was told; hashed only where an agent may have said it.
    pub(crate) text: Cow<'a, str>,
    pub(crate) duration_ms: Option<i64>,
    /// The source's own word.
    pub(crate) status: Cow<'a, str>,
}

/// Emits the result of a call.
pub(crate) fn result(id: &str, outcome: &Outcome<'_>, at: Timestamp, out: &mut Sink<'_>) {
    out.begin(EventKind::ToolResult, at);
    result_facts(id, outcome, out);
}

/// Adds what became of a call to the open event.
pub(crate) fn result_facts(id: &str, outcome: &Outcome<'_>, out: &mut Sink<'_>) {
    out.key(KeyKind::ToolUse, Role::Refers, id);
    if outcome.failed {
        out.flag(EventFlags::ERROR);
        if out.wants_text() {
            out.text(AttrName::ErrorText, &shown(&outcome.text));
        }
    }
    if let Some(ms) = outcome.duration_ms {
        out.int(AttrName::DurationMs, ms);
    }
    out.text(AttrName::Status, &outcome.status);
}

/// Says that a call started an agent, by an id the source writes down.
pub(crate) fn spawned(call: &str, agent: &str, at: Timestamp, out: &mut Sink<'_>) {
    if !call.is_empty() && !agent.is_empty() {
        out.begin(EventKind::SpawnLink, at).source(LinkSource::Result).key(
            KeyKind::ToolUse,
            Role::Refers,
            call,
        );
        out.key(KeyKind::Agent, Role::Provides, agent);
    }
}

/// How many of the first lines of a head pass a test, and how many there are. The last line may be cut.
pub(crate) fn matching_lines(head: &[u8], test: impl Fn(&Object<'_>) -> bool) -> (usize, usize) {
    const LINES: usize = 24;
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let (mut mine, mut all) = (0, 0);
    for line in lines.take(LINES) {
        all += 1;
        mine += usize::from(test(&Object::of(line)));
    }
    (mine, all)
}

/// A score for lines of which so many are a format's own: `least` for one among many, `most` for all.
pub(crate) fn score((mine, all): (usize, usize), least: u8, most: u8) -> u8 {
    if mine == 0 || all == 0 {
        return 0;
    }
    let more = usize::from(most - least) * mine / all;
    least + u8::try_from(more).unwrap_or(0)
}
