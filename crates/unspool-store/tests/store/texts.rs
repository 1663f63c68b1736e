//! The index of texts: what is found is what is there, after any changes, restarts and damage.

use crate::facts::Random;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use unspool_model::Id;
use unspool_store::{KeptText, KnownChunk, NewChunk, TextPacker, Texts, WantedWord};

const WORDS: [&str; 8] = ["a", "ab", "abc", "b", "日", "straße", "and", "or"];

/// What the index should hold: the words of each chunk of each session.
type Meant = BTreeMap<Id, BTreeMap<Id, BTreeSet<&'static str>>>;

fn words(random: &mut Random) -> BTreeSet<&'static str> {
    (0..random.below(5)).map(|_| WORDS[usize::try_from(random.below(8)).unwrap()]).collect()
}

fn chunk(words: &BTreeSet<&'static str>) -> NewChunk {
    let text = text(words).map(|text| KeptText {
        packed: TextPacker::default().pack(&text).unwrap(),
        filter: text.clone(),
        marks: words.iter().map(|word| word.len() as u64).collect(),
        leans_on: (words.len() < 4).then(|| words.iter().map(|word| Id::of(&[word.as_bytes()])).collect()),
    });
    let words = words.iter().copied().collect::<Vec<_>>().join(" ");
    NewChunk { sum: Id::of(&[words.as_bytes()]), text, words }
}

/// Some texts are not kept.
fn text(words: &BTreeSet<&'static str>) -> Option<Vec<u8>> {
    let all: Vec<&str> = words.iter().copied().collect();
    (all.len() != 1).then(|| all.join(" ").into_bytes())
}

/// Gives a session other chunks, of which some stay.
fn change(texts: &mut Texts, meant: &mut Meant, random: &mut Random) {
    let session = random.id();
    let chunks: Vec<NewChunk> = (0..random.below(4)).map(|_| chunk(&words(random))).collect();
    let known = texts.sums(session).unwrap();
    let all: Vec<Id> = chunks.iter().map(|chunk| chunk.sum).collect();
    // Some that are there come again and take the place of those that were.
    let mut seen: BTreeSet<Id> = known.into_iter().filter(|_| random.below(4) > 0).collect();
    let new: Vec<NewChunk> = chunks.iter().filter(|chunk| seen.insert(chunk.sum)).cloned().collect();
    texts.put(session, &all, &new).unwrap();
    let kept = chunks.iter().map(|chunk| {
        let words = WORDS.into_iter().filter(|word| chunk.words.split(' ').any(|own| own == *word));
        (chunk.sum, words.collect())
    });
    meant.insert(session, kept.collect());
    meant.retain(|_, chunks| !chunks.is_empty());
}

