//! Antigravity CLI: `brain/<conversation>/.system_generated/logs/transcript.jsonl`, one step per line.
//!
//! Calls have no ids: the steps that follow a planner's answer are the results of its calls, in order. A sub-agent is a
//! conversation of its own, named in the result of the call that started it.

use crate::chat::{self, Head, Outcome, matching_lines, score};
use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Scope, Sniff, folder, rejection};
use crate::object::Object;
use crate::prose::tag;
use crate::sink::Sink;
use memchr::memmem;
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, Role, Timestamp, Witness};

pub(crate) struct Antigravity;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "antigravity-cli",
    title: "Antigravity CLI transcript",
    evidence: "Public recordings of June 2026, with sub-agents named by their calls; no tokens are stated and models only in the text; \
               checked November 2026",
    witness: Witness::Transcript,
    in_order: true,
};

impl Format for Antigravity {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let mine = memmem::find(head, b"\"step_index\"").is_some();
        let test = |line: &Object<'_>| line.has("step_index") && line.has("source") && line.has("type");
        Sniff {
            score: if mine { score(matching_lines(head, test), 70, 96) } else { 0 },
            framing: Framing::Lines,
        }
    }

    fn scope(&self, name: &str) -> Scope {
        let in_brain = folder(name, 2) == ".system_generated";
        let session = if in_brain { folder(name, 3) } else { "" };
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
    /// Before ids that are made here.
    prefix: String,
    /// Calls without a result so far.
    pending: Vec<Pending>,
    calls: u32,
}

struct Pending {
    id: String,
    tool: String,
}

impl Reader for State {
    fn read(&mut self, record: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        let line = Object::read(record).map_err(|error| rejection(error, record))?;
        let at = line.time("created_at", out);
        // Steps are numbered and dated in seconds; nothing in them says of which conversation they are.
        out.identity_needs_place();
        if self.prefix.is_empty() {
            self.prefix = out.id_prefix();
        }
        let head = Head::default();
        let (kind, content) = (line.text("type"), line.text("content"));
        match kind.as_ref() {
            "USER_INPUT" => {
                self.pending.clear();
                head.open(EventKind::UserMessage, at, out);
                let request = tag(&content, "USER_REQUEST").map(str::to_string);
                chat::prompt(&[request.map_or(content, Into::into)], out);
            }
            "PLANNER_RESPONSE" => self.answer(&line, at, out),
            "CHECKPOINT" => head.open(EventKind::Compaction, at, out),
            "ERROR_MESSAGE" => {
                head.open(EventKind::System, at, out);
                out.name("error")
                    .flag(EventFlags::API_ERROR)
                    .text(AttrName::ErrorText, &chat::shown(&content));
            }
            "SYSTEM_MESSAGE" => {
                head.open(EventKind::System, at, out);
                let shown =
                    tag(&content, "SYSTEM_MESSAGE").map_or_else(|| chat::shown(&content), chat::shown);
                out.name("system_message").text(AttrName::Preview, &shown);
            }
            "CONVERSATION_HISTORY" | "EPHEMERAL_MESSAGE" => {}
            "" => out.issue(Code::UnknownType, "(none)"),
            tool if line.text("source") == "MODEL" => self.result(tool, &content, at, out),
            other => out.issue(Code::UnknownType, other),
        }
        Ok(())
    }
}

impl State {
    fn answer(&mut self, line: &Object<'_>, at: Timestamp, out: &mut Sink<'_>) {
        // What earlier calls did not get so far does not come any more.
        self.pending.clear();
        Head::default().open(EventKind::ModelCall, at, out);
        chat::answer(&chat::texts(line.get("content")), false, out);
        let calls = line.list("tool_calls");
        if !calls.is_empty() {
            out.flag(EventFlags::HAS_TOOL_USE);
        }
        for call in calls.into_iter().map(Object::of) {
            let (id, tool) = (self.next_id(), call.text("name").into_owned());
            chat::call(&id, &tool, call.get("args"), at, out);
            self.pending.push(Pending { id, tool });
        }
    }

    fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("{}call {}", self.prefix, self.calls)
    }

    /// The call a result belongs to: the first of its tool, else the first.
    fn settle(&mut self, tool: &str) -> Option<String> {
        if self.pending.is_empty() {
            return None;
        }
        let by_tool = self.pending.iter().position(|call| is_result_of(tool, &call.tool));
        Some(self.pending.remove(by_tool.unwrap_or(0)).id)
    }

    fn result(&mut self, tool: &str, content: &str, at: Timestamp, out: &mut Sink<'_>) {
        let failed = content.trim_start().starts_with("Error") || content.contains("The command failed");
        let outcome = Outcome { failed, text: content.into(), ..Outcome::default() };
        let by_order = self.settle(tool);
        let flags = if by_order.is_some() { EventFlags::RESULT_BY_ORDER } else { EventFlags::none() };
        let id = if let Some(id) = by_order {
            Head::default().open(EventKind::ToolResult, at, out);
            chat::result_facts(&id, &outcome, out);
            out.flag(flags);
            id
        } else {
            // The answer that asked for it is not in the file.
            let id = self.next_id();
            Head::default().open(EventKind::ToolCall, at, out);
            out.name(&tool.to_ascii_lowercase()).key(KeyKind::ToolUse, Role::Provides, &id);
            chat::result(&id, &outcome, at, out);
            id
        };
        if tool == "INVOKE_SUBAGENT" {
            out.flag(EventFlags::ASYNC);
            for agent in conversations(content) {
                chat::spawned(&id, agent, at, out);
                out.flag(flags);
            }
        }
    }
}

/// Whether a result is of a tool: `RUN_COMMAND` is of `run_command`, and `LIST_DIRECTORY` of `list_dir`.
fn is_result_of(result: &str, tool: &str) -> bool {
    !tool.is_empty() && result.to_ascii_lowercase().starts_with(&tool.to_ascii_lowercase())
}

/// The conversations a result says it created.
fn conversations(content: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, key) in content.match_indices("\"conversationId\"") {
        let mut quoted = content[at + key.len()..].splitn(3, '"').skip(1);
        found.extend(quoted.next().filter(|id| !id.is_empty()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::conversations;

    #[test]
    fn every_created_conversation_is_found() {
        let text = "Created:\n{\n  \"conversationId\":  \"a-1\"\n}\n{ \"conversationId\": \"b-2\" }\n\"conversationId\"";
        assert_eq!(conversations(text), ["a-1", "b-2"]);
    }
}
