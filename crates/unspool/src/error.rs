//! What can go wrong at the rim: one line, a hint when the user can act, and an exit code.

use std::io;
use std::process::ExitCode;

/// An error as the user meets it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("nothing to read: {0}")]
    NothingFound(String),
    #[error("no format recognised: {0}")]
    NotRecognised(String),
    #[error("no format recognised: {0}")]
    NoFormat(String),
    #[error("{path} holds {count} files; inspect takes one")]
    NotOneFile { path: String, count: usize },
    #[error("cannot read {path}: {why}")]
    Unreadable { path: String, why: String },
    #[error("no session matches `{0}`")]
    NoSuchSession(String),
    #[error("`{prefix}` matches {} sessions", candidates.len())]
    AmbiguousSession { prefix: String, candidates: Vec<String> },
    #[error("`{wanted}` matches {} things", candidates.len())]
    AmbiguousThing { wanted: String, candidates: Vec<String> },
    #[error("nothing in session {session} matches `{wanted}`")]
    NoSuchThing { session: String, wanted: String },
    #[error("session {session} has no {what} `{wanted}`")]
    NoSuchPart { session: String, what: &'static str, wanted: String, candidates: Vec<String> },
    #[error("no agent matches `{wanted}`")]
    NoSuchAgent { wanted: String, candidates: Vec<String> },
    #[error("no run `{0}` in the chosen sessions")]
    NoSuchRun(String),
    #[error("`{change}` changes nothing: no step of the path's scope is like that")]
    NoSuchChange { change: String, candidates: Vec<String> },
    #[error("{path} holds {} sessions; diff takes one on each side", candidates.len())]
    NotOneSession { path: String, candidates: Vec<String> },
    #[error("there is no finder `{wanted}`")]
    NoSuchFinder { wanted: String, candidates: Vec<String> },
    #[error("no record with id {0}")]
    NoSuchRecord(String),
    #[error("query: {why}")]
    Query { why: String, pointed: Vec<String>, hint: String },
    #[error("configuration {path}: {why}")]
    Config { path: String, why: String },
    #[error("{why}")]
    Usage { why: String, hint: &'static str },
    #[error("{why}")]
    Data { why: String, hint: Option<String> },
    #[error("cannot start {program}: {why}")]
    NotStarted { program: String, why: io::Error },
    #[error("cannot write {path}: {why}")]
    Unwritable { path: String, why: String },
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write the answer: {0}")]
    Json(#[from] serde_json::Error),
}

impl CliError {
    fn hint(&self) -> Option<&str> {
        Some(match self {
            CliError::NothingFound(_) => {
                "give a file or folder (`unspool ls PATH`), set CLAUDE_CONFIG_DIR, or try `unspool demo`"
            }
            CliError::NotRecognised(_) => "`unspool inspect FILE` shows what each format made of it",
            CliError::NoFormat(_) => "docs/formats.md lists what is read",
            CliError::NotOneFile { .. } => "`unspool doctor PATH` examines a folder",
            CliError::Unreadable { .. } => "check that the path exists and that you may read it",
            CliError::NoSuchSession(_) => {
                "`unspool ls` lists sessions; an id, a unique start of one, or a path works"
            }
            CliError::AmbiguousSession { .. } => "give more letters of the id",
            CliError::AmbiguousThing { .. } => {
                "give more of the id, an id from this list, or the session's id instead of a path"
            }
            CliError::NoSuchThing { .. } => {
                "an id of a step or agent, a tool_use id, a message id, a uuid or an agent's native id works; \
                 `unspool export --format json` lists them"
            }
            CliError::NoSuchPart { .. } => {
                "name a run by its number from 1 or its id, an agent by its id, type or name"
            }
            CliError::NoSuchAgent { .. } => "a part of an agent's type, name or id works",
            CliError::NoSuchRun(_) => "`unspool process --json` lists the ids of runs",
            CliError::NoSuchChange { .. } => {
                "tool:NAME takes a whole name, model:NAME and agent:NAME a part of one; `unspool stats --by tool` lists them"
            }
            CliError::NotOneSession { .. } => "name them by id: `unspool diff ID ID --in PATH`",
            CliError::NoSuchFinder { .. } => "docs/findings.md says what each finder looks for",
            CliError::NoSuchRecord(_) => "record ids stand in `witnesses` and `evidence` of the JSON export",
            CliError::Query { hint, .. } => hint,
            CliError::Config { .. } => "docs/configuration.md lists every setting",
            CliError::Usage { hint, .. } => hint,
            CliError::Data { hint, .. } => return hint.as_deref(),
            CliError::NotStarted { .. } => "check its name and that it can be run",
            CliError::Unwritable { .. } => "check that the folder exists and that you may write there",
            CliError::Output(_) | CliError::Json(_) => return None,
        })
    }

    /// What the user may have meant, or typed.
    fn candidates(&self) -> &[String] {
        match self {
            CliError::AmbiguousSession { candidates, .. }
            | CliError::AmbiguousThing { candidates, .. }
            | CliError::NotOneSession { candidates, .. }
            | CliError::NoSuchPart { candidates, .. }
            | CliError::NoSuchAgent { candidates, .. }
            | CliError::NoSuchChange { candidates, .. }
            | CliError::NoSuchFinder { candidates, .. } => candidates,
            CliError::Query { pointed, .. } => pointed,
            _ => &[],
        }
    }

    /// Prints the error and gives the exit code. A reader that went away is no error.
    pub(crate) fn report(&self) -> ExitCode {
        let broken_pipe = match self {
            CliError::Output(error) => error.kind() == io::ErrorKind::BrokenPipe,
            CliError::Json(error) => error.io_error_kind() == Some(io::ErrorKind::BrokenPipe),
            _ => false,
        };
        if broken_pipe {
            return ExitCode::SUCCESS;
        }
        crate::term::error_line(&self.to_string(), self.candidates(), self.hint());
        ExitCode::from(match self {
            CliError::Config { .. }
            | CliError::Query { .. }
            | CliError::Usage { .. }
            | CliError::NoSuchPart { .. }
            | CliError::NoSuchAgent { .. }
            | CliError::NoSuchRun(_)
            | CliError::NoSuchChange { .. }
            | CliError::NoSuchFinder { .. } => 2,
            // As shells say it.
            CliError::NotStarted { why, .. } if why.kind() == io::ErrorKind::NotFound => 127,
            CliError::NotStarted { .. } => 126,
            _ => 1,
        })
    }
}
