//! The live engine: what arrives is kept first, then linked, then shown.
//!
//! In: bytes of any known format, from any number of threads. Out: a receipt once they are on the disk; a moment later the sessions they
//! belong to, as snapshots that never change, and the news of it. Never here: HTTP, and what a person sees.
//!
//! One thread derives. It takes what was acknowledged in order, finds the family of each piece of records, links the families that
//! changed and commits what came of it. Everything it knows can be made again from the log. Another one follows it and keeps an index of
//! what was said, and a third waits for the disk in its stead.

mod ahead;
mod changes;
mod decode;
mod derive;
mod entries;
mod facts;
mod files;
mod hot;
mod indexing;
mod keep;
mod looking;
mod mending;
mod notices;
mod numbers;
mod parts;
mod past;
mod queue;
mod rebuild;
mod refusing;
mod relink;
mod repair;
mod retain;
mod searching;
mod shown;
mod snapshots;
mod streams;
mod tally;
mod threads;
mod unknown;
mod upkeep;
mod waning;

pub use changes::{Change, Changes, Feed};
pub use decode::Counted;
pub use entries::{Arrival, Part, Refused, Taken};
pub use facts::session_row;
pub use notices::Notice;
pub use past::PastIssue;
pub use relink::{LinkChange, Relink, Relinked};
pub use retain::{Keep, Pruned, Retention};
pub use searching::{Findings, FoundSession, Hit, Matches};
pub use shown::{EdgeChanges, EdgeEnds, OtherChanges};
pub use snapshots::Snapshot;
pub use streams::{sent_in_parts, source};
pub use upkeep::{Imported, SourceSize, Stats, check, compact, export, import, stats};

use ahead::Ahead;
use derive::Deriver;
use indexing::{Indexer, Indexing};
use mending::Mended;
use notices::Notices;
use numbers::{Numbers, clock_went_back};
use past::Past;
use queue::Queue;
use repair::Databases;
use snapshots::Snapshots;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use unspool_link::Table;
use unspool_model::{Code, Id, Timestamp};
use unspool_store::files::{FolderLock, keep_reserve, make_private_folder, release_reserve};
use unspool_store::rows::Checkpoint;
use unspool_store::{
    DatabaseFile, Families, FamilyId, Ground, GroundError, Log, LogError, LogOptions, LogSize, LooseIssue,
    Page, Question, RecordCounts, Recovery, Store, StoreError, StorePlace, Texts, is_of_the_disk,
};
use unspool_view::Prices;

/// What the engine is told once.
#[derive(Clone)]
pub struct Options {
    /// Where everything is kept.
    pub folder: PathBuf,
    /// The store of what is derived.
    pub store: Arc<dyn StorePlace>,
    /// Where everything else that is derived is kept for a trial, which is asked for no words.
    pub trial: Option<PathBuf>,
    /// What a second process is told about this one.
    pub holder: String,
    /// Names and windows.
    pub table: Table,
    /// Prices.
    pub prices: Arc<Prices>,
    /// What was acknowledged and not derived yet may take so many bytes before more is refused: `max_pending_bytes`.
    pub max_pending_bytes: u64,
    /// Families that were at work lately may take so many bytes: `max_hot_bytes`.
    pub max_hot_bytes: usize,
    /// Linked sessions that were asked for may take so many bytes: `max_snapshot_bytes`.
    pub max_snapshot_bytes: usize,
    /// A family with more records is linked less often, and that is said: `max_family_records`.
    pub max_family_records: usize,
    /// Texts of so many bytes are looked through for what is more than one word: `max_search_bytes`.
    pub max_search_bytes: usize,
    /// What goes at the start and every hour.
    pub retention: Retention,
    /// Deriving gives way to whatever else the processors have to do.
    pub gives_way: bool,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl Options {
    /// The usual sizes for a folder, with the embedded store in it.
    pub fn new(folder: &Path, now: fn() -> Timestamp) -> Options {
        Options {
            folder: folder.into(),
            store: Arc::new(DatabaseFile::new(folder.join("store.db"))),
            trial: None,
            holder: "another unspool".into(),
            table: Table::default(),
            prices: Arc::default(),
            max_pending_bytes: 64 << 20,
            max_hot_bytes: 32 << 20,
            max_snapshot_bytes: 48 << 20,
            max_family_records: 200_000,
            max_search_bytes: 192 << 20,
            retention: Retention::default(),
            gives_way: false,
            now,
        }
    }

    /// Where what is derived is kept beside the store.
    pub(crate) fn databases(&self) -> PathBuf {
        self.trial.clone().unwrap_or_else(|| self.folder.clone())
    }
}

/// How it stands, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Records read and kept.
    pub records_stored: u64,
    /// Records there before.
    pub records_duplicate: u64,
    /// Records that could not be read; their bytes are kept.
    pub records_rejected: u64,
    /// Steps that can be asked for.
    pub steps_visible: u64,
    /// Sessions that can be asked for.
    pub sessions: u64,
    /// Their sub-agents, without internal ones.
    pub subagents: u64,
    /// Sub-agents that nobody is known to have started.
    pub unlinked: u64,
    /// How long what waits longest has been waiting to be derived.
    pub lag_ms: i64,
    /// How long what waits longest has been waiting to be found by its words.
    pub index_lag_ms: i64,
    /// Bytes that what waits to be derived takes; what waits in the log alone takes next to none.
    pub pending_bytes: u64,
    /// Arrivals that were refused because too much waited.
    pub refused: u64,
    /// Families over `max_family_records`, which are linked less often.
    pub large_families: u64,
}

