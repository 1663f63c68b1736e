//! Tool calls and their outcomes, as transcripts and hooks both write them.

use crate::asked::{Asked, SUBJECT_COUNT, subject_rank};
use crate::fields::Oddities;
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::prose::preview;
use crate::sink::Sink;
use memchr::memmem;
use std::ops::Range;
use unspool_model::prompt::{input_hash, text_hash};
use unspool_model::{AttrName, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp};

/// The input of a tool call as far as it says what the call is for.
#[derive(Default)]
pub(crate) struct ToolInput<'a> {
    description: Option<RawStr<'a>>,
    prompt: Option<RawStr<'a>>,
    agent_type: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    team: Option<RawStr<'a>>,
    /// The agent a call is addressed to: one it resumes, or one it writes to.
    resume: Option<RawStr<'a>>,
    to: Option<RawStr<'a>>,
    recipient: Option<RawStr<'a>>,
    /// What is written to another agent.
    message: Option<RawStr<'a>>,
    content: Option<RawStr<'a>>,
    /// The field that shows best what the call does.
    subject: Option<RawStr<'a>>,
    background: Option<bool>,
    /// It is a command.
    is_command: bool,
    /// Lines of the file it reads: where they begin and how many they are.
    offset: Option<i64>,
    limit: Option<i64>,
    /// It has a path, and nothing but what reading a file takes.
    has_path: bool,
    has_more: bool,
    /// Where in `raw` the description lies.
    note: Range<usize>,
    /// All of it.
    raw: &'a [u8],
    /// What is odd about fields that link, if the tool is one that starts agents or writes to them.
    odd: Oddities<'a>,
}

/// Lines that `Read` gives unless it is told otherwise.
const DEFAULT_LINES: i64 = 2000;

impl<'a> ToolInput<'a> {
    /// Reads an input of any shape; what is not an object says nothing.
    pub(crate) fn read(raw: &'a [u8], out: &mut Sink<'_>) -> ToolInput<'a> {
        let mut input = ToolInput { raw, ..ToolInput::default() };
        let mut json = Json::new(raw);
        if json.kind() != Ok(Kind::Object) {
            return input;
        }
        // Fields of which each tool has its own idea: a message may be an object.
        let mut free = Oddities::default();
        let mut subjects_seen = [false; SUBJECT_COUNT];
        let mut best = SUBJECT_COUNT;
        let odd = &mut input.odd;
        let _ = json.object(|json, key| match key {
            b"description" => {
                let start = json.mark();
                let read = odd.text(json, key, &mut input.description);
                input.note = start..json.mark();
                read
            }
            b"prompt" => odd.text(json, key, &mut input.prompt),
            b"subagent_type" => odd.text(json, key, &mut input.agent_type),
            b"name" => odd.text(json, key, &mut input.name),
            b"team_name" => odd.text(json, key, &mut input.team),
            b"resume" => odd.text(json, key, &mut input.resume),
            b"to" => odd.text(json, key, &mut input.to),
            b"recipient" => odd.text(json, key, &mut input.recipient),
            b"message" => free.text(json, key, &mut input.message),
            b"content" => free.text(json, key, &mut input.content),
            b"run_in_background" => odd.boolean(json, key, &mut input.background),
            b"offset" | b"limit" => {
                let slot = if key == b"offset" { &mut input.offset } else { &mut input.limit };
                free.integer(json, key, slot)?;
                input.has_more |= slot.is_none();
                Ok(())
            }
            _ => {
                input.has_path |= key == b"file_path";
                input.has_more |= key != b"file_path";
                let Some(rank) = subject_rank(key) else { return json.skip() };
                if std::mem::replace(&mut subjects_seen[rank], true) {
                    free.duplicate(key);
                }
                input.is_command |= key == b"command";
                if let Some(value) = json.string()?.filter(|_| rank <= best) {
                    (best, input.subject) = (rank, Some(value));
                }
                Ok(())
            }
        });
        input.odd.report_duplicates(out);
        free.report_duplicates(out);
        input
    }

    /// Whether a field shows what the call does.
    pub(crate) fn has_subject(&self) -> bool {
        self.subject.is_some() || self.prompt.is_some() || self.description.is_some()
    }

    /// Tells whether two calls were given the same. How a command is described beside it does not change what it does.
    fn hash(&self) -> u32 {
        match (self.raw.get(..self.note.start), self.raw.get(self.note.end..)) {
            (Some(before), Some(after)) if self.is_command => input_hash(&[before, after].concat()),
            _ => input_hash(self.raw),
        }
    }

    /// The first and the last line of the file it reads: a path and no more than where to begin and how far to go.
    fn lines(&self) -> Option<(i64, i64)> {
        let is_said = |value: Option<RawStr<'_>>| value.is_some();
        let has_text =
            [self.description, self.prompt, self.name, self.message, self.content].into_iter().any(is_said);
        let first = self.offset.unwrap_or(1).max(1);
        let count = self.limit.unwrap_or(DEFAULT_LINES).max(1);
        (self.has_path && !self.has_more && !has_text).then(|| (first, first.saturating_add(count - 1)))
    }

    /// Emits the call with its keys and attributes.
    pub(crate) fn emit(&self, id: &str, name: &str, at: Timestamp, out: &mut Sink<'_>) {
        out.begin(EventKind::ToolCall, at).name(name).key(KeyKind::ToolUse, Role::Provides, id);
        self.facts(out);
    }

    /// Adds the facts to the open event.
    pub(crate) fn facts(&self, out: &mut Sink<'_>) {
        unreadable(&self.odd, out);
        let text =
            |value: Option<RawStr<'_>>| value.map(|v| preview(&v.decode_start(512))).unwrap_or_default();
        if let (Some(name), Some(team)) = (self.name, self.team) {
            let teammate = format!("{}@{}", name.decode(), team.decode());
            out.key(KeyKind::Teammate, Role::Refers, &teammate);
        }
        if let Some(resume) = self.resume.or(self.to).or(self.recipient) {
            out.text(AttrName::Resume, &resume.decode_start(128));
            let message = self.message.or(self.content);
            if let Some(hash) = message.and_then(|message| text_hash(&message.decode())) {
                out.key(KeyKind::AnswerHash, Role::Provides, &hash);
            }
        }
        let wants_text = out.wants_text();
        let prompt = self.prompt.map(RawStr::decode).unwrap_or_default();
        let asked = Asked {
            prompt: &prompt,
            agent_type: text(self.agent_type),
            agent_name: text(self.name),
            description: if wants_text || !prompt.is_empty() {
                text(self.description)
            } else {
                String::new()
            },
            subject: if wants_text { text(self.subject.or(self.prompt)) } else { String::new() },
            is_async: self.background == Some(true),
        };
        asked.emit(out);
        if wants_text && !self.raw.is_empty() {
            out.int(AttrName::InputHash, self.hash().into());
            if let Some((first, last)) = self.lines() {
                out.int(AttrName::FirstLine, first).int(AttrName::LastLine, last);
            }
        }
    }
}

