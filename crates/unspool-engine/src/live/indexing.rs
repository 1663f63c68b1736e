//! The thread that keeps the index of texts up to date, behind everything else.
//!
//! In: word that something is shown. Out: the texts of sessions that became different, in the index. It asks the store what changed since the
//! version the index knows, so nothing is missed after a crash, and an index that was deleted is made again. It waits a moment before it
//! begins, because changes come in crowds; it rests after it has worked on sessions that grow, and while anything waits to be derived it mostly rests.

use super::mending::is_damage_of_texts;
use super::repair::{self, TEXTS};
use super::{Shared, held};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use unspool_model::{Code, Id, Timestamp};
use unspool_store::{Changed, GroundError, KeptText, KnownChunk, NewChunk, TextPacker, Texts};
use unspool_view::search::{Chunks, Leans, Told, WordList};

/// A change waits at least so long for others to be indexed with it.
const CROWD: Duration = Duration::from_millis(100);
/// After a pass it rests so many times as long as sessions took that it had indexed before, but at most so long: they may go on growing. Those
/// it has rested after already do not count.
const REST: u32 = 4;
const LONGEST_REST: Duration = Duration::from_secs(3);
/// While anything waits to be derived it rests so many times as long as a session took.
const BUSY_REST: u32 = 3;
const LONGEST_BUSY_REST: Duration = Duration::from_secs(1);
/// How often one that rests looks whether it still has to.
const LOOK: Duration = Duration::from_millis(50);
/// When there is nothing to do for so long, the index is made dense and memory is given back; then it sleeps.
const IDLE: Duration = Duration::from_secs(5);
const ASLEEP: Duration = Duration::from_secs(3600);
/// How long to wait before trying again what failed.
const RETRY: Duration = Duration::from_secs(5);
/// Texts are handed over when they come to so many bytes, and seen when they come to so many or after so long.
const PUT_BYTES: usize = 4 << 20;
const SAVE_BYTES: usize = 32 << 20;
const SAVE_AFTER: Duration = Duration::from_secs(2);

/// No more sessions are prepared ahead, and so many hand-overs of each may wait.
const MAX_CREW: usize = 8;
/// So many for each processor: some are small, and wait for one that is large.
const CREW: usize = 3;
const PREPARED: usize = 3;

/// How the index stands.
#[derive(Default)]
pub(crate) struct Indexing {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The version of the store whose sessions are shown.
    shown: u64,
    /// The version whose texts are in the index.
    indexed: u64,
    /// Since when the oldest of what nobody works on has been waiting, and of what somebody does.
    waiting_since: Timestamp,
    working_since: Timestamp,
    /// Sessions were forgotten.
    forgotten: bool,
    passes: u64,
    problem: Option<String>,
    /// What is wrong with the index, which is to be thrown away.
    damaged: Option<String>,
    /// It is being made, and sessions are not in it yet.
    is_new: bool,
}

impl Indexing {
    /// Sessions up to this version of the store are shown.
    pub(crate) fn shown(&self, version: u64, now: Timestamp) {
        let mut state = held(&self.state);
        if version > state.shown {
            state.shown = version;
            state.waiting_since = state.waiting_since.earlier(now);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Sessions were forgotten: their texts are to go.
    pub(crate) fn forgotten(&self) {
        held(&self.state).forgotten = true;
        self.changed.notify_all();
    }

    /// Somebody found the index damaged: it is to be made again.
    pub(crate) fn damaged(&self, why: &str) {
        held(&self.state).damaged.get_or_insert_with(|| why.into());
        self.changed.notify_all();
    }

    /// What is wrong with it, if that was found.
    fn damage(&self) -> Option<String> {
        held(&self.state).damaged.clone()
    }

    /// The index is empty, and is to be made.
    pub(crate) fn begin_anew(&self) {
        let mut state = held(&self.state);
        (state.damaged, state.indexed, state.is_new) = (None, 0, true);
        state.passes += 1;
    }

    /// Whether it is being made, and sessions are not in it yet.
    pub(crate) fn is_new(&self) -> bool {
        let state = held(&self.state);
        state.is_new || state.damaged.is_some()
    }

    /// Since when the oldest of what is not indexed has been waiting.
    pub(crate) fn waiting_since(&self) -> Timestamp {
        let state = held(&self.state);
        state.working_since.earlier(state.waiting_since)
    }

    /// Passes of this process.
    pub(crate) fn passes(&self) -> u64 {
        held(&self.state).passes
    }

    /// Why the index is not kept up to date, if that is so.
    pub(crate) fn problem(&self) -> Option<String> {
        held(&self.state).problem.clone()
    }

    pub(crate) fn wake(&self) {
        drop(held(&self.state));
        self.changed.notify_all();
    }

    /// Waits until everything that is shown now is indexed.
    pub(crate) fn settle(&self, shared: &Shared) {
        let mut state = held(&self.state);
        let wanted = state.shown;
        while !state.is_done(wanted) && !shared.stopping.load(Ordering::Acquire) {
            state = self.wait(state, Duration::from_millis(50));
        }
    }

    fn wait<'a>(
        &self,
        state: std::sync::MutexGuard<'a, State>,
        time: Duration,
    ) -> std::sync::MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sleeps, unless the engine is about to end.
    fn sleep(&self, time: Duration, shared: &Shared) {
        self.sleep_while(time, shared, || true);
    }

    /// Sleeps while something is so, which is looked at now and then.
    fn sleep_while(&self, time: Duration, shared: &Shared, is_so: impl Fn() -> bool) {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if shared.stopping.load(Ordering::Acquire) || !is_so() {
                return;
            }
            drop(self.wait(held(&self.state), left.min(LOOK)));
        }
    }

