//! The registry: one line per format, and a file or folder of that name beside this one.

use crate::format::Format;

macro_rules! formats {
    ($($module:ident :: $format:ident,)*) => {
        $(pub(crate) mod $module;)*

        /// Every format. Order matters only between equal scores: the first wins.
        pub static FORMATS: &[&dyn Format] = &[$(&$module::$format,)*];
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
}
