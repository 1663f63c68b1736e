//! Words in all sessions.
//!
//! In: what somebody typed. Out: sessions in which all of it stands, with steps and the words around the hits. The index says which chunks of
//! texts have the words; what is more than one word is then looked for in the texts themselves. A hit that is shown stands in a text of
//! a step that is there.

use super::mending::is_damage_of_texts;
use super::{Engine, Shared, Snapshot, held};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use unspool_model::Id;
use unspool_store::rows::SessionRow;
use unspool_store::{
    ChunkId, Cursor, GroundError, Question, SessionNumber, Sieve, Store, TextsReader, WantedWord,
};
use unspool_view::search::words::{Term, Terms};
use unspool_view::search::{Chunks, PairFilter, Snippet, Texts, Told, snippet};

/// Texts that are not kept but read again count as so many times as long as they are, because that takes so much longer.
const READING_AGAIN: usize = 16;
/// So many hits of a session are shown: `max_session_hits`.
const MAX_SESSION_HITS: usize = 5;

/// Sessions in which everything stands that was looked for.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// Which ones, as far as the index knows.
    pub sessions: Arc<BTreeSet<Id>>,
    /// Sessions that have all the words and were not looked into, because `max_search_bytes` was reached; and those that an index in the making
    /// does not know yet.
    pub unsearched: u64,
    /// What has no word in it and was not looked for.
    pub ignored: Vec<String>,
}

/// A page of what was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// In the order asked for.
    pub sessions: Vec<FoundSession>,
    /// How many there are on all pages.
    pub matching: u64,
    /// Where to go on.
    pub next: Option<Cursor>,
    /// Sessions that have all the words and were not looked into, because `max_search_bytes` was reached; and those that an index in the making
    /// does not know yet.
    pub unsearched: u64,
    /// What has no word in it and was not looked for.
    pub ignored: Vec<String>,
}

/// A session with everything that was looked for.
#[derive(Clone, Debug)]
pub struct FoundSession {
    /// What is known of it.
    pub row: SessionRow,
    /// Some of the hits, in the order of their records: one of each word or phrase, but at most `max_session_hits`.
    pub hits: Vec<Hit>,
}

/// A step in which something stands that was looked for.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Which step.
    pub step: Id,
    /// The words around.
    pub snippet: Snippet,
}

impl Engine {
    /// The sessions in which everything stands that was typed.
    pub fn matching(&self, typed: &str) -> Result<Matches, GroundError> {
        let terms = Terms::of(typed);
        let found = held(&self.shared.texts).reading(|reader| {
            let mut search = Search::new(&self.shared, reader, &terms.terms)?;
            search.verify()?;
            search.matches(&terms)
        });
        self.or_unsearched(found, |unsearched| Matches { unsearched, ..Matches::default() })
    }

    /// Where the index turns out damaged, nothing was found and no session was looked into: it is being made again.
    fn or_unsearched<T>(
        &self,
        found: Result<T, GroundError>,
        nothing: impl FnOnce(u64) -> T,
    ) -> Result<T, GroundError> {
        match self.shared.heed(found) {
            Err(error) if is_damage_of_texts(&error) => Ok(nothing(self.health().sessions)),
            found => found,
        }
    }

    /// Looks for everything that was typed, among the sessions and in the order of the question.
    pub fn search(&self, typed: &str, question: &Question) -> Result<Findings, GroundError> {
        let terms = Terms::of(typed);
        let found = held(&self.shared.texts).reading(|reader| {
            let mut search = Search::new(&self.shared, reader, &terms.terms)?;
            search.verify()?;
            let Matches { sessions, unsearched, ignored } = search.matches(&terms)?;
            let mut question = question.clone();
            question.filter.among = Some(sessions);
            let page = self.sessions(&question)?;
            let mut found = Vec::with_capacity(page.sessions.len());
            for row in page.sessions {
                // What the index has not noticed yet is no hit.
                if let Some(hits) = search.hits(row.id, self)? {
                    found.push(FoundSession { row, hits });
                }
            }
            Ok(Findings { sessions: found, matching: page.matching, next: page.next, unsearched, ignored })
        });
        self.or_unsearched(found, |unsearched| Findings { unsearched, ..Findings::default() })
    }
}

