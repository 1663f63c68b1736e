//! Damage that somebody comes upon while the engine runs, or that nobody does: it is told as an issue, mended, and what is lost is counted.

use crate::bodies::{assert_once, calls, send, send_all};
use crate::faults::{change, database, filled, segments, until};
use crate::same::{never, open};
use std::path::Path;
use unspool_engine::live::{Arrival, Engine, Options, Part, check, stats};
use unspool_model::{Code, Timestamp};
use unspool_store::Question;
use unspool_store::rows::SessionRow;

fn has_said(engine: &Engine, code: Code, words: &str) -> bool {
    engine.own_issues().iter().any(|notice| notice.code == Some(code) && notice.words.contains(words))
}

fn line(session: &str, said: &str) -> Arrival {
    let line = format!(
        r#"{{"type":"user","sessionId":"{session}","uuid":"u-{session}","timestamp":"2026-01-18T19:55:26Z","message":{{"role":"user","content":"{said}"}}}}"#
    );
    let path = format!("{session}.jsonl");
    Arrival::Part(Part { path, offset: 0, bytes: format!("{line}\n").into(), checkpoint: None })
}

/// A folder with three sessions in which something was said, closed.
fn spoken() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    for session in ["one", "two", "three"] {
        engine.take(line(session, "a herring in the moonlight")).unwrap();
    }
    engine.settle();
    engine.settle_texts();
    assert_eq!(engine.matching("herring").unwrap().sessions.len(), 3);
    folder
}

/// Overwrites the pages of the index of words, but for the first one, which has the schema.
fn spoil_words(folder: &Path) {
    change(&folder.join("texts.db"), |bytes| bytes[8192..].fill(0xa5));
}

#[test]
fn a_damaged_index_of_words_is_made_again_by_whoever_comes_upon_it() {
    let folder = spoken();
    spoil_words(folder.path());
    let engine = open(folder.path());
    engine.settle();
    // Nobody is told that there is nothing: what was not looked into is counted.
    let first = engine.matching("herring").unwrap();
    assert_eq!(first.sessions.len() as u64 + first.unsearched, 3);
    let page = engine.search("moonlight", &Question::default()).unwrap();
    assert_eq!(page.sessions.len() as u64 + page.unsearched, 3);
    until("it is made again", || engine.matching("herring").unwrap().sessions.len() == 3);
    engine.settle_texts();
    assert_eq!(engine.matching("herring").unwrap().unsearched, 0);
    assert!(has_said(&engine, Code::DatabaseRemade, "texts.db was damaged"), "{:?}", engine.notices());
    assert_eq!(engine.index_problem(), None);
}

#[test]
fn whoever_writes_a_damaged_index_of_words_makes_it_again() {
    let folder = spoken();
    spoil_words(folder.path());
    let engine = open(folder.path());
    engine.take(line("four", "another herring")).unwrap();
    engine.settle();
    engine.settle_texts();
    assert_eq!(engine.matching("herring").unwrap().sessions.len(), 4);
    assert!(has_said(&engine, Code::DatabaseRemade, "texts.db was damaged"), "{:?}", engine.notices());
}

#[test]
fn a_damaged_index_of_words_is_found_by_a_check_and_mended_by_a_rebuild() {
    let folder = spoken();
    let options = || Options::new(folder.path(), never);
    assert_eq!(check(&options()).unwrap(), Vec::<String>::new());
    spoil_words(folder.path());
    let found = check(&options()).unwrap();
    assert!(found.iter().any(|line| line.starts_with("texts.db: ")), "{found:?}");
    let engine = Engine::rebuild(options()).unwrap();
    engine.settle();
    engine.rebuilt();
    engine.settle_texts();
    assert!(has_said(&engine, Code::DatabaseRemade, "texts.db was damaged"), "{:?}", engine.notices());
    assert_eq!(engine.matching("herring").unwrap().sessions.len(), 3);
    drop(engine);
    assert_eq!(check(&options()).unwrap(), Vec::<String>::new());
    let files = stats(&options()).unwrap().files;
    assert!(files.iter().any(|(name, bytes)| name == "texts.db" && *bytes > 8192), "{files:?}");
}

