//! Log and store together, with real records and what really follows from them.

use crate::faults::FaultyFiles;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, claim};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Timestamp};
use unspool_store::rows::SessionFacts;
use unspool_store::{
    Beside, Commit, DatabaseFile, Entry, Ground, GroundError, LogError, LogOptions, MemoryStore, Question,
    Scan, Scanned, Store, StorePlace,
};

/// The lines of the fixtures of some formats.
fn lines() -> Vec<Entry> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut entries = Vec::new();
    for format in ["claude-code-transcript", "codex-rollout", "inference-log", "pi-session"] {
        for file in files(&root.join(format)) {
            let stream = file.strip_prefix(&root).unwrap().display().to_string();
            let bytes = std::fs::read(&file).unwrap();
            for (n, line) in (0_u32..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
                let received = Timestamp::from_ms(1_767_348_000_000 - i64::from(n));
                entries.push(Entry {
                    stream: stream.clone(),
                    offset: n.into(),
                    received,
                    bytes: line.to_vec(),
                });
            }
        }
    }
    assert!(entries.len() > 50, "{}", entries.len());
    entries
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// What follows from all records of a scan.
fn derive(scan: Scan<'_>) -> Vec<SessionFacts> {
    let mut streams: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut end = 0;
    for found in scan {
        let Scanned::Record(position, entry) = found.unwrap() else { panic!("nothing is damaged") };
        streams.entry(entry.stream).or_default().extend(entry.bytes);
        end = position + 1;
    }
    let mut batch = Batch::default();
    for (name, bytes) in &streams {
        let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
        let Some((format, sniff)) = claim(&mut batch, name, head) else { continue };
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        decoder.push(bytes);
        decoder.finish();
    }
    let corpus = Corpus::new(batch, Table::default(), Timestamp::from_ms(1_767_348_000_000));
    let beside = Beside { positions: 0..end, ..Beside::default() };
    corpus.flows().map(|flow| SessionFacts::of(&Arc::new(flow), &corpus.batch, &beside)).collect()
}

fn database(folder: &Path) -> DatabaseFile {
    DatabaseFile::new(folder.join("store.db"))
}

fn open(folder: &Path, holder: &str) -> Result<Ground, GroundError> {
    Ground::open(folder, holder, &database(folder), LogOptions::default())
}

fn commit_all(ground: &mut Ground) -> Vec<SessionFacts> {
    let sessions = derive(ground.log().scan(0));
    let (version, through) = (ground.next_version().unwrap(), ground.log().end());
    ground.commit(&Commit { version, through, sessions: sessions.clone(), ..Commit::default() }).unwrap();
    sessions
}

fn stored(store: &dyn Store) -> Vec<SessionFacts> {
    let page = store.sessions(&Question::default()).unwrap();
    page.sessions.iter().map(|row| store.session(row.id).unwrap().unwrap()).collect()
}

#[test]
fn what_is_derived_can_be_thrown_away_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = || open(folder.path(), "the test").unwrap();
    let entries = lines();
    let mut ground = open();
    for some in entries.chunks(7) {
        ground.append(some.to_vec()).unwrap();
    }
    let mut derived = commit_all(&mut ground);
    assert!(derived.len() > 3 && derived.iter().any(|facts| facts.edges.len() > 5));
    let sort = |facts: &mut Vec<SessionFacts>| {
        facts.sort_by_key(|facts| (facts.session.started_ns, facts.session.id));
    };
    sort(&mut derived);
    assert_eq!(stored(ground.store()), derived);
    drop(ground);

    let mut ground = open();
    assert!(ground.recovery().is_clean());
    assert_eq!(ground.underived().unwrap().count(), 0);
    let mut again = derive(ground.rebuild().unwrap());
    sort(&mut again);
    assert_eq!(again, derived);
    assert_eq!(stored(ground.store()), []);
    commit_all(&mut ground);
    assert_eq!(stored(ground.store()), derived);
    let back: Vec<Entry> = ground
        .log()
        .scan(0)
        .filter_map(|found| match found.unwrap() {
            Scanned::Record(_, entry) => Some(entry),
            Scanned::Lost(_) => None,
        })
        .collect();
    assert_eq!(back, entries, "native bytes return byte for byte");
}

#[test]
fn records_of_a_process_that_stopped_before_its_commit_are_underived() {
    let files = FaultyFiles::default();
    let entries = lines();
    let folder = tempfile::tempdir().unwrap();
    let store = || database(folder.path()).open().unwrap();
    let mut ground = Ground::over(Arc::new(files.clone()), store(), LogOptions::default()).unwrap();
    ground.append(entries[..20].to_vec()).unwrap();
    commit_all(&mut ground);
    ground.append(entries[20..].to_vec()).unwrap();
    let ground = Ground::over(Arc::new(files.after_crash(|_| 0)), store(), LogOptions::default()).unwrap();
    let first = ground.underived().unwrap().next().unwrap().unwrap();
    assert_eq!(first, Scanned::Record(20, entries[20].clone()));
    assert_eq!(ground.underived().unwrap().count(), entries.len() - 20);
}

#[test]
fn a_log_that_lost_what_the_store_has_seen_says_so() {
    let mut store = MemoryStore::default();
    store.commit(&Commit { version: 1, through: 7, ..Commit::default() }).unwrap();
    let ground =
        Ground::over(Arc::new(FaultyFiles::default()), Box::new(store), LogOptions::default()).unwrap();
    let damage = &ground.recovery().damages[0];
    assert!(damage.is_loss() && damage.to_string().contains("7 records from 0 to 6 are lost"), "{damage}");
    assert_eq!(ground.append(vec![lines().remove(0)]).unwrap().first, 7);
}

#[test]
fn a_second_process_is_told_who_is_first() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(folder.path(), "unspool serve, process 4711").unwrap();
    let error = open(folder.path(), "another").err().unwrap();
    assert!(
        matches!(&error, GroundError::Log(LogError::Held { holder, .. }) if holder.contains("4711")),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("--data-dir"));
}

#[test]
fn retention_takes_sessions_and_the_segments_nobody_needs() {
    let folder = tempfile::tempdir().unwrap();
    let options = LogOptions { segment_bytes: 2_000, ..LogOptions::default() };
    let mut ground = Ground::open(folder.path(), "the test", &database(folder.path()), options).unwrap();
    let entries = lines();
    for entry in &entries {
        ground.append(vec![entry.clone()]).unwrap();
    }
    let mut sessions = derive(ground.log().scan(0));
    sessions.truncate(2);
    let end = i64::try_from(entries.len()).unwrap();
    for (facts, (first, last)) in sessions.iter_mut().zip([(0, end / 2), (end / 2, end)]) {
        (facts.session.first_position, facts.session.end_position) = (first, last);
    }
    let through = ground.log().end();
    ground.commit(&Commit { version: 1, through, sessions: sessions.clone(), ..Commit::default() }).unwrap();
    let before = ground.log().size();
    let retired = ground.retire(&[sessions[0].session.id]).unwrap();
    assert_eq!(retired.derived.sessions, 1);
    assert!(retired.log.segments > 0 && retired.log.segments < before.segments, "{retired:?} of {before:?}");
    assert!(ground.log().start() <= entries.len() as u64 / 2);
    assert_eq!(ground.log().check().unwrap(), []);
    assert_eq!(stored(ground.store()), sessions[1..]);
}
