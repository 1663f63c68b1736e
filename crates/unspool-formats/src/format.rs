//! What a format is: a passive description, a nose, and a reader.

use crate::json::{Json, Malformed};
use crate::sink::Sink;
use unspool_model::{Code, Witness};

/// How a stream is cut into frames. A frame is a record, or its reader says which parts of it are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// One record per line.
    Lines,
    /// The whole stream is one text.
    Whole,
    /// The whole stream is one piece of bytes that are no text.
    Binary,
    /// One frame per field of a protobuf message, or per message with its length before it.
    Messages,
}

/// What a format is, as data.
#[derive(Debug)]
pub struct Descriptor {
    /// Stable id, used in exports (`claude-code-transcript`).
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Where the knowledge about the format comes from and when it was checked.
    pub evidence: &'static str,
    /// How close such a source stands to what it tells of.
    pub witness: Witness,
    /// Records lie in the order in which things happened; otherwise only their times say.
    pub in_order: bool,
}

/// A format's claim to a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sniff {
    /// 0 = not mine, 100 = certain.
    pub score: u8,
    /// How it would cut the stream.
    pub framing: Framing,
}

impl Sniff {
    /// Not this format.
    pub const NO: Sniff = Sniff { score: 0, framing: Framing::Lines };
}

/// What a stream's name says before any byte is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Streams of one conversation share it.
    pub container: String,
    /// The session the name speaks of.
    pub session: String,
    /// The agent the name speaks of.
    pub agent: String,
    /// The workflow run the name speaks of.
    pub workflow: String,
    /// Where the name places the stream among others, when nothing in them does (`01-prompt.json`, `02-call.json`).
    pub order: String,
}

/// Why a record could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// The issue that names the reason.
    pub code: Code,
    /// The record ended in the middle of a value.
    pub ended: bool,
}

/// One format. Adding one is a file with this trait, a fixture folder and a line in the registry.
pub trait Format: Sync {
    /// The passive description.
    fn descriptor(&self) -> &'static Descriptor;

    /// What a stream of this format may begin with and one of no other does: then no other is asked. Empty when there is nothing like that.
    fn opening(&self) -> &'static [u8] {
        b""
    }

    /// How sure the format is that a stream is its own, from its name and first bytes (which may be cut anywhere).
    fn sniff(&self, name: &str, head: &[u8]) -> Sniff;

    /// What the stream's name says.
    fn scope(&self, _name: &str) -> Scope {
        Scope::default()
    }

    /// The native type of a record, for `inspect`.
    fn record_type(&self, _record: &[u8]) -> String {
        "record".into()
    }

    /// A reader for one stream.
    fn open(&self) -> Box<dyn Reader>;
}

/// Reads one stream, frame by frame, in order. What it remembers of earlier frames is its own affair.
pub trait Reader {
    /// Reads one frame. Must not panic on any bytes; what is odd goes to the sink as issues.
    ///
    /// A frame is one record unless the reader names its parts with [`Sink::part`]; then each part is one.
    fn read(&mut self, frame: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected>;
}

/// Why a record that cannot be read as a JSON object is rejected.
pub(crate) fn rejection(error: Malformed, record: &[u8]) -> Rejected {
    let first = record.iter().find(|byte| !byte.is_ascii_whitespace());
    let mut whole = Json::new(record);
    let other_json = first != Some(&b'{') && whole.skip().and_then(|()| whole.end()).is_ok();
    Rejected { code: if other_json { Code::NotAnObject } else { Code::NotJson }, ended: error.ended }
}

/// The name of a file without its folders and the ending that says how it is written.
pub(crate) fn stem(name: &str) -> &str {
    let file = folder(name, 0);
    let endings = [".jsonl", ".ndjson", ".meta.json", ".json"];
    endings.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file)
}

/// The folder a file lies in, counted upwards from the file.
pub(crate) fn folder(name: &str, up: usize) -> &str {
    name.rsplit(['/', '\\']).nth(up).unwrap_or_default()
}