    /// Waits until there is something to do, and calls `idle` once when there is not for a while; `None` when the engine is about to end.
    fn next(&self, shared: &Shared, mut idle: impl FnMut()) -> Option<()> {
        let mut state = held(&self.state);
        let mut idle_at = Some(Instant::now() + IDLE);
        while state.is_done(state.shown) {
            if shared.stopping.load(Ordering::Acquire) {
                return None;
            }
            let left = idle_at.map_or(ASLEEP, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                idle_at = None;
                drop(state);
                idle();
                state = held(&self.state);
            } else {
                state = self.wait(state, left);
            }
        }
        Some(())
    }

    /// Whether there is nothing to do.
    fn is_idle(&self) -> bool {
        let state = held(&self.state);
        state.is_done(state.shown)
    }

    /// Begins to work on everything that is shown now.
    fn begin(&self) -> u64 {
        let mut state = held(&self.state);
        let waiting = std::mem::take(&mut state.waiting_since);
        state.working_since = state.working_since.earlier(waiting);
        state.forgotten = false;
        state.shown
    }

    fn end(&self, done: Result<u64, String>) {
        let mut state = held(&self.state);
        state.passes += 1;
        match done {
            Ok(version) => {
                (state.indexed, state.problem, state.is_new) = (version, None, false);
                state.working_since = Timestamp::NONE;
            }
            Err(problem) => state.problem = Some(problem),
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl State {
    /// Whether everything up to a version is in the index.
    fn is_done(&self, version: u64) -> bool {
        version <= self.indexed && !self.forgotten && self.damaged.is_none()
    }
}

pub(crate) struct Indexer {
    shared: Arc<Shared>,
    texts: Texts,
    /// How many sessions are prepared ahead when nothing else is to be done.
    crew: usize,
    /// Sessions that the store does not know have been looked for.
    swept: bool,
    /// How long sessions that it had indexed before took during this pass.
    again: Duration,
    unsaved: usize,
    saved: Instant,
}

impl Indexer {
    pub(crate) fn new(shared: Arc<Shared>, texts: Texts) -> Indexer {
        let again = Duration::ZERO;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let crew = (CREW * cores).min(MAX_CREW);
        Indexer { shared, texts, crew, swept: false, again, unsaved: 0, saved: Instant::now() }
    }

    /// Works until the engine is closed. What is left then is done by the next process.
    pub(crate) fn run(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut rest = Duration::ZERO;
        while shared.indexing.next(&shared, || self.idle()).is_some() {
            shared.indexing.sleep(rest.max(CROWD), &shared);
            if self.is_stopping() {
                return;
            }
            let upto = shared.indexing.begin();
            let done = self.replace_damaged().and_then(|()| self.pass(upto));
            rest = (std::mem::take(&mut self.again) * REST).min(LONGEST_REST);
            match done {
                Ok(()) if self.is_stopping() => return,
                Ok(()) => shared.indexing.end(Ok(upto)),
                Err(error) => {
                    self.texts.undo();
                    shared.indexing.end(Err(error.to_string()));
                    // What is damaged is made again at once; anything else is tried again.
                    rest = if is_damage_of_texts(&error) { Duration::ZERO } else { RETRY };
                    drop(shared.heed::<(), _>(Err(error)));
                }
            }
        }
    }

    /// Nothing came for a while: the index is made dense if that is worth it, and what is at hand is let go.
    fn idle(&mut self) {
        let shared = Arc::clone(&self.shared);
        let go_on = || !shared.stopping.load(Ordering::Acquire) && shared.indexing.is_idle();
        let dense = self
            .texts
            .is_loose()
            .and_then(|is_loose| if is_loose { self.texts.make_dense(go_on) } else { Ok(()) });
        // A looser index takes more room and says the same; the next idle moment is as good.
        if shared.heed(dense).is_err() {
            self.texts.undo();
        }
        self.texts.rest();
        held(&shared.texts).rest();
    }

    /// Puts a new index in the place of one that is damaged.
    fn replace_damaged(&mut self) -> Result<(), GroundError> {
        let Some(why) = self.shared.indexing.damage() else { return Ok(()) };
        let folder = self.shared.options.databases();
        let mut reader = held(&self.shared.texts);
        Texts::delete(&folder.join(TEXTS));
        let (own, others, _) = repair::open_texts(&folder)?;
        (self.texts, *reader, self.swept) = (own, others, false);
        drop(reader);
        self.shared.indexing.begin_anew();
        self.shared.say(Code::DatabaseRemade, repair::texts_notice(&why));
        Ok(())
    }

    fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Acquire)
    }

    /// Indexes what became different up to a version of the store.
    fn pass(&mut self, upto: u64) -> Result<(), GroundError> {
        if self.texts.standing()? > held(&self.shared.reader).standing()?.version {
            // The store was made anew and counts from the beginning.
            self.texts.clear()?;
        }
        self.sweep()?;
        self.saved = Instant::now();
        let changed = held(&self.shared.reader).changed(self.texts.standing()?, upto)?;
        let shared = Arc::clone(&self.shared);
        std::thread::scope(|scope| {
            let mut left = changed.iter();
            let mut begun: VecDeque<Begun<'_>> = VecDeque::new();
            loop {
                // One of them is put into the index meanwhile.
                while begun.len() <= self.crew()
                    && let Some(next) = left.next()
                {
                    let known = self.texts.known(next.id)?;
                    let (give, prepared) = sync_channel(PREPARED);
                    begun.push_back(Begun { session: next, is_known: !known.is_empty(), prepared });
                    let shared = &shared;
                    scope.spawn(move || prepare(shared, next, known, &give));
                }
                let Some(one) = begun.pop_front() else { break };
                if self.is_stopping() {
                    self.texts.undo();
                    return Ok(());
                }
                let began = Instant::now();
                self.put(&one)?;
                let took = began.elapsed();
                if self.unsaved >= SAVE_BYTES || self.saved.elapsed() >= SAVE_AFTER {
                    let next = begun.front().map(|next| next.session).or(left.as_slice().first());
                    self.save(next.map_or(upto, |next| next.version - 1))?;
                }
                if self.is_busy() {
                    let rest = (took * BUSY_REST).min(LONGEST_BUSY_REST);
                    shared.indexing.sleep_while(rest, &shared, || self.is_busy());
                } else if one.is_known {
                    self.again += took;
                }
            }
            self.save(upto)
        })
    }

    /// Whether anything waits to be derived.
    fn is_busy(&self) -> bool {
        self.shared.queue.waiting().0 > 0
    }

    /// How many sessions are prepared ahead.
    fn crew(&self) -> usize {
        if self.is_busy() { 0 } else { self.crew }
    }

    fn save(&mut self, version: u64) -> Result<(), GroundError> {
        self.texts.save(version)?;
        (self.unsaved, self.saved) = (0, Instant::now());
        Ok(())
    }

    /// Deletes the texts of sessions that were forgotten, and once in a process of all that the store does not know.
    fn sweep(&mut self) -> Result<(), GroundError> {
        let mut gone = held(&self.shared.reader).forgotten()?;
        if !self.swept {
            let known: FxHashSet<Id> = held(&self.shared.reader).session_ids()?.into_iter().collect();
            gone.extend(self.texts.sessions()?.into_iter().filter(|id| !known.contains(id)));
        }
        for session in gone {
            self.texts.put(session, &[], &[])?;
        }
        self.swept = true;
        Ok(())
    }

    /// Puts what was prepared of a session into the index.
    fn put(&mut self, begun: &Begun<'_>) -> Result<(), GroundError> {
        for Prepared { all, new, bytes } in &begun.prepared {
            self.texts.put(begun.session.id, &all, &new?)?;
            self.unsaved += bytes;
        }
        Ok(())
    }
}

/// A session that somebody prepares.
struct Begun<'a> {
    session: &'a Changed,
    /// Texts of it are in the index.
    is_known: bool,
    prepared: Receiver<Prepared>,
}