/// One search under way.
struct Search<'a> {
    shared: &'a Shared,
    reader: &'a TextsReader<'a>,
    terms: &'a [Term],
    /// For each session with all words, and each term, the chunks it may stand in.
    sessions: BTreeMap<SessionNumber, Vec<Vec<ChunkId>>>,
    numbers: BTreeMap<Id, SessionNumber>,
    unsearched: u64,
    /// The last texts that were read.
    last: Option<(ChunkId, Vec<u8>)>,
    /// The last session that was read for its texts.
    again: Option<(SessionNumber, Again)>,
}

/// A session whose texts are read again.
struct Again {
    snapshot: Arc<Snapshot>,
    chunks: Chunks,
}

impl Again {
    fn new(snapshot: Arc<Snapshot>) -> Again {
        let chunks = Chunks::of(&snapshot.flow, &snapshot.corpus.batch);
        Again { snapshot, chunks }
    }

    /// The texts of a chunk; none when it is no longer what it was.
    fn texts(&self, sum: Id) -> Option<Vec<u8>> {
        let chunk = self.chunks.chunks.iter().find(|chunk| chunk.sum == sum)?;
        let (flow, batch) = (&self.snapshot.flow, &self.snapshot.corpus.batch);
        let mut natives = self.snapshot.natives();
        Some(self.chunks.read(chunk, flow, batch, &mut natives, &mut Told::default()).to_bytes())
    }
}

