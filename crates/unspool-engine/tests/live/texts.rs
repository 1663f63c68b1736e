//! Words in all sessions: what is found is what a look at every text finds.

use crate::same::{Event, arrivals, never, open};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;
use unspool_engine::live::{Arrival, Engine, Options, Part};
use unspool_model::Id;
use unspool_store::{DatabaseFile, Ground, LogOptions, Question, Texts as Index};
use unspool_testkit::{Layout, Mode, Random, Replay, Shape, generate};
use unspool_view::search::words::{Terms, each_word};
use unspool_view::search::{Chunks, TEXTS_VERSION, Texts, Told};

/// Texts with the steps they are of.
type Said = Vec<(Vec<Id>, String)>;

/// All texts of all sessions.
fn said(engine: &Engine) -> BTreeMap<Id, Said> {
    let page = engine.sessions(&Question::default()).unwrap();
    let of = |id| {
        let snapshot = engine.snapshot(id).unwrap().unwrap();
        let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
        let chunks = Chunks::of(flow, batch);
        let mut natives = snapshot.natives();
        let mut all = Vec::new();
        for chunk in &chunks.chunks {
            let texts = chunks.read(chunk, flow, batch, &mut natives, &mut Told::default()).to_bytes();
            Texts::each(&texts, |steps, text| {
                all.push((steps.collect(), text.to_string()));
                true
            });
        }
        all
    };
    page.sessions.into_iter().map(|row| (row.id, of(row.id))).collect()
}

fn naive(typed: &str, said: &BTreeMap<Id, Said>) -> BTreeSet<Id> {
    let terms = Terms::of(typed).terms;
    let all = |said: &Said| terms.iter().all(|term| said.iter().any(|(_, text)| term.find(text).is_some()));
    let found = said.iter().filter(|(_, said)| !terms.is_empty() && all(said));
    found.map(|(id, _)| *id).collect()
}

/// Something to look for that may well be there.
fn typed(said: &BTreeMap<Id, Said>, random: &mut Random) -> String {
    let texts: Vec<&str> = said.values().flatten().map(|(_, text)| text.as_str()).collect();
    let mut wanted = Vec::new();
    for _ in 0..=random.below(2) {
        let text = texts[random.below(texts.len())];
        let mut words: Vec<String> = Vec::new();
        each_word(text, |word| words.push(word.into()));
        let Some(word) = words.get(random.below(words.len().max(1))) else { continue };
        let stem: String = word.chars().take(1 + random.below(4)).collect();
        let letters: Vec<char> = text.chars().filter(|letter| *letter != '"').collect();
        let from = random.below(letters.len().max(1));
        let part: String = letters.iter().skip(from).take(1 + random.below(12)).collect();
        wanted.push(match random.below(5) {
            0 => word.to_uppercase(),
            1 => format!("{stem}*"),
            2 => format!("\"{part}\""),
            3 => format!("\"{part}\"*"),
            _ => part,
        });
    }
    wanted.join(" ")
}

/// Compares some searches.
pub(crate) fn compare(engine: &Engine, random: &mut Random) {
    engine.settle();
    engine.settle_texts();
    assert_eq!(engine.index_problem(), None);
    let said = said(engine);
    let mut hit = 0;
    for _ in 0..25 {
        let typed = typed(&said, random);
        let expected = naive(&typed, &said);
        let found = engine.matching(&typed).unwrap();
        assert_eq!(found.unsearched, 0);
        assert_eq!(*found.sessions, expected, "{typed:?}");
        let page = engine.search(&typed, &Question::default()).unwrap();
        assert_eq!(page.matching, expected.len() as u64);
        let listed: BTreeSet<Id> = page.sessions.iter().map(|one| one.row.id).collect();
        assert_eq!(listed, expected, "{typed:?}");
        let terms = Terms::of(&typed).terms;
        for one in &page.sessions {
            assert!(!one.hits.is_empty());
            for shown in &one.hits {
                let is_there = said[&one.row.id].iter().any(|(steps, text)| {
                    steps.contains(&shown.step) && terms.iter().any(|term| term.find(text).is_some())
                });
                assert!(is_there, "{typed:?} {shown:?}");
                hit += 1;
            }
        }
    }
    assert!(hit > 0);
}

