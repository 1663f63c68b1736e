//! Reading sources into one batch, on all cores, with bounded memory.

use crate::discover::{Found, Source};
use crate::natives::Natives;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, claim, note_not_data, note_unreadable};
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
            self.stream(&source.name, &mut File::open(path)?, None, buffer, detail, progress)
        } else {
            let mut spool = tempfile::NamedTempFile::new()?;
            let file = spool.as_file_mut();
            let read =
                self.stream(&source.name, &mut io::stdin().lock(), Some(file), buffer, detail, progress);
            self.spool = Some(spool);
            read
        }
    }

    fn stream(
        &mut self,
        name: &str,
        input: &mut dyn Read,
        mut copy: Option<&mut File>,
        buffer: &mut [u8],
        detail: Detail,
        progress: &Progress,
    ) -> io::Result<()> {
        let mut filled = fill(input, buffer, SNIFF_BYTES)?;
        let head = &buffer[..filled.min(SNIFF_BYTES)];
        let Some((format, sniff)) = claim(&mut self.batch, name, head) else { return Ok(()) };
        self.recognised += 1;
        let mut decoder = Decoder::new(&mut self.batch, format, sniff, name, detail);
        let mut result = Ok(());
        while filled > 0 {
            if let Some(copy) = &mut copy {
                copy.write_all(&buffer[..filled])?;
            }
            decoder.push(&buffer[..filled]);
            progress.bytes.fetch_add(filled as u64, Ordering::Relaxed);
            match read_some(input, buffer) {
                Ok(count) => filled = count,
                Err(error) => {
                    result = Err(error);
                    filled = 0;
                }
            }
        }
        // What was read before an error still counts.
        decoder.finish();
        result
    }
}

/// Reads at least `wanted` bytes unless the stream ends before.
fn fill(input: &mut dyn Read, buffer: &mut [u8], wanted: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < wanted {
        match read_some(input, &mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
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
        Some(path) => fill(&mut File::open(path)?, &mut buffer, SNIFF_BYTES)?,
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
