//! What every store must do. A new store adds one line at the end.

use crate::facts::{Random, TEXTS};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use unspool_model::Id;
use unspool_store::rows::{Checkpoint, SessionFacts, SessionRow, SourceReceipt, StepRow};
use unspool_store::{
    Commit, Cursor, DatabaseFile, Facet, FacetValues, Filter, MAX_FACET_VALUES, MemoryStore, Question, Sort,
    Standing, Store, StoreError, StorePlace,
};

/// A place for a store, which may be in an empty folder.
type Factory = fn(&Path) -> Arc<dyn StorePlace>;

fn id(n: u64) -> Id {
    Id::of(&[&n.to_le_bytes()])
}

fn facts(n: u64, title: &str) -> SessionFacts {
    let session = SessionRow {
        id: id(n),
        title: title.into(),
        started_ns: Some(n.cast_signed()),
        first_position: n.cast_signed(),
        end_position: n.cast_signed() + 1,
        step_count: 2,
        native_bytes: 10,
        ..SessionRow::default()
    };
    let steps = [1, 2].map(|k| StepRow { id: id(n * 100 + k), name: title.into(), ..StepRow::default() });
    SessionFacts { session, steps: steps.into_iter().collect(), ..SessionFacts::default() }
}

fn commit(version: u64, sessions: Vec<SessionFacts>) -> Commit {
    Commit { version, through: version * 10, sessions, ..Commit::default() }
}

/// Everything a store says, to be compared.
fn everything(store: &dyn Store) -> (Standing, Vec<SessionFacts>, String) {
    let page = store.sessions(&Question::default()).unwrap();
    let sessions = page.sessions.iter().map(|row| store.session(row.id).unwrap().unwrap()).collect();
    let issues: Vec<_> = page.sessions.iter().map(|row| store.issues(row.id).unwrap()).collect();
    let checkpoints: Vec<_> = TEXTS.iter().map(|source| store.checkpoint(source).unwrap()).collect();
    let versions: Vec<_> = page.sessions.iter().map(|row| store.version_of(row.id).unwrap()).collect();
    let rest = (
        store.session_ids().unwrap(),
        versions,
        store.changed(0, u64::MAX).unwrap(),
        store.forgotten().unwrap(),
        issues,
        checkpoints,
        store.receipts().unwrap(),
        store.oldest_position().unwrap(),
        store.totals().unwrap(),
    );
    (store.standing().unwrap(), sessions, format!("{rest:?}"))
}

fn an_empty_store_answers(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let store = make(folder.path()).open().unwrap();
    let (standing, sessions, _) = everything(&*store);
    assert_eq!((standing, sessions), (Standing::default(), Vec::new()));
    assert_eq!(store.session(id(1)).unwrap(), None);
    assert_eq!(store.steps(id(1), 0..5).unwrap(), []);
    assert_eq!(store.place_of_step(id(1), None).unwrap(), None);
    assert_eq!(store.issues(id(1)).unwrap(), []);
    assert_eq!(store.version_of(id(1)).unwrap(), None);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert_eq!(store.oldest_position().unwrap(), None);
}

fn a_newer_version_replaces_all_rows_and_an_older_none(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    store.commit(&commit(5, vec![facts(1, "five")])).unwrap();
    let mut shorter = facts(1, "seven");
    shorter.steps = shorter.steps.some(0..1).into();
    store.commit(&commit(7, vec![shorter.clone()])).unwrap();
    store.commit(&commit(6, vec![facts(1, "six")])).unwrap();
    store.commit(&commit(7, vec![facts(1, "seven again")])).unwrap();
    assert_eq!(store.session(id(1)).unwrap(), Some(shorter));
    assert_eq!(store.place_of_step(id(102), None).unwrap(), None);
    assert_eq!(store.standing().unwrap(), Standing { version: 7, through: 70 });
    store.commit(&Commit { version: 9, gone: vec![id(1)], ..Commit::default() }).unwrap();
    store.commit(&commit(8, vec![facts(1, "eight")])).unwrap();
    assert_eq!(store.session(id(1)).unwrap(), None);
    store.commit(&commit(10, vec![facts(1, "ten")])).unwrap();
    assert_eq!(store.session(id(1)).unwrap(), Some(facts(1, "ten")));
}