fn take(engine: &Engine, event: Event) {
    let arrival = match event {
        Event::Restart => return,
        Event::Body(source, name, bytes) => Arrival::Body { source: source.into(), name, bytes },
        Event::Part(path, offset, bytes) => {
            Arrival::Part(Part { path, offset: offset as u64, bytes, checkpoint: None })
        }
    };
    engine.take(arrival).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_what_was_said(seed in 0_u64..1_000_000) {
        let shape = |layout, mode, replay| Shape { layout, mode, replay, width: 2, rounds: 1, ..Shape::default() };
        let trees = [
            generate(shape(Layout::Subagents, Mode::Sync, Replay::Resume), seed).tree,
            generate(shape(Layout::Workflow, Mode::Async, Replay::None), seed + 1).tree,
        ];
        let mut random = Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(folder.path());
        let events = arrivals(&trees, &mut random);
        let half = events.len() / 2;
        for (n, event) in events.into_iter().enumerate() {
            if matches!(event, Event::Restart) {
                drop(engine);
                engine = open(folder.path());
            }
            take(&engine, event);
            if n == half {
                compare(&engine, &mut random);
            }
        }
        compare(&engine, &mut random);
        drop(engine);
        if random.below(2) == 0 {
            std::fs::remove_file(folder.path().join("texts.db")).unwrap();
        }
        compare(&open(folder.path()), &mut random);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_typed_is_an_error(typed in "\\PC{0,24}|[\"*()^:+~ANDORNEARa\\- \u{0}]{0,24}") {
        let (_folder, engine, said) = &*PETS;
        let found = engine.matching(&typed).unwrap();
        prop_assert_eq!(&*found.sessions, &naive(&typed, said));
        engine.search(&typed, &Question::default()).unwrap();
    }
}

/// A transcript in which a user says things.
fn transcript(session: &str, texts: &[String]) -> Vec<u8> {
    let line = |(n, text): (usize, &String)| {
        let message = serde_json::json!({
            "type": "user", "sessionId": session, "uuid": format!("{session}-{n}"), "version": "2.1.0", "cwd": "/w",
            "timestamp": format!("2026-01-01T00:{:02}:{:02}Z", n / 60 % 60, n % 60),
            "message": {"role": "user", "content": text},
        });
        format!("{message}\n")
    };
    texts.iter().enumerate().map(line).collect::<String>().into_bytes()
}

pub(crate) fn part(path: &str, offset: usize, bytes: &[u8]) -> Arrival {
    Arrival::Part(Part { path: path.into(), offset: offset as u64, bytes: bytes.to_vec(), checkpoint: None })
}

static PETS: LazyLock<(TempDir, Engine, BTreeMap<Id, Said>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let texts = ["A near \"and\" or not".to_string(), "日本語 a* (b) ^c".to_string()];
    engine.take(part("pets.jsonl", 0, &transcript("pets", &texts))).unwrap();
    engine.settle();
    engine.settle_texts();
    let said = said(&engine);
    (folder, engine, said)
});

fn ids(engine: &Engine, typed: &str) -> Vec<Id> {
    engine.settle();
    engine.settle_texts();
    engine.matching(typed).unwrap().sessions.iter().copied().collect()
}

fn sums(folder: &Path, session: Id) -> Vec<Id> {
    Index::open(&folder.join("texts.db"), TEXTS_VERSION).unwrap().sums(session).unwrap()
}

/// The sums of a session before and after it grew, with 200 texts of so many words in the end.
fn grown(words: usize) -> (Vec<Id>, Vec<Id>) {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let texts: Vec<String> = (0..200).map(|n| format!("number{n} {}", "filler ".repeat(words))).collect();
    let whole = transcript("growing", &texts);
    let lines: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(n, _)| n + 1).collect();
    let cut = lines[150];
    engine.take(part("g.jsonl", 0, &whole[..cut])).unwrap();
    let found = ids(&engine, "number150");
    assert_eq!(found.len(), 1);
    let session = found[0];
    assert_eq!(ids(&engine, "number151"), []);
    let before = sums(folder.path(), session);
    engine.take(part("g.jsonl", cut, &whole[cut..])).unwrap();
    assert_eq!(ids(&engine, "number199"), [session]);
    let after = sums(folder.path(), session);
    let findings = engine.search("number3 number199 \"number77 filler\"", &Question::default()).unwrap();
    let hits: Vec<&str> = findings.sessions[0].hits.iter().map(|hit| hit.snippet.hit.as_str()).collect();
    assert_eq!(hits, ["number3", "number77 filler", "number199"]);
    assert_eq!(engine.health().index_lag_ms, 0);
    (before, after)
}

#[test]
fn a_large_session_that_grows_keeps_its_chunks() {
    let (before, after) = grown(1500);
    assert!(before.len() > 3);
    assert_eq!(before[..before.len() - 1], after[..before.len() - 1]);
}

#[test]
fn so_does_a_small_transcript() {
    let (before, after) = grown(300);
    assert!(before.len() > 1);
    assert_eq!(before[..before.len() - 1], after[..before.len() - 1]);
}