/// The engine. Cheap to share.
pub struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) log: Arc<Log>,
    pub(crate) queue: Queue,
    pub(crate) snapshots: Snapshots,
    pub(crate) changes: Changes,
    pub(crate) numbers: Mutex<Health>,
    pub(crate) refused: AtomicU64,
    /// Families over `max_family_records`.
    pub(crate) large: Mutex<BTreeSet<FamilyId>>,
    /// The deriver found something it cannot go on from; what it was.
    pub(crate) broken: Mutex<Option<String>>,
    /// Why the last record that was sent is not in the log, if that is so.
    pub(crate) refusing: Mutex<refusing::Refusing>,
    /// Databases that were mended.
    pub(crate) mended: Mutex<BTreeMap<String, Mended>>,
    pub(crate) stopping: AtomicBool,
    pub(crate) reader: Mutex<Box<dyn Store>>,
    pub(crate) families: Mutex<Families>,
    /// What was found, mended and lost.
    pub(crate) notices: Notices,
    /// What the deriver is to do between two rounds.
    pub(crate) orders: Mutex<Vec<retain::Order>>,
    pub(crate) texts: Mutex<Texts>,
    pub(crate) indexing: Indexing,
    pub(crate) ahead: Ahead,
    recovery: Recovery,
}

/// Why the engine could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Log or store.
    #[error(transparent)]
    Ground(#[from] GroundError),
    /// The folder.
    #[error("could not make {folder}: {source}")]
    Folder {
        /// Which one.
        folder: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing to work on.
    #[error("{folder} holds no records")]
    Nothing {
        /// Which one.
        folder: String,
    },
    /// What should be taken in is no export of records, or not whole.
    #[error("could not read the import: {0}")]
    Import(std::io::Error),
    /// The thread.
    #[error("could not start a thread: {0}")]
    Thread(std::io::Error),
}

impl OpenError {
    /// Whether another process has the folder.
    pub fn is_held(&self) -> bool {
        matches!(self, OpenError::Ground(GroundError::Log(LogError::Held { .. })))
    }

    /// Whether the disk refused, as one does that is full or broken. It may be mended without anybody telling this process.
    pub fn is_of_the_disk(&self) -> bool {
        match self {
            OpenError::Ground(GroundError::Log(LogError::Io { source, .. }))
            | OpenError::Folder { source, .. } => is_of_the_disk(source),
            OpenError::Ground(GroundError::Store(StoreError::Database { is_of_the_disk, .. })) => {
                *is_of_the_disk
            }
            _ => false,
        }
    }

    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            OpenError::Ground(error) => error.hint(),
            OpenError::Folder { .. } => Some("choose another folder with --data-dir"),
            OpenError::Nothing { .. } => Some(
                "name the folder in which a server or proxy kept something with --data-dir, or start one: `unspool serve`",
            ),
            OpenError::Import(_) => Some(
                "give it a whole file that `unspool db export` wrote; what it added stays, and is not added twice",
            ),
            OpenError::Thread(_) => {
                Some("the system has no room for more threads; stop something else, and try again")
            }
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        OpenError::Ground(error.into())
    }
}

impl Engine {
    /// Opens a folder that has records; nothing is made where there are none.
    pub fn open_existing(options: Options) -> Result<Engine, OpenError> {
        if !options.folder.join("log").is_dir() {
            return Err(OpenError::Nothing { folder: options.folder.display().to_string() });
        }
        Engine::open(options)
    }