fn steps_are_found_by_place_and_by_id(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    store.commit(&commit(1, vec![facts(1, "one"), facts(2, "two")])).unwrap();
    assert_eq!(store.steps(id(2), 1..9).unwrap(), facts(2, "two").steps.some(1..2));
    assert_eq!(store.steps(id(2), 2..9).unwrap(), []);
    for session in [None, Some(id(2))] {
        assert_eq!(store.place_of_step(id(202), session).unwrap(), Some((id(2), 1)));
    }
    assert_eq!(store.place_of_step(id(202), Some(id(1))).unwrap(), None);
}

fn titles_are_found_in_capitals_or_not(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    store.commit(&commit(1, vec![facts(1, "Mend the ÄRGER"), facts(2, "mend it")])).unwrap();
    for (title, wanted) in [("mend", 2), ("MEND", 2), ("ärger", 1), ("ÄrG", 1), ("arger", 0), ("%", 0)] {
        let filter = Filter { title_contains: Some(title.into()), ..Filter::default() };
        let found = store.sessions(&Question { filter, ..Question::default() }).unwrap();
        assert_eq!(found.matching, wanted, "{title}");
    }
}

fn pages_hold_every_session_once_in_every_order(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    let mut random = Random(3);
    let all: Vec<SessionFacts> = (0..40).map(|n| random.facts(id(n))).collect();
    store.commit(&commit(1, all)).unwrap();
    for sort in Sort::ALL {
        for descending in [false, true] {
            let mut question = Question { sort, descending, limit: 7, ..Question::default() };
            let mut seen = Vec::new();
            loop {
                let page = store.sessions(&question).unwrap();
                assert_eq!(page.matching, 40);
                seen.extend(page.sessions.iter().map(|row| (sort.key(row), row.id)));
                // The cursor goes through its text form, as it does over the wire.
                let Some(next) = page.next else { break };
                question.after = Some(Cursor::parse(&next.show()).unwrap());
            }
            assert_eq!(seen.len(), 40, "{sort:?}");
            if descending {
                seen.reverse();
            }
            assert!(seen.is_sorted_by(|a, b| a < b), "{sort:?}");
        }
    }
}

fn values_are_counted_most_first_and_up_to_a_limit(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    let many = MAX_FACET_VALUES as u64 + 5;
    let session = |n: u64| {
        let mut facts = facts(n, "t");
        facts.session.models = vec![format!("model {:03}", n % many), "common".into()];
        facts.session.cwd = if n.is_multiple_of(2) { "/even".into() } else { String::new() };
        facts
    };
    store.commit(&commit(1, (0..=many).map(session).collect())).unwrap();
    let models = store.facet(Facet::Model, &Filter::default()).unwrap();
    assert_eq!((models.values.len(), models.different), (MAX_FACET_VALUES, many + 1));
    let first = [("common", many + 1), ("model 000", 2), ("model 001", 1)];
    assert_eq!(models.values[..3], first.map(|(value, count)| (value.to_string(), count)));
    let even = Filter { cwd: Some("/even".into()), ..Filter::default() };
    let cwds = store.facet(Facet::Cwd, &even).unwrap();
    assert_eq!((cwds.values, cwds.different), (vec![("/even".into(), many.div_ceil(2))], 1));
    let none = Filter { cwd: Some("/odd".into()), ..Filter::default() };
    assert_eq!(store.facet(Facet::Model, &none).unwrap(), FacetValues::default());
}

fn a_cursor_outlives_its_session_and_belongs_to_one_order(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    store.commit(&commit(1, (0..6).map(|n| facts(n, "t")).collect())).unwrap();
    let mut question = Question { limit: 2, ..Question::default() };
    let page = store.sessions(&question).unwrap();
    store.forget(&[id(0), id(1)]).unwrap();
    question.after = page.next;
    let rest: Vec<Id> = store.sessions(&question).unwrap().sessions.iter().map(|row| row.id).collect();
    assert_eq!(rest, [id(2), id(3)]);
    question.sort = Sort::Title;
    assert!(matches!(store.sessions(&question), Err(StoreError::Cursor)));
}

