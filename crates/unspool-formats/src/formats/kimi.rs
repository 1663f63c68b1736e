//! Kimi Code: `sessions/<project>/<session>/agents/<agent>/wire.jsonl`.
//!
//! Ids of calls and agents mean something only in their agent and session. A sub-agent's id stands in the result of the call
//! that started it.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, folder, rejection, stem};
use crate::object::Object;
use crate::sink::Sink;
use memchr::memmem;
use std::borrow::Cow;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Usage, Witness};

pub(crate) struct Kimi;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "kimi-code",
    title: "Kimi Code session",
    evidence: "Three public wire files of 2026 (protocol 1.4), one of a sub-agent; checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Kimi {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memmem::find(head, needle).is_some();
        let mine = has(b"\"protocol_version\"") || has(b"\"context.append_") || has(b"\"turn.prompt\"");
        let test = |line: &Object<'_>| {
            let kind = line.text("type");
            let known =
                KNOWN.contains(&kind.as_ref()) || kind.starts_with("context.") || kind.starts_with("turn.");
            known && (line.has("time") || line.has("protocol_version"))
        };
        Sniff {
            score: if mine { score(matching_lines(head, test), 70, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        if folder(name, 2) == "agents" && stem(name) == "wire" {
            let agent = folder(name, 1);
            let above = name.rfind("/agents/").or_else(|| name.rfind("\\agents\\")).unwrap_or(0);
            return Scope {
                container: name[..above].to_string(),
                session: folder(name, 3).to_string(),
                agent: if agent == "main" { String::new() } else { agent.to_string() },
                ..Scope::default()
            };
        }
        Scope::default()
    }

    fn record_type(&self, record: &[u8]) -> String {
        let line = Object::of(record);
        let (kind, inner) = (line.text("type"), line.object("event").text("type"));
        if inner.is_empty() { kind.into_owned() } else { format!("{kind}/{inner}") }
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    /// Before ids that are counted anew in each file.
    prefix: String,
    model: String,
    prompts: Vec<(Option<String>, String)>,
    prompt_count: u32,
    /// Tokens of the last step, until the record that repeats them.
    counted: Option<Usage>,
    hidden: u32,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time(if line.has("time") { "time" } else { "created_at" }, out);
        let stream = out.stream();
        let in_agent = !stream.agent.is_empty();
        if self.prefix.is_empty() {
            self.prefix = out.id_prefix();
        }
        let kind = line.text("type");
        match kind.as_ref() {
            "turn.prompt" | "turn.steer" => {
                let origin = line.object("origin").text("kind").into_owned();
                self.prompt(&chat::texts(line.get("input")), &origin, false, at, out);
            }
            "context.append_message" => {
                let message = line.object("message");
                if message.text("role") == "user" {
                    let origin = message.object("origin").text("kind").into_owned();
                    self.prompt(&chat::texts(message.get("content")), &origin, true, at, out);
                }
            }
            "context.append_loop_event" => self.event(&line.object("event"), in_agent, at, out),
            "llm.request" => self.model = line.first_text(&["model", "modelAlias"]).into_owned(),
            "usage.record" => self.usage_record(&line, at, out),
            "context.apply_compaction" => {
                Head::default().open(EventKind::Compaction, at, out);
            }
            "turn.cancel" => {
                Head::default().open(EventKind::UserMessage, at, out);
                out.flag(EventFlags::INTERRUPTED);
            }
            "config.update" | "profile.bind" => {
                let profile = line.text("profileName");
                let cwd = line.text("cwd");
                let cwd = if cwd.is_empty() { line.object("environmentDisclosure").text("cwd") } else { cwd };
                if in_agent && !profile.is_empty() {
                    out.begin(EventKind::AgentInfo, at).key_sym(KeyKind::Agent, Role::Provides, stream.agent);
                    out.text(AttrName::AgentType, &profile).surroundings(&cwd, "");
                } else if !cwd.is_empty() {
                    Head::default().open(EventKind::SessionInfo, at, out);
                    out.surroundings(&cwd, "");
                }
            }
            other if KNOWN.contains(&other) => {}
            other => out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other }),
        }
        Ok(())
    }
}

/// Records that say nothing a step needs, and those read above.
const KNOWN: [&str; 18] = [
    "metadata",
    "config.update",
    "profile.bind",
    "llm.request",
    "llm.tools_snapshot",
    "usage.record",
    "permission.record_approval_result",
    "permission.set_mode",
    "plan_mode.enter",
    "plan_mode.exit",
    "plugin.session_start",
    "runtime.set_binding",
    "token_counting.measured",
    "token_counting.turn_recorded",
    "tools.set_active_tools",
    "turn.ended",
    "full_compaction.begin",
    "full_compaction.complete",
];

