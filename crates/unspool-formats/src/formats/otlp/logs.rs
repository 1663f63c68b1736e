//! Log events of Claude Code (`claude_code.*`) and Codex (`codex.*`), which say in events what a session did.
//!
//! A log record carries whichever span was active, which need not be the one it speaks of; calls are joined by their ids.

use super::reading::{Tokens, report_cuts};
use super::span::{Attrs, Origin};
use super::talk::{Speaker, Talk};
use super::value::Value;
use crate::formats::claude_code::tool::ToolInput;
use crate::prose::preview;
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp};

/// One log record.
#[derive(Default)]
pub(crate) struct LogRecord<'a> {
    pub(crate) at: Timestamp,
    pub(crate) observed: Timestamp,
    pub(crate) trace: String,
    pub(crate) span: String,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) body: Option<Value<'a>>,
    pub(crate) attrs: Attrs<'a>,
}

/// A log event with its name and moment.
struct Entry<'r, 'a> {
    attrs: &'r Attrs<'a>,
    at: Timestamp,
    session: Cow<'a, str>,
}

pub(crate) fn emit_log<'a>(log: &LogRecord<'a>, origin: &Origin<'a>, out: &mut Sink<'_>) {
    let attrs = &log.attrs;
    let body = log.body.as_ref().map(Value::text).unwrap_or_default();
    // Claude Code names the event in the body with its prefix, and in `event.name` without.
    let stated = log.name.clone().or_else(|| attrs.text(&["event.name"])).unwrap_or_default();
    let full = if body.starts_with("claude_code.") || body.starts_with("codex.") { body } else { stated };
    // The clock of a log record may lag by seconds; the event says when it happened.
    let said = attrs.text(&["event.timestamp"]).and_then(|text| Timestamp::parse(&text));
    let at = said.unwrap_or(if log.at.is_some() { log.at } else { log.observed });
    let keys = ["session.id", "conversation.id", "gen_ai.conversation.id"];
    let session = attrs.text(&keys).or_else(|| origin.resource.text(&keys)).unwrap_or_default();
    let entry = Entry { attrs, at, session };
    report_cuts(attrs, [], out);
    let is_codex = full.starts_with("codex.");
    let name = full.strip_prefix("claude_code.").or_else(|| full.strip_prefix("codex.")).unwrap_or(&full);
    match name {
        "user_prompt" => entry.user_prompt(out),
        "api_request" if !is_codex => entry.api_request(out),
        "api_error" | "api_refusal" => entry.api_error(name, out),
        "assistant_response" => entry.assistant_response(out),
        "tool_decision" => entry.tool_decision(out),
        "tool_result" => entry.tool_result(out),
        "sse_event" => entry.sse_event(out),
        _ => entry.other(name, &full, out),
    }
    if !log.trace.is_empty() {
        out.key(KeyKind::Trace, Role::Refers, &log.trace);
    }
    out.end();
}

impl Entry<'_, '_> {
    fn begin(&self, kind: EventKind, out: &mut Sink<'_>) {
        out.begin(kind, self.at);
        out.key(KeyKind::Session, Role::Refers, &self.session);
        out.key(KeyKind::Agent, Role::Refers, &self.text(&["agent_id"]));
        out.key(KeyKind::WorkflowRun, Role::Refers, &self.text(&["workflow.run_id"]));
        let version = self.text(&["app.version", "service.version"]);
        out.surroundings("", &version);
    }