/// `toolUseResult` and `tool_response`: what the harness noted about a result.
#[derive(Default)]
pub(crate) struct ToolOutcome<'a> {
    pub(crate) agent: Option<RawStr<'a>>,
    pub(crate) teammate: Option<RawStr<'a>>,
    pub(crate) status: Option<RawStr<'a>>,
    pub(crate) workflow_run: Option<RawStr<'a>>,
    pub(crate) agent_type: Option<RawStr<'a>>,
    pub(crate) model: Option<RawStr<'a>>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) tool_use_count: Option<i64>,
    pub(crate) content: Option<&'a [u8]>,
    is_async: Option<bool>,
    interrupted: Option<bool>,
    /// The outcome is a plain string, which only errors are.
    pub(crate) error: Option<RawStr<'a>>,
    /// How long an agent ran, where that is told apart.
    total_duration_ms: Option<i64>,
    present: bool,
    /// What is odd about fields that link, if the tool is one that starts agents.
    odd: Oddities<'a>,
}

impl<'a> ToolOutcome<'a> {
    /// Reads an outcome. Objects, strings and lists of blocks occur; what they hold is each tool's own.
    pub(crate) fn read(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        record: &mut Oddities<'a>,
    ) -> Result<(), Malformed> {
        if self.present {
            record.duplicate(key);
            *self = ToolOutcome::default();
        }
        self.present = true;
        match json.kind()? {
            Kind::Object => self.fields(json, record),
            Kind::String => {
                self.error = json.string()?;
                Ok(())
            }
            Kind::Number | Kind::Bool => {
                record.wrong_type(key);
                json.skip()
            }
            Kind::Array | Kind::Null => json.skip(),
        }
    }

