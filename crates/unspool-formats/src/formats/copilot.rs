//! GitHub Copilot CLI: `session-state/<session>/events.jsonl`.
//!
//! Sub-agents live in the same file; an agent's id is the id of the call that started it. An answer states only its output;
//! what else was used stands in sums at the end, which are given to the one call there was, or else to a step of their own.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::exits;
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, folder, rejection, stem};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage, Witness};

pub(crate) struct Copilot;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "copilot-cli",
    title: "GitHub Copilot CLI session",
    evidence: "Public event files of Copilot CLI 0.0.420 to 1.0.78, checked November 2026. Per call only output tokens are stated; \
               input and cache are known per model and session",
    witness: Witness::Transcript,
    in_order: true,
};

const FAMILIES: [&str; 12] = [
    "session",
    "user",
    "assistant",
    "tool",
    "subagent",
    "system",
    "hook",
    "permission",
    "skill",
    "elicitation",
    "external_tool",
    "command",
];

impl Format for Copilot {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine = memmem::find(head, b"\"data\"").is_some() && memmem::find(head, b"\"parentId\"").is_some();
        let test = |line: &Object<'_>| {
            let kind = line.text("type");
            let family = kind.split_once('.').map(|(family, _)| family);
            let known = kind == "abort" || family.is_some_and(|family| FAMILIES.contains(&family));
            known && (line.has("data") || line.is_empty())
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 60, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        let stem = stem(name);
        let session = if stem == "events" { folder(name, 1) } else { "" };
        Scope { session: session.to_string(), ..Scope::default() }
    }

    fn record_type(&self, record: &[u8]) -> String {
        Object::of(record).text("type").into_owned()
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    session: String,
    model: String,
    models: Vec<ModelSum>,
    /// Agents that were started, to know their calls' results by.
    agents: Vec<String>,
}

/// What was counted of one model so far.
struct ModelSum {
    name: String,
    calls: u32,
    last_call: String,
    counted: Usage,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("timestamp", out);
        let (kind, data) = (line.text("type"), line.object("data"));
        let (id, agent) = (line.text("id"), line.text("agentId"));
        let begins = matches!(kind.as_ref(), "session.start" | "session.resume");
        if begins && data.has("sessionId") && data.text("sessionId") != self.session {
            *self = State { session: data.text("sessionId").into_owned(), ..State::default() };
        }
        let session = self.session.clone();
        let head = Head { session: &session, agent: &agent, uuid: &id, ..Head::default() };
        self.event(&kind, &data, &head, at, out);
        Ok(())
    }
}

