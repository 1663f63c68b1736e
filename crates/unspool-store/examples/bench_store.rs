//! Measures the log on a file of lines, and the embedded store on sessions made up here.
//!
//! In: a file of one record per line, and how many records are appended at a time. Out: sizes and times. The figures of
//! docs/benchmarks.md come from here. Times are those of the processor, and on the clock; only the first can be compared on a busy machine.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::time::Instant;
use unspool_model::{Id, Timestamp};
use unspool_store::files::DiskFiles;
use unspool_store::rows::{EdgeRow, SessionFacts, SessionRow, StepRow};
use unspool_store::{Commit, Entry, Log, LogOptions, Question, Scanned, SqliteStore, Store as _};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(path), Some(batch)) = (words.next(), words.next()) else {
        return Err("usage: bench_store FILE RECORDS_AT_A_TIME [MEGABYTES]".into());
    };
    let most: u64 =
        words.next().map_or(Ok(u64::MAX), |megabytes| megabytes.parse().map(|n: u64| n * 1_000_000))?;
    let folder = tempfile::tempdir_in(".")?;
    log(&path, batch.parse()?, most, folder.path())?;
    store(folder.path())
}

/// Seconds of processor time and on the clock.
#[derive(Clone, Copy, Default)]
struct Spent {
    processor: f64,
    clock: f64,
}

fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

impl Spent {
    fn on<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (before, started) = (processor(), Instant::now());
        let result = work();
        self.clock += started.elapsed().as_secs_f64();
        self.processor += processor() - before;
        result
    }

    /// So many of something a second.
    fn rate(self, count: f64, unit: &str) -> String {
        format!(
            "{:.0} {unit}/s of processor time, {:.0} on the clock",
            count / self.processor,
            count / self.clock
        )
    }

    /// Milliseconds of one of so many.
    fn each_ms(self, count: f64) -> String {
        format!(
            "{:.2} ms of processor time, {:.2} on the clock",
            self.processor * 1e3 / count,
            self.clock * 1e3 / count
        )
    }
}

fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

fn log(
    path: &str,
    batch: usize,
    most: u64,
    folder: &std::path::Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let files = Arc::new(DiskFiles::new(&folder.join("log"))?);
    let (log, _) = Log::open(files.clone(), LogOptions::default())?;
    let (mut raw, mut appending) = (0_u64, Spent::default());
    let mut waiting: Vec<Entry> = Vec::new();
    let mut lines = BufReader::new(File::open(path)?).split(b'\n');
    loop {
        let line = lines.next().transpose()?.filter(|_| raw < most);
        let done = line.is_none();
        if let Some(bytes) = line {
            raw += bytes.len() as u64;
            waiting.push(Entry {
                stream: "bench".into(),
                offset: raw,
                received: Timestamp::from_ms(0),
                bytes,
            });
        }
        if done || waiting.len() == batch {
            appending.on(|| log.append(std::mem::take(&mut waiting)))?;
        }
        if done {
            break;
        }
    }
    let (records, size) = (log.end(), log.size());
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (raw, bytes, count) = (raw as f64, size.bytes as f64, records as f64);
    say(&format!(
        "log: {records} records, {:.1} MB raw, {:.1} MB stored in {} segments: {:.1}×, {:.0} bytes a record",
        raw / 1e6,
        bytes / 1e6,
        size.segments,
        raw / bytes,
        bytes / count
    ))?;
    say(&format!("append: {}", appending.rate(raw / 1e6, "MB")))?;
    drop(log);
    let mut opening = Spent::default();
    let (log, _) = opening.on(|| Log::open(files, LogOptions::default()))?;
    say(&format!("open: {}", opening.each_ms(1.0)))?;
    let mut scanning = Spent::default();
    let back = scanning.on(|| {
        log.scan(0).try_fold(0, |sum, found| match found {
            Ok(Scanned::Record(_, entry)) => Ok(sum + entry.bytes.len()),
            Ok(Scanned::Lost(damage)) => Err(damage.to_string()),
            Err(error) => Err(error.to_string()),
        })
    })?;
    say(&format!("scan: {} ({back} bytes)", scanning.rate(raw / 1e6, "MB")))?;
    let mut reading = Spent::default();
    reading.on(|| (0..200).try_for_each(|n| log.read(n * 7_919 % records).map(drop)))?;
    say(&format!("read by position, anywhere: {}", reading.each_ms(200.0)))?;
    Ok(())
}

/// 10,000 sessions of 64 steps and as many edges, 8 to a commit: about what 512 spans are.
fn store(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let path = folder.join("store.db");
    let mut store = SqliteStore::open(&path)?;
    let id = |n: u64| Id::of(&[&n.to_le_bytes()]);
    let mut committing = Spent::default();
    for version in 1..=1250_u64 {
        let sessions = (version * 8..version * 8 + 8).map(|n| {
            let session = SessionRow {
                id: id(n),
                title: format!("Session {n}"),
                started_ns: Some(n.cast_signed() * 1_000_000),
                step_count: 64,
                ..SessionRow::default()
            };
            let steps = (0..64).map(|k| StepRow {
                id: id(n * 1000 + k),
                kind: "tool_call".into(),
                started_ns: Some(k.cast_signed()),
                ended_ns: Some(k.cast_signed() + 5),
                agent_id: Some(id(n)),
                parent_id: Some(id(n * 1000)),
                name: "Bash".into(),
                tool_use_id: format!("toolu_{n}_{k}"),
                model: "claude-sonnet-4-5".into(),
                preview: "a few words of what was said here, as a list shows them".into(),
                witnesses: vec![id(n * 1000 + k + 500)],
                ..StepRow::default()
            });
            let edges = (1..64).map(|k| EdgeRow {
                from_id: id(n * 1000 + k - 1),
                to_id: id(n * 1000 + k),
                kind: "calls".into(),
                rule: "tool-call-id".into(),
                confidence: 10_000,
                ..EdgeRow::default()
            });
            SessionFacts {
                session,
                steps: steps.collect(),
                edges: edges.collect(),
                ..SessionFacts::default()
            }
        });
        let commit =
            Commit { version, through: version * 512, sessions: sessions.collect(), ..Commit::default() };
        committing.on(|| store.commit(&commit))?;
    }
    let bytes = std::fs::metadata(&path)?.len() / 640_000;
    say(&format!("commit: {}, with their edges; {bytes} bytes a step", committing.rate(640_000.0, "steps")))?;
    let newest = Question { descending: true, limit: 100, ..Question::default() };
    let mut listing = Spent::default();
    let pages: Result<Vec<_>, _> = listing.on(|| (0..200).map(|_| store.sessions(&newest)).collect());
    let matching = pages?.first().map_or(0, |page| page.matching);
    say(&format!("first 100 of {matching} sessions: {}", listing.each_ms(200.0)))?;
    let mut fetching = Spent::default();
    let found: Result<Vec<_>, _> = fetching.on(|| (0..200).map(|n| store.session(id(n * 50 + 8))).collect());
    say(&format!("one of {} sessions of 64 steps: {}", found?.len(), fetching.each_ms(200.0)))?;
    Ok(())
}
