//! What is particular to the embedded store: its file, its schemas, its errors.

use std::path::{Path, PathBuf};
use unspool_model::Id;
use unspool_store::rows::{Checkpoint, EdgeRow, SessionFacts, SessionRow, SourceReceipt, StepRow};
use unspool_store::{Commit, DatabaseFile, Question, SqliteStore, Standing, Store, StoreError};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What is in the stored database of every released schema.
fn released() -> Commit {
    let id = |n: u8| Id::of(&[&[n]]);
    let step = |n: u8| StepRow {
        id: id(n),
        name: format!("tool {n}"),
        witnesses: vec![id(90)],
        ..StepRow::default()
    };
    let session = SessionRow {
        id: id(1),
        native_ids: vec!["first".into(), "second".into()],
        title: "Größe".into(),
        started_ns: Some(1_767_348_000_000_000_000),
        step_count: 2,
        end_position: 12,
        ..SessionRow::default()
    };
    let edge = EdgeRow {
        from_id: id(2),
        to_id: id(3),
        kind: "calls".into(),
        confidence: 10_000,
        ..EdgeRow::default()
    };
    Commit {
        version: 4,
        through: 12,
        sessions: vec![SessionFacts {
            session,
            steps: vec![step(2), step(3)].into(),
            edges: vec![edge].into(),
            ..SessionFacts::default()
        }],
        gone: vec![id(7)],
        checkpoints: vec![Checkpoint { source: "a.jsonl".into(), offset: 99, fingerprint: vec![1, 0, 255] }],
        receipts: vec![SourceReceipt {
            source: "a.jsonl".into(),
            seen: 12,
            stored: 12,
            ..SourceReceipt::default()
        }],
    }
}

/// With `UPDATE_SCHEMAS` set, writes the stored database of the newest schema, once: a released one is never written again.
#[test]
fn a_database_of_every_released_schema_opens_and_still_holds_what_it_held() {
    let released = released();
    let schemas = std::fs::read_dir(folder("src/sqlite/migrations")).unwrap().count();
    for number in 1..=schemas {
        let stored = folder("tests/store/schemas").join(format!("{number:04}.db.zst"));
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("store.db");
        if number == schemas && !stored.exists() && std::env::var_os("UPDATE_SCHEMAS").is_some() {
            SqliteStore::open(&path).unwrap().commit(&released).unwrap();
            let packed = zstd::encode_all(&*std::fs::read(&path).unwrap(), 19).unwrap();
            std::fs::create_dir_all(folder("tests/store/schemas")).unwrap();
            std::fs::write(&stored, packed).unwrap();
        }
        let packed = std::fs::read(&stored).unwrap_or_else(|_| panic!("{} is missing", stored.display()));
        std::fs::write(&path, zstd::decode_all(&*packed).unwrap()).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(store.standing().unwrap(), Standing { version: 4, through: 12 });
        let facts = &released.sessions[0];
        assert_eq!(store.session(facts.session.id).unwrap().as_ref(), Some(facts));
        assert_eq!(store.checkpoint("a.jsonl").unwrap().as_ref(), released.checkpoints.first());
        assert_eq!(store.receipts().unwrap(), released.receipts);
    }
}

#[test]
fn what_was_committed_is_there_after_closing_and_only_the_owner_may_read_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store.db");
    let mut writer = SqliteStore::open(&path).unwrap();
    let reader = SqliteStore::open(&path).unwrap();
    writer.commit(&released()).unwrap();
    assert_eq!(reader.sessions(&Question::default()).unwrap().matching, 1);
    #[cfg(unix)]
    for file in std::fs::read_dir(place.path()).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    drop((writer, reader));
    assert_eq!(SqliteStore::open(&path).unwrap().sessions(&Question::default()).unwrap().matching, 1);
}

