//! The way from records back to their bytes.
//!
//! In: the batch that was read, and its records. Out: their bytes, exactly. Never here: what they mean.

use crate::packed;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use tempfile::SpooledTempFile;
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

    /// All bytes of a source, unpacked.
    pub fn whole(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.paths.get(name).ok_or_else(|| io::Error::other("the source is gone"))?;
        let mut bytes = Vec::new();
        packed::open(File::open(path)?)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads many records. Files stay open for a while, so that going back and forth costs little.
    pub fn reader<'a>(&'a self, batch: &'a Batch) -> NativeReader<'a> {
        NativeReader { natives: self, batch, open: Vec::new(), bytes: Vec::new() }
    }
}

/// Files that stay open.
const MAX_OPEN: usize = 8;

/// Gives records' bytes back, one after the other.
pub struct NativeReader<'a> {
    natives: &'a Natives,
    batch: &'a Batch,
    /// The one used last is the last.
    open: Vec<Open>,
    bytes: Vec<u8>,
}

struct Open {
    stream: u32,
    source: Source,
}

/// A file as it is, or what a packed one unpacks to.
enum Source {
    Plain(Plain),
    Packed(Unpacked),
}

impl NativeReader<'_> {
    /// A record's bytes, exactly as they lie in its source.
    pub fn bytes(&mut self, record: &Record) -> io::Result<&[u8]> {
        if record.len == u32::MAX {
            return Err(io::Error::other("the record is too long to be given back in one piece"));
        }
        let known = self.open.iter().position(|open| open.stream == record.stream);
        let mut open = match known {
            Some(at) => self.open.remove(at),
            None => self.open(record.stream)?,
        };
        self.bytes.resize(record.len as usize, 0);
        match &mut open.source {
            Source::Plain(file) => file.read(record.offset, &mut self.bytes)?,
            Source::Packed(file) => file.read(record.offset, &mut self.bytes)?,
        }
        self.open.push(open);
        if self.open.len() > MAX_OPEN {
            self.open.remove(0);
        }
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
        let source = if packed::is_packed(&head[..count]) {
            Source::Packed(Unpacked::new(packed::open(file)?))
        } else {
            Source::Plain(Plain { file: BufReader::new(file), at: 0 })
        };
        Ok(Open { stream, source })
    }
}

struct Plain {
    file: BufReader<File>,
    at: u64,
}

impl Plain {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let distance = i128::from(offset) - i128::from(self.at);
        self.file.seek_relative(i64::try_from(distance).map_err(io::Error::other)?)?;
        self.file.read_exact(bytes)?;
        self.at = offset + bytes.len() as u64;
        Ok(())
    }
}

/// A packed file, unpacked once and only as far as it was asked for.
struct Unpacked {
    rest: Box<dyn Read + Send>,
    so_far: SpooledTempFile,
    len: u64,
}

impl Unpacked {
    /// What is kept in memory; more goes into a file.
    const MEMORY_BYTES: usize = 4 << 20;

    fn new(rest: Box<dyn Read + Send>) -> Unpacked {
        Unpacked { rest, so_far: SpooledTempFile::new(Unpacked::MEMORY_BYTES), len: 0 }
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        if let Some(more) = end.checked_sub(self.len) {
            self.so_far.seek(SeekFrom::Start(self.len))?;
            let unpacked = io::copy(&mut (&mut self.rest).take(more), &mut self.so_far);
            // What came out before damage is there all the same.
            self.len = self.so_far.stream_position()?;
            unpacked?;
        }
        self.so_far.seek(SeekFrom::Start(offset))?;
        self.so_far.read_exact(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Unpacked;
    use crate::{Progress, discover, read};
    use std::fs;
    use std::io::{self, Read};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
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

    /// Counts how much is read of it.
    struct Counted(io::Cursor<Vec<u8>>, Arc<AtomicUsize>);

    impl Read for Counted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read(buffer)?;
            self.1.fetch_add(count, Ordering::Relaxed);
            Ok(count)
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_once_and_no_further_than_needed() {
        let text: Vec<u8> = (0..=255).cycle().take(Unpacked::MEMORY_BYTES + 1000).collect();
        let read = Arc::new(AtomicUsize::new(0));
        let mut unpacked = Unpacked::new(Box::new(Counted(io::Cursor::new(text.clone()), Arc::clone(&read))));
        let last = text.len() - 7;
        for (offset, most) in [(500, 507), (20, 507), (0, 507), (last, text.len()), (3, text.len())] {
            let mut bytes = [0; 7];
            unpacked.read(offset as u64, &mut bytes).unwrap();
            assert_eq!(bytes, text[offset..offset + 7]);
            assert_eq!(read.load(Ordering::Relaxed), most);
        }
        assert!(unpacked.read(last as u64 + 1, &mut [0; 7]).is_err());
        unpacked.read(last as u64, &mut [0; 7]).unwrap();
    }
}
