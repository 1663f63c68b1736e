//! What is too old or too much goes and stays gone; records move from folder to folder, each once.

use crate::bodies::{body, calls, send_all};
use crate::same::{never, open, shown};
use std::collections::BTreeMap;
use std::path::Path;
use unspool_engine::live::{
    Arrival, Engine, Imported, Keep, Options, Part, Retention, check, compact, export, import, stats,
};
use unspool_model::Timestamp;

const DAY_MS: u64 = 86_400_000;

/// Ten days after the first call.
fn ten_days_later() -> Timestamp {
    Timestamp::from_ms(1_767_348_000_000 + 10 * 86_400_000)
}

fn options(folder: &Path) -> Options {
    Options::new(folder, ten_days_later)
}

/// Calls of ten days, three each, in a session a day.
fn ten_days(folder: &Path) -> Engine {
    let engine = Engine::open(options(folder)).unwrap();
    for day in 0..10 {
        (0..3).for_each(|n| drop(engine.take(body(day * DAY_MS + n, day)).unwrap()));
    }
    engine.settle();
    assert_eq!(calls(&engine).len(), 30);
    engine
}

/// The days of which calls are shown, and how many.
fn days(engine: &Engine) -> BTreeMap<u64, usize> {
    let mut days = BTreeMap::new();
    for (n, count) in calls(engine) {
        *days.entry(n / DAY_MS).or_insert(0) += count;
    }
    days
}

fn of_days(days: std::ops::Range<u64>) -> BTreeMap<u64, usize> {
    days.map(|day| (day, 3)).collect()
}

#[test]
fn what_is_too_old_goes_and_stays_gone() {
    let folder = tempfile::tempdir().unwrap();
    let engine = ten_days(folder.path());
    let five_days = Retention { all: Keep::days(5), ..Retention::default() };
    let would = engine.prune(&five_days, true).unwrap();
    assert_eq!((would.sessions, would.steps, days(&engine)), (5, 15, of_days(0..10)));
    let health = engine.health();
    let went = engine.prune(&five_days, false).unwrap();
    assert_eq!((went.sessions, went.steps, went.bytes), (5, 15, would.bytes));
    assert!(went.bytes > 1000);
    assert_eq!(days(&engine), of_days(5..10));
    assert_eq!(engine.health().steps_visible, health.steps_visible - 15);
    assert_eq!(engine.log_size().records, 15);
    assert_eq!(engine.prune(&five_days, false).unwrap().sessions, 0);
    drop(engine);

    let before = stats(&options(folder.path())).unwrap();
    assert_eq!(before.sources["otlp-http"].entries, 15);
    let done = compact(&options(folder.path()), 3).unwrap();
    assert!(done.segments == 1 && done.bytes > 300, "{done:?}");
    let after = stats(&options(folder.path())).unwrap();
    assert_eq!((after.sources, after.totals), (before.sources, before.totals));
    assert_eq!(check(&options(folder.path())).unwrap(), [""; 0]);

    let engine = Engine::rebuild(options(folder.path())).unwrap();
    engine.settle();
    assert_eq!(days(&engine), of_days(5..10), "a rebuild brings nothing back");
    engine.take(body(7, 0)).unwrap();
    engine.settle();
    let mut expected = of_days(5..10);
    expected.insert(0, 1);
    assert_eq!(days(&engine), expected, "of a session that goes on, only what is new is there");
}

#[test]
fn the_oldest_go_until_the_rest_fits_and_sources_have_rules_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let engine = ten_days(folder.path());
    let hooks = unspool_testkit::witness::hooks(
        &unspool_testkit::generate(unspool_testkit::Shape::default(), 3).tree,
    );
    engine.take(Arrival::Body { source: "hooks".into(), name: "hooks.jsonl".into(), bytes: hooks }).unwrap();
    engine.settle();
    let sessions = engine.health().sessions;
    // Whatever the clock says: the made-up hooks are of a later year.
    let nothing = Keep { max_age_ms: Some(i64::MIN), max_bytes: None };
    let all = engine.prune(&Retention { all: nothing, ..Retention::default() }, true).unwrap();
    assert_eq!(all.sessions, sessions);

    let otlp = |keep| Retention { sources: [("otlp-http".to_string(), keep)].into(), ..Retention::default() };
    let rule = otlp(Keep { max_age_ms: None, max_bytes: Some(0) });
    assert_eq!(engine.prune(&rule, true).unwrap().sessions, 10, "hooks are no concern of that rule");
    // About a tenth for each day.
    let bytes = engine.prune(&rule, true).unwrap().bytes;
    let some = otlp(Keep { max_age_ms: None, max_bytes: Some(bytes * 35 / 100) });
    let shown = |engine: &Engine| engine.health().sessions;
    assert_eq!(engine.prune(&some, false).unwrap().sessions, 7);
    assert_eq!(shown(&engine), sessions - 7);

    // A source may be kept longer than everything else.
    let mut longer = otlp(Keep::days(100));
    longer.all = nothing;
    assert_eq!(engine.prune(&longer, false).unwrap().sessions, sessions - 10);
    assert_eq!(days(&engine), of_days(7..10));
}