    fn fields(&mut self, json: &mut Json<'a>, record: &mut Oddities<'a>) -> Result<(), Malformed> {
        let odd = &mut self.odd;
        json.object(|json, key| match key {
            b"agentId" => odd.text(json, key, &mut self.agent),
            b"agent_id" => odd.text(json, key, &mut self.teammate),
            b"status" => odd.text(json, key, &mut self.status),
            b"runId" => odd.text(json, key, &mut self.workflow_run),
            b"agentType" => odd.text(json, key, &mut self.agent_type),
            b"resolvedModel" => odd.text(json, key, &mut self.model),
            b"totalDurationMs" => odd.integer(json, key, &mut self.total_duration_ms),
            b"durationMs" => odd.integer(json, key, &mut self.duration_ms),
            b"totalToolUseCount" => odd.integer(json, key, &mut self.tool_use_count),
            b"isAsync" => odd.boolean(json, key, &mut self.is_async),
            b"interrupted" => odd.boolean(json, key, &mut self.interrupted),
            b"content" => odd.raw(json, key, &mut self.content),
            _ => json.skip(),
        })?;
        self.duration_ms = self.total_duration_ms.or(self.duration_ms);
        record.take_duplicates(&mut self.odd);
        Ok(())
    }

    /// Whether only agents have outcomes like this.
    fn is_of_agent(&self) -> bool {
        self.agent.is_some() || self.tool_use_count.is_some() || self.teammate.is_some()
    }

    /// Emits the result of call `id`; `content` is what the model was given.
    pub(crate) fn emit_result(
        &self,
        id: &str,
        content: Option<&'a [u8]>,
        is_error: bool,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        out.begin(EventKind::ToolResult, at);
        self.result_facts(id, content, is_error, out);
    }

    /// Adds the facts of a result to the open event.
    pub(crate) fn result_facts(
        &self,
        id: &str,
        content: Option<&'a [u8]>,
        is_error: bool,
        out: &mut Sink<'_>,
    ) {
        out.key(KeyKind::ToolUse, Role::Refers, id);
        unreadable(&self.odd, out);
        let failed = is_error || self.error.is_some_and(|text| text.raw.starts_with(b"Error"));
        if failed {
            out.flag(EventFlags::ERROR);
            if out.wants_text() {
                let why = content.and_then(first_text).or(self.error);
                out.text(
                    AttrName::ErrorText,
                    &why.map(|t| preview(&t.decode_start(512))).unwrap_or_default(),
                );
            }
        }
        if self.is_async == Some(true)
            || self.status.is_some_and(|status| matches!(status.raw, b"async_launched" | b"teammate_spawned"))
            || content.is_some_and(says_launched)
        {
            out.flag(EventFlags::ASYNC);
        }
        if self.interrupted == Some(true) {
            out.flag(EventFlags::INTERRUPTED);
        }
        if let Some(ms) = self.duration_ms {
            out.int(AttrName::DurationMs, ms);
        }
        if let Some(count) = self.tool_use_count {
            out.int(AttrName::ToolUseCount, count);
        }
        if let Some(status) = self.status {
            out.text(AttrName::Status, &status.decode_start(64));
        }
        // Answers of agents come as text blocks, or with an outcome only agents have. Other results are not hashed:
        // they are most of the bytes and nobody joins them.
        let answer = match content {
            Some(raw) if raw.first() == Some(&b'[') || self.is_of_agent() => first_text(raw),
            _ => None,
        };
        let answer = answer.or_else(|| self.content.filter(|_| self.is_of_agent()).and_then(first_text));
        if let Some(hash) = answer.and_then(|text| text_hash(&text.decode())) {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
    }

    /// Emits every explicit link from call `id` to an agent; `source` names this kind of record.
    pub(crate) fn emit_links(
        &self,
        id: &str,
        content: Option<&'a [u8]>,
        source: LinkSource,
        at: Timestamp,
        out: &mut Sink<'_>,
    ) {
        let link = |out: &mut Sink<'_>, source: LinkSource, kind: KeyKind, value: &str| {
            out.begin(EventKind::SpawnLink, at).source(source).key(KeyKind::ToolUse, Role::Refers, id);
            out.key(kind, Role::Provides, value);
        };
        if let Some(agent) = self.agent {
            link(out, source, KeyKind::Agent, &agent.decode());
            if let Some(kind) = self.agent_type {
                out.text(AttrName::AgentType, &kind.decode_start(128));
            }
            if let Some(model) = self.model {
                out.text(AttrName::Model, &model.decode_start(128));
            }
        }
        if let Some(teammate) = self.teammate {
            link(out, LinkSource::Teammate, KeyKind::Teammate, &teammate.decode());
        }
        if let Some(run) = self.workflow_run {
            link(out, LinkSource::Workflow, KeyKind::WorkflowRun, &run.decode());
        }
        // The text repeats what a structured field says; alone it has to do.
        if let Some(agent) = content.filter(|_| self.agent.is_none()).and_then(agent_id_in_text) {
            link(out, LinkSource::Text, KeyKind::Agent, &agent);
        }
    }
}