#[test]
fn what_was_written_beside_the_file_is_brought_in_while_others_write_and_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store.db");
    let mut writer = SqliteStore::open(&path).unwrap();
    let reader = SqliteStore::open(&path).unwrap();
    let alone = || {
        let copy = place.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        SqliteStore::open(&copy).unwrap().standing().unwrap().version
    };
    DatabaseFile::new(&path).bring_in().unwrap();
    for version in 1..=500 {
        writer.commit(&Commit { version, ..released() }).unwrap();
    }
    assert_eq!(alone(), 0, "whoever writes does not wait for the disk");
    DatabaseFile::new(&path).bring_in().unwrap();
    assert_eq!(alone(), 500);
    writer.commit(&Commit { version: 501, ..released() }).unwrap();
    assert_eq!(reader.standing().unwrap().version, 501);
}

#[test]
fn a_later_schema_and_other_databases_are_refused_untouched() {
    let place = tempfile::tempdir().unwrap();
    let later = place.path().join("later.db");
    drop(SqliteStore::open(&later).unwrap());
    let raw = rusqlite::Connection::open(&later).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let error = SqliteStore::open(&later).err().unwrap();
    assert!(matches!(error, StoreError::TooNew { found: 99, .. }), "{error}");
    let other = place.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = std::fs::read(&other).unwrap();
    assert!(SqliteStore::open(&other).err().unwrap().to_string().contains("another program"));
    assert_eq!(std::fs::read(&other).unwrap(), before);
    let text = place.path().join("text.db");
    std::fs::write(&text, "this is no database at all, but long enough to be looked at as one".repeat(20))
        .unwrap();
    assert!(SqliteStore::open(&text).err().unwrap().hint().unwrap().contains("unspool rebuild"));
}

#[test]
fn a_damaged_page_is_found_and_what_to_do_is_said() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store.db");
    let mut store = SqliteStore::open(&path).unwrap();
    store.commit(&released()).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for page in 1..whole.len() / 8192 {
        let mut bytes = whole.clone();
        bytes[page * 8192..page * 8192 + 600].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        match SqliteStore::open(&path).and_then(|store| store.check()) {
            Ok(found) => assert!(!found.is_empty(), "page {page}"),
            Err(error) => assert!(error.hint().unwrap().contains("unspool rebuild"), "page {page}: {error}"),
        }
    }
}

#[test]
fn a_list_in_order_of_time_needs_no_sorting() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    let sql = "EXPLAIN QUERY PLAN SELECT id FROM sessions WHERE TRUE
               ORDER BY COALESCE(started_ns, -9223372036854775808) DESC, id DESC LIMIT 50";
    let plan: String = raw.query_row(sql, [], |row| row.get("detail")).unwrap();
    assert!(plan.contains("sessions_by_start"), "{plan}");
}

#[test]
fn what_is_told_of_a_damaged_file_is_a_line_and_no_list_of_pages() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store.db");
    let session = |n: u32| {
        let title = format!("{n} {}", "a long title ".repeat(40));
        let session = SessionRow { id: Id::of(&[&n.to_le_bytes()]), title, ..SessionRow::default() };
        SessionFacts { session, ..SessionFacts::default() }
    };
    let commit = Commit { version: 1, sessions: (0..600).map(session).collect(), ..Commit::default() };
    SqliteStore::open(&path).unwrap().commit(&commit).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // Pages that point to nowhere, behind the first ones: it can be opened and looked through.
    for page in bytes.chunks_mut(4096).skip(40) {
        page[8..200].fill(0xa5);
    }
    std::fs::write(&path, bytes).unwrap();
    let told = match SqliteStore::open(&path).and_then(|store| store.check()) {
        Ok(lines) => lines,
        Err(error) => vec![error.to_string()],
    };
    assert!(!told.is_empty());
    let longest = told.iter().map(|line| line.chars().count()).max();
    assert!(told.iter().any(|line| line.ends_with('…')), "{told:?}");
    assert!(longest < Some(400) && told.iter().all(|line| !line.contains('\n')), "{longest:?} {told:?}");
}
