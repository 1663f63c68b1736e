//! What a rollout's lines mean only together: which thread and turn they are of, which of them are copied history, which
//! make up one model call, and what that call used.

use crate::chat::{self, Head};
use crate::object::{Object, moment};
use crate::sink::Sink;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage};

/// The kinds of lines that may tell the same thing.
pub(super) const FROM_ITEM: u8 = 1;
pub(super) const FROM_EVENT: u8 = 2;
pub(super) const FROM_COMPLETED_ITEM: u8 = 4;

/// How many texts of a turn are remembered to know their repetition by, the latest ones. A repetition follows at once.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub(in crate::formats) struct State {
    /// The thread the file is of.
    thread: String,
    /// The thread, when it is a sub-agent.
    pub(super) agent: String,
    /// The thread whose turns are being told; another than `thread` in copied history.
    told: String,
    /// When the thread began.
    began: Timestamp,
    /// Lines are history that was copied from the thread this one was forked from.
    copying: bool,
    /// Lines before this ordinal are copied history.
    history_end: Option<i64>,
    /// Threads whose meta line may follow as the first line of copied history.
    sources: Vec<String>,
    turn: String,
    pub(in crate::formats) model: String,
    calls: u32,
    call: Option<Call>,
    /// Messages to the agent in this turn.
    messages: Vec<Told>,
    message_count: u32,
    compactions: u32,
    compaction_told_by: u8,
    answers: Vec<Told>,
    totals: Option<Usage>,
    /// Calls that start or watch agents, until their output has come.
    pub(super) watched: FxHashMap<String, String>,
    /// The last step of copied history, which the first own message goes on from.
    last_copied: String,
    unnamed_tools: Vec<(String, String)>,
    unnamed_count: u32,
}

/// Something said, and which kinds of lines have told it.
struct Told {
    hash: Option<String>,
    key: String,
    by: u8,
}

/// A model call in the making.
struct Call {
    key: String,
    open: bool,
    counted: bool,
    asked: u32,
    answered: u32,
}

impl State {
    /// Gives a file that does not say its thread a name to number things by.
    pub(super) fn begin(&mut self, out: &Sink<'_>) {
        if self.told.is_empty() && self.thread.is_empty() {
            self.told = out.id_prefix();
        }
    }

    /// Takes a line's place in files that number their lines.
    pub(super) fn place(&mut self, ordinal: Option<i64>) {
        if let (Some(ordinal), Some(end)) = (ordinal, self.history_end) {
            self.copying = ordinal < end;
        }
    }

    pub(super) fn head<'a>(&'a self, uuid: &'a str) -> Head<'a> {
        let flags = if self.copying { EventFlags::COPY } else { EventFlags::none() };
        Head { session: &self.thread, agent: &self.agent, uuid, parent: "", flags }
    }

    /// An agent this thread started, by the path it was given.
    pub(super) fn agent_at(&self, path: &str) -> String {
        format!("{path}@{}", self.thread)
    }

    /// Marks a further event of a record.
    pub(super) fn mark(&self, out: &mut Sink<'_>) {
        if self.copying {
            out.flag(EventFlags::COPY);
        }
    }

    pub(super) fn session_meta(&mut self, meta: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let id = meta.first_text(&["id", "session_id"]).into_owned();
        if std::mem::take(&mut self.sources).contains(&id) && id != self.thread {
            // The first line of copied history is the other thread's own.
            self.copying = true;
            self.told = id;
            self.turn = String::new();
            return;
        }
        if id != self.thread || self.copying {
            let model = std::mem::take(&mut self.model);
            *self = State { thread: id.clone(), told: id, model, ..State::default() };
        }
        self.began = meta.get("timestamp").and_then(moment).unwrap_or(at);
        let source = meta.object("source").object("subagent");
        let spawn = source.object("thread_spawn");
        let fork = meta.text("forked_from_id");
        let mut parent = meta.text("parent_thread_id");
        if parent.is_empty() {
            parent = spawn.text("parent_thread_id");
        }
        self.sources = [&fork, &parent].iter().filter(|id| !id.is_empty()).map(ToString::to_string).collect();
        let base = meta.object("history_base").int("end_ordinal_exclusive");
        self.history_end = meta.int("subagent_history_start_ordinal").or(base);
        let is_agent = !source.is_empty() || meta.object("source").has("subagent");
        if is_agent {
            self.agent.clone_from(&self.thread);
        }
        self.head("").open(if is_agent { EventKind::AgentInfo } else { EventKind::SessionInfo }, at, out);
        // A sub-agent has a thread of its own, which is found by the thread that started it.
        out.key(KeyKind::ForkedFrom, Role::Refers, if is_agent { &parent } else { &fork });
        if is_agent {
            out.key(KeyKind::ParentAgent, Role::Refers, &parent);
            if !fork.is_empty() {
                out.flag(EventFlags::FORK);
            }
            let role = [meta.first_text(&["agent_role", "agent_type"]), spawn.text("agent_role")];
            let role = role.into_iter().find(|role| !role.is_empty());
            let role = role.unwrap_or_else(|| subagent_kind(meta));
            out.text(AttrName::AgentType, &role);
            let name = [meta.text("agent_nickname"), spawn.text("agent_nickname")];
            out.text(AttrName::AgentName, name.iter().find(|name| !name.is_empty()).map_or("", |name| name));
            let path = [meta.text("agent_path"), spawn.text("agent_path")];
            if let Some(path) = path.iter().find(|path| !path.is_empty() && !parent.is_empty()) {
                out.key(KeyKind::Teammate, Role::Provides, &format!("{path}@{parent}"));
            }
        }
        out.surroundings(&meta.text("cwd"), &meta.text("cli_version"));
    }