fn rows(engine: &Engine) -> Vec<SessionRow> {
    engine.sessions(&Question::default()).unwrap().sessions
}

/// Any page of the databases may be lost: zeros, or what was never written. Everything is shown again, without a word from anybody.
#[test]
fn whatever_page_is_lost_everything_is_shown_again() {
    let folder = spoken();
    let mut cases: Vec<(&str, usize, u8)> = Vec::new();
    for name in ["families.db", "store.db"] {
        let pages = std::fs::read(folder.path().join(name)).unwrap().len() / PAGE_BYTES;
        cases.extend((0..pages).flat_map(|page| [(name, page, 0), (name, page, 0xa5)]));
    }
    assert!(cases.len() > 60);
    let place = folder.path();
    // Mending rests before it tries again: several at a time.
    std::thread::scope(|scope| {
        for some in cases.chunks(cases.len().div_ceil(16)) {
            scope.spawn(move || {
                for (name, page, filling) in some {
                    lose(place, name, *page, *filling);
                }
            });
        }
    });
}

const PAGE_BYTES: usize = 4096;

/// Opens a copy of a folder of three sessions, in which a page of a database is overwritten, and waits until all is well.
fn lose(folder: &Path, name: &str, page: usize, filling: u8) {
    let place = tempfile::tempdir().unwrap();
    copy(folder, place.path());
    let lost = page * PAGE_BYTES..(page + 1) * PAGE_BYTES;
    change(&place.path().join(name), |bytes| bytes[lost].fill(filling));
    let engine = open(place.path());
    let is_shown = |row: &SessionRow| {
        let steps = engine.with_store(|store| store.steps(row.id, 0..9));
        steps.is_ok_and(|steps| steps.len() == 1)
            && engine.snapshot(row.id).is_ok_and(|found| found.is_some())
    };
    until(&format!("{name}, page {page}, {filling}"), || {
        let rows = engine.sessions(&Question::default()).map(|page| page.sessions).unwrap_or_default();
        rows.len() == 3 && rows.iter().all(is_shown)
    });
    until("it says that it is well", || engine.broken().is_none());
}

fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let to = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&file.path(), &to);
        } else {
            std::fs::copy(file.path(), to).unwrap();
        }
    }
}

/// Pages that only readers look at: one that is none any more, and one with a value that nobody wrote.
#[test]
fn damage_of_the_store_that_a_reader_finds_is_mended() {
    for what in ["page", "value"] {
        let folder = filled();
        let connection = database(folder.path(), "store.db");
        if what == "value" {
            connection.execute_batch("UPDATE pages SET bytes = x'00'").unwrap();
            drop(connection);
        } else {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'pages'";
            let root: u32 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
            let root = root as usize;
            drop(connection);
            change(&folder.path().join("store.db"), |bytes| {
                bytes[(root - 1) * 4096..root * 4096].fill(0xa5);
            });
        }
        let engine = open(folder.path());
        engine.settle();
        let rows = rows(&engine);
        let steps = || engine.with_store(|store| store.steps(rows[0].id, 0..u32::MAX));
        let error = steps().unwrap_err();
        assert!(error.damage().is_some(), "{what}: {error}");
        until("it is made again", || steps().is_ok_and(|steps| !steps.is_empty()));
        until("it says that it is well", || engine.broken().is_none());
        assert!(
            has_said(&engine, Code::DatabaseRemade, "store.db was damaged"),
            "{what}: {:?}",
            engine.notices()
        );
        assert!(folder.path().join("store.db.damaged-1").exists());
        assert_once(&engine, 0..40);
        send_all(&engine, 40..45);
        engine.settle();
        assert_once(&engine, 0..45);
    }
}