fn what_is_forgotten_comes_back_only_with_later_records(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    store.commit(&commit(1, vec![facts(1, "old"), facts(2, "kept")])).unwrap();
    assert_eq!(store.oldest_position().unwrap(), Some(1));
    let gone = store.forget(&[id(1), id(1), id(77)]).unwrap();
    assert_eq!((gone.sessions, gone.steps, gone.native_bytes), (1, 2, 10));
    assert_eq!(store.oldest_position().unwrap(), Some(2));
    store.commit(&commit(2, vec![facts(1, "old")])).unwrap();
    store.drop_derived().unwrap();
    store.commit(&commit(3, vec![facts(1, "old")])).unwrap();
    assert_eq!(store.session(id(1)).unwrap(), None);
    let mut later = facts(1, "new");
    later.session.end_position += 1;
    store.commit(&commit(4, vec![later.clone()])).unwrap();
    assert_eq!(store.session(id(1)).unwrap(), Some(later));
}

fn only_what_is_derived_is_dropped(make: Factory) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = make(folder.path()).open().unwrap();
    let checkpoint = Checkpoint { source: "a.jsonl".into(), offset: 9, fingerprint: vec![1] };
    let receipt = SourceReceipt { source: "a.jsonl".into(), seen: 2, stored: 2, ..SourceReceipt::default() };
    let whole = Commit {
        checkpoints: vec![checkpoint.clone()],
        receipts: vec![receipt.clone()],
        ..commit(3, vec![facts(1, "one")])
    };
    store.commit(&whole).unwrap();
    store.drop_derived().unwrap();
    assert_eq!(store.standing().unwrap(), Standing { version: 3, through: 0 });
    assert_eq!(store.sessions(&Question::default()).unwrap().matching, 0);
    assert_eq!(store.checkpoint("a.jsonl").unwrap(), Some(checkpoint));
    assert_eq!(store.receipts().unwrap(), [receipt]);
    store.commit(&commit(4, vec![facts(1, "again")])).unwrap();
    assert_eq!(store.session(id(1)).unwrap(), Some(facts(1, "again")));
}

fn a_place_is_opened_twice_copied_replaced_and_removed(make: Factory) {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = make(folder.path());
    let (mut writer, reader) = (place.open().unwrap(), place.open().unwrap());
    let checkpoint = Checkpoint { source: "a.jsonl".into(), offset: 7, ..Checkpoint::default() };
    let first = Commit { checkpoints: vec![checkpoint.clone()], ..commit(3, vec![facts(1, "one")]) };
    writer.commit(&first).unwrap();
    assert_eq!(
        reader.session(id(1)).unwrap(),
        Some(facts(1, "one")),
        "who reads sees what another one wrote"
    );
    place.bring_in().unwrap();
    drop((writer, reader));
    let copy = place.copy(elsewhere.path()).unwrap();
    assert_eq!(everything(&*copy.open().unwrap()), everything(&*place.open().unwrap()));
    copy.open().unwrap().commit(&commit(4, vec![facts(2, "of the copy")])).unwrap();
    assert_eq!(place.open().unwrap().session(id(2)).unwrap(), None, "they have nothing in common");
    assert!(place.replace("for a reason").unwrap().contains("for a reason"));
    let store = place.open().unwrap();
    assert_eq!((store.session(id(1)).unwrap(), store.standing().unwrap().through), (None, 0));
    assert_eq!(store.checkpoint("a.jsonl").unwrap(), Some(checkpoint), "the log does not know it");
    drop(store);
    copy.remove().unwrap();
    assert_eq!(copy.open().unwrap().totals().unwrap().sessions, 0);
}

/// The same commits, in another order and some of them twice, leave the same behind.
fn commits_may_be_repeated_and_moved(make: Factory, seed: u64, order: &[usize]) {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (mut one, mut other) =
        (make(folders[0].path()).open().unwrap(), make(folders[1].path()).open().unwrap());
    let mut random = Random(seed);
    let commits: Vec<Commit> = (1..=6).map(|version| random.commit(version)).collect();
    for commit in &commits {
        one.commit(commit).unwrap();
    }
    for n in order.iter().copied().chain(0..commits.len()) {
        other.commit(&commits[n % commits.len()]).unwrap();
    }
    assert_eq!(everything(&*one), everything(&*other));
}