impl State {
    fn event(&mut self, kind: &str, data: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        match kind {
            "session.start" | "session.resume" => {
                head.open(EventKind::SessionInfo, at, out);
                out.surroundings(&data.object("context").text("cwd"), &data.text("copilotVersion"));
            }
            "session.model_change" => self.model = data.text("newModel").into_owned(),
            "user.message" => {
                head.open(EventKind::UserMessage, at, out);
                chat::prompt(&chat::texts(data.get("content")), out);
                if data.has("source") && head.agent.is_empty() {
                    out.flag(EventFlags::META);
                }
            }
            "assistant.message" => self.answer(data, head, at, out),
            "tool.execution_start" | "tool.user_requested" => {
                head.open(EventKind::ToolCall, at, out);
                out.name(&data.text("toolName")).key(
                    KeyKind::ToolUse,
                    Role::Provides,
                    &data.text("toolCallId"),
                );
                chat::call_facts(data.get("arguments"), out);
            }
            "tool.execution_complete" => self.result(data, head, at, out),
            "subagent.started" => self.agent_started(data, head, at, out),
            "subagent.completed" | "subagent.failed" => {
                let call = data.text("toolCallId");
                let agent = if head.agent.is_empty() { &call } else { head.agent };
                Head { agent, ..*head }.open(EventKind::AgentStop, at, out);
                let failed = kind == "subagent.failed";
                out.text(AttrName::Status, if failed { "failed" } else { "completed" });
                if failed {
                    out.flag(EventFlags::ERROR);
                }
                out.text(AttrName::ErrorText, &chat::shown(&data.text("error")));
            }
            "system.notification" => {
                head.open(EventKind::UserMessage, at, out);
                out.flag(EventFlags::NOTIFICATION.with(EventFlags::META));
                out.text(AttrName::Preview, &chat::shown(&data.text("content")));
            }
            "session.compaction_complete" => self.compaction(data, head, at, out),
            "session.error" => {
                head.open(EventKind::System, at, out);
                out.name("error").flag(EventFlags::API_ERROR);
                out.text(AttrName::ErrorText, &chat::shown(&data.text("message")));
            }
            "session.info" | "session.warning" | "session.truncation" | "session.snapshot_rewind" => {
                head.open(EventKind::System, at, out);
                let name = data.text("infoType");
                out.name(if name.is_empty() { kind.trim_start_matches("session.") } else { &name });
                out.text(AttrName::Preview, &chat::shown(&data.first_text(&["message", "reason"])));
            }
            "abort" => {
                head.open(EventKind::UserMessage, at, out);
                out.flag(EventFlags::INTERRUPTED).text(AttrName::Preview, &data.text("reason"));
            }
            "hook.end" if data.get("success") == Some(b"false") => {
                head.open(EventKind::Hook, at, out);
                out.name(&data.text("hookType")).flag(EventFlags::ERROR);
            }
            "session.title_changed" => {
                head.open(EventKind::SessionInfo, at, out);
                out.text(AttrName::Title, &data.text("title")).int(AttrName::TitleRank, 2);
            }
            "session.shutdown" => self.sums(data, head, at, out),
            other if KNOWN.contains(&other) => {}
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
    }

    fn model(&mut self, name: &str) -> &mut ModelSum {
        let at = self.models.iter().position(|sum| sum.name == name).unwrap_or_else(|| {
            let sum = ModelSum {
                name: name.to_string(),
                calls: 0,
                last_call: String::new(),
                counted: Usage::default(),
            };
            self.models.push(sum);
            self.models.len() - 1
        });
        &mut self.models[at]
    }

    fn answer(&mut self, data: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let id = data.first_text(&["messageId", "apiCallId"]);
        let id = if id.is_empty() { head.uuid } else { &id };
        let model = data.text("model");
        let model = if model.is_empty() { self.model.clone() } else { model.into_owned() };
        head.open(EventKind::ModelCall, at, out);
        out.name(&model).key(KeyKind::Message, Role::Provides, id);
        chat::answer(&chat::texts(data.get("content")), !head.agent.is_empty(), out);
        let calls = data.list("toolRequests");
        if !calls.is_empty() {
            out.flag(EventFlags::HAS_TOOL_USE);
        }
        let usage = Usage { output: data.count("outputTokens"), ..Usage::default() };
        if !usage.is_zero() {
            out.usage(usage);
        }
        for call in calls.into_iter().map(Object::of) {
            let id = call.text("toolCallId");
            chat::call(&id, &call.text("name"), call.get("arguments"), at, out);
        }
        let sum = self.model(&model);
        sum.calls += 1;
        sum.last_call = id.to_string();
        sum.counted.add(&usage);
    }

    fn result(&self, data: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let id = data.text("toolCallId");
        head.open(EventKind::ToolResult, at, out);
        let refused = data.get("success") == Some(b"false");
        let text = data.object(if refused { "error" } else { "result" });
        let text = text.first_text(&["message", "content"]);
        // A command that failed is a call that succeeded, to this client.
        let exit = exits::of_object(&data.object("toolTelemetry")).or_else(|| exits::in_tail(&text));
        let failed = refused || exits::failed(exit);
        if self.agents.iter().any(|agent| *agent == id)
            && let Some(hash) = text_hash(&text)
        {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
        chat::result_facts(&id, &Outcome { failed, text, ..Outcome::default() }, out);
    }

    fn agent_started(&mut self, data: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let call = data.text("toolCallId");
        let agent = if head.agent.is_empty() { &call } else { head.agent };
        Head { agent, ..*head }.open(EventKind::AgentStart, at, out);
        out.text(AttrName::AgentType, &data.text("agentName")).text(AttrName::Model, &data.text("model"));
        chat::spawned(&call, agent, at, out);
        self.agents.push(call.into_owned());
    }

    fn compaction(&self, data: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        head.open(EventKind::Compaction, at, out);
        let used = data.object("compactionTokensUsed");
        if !used.is_empty() {
            let model = used.text("model");
            out.text(AttrName::Model, if model.is_empty() { self.last_model() } else { &model });
            out.usage(usage_of(&used));
        }
    }

    fn last_model(&self) -> &str {
        self.models.last().map_or(self.model.as_str(), |sum| &sum.name)
    }

    /// The session's sums by model. What no answer stated is the one call's, when there was one; else it is shown as a step
    /// of its own, because nobody knows which call used how much.
    fn sums(&mut self, data: &Object<'_>, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let metrics = data.object("modelMetrics");
        let models = metrics.fields().map(|(name, metrics)| {
            (String::from_utf8_lossy(name).into_owned(), Object::of(metrics).object("usage"))
        });
        let stated: Vec<_> = models.filter(|(_, usage)| !usage.is_empty()).collect();
        if stated.is_empty() && data.has("tokenDetails") {
            // Some files have only one sum for all models.
            let details = data.object("tokenDetails");
            let count = |key: &str| details.object(key).count("tokenCount");
            let total = Usage {
                input: count("input"),
                cache_read: count("cache_read"),
                cache_write: count("cache_write"),
                output: count("output"),
                ..Usage::default()
            };
            self.sum(&data.text("currentModel"), total, head, at, out);
        }
        for (name, usage) in stated {
            self.sum(&name, usage_of(&usage), head, at, out);
        }
    }

    fn sum(&mut self, name: &str, total: Usage, head: &Head<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let sum = self.model(name);
        if sum.calls == 1 {
            // The sum is told when the session ends, which is not when the call did.
            head.open(EventKind::ModelCall, Timestamp::NONE, out);
            out.name(name).key(KeyKind::Message, Role::Provides, &sum.last_call).usage(total);
            sum.counted = total;
            return;
        }
        let counted = sum.counted;
        let rest = Usage {
            input: total.input.saturating_sub(counted.input),
            cache_read: total.cache_read.saturating_sub(counted.cache_read),
            cache_write: total.cache_write.saturating_sub(counted.cache_write),
            cache_write_long: 0,
            output: (total.output + total.reasoning).saturating_sub(counted.output + counted.reasoning),
            reasoning: 0,
        };
        if !rest.is_zero() {
            sum.counted.add(&rest);
            let uuid = format!("{}/{name}", head.uuid);
            Head { uuid: &uuid, ..*head }.open(EventKind::System, at, out);
            out.name("tokens not stated per call").text(AttrName::Model, name);
            out.usage(rest);
        }
    }
}

/// Events that say nothing a step needs.
const KNOWN: [&str; 26] = [
    "assistant.reasoning",
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.intent",
    "hook.start",
    "hook.end",
    "permission.requested",
    "permission.completed",
    "session.auto_mode_resolved",
    "session.compaction_start",
    "session.context_changed",
    "session.handoff",
    "session.idle",
    "session.mode_changed",
    "session.permissions_changed",
    "session.plan_changed",
    "session.remote_steerable_changed",
    "session.task_complete",
    "session.tools_updated",
    "session.usage_checkpoint",
    "session.usage_info",
    "session.workspace_file_changed",
    "skill.invoked",
    "subagent.deselected",
    "subagent.selected",
    "system.message",
];

/// Input counts what was cached, output counts reasoning.
fn usage_of(usage: &Object<'_>) -> Usage {
    let count = |name| usage.count(name);
    Usage::of_inclusive(
        count("inputTokens"),
        count("cacheReadTokens"),
        count("cacheWriteTokens"),
        count("outputTokens"),
        count("reasoningTokens"),
    )
}
