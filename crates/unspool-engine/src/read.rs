//! Reading sources into one batch, on all cores, with bounded memory.

use crate::discover::{Found, Source};
use crate::natives::Natives;
use crate::packed;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, claim, note_cut, note_not_data, note_unreadable};
use unspool_model::Batch;

/// Bytes read at a time. Small enough to stay in a core's cache while it is decoded.
const CHUNK_BYTES: usize = 256 << 10;

/// How far reading has come, to be watched from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read so far.
    pub bytes: AtomicU64,
}

/// Everything read, and the way back to native bytes.
pub struct Reading {
    /// Records and events.
    pub batch: Batch,
    /// How many sources some format recognised.
    pub recognised: usize,
    /// Where native bytes lie.
    pub natives: Natives,
}

/// Reads everything found.
pub fn read(found: &Found, detail: Detail, progress: &Progress) -> Reading {
    let mut order: Vec<&Source> = found.sources.iter().collect();
    // The largest first, so that the last core does not start on it when all others are done.
    order.sort_by_key(|source| std::cmp::Reverse(source.bytes));
    let next = AtomicUsize::new(0);
    let workers =
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(order.len().max(1));
    let mut results: Vec<Worker> = std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..workers).map(|_| scope.spawn(|| work(&order, &next, detail, progress))).collect();
        // A reader that failed must not lose its files silently.
        let joined =
            |handle: ScopedJoinHandle<'_, Worker>| handle.join().unwrap_or_else(|why| resume_unwind(why));
        handles.into_iter().map(joined).collect()
    });
    // The batch with the most text takes the others in.
    results.sort_by_key(|worker| std::cmp::Reverse(worker.batch.text.len()));
    let mut results = results.into_iter();
    let mut all = results.next().unwrap_or_default();
    for worker in results {
        all.batch.append(worker.batch);
        all.recognised += worker.recognised;
        all.spool = all.spool.or(worker.spool);
    }
    for (name, why) in &found.unreadable {
        note_unreadable(&mut all.batch, name, why);
    }
    note_not_data(&mut all.batch, found.not_data);
    let mut paths: BTreeMap<String, PathBuf> =
        found.sources.iter().filter_map(|s| Some((s.name.clone(), s.path.clone()?))).collect();
    if let Some(spool) = &all.spool {
        paths.insert("-".into(), spool.path().to_path_buf());
    }
    let natives = Natives::new(paths, all.spool);
    Reading { batch: all.batch, recognised: all.recognised, natives }
}

#[derive(Default)]
struct Worker {
    batch: Batch,
    recognised: usize,
    spool: Option<tempfile::NamedTempFile>,
}

fn work(order: &[&Source], next: &AtomicUsize, detail: Detail, progress: &Progress) -> Worker {
    let mut worker = Worker::default();
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Some(source) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
        if let Err(error) = worker.source(source, &mut buffer, detail, progress) {
            note_unreadable(&mut worker.batch, &source.name, &error.to_string());
        }
    }
    worker
}

impl Worker {
    fn source(
        &mut self,
        source: &Source,
        buffer: &mut [u8],
        detail: Detail,
        progress: &Progress,
    ) -> io::Result<()> {
        if let Some(path) = &source.path {
            self.stream(&source.name, File::open(path)?, None, buffer, detail, progress)
        } else {
            let mut spool = tempfile::NamedTempFile::new()?;
            let file = spool.as_file_mut();
            let read = self.stream(&source.name, io::stdin(), Some(file), buffer, detail, progress);
            self.spool = Some(spool);
            read
        }
    }

    fn stream(
        &mut self,
        name: &str,
        input: impl Read + Send,
        mut copy: Option<&mut File>,
        buffer: &mut [u8],
        detail: Detail,
        progress: &Progress,
    ) -> io::Result<()> {
        let mut input = packed::open(input)?;
        let (mut filled, mut result) = fill(&mut input, buffer, SNIFF_BYTES);
        let head = &buffer[..filled.min(SNIFF_BYTES)];
        if head.is_empty() && result.is_err() {
            return result;
        }
        let Some((format, sniff)) = claim(&mut self.batch, name, head) else { return result };
        self.recognised += 1;
        let mut decoder = Decoder::new(&mut self.batch, format, sniff, name, detail);
        let mut bytes = 0;
        while filled > 0 {
            if let Some(copy) = &mut copy {
                copy.write_all(&buffer[..filled])?;
            }
            decoder.push(&buffer[..filled]);
            progress.bytes.fetch_add(filled as u64, Ordering::Relaxed);
            bytes += filled as u64;
            filled = 0;
            if result.is_ok() {
                match read_some(&mut input, buffer) {
                    Ok(count) => filled = count,
                    Err(error) => result = Err(error),
                }
            }
        }
        // What was read before an error still counts.
        decoder.finish();
        if let Err(error) = result {
            note_cut(&mut self.batch, name, bytes, &error.to_string());
        }
        Ok(())
    }
}

