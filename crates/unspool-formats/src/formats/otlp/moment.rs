//! Moments that an instrument writes as spans: `BeeAI` tells that a call of a model or tool began, succeeded or ended, and what an
//! agent thinks meanwhile, each as a span of its own.
//!
//! In: a span. Out: what it is a moment of. Such spans all end when the trace is written, which says nothing about what they tell.

use super::reading::SpanRole;
use super::span::{Span, family};
use unspool_model::{EventFlags, EventKind};

/// One moment in the course of something.
pub(crate) struct Moment {
    /// What it happened to, such as `tool.search.wikipedia`.
    pub(crate) path: String,
    /// What happened: `start`, `success`, `finish`, `error`, `update`, …
    pub(crate) word: String,
}

impl Moment {
    /// The moment a span tells. It is called `PATH.WORD-N`; its `target` is the path and the word, unless so many attributes came
    /// before it that it was cut off.
    pub(crate) fn of(span: &Span<'_>) -> Option<Moment> {
        if !span.attrs.has(family::OPENINFERENCE) {
            return None;
        }
        let (event, number) = span.name.rsplit_once('-')?;
        let (path, word) = event.rsplit_once('.')?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let is_cut_off = || {
            let begins = ["agent.", "tool.", "backend."].iter().any(|start| path.starts_with(start));
            begins && matches!(word, "start" | "success" | "finish" | "error")
        };
        let is_stated = span.attrs.text(&["target"]).map_or_else(is_cut_off, |target| target == event);
        is_stated.then(|| Moment { path: path.into(), word: word.into() })
    }

    /// The last part of the path, which is what a tool is called.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Whether a span of that role is told from its beginning to its end by moments. Others are told by a span around them.
    pub(crate) fn has_course(role: SpanRole) -> bool {
        matches!(role, SpanRole::Model | SpanRole::Tool | SpanRole::Embedding | SpanRole::Retrieval)
    }

    /// What a moment of something of that role witnesses.
    pub(crate) fn witnesses(&self, role: SpanRole, kind: EventKind) -> (EventKind, EventFlags) {
        match self.word.as_str() {
            "start" if Moment::has_course(role) => (kind, EventFlags::BEGUN),
            _ if role == SpanRole::Tool => (EventKind::ToolResult, EventFlags::none()),
            _ if Moment::has_course(role) => (kind, EventFlags::none()),
            // Something went wrong and may have been tried again: a step of its own.
            "error" | "retry" => (kind, EventFlags::none()),
            _ => (kind, EventFlags::MOMENT),
        }
    }
}

/// Whether a span stands for a group of moments, so that its end says nothing either.
pub(crate) fn is_group(span: &Span<'_>) -> bool {
    span.attrs.has(family::OPENINFERENCE) && span.attrs.text(&["target"]).as_deref() == Some("groupId")
}