/// Two segments, of which the first is spoiled from its middle on; five calls are a session.
fn with_a_spoiled_segment() -> tempfile::TempDir {
    let folder = filled();
    let engine = open(folder.path());
    send_all(&engine, 40..60);
    engine.settle();
    drop(engine);
    let file = segments(folder.path()).remove(0);
    change(&file, |bytes| {
        let (middle, end) = (bytes.len() / 2, bytes.len());
        bytes[middle..end].fill(0xa5);
    });
    folder
}

#[test]
fn damage_that_nobody_comes_upon_is_found_when_there_is_nothing_else_to_do() {
    let folder = with_a_spoiled_segment();
    let engine = open(folder.path());
    until("it is told", || has_said(&engine, Code::LogDamaged, "lost"));
    let lost = engine.lost_records();
    assert!(lost > 5 && lost < 35, "{lost}");
    until("it is no longer shown", || engine.health().steps_visible == 60 - lost);
    engine.settle_texts();
    let shown = calls(&engine);
    assert_eq!(shown.len() as u64, 60 - lost);
    assert!((40..60).all(|n| shown.contains_key(&n)));
    assert_eq!(engine.health().sessions, rows(&engine).len() as u64);
    assert!(engine.health().sessions < 12);
    let counted: u64 = engine.receipts().unwrap().iter().map(|(_, counts)| counts.stored).sum();
    assert_eq!(counted, 60 - lost);
    drop(engine);
    // The next process knows it, too, and shows the same.
    let engine = open(folder.path());
    until("it is told again", || engine.lost_records() == lost);
    assert_eq!(engine.health().steps_visible, 60 - lost);
}

#[test]
fn a_session_whose_records_are_lost_is_said_to_be_when_it_is_asked_for() {
    let folder = with_a_spoiled_segment();
    let engine = open(folder.path());
    engine.settle();
    let known = rows(&engine);
    let lost: Vec<&SessionRow> =
        known.iter().filter(|row| engine.snapshot(row.id).unwrap().is_none()).collect();
    assert!(!lost.is_empty() && engine.lost_records() > 0);
    for row in &lost {
        assert!(engine.is_lost(&row.id.show('x')), "{}", row.title);
        until("by the id its source gave it, too", || engine.is_lost(&row.native_ids[0]));
    }
    until("they are no longer shown", || {
        rows(&engine).iter().all(|row| lost.iter().all(|gone| gone.id != row.id))
    });
}

/// The last segment is looked at when the log is opened: what needs damaged bytes of it is told without anybody asking for it, in every process.
#[test]
fn records_that_need_damaged_bytes_of_the_last_segment_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let words = (0..5000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string());
    let words = words.collect::<Vec<_>>().join(" ");
    for (session, said) in [("one", &*words), ("two", "short"), ("three", &*words), ("four", "short")] {
        engine.take(line(session, said)).unwrap();
    }
    engine.settle();
    drop(engine);
    change(&segments(folder.path())[0], |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 100].fill(0xa5);
    });
    let named = check(&Options::new(folder.path(), never)).unwrap();
    assert!(named.iter().any(|line| line.contains("record 0 is lost")), "{named:?}");
    assert!(
        named.iter().any(|line| line.contains("needs") && line.contains("record 2 is lost")),
        "{named:?}"
    );
    for _ in 0..2 {
        let engine = open(folder.path());
        until("both are told", || engine.lost_records() == 2);
        until("neither is shown", || engine.health().records_stored == 2);
        assert!(has_said(&engine, Code::LogDamaged, "record 2 is lost"), "{:?}", engine.notices());
    }
}