    pub(super) fn turn_context(&mut self, context: &Object<'_>) {
        let model = context.text("model");
        if !model.is_empty() {
            self.model = model.into_owned();
        }
        self.turn_id(&context.text("turn_id"), None);
    }

    /// A turn has begun, as far as lines say which and when.
    pub(super) fn turn_id(&mut self, turn: &str, started: Option<Timestamp>) {
        if turn.is_empty() || turn == self.turn {
            return;
        }
        self.turn = turn.to_string();
        (self.calls, self.message_count, self.compactions) = (0, 0, 0);
        self.compaction_told_by = 0;
        self.messages.clear();
        self.answers.clear();
        self.close_call();
        // History is copied with the turns it consists of, which are older than the thread.
        let began = uuid_time(turn).or(started);
        if let (Some(turn_began), None) = (began, self.history_end) {
            let ms = turn_began.ms_since(self.began);
            let tolerance = if turn_began.is_whole_second() { -1000 } else { 0 };
            self.copying = ms.is_some_and(|ms| ms < tolerance);
        }
        if !self.copying {
            self.told.clone_from(&self.thread);
        }
    }

    /// A turn of a source that numbers turns within its session.
    pub(in crate::formats) fn begin_turn(&mut self, number: &str, at: Timestamp) {
        self.turn_id(&format!("{}/{number}", self.thread), Some(at));
    }

    fn key(&self, kind: &str, n: u32) -> String {
        let turn = if self.turn.is_empty() { &self.told } else { &self.turn };
        format!("{turn}/{kind}{n}")
    }

    pub(super) fn name_session(&mut self, id: &str, model: &str, at: Timestamp, out: &mut Sink<'_>) {
        self.thread = id.to_string();
        self.told = id.to_string();
        if !model.is_empty() {
            self.model = model.to_string();
        }
        self.head("").open(EventKind::SessionInfo, at, out);
    }