impl<'a> Search<'a> {
    fn new(
        shared: &'a Shared,
        reader: &'a TextsReader<'a>,
        terms: &'a [Term],
    ) -> Result<Search<'a>, GroundError> {
        let mut sessions: BTreeMap<SessionNumber, Vec<Vec<ChunkId>>> = BTreeMap::new();
        for (n, term) in terms.iter().enumerate() {
            let words = term.lookups().iter().map(|one| WantedWord { word: &one.word, open: one.open });
            let pairs = term.pairs();
            let may_have = |filter: &[u8]| PairFilter::may_have(filter, &pairs);
            let sieve: Option<&Sieve<'_>> = if pairs.is_empty() { None } else { Some(&may_have) };
            let chunks = reader.chunks_with(&words.collect::<Vec<_>>(), sieve)?;
            for of_session in chunks.chunk_by(|a, b| a.0 == b.0) {
                let known = sessions.entry(of_session[0].0).or_default();
                if known.len() == n {
                    known.push(of_session.iter().map(|(_, chunk)| *chunk).collect());
                }
            }
            sessions.retain(|_, known| known.len() == n + 1);
        }
        let numbers = BTreeMap::new();
        Ok(Search { shared, reader, terms, sessions, numbers, unsearched: 0, last: None, again: None })
    }

    /// The texts of a chunk of a session, and how long they took as a number of bytes.
    fn texts(&mut self, session: SessionNumber, chunk: ChunkId) -> Result<(&[u8], usize), GroundError> {
        let mut cost = 0;
        if self.last.as_ref().is_none_or(|(last, _)| *last != chunk) {
            self.last = None;
            let texts = if let Some(kept) = self.reader.text(chunk)? {
                cost = kept.len();
                kept
            } else {
                let again = self.read_again(session, chunk)?;
                cost = again.len() * READING_AGAIN;
                again
            };
            self.last = Some((chunk, texts));
        }
        Ok((self.last.as_ref().map_or(&[], |(_, texts)| texts), cost))
    }

    /// What the index has not noticed yet has no texts.
    fn read_again(&mut self, session: SessionNumber, chunk: ChunkId) -> Result<Vec<u8>, GroundError> {
        if self.again.as_ref().is_none_or(|(last, _)| *last != session) {
            let found = self.shared.snapshot(self.reader.session(session)?)?;
            self.again = found.map(|snapshot| (session, Again::new(snapshot)));
        }
        let sum = self.reader.sum(chunk)?;
        let texts = self.again.as_ref().zip(sum).and_then(|((_, again), sum)| again.texts(sum));
        Ok(texts.unwrap_or_default())
    }

    /// Leaves only sessions in which every term stands.
    fn verify(&mut self) -> Result<(), GroundError> {
        let terms = self.terms;
        let unsure: Vec<usize> = (0..terms.len()).filter(|n| !terms[*n].is_one_word()).collect();
        if unsure.is_empty() {
            return Ok(());
        }
        let numbers: Vec<SessionNumber> = self.sessions.keys().rev().copied().collect();
        // Sessions that were indexed last come first.
        let mut left = self.shared.options.max_search_bytes;
        for number in numbers {
            let Some(mut chunks) = self.sessions.remove(&number) else { continue };
            if left == 0 {
                self.unsearched += 1;
                continue;
            }
            let mut stands = true;
            for n in &unsure {
                let mut first = None;
                for (at, chunk) in chunks[*n].iter().enumerate() {
                    let (texts, cost) = self.texts(number, *chunk)?;
                    left = left.saturating_sub(cost);
                    if terms[*n].find(Texts::joined(texts)).is_some() {
                        first = Some(at);
                        break;
                    }
                }
                stands &= first.is_some();
                if !stands {
                    break;
                }
                chunks[*n].drain(..first.unwrap_or(0));
            }
            if stands {
                self.sessions.insert(number, chunks);
            }
        }
        Ok(())
    }

    fn matches(&mut self, terms: &Terms) -> Result<Matches, GroundError> {
        for number in self.sessions.keys() {
            self.numbers.insert(self.reader.session(*number)?, *number);
        }
        Ok(Matches {
            sessions: Arc::new(self.numbers.keys().copied().collect()),
            unsearched: self.unsearched + self.not_indexed()?,
            ignored: terms.ignored.clone(),
        })
    }

    /// Sessions that an index in the making does not know yet.
    fn not_indexed(&self) -> Result<u64, GroundError> {
        if !self.shared.indexing.is_new() {
            return Ok(0);
        }
        let changed = held(&self.shared.reader).changed(self.reader.standing()?, u64::MAX)?;
        Ok(changed.iter().filter(|one| one.exists && !self.numbers.contains_key(&one.id)).count() as u64)
    }

    /// Hits of each term in steps that are there; `None` when there is none of one of them.
    fn hits(&mut self, session: Id, engine: &Engine) -> Result<Option<Vec<Hit>>, GroundError> {
        let Some(number) = self.numbers.get(&session).copied() else { return Ok(None) };
        let Some(chunks) = self.sessions.remove(&number) else { return Ok(None) };
        let there = engine.with_store(|store| self.steps_there(store, session))?;
        let terms = self.terms;
        let most = (MAX_SESSION_HITS / terms.len()).max(1);
        let mut hits: Vec<(ChunkId, usize, Hit)> = Vec::new();
        for (term, chunks) in terms.iter().zip(chunks) {
            let mut found = 0;
            for chunk in chunks {
                let (texts, _) = self.texts(number, chunk)?;
                found += add_hits(term, chunk, texts, there.as_ref(), most - found, &mut hits);
                if found >= most {
                    break;
                }
            }
            if found == 0 {
                return Ok(None);
            }
        }
        hits.truncate(MAX_SESSION_HITS);
        hits.sort_by_key(|(chunk, text, _)| (*chunk, *text));
        Ok(Some(hits.into_iter().map(|(_, _, hit)| hit).collect()))
    }

    /// The steps of a session that may have changed since it was indexed; `None` when it has not.
    fn steps_there(&self, store: &dyn Store, session: Id) -> Result<Option<FxHashSet<Id>>, GroundError> {
        if store.version_of(session)? <= Some(self.reader.standing()?) {
            return Ok(None);
        }
        let steps = store.steps(session, 0..u32::MAX)?;
        Ok(Some(steps.into_iter().map(|step| step.id).collect()))
    }
}

/// Adds hits in steps that are there, with the place of their text; gives how many steps have one.
fn add_hits(
    term: &Term,
    chunk: ChunkId,
    texts: &[u8],
    there: Option<&FxHashSet<Id>>,
    most: usize,
    hits: &mut Vec<(ChunkId, usize, Hit)>,
) -> usize {
    let mut found = BTreeSet::new();
    let mut place = 0;
    Texts::each(texts, |steps, text| {
        place += 1;
        let Some(range) = term.find(text) else { return true };
        for step in steps.filter(|step| there.is_none_or(|there| there.contains(step))) {
            if !hits.iter().any(|(_, _, hit)| hit.step == step) {
                hits.push((chunk, place, Hit { step, snippet: snippet(text, range.clone()) }));
            }
            found.insert(step);
        }
        found.len() < most
    });
    found.len()
}