    fn text(&self, keys: &[&str]) -> Cow<'_, str> {
        self.attrs.text(keys).unwrap_or_default()
    }

    fn milliseconds(&self, out: &mut Sink<'_>) {
        if let Some(ms) = self.attrs.count(&["duration_ms"]).and_then(|ms| i64::try_from(ms).ok()) {
            out.int(AttrName::DurationMs, ms);
        }
    }

    fn user_prompt(&self, out: &mut Sink<'_>) {
        self.begin(EventKind::UserMessage, out);
        out.flag(EventFlags::HAS_TEXT);
        out.key(KeyKind::Prompt, Role::Provides, &self.text(&["prompt.id"]));
        out.key(KeyKind::Uuid, Role::Provides, &self.text(&["message.uuid"]));
        let prompt = self.text(&["prompt"]);
        if prompt != "<REDACTED>" && prompt != "[REDACTED]" {
            if let Some(hash) = text_hash(&prompt) {
                out.key(KeyKind::PromptHash, Role::Provides, &hash);
            }
            out.message_preview(&preview(&prompt));
        }
    }

    fn api_request(&self, out: &mut Sink<'_>) {
        self.begin(EventKind::ModelCall, out);
        out.name(&self.text(&["model"]));
        out.key(KeyKind::Message, Role::Provides, &self.text(&["message.id"]));
        out.key(KeyKind::Request, Role::Provides, &self.text(&["request_id", "requestId"]));
        let tokens = Tokens {
            input: self.attrs.count(&["input_tokens"]),
            output: self.attrs.count(&["output_tokens"]),
            cache_read: self.attrs.count(&["cache_read_tokens"]),
            cache_write: self.attrs.count(&["cache_creation_tokens"]),
            input_is_uncached: true,
            ..Tokens::default()
        };
        self.call(tokens, out);
    }

    /// Tokens, and times when the duration is known: the event comes at the end of the call.
    fn call(&self, tokens: Tokens, out: &mut Sink<'_>) {
        if let Some(usage) = tokens.usage().filter(|usage| !usage.is_zero()) {
            out.usage(usage);
        }
        let took = self.attrs.count(&["duration_ms"]).and_then(|ms| i64::try_from(ms).ok());
        if let (Some(ms), Some(ns)) = (took, self.at.ns()) {
            out.flag(EventFlags::WHOLE.with(EventFlags::START_INFERRED)).int(AttrName::EndedAt, ns);
            out.begins(self.at.plus_ms(-ms));
        }
        self.milliseconds(out);
    }

    fn api_error(&self, name: &str, out: &mut Sink<'_>) {
        self.begin(EventKind::System, out);
        out.name(name).flag(EventFlags::API_ERROR);
        if out.wants_text() {
            out.text(AttrName::ErrorText, &preview(&self.text(&["error", "message"])));
        }
    }

    fn assistant_response(&self, out: &mut Sink<'_>) {
        let request = self.text(&["request_id"]);
        self.begin(if request.is_empty() { EventKind::Context } else { EventKind::ModelCall }, out);
        out.name(&self.text(&["model"]));
        out.key(KeyKind::Request, Role::Provides, &request);
        out.key(KeyKind::Message, Role::Provides, &self.text(&["message.id"]));
        let response = self.attrs.any(&["response", "content"]);
        let talk = response.map(|value| Talk::read(&value.json(), Speaker::Assistant)).unwrap_or_default();
        report_cuts(&Attrs::default(), [&talk], out);
        if let Some(text) = talk.answer().filter(|text| *text != "<REDACTED>") {
            out.flag(EventFlags::HAS_TEXT);
            if out.wants_text() {
                out.text(AttrName::Preview, &preview(text));
            }
        }
    }

    fn tool_decision(&self, out: &mut Sink<'_>) {
        let call = self.text(&["tool_use_id", "call_id"]);
        let decision = self.text(&["decision"]);
        let refused = decision.starts_with("reject") || decision.starts_with("deni") || decision == "abort";
        self.begin(if call.is_empty() { EventKind::Context } else { EventKind::ToolCall }, out);
        out.name(&self.text(&["tool_name"]));
        out.key(KeyKind::ToolUse, Role::Provides, &call);
        if refused {
            out.flag(EventFlags::DENIED);
        }
    }

    fn tool_result(&self, out: &mut Sink<'_>) {
        let call = self.text(&["tool_use_id", "call_id"]);
        let failed = self.text(&["success"]) == "false";
        let input = self.text(&["tool_input", "tool_parameters", "arguments"]);
        let took = self.attrs.count(&["duration_ms"]).and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
        self.begin(EventKind::ToolCall, out);
        out.name(&self.text(&["tool_name"])).flag(EventFlags::WHOLE.with(EventFlags::START_INFERRED));
        out.key(KeyKind::ToolUse, Role::Provides, &call);
        ToolInput::read(input.as_bytes(), out).facts(out);
        if let Some(ns) = self.at.ns() {
            out.int(AttrName::EndedAt, ns);
        }
        out.begins(self.at.plus_ms(-took));
        self.milliseconds(out);
        if failed {
            out.flag(EventFlags::ERROR);
            if out.wants_text() {
                out.text(AttrName::ErrorText, &preview(&self.text(&["error"])));
            }
        }
    }

    /// Codex counts tokens on the event that ends an answer; its input includes what the cache served.
    fn sse_event(&self, out: &mut Sink<'_>) {
        if self.text(&["event.kind"]) != "response.completed" {
            return self.other("sse_event", "codex.sse_event", out);
        }
        self.begin(EventKind::ModelCall, out);
        out.name(&self.text(&["model", "slug"]));
        let tokens = Tokens {
            input: self.attrs.count(&["input_token_count"]),
            output: self.attrs.count(&["output_token_count"]),
            cache_read: self.attrs.count(&["cached_token_count"]),
            reasoning: self.attrs.count(&["reasoning_token_count"]),
            ..Tokens::default()
        };
        self.call(tokens, out);
    }

    fn other(&self, name: &str, full: &str, out: &mut Sink<'_>) {
        const KNOWN: &[&str] = &[
            "api_request",
            "api_request_body",
            "api_response_body",
            "permission_mode_changed",
            "auth",
            "mcp_server_connection",
            "internal_error",
            "plugin_installed",
            "plugin_loaded",
            "skill_activated",
            "hook_execution_start",
            "hook_execution_complete",
            "at_mention",
            "feedback_survey",
            "conversation_starts",
            "sse_event",
            "websocket_request",
            "websocket_event",
            "websocket_connect",
        ];
        let is_ours = full.starts_with("claude_code.") || full.starts_with("codex.") || KNOWN.contains(&name);
        // Steps of the harness; traffic that other events sum up is none.
        let quiet = [
            "api_request",
            "sse_event",
            "websocket_request",
            "websocket_event",
            "api_request_body",
            "api_response_body",
        ];
        let kind = if !is_ours || quiet.contains(&name) { EventKind::Context } else { EventKind::System };
        self.begin(kind, out);
        out.name(name);
        if is_ours && !KNOWN.contains(&name) {
            out.issue(Code::UnknownType, full);
        }
    }
}