    /// Opens the folder, or makes it, and goes on where the last process stopped. On a full disk it takes the room that was kept for that.
    pub fn open(options: Options) -> Result<Engine, OpenError> {
        let (folder, is_trial) = (options.folder.clone(), options.trial.is_some());
        match Engine::open_or_mend(options.clone()) {
            Ok(engine) => {
                if !is_trial {
                    // A disk without that room is full already.
                    drop(keep_reserve(&folder));
                }
                Ok(engine)
            }
            Err(error) if error.is_of_the_disk() && release_reserve(&folder) => {
                let engine = Engine::open_or_mend(options)?;
                let words = format!(
                    "at the start the disk was full ({error}), and the room that is kept for that was taken; free some space"
                );
                engine.shared.say(Code::WriteRefused, words);
                Ok(engine)
            }
            Err(error) => Err(error),
        }
    }

    /// The same; what is read first and turns out to be damaged is made again.
    fn open_or_mend(options: Options) -> Result<Engine, OpenError> {
        let opened = Engine::open_after(options.clone(), |_| Ok(()));
        let Err(OpenError::Ground(error)) = &opened else { return opened };
        let Some(found) = error.damage() else { return opened };
        // It could be opened, and what is read first is damaged.
        let lock = FolderLock::take(&options.folder, &options.holder).map_err(GroundError::from)?;
        let notices = repair::replace(&options, Some(found))?.notices;
        drop(lock);
        let engine = Engine::open_after(options, |_| Ok(()))?;
        for words in notices {
            engine.shared.say(Code::DatabaseRemade, words);
        }
        Ok(engine)
    }

    /// The same, after something was done to the databases.
    fn open_after(
        options: Options,
        prepare: impl FnOnce(&mut Databases) -> Result<(), GroundError>,
    ) -> Result<Engine, OpenError> {
        let folder = options.folder.clone();
        make_private_folder(&folder)
            .map_err(|source| OpenError::Folder { folder: folder.display().to_string(), source })?;
        let lock = FolderLock::take(&folder, &options.holder).map_err(GroundError::from)?;
        let place = options.databases();
        let is_trial = options.trial.is_some();
        let mut databases = repair::open_or_replace(&options)?;
        prepare(&mut databases)?;
        let Databases { store, families, notices } = databases;
        let ground = Ground::locked(&folder, lock, store, LogOptions::default())?;
        let again = repair::open(&options)?;
        let (texts, texts_again, texts_notice) = repair::open_texts(&place)?;
        let (numbers, clock) = Numbers::open(&place, options.now);
        let numbers = Arc::new(numbers);
        let clock = clock.later(last_received(ground.log()));
        let clock_notice = clock_went_back((options.now)(), clock);
        let remade = notices.into_iter().chain(texts_notice);
        let notices = Notices::of(ground.recovery(), Past::open(&place, options.now));
        remade.for_each(|words| notices.say(Notice::new(Code::DatabaseRemade, words)));
        if let Some(words) = clock_notice {
            notices.say(Notice::new(Code::ClockWentBack, words));
        }
        let shared = Arc::new(Shared {
            log: Arc::clone(ground.log()),
            queue: Queue::new(ground.store().standing()?.through, options.max_pending_bytes),
            snapshots: Snapshots::new(options.max_snapshot_bytes, &numbers),
            changes: Changes::new(&numbers),
            numbers: Mutex::default(),
            refused: AtomicU64::new(0),
            large: Mutex::default(),
            broken: Mutex::default(),
            refusing: Mutex::default(),
            mended: Mutex::default(),
            stopping: AtomicBool::new(false),
            reader: Mutex::new(again.store),
            families: Mutex::new(again.families),
            notices,
            orders: Mutex::default(),
            texts: Mutex::new(texts_again),
            indexing: Indexing::default(),
            ahead: Ahead::default(),
            recovery: ground.recovery().clone(),
            options,
        });
        // One that cannot say it is made again, or tried again.
        if shared.heed(texts.standing()).is_ok_and(|known| known == 0) {
            shared.indexing.begin_anew();
        }
        shared.go_on_without(shared.notices.lost());
        let mut indexer = Indexer::new(Arc::clone(&shared), texts);
        let mut deriver = Deriver::new(Arc::clone(&shared), ground, families)?;
        let engine = Engine { shared, threads: Mutex::default() };
        let gives_way = engine.shared.options.gives_way;
        engine.start("derive", gives_way, move || deriver.run())?;
        let shared = Arc::clone(&engine.shared);
        engine.start("write-ahead", gives_way, move || shared.bring_in_what_is_written())?;
        if !is_trial {
            // Whoever searches can wait longer than whoever looks on.
            engine.start("index", true, move || indexer.run())?;
            let shared = Arc::clone(&engine.shared);
            engine.start("look-through", true, move || shared.look_through())?;
        }
        Ok(engine)
    }

