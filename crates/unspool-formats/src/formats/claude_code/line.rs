//! One transcript line: the fields that mean something, borrowed from the line.

use super::message::Message;
use super::tool::ToolOutcome;
use crate::fields::Oddities;
use crate::format::{Rejected, rejection};
use crate::json::{Json, Malformed, RawStr};

/// The fields of a line. Everything is optional.
#[derive(Default)]
pub(super) struct Line<'a> {
    pub kind: Option<RawStr<'a>>,
    pub subtype: Option<RawStr<'a>>,
    pub uuid: Option<RawStr<'a>>,
    pub parent: Option<RawStr<'a>>,
    pub logical_parent: Option<RawStr<'a>>,
    pub session: Option<RawStr<'a>>,
    pub timestamp: Option<RawStr<'a>>,
    pub agent: Option<RawStr<'a>>,
    pub version: Option<RawStr<'a>>,
    pub cwd: Option<RawStr<'a>>,
    pub request: Option<RawStr<'a>>,
    pub team: Option<RawStr<'a>>,
    pub agent_name: Option<RawStr<'a>>,
    pub prompt_id: Option<RawStr<'a>>,
    pub leaf: Option<RawStr<'a>>,
    pub parent_tool_use: Option<RawStr<'a>>,
    pub attribution_agent: Option<RawStr<'a>>,
    pub denial: Option<RawStr<'a>>,
    /// Text of `summary`, `aiTitle`, `customTitle`, whichever the type has.
    pub title: Option<RawStr<'a>>,
    /// `content` at the top level, as system and queue entries have it.
    pub content: Option<&'a [u8]>,
    pub error: Option<&'a [u8]>,
    pub is_sidechain: Option<bool>,
    pub is_meta: Option<bool>,
    pub is_compact_summary: Option<bool>,
    pub is_api_error: Option<bool>,
    pub origin: Option<Origin<'a>>,
    pub forked_from: Option<ForkedFrom<'a>>,
    pub message: Message<'a>,
    pub outcome: ToolOutcome<'a>,
    pub data: Option<Data<'a>>,
    pub attachment: Option<Attachment<'a>>,
    pub compact: Option<Compact>,
    pub ledger: Option<&'a [u8]>,
    pub oddities: Oddities<'a>,
}

/// `data` of progress entries.
#[derive(Default, Clone, Copy)]
pub(super) struct Data<'a> {
    pub kind: Option<RawStr<'a>>,
    pub agent: Option<RawStr<'a>>,
}

/// `attachment` entries.
#[derive(Default, Clone, Copy)]
pub(super) struct Attachment<'a> {
    pub kind: Option<RawStr<'a>>,
    pub prompt: Option<&'a [u8]>,
    pub hook_name: Option<RawStr<'a>>,
}

/// `origin`: who a message is from.
#[derive(Default, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub kind: Option<RawStr<'a>>,
}

/// `forkedFrom`: the session a branch was cut from.
#[derive(Default, Clone, Copy)]
pub(super) struct ForkedFrom<'a> {
    pub session: Option<RawStr<'a>>,
}

/// `compactMetadata`.
#[derive(Default, Clone, Copy)]
pub(super) struct Compact {
    pub duration_ms: Option<i64>,
}

/// Whether this version knows the entry type.
pub(super) fn known_type(kind: &[u8]) -> bool {
    matches!(
        kind,
        b"user"
            | b"assistant"
            | b"system"
            | b"progress"
            | b"attachment"
            | b"summary"
            | b"file-history-snapshot"
            | b"file-history-delta"
            | b"queue-operation"
            | b"last-prompt"
            | b"ai-title"
            | b"custom-title"
            | b"agent-name"
            | b"permission-mode"
            | b"mode"
            | b"pr-link"
            | b"frame-link"
            | b"worktree-state"
            | b"cost-state"
            | b"atis-latch"
            | b"relocated"
            | b"bridge-session"
    )
}