/// Reads at least `wanted` bytes unless the stream ends or breaks before.
fn fill(input: &mut dyn Read, buffer: &mut [u8], wanted: usize) -> (usize, io::Result<()>) {
    let mut filled = 0;
    while filled < wanted {
        match read_some(input, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return (filled, Err(error)),
        }
    }
    (filled, Ok(()))
}

fn read_some(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The first bytes of a file, for sniffing.
pub fn inspect_head(source: &Source) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; SNIFF_BYTES];
    let filled = match &source.path {
        Some(path) => match fill(&mut packed::open(File::open(path)?)?, &mut buffer, SNIFF_BYTES) {
            (0, Err(error)) => return Err(error),
            (filled, _) => filled,
        },
        None => 0,
    };
    buffer.truncate(filled);
    Ok(buffer)
}

/// A copy of what can be read only once, for whoever must read it twice.
pub struct Spooled {
    /// The same source, to be read from the copy; it lies there as long as this value lives.
    pub source: Source,
    _file: tempfile::NamedTempFile,
}

/// Copies standard input or a pipe into a file; `None` for a regular file, which needs no copy.
pub fn spool(source: &Source) -> io::Result<Option<Spooled>> {
    let mut input: Box<dyn Read> = match &source.path {
        None => Box::new(io::stdin().lock()),
        Some(path) if path.is_file() => return Ok(None),
        Some(path) => Box::new(File::open(path)?),
    };
    let mut file = tempfile::NamedTempFile::new()?;
    let bytes = io::copy(&mut input, file.as_file_mut())?;
    let source = Source { name: source.name.clone(), path: Some(file.path().to_path_buf()), bytes };
    Ok(Some(Spooled { source, _file: file }))
}

#[cfg(test)]
mod tests {
    use super::{Progress, read};
    use crate::discover;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    use unspool_formats::Detail;
    use unspool_model::{Code, Outcome};

    const LINES: [&str; 3] = [
        r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-02T10:00:00Z","message":{"role":"user","content":"Hello"}}"#,
        r#"{"type":"user","uuid":"u2","sessionId":"s1","timestamp":"2026-01-02T10:00:01Z","message":{"role":"user","content":"again"}}"#,
        r#"{"type":"user","uuid":"u3","sessionId":"s1","timestamp":"2026-01-02T10:00:02Z","message":{"role":"user","content":"bye"}}"#,
    ];

    fn gzip(text: &str) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn records_of_a_packed_file_come_back_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("s1.jsonl.gz"), gzip(&LINES.join("\n"))).unwrap();
        let reading = read(&discover(&[folder.path().into()]), Detail::Full, &Progress::default());
        let session = reading.batch.streams[0].session;
        assert_eq!(reading.batch.text.get(session), "s1", "the packing is no part of the name");
        let mut reader = reading.natives.reader(&reading.batch);
        // In order, and back again: the place reached so far is only a shortcut.
        for n in [0, 1, 2, 0] {
            let record = &reading.batch.records[n];
            assert_eq!(reader.bytes(record).unwrap(), LINES[n].as_bytes());
        }
    }

    #[test]
    fn what_a_broken_packed_file_still_holds_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let noise: Vec<String> =
            (0..4000_u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
        let long = LINES[2].replace("bye", &noise.concat());
        let packed = gzip(&[LINES[0], LINES[1], &long].join("\n"));
        std::fs::write(folder.path().join("s1.jsonl.gz"), &packed[..packed.len() / 2]).unwrap();
        let reading = read(&discover(&[folder.path().into()]), Detail::Full, &Progress::default());
        let stored = reading.batch.records.iter().filter(|record| record.outcome == Outcome::Stored).count();
        assert_eq!(stored, 2);
        let codes: Vec<_> = reading.batch.issues.iter().map(|issue| issue.code.name()).collect();
        assert!(codes.contains(&"file_cut") && codes.contains(&"torn_line"), "{codes:?}");
        assert!(!codes.contains(&"unreadable_file"), "{codes:?}");
        let kept: u32 = reading.batch.records.iter().map(|record| record.len + 1).sum();
        let cut = reading.batch.issues.iter().find(|issue| issue.code == Code::FileCut).unwrap();
        let detail = reading.batch.text.get(cut.detail);
        assert!(detail.ends_with(&format!("behind the first {} bytes", kept - 1)), "{detail}");
    }
}