/// Whatever is indexed comes behind what stays, so what is in front of the new chunks was not read again.
#[test]
fn files_beside_one_that_grows_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let texts = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        numbers.map(|n| format!("number{n} {}", "filler ".repeat(300))).collect()
    };
    let main = transcript("growing", &texts(&mut (0..100)));
    // Some of what came first is said in the other file, too.
    let beside = transcript("growing", &texts(&mut (0..30).chain(150..220)));
    let other = String::from_utf8(beside).unwrap().replace("growing-", "other-");
    engine.take(part("g.jsonl", 0, &main)).unwrap();
    engine.take(part("h.jsonl", 0, other.as_bytes())).unwrap();
    let [session] = ids(&engine, "number219")[..] else { panic!("one session") };
    let before = sums(folder.path(), session);
    assert!(before.len() > 5);
    let more = transcript("growing", &texts(&mut (220..300)));
    let more = String::from_utf8(more).unwrap().replace("growing-", "more-");
    engine.take(part("g.jsonl", main.len(), more.as_bytes())).unwrap();
    assert_eq!(ids(&engine, "number299"), [session]);
    let after = sums(folder.path(), session);
    let kept = after.iter().take_while(|sum| before.contains(sum)).count();
    assert_eq!(kept, before.len() - 1, "but for the last chunk of the one that grew");
    compare(&engine, &mut Random::new(1));
}

#[test]
fn a_small_session_of_spans_is_one_chunk_whose_texts_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let take = |from: u32| {
        let span = |n: u32| {
            let said = serde_json::json!({"key": "input.value", "value": {"stringValue": format!("number{n} {}", "filler ".repeat(300))}});
            serde_json::json!({"traceId": "5b8efff798038103d269b633813fc60c", "spanId": format!("{:016x}", n + 1), "name": "step",
                "startTimeUnixNano": format!("17673480{n:02}000000000"), "attributes": [said]})
        };
        let spans: Vec<_> = (from..from + 50).map(span).collect();
        let bytes = serde_json::json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
            .to_string()
            .into_bytes();
        engine
            .take(Arrival::Body { source: "otlp-http".into(), name: format!("{from}.json"), bytes })
            .unwrap();
    };
    take(0);
    let [session] = ids(&engine, "\"number49 filler\"")[..] else { panic!("one session") };
    let before = sums(folder.path(), session);
    take(50);
    assert_eq!(ids(&engine, "number99"), [session]);
    let after = sums(folder.path(), session);
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after);
    assert_eq!(ids(&engine, "\"number50 filler\""), [session]);
    assert_eq!(ids(&engine, "\"filler number50\""), []);
}

#[test]
fn texts_without_a_phrase_are_not_read_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_search_bytes: 1, ..Options::new(folder.path(), never) };
    let engine = Engine::open(options).unwrap();
    for n in 0..20 {
        let said = [format!("a pony for {n}, for a pony")];
        engine.take(part(&format!("{n}.jsonl"), 0, &transcript(&format!("pony{n}"), &said))).unwrap();
    }
    assert_eq!(ids(&engine, "pony").len(), 20);
    let found = engine.matching("\"pony a\"").unwrap();
    assert_eq!((found.sessions.len(), found.unsearched), (0, 0), "there would be room for one text");
}

#[test]
fn what_was_forgotten_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    for name in ["kept", "forgotten"] {
        let texts = [format!("a secret of {name}")];
        engine.take(part(&format!("{name}.jsonl"), 0, &transcript(name, &texts))).unwrap();
    }
    assert_eq!(ids(&engine, "secret").len(), 2);
    let [gone] = ids(&engine, "forgotten")[..] else { panic!("one session") };
    drop(engine);
    let store = DatabaseFile::new(folder.path().join("store.db"));
    let ground = Ground::open(folder.path(), "a test", &store, LogOptions::default());
    ground.unwrap().retire(&[gone]).unwrap();
    let engine = open(folder.path());
    assert_eq!(ids(&engine, "secret").len(), 1);
    assert_eq!(ids(&engine, "forgotten"), []);
    assert_eq!(sums(folder.path(), gone), []);
}

#[test]
fn what_was_not_looked_into_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_search_bytes: 1, ..Options::new(folder.path(), never) };
    let engine = Engine::open(options).unwrap();
    for name in ["one", "two", "three"] {
        let said = [format!("a pony for {name}")];
        engine.take(part(&format!("{name}.jsonl"), 0, &transcript(name, &said))).unwrap();
    }
    assert_eq!(ids(&engine, "pony").len(), 3);
    let words = engine.matching("pony").unwrap();
    assert_eq!((words.sessions.len(), words.unsearched), (3, 0), "one word is in the index");
    let phrase = engine.matching("\"pony for\"").unwrap();
    assert_eq!((phrase.sessions.len(), phrase.unsearched), (1, 2));
    assert_eq!(engine.search("\"pony for\"", &Question::default()).unwrap().unsearched, 2);
}
