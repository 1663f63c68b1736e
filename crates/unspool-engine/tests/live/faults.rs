//! Whatever breaks: what was acknowledged is kept, it is said what is wrong, and it goes on when that is mended.

use crate::bodies::{assert_once, calls, padded, send, send_all};
use crate::same::{never, open};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use unspool_engine::live::{Arrival, Engine, OpenError, Options, Part, Refused};
use unspool_store::rows::Checkpoint;
use unspool_store::{DatabaseFile, Store, StoreError, StorePlace};
use unspool_testkit::PATIENCE;

/// Waits for something that must happen.
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn database(folder: &Path, name: &str) -> Connection {
    let connection = Connection::open(folder.join(name)).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}

/// A table that is not there stands for anything a database refuses while the server runs.
#[test]
fn a_database_that_refuses_costs_nothing_but_time() {
    for (name, table) in
        [("store.db", "session_versions"), ("families.db", "entries"), ("families.db", "counts")]
    {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path());
        send_all(&engine, 0..20);
        engine.settle();
        let connection = database(folder.path(), name);
        connection.execute_batch(&format!("ALTER TABLE {table} RENAME TO away")).unwrap();
        send_all(&engine, 20..40);
        until("it says that it is degraded", || engine.broken().is_some());
        send_all(&engine, 40..60);
        let why = engine.broken().unwrap();
        assert!(why.contains(name) && why.contains("no such table"), "{why}");
        connection.execute_batch(&format!("ALTER TABLE away RENAME TO {table}")).unwrap();
        engine.settle();
        assert_once(&engine, 0..60);
        assert_eq!(engine.broken(), None);
        assert_eq!(engine.health().steps_visible, 60, "{name} {table}");
    }
}

/// A store on a disk that is full while the reserve is there.
#[derive(Debug)]
struct Cramped {
    store: DatabaseFile,
    reserve: PathBuf,
}

impl StorePlace for Cramped {
    fn name(&self) -> String {
        StorePlace::name(&self.store)
    }

    fn short_name(&self) -> String {
        self.store.short_name()
    }

    fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        if self.reserve.exists() {
            let why = "disk I/O error".into();
            return Err(StoreError::Database {
                name: self.store.short_name(),
                why,
                hint: None,
                is_of_the_disk: true,
            });
        }
        self.store.open()
    }

    fn bring_in(&self) -> Result<(), StoreError> {
        StorePlace::bring_in(&self.store)
    }

    fn replace(&self, why: &str) -> Result<String, StoreError> {
        self.store.replace(why)
    }

    fn copy(&self, folder: &Path) -> Result<Arc<dyn StorePlace>, StoreError> {
        StorePlace::copy(&self.store, folder)
    }

    fn remove(&self) -> Result<(), StoreError> {
        self.store.remove()
    }

    fn bytes(&self) -> u64 {
        StorePlace::bytes(&self.store)
    }
}

#[test]
fn a_start_on_a_full_disk_takes_the_room_that_was_kept_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    send_all(&engine, 0..10);
    engine.settle();
    drop(engine);
    let reserve = folder.path().join("reserve");
    assert!(reserve.exists());
    let store = DatabaseFile::new(folder.path().join("store.db"));
    let store = Arc::new(Cramped { store, reserve: reserve.clone() });
    let engine = Engine::open(Options { store, ..Options::new(folder.path(), never) }).unwrap();
    assert_once(&engine, 0..10);
    let said: Vec<String> = engine.notices().into_iter().collect();
    assert!(
        said.iter().any(|words| words.contains("the disk was full (the database store.db failed")),
        "{said:?}"
    );
    assert!(!reserve.exists(), "it is not taken while there is no room");
    drop(engine);
    assert_once(&open(folder.path()), 0..10);
    assert!(reserve.exists());
}

#[test]
fn whoever_has_the_folder_keeps_its_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path());
    let second = Engine::open(Options::new(folder.path(), never));
    assert!(second.err().unwrap().is_held());
    assert!(folder.path().join("reserve").exists());
    drop(first);
}

/// An engine that shows one call and derives nothing more until what is given with it lets go; so many bytes may wait.
fn stalled(max_pending_bytes: u64) -> (tempfile::TempDir, Engine, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_pending_bytes, ..Options::new(folder.path(), never) };
    let engine = Engine::open(options).unwrap();
    send_all(&engine, 0..1);
    engine.settle();
    let stall = database(folder.path(), "families.db");
    stall.execute_batch("BEGIN EXCLUSIVE").unwrap();
    (folder, engine, stall)
}

#[test]
fn more_than_may_wait_is_refused_and_nothing_acknowledged_is_lost() {
    let limit = 8_000;
    let (_folder, engine, stall) = stalled(limit);
    let mut acknowledged = 1;
    let refused = loop {
        match send(&engine, acknowledged) {
            Ok(_) => acknowledged += 1,
            Err(refused) => break refused,
        }
        assert!(engine.health().pending_bytes <= limit);
        assert!(acknowledged < 1000, "nothing was ever refused");
    };
    assert!(matches!(refused, Refused::Busy { .. }), "{refused}");
    assert!(acknowledged > 5);
    assert_eq!(engine.health().refused, 1);
    stall.execute_batch("ROLLBACK").unwrap();
    engine.settle();
    assert_once(&engine, 0..acknowledged);
    send_all(&engine, acknowledged..acknowledged + 10);
    engine.settle();
    assert_once(&engine, 0..acknowledged + 10);
    assert_eq!(engine.health().pending_bytes, 0);
}

