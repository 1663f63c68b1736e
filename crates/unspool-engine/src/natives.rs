//! The way from records back to their bytes.
//!
//! In: the batch that was read, and its records. Out: their bytes, exactly. Never here: what they mean.

use crate::packed;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use unspool_model::{Batch, Record};

/// Where native bytes lie.
pub struct Natives {
    paths: BTreeMap<String, PathBuf>,
    /// Standard input, kept so that its bytes can be given back.
    _spool: Option<tempfile::NamedTempFile>,
}

impl Natives {
    pub(crate) fn new(paths: BTreeMap<String, PathBuf>, spool: Option<tempfile::NamedTempFile>) -> Natives {
        Natives { paths, _spool: spool }
    }

    /// Reads many records, opening a file once for records in a row.
    pub fn reader<'a>(&'a self, batch: &'a Batch) -> NativeReader<'a> {
        NativeReader { natives: self, batch, open: None, bytes: Vec::new() }
    }
}

/// Gives records' bytes back, one after the other.
pub struct NativeReader<'a> {
    natives: &'a Natives,
    batch: &'a Batch,
    open: Option<Open>,
    bytes: Vec<u8>,
}

struct Open {
    stream: u32,
    file: Source,
    at: u64,
}

/// A file as it is, or what a packed one unpacks to, which can only be read forward.
enum Source {
    Plain(BufReader<File>),
    Packed(Box<dyn Read + Send>),
}

impl NativeReader<'_> {
    /// A record's bytes, exactly as they lie in its source.
    pub fn bytes(&mut self, record: &Record) -> io::Result<&[u8]> {
        if record.len == u32::MAX {
            return Err(io::Error::other("the record is too long to be given back in one piece"));
        }
        let mut open = match self.open.take() {
            Some(open) if open.stream == record.stream && open.reaches(record.offset) => open,
            _ => self.open(record.stream)?,
        };
        let distance = i128::from(record.offset) - i128::from(open.at);
        let distance = i64::try_from(distance).map_err(io::Error::other)?;
        self.bytes.resize(record.len as usize, 0);
        match &mut open.file {
            Source::Plain(file) => {
                file.seek_relative(distance)?;
                file.read_exact(&mut self.bytes)?;
            }
            Source::Packed(file) => {
                io::copy(&mut file.take(distance.unsigned_abs()), &mut io::sink())?;
                file.read_exact(&mut self.bytes)?;
            }
        }
        open.at = record.offset + u64::from(record.len);
        self.open = Some(open);
        Ok(&self.bytes)
    }

    fn open(&self, stream: u32) -> io::Result<Open> {
        let row = self.batch.streams.get(stream as usize).copied().unwrap_or_default();
        let path = self.natives.paths.get(self.batch.text.get(row.name));
        let path = path.ok_or_else(|| io::Error::other("the record's source is gone"))?;
        let mut file = File::open(path)?;
        let mut head = [0; packed::HEAD_BYTES];
        let count = file.read(&mut head)?;
        file.seek(SeekFrom::Start(0))?;
        let file = if packed::is_packed(&head[..count]) {
            Source::Packed(packed::open(file)?)
        } else {
            Source::Plain(BufReader::new(file))
        };
        Ok(Open { stream, file, at: 0 })
    }
}

impl Open {
    /// Whether a place can be gone to without opening the file anew.
    fn reaches(&self, offset: u64) -> bool {
        matches!(self.file, Source::Plain(_)) || offset >= self.at
    }
}

#[cfg(test)]
mod tests {
    use crate::{Progress, discover, read};
    use std::fs;
    use unspool_formats::Detail;

    fn line(uuid: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"sessionId\":\"s\",\"message\":{{\"content\":\"{uuid}\"}}}}"
        )
    }

    #[test]
    fn records_come_back_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        for (name, ids) in [("a.jsonl", ["a1", "a2", "a3"]), ("b.jsonl", ["b1", "b2", "b3"])] {
            fs::write(folder.path().join(name), ids.map(line).join("\n")).unwrap();
        }
        let found = discover(&[folder.path().to_path_buf()]);
        let reading = read(&found, Detail::Full, &Progress::default());
        assert_eq!(reading.batch.records.len(), 6);
        let mut reader = reading.natives.reader(&reading.batch);
        // Forward, backward, and from one file to the other.
        for n in [0, 1, 2, 3, 4, 5, 5, 4, 0, 5, 1, 3, 2] {
            let record = &reading.batch.records[n];
            let file = reading.batch.text.get(reading.batch.streams[record.stream as usize].name);
            let letter = if file.ends_with("a.jsonl") { "a" } else { "b" };
            let expected = line(&format!("{letter}{}", record.ordinal + 1));
            assert_eq!(reader.bytes(record).unwrap(), expected.as_bytes());
        }
        fs::remove_file(folder.path().join("a.jsonl")).unwrap();
        fs::remove_file(folder.path().join("b.jsonl")).unwrap();
        let mut gone = reading.natives.reader(&reading.batch);
        assert!(gone.bytes(&reading.batch.records[0]).is_err());
    }
}