fn check(texts: &Texts, meant: &Meant, random: &mut Random) {
    let wanted: Vec<WantedWord<'_>> = (0..=random.below(2))
        .map(|_| WantedWord {
            word: WORDS[usize::try_from(random.below(8)).unwrap()],
            open: random.below(2) == 0,
        })
        .collect();
    let has = |words: &BTreeSet<&str>| {
        let is = |own: &&str, one: &WantedWord<'_>| {
            if one.open { own.starts_with(one.word) } else { *own == one.word }
        };
        wanted.iter().all(|one| words.iter().any(|own| is(own, one)))
    };
    let mut expected: BTreeSet<(Id, Id, Option<Vec<u8>>)> = BTreeSet::new();
    for (session, chunks) in meant {
        for words in chunks.values().filter(|words| has(words)) {
            expected.insert((*session, chunk(words).sum, text(words)));
        }
    }
    let found = texts
        .reading(|reader| {
            let chunks = reader.chunks_with(&wanted, None)?;
            assert!(chunks.is_sorted(), "session by session");
            let long = |filter: &[u8]| filter.len() > 5;
            let sifted = reader.chunks_with(&wanted, Some(&long))?;
            let mut passing = chunks.clone();
            // What has no filter passes.
            passing.retain(|(_, chunk)| reader.text(*chunk).unwrap().is_none_or(|text| long(&text)));
            assert_eq!(sifted, passing);
            let one = |(session, chunk)| {
                let parts = (reader.session(session)?, reader.sum(chunk)?.unwrap(), reader.text(chunk)?);
                Ok::<_, unspool_store::StoreError>(parts)
            };
            chunks.into_iter().map(one).collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
    assert_eq!(found.len(), expected.len(), "each once");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{wanted:?}");
    for (session, chunks) in meant {
        let known: BTreeMap<Id, KnownChunk> =
            texts.known(*session).unwrap().into_iter().map(|chunk| (chunk.sum, chunk)).collect();
        let kept = |words| match chunk(words).text {
            Some(kept) => (kept.marks, kept.leans_on),
            None => (Vec::new(), Some(Vec::new())),
        };
        let expected = chunks.iter().map(|(sum, words)| (*sum, kept(words)));
        let found = known.into_iter().map(|(sum, chunk)| (sum, (chunk.marks, chunk.leans_on)));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
    assert_eq!(texts.sessions().unwrap(), meant.keys().copied().collect::<Vec<_>>());
}

fn open(folder: &Path) -> Texts {
    Texts::open(&folder.join("texts.db"), 1).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_what_is_there(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut texts, mut random) = (open(folder.path()), Random(seed));
        let (mut meant, mut saved) = (Meant::new(), Meant::new());
        for version in 1..30 {
            (0..=random.below(3)).for_each(|_| change(&mut texts, &mut meant, &mut random));
            match random.below(5) {
                1 => {
                    texts.undo();
                    meant = saved.clone();
                }
                2 => {
                    drop(texts);
                    texts = open(folder.path());
                    meant = saved.clone();
                }
                _ => {}
            }
            texts.save(version).unwrap();
            saved = meant.clone();
            if random.below(5) == 0 {
                let steps = std::cell::Cell::new(random.below(4));
                texts.make_dense(|| steps.replace(steps.get().saturating_sub(1)) > 0).unwrap();
            }
            prop_assert_eq!(texts.standing().unwrap(), version);
            check(&texts, &meant, &mut random);
            check(&open(folder.path()), &meant, &mut random);
        }
        texts.clear().unwrap();
        check(&texts, &Meant::new(), &mut random);
        prop_assert_eq!(texts.standing().unwrap(), 0);
    }
}

#[test]
fn a_dense_index_takes_less_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts = open(folder.path());
    let mut random = Random(5);
    for version in 1..400_u16 {
        let words: Vec<String> = (0..4000).map(|_| format!("w{}", random.below(40_000))).collect();
        let one = NewChunk { sum: Id::of(&[&version.to_be_bytes()]), words: words.join(" "), text: None };
        texts.put(Id::of(&[b"s", &version.to_be_bytes()]), &[one.sum], &[one]).unwrap();
        texts.save(u64::from(version)).unwrap();
    }
    texts.rest();
    let size = || std::fs::metadata(folder.path().join("texts.db")).unwrap().len();
    let loose = size();
    assert!(texts.is_loose().unwrap());
    texts.make_dense(|| true).unwrap();
    texts.rest();
    assert!(size() < loose * 3 / 4, "{} of {loose}", size());
    assert!(!texts.is_loose().unwrap());
}

#[test]
fn words_are_written_together() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts = open(folder.path());
    for session in 0..50_u8 {
        let one = |n: u8| {
            let words = format!("all w{session} w{session}x{n}");
            NewChunk { sum: Id::of(&[&[session, n]]), words, text: None }
        };
        let new = [one(0), one(1)];
        texts.put(Id::of(&[b"s", &[session]]), &[new[0].sum, new[1].sum], &new).unwrap();
    }
    texts.save(1).unwrap();
    let file = rusqlite::Connection::open(folder.path().join("texts.db")).unwrap();
    let pieces = "SELECT count(DISTINCT segid) FROM words_idx";
    let pieces: i64 = file.query_row(pieces, [], |row| row.get(0)).unwrap();
    assert_eq!(pieces, 1, "of a hundred chunks");
}

#[test]
fn what_is_worthless_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.db");
    let fill = |texts: &mut Texts| {
        let one = chunk(&BTreeSet::from(["ab"]));
        texts.put(Id::of(&[b"s"]), &[one.sum], std::slice::from_ref(&one)).unwrap();
        texts.save(7).unwrap();
        assert_eq!(texts.standing().unwrap(), 7);
    };
    fill(&mut open(folder.path()));
    assert_eq!(open(folder.path()).standing().unwrap(), 7);
    // Another meaning of what a text is.
    let mut other = Texts::open(&path, 2).unwrap();
    assert_eq!((other.standing().unwrap(), other.sessions().unwrap().len()), (0, 0));
    fill(&mut other);
    drop(other);
    std::fs::write(
        &path,
        "no database at all, but something longer than a header of one hundred bytes".repeat(9),
    )
    .unwrap();
    let mut again = Texts::open(&path, 2).unwrap();
    assert_eq!((again.standing().unwrap(), again.sessions().unwrap().len()), (0, 0));
    fill(&mut again);
}