impl State {
    /// A prompt, told once as what was asked and once as what the model was given.
    fn prompt(
        &mut self,
        texts: &[Cow<'_, str>],
        origin: &str,
        given: bool,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        let hash = text_hash(&texts.concat());
        let known = self.prompts.iter().position(|(known, _)| given && *known == hash);
        let (key, again) = if let Some(at) = known {
            (self.prompts.remove(at).1, true)
        } else {
            self.prompt_count += 1;
            let key = format!("{}prompt {}", self.prefix, self.prompt_count);
            if !given {
                self.prompts.push((hash, key.clone()));
            }
            (key, false)
        };
        Head { uuid: &key, ..Head::default() }.open(EventKind::UserMessage, at, out);
        chat::prompt(texts, out);
        if again {
            out.flag(EventFlags::COPY);
        }
        if !matches!(origin, "user" | "system_trigger" | "") {
            out.flag(EventFlags::META);
        }
    }

    fn call_event(&self, step: &str, at: Timestamp, out: &mut Sink<'_>) {
        Head::default().open(EventKind::ModelCall, at, out);
        out.name(&self.model).key(KeyKind::Message, Role::Provides, step);
    }

    fn event(&mut self, event: &Object<'_>, in_agent: bool, at: Timestamp, out: &mut Sink<'_>) {
        match event.text("type").as_ref() {
            // The model comes to be known with the request that follows.
            "step.begin" => {}
            "content.part" => {
                self.call_event(&event.text("stepUuid"), at, out);
                let part = event.object("part");
                if part.text("type") == "text" {
                    chat::answer(&[part.text("text")], in_agent, out);
                }
            }
            "tool.call" => {
                self.call_event(&event.text("stepUuid"), at, out);
                out.flag(EventFlags::HAS_TOOL_USE);
                let id = format!("{}{}", self.prefix, event.text("toolCallId"));
                chat::call(&id, &event.text("name"), event.get("args"), at, out);
            }
            "tool.result" => {
                let id = format!("{}{}", self.prefix, event.text("toolCallId"));
                let result = event.object("result");
                let text = result.text("output");
                Head::default().open(EventKind::ToolResult, at, out);
                let agent = text.strip_prefix("agent_id: ").and_then(|rest| rest.split('\n').next());
                let agent = agent.unwrap_or_default().trim().to_string();
                let status = text.lines().find_map(|line| line.strip_prefix("status: ")).unwrap_or_default();
                let status = if agent.is_empty() { String::new() } else { status.to_string() };
                let failed = result.is("isError") || result.is("error");
                let outcome = Outcome { failed, text, status: status.into(), ..Outcome::default() };
                chat::result_facts(&id, &outcome, out);
                chat::spawned(&id, &agent, at, out);
            }
            "step.end" => {
                self.call_event(&event.text("uuid"), at, out);
                if let Some(usage) = event.get("usage").map(|raw| usage_of(&Object::of(raw))) {
                    out.usage(usage);
                    self.counted = Some(usage);
                }
                out.text(AttrName::StopReason, &event.text("finishReason"));
                // The step ends when its tools have, and tools wait until a person allows them: only this is the model's time.
                let stated = |name: &str| event.get(name).is_some();
                if stated("llmFirstTokenLatencyMs") || stated("llmStreamDurationMs") {
                    let ms = event.count("llmFirstTokenLatencyMs") + event.count("llmStreamDurationMs");
                    out.int(AttrName::DurationMs, i64::try_from(ms).unwrap_or(i64::MAX));
                }
            }
            other => out.issue(Code::UnknownType, &format!("event/{other}")),
        }
    }

    /// Tokens of a step, once more; or of a call that is no step, such as one that sums up the conversation.
    fn usage_record(&mut self, line: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
        let usage = usage_of(&line.object("usage"));
        if self.counted.take() == Some(usage) {
            return;
        }
        self.hidden += 1;
        let key = format!("{}call {}", self.prefix, self.hidden);
        self.call_event(&key, at, out);
        out.usage(usage);
    }
}

fn usage_of(usage: &Object<'_>) -> Usage {
    Usage {
        input: usage.count("inputOther"),
        cache_read: usage.count("inputCacheRead"),
        cache_write: usage.count("inputCacheCreation"),
        output: usage.count("output"),
        ..Usage::default()
    }
}
