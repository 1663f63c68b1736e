//! Session files that are a chat, one message per line, as providers' APIs have it: a role, a content, calls beside or in it.
//!
//! Several agents write it with small differences; their formats say what a stream's name means and this reads the lines.

use crate::chat::{self, Head, Outcome};
use crate::exits;
use crate::format::{Reader, Rejected, rejection};
use crate::json::RawStr;
use crate::object::{Object, elements};
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp};

/// Reads a chat. Ids that messages and calls lack are made from their place.
#[derive(Default)]
pub(crate) struct ChatLines {
    /// Before ids that are made here.
    prefix: String,
    lines: u32,
    /// Calls without a result so far.
    pending: Vec<Pending>,
    calls: u32,
    model: String,
}

/// A call that waits for its result.
struct Pending {
    id: String,
    tool: String,
    /// The id is the source's own.
    is_named: bool,
}

impl Reader for ChatLines {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("timestamp", out);
        let id = line.first_text(&["message_id", "id"]).into_owned();
        self.lines += 1;
        if self.prefix.is_empty() {
            self.prefix = out.id_prefix();
        }
        if id.is_empty() && !at.is_some() {
            out.identity_needs_place();
        }
        let agent = out.stream().agent;
        let model = line.first_text(&["model", "model_id", "_model"]);
        if !model.is_empty() {
            self.model = model.into_owned();
        }
        let content = line.get("content").or_else(|| line.object("message").get("content"));
        let head = Head { uuid: &id, ..Head::default() };
        let kind = line.first_text(&["role", "type"]);
        match kind.as_ref() {
            "user" => self.user(&line, content, &head, at, out),
            "assistant" => self.assistant(&line, content, &head, !agent.is_empty(), at, out),
            "tool" | "tool_result" => {
                let call = self.settle(&line.text("tool_call_id"), &line.first_text(&["name", "tool_name"]));
                head.open(EventKind::ToolResult, at, out);
                result(&call, content, line.is("is_error"), out);
            }
            // A tool the provider ran itself.
            "backend_tool_call" => {
                let call = line.object("kind");
                head.open(EventKind::ToolCall, at, out);
                out.name(&call.text("tool_type")).key(KeyKind::ToolUse, Role::Provides, &call.text("id"));
                out.flag(EventFlags::WHOLE);
                chat::call_facts(call.get("action"), out);
            }
            "turn_ended" | "system" | "developer" | "reasoning" | "session_meta" => {}
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
        out.surroundings(&line.text("_cwd"), "");
        Ok(())
    }
}

impl ChatLines {
    fn user(
        &mut self,
        line: &Object<'_>,
        content: Option<&[u8]>,
        head: &Head<'_>,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        let blocks = content.map(elements).unwrap_or_default().into_iter().map(Object::of);
        let results: Vec<_> = blocks
            .filter(|block| matches!(block.text("type").as_ref(), "tool_result" | "tool-result"))
            .collect();
        let texts = chat::texts(content);
        if results.is_empty() || !texts.is_empty() {
            head.open(EventKind::UserMessage, at, out);
            chat::prompt(&texts, out);
            out.flag(flags_of(line, &texts));
        }
        for (n, block) in results.iter().enumerate() {
            let call = self.settle(&block.text("tool_use_id"), &block.text("name"));
            if n == 0 && texts.is_empty() {
                head.open(EventKind::ToolResult, at, out);
            } else {
                out.begin(EventKind::ToolResult, at);
            }
            result(&call, block.get("content"), block.is("is_error"), out);
        }
    }

    fn assistant(
        &mut self,
        line: &Object<'_>,
        content: Option<&[u8]>,
        head: &Head<'_>,
        in_agent: bool,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        let key = if head.uuid.is_empty() {
            format!("{}m{}", self.prefix, self.lines)
        } else {
            head.uuid.to_string()
        };
        head.open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, &key);
        chat::answer(&chat::texts(content), in_agent, out);
        out.text(AttrName::StopReason, &line.text("finish_reason"));
        // Calls stand beside the content, also as JSON in a text, or are blocks of it.
        let text = line.raw_text("tool_calls").map(RawStr::decode).unwrap_or_default();
        let beside = if text.is_empty() { line.list("tool_calls") } else { elements(text.as_bytes()) };
        let blocks = content.map(elements).unwrap_or_default().into_iter();
        let blocks = blocks.filter(|raw| {
            matches!(Object::of(raw).text("type").as_ref(), "tool_use" | "tool_call" | "tool-call")
        });
        let calls: Vec<Object<'_>> = beside.into_iter().chain(blocks).map(Object::of).collect();
        if !calls.is_empty() {
            out.flag(EventFlags::HAS_TOOL_USE);
        }
        for call in calls {
            let function = call.object("function");
            let call = if function.has("name") { (call, function) } else { (call.clone(), call) };
            let id = call.0.first_text(&["id", "call_id"]).into_owned();
            let is_named = !id.is_empty();
            let id = if is_named { id } else { format!("{}c{}", self.prefix, self.calls) };
            self.calls += 1;
            let name = call.1.text("name");
            let input = call.1.get("arguments").or_else(|| call.1.get("input"));
            chat::call(&id, &name, input, at, out);
            self.pending.push(Pending { id, tool: name.into_owned(), is_named });
        }
    }

    /// The call a result belongs to: the one it names; else the first of its tool, else the first, of those that it may
    /// belong to: a call that bears an id is not meant by a result that names another. And whether that follows only
    /// from their order.
    fn settle(&mut self, id: &str, tool: &str) -> (String, bool) {
        let by_id = self.pending.iter().position(|call| call.id == id);
        let may_be = |call: &Pending| id.is_empty() || !call.is_named;
        let by_tool =
            || self.pending.iter().position(|call| may_be(call) && call.tool == tool && !tool.is_empty());
        let found = by_id.or_else(by_tool).or_else(|| self.pending.iter().position(may_be));
        let by_order = by_id.is_none() && found.is_some();
        (found.map_or_else(|| id.to_string(), |at| self.pending.remove(at).id), by_order)
    }
}

fn result(call: &(String, bool), content: Option<&[u8]>, is_error: bool, out: &mut Sink<'_>) {
    let text = chat::texts(content).into_iter().next().unwrap_or_default();
    let exited_badly = exits::failed(exits::of_json(&text));
    let failed = is_error || exited_badly || says_error(&text);
    let text = if exited_badly { Cow::Owned(exits::complaint(&text).into_owned()) } else { text };
    chat::result_facts(&call.0, &Outcome { failed, text, ..Outcome::default() }, out);
    if call.1 {
        out.flag(EventFlags::RESULT_BY_ORDER);
    }
}

/// Whether a result is nothing but an error, in one of the usual wordings.
fn says_error(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with("Error:")
        || start.starts_with("<tool_error>")
        || start.starts_with("{\"error\":")
        || start.starts_with("{\"success\": false")
}

/// Who a message in the user's place is really from.
fn flags_of(line: &Object<'_>, texts: &[Cow<'_, str>]) -> EventFlags {
    let mut flags = EventFlags::none();
    let first = texts.first().map(|text| text.trim_start()).unwrap_or_default();
    flags.set_if(line.is("injected") || line.has("synthetic_reason"), EventFlags::META);
    flags.set_if(first.starts_with("[ASYNC DELEGATION"), EventFlags::NOTIFICATION);
    flags
}

/// The type of a line, for `inspect`.
pub(crate) fn line_type(record: &[u8]) -> String {
    let line = Object::of(record);
    let kind = line.first_text(&["role", "type"]);
    if kind.is_empty() { "(none)".into() } else { kind.into_owned() }
}