#[test]
fn it_is_applied_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    drop(ten_days(folder.path()));
    let retention = Retention { all: Keep::days(2), ..Retention::default() };
    let engine = Engine::open(Options { retention, ..options(folder.path()) }).unwrap();
    // The order waits its turn, behind what is done at the start.
    engine.prune(&Retention::default(), true).unwrap();
    assert_eq!(days(&engine), of_days(8..10));
    assert!(
        engine.notices().iter().any(|line| line.starts_with("retention: 8 sessions")),
        "{:?}",
        engine.notices()
    );
}

#[test]
fn a_file_goes_with_all_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(options(folder.path())).unwrap();
    let tree = unspool_testkit::generate(unspool_testkit::Shape::default(), 5).tree;
    let mut parts = 0;
    for (name, bytes) in &tree.files {
        let mut offset = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (path, bytes) = (name.clone(), line.to_vec());
            engine.take(Arrival::Part(Part { path, offset, bytes, checkpoint: None })).unwrap();
            offset += line.len() as u64;
            parts += 1;
        }
    }
    engine.settle();
    assert!(engine.health().sessions > 0 && parts > 10);
    let everything = Retention { all: Keep { max_age_ms: None, max_bytes: Some(0) }, ..Retention::default() };
    engine.prune(&everything, false).unwrap();
    assert_eq!((engine.health().sessions, engine.health().records_stored), (0, 0));
    assert_eq!(engine.log_size().records, 0);
    assert_eq!(shown(&engine), [""; 0]);
}

#[test]
fn records_move_to_another_folder_once() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let engine = open(from.path());
    send_all(&engine, 0..20);
    let bytes = vec![0x0a, 0xff, 0xfe];
    engine.take(Arrival::Part(Part { path: "raw.bin".into(), offset: 0, bytes, checkpoint: None })).unwrap();
    engine.settle();
    let expected = shown(&engine);
    drop(engine);
    let (from, to) = (Options::new(from.path(), never), Options::new(to.path(), never));
    let mut file = Vec::new();
    assert_eq!(export(&from, &mut file).unwrap(), 21);
    assert_eq!(import(&to, &file[..]).unwrap(), Imported { added: 21, known: 0 });
    assert_eq!(import(&to, &file[..]).unwrap(), Imported { added: 0, known: 21 });
    let mut again = Vec::new();
    export(&to, &mut again).unwrap();
    assert_eq!(again, file);
    let engine = open(&to.folder);
    engine.settle();
    assert_eq!(shown(&engine), expected);
    drop(engine);
    let error = import(&to, &b"no export"[..]).unwrap_err();
    assert!(error.to_string().contains("the import"), "{error}");
}

#[test]
fn a_check_tells_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    drop(ten_days(folder.path()));
    let options = options(folder.path());
    assert_eq!(check(&options).unwrap(), [""; 0]);
    let families = rusqlite::Connection::open(folder.path().join("families.db")).unwrap();
    families.execute("DELETE FROM sessions WHERE family = 2", []).unwrap();
    families.execute("UPDATE entries SET position = position + 1000 WHERE family = 3", []).unwrap();
    drop(families);
    let found = check(&options).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("3 entries are not in the log") && found[1].contains("1 sessions too many"));
    let segment = std::fs::read_dir(folder.path().join("log")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    assert!(check(&options).unwrap()[0].contains("lost"));
}