    /// Somebody spoke. Says whether this line is the first to tell it.
    pub(super) fn message(
        &mut self,
        texts: &[Cow<'_, str>],
        flags: EventFlags,
        by: u8,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        self.close_call();
        let hash = text_hash(&texts.concat());
        let known = self.messages.iter_mut().find(|told| told.hash == hash && told.by & by == 0);
        let (key, repeated) = if let Some(told) = known {
            told.by |= by;
            (told.key.clone(), true)
        } else {
            let key = self.key("u", self.message_count);
            self.message_count += 1;
            remember(&mut self.messages, Told { hash: hash.clone(), key: key.clone(), by });
            (key, false)
        };
        let mut head = self.head(&key);
        if !self.copying && !self.last_copied.is_empty() {
            head.parent = &self.last_copied;
        }
        head.open(EventKind::UserMessage, at, out);
        out.flag(flags);
        if repeated {
            out.flag(EventFlags::COPY);
        }
        // One hash: the kinds of lines cut a message into different blocks.
        if let Some(hash) = hash {
            out.key(KeyKind::PromptHash, Role::Provides, &hash).flag(EventFlags::HAS_TEXT);
        } else if texts.is_empty() {
            out.flag(EventFlags::HAS_TEXT);
        }
        let words = texts.iter().map(|text| chat::shown(text)).find(|words| !words.is_empty());
        out.message_preview(&words.unwrap_or_default());
        if self.copying {
            self.last_copied = key;
        } else {
            self.last_copied.clear();
        }
    }

    /// Opens an event of the model call that an answer's text belongs to.
    pub(super) fn answer(&mut self, texts: &[Cow<'_, str>], by: u8, at: Timestamp, out: &mut Sink<'_>) {
        let hash = text_hash(&texts.concat());
        let known = self.answers.iter_mut().find(|told| told.hash == hash && told.by & by == 0);
        let key = if let Some(told) = known {
            told.by |= by;
            told.key.clone()
        } else {
            let key = self.open_call();
            remember(&mut self.answers, Told { hash, key: key.clone(), by });
            key
        };
        self.call_event(&key, at, out);
        chat::answer(texts, !self.agent.is_empty(), out);
    }

    /// Opens an event of the model call in progress.
    pub(super) fn part_of_call(&mut self, at: Timestamp, out: &mut Sink<'_>) {
        let key = self.open_call();
        self.call_event(&key, at, out);
    }

    fn call_event(&mut self, key: &str, at: Timestamp, out: &mut Sink<'_>) {
        let uuid = if self.copying { key } else { "" };
        self.head(uuid).open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, key);
        if self.copying {
            self.last_copied = key.to_string();
        }
    }

    /// The model asked for a tool; the call's event is open.
    pub(super) fn asked(&mut self, id: &str, name: &str) {
        if let Some(call) = &mut self.call {
            call.asked += 1;
        }
        if is_watched(name) {
            self.watched.insert(id.to_string(), name.to_string());
        }
    }

    pub(super) fn answered(&mut self) {
        if let Some(call) = &mut self.call {
            call.answered += 1;
        }
    }

    /// The key of the model call that what comes now belongs to. A call ends when its tokens are counted; where they are
    /// not, when all its tools have answered.
    fn open_call(&mut self) -> String {
        let awaits_count = self.totals.is_some();
        if let Some(call) = &self.call
            && call.open
            && (awaits_count || call.asked == 0 || call.answered < call.asked)
        {
            return call.key.clone();
        }
        let key = self.key("m", self.calls);
        self.calls += 1;
        self.call = Some(Call { key: key.clone(), open: true, counted: false, asked: 0, answered: 0 });
        key
    }

    fn close_call(&mut self) {
        if let Some(call) = &mut self.call {
            call.open = false;
        }
    }

    /// Tokens of one call: what the line says of the last call, else what its sum grew by. A line that repeats the sum
    /// says nothing new.
    pub(super) fn count(
        &mut self,
        total: Option<Usage>,
        last: Option<Usage>,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        let before = self.totals;
        let repeated = total.is_some() && total == before;
        self.totals = total.or(before);
        let usage = last.or_else(|| total.map(|total| grown(total, before.unwrap_or_default())));
        let Some(usage) = usage.filter(|usage| !repeated && !usage.is_zero()) else { return };
        let waiting = self.call.as_mut().filter(|call| !call.counted);
        let key = if let Some(call) = waiting {
            (call.counted, call.open) = (true, false);
            call.key.clone()
        } else {
            // A call that left nothing else, such as one that summed up the conversation.
            let key = self.open_call();
            if let Some(call) = &mut self.call {
                (call.counted, call.open) = (true, false);
            }
            key
        };
        self.call_event(&key, at, out);
        out.usage(usage);
    }

    /// Whether a line is history that a sub-agent was given: its parent's doing and none of its own. Only lines that begin a
    /// turn may end it.
    pub(super) fn is_inherited(&self, payload: &Object<'_>) -> bool {
        let begins = matches!(payload.text("type").as_ref(), "task_started" | "turn_started");
        self.copying && !self.agent.is_empty() && !begins
    }

    /// Keeps an inherited line as context; its counts are where the agent's own begin.
    pub(super) fn inherited(&mut self, payload: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
        if let Some(total) = payload.object("info").get("total_token_usage") {
            self.totals = Some(super::events::usage_of(&Object::of(total)));
        }
        self.head("").open(EventKind::Context, at, out);
    }

    /// Tokens of a turn, where no line counts its calls.
    pub(super) fn count_turn(&mut self, usage: Usage, at: Timestamp, out: &mut Sink<'_>) {
        if self.totals.is_none() {
            self.count(None, Some(usage), at, out);
        }
    }

    pub(super) fn compacted(&mut self, by: u8, at: Timestamp, out: &mut Sink<'_>) {
        let repeated = self.compaction_told_by != 0 && self.compaction_told_by & by == 0;
        if repeated {
            self.compaction_told_by = 0;
        } else {
            self.compactions += 1;
            self.compaction_told_by = by;
        }
        self.close_call();
        let key = self.key("c", self.compactions);
        self.head(&key).open(EventKind::Compaction, at, out);
        if repeated {
            out.flag(EventFlags::COPY);
        }
    }

    /// An id for a call of a source that gives none; its result is the next one of that tool.
    pub(super) fn unnamed_call(&mut self, name: &str) -> String {
        let id = self.key("t", self.unnamed_count);
        self.unnamed_count += 1;
        self.unnamed_tools.push((name.to_string(), id.clone()));
        id
    }

    pub(super) fn unnamed_result(&mut self, name: &str) -> String {
        let found = self.unnamed_tools.iter().position(|(tool, _)| tool == name);
        found.map(|at| self.unnamed_tools.remove(at).1).unwrap_or_default()
    }
}

fn remember(told: &mut Vec<Told>, one: Told) {
    if told.len() == REMEMBERED {
        told.remove(0);
    }
    told.push(one);
}

/// Tools whose output names agents.
fn is_watched(name: &str) -> bool {
    matches!(name, "spawn_agent" | "wait" | "wait_agent" | "close_agent")
}

/// The sort of a sub-agent that no call asked for: `"review"`, `{"other":"…"}`.
fn subagent_kind<'a>(meta: &Object<'a>) -> Cow<'a, str> {
    let source = meta.object("source");
    let kind = source.text("subagent");
    if kind.is_empty() { source.object("subagent").text("other") } else { kind }
}