    fn start(
        &self,
        name: &str,
        gives_way: bool,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), OpenError> {
        let started = threads::start(name, gives_way, work);
        held(&self.threads).push(started.map_err(OpenError::Thread)?);
        Ok(())
    }

    /// Keeps what arrived. It is on the disk when this returns; what follows from it is shown a moment later.
    pub fn take(&self, arrival: Arrival) -> Result<Taken, Refused> {
        self.shared.take(arrival)
    }

    /// Refuses what is going to arrive when there is no room for so many bytes, so that nobody need read them.
    pub fn refuse_when_full(&self, bytes: u64) -> Result<(), Refused> {
        self.shared.refuse_when_full(bytes)
    }

    /// Keeps parts of files, all with one write, and more checkpoints with them; waits until there is room for them.
    pub fn take_parts(&self, parts: Vec<Part>, more: Vec<Checkpoint>) -> Result<(), Refused> {
        if self.shared.stopping.load(Ordering::Acquire) {
            return Err(Refused::Stopping);
        }
        self.shared.parts(parts, more).map(drop)
    }

    /// Keeps bodies of one source and name that some format is known to know, all with one write; waits until there is room for them.
    /// Gives the position of the first; the others follow it.
    pub fn take_bodies(&self, source: &str, name: &str, bodies: Vec<Vec<u8>>) -> Result<u64, Refused> {
        if self.shared.stopping.load(Ordering::Acquire) {
            return Err(Refused::Stopping);
        }
        self.shared.bodies(source, name, bodies).map(|receipt| receipt.first)
    }

    /// Where everything is kept.
    pub fn folder(&self) -> &Path {
        &self.shared.options.folder
    }

    /// A page of sessions.
    pub fn sessions(&self, question: &Question) -> Result<Page, StoreError> {
        self.with_store(|store| store.sessions(question))
    }

    /// Sessions whose own id, or one that a source gave them, begins like this, each with the id that does. One that is exactly this is meant alone.
    pub fn sessions_named(&self, start: &str) -> Result<Vec<(Id, String)>, StoreError> {
        let mut question = Question::default();
        let mut found = Vec::new();
        loop {
            let page = self.sessions(&question)?;
            for row in &page.sessions {
                let own = row.id.show('x');
                if row.native_ids.iter().any(|id| id == start) || own == start {
                    return Ok(vec![(row.id, start.into())]);
                }
                let known = row.native_ids.iter().chain([&own]).find(|id| id.starts_with(start));
                found.extend(known.map(|known| (row.id, known.clone())));
            }
            match page.next {
                Some(next) => question.after = Some(next),
                None => return Ok(found),
            }
        }
    }