impl<'a> Line<'a> {
    /// Reads a record, or says why it is none.
    pub(super) fn read(record: &'a [u8]) -> Result<Line<'a>, Rejected> {
        let mut line = Line::default();
        let mut json = Json::new(record);
        line.fields(&mut json).and_then(|()| json.end()).map_err(|error| rejection(error, record))?;
        Ok(line)
    }

    fn fields(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        json.object(|json, key| {
            let odd = &mut self.oddities;
            match key {
                b"type" => odd.text(json, key, &mut self.kind),
                b"subtype" => odd.text(json, key, &mut self.subtype),
                b"uuid" => odd.text(json, key, &mut self.uuid),
                b"parentUuid" => odd.text(json, key, &mut self.parent),
                b"logicalParentUuid" => odd.text(json, key, &mut self.logical_parent),
                b"sessionId" => odd.text(json, key, &mut self.session),
                b"timestamp" => odd.text(json, key, &mut self.timestamp),
                b"agentId" => odd.text(json, key, &mut self.agent),
                b"version" => odd.text(json, key, &mut self.version),
                b"cwd" => odd.text(json, key, &mut self.cwd),
                b"requestId" => odd.text(json, key, &mut self.request),
                b"teamName" => odd.text(json, key, &mut self.team),
                b"agentName" => odd.text(json, key, &mut self.agent_name),
                b"promptId" => odd.text(json, key, &mut self.prompt_id),
                b"leafUuid" => odd.text(json, key, &mut self.leaf),
                b"parentToolUseID" => odd.text(json, key, &mut self.parent_tool_use),
                b"attributionAgent" => odd.text(json, key, &mut self.attribution_agent),
                b"toolDenialKind" => odd.text(json, key, &mut self.denial),
                b"summary" | b"aiTitle" | b"customTitle" => odd.text(json, key, &mut self.title),
                b"content" => odd.raw(json, key, &mut self.content),
                b"error" => odd.raw(json, key, &mut self.error),
                b"isSidechain" => odd.boolean(json, key, &mut self.is_sidechain),
                b"isMeta" => odd.boolean(json, key, &mut self.is_meta),
                b"isCompactSummary" => odd.boolean(json, key, &mut self.is_compact_summary),
                b"isApiErrorMessage" => odd.boolean(json, key, &mut self.is_api_error),
                b"modelUsage" => odd.raw(json, key, &mut self.ledger),
                b"message" => self.message.read(json, key, odd),
                b"toolUseResult" => self.outcome.read(json, key, odd),
                b"data" => odd.object(json, key, &mut self.data, |odd, json, key, data| match key {
                    b"type" => odd.text(json, key, &mut data.kind),
                    b"agentId" => odd.text(json, key, &mut data.agent),
                    _ => json.skip(),
                }),
                b"attachment" => {
                    odd.object(json, key, &mut self.attachment, |odd, json, key, to| match key {
                        b"type" => odd.text(json, key, &mut to.kind),
                        b"prompt" => odd.raw(json, key, &mut to.prompt),
                        b"hookName" => odd.text(json, key, &mut to.hook_name),
                        _ => json.skip(),
                    })
                }
                b"compactMetadata" => {
                    odd.object(json, key, &mut self.compact, |odd, json, key, to| match key {
                        b"durationMs" => odd.integer(json, key, &mut to.duration_ms),
                        _ => json.skip(),
                    })
                }
                b"origin" => odd.object(json, key, &mut self.origin, |odd, json, key, origin| match key {
                    b"kind" => odd.text(json, key, &mut origin.kind),
                    _ => json.skip(),
                }),
                b"forkedFrom" => {
                    odd.object(json, key, &mut self.forked_from, |odd, json, key, from| match key {
                        b"sessionId" => odd.text(json, key, &mut from.session),
                        _ => json.skip(),
                    })
                }
                _ => json.skip(),
            }
        })
    }

    /// The entry type, with its subtype where types have one.
    pub(super) fn type_name(&self) -> String {
        let sub = self.subtype.or(self.data.and_then(|data| data.kind));
        let sub = sub.or(self.attachment.and_then(|attachment| attachment.kind));
        let kind = self.kind.map_or("(none)".into(), RawStr::decode);
        match sub {
            Some(sub) => format!("{kind}/{}", sub.decode()),
            None => kind.into_owned(),
        }
    }
}
