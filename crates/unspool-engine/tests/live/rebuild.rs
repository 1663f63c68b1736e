//! What is derived can be thrown away, lost or left behind: the log brings the same back.

use crate::bodies::{assert_once, body, send_all};
use crate::same::{never, open, shown};
use std::path::Path;
use unspool_engine::live::{Arrival, Engine, OpenError, Options, Part};
use unspool_store::rows::SessionRow;
use unspool_store::{Filter, Question};
use unspool_testkit::witness::{hooks, spans};
use unspool_testkit::{Shape, generate};

/// Files in parts, hooks and spans of a session, and spans of their own.
fn fill(engine: &Engine) {
    let tree = generate(Shape::default(), 7).tree;
    for (name, bytes) in &tree.files {
        let half = bytes.iter().take(bytes.len() / 2).rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for (offset, part) in [(0, &bytes[..half]), (half, &bytes[half..])] {
            if !part.is_empty() {
                let part = Arrival::Part(Part {
                    path: name.clone(),
                    offset: offset as u64,
                    bytes: part.to_vec(),
                    checkpoint: None,
                });
                engine.take(part).unwrap();
            }
        }
    }
    let body = |source: &str, name: &str, bytes| {
        engine.take(Arrival::Body { source: source.into(), name: name.into(), bytes }).unwrap();
    };
    body("hooks", "hooks.jsonl", hooks(&tree));
    body("otlp-http", "traces.json", spans(&tree));
    send_all(engine, 0..40);
    engine.settle();
}

fn rebuild(folder: &Path) -> Engine {
    Engine::rebuild(Options::new(folder, never)).unwrap()
}

#[test]
fn a_rebuild_gives_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    fill(&engine);
    let (before, health) = (shown(&engine), engine.health());
    assert!(before.len() > 7 && health.steps_visible > 60, "{health:?}");
    drop(engine);

    // One that is interrupted, and one that goes on.
    rebuild(folder.path()).close();
    assert!(folder.path().join("rebuilding").exists());
    let engine = rebuild(folder.path());
    engine.settle();
    engine.rebuilt();
    assert!(!folder.path().join("rebuilding").exists());
    assert_eq!((shown(&engine), engine.health()), (before.clone(), health));
    drop(engine);

    // One that was interrupted and is gone on with by a server.
    drop(rebuild(folder.path()));
    let engine = open(folder.path());
    engine.settle();
    assert_eq!((shown(&engine), engine.health()), (before, health));
}

/// A folder as the first version left it: what a line tells since then comes with the next start.
#[test]
fn a_folder_of_an_earlier_version_gets_what_lines_tell_since_then() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    fill(&engine);
    let rows = |engine: &Engine| engine.sessions(&Question::default()).unwrap().sessions;
    let before = rows(&engine);
    let told =
        |row: &&SessionRow| !row.sources.is_empty() && !row.models.is_empty() && row.activity.len() == 24;
    assert!(before.iter().any(|row| told(&row) && row.subagent_count > 0));
    drop(engine);

    let database = |name: &str, sql: &str| {
        rusqlite::Connection::open(folder.path().join(name)).unwrap().execute_batch(sql).unwrap();
    };
    let columns = [
        "sources",
        "agent_kinds",
        "models",
        "subagent_count",
        "issue_count",
        "gaps",
        "activity",
        "duration_ns",
    ];
    for column in columns {
        database("store.db", &format!("ALTER TABLE sessions DROP COLUMN {column}"));
    }
    database(
        "store.db",
        "DELETE FROM session_words WHERE role NOT IN ('native_id', 'format');
         CREATE TABLE links (id BLOB PRIMARY KEY); PRAGMA user_version = 1",
    );
    database("families.db", "DROP TABLE loose; PRAGMA user_version = 2");

    let engine = open(folder.path());
    engine.settle();
    assert_eq!(rows(&engine), before);
    let model = before.iter().find_map(|row| row.models.first().cloned());
    let filter = Filter { model, ..Filter::default() };
    assert!(engine.sessions(&Question { filter, ..Question::default() }).unwrap().matching > 0);
}

#[test]
fn a_rebuild_needs_records_and_the_folder_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = Engine::rebuild(Options::new(folder.path(), never)).err().unwrap();
    assert!(matches!(nothing, OpenError::Nothing { .. }) && nothing.hint().is_some(), "{nothing}");
    let engine = open(folder.path());
    send_all(&engine, 0..3);
    let held = Engine::rebuild(Options::new(folder.path(), never)).err().unwrap();
    assert!(held.to_string().contains("in use by another unspool"), "{held}");
    engine.settle();
    assert_once(&engine, 0..3);
}

/// When the machine stops, each database may have lost the last of what it was told, one more than the other.
#[test]
fn databases_that_fell_behind_catch_up() {
    for name in ["store.db", "families.db"] {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path());
        send_all(&engine, 0..20);
        engine.settle();
        drop(engine);
        let file = folder.path().join(name);
        let earlier = std::fs::read(&file).unwrap();
        let engine = open(folder.path());
        fill(&engine);
        let (before, health) = (shown(&engine), engine.health());
        drop(engine);
        std::fs::write(&file, earlier).unwrap();
        let engine = open(folder.path());
        engine.settle();
        assert_eq!((shown(&engine), engine.health()), (before, health), "{name}");
    }
}

/// Two traces become one session; a crash takes the commit back that said so, and not the word of it.
#[test]
fn sessions_that_became_part_of_another_do_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    engine.take(body(0, 1)).unwrap();
    engine.take(body(1, 2)).unwrap();
    engine.settle();
    assert_eq!(shown(&engine).len(), 2);
    drop(engine);
    let families = rusqlite::Connection::open(folder.path().join("families.db")).unwrap();
    families.execute("DELETE FROM sessions WHERE family = 2", []).unwrap();
    drop(families);
    let engine = open(folder.path());
    engine.settle();
    let page = engine.sessions(&unspool_store::Question::default()).unwrap();
    assert_eq!(page.sessions.len(), 1);
}