    /// The store, to be asked. If it turns out damaged, it is made again.
    pub fn with_store<T, E: std::error::Error + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> Result<T, E>,
    ) -> Result<T, E> {
        let answer = ask(&**held(&self.shared.reader));
        self.shared.heed(answer)
    }

    /// What belongs together, to be asked as it is now. If it turns out damaged, it is made again.
    fn with_families<T>(
        &self,
        ask: impl FnOnce(&Families) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut families = held(&self.shared.families);
        let answer = families.follow().and_then(|()| ask(&families));
        drop(families);
        self.shared.heed(answer)
    }

    /// A session as it is now; `None` when there is none of that id.
    pub fn snapshot(&self, session: Id) -> Result<Option<Arc<Snapshot>>, GroundError> {
        self.shared.snapshot(session)
    }

    /// Where a file that comes in parts ends, as far as it is shown; 0 when nothing of it is.
    pub fn file_end(&self, path: &str) -> Result<u64, GroundError> {
        let last = self.with_families(|families| families.stream(&streams::file(path)))?.last().copied();
        let last = last.map(|part| self.shared.log.read(part.position)).transpose()?.flatten();
        Ok(last.map_or(0, |part| part.offset + part.bytes.len() as u64))
    }

    /// Whether a file that comes in parts says something else than what is kept of it, at the place of any part that is shown.
    pub fn file_differs(&self, path: &str, file: &mut (impl Read + Seek)) -> Result<bool, GroundError> {
        let parts = self.with_families(|families| families.stream(&streams::file(path)))?;
        let differs =
            files::versions(&parts).last().map(|parts| files::differs(&self.shared.log, parts, file));
        Ok(differs.transpose()?.unwrap_or(false))
    }

    /// What became of the records of each source (`otlp-http`, `files`, …), in order of their names.
    pub fn receipts(&self) -> Result<Vec<(String, RecordCounts)>, StoreError> {
        self.with_families(Families::counts_by_source)
    }

    /// The sessions that came of what lies at a position of the log, as far as it is shown.
    pub fn sessions_at(&self, position: u64) -> Result<Vec<Id>, StoreError> {
        self.with_families(|families| families.sessions_at(position))
    }

    /// What is odd in records that belong to no session.
    pub fn loose_issues(&self) -> Result<Vec<LooseIssue>, StoreError> {
        let loose = self.with_families(Families::loose)?;
        Ok(loose.into_iter().map(|(_, issue)| issue).collect())
    }

    /// The bytes of a record that an issue names and no session has.
    pub fn loose_record(&self, record: Id) -> Result<Option<Vec<u8>>, GroundError> {
        self.shared.loose_record(record)
    }

    /// The news, from now on or from a number on.
    pub fn changes(&self) -> &Changes {
        &self.shared.changes
    }

    /// How it stands.
    pub fn health(&self) -> Health {
        let (pending_bytes, oldest) = self.shared.queue.waiting();
        let age = |at: Timestamp| (self.shared.options.now)().ms_since(at).unwrap_or(0).max(0);
        // Only when nothing waits it is 0.
        let lag_ms = oldest.map_or(0, |at| age(at).max(1));
        let index_lag_ms = age(self.shared.indexing.waiting_since());
        let refused = self.shared.refused.load(Ordering::Relaxed);
        let large_families = held(&self.shared.large).len() as u64;
        let numbers = *held(&self.shared.numbers);
        Health { lag_ms, index_lag_ms, pending_bytes, refused, large_families, ..numbers }
    }

    /// What opening found and did.
    pub fn recovery(&self) -> &Recovery {
        &self.shared.recovery
    }

    /// How much the log holds.
    pub fn log_size(&self) -> LogSize {
        self.shared.log.size()
    }

    /// The log itself.
    pub fn log(&self) -> &Arc<Log> {
        &self.shared.log
    }

    /// Options it was opened with.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Why nothing is derived any more, if that is so, and records are still kept; or why the last of them was not.
    pub fn broken(&self) -> Option<String> {
        let broken = held(&self.shared.broken).clone();
        broken.or_else(|| held(&self.shared.refusing).why())
    }

    /// Everything before this position of the log is shown.
    pub fn shown(&self) -> u64 {
        self.shared.queue.shown_before()
    }

    /// Waits until everything acknowledged so far is shown.
    pub fn settle(&self) {
        while !self.settle_within(Duration::from_secs(1)) && !self.shared.stopping.load(Ordering::Acquire) {}
    }

    /// Waits until everything acknowledged so far is shown, at most so long. Whether it is.
    pub fn settle_within(&self, patience: Duration) -> bool {
        self.shared.queue.settle(self.shared.log.end(), patience, &self.shared.stopping)
    }

    /// Waits until everything that is shown can be found by its words.
    pub fn settle_texts(&self) {
        self.shared.indexing.settle(&self.shared);
    }

    /// Another number whenever words may find something else.
    pub fn indexed(&self) -> u64 {
        self.shared.indexing.passes()
    }

    /// Why new texts are not found by their words, if that is so.
    pub fn index_problem(&self) -> Option<String> {
        self.shared.indexing.problem()
    }

    /// Sessions were forgotten in the store: lets their texts be forgotten, too.
    pub fn forget_texts(&self) {
        self.shared.indexing.forgotten();
    }

    /// Derives what is waiting, and ends.
    pub fn close(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.queue.wake();
        self.shared.indexing.wake();
        self.shared.ahead.wake();
        for handle in std::mem::take(&mut *held(&self.threads)) {
            // A thread never panics on purpose; if it did, the next start does what is left.
            drop(handle.join());
        }
        self.shared.notices.rest();
        self.shared.changes.close();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}

/// When the last record in the log was received, as far as it can be read.
fn last_received(log: &Log) -> Timestamp {
    let last = log.end().checked_sub(1).and_then(|last| log.read(last).ok().flatten());
    last.map_or(Timestamp::NONE, |entry| entry.received)
}

/// Takes a lock. What a thread that died left behind is sound: every change is made in one step.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