/// Names fields of a wrong type. Whether they are ours depends on the tool, which is for the linker to know: another tool
/// may have a `status` of its own.
fn unreadable(odd: &Oddities<'_>, out: &mut Sink<'_>) {
    for key in odd.wrong_types() {
        out.text(AttrName::Unreadable, &String::from_utf8_lossy(key));
    }
}

/// How the result of a call begins whose work goes on in the background.
const LAUNCHED: [&[u8]; 2] = [b"Async agent launched successfully", b"Spawned successfully."];

/// Whether a result says so in words, which is all there is where outcomes are not kept.
fn says_launched(content: &[u8]) -> bool {
    let launched = |text: &[u8]| LAUNCHED.iter().any(|words| text.starts_with(words));
    match content.first() {
        Some(b'"') => launched(&content[1..]),
        Some(b'[') => first_text(content).is_some_and(|text| launched(text.raw)),
        _ => false,
    }
}

/// The first text of a result: a string, or the first text block.
fn first_text(raw: &[u8]) -> Option<RawStr<'_>> {
    texts(raw).into_iter().next()
}

/// The texts of a result: the string, or all text blocks.
fn texts(raw: &[u8]) -> Vec<RawStr<'_>> {
    let mut texts = Vec::new();
    let mut json = Json::new(raw);
    match json.kind() {
        Ok(Kind::String) => texts.extend(json.string().ok().flatten()),
        Ok(Kind::Array) => {
            let _ = json.array(|json| {
                if json.kind()? != Kind::Object {
                    return json.skip();
                }
                json.object(|json, key| {
                    match key {
                        b"text" => texts.extend(json.string()?),
                        _ => json.skip()?,
                    }
                    Ok(())
                })
            });
        }
        _ => {}
    }
    texts
}

/// The agent id a spawn's result text names: a line `agentId: X`, or the hint how to write to it, in the last text block,
/// which is the harness's and not the agent's. Whether the call was a spawn at all is for the linker to know.
fn agent_id_in_text(raw: &[u8]) -> Option<String> {
    const LINE: &[u8] = b"agentId:";
    const HINT: &[u8] = b"SendMessage with to: '";
    // Nearly every result is some tool's output; those are passed over without being taken apart.
    if memmem::find(raw, LINE).is_none() && memmem::find(raw, HINT).is_none() {
        return None;
    }
    let text = texts(raw).pop()?.raw;
    // In raw JSON a line break is the two characters `\n`.
    let at_line_start = |at: &usize| *at == 0 || text[..*at].ends_with(b"\\n");
    let line = memmem::find_iter(text, LINE).find(at_line_start).map(|at| at + LINE.len());
    let start = line.or_else(|| memmem::find(text, HINT).map(|at| at + HINT.len()))?;
    let rest = text[start..].trim_ascii_start();
    let len =
        rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'@')).count();
    (len > 0).then(|| String::from_utf8_lossy(&rest[..len]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{agent_id_in_text, first_text};

    #[test]
    fn agent_ids_in_result_text() {
        let find = |text: &str| agent_id_in_text(text.as_bytes());
        assert_eq!(find(r#""ok\nagentId: a1b2 (use it)""#).as_deref(), Some("a1b2"));
        assert_eq!(find(r#""(use SendMessage with to: 'a9f' to continue)""#).as_deref(), Some("a9f"));
        assert_eq!(find(r#""agentId: ""#), None);
        assert_eq!(find(r#""it says agentId: a1b2""#), None, "not at the start of a line");
        assert_eq!(find(r#"[{"text":"agentId: no"},{"text":"agentId: yes"}]"#).as_deref(), Some("yes"));
        assert_eq!(find(r#""nothing""#), None);
    }

    #[test]
    fn first_text_of_each_shape() {
        let text = |raw: &str| first_text(raw.as_bytes()).map(|t| t.decode().into_owned());
        assert_eq!(text(r#""a""#).as_deref(), Some("a"));
        assert_eq!(text(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#).as_deref(), Some("a"));
        assert_eq!(text("[1]"), None);
        assert_eq!(text("{}"), None);
    }
}
