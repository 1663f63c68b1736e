//! Sessions that grow: what is there already is not made again, and what is read is what it would be if it had been written at once.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use unspool_model::Id;
use unspool_store::rows::{EdgeRow, List, Row, SessionFacts, SessionRow, Source, StepRow};
use unspool_store::{Commit, SqliteStore, Store};

/// As long as three pages of the embedded store and some rows.
const LONG: u64 = 3200;

fn id(n: u64) -> Id {
    Id::of(&[&n.to_le_bytes()])
}

fn step(n: u64) -> StepRow {
    StepRow { id: id(n), name: format!("step {n}"), witnesses: vec![id(n + 100_000)], ..StepRow::default() }
}

/// Its evidence is a record of the step behind its end, and one that no step names.
fn edge(n: u64) -> EdgeRow {
    let evidence = vec![id(n + 100_002), id(n + 900_000)];
    EdgeRow { from_id: id(n), to_id: id(n + 1), kind: "next".into(), evidence, ..EdgeRow::default() }
}

fn facts(steps: &[u64], edges: Range<u64>) -> SessionFacts {
    SessionFacts {
        session: SessionRow { id: id(0), step_count: 1, end_position: 1, ..SessionRow::default() },
        steps: steps.iter().map(|n| step(*n)).collect(),
        edges: edges.map(edge).collect(),
        ..SessionFacts::default()
    }
}

type Made = Arc<Mutex<Vec<Range<usize>>>>;

/// Rows that remember which of them were made.
struct Asked<R> {
    rows: Vec<R>,
    made: Made,
}

impl<R: Row> Source<R> for Asked<R> {
    fn rows(&self, places: Range<usize>) -> Vec<R> {
        self.made.lock().unwrap().push(places.clone());
        self.rows[places].to_vec()
    }

    fn ids(&self, places: Range<usize>, each: &mut dyn FnMut(Id)) {
        self.rows.ids(places, each);
    }
}

fn asked<R: Row>(list: &List<R>) -> (List<R>, Made) {
    let made = Made::default();
    let source = Asked { rows: list.all(), made: Arc::clone(&made) };
    (List::new(list.hashes().to_vec(), Arc::new(source)), made)
}

/// Commits one after the other; after each one everything is read again.
fn read_after_each(all: &[SessionFacts]) {
    let place = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(&place.path().join("store.db")).unwrap();
    for (version, facts) in (1..).zip(all) {
        store.commit(&Commit { version, sessions: vec![facts.clone()], ..Commit::default() }).unwrap();
        assert_eq!(store.session(id(0)).unwrap().as_ref(), Some(facts), "version {version}");
    }
}

#[test]
fn whatever_changes_in_a_long_session_is_read_as_it_was_written() {
    let whole: Vec<u64> = (0..LONG).collect();
    let mut with_another = whole.clone();
    with_another.insert(1500, 50_000);
    let mut without_the_first = whole.clone();
    without_the_first.remove(0);
    read_after_each(&[
        facts(&whole[..2000], 0..1900),
        facts(&whole, 0..1900),
        facts(&whole, 0..LONG - 1),
        // From here on edges name other numbers, though they are the same.
        facts(&with_another, 0..LONG - 1),
        facts(&without_the_first, 0..LONG - 1),
        facts(&whole, 0..LONG - 1),
        facts(&whole[..900], 0..20),
    ]);
}

#[test]
fn rows_on_pages_that_are_there_are_not_made_again() {
    let place = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(&place.path().join("store.db")).unwrap();
    let whole: Vec<u64> = (0..LONG).collect();
    let mut commit = |version, facts: &SessionFacts| {
        let (steps, made_steps) = asked(&facts.steps);
        let (edges, made_edges) = asked(&facts.edges);
        let facts = SessionFacts { steps, edges, ..facts.clone() };
        store.commit(&Commit { version, sessions: vec![facts], ..Commit::default() }).unwrap();
        (std::mem::take(&mut *made_steps.lock().unwrap()), std::mem::take(&mut *made_edges.lock().unwrap()))
    };
    let (steps, edges) = commit(1, &facts(&whole[..3000], 0..2990));
    assert_eq!(
        (steps, edges),
        (vec![0..1024, 1024..2048, 2048..3000], vec![0..1024, 1024..2048, 2048..2990])
    );
    let plain = |n: u64| EdgeRow { from_id: id(n), to_id: id(n + 1), ..EdgeRow::default() };
    let mut growing = facts(&whole[..3000], 0..0);
    growing.edges = (0..2990).map(plain).collect();
    commit(2, &growing);
    growing = SessionFacts { steps: facts(&whole, 0..0).steps, ..growing };
    growing.edges = (0..3100).map(plain).collect();
    assert_eq!(commit(3, &growing), (vec![2048..3072, 3072..3200], vec![2048..3072, 3072..3100]));
    assert_eq!(commit(4, &growing), (vec![], vec![]));
}

/// A row more is a row, and now and then those beside it: never all that are behind the last full page.
#[test]
fn a_session_that_grows_by_a_row_writes_few() {
    let place = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(&place.path().join("store.db")).unwrap();
    let whole: Vec<u64> = (0..1400).collect();
    let mut made_in_all = 0;
    for (version, rows) in (1..).zip(900..1400) {
        let written = facts(&whole[..rows], 0..0);
        let (steps, made) = asked(&written.steps);
        let sessions = vec![SessionFacts { steps, ..written.clone() }];
        store.commit(&Commit { version, sessions, ..Commit::default() }).unwrap();
        if version > 2 {
            made_in_all += made.lock().unwrap().iter().map(Range::len).sum::<usize>();
        }
        if rows % 37 == 0 || rows >= 1390 || (1020..1030).contains(&rows) {
            assert_eq!(store.session(id(0)).unwrap().as_ref(), Some(&written), "{rows} rows");
            for places in [0..1, 890..896, 895..905, 1020..1030, 0..2000, 3000..3001] {
                let found = store.steps(id(0), places.clone()).unwrap();
                let end = rows.min(places.end as usize);
                let expected = written.steps.some(places.start as usize..end);
                assert_eq!(found, expected, "{places:?} of {rows} rows");
            }
        }
    }
    assert!(made_in_all < 500 * 60, "{made_in_all} rows made");
}
