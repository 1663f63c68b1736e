//! The registry: one line per format (or family of formats), and a file or folder of that name beside this one.

use crate::format::Format;

macro_rules! formats {
    (@list [$($done:expr,)*]) => {
        /// Every format. Order matters only between equal scores: the first wins.
        pub static FORMATS: &[&dyn Format] = &[$($done,)*];
    };
    (@list [$($done:expr,)*] $module:ident :: { $($format:ident),* }, $($rest:tt)*) => {
        formats! { @list [$($done,)* $(&$module::$format,)*] $($rest)* }
    };
    (@list [$($done:expr,)*] $module:ident :: $format:ident, $($rest:tt)*) => {
        formats! { @list [$($done,)* &$module::$format,] $($rest)* }
    };
    ($($module:ident :: $format:tt,)*) => {
        $(pub(crate) mod $module;)*
        formats! { @list [] $($module :: $format,)* }
    };
}

formats! {
    claude_code::Transcript,
    claude_meta::Meta,
    claude_journal::Journal,
    claude_workflow::Workflow,
    claude_hooks::Hooks,
    thoughtflow::Events,
    thoughtflow_json::Consolidated,
    inference_log::InferenceLog,
    codex::Rollout,
    codex_tui::TuiLog,
    copilot::Copilot,
    gemini::Gemini,
    opencode::OpenCode,
    pi::Pi,
    qwen::Qwen,
    kimi::Kimi,
    antigravity::Antigravity,
    hermes::Hermes,
    kiro::Kiro,
    vibe::Vibe,
    cursor::Cursor,
    droid::Droid,
    grok::Grok,
    unspool_flow::FlowExport,
    unspool_link::Links,
    otlp::{OtlpJson, OtlpLogs, OtlpProtobuf, SpanList, SpanTree, ReadableSpans, PhoenixSpans, LangfuseTrace},
}

/// A record for people: its own bytes where they are text, otherwise what they say as JSON, and as a last resort what of them are letters.
pub fn readable(record: &[u8]) -> std::borrow::Cow<'_, str> {
    // Nearly all are text, which is seen much faster than mended.
    let text =
        || simdutf8::basic::from_utf8(record).map_or_else(|_| String::from_utf8_lossy(record), Into::into);
    otlp::plain(record).map_or_else(text, Into::into)
}