fn received(folder: &Path) -> u64 {
    stats(&options(folder)).unwrap().sources.values().map(|source| source.bytes).sum()
}

/// What came twice is held twice, and what came together stays until the last of it goes.
#[test]
fn bytes_are_those_that_the_log_holds() {
    let folder = tempfile::tempdir().unwrap();
    let engine = ten_days(folder.path());
    for day in 7..10 {
        (0..3).for_each(|n| drop(engine.take(body(day * DAY_MS + n, day)).unwrap()));
    }
    let unknown = b"hello\nworld\n".to_vec();
    let loose = unknown.len() as u64;
    engine
        .take(Arrival::Part(Part { path: "weird.jsonl".into(), offset: 0, bytes: unknown, checkpoint: None }))
        .unwrap();
    engine.settle();
    assert_eq!(engine.health().records_duplicate, 9);
    drop(engine);
    let before = received(folder.path());
    let most = (before - loose) / 2;
    let rule = Retention { all: Keep { max_age_ms: None, max_bytes: Some(most) }, ..Retention::default() };
    let engine = Engine::open(options(folder.path())).unwrap();
    engine.settle();
    let would = engine.prune(&rule, true).unwrap();
    let went = engine.prune(&rule, false).unwrap();
    assert_eq!((would.bytes, would.kept, would.loose), (went.bytes, went.kept, went.loose));
    assert_eq!(engine.prune(&rule, false).unwrap().sessions, 0);
    drop(engine);
    let after = received(folder.path());
    assert_eq!((before - after, after, loose), (went.bytes, went.kept + loose, went.loose));
    assert!(went.kept <= most && went.kept > most * 2 / 3, "{went:?}");
}

#[test]
fn what_came_together_stays_until_the_last_of_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(options(folder.path())).unwrap();
    // Two requests, each of which has a call of an old session and one of a later.
    for day in [0, 5] {
        let (mut first, second) =
            (spans(&body(day * DAY_MS, day)), spans(&body((day + 1) * DAY_MS, day + 1)));
        let more = second["resourceSpans"][0].clone();
        first["resourceSpans"].as_array_mut().unwrap().push(more);
        let bytes = serde_json::to_vec(&first).unwrap();
        engine.take(Arrival::Body { source: "otlp-http".into(), name: "traces.json".into(), bytes }).unwrap();
    }
    engine.settle();
    assert_eq!(engine.health().sessions, 4);
    let rule =
        |most| Retention { all: Keep { max_age_ms: None, max_bytes: Some(most) }, ..Retention::default() };
    let all = engine.prune(&rule(u64::MAX), true).unwrap().kept;
    let went = engine.prune(&rule(all - 1), true).unwrap();
    assert_eq!(went.sessions, 2, "one alone gives nothing back");
    assert!(went.bytes > 0 && went.kept + went.bytes == all, "{went:?}");
    let old = engine.prune(&Retention { all: Keep::days(9), ..Retention::default() }, false).unwrap();
    assert_eq!((old.sessions, old.bytes, old.kept), (1, 0, all));
}

fn spans(arrival: &Arrival) -> serde_json::Value {
    let Arrival::Body { bytes, .. } = arrival else { unreachable!("it is a body") };
    serde_json::from_slice(bytes).unwrap()
}

fn twenty_days_later() -> Timestamp {
    ten_days_later().plus_ms(10 * 86_400_000)
}

/// Nothing in it says when it was, so it is as old as what was received.
#[test]
fn a_session_without_a_time_is_as_old_as_its_receipt() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(options(folder.path())).unwrap();
    let log = serde_json::json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hello"}}]}]}]});
    let bytes = serde_json::to_vec(&log).unwrap();
    engine.take(Arrival::Body { source: "otlp-http".into(), name: "logs.json".into(), bytes }).unwrap();
    engine.settle();
    assert_eq!(engine.health().sessions, 1);
    let five_days = Retention { all: Keep::days(5), ..Retention::default() };
    assert_eq!(engine.prune(&five_days, true).unwrap().sessions, 0);
    drop(engine);
    let engine = Engine::open(Options::new(folder.path(), twenty_days_later)).unwrap();
    engine.settle();
    assert_eq!(engine.prune(&five_days, false).unwrap().sessions, 1);
    assert_eq!(engine.health().sessions, 0);
}