/// Some chunks of a session.
struct Prepared {
    /// All that the session has.
    all: Arc<[Id]>,
    /// Those that the index did not know.
    new: Result<Vec<NewChunk>, GroundError>,
    bytes: usize,
}

/// Reads the texts of a session that the index does not know, some at a time, until nobody wants them.
fn prepare(shared: &Shared, changed: &Changed, known: Vec<KnownChunk>, give: &SyncSender<Prepared>) {
    let found = if changed.exists { shared.snapshot(changed.id) } else { Ok(None) };
    // Nobody wants it when the engine is about to end.
    let nothing = |new| drop(give.send(Prepared { all: Arc::default(), new, bytes: 0 }));
    let fail = |error: GroundError| nothing(Err(error));
    let snapshot = match found {
        Ok(Some(snapshot)) => snapshot,
        Ok(None) => return nothing(Ok(Vec::new())),
        Err(error) => return fail(error),
    };
    let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
    let chunks = Chunks::of(flow, batch);
    let all: Arc<[Id]> = chunks.chunks.iter().map(|chunk| chunk.sum).collect();
    let (mut stay, mut told) = staying(known, &all);
    let mut natives = snapshot.natives();
    let mut new: Vec<NewChunk> = Vec::new();
    let mut bytes = 0;
    let (mut words, mut packer) = (WordList::default(), TextPacker::default());
    for chunk in chunks.chunks.iter().filter(|chunk| stay.insert(chunk.sum)) {
        let texts = chunks.read(chunk, flow, batch, &mut natives, &mut told);
        words.add(texts.all());
        let (words, pairs) = words.take();
        bytes += texts.all().len();
        let text = (!chunks.is_small()).then(|| packer.pack(&texts.to_bytes())).transpose();
        let text = match text {
            Ok(packed) => {
                let leans_on = match texts.leans() {
                    Leans::On(chunks) => Some(chunks.clone()),
                    Leans::OnMany => None,
                };
                let (filter, marks) = (pairs.into_bytes(), texts.marks().to_vec());
                packed.map(|packed| KeptText { packed, filter, marks, leans_on })
            }
            Err(error) => return fail(error.into()),
        };
        new.push(NewChunk { sum: chunk.sum, words, text });
        if bytes >= PUT_BYTES {
            let some = Prepared { all: Arc::clone(&all), new: Ok(std::mem::take(&mut new)), bytes };
            if give.send(some).is_err() {
                return;
            }
            bytes = 0;
        }
    }
    drop(give.send(Prepared { all, new: Ok(new), bytes }));
}