/// More bytes than may wait: what is behind waits in the log alone.
#[test]
fn bodies_that_come_many_at_a_time_wait_for_nobody() {
    let limit = 6 << 20;
    let (_folder, engine, stall) = stalled(limit);
    let (mut sent, mut bytes) = (1, 0);
    while bytes < 3 * limit {
        let many: Vec<Vec<u8>> = (sent..sent + 100).map(|n| padded(n, 10_000)).collect();
        bytes += many.iter().map(|body| body.len() as u64).sum::<u64>();
        sent += 100;
        engine.take_bodies("otlp", "traces.json", many).unwrap();
        assert!(engine.health().pending_bytes <= limit);
    }
    stall.execute_batch("ROLLBACK").unwrap();
    engine.settle();
    assert_once(&engine, 0..sent);
    assert_eq!(engine.health().pending_bytes, 0);
}

/// A folder with forty calls in it, closed.
pub(crate) fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    send_all(&engine, 0..40);
    engine.settle();
    folder
}

pub(crate) fn change(file: &Path, with: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    with(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_database_is_put_aside_and_made_again() {
    for name in ["store.db", "families.db"] {
        for what in ["cut", "head"] {
            let folder = filled();
            change(&folder.path().join(name), |bytes| match what {
                "cut" => bytes.truncate(bytes.len() / 2 + 100),
                _ => bytes[..64].fill(7),
            });
            let engine = open(folder.path());
            engine.settle();
            assert_once(&engine, 0..40);
            let notices = engine.notices();
            assert!(
                notices.iter().any(|line| line.contains(&format!("{name}.damaged-1"))),
                "{what}: {notices:?}"
            );
            assert!(folder.path().join(format!("{name}.damaged-1")).exists());
        }
    }
}

/// How far files have been read stands in no other place.
#[test]
fn of_a_damaged_store_what_is_not_derived_is_saved() {
    let folder = filled();
    let engine = open(folder.path());
    let checkpoint = Checkpoint { source: "a.jsonl".into(), offset: 7, fingerprint: vec![1, 2] };
    let line = r#"{"type":"user","sessionId":"one","uuid":"u1","timestamp":"2026-01-18T19:55:26Z","message":{"role":"user","content":"hello"}}"#;
    let part =
        Part { path: "a.jsonl".into(), offset: 0, bytes: line.into(), checkpoint: Some(checkpoint.clone()) };
    engine.take(Arrival::Part(part)).unwrap();
    engine.settle();
    let known = |engine: &Engine| engine.with_store(|store| store.checkpoint("a.jsonl")).unwrap();
    assert_eq!(known(&engine), Some(checkpoint.clone()));
    drop(engine);
    change(&folder.path().join("store.db"), |bytes| bytes.truncate(bytes.len() - 10_000));
    let engine = open(folder.path());
    engine.settle();
    assert!(engine.notices()[0].contains("store.db was damaged"), "{:?}", engine.notices());
    assert_eq!(known(&engine), Some(checkpoint));
}

/// Damage that opening does not come upon is mended when it is come upon, or by a rebuild.
#[test]
fn damaged_pages_are_mended() {
    for name in ["store.db", "families.db"] {
        let folder = filled();
        // All pages but the first, which has the schema.
        change(&folder.path().join(name), |bytes| bytes[8192..].fill(0xa5));
        if name == "store.db" {
            let engine = Engine::rebuild(Options::new(folder.path(), never)).unwrap();
            engine.settle();
            engine.rebuilt();
            assert_once(&engine, 0..40);
            assert!(engine.notices()[0].contains("store.db was damaged"), "{:?}", engine.notices());
            continue;
        }
        let engine = open(folder.path());
        engine.settle();
        send_all(&engine, 40..60);
        engine.settle();
        assert_once(&engine, 0..60);
    }
}

pub(crate) fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn a_damaged_segment_is_told_of_and_the_rest_is_served() {
    let folder = filled();
    let file = segments(folder.path()).pop().unwrap();
    change(&file, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 16].fill(0);
    });
    let engine = Engine::rebuild(Options::new(folder.path(), never)).unwrap();
    engine.settle();
    let notices = engine.notices();
    assert!(notices.iter().any(|line| line.contains("lost")), "{notices:?}");
    let calls = calls(&engine);
    assert!(calls.len() >= 20 && calls.len() < 40, "{calls:?}");
    assert!(calls.values().all(|count| *count == 1));
    send_all(&engine, 40..45);
    engine.settle();
    assert_eq!(self::calls(&engine).len(), calls.len() + 5);
}

#[test]
fn a_folder_that_cannot_be_written_to_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // A file where a folder should be stops even those who may write anywhere.
    let place = folder.path().join("file");
    std::fs::write(&place, "").unwrap();
    let error = Engine::open(Options::new(&place.join("data"), never)).err().unwrap();
    assert!(matches!(error, OpenError::Folder { .. }), "{error}");
    assert!(error.hint().unwrap().contains("--data-dir"));
}