/// A stream whose first part is lost is read from its second on, as a rebuild would.
#[test]
fn of_a_file_what_is_not_lost_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: u64| {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"one\",\"uuid\":\"u{n}\",\"timestamp\":\"2026-01-18T19:55:2{n}Z\",\"message\":{{\"role\":\"user\",\"content\":\"word{n}\"}}}}\n"
        )
    };
    let (first, second) = (line(1), line(2) + &line(3));
    for (offset, bytes) in [(0, first.clone()), (first.len() as u64, second)] {
        let engine = open(folder.path());
        let part = Part { path: "one.jsonl".into(), offset, bytes: bytes.into(), checkpoint: None };
        engine.take(Arrival::Part(part)).unwrap();
        engine.settle();
    }
    change(&segments(folder.path())[0], |bytes| {
        let end = bytes.len();
        bytes[16..end].fill(0xa5);
    });
    let engine = open(folder.path());
    until("one is lost", || engine.lost_records() == 1 && engine.health().records_stored == 2);
    let shown = crate::same::shown(&engine);
    assert!(
        shown[0].contains("word2") && shown[0].contains("word3") && !shown[0].contains("word1"),
        "{shown:?}"
    );
    drop(engine);
    let engine = Engine::rebuild(Options::new(folder.path(), never)).unwrap();
    engine.settle();
    assert_eq!(crate::same::shown(&engine), shown);
}

#[test]
fn while_the_log_cannot_be_written_it_is_said() {
    let folder = filled();
    let engine = open(folder.path());
    engine.settle();
    // The first record of a process begins a segment.
    let (log, away) = (folder.path().join("log"), folder.path().join("away"));
    std::fs::rename(&log, &away).unwrap();
    send(&engine, 40).unwrap_err();
    let problem = engine.broken().unwrap();
    assert!(problem.contains("refused") && problem.contains("the record log"), "{problem}");
    assert!(has_said(&engine, Code::WriteRefused, "the record log"), "{:?}", engine.notices());
    std::fs::rename(&away, &log).unwrap();
    send(&engine, 40).unwrap();
    assert_eq!(engine.broken(), None);
    engine.settle();
    assert_once(&engine, 0..41);
}

fn late() -> Timestamp {
    Timestamp::from_ms(1_800_000_000_000)
}

fn ten_days_before() -> Timestamp {
    late().plus_ms(-864_000_000)
}

#[test]
fn numbers_of_changes_grow_whatever_the_clock_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for (n, now) in [late, late, ten_days_before].into_iter().enumerate() {
        let engine = Engine::open(Options::new(folder.path(), now)).unwrap();
        assert!(engine.changes().since(last).missed, "what an earlier process told is not known");
        send(&engine, n as u64).unwrap();
        engine.settle();
        assert!(engine.changes().last() > last, "{} {last}", engine.changes().last());
        last = engine.changes().last();
        let went_back = has_said(&engine, Code::ClockWentBack, "10 days, 0 hours");
        assert_eq!(went_back, n == 2, "{:?}", engine.notices());
    }
}

/// Also where the file with the numbers is gone: records say when they were received.
#[test]
fn a_clock_that_went_back_is_told_by_the_records() {
    let folder = tempfile::tempdir().unwrap();
    for now in [late, ten_days_before] {
        let engine = Engine::open(Options::new(folder.path(), now)).unwrap();
        send(&engine, 1).unwrap();
        engine.settle();
        assert_eq!(has_said(&engine, Code::ClockWentBack, "went back"), now() < late());
        drop(engine);
        std::fs::remove_file(folder.path().join("numbers")).unwrap();
    }
}

#[test]
fn a_family_that_is_too_large_is_told_with_its_session_and_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_family_records: 3, ..Options::new(folder.path(), never) };
    let engine = Engine::open(options).unwrap();
    send_all(&engine, 0..7);
    engine.settle();
    let large = rows(&engine).into_iter().find(|row| row.step_count == 5).unwrap();
    let issues = engine.own_issues();
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert_eq!((issues[0].code, issues[0].session), (Some(Code::FamilyTooLarge), Some(large.id)));
    let words = &issues[0].words;
    assert!(words.contains("`max_family_records` (3)") && words.contains(&large.id.show('x')), "{words}");
    assert_eq!(engine.health().large_families, 1);
}