/// Which of the chunks that the index knows can stay, and the texts that they have told. One that left texts out is read again when
/// one goes that has them, or may have.
fn staying(known: Vec<KnownChunk>, all: &[Id]) -> (FxHashSet<Id>, Told) {
    let wanted: FxHashSet<Id> = all.iter().copied().collect();
    let (mut stay, mut gone, mut told) = (FxHashSet::default(), FxHashSet::default(), Told::default());
    for KnownChunk { sum, marks, leans_on } in known {
        let has_lost = match leans_on {
            Some(chunks) => chunks.iter().any(|chunk| gone.contains(chunk)),
            None => !gone.is_empty(),
        };
        if wanted.contains(&sum) && !has_lost {
            stay.insert(sum);
            told.add(sum, &marks);
        } else {
            gone.insert(sum);
        }
    }
    (stay, told)
}

#[cfg(test)]
mod tests {
    use super::staying;
    use unspool_model::Id;
    use unspool_store::KnownChunk;

    /// Chunks that are known, and which of them each leans on; none when it may be any before it.
    fn stay(known: &[(u128, Option<&[u128]>)], wanted: &[u128]) -> Vec<u128> {
        let ids = |numbers: &[u128]| numbers.iter().copied().map(Id::from_u128).collect::<Vec<_>>();
        let known = known.iter().map(|(sum, leans_on)| KnownChunk {
            sum: Id::from_u128(*sum),
            marks: Vec::new(),
            leans_on: leans_on.map(ids),
        });
        let (stay, _) = staying(known.collect(), &ids(wanted));
        (1..=9).filter(|n| stay.contains(&Id::from_u128(*n))).collect()
    }

    #[test]
    fn what_leans_on_a_chunk_that_goes_is_read_again() {
        let any = [(1, Some(&[][..])), (2, None), (3, Some(&[])), (4, None)];
        assert_eq!(stay(&any, &[1, 2, 3, 4, 9]), [1, 2, 3, 4]);
        assert_eq!(stay(&any, &[2, 3, 4]), [3], "both lean, and may have on the first");
        assert_eq!(stay(&any, &[1, 2, 4]), [1, 2], "the second was there before the third");
        assert_eq!(stay(&any, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(stay(&any, &[]), []);
    }

    #[test]
    fn what_leans_on_others_stays() {
        let named =
            [(1, Some(&[][..])), (2, Some(&[1])), (3, Some(&[])), (4, Some(&[2])), (5, Some(&[1, 3]))];
        assert_eq!(stay(&named, &[1, 2, 4, 5, 9]), [1, 2, 4], "only the last leans on the third");
        assert_eq!(
            stay(&named, &[2, 3, 4, 5]),
            [3],
            "the second leaned on the first, and the fourth on the second"
        );
    }
}
