//! What an exchange means, as events: what was said to the model, what it answered, and which conversation that was.

use super::answer::{Answer, error_text, json_text, owned};
use super::caller::{session_of_user, version_of_client};
use super::envelope::{Exchange, Given, Went};
use super::history::Side;
use super::purpose;
use super::request::{Part, Request, Turn};
use super::summary;
use crate::chat::Call;
use crate::formats::claude_code::emit::prompt_facts;
use crate::formats::claude_code::markup::emit_returns;
use crate::formats::claude_code::tool::{ToolInput, ToolOutcome};
use crate::json::{Json, Kind, RawStr};
use crate::object::bad_time;
use crate::prose::preview;
use crate::sink::Sink;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use unspool_model::prompt::{text_hash, without_reminders};
use unspool_model::{
    AttrName, Code, EventFlags, EventKind, KeyKind, LinkSource, RequestKind, Role, Timestamp,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Statuses from here on are failures.
const FIRST_ERROR_STATUS: i64 = 400;

/// How many earlier histories an exchange of our own proxy names, the longest first, and how many of the shortest: all of them, of all exchanges,
/// would be too many. It goes on from an exchange that is further back only if that is among its first; `max_near_histories` says where
/// that may have cost a link.
const NEAR_HISTORIES: usize = 64;
const FIRST_HISTORIES: usize = 4;

/// How many earlier histories one event names; the rest goes to further events.
const HISTORIES_PER_EVENT: usize = 128;

/// Calls and results of a log that were told already.
#[derive(Default)]
pub(super) struct Told(FxHashSet<u64>);

impl Told {
    /// Whether a call is told for the first time.
    fn call(&mut self, id: &str) -> bool {
        !id.is_empty() && self.0.insert(xxh3_64_with_seed(id.as_bytes(), 1))
    }

    /// Whether a result is told for the first time.
    fn result(&mut self, id: &str) -> bool {
        !id.is_empty() && self.0.insert(xxh3_64_with_seed(id.as_bytes(), 2))
    }
}

pub(super) fn exchange(exchange: &Exchange<'_>, told: &mut Told, out: &mut Sink<'_>) {
    if let Some(raw) = exchange.bad_time {
        bad_time(raw, out);
    }
    if let Some(own) = exchange.own {
        out.identity_is(&own.decode());
    }
    let request = exchange.body.as_deref().map(|body| (body, Request::read(body)));
    if request.as_ref().is_some_and(|(_, read)| read.is_err()) {
        out.issue(Code::WrongType, "body");
    }
    let request = request.and_then(|(_, read)| read.ok()).unwrap_or_default();
    let answer = Answer::read(&exchange.answer);
    // A failed request may be answered in any words, and so may one that asks no model.
    let failed = exchange.status.is_some_and(|status| status >= FIRST_ERROR_STATUS);
    let counts = exchange.own.is_some() && text(exchange.target).contains("count_tokens");
    let any_words = failed || counts || !asks_model(exchange, &request);
    let unread = answer.odd.filter(|field| !(any_words && *field == "response"));
    for field in [exchange.odd, request.odd, unread].into_iter().flatten() {
        out.issue(Code::WrongType, field);
    }
    Emission { exchange, request: &request, answer: &answer, told, headed: false }.run(out);
}

/// Whether a request asks a model. What our own proxy recorded may be anything.
fn asks_model(exchange: &Exchange<'_>, request: &Request<'_>) -> bool {
    exchange.own.is_none() || request.model.is_some() || request.messages > 0
}

/// A recorded response whose request is unknown.
pub(super) fn bare_stream(frame: &[u8], told: &mut Told, out: &mut Sink<'_>) {
    let text = String::from_utf8_lossy(frame);
    // The text as a JSON string is how other recorders keep it.
    let mut answer = Answer::default();
    if text.trim_start().starts_with('{') {
        super::stream::values(&mut answer, frame);
    } else {
        super::stream::events(&mut answer, &text);
    }
    answer.present = true;
    let exchange = Exchange { answer: Given::Nothing, ..Exchange::default() };
    out.identity_needs_name();
    let request = Request::default();
    Emission { exchange: &exchange, request: &request, answer: &answer, told, headed: false }.run(out);
}

struct Emission<'e, 'a> {
    exchange: &'e Exchange<'a>,
    request: &'e Request<'a>,
    answer: &'e Answer,
    told: &'e mut Told,
    /// The record's first event has been emitted.
    headed: bool,
}

impl Emission<'_, '_> {
    fn run(mut self, out: &mut Sink<'_>) {
        let path = text(self.exchange.target);
        let asks_model = asks_model(self.exchange, self.request);
        let purpose = purpose::purpose(&path, &text(self.exchange.headers.class), self.request);
        let purpose = purpose.or((!asks_model).then_some(RequestKind::Other));
        let failed = self.failed();
        self.answered_before(out);
        self.said(purpose, out);
        match purpose {
            Some(kind @ RequestKind::CountTokens) => self.no_model(kind.name(), kind, failed, out),
            Some(kind @ RequestKind::Other) => {
                let name = format!("{} {}", text(self.exchange.method), path_of(&path));
                self.no_model(&name, kind, failed, out);
            }
            _ => {
                self.model_call(purpose, failed, out);
                self.calls(out);
            }
        }
        self.conversation(purpose, failed, out);
        out.end();
    }

    /// A request that asks no model.
    fn no_model(&mut self, name: &str, kind: RequestKind, failed: bool, out: &mut Sink<'_>) {
        self.begin(EventKind::System, self.exchange.started, out);
        out.name(name).text(AttrName::Purpose, kind.name());
        if let Some(ns) = self.exchange.ended.ns() {
            out.flag(EventFlags::WHOLE).int(AttrName::EndedAt, ns);
        }
        if let Some([up, down]) = self.exchange.socket.filter(|_| out.wants_text()) {
            let went = |went: Went, way| format!("{} messages ({} bytes) {way}", went.messages, went.bytes);
            let unread = up.unread.saturating_add(down.unread);
            let said = format!("socket: {}, {}; {unread} unread", went(up, "up"), went(down, "down"));
            out.text(AttrName::Preview, &said);
        }
        if failed {
            out.flag(EventFlags::API_ERROR);
            let why = self.exchange.error.and_then(|raw| error_text(raw, &mut None));
            let status = || self.exchange.status.map(|status| format!("status {status}"));
            out.text(AttrName::ErrorText, &preview(&why.or_else(status).unwrap_or_default()));
        }
    }

    fn failed(&self) -> bool {
        self.exchange.error.is_some()
            || self.answer.error.is_some() && self.answer.odd != Some("response")
            || self.exchange.status.is_some_and(|status| status >= FIRST_ERROR_STATUS)
    }

    /// Starts an event; the first one carries what the whole record says about itself.
    fn begin(&mut self, kind: EventKind, at: Timestamp, out: &mut Sink<'_>) {
        out.begin(kind, at);
        if std::mem::replace(&mut self.headed, true) {
            return;
        }
        let headers = &self.exchange.headers;
        let target = text(self.exchange.target);
        let caller = headers.caller(&target);
        let user = self.request.user.map_or(Cow::Borrowed(caller), RawStr::decode);
        let session = headers.session.map_or_else(|| session_of_user(&user), RawStr::decode);
        out.key(KeyKind::Session, Role::Refers, &session);
        out.key(KeyKind::Agent, Role::Refers, &text(headers.agent));
        out.key(KeyKind::ParentAgent, Role::Refers, &text(headers.parent_agent));
        // A command is a caller of its own, whosever key it has.
        let run = text(self.exchange.run);
        let user = if run.is_empty() { user } else { format!("{user} {run}").into() };
        out.key(KeyKind::User, Role::Refers, &user);
        let client = text(headers.user_agent);
        out.surroundings("", version_of_client(&client));
        out.text(AttrName::Caller, caller);
        // Several sessions may be in one log, so that each request says it.
        out.text(AttrName::PromptCwd, self.request.folder().unwrap_or_default());
    }

    /// Calls and results the client tells of for the first time: their own exchanges were not recorded.
    fn answered_before(&mut self, out: &mut Sink<'_>) {
        let at = self.exchange.started;
        // Our own proxy has told of what is older, with the exchanges before.
        let older = self.request.older.iter().filter(|_| self.exchange.own.is_none());
        for part in older.chain(self.request.answered()) {
            match part {
                Part::Call { id, name, input } => {
                    let id = text(*id);
                    if self.told.call(&id) {
                        self.begin(EventKind::ToolCall, at, out);
                        out.name(known_name(&text(*name)))
                            .key(KeyKind::ToolUse, Role::Provides, &id)
                            .flag(EventFlags::COPY);
                        ToolInput::read(&input.json(), out).facts(out);
                    }
                }
                Part::Result { id, content, is_error } => {
                    let id = text(*id);
                    if self.told.result(&id) {
                        self.begin(EventKind::ToolResult, at, out);
                        out.flag(EventFlags::COPY);
                        ToolOutcome::default().result_facts(&id, *content, *is_error, out);
                    }
                }
                Part::Text(_) | Part::Other(_) => {}
            }
        }
    }

    /// What is new to the model: words, and what tools returned.
    fn said(&mut self, purpose: Option<RequestKind>, out: &mut Sink<'_>) {
        let request = self.request;
        for turn in request.tail.iter().filter(|turn| turn.side == Side::User) {
            self.message(turn, purpose, out);
            for part in &turn.parts {
                if let Part::Result { id, content, is_error } = part {
                    self.result(&text(*id), *content, *is_error, out);
                }
            }
        }
    }

    /// The words of a message, if it has any.
    fn message(&mut self, turn: &Turn<'_>, purpose: Option<RequestKind>, out: &mut Sink<'_>) {
        let at = self.exchange.started;
        let words: Vec<Cow<'_, str>> = turn.words().map(RawStr::decode).collect();
        let says_something = words.iter().any(|text| !without_reminders(text).trim().is_empty());
        let has_other = turn.parts.iter().any(|part| matches!(part, Part::Other(_)));
        if !says_something && !has_other {
            return;
        }
        self.begin(EventKind::UserMessage, at, out);
        out.key(KeyKind::History, Role::Provides, &hex(turn.history));
        if purpose.is_some() {
            // A client's own request is nothing a person said.
            out.flag(EventFlags::META);
        }
        if words.iter().any(|text| summary::carried(text).is_some()) {
            out.flag(EventFlags::COMPACT_SUMMARY);
        }
        prompt_facts(&words, out);
        for text in &words {
            emit_returns(text, "", false, at, out);
        }
    }

    fn result(&mut self, id: &str, content: Option<&[u8]>, is_error: bool, out: &mut Sink<'_>) {
        let at = self.exchange.started;
        self.told.result(id);
        self.begin(EventKind::ToolResult, at, out);
        let outcome = ToolOutcome::default();
        outcome.result_facts(id, content, is_error, out);
        // Many clients put an agent's answer into a plain string.
        if let Some(raw) = content.filter(|raw| raw.first() == Some(&b'"'))
            && let Some(text) = Json::new(raw).string().ok().flatten()
            && let Some(hash) = text_hash(&text.decode())
        {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
        outcome.emit_links(id, content, LinkSource::Result, at, out);
    }

    fn model_call(&mut self, purpose: Option<RequestKind>, failed: bool, out: &mut Sink<'_>) {
        let (exchange, answer) = (self.exchange, self.answer);
        self.begin(EventKind::ModelCall, exchange.started, out);
        let model = text(self.request.model);
        out.name(if answer.model.is_empty() { &model } else { &answer.model });
        out.key(KeyKind::Message, Role::Provides, &answer.id);
        let request_id = exchange.headers.request_id.or(exchange.id);
        out.key(KeyKind::Request, Role::Provides, &text(request_id));
        out.key(KeyKind::Exchange, Role::Provides, &text(exchange.own));
        if let Some(ns) = exchange.ended.ns() {
            out.flag(EventFlags::WHOLE).int(AttrName::EndedAt, ns);
        }
        let mut flags = EventFlags::none();
        flags.set_if(failed, EventFlags::API_ERROR);
        flags.set_if(exchange.start_inferred, EventFlags::START_INFERRED);
        let runs = exchange.own.is_some() && !exchange.responded && !failed;
        flags.set_if(runs, EventFlags::BEGUN);
        flags.set_if(answer.interrupted || exchange.cut.is_some(), EventFlags::INTERRUPTED);
        flags.set_if(!answer.texts.is_empty(), EventFlags::HAS_TEXT);
        flags.set_if(!answer.calls.is_empty(), EventFlags::HAS_TOOL_USE);
        out.flag(flags);
        out.text(AttrName::Purpose, purpose.map_or("", RequestKind::name));
        out.text(AttrName::Upstream, &text(exchange.upstream));
        out.text(AttrName::Route, path_of(&text(exchange.target)));
        out.text(AttrName::StopReason, &answer.stop);
        out.text(AttrName::AgentType, &text(exchange.headers.agent_type));
        if let Some(usage) = answer.tokens.usage() {
            out.usage(usage);
        }
        for hash in answer.texts.iter().filter_map(|text| text_hash(text)) {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
        let mut limit = answer.limit;
        if out.wants_text() {
            let mut shown = answer.texts.first().map(|text| preview(text)).unwrap_or_default();
            if failed {
                let why = exchange
                    .error
                    .and_then(|raw| error_text(raw, &mut limit))
                    .or_else(|| answer.error.clone());
                let status = || exchange.status.map(|status| format!("status {status}"));
                let why = preview(&why.or_else(status).unwrap_or_default());
                if shown.is_empty() {
                    shown.clone_from(&why);
                }
                out.text(AttrName::ErrorText, &why);
            }
            out.text(AttrName::Preview, &shown);
        }
        for command in self.request.words() {
            if let Some(command) = purpose::command(&command.decode()) {
                out.key(KeyKind::Command, Role::Refers, &command_hash(command));
            }
        }
        if answer.tokens.only_total() {
            out.issue(Code::UsageUnsplit, "");
        }
        if answer.interrupted {
            out.issue(Code::StreamInterrupted, "");
        }
        for _ in 0..answer.torn {
            out.issue(Code::StreamTorn, "");
        }
        if let Some(limit) = limit {
            out.issue(Code::LimitReached, limit);
        }
        if !answer.present && !failed && !runs && exchange.invocations.is_none() {
            out.issue(Code::ResponseMissing, "");
        }
    }

    fn calls(&mut self, out: &mut Sink<'_>) {
        let at = self.exchange.ended.later(self.exchange.started);
        for call in &self.answer.calls {
            self.told.call(&call.id);
            tool_call(call, at, out);
        }
        // A log that kept only the spawn calls of a response.
        if self.answer.calls.is_empty()
            && let Some(raw) = self.exchange.invocations
        {
            let _ = Json::new(raw).array(|json| {
                if json.kind()? != Kind::Object {
                    return json.skip();
                }
                let mut call = Call { name: "Task".into(), ..Call::default() };
                let mut prompt = None;
                json.object(|json, key| {
                    match key {
                        b"tool_use_id" | b"id" => call.id = owned(json)?,
                        b"name" | b"tool_name" => call.name = owned(json)?,
                        b"input" => call.input = json_text(json.raw()?),
                        b"prompt" => prompt = Some(json.raw()?),
                        _ => json.skip()?,
                    }
                    Ok(())
                })?;
                if let (true, Some(prompt)) = (call.input.is_empty(), prompt) {
                    call.input = format!("{{\"prompt\":{}}}", String::from_utf8_lossy(prompt));
                }
                tool_call(&call, at, out);
                Ok(())
            });
        }
    }

    /// Which conversation the model was given, and which it may go on from.
    fn conversation(&mut self, purpose: Option<RequestKind>, failed: bool, out: &mut Sink<'_>) {
        let at = self.exchange.started;
        let history = &self.request.history;
        self.begin(EventKind::Context, at, out);
        if let Some(system) = self.request.system_hash() {
            out.key(KeyKind::System, Role::Refers, &hex(system));
        }
        out.key(KeyKind::Message, Role::Refers, &text(self.request.previous));
        out.text(AttrName::Purpose, purpose.map_or("", RequestKind::name));
        let mut flags = EventFlags::none();
        flags.set_if(failed, EventFlags::API_ERROR);
        flags.set_if(history.len() <= 1, EventFlags::TRIGGER);
        out.flag(flags);
        if let Some(whole) = history.whole() {
            out.key(KeyKind::History, Role::Provides, &hex(whole));
            if let Some(answered) = self.answered_history() {
                out.key(KeyKind::History, Role::Provides, &hex(answered));
            }
        }
        for text in &self.request.first {
            let text = text.decode();
            if let Some(hash) = summary::carried_hash(&text) {
                out.key(KeyKind::Summary, Role::Refers, &hex(hash));
            }
            if let Some(hash) = text_hash(&text) {
                out.key(KeyKind::PromptHash, Role::Refers, &hash);
            }
        }
        let whole_answer = self.answer.texts.join("\n");
        if purpose == Some(RequestKind::Compaction) || whole_answer.contains("<summary>") {
            for hash in summary::written_hashes(&whole_answer) {
                out.key(KeyKind::Summary, Role::Provides, &hex(hash));
            }
        }
        let count = history.len().saturating_sub(1);
        let is_told = |n: usize| n < NEAR_HISTORIES || n + FIRST_HISTORIES >= count;
        let is_own = self.exchange.own.is_some();
        let left_out = count.saturating_sub(NEAR_HISTORIES + FIRST_HISTORIES);
        if let Some(left_out) = i64::try_from(left_out).ok().filter(|left_out| is_own && *left_out > 0) {
            out.int(AttrName::HistoriesLeftOut, left_out);
        }
        let earlier = history.earlier().enumerate().filter(|(n, _)| !is_own || is_told(*n));
        for (n, earlier) in earlier.map(|(_, earlier)| earlier).enumerate() {
            if n > 0 && n.is_multiple_of(HISTORIES_PER_EVENT) {
                self.begin(EventKind::Context, at, out);
            }
            out.key(KeyKind::History, Role::Refers, &hex(earlier));
        }
    }

    /// The history after this answer, as the client will repeat it.
    fn answered_history(&self) -> Option<u64> {
        self.request.history.after(|history| {
            for text in &self.answer.texts {
                history.text(text);
            }
            for call in &self.answer.calls {
                history.call(&call.id, &call.name, call.input.as_bytes());
            }
            history.end(Side::Model);
        })
    }
}

/// The path in an address, without its query.
fn path_of(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    match path.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => path,
    }
}

/// A call's name; the start of a streamed call, which has it, may be lost.
fn known_name(name: &str) -> &str {
    if name.is_empty() { "unknown" } else { name }
}

fn tool_call(call: &Call, at: Timestamp, out: &mut Sink<'_>) {
    ToolInput::read(call.input.as_bytes(), out).emit(&call.id, known_name(&call.name), at, out);
    let mut command = None;
    let mut json = Json::new(call.input.as_bytes());
    if json.kind() == Ok(Kind::Object) {
        let _ = json.object(|json, key| {
            match key {
                b"command" => command = json.string()?,
                _ => json.skip()?,
            }
            Ok(())
        });
    }
    if let Some(command) = command {
        out.key(KeyKind::Command, Role::Provides, &command_hash(&command.decode()));
    }
}

fn text(value: Option<RawStr<'_>>) -> Cow<'_, str> {
    value.map(RawStr::decode).unwrap_or_default()
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Commands are told apart by their letters and digits; quotes and spaces change on the way.
fn command_hash(command: &str) -> String {
    let kept: String = command.chars().filter(|c| c.is_alphanumeric()).collect();
    text_hash(&kept).unwrap_or_default()
}
