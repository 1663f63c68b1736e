//! Names of streams in the log.
//!
//! What arrives whole is a stream of its own, though many have the same name: `body/SOURCE/NAME`. A file comes in parts that follow each other:
//! `file/PATH`. What is sent in parts has a path that says where from, `SOURCE://NAME`, as no file has. Records name the stream of a body by the position it has in the log.

/// Where records come from, by the names that the list of sessions, the configuration and `db` use.
pub mod source {
    /// Files that are watched or read.
    pub const FILES: &str = "files";
    /// Files that somebody sends.
    pub const UPLOAD: &str = "upload";
    /// Events of hooks.
    pub const HOOKS: &str = "hooks";
    /// OTLP over HTTP.
    pub const OTLP_HTTP: &str = "otlp-http";
    /// OTLP over gRPC.
    pub const OTLP_GRPC: &str = "otlp-grpc";
    /// The emitter of `ThoughtFlow`.
    pub const THOUGHTFLOW: &str = "thoughtflow";
    /// What the proxy carried.
    pub const PROXY: &str = "proxy";
    /// What people said about links.
    pub const LINKS: &str = "links";
    /// All of them.
    pub const ALL: [&str; 8] = [FILES, UPLOAD, HOOKS, OTLP_HTTP, OTLP_GRPC, THOUGHTFLOW, PROXY, LINKS];
}

/// What a stream is, by its name in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort<'a> {
    /// Arrived whole: where from, and what it is called there.
    Body { source: &'a str, name: &'a str },
    /// A part of a file.
    File { path: &'a str },
}

impl<'a> Sort<'a> {
    pub(crate) fn of(stream: &'a str) -> Sort<'a> {
        match stream.split_once('/') {
            Some(("file", path)) => Sort::File { path },
            Some(("body", rest)) => {
                let (source, name) = rest.split_once('/').unwrap_or((rest, ""));
                Sort::Body { source, name }
            }
            _ => Sort::Body { source: "unknown", name: stream },
        }
    }

    /// The name that says what belongs together: the same for what is sent again, whenever that is.
    pub(crate) fn scope(self) -> &'a str {
        match self {
            Sort::Body { name, .. } => name,
            Sort::File { path } => path,
        }
    }

    /// Whether its name says where it lies, so that files beside it belong to it: by folders, or by an id that no other has. Anybody may send a
    /// `transcript.jsonl`.
    pub(crate) fn says_where(self) -> bool {
        /// A date and a time have fewer.
        const DIGITS_OF_AN_ID: usize = 16;
        let Sort::Body { name, .. } = self else { return true };
        let stem = name.split('.').next().unwrap_or(name).bytes().rev();
        let id = stem.take_while(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
        name.contains(['/', '\\']) || id.filter(u8::is_ascii_hexdigit).count() >= DIGITS_OF_AN_ID
    }

    /// The name its records know it by.
    pub(crate) fn shown(self, position: u64) -> String {
        match self {
            Sort::Body { source, name } => format!("{source}/{position}/{name}"),
            Sort::File { path } => path.to_string(),
        }
    }
}

/// The name in the log of what arrived whole.
pub(crate) fn body(source: &str, name: &str) -> String {
    format!("body/{source}/{name}")
}

/// The name in the log of a file.
pub(crate) fn file(path: &str) -> String {
    format!("file/{path}")
}

/// Where a stream came from, by the name its records know it by.
pub(crate) fn source(shown: &str) -> &str {
    match shown.split_once('/') {
        Some((source, _)) if position(shown).is_some() => source,
        _ => match shown.split_once("://") {
            Some((source, _)) if !source.contains(['/', '\\']) => source,
            _ => source::FILES,
        },
    }
}

/// The path of what is sent in parts.
pub fn sent_in_parts(source: &str, name: &str) -> String {
    format!("{source}://{name}")
}

/// The position in the name that records of a body know it by.
pub(crate) fn position(shown: &str) -> Option<u64> {
    shown.split('/').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Sort, sent_in_parts, source};

    #[test]
    fn some_names_say_where_their_file_lies() {
        for (name, says) in [
            ("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl", true),
            ("rollout-2026-01-02T10-11-12-0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl", true),
            ("a/b.jsonl", true),
            ("a\\b.jsonl", true),
            ("transcript.jsonl", false),
            ("2026-01-02-10-11-12.jsonl", false),
            ("", false),
        ] {
            assert_eq!(Sort::of(&format!("body/ingest/{name}")).says_where(), says, "{name}");
        }
        assert!(Sort::of("file/transcript.jsonl").says_where());
    }

    #[test]
    fn every_stream_says_where_it_came_from() {
        for (shown, from) in [
            ("hooks/7/hooks.jsonl", "hooks"),
            ("/home/a/.claude/s.jsonl", "files"),
            ("thoughtflow/s.jsonl", "files"),
            ("/tmp/x://y/s.jsonl", "files"),
            (sent_in_parts("thoughtflow", "s.jsonl").as_str(), "thoughtflow"),
            (sent_in_parts("thoughtflow", "7.jsonl (version 1)").as_str(), "thoughtflow"),
        ] {
            assert_eq!(source(shown), from, "{shown}");
        }
    }
}
