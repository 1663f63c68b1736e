//! What a report carries: a line of JSON that says what it is, and the bytes of its sources behind it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unspool_formats::Framing;
use unspool_link::Table;
use unspool_view::Prices;

/// The version of this layout; another one is not read.
const LAYOUT: u32 = 1;

/// What a report carries.
pub struct Container {
    /// What is said about it.
    pub cover: Cover,
    /// Its sources.
    pub streams: Vec<Stream>,
}

/// What is said about a report.
#[derive(Serialize, Deserialize)]
pub struct Cover {
    /// The version of the program that wrote it.
    pub version: String,
    /// When "running" was judged, in nanoseconds since 1970; none when nothing runs.
    pub as_of_ns: Option<i64>,
    /// Names and windows it was linked with.
    pub table: Table,
    /// What models cost.
    pub prices: Prices,
    /// Ids of its sessions. Its records may tell of others, too.
    pub sessions: Vec<String>,
    /// A line of a list for each of them.
    pub lines: Vec<Box<RawValue>>,
    /// Secrets that were masked, if somebody asked for that.
    pub masked: Option<Vec<Masked>>,
}

/// Secrets of one kind that were masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masked {
    /// The kind.
    pub kind: String,
    /// How many places.
    pub count: u64,
}

/// A source: a file or a body, or what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The name it is read by.
    pub name: String,
    /// The name its records know it by.
    pub shown: String,
    /// The format that reads it.
    pub format: String,
    /// How it is cut into records.
    pub framing: Framing,
    /// Ordinals of the records that count; all, if not said.
    pub only: Option<Vec<u32>>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Bytes that are no report, or not one of this version.
#[derive(Debug, thiserror::Error)]
#[error("the data of this report cannot be read: {0}")]
pub struct NotAReport(pub(crate) String);

#[derive(Serialize, Deserialize)]
struct Head {
    layout: u32,
    cover: Cover,
    streams: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    name: String,
    shown: String,
    format: String,
    framing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<Vec<u32>>,
    bytes: usize,
}

const FRAMINGS: [(Framing, &str); 4] = [
    (Framing::Lines, "lines"),
    (Framing::Whole, "whole"),
    (Framing::Binary, "binary"),
    (Framing::Messages, "messages"),
];

impl Container {
    /// As bytes.
    pub fn write(self) -> serde_json::Result<Vec<u8>> {
        let framing = |wanted: Framing| FRAMINGS.iter().find(|(known, _)| *known == wanted);
        let row = |stream: &Stream| Row {
            name: stream.name.clone(),
            shown: stream.shown.clone(),
            format: stream.format.clone(),
            framing: framing(stream.framing).map_or("", |(_, name)| name).into(),
            only: stream.only.clone(),
            bytes: stream.bytes.len(),
        };
        let rows = self.streams.iter().map(row).collect();
        let mut bytes = serde_json::to_vec(&Head { layout: LAYOUT, cover: self.cover, streams: rows })?;
        bytes.push(b'\n');
        for stream in self.streams {
            bytes.extend_from_slice(&stream.bytes);
        }
        Ok(bytes)
    }

    /// From bytes.
    pub fn read(bytes: &[u8]) -> Result<Container, NotAReport> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| odd("it has no first line"))?;
        let (line, mut rest) = (&bytes[..end], &bytes[end + 1..]);
        let head: Head = serde_json::from_slice(line).map_err(|error| odd(&error.to_string()))?;
        if head.layout != LAYOUT {
            return Err(odd(&format!("its layout is {}, not {LAYOUT}", head.layout)));
        }
        let mut streams = Vec::with_capacity(head.streams.len());
        for row in head.streams {
            let (own, others) = rest.split_at_checked(row.bytes).ok_or_else(|| odd("it is cut off"))?;
            rest = others;
            let framing = FRAMINGS.iter().find(|(_, name)| *name == row.framing);
            streams.push(Stream {
                name: row.name,
                shown: row.shown,
                format: row.format,
                framing: framing.ok_or_else(|| odd("a source is cut in an unknown way"))?.0,
                only: row.only,
                bytes: own.to_vec(),
            });
        }
        if rest.is_empty() {
            Ok(Container { cover: head.cover, streams })
        } else {
            Err(odd("it is too long"))
        }
    }
}

fn odd(why: &str) -> NotAReport {
    NotAReport(why.into())
}

#[cfg(test)]
mod tests {
    use super::{Container, Cover, Stream};
    use serde_json::value::RawValue;
    use unspool_formats::Framing;
    use unspool_link::Table;
    use unspool_view::Prices;

    const PRICE: &str = "[[price]]\nmodels = [\"one\"]\nfrom = \"2026-01-01\"\ninput = \"1\"\noutput = \"5\"\ncache_read = \"0.1\"\ncache_write = \"1.25\"\n";

    fn container() -> Container {
        let mut table = Table::default();
        table.session_gap_ms = 3000;
        let stream = |name: &str, framing, only, bytes: &[u8]| Stream {
            name: name.into(),
            shown: format!("{name} (version 1)"),
            format: "hooks".into(),
            framing,
            only,
            bytes: bytes.into(),
        };
        let cover = Cover {
            version: "0.1.0".into(),
            as_of_ns: Some(17),
            table,
            prices: Prices::default().with(PRICE).unwrap(),
            sessions: vec!["x1".into()],
            lines: vec![RawValue::from_string(r#"{"id":"x1"}"#.into()).unwrap()],
            masked: None,
        };
        let lines = stream("a\n\"b\".jsonl", Framing::Lines, None, b"{}\n\n{}\n");
        let binary = stream("b", Framing::Messages, Some(vec![1, 3]), &[0, 255, 10, 13]);
        Container { cover, streams: vec![lines, binary, stream("empty", Framing::Whole, None, b"")] }
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = container().write().unwrap();
        let read = Container::read(&bytes).unwrap();
        assert_eq!(read.streams, container().streams);
        assert_eq!(read.cover.sessions, container().cover.sessions);
        assert_eq!(read.cover.lines[0].get(), r#"{"id":"x1"}"#);
        assert_eq!(read.cover.as_of_ns, Some(17));
        assert_eq!(format!("{:?}", read.cover.table), format!("{:?}", container().cover.table));
        assert_eq!(format!("{:?}", read.cover.prices), format!("{:?}", container().cover.prices));
        assert_eq!(read.write().unwrap(), bytes);
    }

    #[test]
    fn what_is_cut_or_longer_or_of_another_layout_is_refused() {
        let bytes = container().write().unwrap();
        for end in 0..bytes.len() {
            assert!(Container::read(&bytes[..end]).is_err(), "cut at {end}");
        }
        let longer = [bytes.clone(), vec![0]].concat();
        assert!(Container::read(&longer).is_err());
        let text = String::from_utf8_lossy(&bytes).replace("\"layout\":1", "\"layout\":2");
        let why = Container::read(text.as_bytes()).err().unwrap().to_string();
        assert!(why.contains("layout is 2"), "{why}");
    }
}
