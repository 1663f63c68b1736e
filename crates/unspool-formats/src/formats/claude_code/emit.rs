//! What a transcript line means, as events.

use super::line::{Line, known_type};
use super::markup::{emit_returns, message_flags, shown_text, unwrap_teammate};
use super::message::{Block, BlockKind};
use super::time;
use super::tool::ToolInput;
use crate::fields::Oddities;
use crate::json::{Json, Kind, Malformed, RawStr};
use crate::prose::{PREVIEW_SOURCE_BYTES, preview};
use crate::sink::Sink;
use std::borrow::Cow;
use unspool_model::prompt::{text_hash, without_reminders};
use unspool_model::{AttrName, Code, EventFlags, EventKind, KeyKind, LinkSource, Role, Timestamp};

/// How much a title counts: one a person gave wins over one a model made.
const TITLE_BY_PERSON: i64 = 3;
const TITLE_BY_MODEL: i64 = 2;
const TITLE_OF_LEAF: i64 = 1;

pub(super) fn emit(line: &Line<'_>, out: &mut Sink<'_>) {
    line.oddities.report(out);
    if line.session.is_none() {
        out.identity_needs_name();
    }
    let at = time(line.timestamp, out);
    match text_of(line.kind).as_ref() {
        "user" => user(line, at, out),
        "assistant" => assistant(line, at, out),
        "system" => system(line, at, out),
        "progress" => progress(line, at, out),
        "attachment" => attachment(line, at, out),
        "summary" => title(line, TITLE_OF_LEAF, at, out),
        "ai-title" => title(line, TITLE_BY_MODEL, at, out),
        "custom-title" => title(line, TITLE_BY_PERSON, at, out),
        "queue-operation" => queue(line, at, out),
        "cost-state" => ledger(line, at, out),
        other => {
            if !known_type(other.as_bytes()) {
                out.issue(Code::UnknownType, if other.is_empty() { "(none)" } else { other });
            }
            context(line, at, out);
        }
    }
    out.end();
}