fn grown(total: Usage, before: Usage) -> Usage {
    Usage {
        input: total.input.saturating_sub(before.input),
        cache_read: total.cache_read.saturating_sub(before.cache_read),
        cache_write: total.cache_write.saturating_sub(before.cache_write),
        cache_write_long: 0,
        output: total.output.saturating_sub(before.output),
        reasoning: total.reasoning.saturating_sub(before.reasoning),
    }
}

/// When a uuid of version 7 was made.
fn uuid_time(uuid: &str) -> Option<Timestamp> {
    let (high, rest) = uuid.split_once('-')?;
    let (low, rest) = rest.split_once('-')?;
    if high.len() != 8 || low.len() != 4 || !rest.starts_with('7') {
        return None;
    }
    i64::from_str_radix(&format!("{high}{low}"), 16).ok().map(Timestamp::from_ms)
}

#[cfg(test)]
mod tests {
    use super::{REMEMBERED, uuid_time};
    use crate::{Decoder, Detail, best};
    use unspool_model::{Batch, EventFlags, EventKind, Timestamp};

    fn read(lines: &[String]) -> Batch {
        let text =
            [r#"{"timestamp":"2026-01-02T10:00:00Z","type":"session_meta","payload":{"id":"t1"}}"#
                .to_string()];
        let text = text.iter().chain(lines).fold(String::new(), |text, line| text + line + "\n");
        let mut batch = Batch::default();
        let (format, sniff) = best("rollout-1.jsonl", text.as_bytes()).unwrap();
        let mut decoder = Decoder::new(&mut batch, format, sniff, "rollout-1.jsonl", Detail::Full);
        decoder.push(text.as_bytes());
        decoder.finish();
        batch
    }

    fn line(kind: &str, payload: &str) -> String {
        format!(r#"{{"timestamp":"2026-01-02T10:00:01Z","type":"{kind}","payload":{payload}}}"#)
    }

    #[test]
    fn what_a_long_turn_tells_twice_is_told_once() {
        let count = REMEMBERED + 6;
        let mut lines = Vec::new();
        for n in 0..count {
            let item = format!(
                r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"say {n}"}}]}}"#
            );
            lines.push(line("response_item", &item));
            lines.push(line("event_msg", &format!(r#"{{"type":"user_message","message":"say {n}"}}"#)));
        }
        let batch = read(&lines);
        let messages = batch.events.iter().filter(|event| event.kind == EventKind::UserMessage);
        let copies = messages.clone().filter(|event| event.flags.has(EventFlags::COPY)).count();
        assert_eq!((messages.count(), copies), (2 * count, count));
    }

    #[test]
    fn every_agent_is_linked_however_many_start_at_once() {
        let count = REMEMBERED + 6;
        let call = |n| {
            format!(r#"{{"type":"function_call","name":"spawn_agent","arguments":"{{}}","call_id":"c{n}"}}"#)
        };
        let output = |n| {
            format!(
                r#"{{"type":"function_call_output","call_id":"c{n}","output":"{{\"agent_id\":\"a{n}\"}}"}}"#
            )
        };
        let calls = (0..count).map(|n| line("response_item", &call(n)));
        let outputs = (0..count).map(|n| line("response_item", &output(n)));
        let batch = read(&calls.chain(outputs).collect::<Vec<_>>());
        assert_eq!(batch.events.iter().filter(|event| event.kind == EventKind::SpawnLink).count(), count);
    }

    #[test]
    fn a_uuid_of_version_7_holds_its_time() {
        let at = Timestamp::parse("2026-01-02T10:00:01.000Z");
        assert_eq!(uuid_time("019b7e26-58e8-7000-8000-000000000011"), at);
        assert_eq!(uuid_time("019b7e26-58e8-4000-8000-000000000011"), None);
        assert_eq!(uuid_time("7"), None);
    }
}