/// Whatever is done and asked, the answer is that of the memory store.
fn answers_as_the_memory_store_does(make: Factory, seed: u64, acts: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, mut meaning) = (make(folder.path()).open().unwrap(), MemoryStore::default());
    let mut random = Random(seed);
    for act in acts {
        match act {
            0..8 => {
                let version = random.below(12);
                let commit = random.commit(version);
                store.commit(&commit).unwrap();
                meaning.commit(&commit).unwrap();
            }
            8 => {
                let ids = [random.id(), random.id()];
                assert_eq!(store.forget(&ids).unwrap(), meaning.forget(&ids).unwrap());
            }
            9 => {
                store.drop_derived().unwrap();
                meaning.drop_derived().unwrap();
            }
            _ => {
                let mut question = random.question();
                for _ in 0..4 {
                    let (found, meant) =
                        (store.sessions(&question).unwrap(), meaning.sessions(&question).unwrap());
                    assert_eq!(found, meant, "{question:?}");
                    let Some(next) = found.next else { break };
                    question.after = Some(next);
                }
                for facet in Facet::ALL {
                    for filter in [&question.filter, &facet.left_open(&question.filter)] {
                        let (found, meant) = (store.facet(facet, filter), meaning.facet(facet, filter));
                        assert_eq!(found.unwrap(), meant.unwrap(), "{facet:?} {filter:?}");
                    }
                }
                let message = random.text();
                let (session, step) = (random.id(), random.id());
                assert_eq!(
                    store.place_of_message(session, &message).unwrap(),
                    meaning.place_of_message(session, &message).unwrap()
                );
                let (behind, upto) = (u64::from(*act), u64::from(*act) + 3);
                assert_eq!(store.changed(behind, upto).unwrap(), meaning.changed(behind, upto).unwrap());
                assert_eq!(store.version_of(session).unwrap(), meaning.version_of(session).unwrap());
                store.rest();
                store.shrink().unwrap();
                assert_eq!(store.steps(session, 1..3).unwrap(), meaning.steps(session, 1..3).unwrap());
                for session in [None, Some(session)] {
                    assert_eq!(
                        store.place_of_step(step, session).unwrap(),
                        meaning.place_of_step(step, session).unwrap()
                    );
                }
            }
        }
    }
    assert_eq!(everything(&*store), everything(&meaning));
}

macro_rules! conformance {
    ($store:ident, $make:expr) => {
        mod $store {
            use super::*;

            const MAKE: Factory = $make;

            conformance!(@checks an_empty_store_answers a_newer_version_replaces_all_rows_and_an_older_none
                steps_are_found_by_place_and_by_id titles_are_found_in_capitals_or_not pages_hold_every_session_once_in_every_order
                values_are_counted_most_first_and_up_to_a_limit a_cursor_outlives_its_session_and_belongs_to_one_order
                what_is_forgotten_comes_back_only_with_later_records only_what_is_derived_is_dropped
                a_place_is_opened_twice_copied_replaced_and_removed);

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48))]

                #[test]
                fn commits_may_be_repeated_and_moved(seed: u64, order in proptest::collection::vec(0..6_usize, 0..12)) {
                    super::commits_may_be_repeated_and_moved(MAKE, seed, &order);
                }

                #[test]
                fn answers_as_the_memory_store_does(seed: u64, acts in proptest::collection::vec(0..16_u8, 0..24)) {
                    super::answers_as_the_memory_store_does(MAKE, seed, &acts);
                }
            }
        }
    };
    (@checks $($check:ident)*) => {
        $(#[test] fn $check() { super::$check(MAKE); })*
    };
}

conformance!(memory, |_| Arc::new(MemoryStore::default()));
conformance!(sqlite, |folder| Arc::new(DatabaseFile::new(folder.join("store.db"))));
