//! What a tool call is for, as far as its input says. Formats find the fields; what to tell of them stands here once.

use crate::sink::Sink;
use unspool_model::prompt::text_hash;
use unspool_model::{AttrName, EventFlags, KeyKind, Role};

/// Fields that show what a call does, in the spellings of all agents, the best first: a pattern says more than the path it is
/// looked for in.
const SUBJECTS: &[&str] = &[
    "command",
    "cmd",
    "CommandLine",
    "pattern",
    "query",
    "Query",
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "AbsolutePath",
    "TargetFile",
    "target_file",
    "absolute_path",
    "DirectoryPath",
    "dir_path",
    "url",
    "Url",
    "skill",
    "code",
    "subject",
    "task_id",
    "taskId",
    "plan",
    "name",
];

/// How many there are.
pub(crate) const SUBJECT_COUNT: usize = SUBJECTS.len();

/// How well a field shows what a call does: 0 is best, and most fields do not.
pub(crate) fn subject_rank(key: &[u8]) -> Option<usize> {
    SUBJECTS.iter().position(|subject| subject.as_bytes() == key)
}

/// What a call asks for. Texts that are shown are short already.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    /// All of what an agent is told; empty for other tools.
    pub(crate) prompt: &'a str,
    pub(crate) agent_type: String,
    pub(crate) agent_name: String,
    pub(crate) description: String,
    /// What shows best what the call does.
    pub(crate) subject: String,
    /// It does not wait for its result.
    pub(crate) is_async: bool,
}

impl Asked<'_> {
    /// Adds it to the open event.
    pub(crate) fn emit(&self, out: &mut Sink<'_>) {
        if self.is_async {
            out.flag(EventFlags::ASYNC);
        }
        if let Some(hash) = text_hash(self.prompt) {
            out.key(KeyKind::PromptHash, Role::Provides, &hash);
        }
        out.text(AttrName::AgentType, &self.agent_type);
        let asks_agent = !self.agent_type.is_empty() || !self.prompt.is_empty();
        if asks_agent {
            out.text(AttrName::AgentName, &self.agent_name);
        }
        if !self.prompt.is_empty() || out.wants_text() {
            out.text(AttrName::Description, &self.description);
        }
        if out.wants_text() {
            out.text(AttrName::Summary, &self.subject);
        }
    }
}