fn text_of(value: Option<RawStr<'_>>) -> Cow<'_, str> {
    value.map(RawStr::decode).unwrap_or_default()
}

/// Opens the record's first event, which carries what the whole line says about itself.
fn head(line: &Line<'_>, kind: EventKind, at: Timestamp, out: &mut Sink<'_>) {
    out.begin(kind, at);
    if let Some(session) = line.session {
        // Some tools add the agent behind a `#`.
        let session = session.decode();
        let session = session.split('#').next().unwrap_or_default();
        out.key(KeyKind::Session, Role::Refers, session);
    }
    if let Some(agent) = line.agent {
        out.key(KeyKind::Agent, Role::Refers, &agent.decode());
    }
    if let Some(uuid) = line.uuid {
        out.key(KeyKind::Uuid, Role::Provides, &uuid.decode());
    }
    if let Some(parent) = line.parent {
        out.key(KeyKind::Uuid, Role::Refers, &parent.decode());
    }
    if let Some(parent) = line.logical_parent {
        out.key(KeyKind::LogicalParent, Role::Refers, &parent.decode());
    }
    if let Some(session) = line.forked_from.and_then(|from| from.session) {
        out.key(KeyKind::ForkedFrom, Role::Refers, &session.decode());
    }
    if let (Some(name), Some(team)) = (line.agent_name, line.team) {
        out.key(KeyKind::Teammate, Role::Provides, &format!("{}@{}", name.decode(), team.decode()));
    }
    if line.is_sidechain == Some(true) {
        out.flag(EventFlags::SIDECHAIN);
    }
    if line.is_meta == Some(true) {
        out.flag(EventFlags::META);
    }
    out.surroundings(&text_of(line.cwd), &text_of(line.version));
}

/// A line that only chains others.
fn context(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    if line.uuid.is_some() {
        head(line, EventKind::Context, at, out);
    }
}

fn user(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let results = || line.message.blocks.iter().filter(|block| block.kind == BlockKind::ToolResult);
    let has_result = results().next().is_some();
    let has_words = line.message.blocks.iter().any(|block| block.kind != BlockKind::ToolResult);
    if has_words || !has_result {
        user_message(line, at, out);
    }
    for (n, block) in results().enumerate() {
        let id = text_of(block.tool_use);
        if n == 0 && !has_words {
            head(line, EventKind::ToolResult, at, out);
            line.outcome.result_facts(&id, block.content, block.is_error == Some(true), out);
        } else {
            line.outcome.emit_result(&id, block.content, block.is_error == Some(true), at, out);
        }
        if line.denial.is_some() {
            out.flag(EventFlags::DENIED);
        }
        line.outcome.emit_links(&id, block.content, LinkSource::Result, at, out);
    }
}

fn user_message(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    head(line, EventKind::UserMessage, at, out);
    let texts: Vec<Cow<'_, str>> = line
        .message
        .blocks
        .iter()
        .filter(|block| block.kind == BlockKind::Text)
        .filter_map(|block| block.text.map(RawStr::decode))
        .collect();
    let team = text_of(line.team).into_owned();
    if line.is_compact_summary == Some(true) {
        out.flag(EventFlags::COMPACT_SUMMARY);
    }
    if line.origin.and_then(|origin| origin.kind).map(|kind| kind.raw) == Some(b"task-notification") {
        out.flag(EventFlags::NOTIFICATION);
    }
    if let Some(prompt) = line.prompt_id {
        out.key(KeyKind::Prompt, Role::Provides, &prompt.decode());
    }
    prompt_facts(&texts, out);
    for text in &texts {
        emit_returns(text, &team, false, at, out);
    }
}

/// Hashes, flags and preview of a prompt's texts: each block, what a wrapper holds, and all blocks together.
pub(crate) fn prompt_facts(texts: &[Cow<'_, str>], out: &mut Sink<'_>) {
    if texts.is_empty() {
        // An image or a document is something said, too.
        out.flag(EventFlags::HAS_TEXT);
    }
    for text in texts {
        out.flag(message_flags(text));
        if !without_reminders(text).trim().is_empty() {
            out.flag(EventFlags::HAS_TEXT);
        }
        let (inner, summary) = unwrap_teammate(text).unwrap_or((text, ""));
        if let Some(hash) = text_hash(inner) {
            out.key(KeyKind::PromptHash, Role::Provides, &hash);
        }
        out.text(AttrName::Description, summary);
    }
    if texts.len() > 1
        && let Some(hash) = text_hash(&texts.concat())
    {
        out.key(KeyKind::PromptHash, Role::Provides, &hash);
    }
    if let Some(shown) = texts.iter().map(|text| shown_text(text)).find(|text| !text.is_empty()) {
        out.message_preview(&shown);
    }
}

fn assistant(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let message = &line.message;
    head(line, EventKind::ModelCall, at, out);
    let model = text_of(message.model);
    out.name(&model);
    match message.id {
        Some(id) => {
            out.key(KeyKind::Message, Role::Provides, &id.decode());
            // Sources that know only the request meet the message by it.
            out.key(KeyKind::Request, Role::Refers, &text_of(line.request));
        }
        None => _ = out.key(KeyKind::Request, Role::Provides, &text_of(line.request)),
    }
    let mut flags = EventFlags::none();
    flags.set_if(model == "<synthetic>", EventFlags::SYNTHETIC);
    flags.set_if(line.is_api_error == Some(true), EventFlags::API_ERROR);
    let texts = || message.blocks.iter().filter(|b| b.kind == BlockKind::Text).filter_map(|b| b.text);
    flags.set_if(texts().next().is_some(), EventFlags::HAS_TEXT);
    flags.set_if(message.blocks.iter().any(|b| b.kind == BlockKind::ToolUse), EventFlags::HAS_TOOL_USE);
    out.flag(flags);
    if let Some(usage) = message.usage {
        out.usage(usage.buckets());
    }
    if let Some(reason) = message.stop_reason {
        out.text(AttrName::StopReason, &reason.decode_start(64));
    }
    if let Some(kind) = line.attribution_agent {
        out.text(AttrName::AgentType, &kind.decode_start(128));
    }
    let in_agent = line.agent.is_some() || line.is_sidechain == Some(true) || !out.stream().agent.is_empty();
    if in_agent {
        for hash in texts().filter_map(|text| text_hash(&text.decode())) {
            out.key(KeyKind::AnswerHash, Role::Provides, &hash);
        }
    }
    if out.wants_text()
        && let Some(text) = texts().next()
    {
        out.text(AttrName::Preview, &preview(&text.decode_start(PREVIEW_SOURCE_BYTES)));
    }
    for block in message.blocks.iter().filter(|block| block.kind == BlockKind::ToolUse) {
        tool_call(block, at, out);
    }
}

fn tool_call(block: &Block<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let input = ToolInput::read(block.input.unwrap_or_default(), out);
    input.emit(&text_of(block.id), &text_of(block.name), at, out);
}

fn system(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let subtype = text_of(line.subtype);
    match subtype.as_ref() {
        "compact_boundary" | "microcompact_boundary" => {
            head(line, EventKind::Compaction, at, out);
            out.name(&subtype);
            if let Some(ms) = line.compact.and_then(|compact| compact.duration_ms) {
                out.int(AttrName::DurationMs, ms);
            }
        }
        // Figures about a turn, not something that happened in it.
        "turn_duration" | "stop_hook_summary" => context(line, at, out),
        _ => {
            head(line, EventKind::System, at, out);
            out.name(if subtype.is_empty() { "system" } else { &subtype });
            if matches!(subtype.as_ref(), "api_error" | "api_refusal" | "error") {
                out.flag(EventFlags::API_ERROR);
            }
            if out.wants_text() {
                out.text(AttrName::Preview, &json_text_preview(line.content));
                out.text(AttrName::ErrorText, &error_preview(line.error));
            }
            let known = ["", "local_command", "api_error", "away_summary", "model_refusal_fallback"];
            if !known.contains(&subtype.as_ref()) {
                out.issue(Code::UnknownType, &format!("system/{subtype}"));
            }
        }
    }
}

fn json_text_preview(raw: Option<&[u8]>) -> String {
    let Some(raw) = raw else { return String::new() };
    let mut json = Json::new(raw);
    match json.kind() {
        Ok(Kind::String) => json
            .string()
            .ok()
            .flatten()
            .map(|text| preview(&text.decode_start(PREVIEW_SOURCE_BYTES)))
            .unwrap_or_default(),
        Ok(Kind::Object) => {
            let mut message = None;
            let _ = json.object(|json, key| {
                match key {
                    b"message" | b"formatted" => message = json.string()?.or(message),
                    _ => json.skip()?,
                }
                Ok(())
            });
            message.map(|text: RawStr<'_>| preview(&text.decode_start(512))).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Status, type and message of an error, wherever they lie in it: errors of the API stand inside those of the client.
#[derive(Default)]
struct ErrorFacts<'a> {
    status: Option<i64>,
    kind: Option<RawStr<'a>>,
    message: Option<RawStr<'a>>,
}

/// Errors inside each other that are looked into.
const ERROR_DEPTH: usize = 4;

impl<'a> ErrorFacts<'a> {
    fn read(&mut self, raw: &'a [u8], depth: usize) -> Result<(), Malformed> {
        let mut inner = None;
        Json::new(raw).object(|json, key| {
            match key {
                b"status" => self.status = json.integer()?.or(self.status),
                b"type" => self.kind = json.string()?.filter(|kind| kind.raw != b"error").or(self.kind),
                b"message" | b"formatted" => self.message = json.string()?.or(self.message),
                b"error" => inner = Some(json.raw()?),
                _ => json.skip()?,
            }
            Ok(())
        })?;
        let inner = inner.filter(|raw| raw.starts_with(b"{") && depth < ERROR_DEPTH);
        inner.map_or(Ok(()), |raw| self.read(raw, depth + 1))
    }
}

fn error_preview(raw: Option<&[u8]>) -> String {
    let Some(raw) = raw.filter(|raw| raw.starts_with(b"{")) else { return json_text_preview(raw) };
    let mut facts = ErrorFacts::default();
    // What could be read before a broken part is shown.
    let _ = facts.read(raw, 0);
    let message = facts.message.map(|text| text.decode_start(PREVIEW_SOURCE_BYTES)).unwrap_or_default();
    let kind = facts.kind.map(|kind| kind.decode_start(64)).unwrap_or_default();
    let status = facts.status.map(|status| status.to_string()).unwrap_or_default();
    let unsaid = |part: &&str| !part.is_empty() && !message.contains(*part);
    let head = [status.as_str(), kind.as_ref()].into_iter().filter(unsaid).collect::<Vec<_>>().join(" ");
    let between = if head.is_empty() || message.is_empty() { "" } else { ": " };
    preview(&format!("{head}{between}{message}"))
}

fn progress(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    // The entry embeds copies of the agent's messages with their usage; only the link is taken from it.
    let (Some(call), Some(agent)) = (line.parent_tool_use, line.data.and_then(|data| data.agent)) else {
        context(line, at, out);
        return;
    };
    head(line, EventKind::SpawnLink, at, out);
    out.source(LinkSource::Progress).flag(EventFlags::COPY);
    out.key(KeyKind::ToolUse, Role::Refers, &call.decode()).key(
        KeyKind::Agent,
        Role::Provides,
        &agent.decode(),
    );
}

fn attachment(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let attached = line.attachment.unwrap_or_default();
    match attached.kind.map(|kind| kind.raw) {
        Some(b"hook_blocking_error" | b"hook_non_blocking_error") => {
            head(line, EventKind::Hook, at, out);
            out.name(&text_of(attached.hook_name)).flag(EventFlags::ERROR);
        }
        Some(b"queued_command") => {
            let texts = prompt_texts(attached.prompt);
            head(line, EventKind::UserMessage, at, out);
            prompt_facts(&texts, out);
            for text in &texts {
                emit_returns(text, &text_of(line.team), false, at, out);
            }
        }
        _ => context(line, at, out),
    }
}

/// The texts of a prompt that is a string or a list of blocks.
fn prompt_texts(raw: Option<&[u8]>) -> Vec<Cow<'_, str>> {
    let mut texts = Vec::new();
    let Some(raw) = raw else { return texts };
    let mut json = Json::new(raw);
    match json.kind() {
        Ok(Kind::String) => texts.extend(json.string().ok().flatten().map(RawStr::decode)),
        Ok(Kind::Array) => {
            let _ = json.array(|json| {
                if json.kind()? != Kind::Object {
                    return json.skip();
                }
                json.object(|json, key| {
                    match key {
                        b"text" => texts.extend(json.string()?.map(RawStr::decode)),
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

fn title(line: &Line<'_>, rank: i64, at: Timestamp, out: &mut Sink<'_>) {
    head(line, EventKind::SessionInfo, at, out);
    if let Some(leaf) = line.leaf {
        out.key(KeyKind::Uuid, Role::Refers, &leaf.decode());
    }
    out.text(AttrName::Title, &line.title.map(|t| preview(&t.decode_start(512))).unwrap_or_default());
    out.int(AttrName::TitleRank, rank);
}

fn queue(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let Some(text) = line.content.and_then(|raw| Json::new(raw).string().ok().flatten()) else { return };
    if memchr::memmem::find(text.raw, b"<task-notification>").is_some() {
        head(line, EventKind::Context, at, out);
        emit_returns(&text.decode(), "", true, at, out);
    }
}

/// The client's own sum of tokens, to check ours against.
fn ledger(line: &Line<'_>, at: Timestamp, out: &mut Sink<'_>) {
    let Some(raw) = line.ledger else { return };
    let mut sums = [0_i64; 4];
    let mut odd = Oddities::default();
    let _ = odd.object(&mut Json::new(raw), b"modelUsage", &mut None, |odd, json, key, ()| {
        let mut counts = None::<[Option<i64>; 4]>;
        odd.object(json, key, &mut counts, |odd, json, key, counts| match key {
            b"inputTokens" => odd.integer(json, key, &mut counts[0]),
            b"cacheReadInputTokens" => odd.integer(json, key, &mut counts[1]),
            b"cacheCreationInputTokens" => odd.integer(json, key, &mut counts[2]),
            b"outputTokens" => odd.integer(json, key, &mut counts[3]),
            _ => json.skip(),
        })?;
        for (sum, count) in sums.iter_mut().zip(counts.unwrap_or_default()) {
            *sum = sum.saturating_add(count.unwrap_or(0).max(0));
        }
        Ok(())
    });
    odd.report(out);
    head(line, EventKind::SessionInfo, at, out);
    out.name("ledger");
    for (name, value) in [
        (AttrName::LedgerInput, sums[0]),
        (AttrName::LedgerCacheRead, sums[1]),
        (AttrName::LedgerCacheWrite, sums[2]),
        (AttrName::LedgerOutput, sums[3]),
    ] {
        out.int(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::error_preview;

    #[test]
    fn an_error_says_what_kind_it_is_and_why() {
        let shown = |raw: &str| error_preview(Some(raw.as_bytes()));
        let nested = r#"{"status":429,"headers":{"type":"x"},"error":{"type":"error","error":
            {"type":"rate_limit_error","message":"Too many tokens."}},"type":"rate_limit_error"}"#;
        assert_eq!(shown(nested), "429 rate_limit_error: Too many tokens.");
        assert_eq!(shown(r#"{"message":"429 slow down","status":429}"#), "429 slow down");
        assert_eq!(shown(r#"{"status":529,"type":"overloaded_error"}"#), "529 overloaded_error");
        assert_eq!(shown(r#""plain words""#), "plain words");
        assert_eq!(shown(r#"{"error":"cut"#), "");
    }
}
