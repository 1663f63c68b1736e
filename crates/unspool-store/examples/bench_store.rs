//! Measures the log on a file of lines, and the embedded store on sessions made up here.
//!
//! In: a file of one record per line, and how many records are appended at a time. Out: sizes and times. The figures of
//! docs/benchmarks.md come from here.

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
    let (mut raw, mut spent, mut slowest) = (0_u64, 0.0, 0.0_f64);
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
            let started = Instant::now();
            log.append(std::mem::take(&mut waiting))?;
            let took = started.elapsed().as_secs_f64();
            spent += took;
            slowest = slowest.max(took);
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
    say(&format!(
        "append: {:.0} MB/s, {:.0} records/s, slowest append {:.1} ms",
        raw / 1e6 / spent,
        count / spent,
        slowest * 1e3
    ))?;
    drop(log);
    let started = Instant::now();
    let (log, _) = Log::open(files, LogOptions::default())?;
    say(&format!("open: {:.1} ms", started.elapsed().as_secs_f64() * 1e3))?;
    let started = Instant::now();
    let mut back = 0;
    for found in log.scan(0) {
        let Scanned::Record(_, entry) = found? else { return Err("damaged".into()) };
        back += entry.bytes.len();
    }
    say(&format!("scan: {:.0} MB/s ({back} bytes)", raw / 1e6 / started.elapsed().as_secs_f64()))?;
    let started = Instant::now();
    for n in 0..200 {
        log.read(n * 7_919 % records)?;
    }
    say(&format!("read by position, anywhere: {:.2} ms a record", started.elapsed().as_secs_f64() * 5.0))?;
    Ok(())
}

/// 10,000 sessions of 64 steps and as many edges, 8 to a commit: about what 512 spans are.
fn store(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let path = folder.join("store.db");
    let mut store = SqliteStore::open(&path)?;
    let id = |n: u64| Id::of(&[&n.to_le_bytes()]);
    let mut spent = 0.0;
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
        let started = Instant::now();
        store.commit(&commit)?;
        spent += started.elapsed().as_secs_f64();
    }
    say(&format!(
        "commit: {:.0} steps/s with their edges, {} bytes a step",
        640_000.0 / spent,
        std::fs::metadata(&path)?.len() / 640_000
    ))?;
    let started = Instant::now();
    let page = store.sessions(&Question { descending: true, limit: 100, ..Question::default() })?;
    say(&format!(
        "first 100 of {} sessions: {:.2} ms",
        page.matching,
        started.elapsed().as_secs_f64() * 1e3
    ))?;
    let started = Instant::now();
    store.session(id(5_000))?;
    say(&format!("one session of 64 steps: {:.2} ms", started.elapsed().as_secs_f64() * 1e3))?;
    Ok(())
}
