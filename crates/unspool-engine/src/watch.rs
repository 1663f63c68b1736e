//! Watching folders: files are read as they grow, and what was read is remembered.
//!
//! In: folders. Out: parts of files to the live engine, each with a checkpoint. The system tells what changed; where it cannot, folders are
//! looked through now and then. Never here: what bytes mean, but for whether a file has lines that can be read one by one.
//!
//! A file of lines is read up to its last whole line, and on from there. One that became shorter, or begins with other bytes, is read anew.
//! Any other file is read anew whenever it changes.

use crate::discover::{Source, discover, looks_like_data};
use crate::live::{Engine, Part, Refused};
use crate::packed;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unspool_formats::{Framing, SNIFF_BYTES, best};
use unspool_model::Id;
use unspool_store::Store as _;
use unspool_store::rows::Checkpoint;

/// Bytes of a file that are handed over at a time.
const PART_BYTES: usize = 4 << 20;
/// A line without an end is read after the file has been left alone for so long.
const QUIET: Duration = Duration::from_secs(3);
/// How often folders are looked for that were not there, and lines without an end are looked after.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often everything is looked through where the system does not tell of changes.
const POLL: Duration = Duration::from_secs(2);
/// The first bytes of a file by which it is known again.
const KNOWN_BY_BYTES: usize = 1024;
/// A packed or whole file is read in one piece up to this: `max_watched_file_bytes`.
const MAX_WHOLE_BYTES: u64 = 256 << 20;

/// What watching has done.
#[derive(Debug, Default)]
pub struct Watched {
    /// Files that were looked at.
    pub files: AtomicU64,
    /// Bytes that were handed over.
    pub bytes: AtomicU64,
    /// Files that could not be read, at least once.
    pub unreadable: AtomicU64,
    /// Files over `max_watched_file_bytes`.
    pub too_large: AtomicU64,
    /// The first look through the folders is over.
    pub first_look: AtomicBool,
    /// Why the system does not tell of changes, if it does not.
    pub polling: Mutex<Option<String>>,
}

/// A watcher at work; it ends when it is dropped.
pub struct Watcher {
    stop: Arc<AtomicBool>,
    wake: Sender<PathBuf>,
    handle: Option<JoinHandle<()>>,
    /// What it has done.
    pub watched: Arc<Watched>,
}

impl Watcher {
    /// Begins to watch. `places` is asked again now and then: folders may appear later.
    pub fn start(
        engine: Arc<Engine>,
        places: impl Fn() -> Vec<PathBuf> + Send + 'static,
    ) -> io::Result<Watcher> {
        let (stop, watched) = (Arc::new(AtomicBool::new(false)), Arc::new(Watched::default()));
        let (wake, changed) = channel();
        let mut work = Work {
            engine,
            stop: Arc::clone(&stop),
            watched: Arc::clone(&watched),
            known: Mutex::default(),
            unfinished: Mutex::default(),
            roots: BTreeSet::new(),
            system: None,
        };
        work.listen(wake.clone());
        let thread = std::thread::Builder::new().name("watch".into());
        let handle = thread.spawn(move || work.run(&places, &changed))?;
        Ok(Watcher { stop, wake, handle: Some(handle), watched })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        drop(self.wake.send(PathBuf::new()));
        if let Some(handle) = self.handle.take() {
            drop(handle.join());
        }
    }
}

/// How far a file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reached {
    offset: u64,
    /// Hash of its first bytes, and how many those are.
    head: u64,
    head_bytes: u64,
    /// When it was changed last, as the system counts.
    changed_ns: u64,
}

impl Reached {
    fn checkpoint(&self, path: &str) -> Checkpoint {
        let numbers = [self.head, self.head_bytes, self.changed_ns];
        Checkpoint {
            source: path.into(),
            offset: i64::try_from(self.offset).unwrap_or(i64::MAX),
            fingerprint: numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
        }
    }

    fn of(checkpoint: &Checkpoint) -> Reached {
        let number = |n: usize| {
            let bytes = checkpoint.fingerprint.get(n * 8..n * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let offset = u64::try_from(checkpoint.offset).unwrap_or(0);
        Reached { offset, head: number(0), head_bytes: number(1), changed_ns: number(2) }
    }
}

/// Parts that are handed over together.
#[derive(Default)]
struct Parcel {
    parts: Vec<Part>,
    /// How far each file is read with them.
    reached: Vec<Reached>,
    bytes: usize,
}

struct Work {
    engine: Arc<Engine>,
    stop: Arc<AtomicBool>,
    watched: Arc<Watched>,
    known: Mutex<BTreeMap<String, Reached>>,
    /// Files whose last line had no end when they were read, and since when.
    unfinished: Mutex<BTreeMap<PathBuf, Instant>>,
    roots: BTreeSet<PathBuf>,
    system: Option<RecommendedWatcher>,
}

impl Work {
    /// Asks the system to tell of changes.
    fn listen(&mut self, changed: Sender<PathBuf>) {
        let told = move |event: notify::Result<notify::Event>| {
            // Our own reading is told of, too.
            let event = event.ok().filter(|event| !event.kind.is_access());
            for path in event.map(|event| event.paths).unwrap_or_default() {
                // Nobody listens any more when the watcher ends.
                drop(changed.send(path));
            }
        };
        match notify::recommended_watcher(told) {
            Ok(watcher) => self.system = Some(watcher),
            Err(error) => self.poll(&error.to_string()),
        }
    }

    fn poll(&mut self, why: &str) {
        self.system = None;
        let seconds = POLL.as_secs();
        self.engine.notice(format!(
            "folders are looked through every {seconds} s, because changes are not told: {why}"
        ));
        *held(&self.watched.polling) = Some(why.into());
    }

    fn run(&mut self, places: &dyn Fn() -> Vec<PathBuf>, changed: &Receiver<PathBuf>) {
        self.look_for_folders(places);
        self.watched.first_look.store(true, Ordering::Release);
        let mut looked = Instant::now();
        while !self.stopping() {
            let patience = if self.system.is_some() { LOOK_AGAIN } else { POLL };
            let mut paths: BTreeSet<PathBuf> = match changed.recv_timeout(patience) {
                Ok(path) => [path].into(),
                Err(RecvTimeoutError::Timeout) => BTreeSet::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            paths.extend(changed.try_iter());
            for path in paths {
                self.changed(&path);
            }
            if looked.elapsed() >= patience {
                looked = Instant::now();
                if self.system.is_none() {
                    self.read_all(&discover(&self.roots.iter().cloned().collect::<Vec<_>>()).sources);
                }
                self.look_for_folders(places);
                self.finish_lines();
            }
        }
    }

    /// Watches folders that have appeared, and reads what is in them.
    fn look_for_folders(&mut self, places: &dyn Fn() -> Vec<PathBuf>) {
        let new: Vec<PathBuf> = places().into_iter().filter(|place| !self.roots.contains(place)).collect();
        for place in &new {
            let told = self.system.as_mut().map(|system| system.watch(place, RecursiveMode::Recursive));
            if let Some(Err(error)) = told {
                self.poll(&format!("{}: {error}", place.display()));
            }
            self.roots.insert(place.clone());
        }
        if !new.is_empty() {
            // Watched first and read then: what changes meanwhile is told.
            self.read_all(&discover(&new).sources);
        }
    }

    fn changed(&self, path: &Path) {
        if path.as_os_str().is_empty() {
            return;
        }
        if path.is_dir() {
            // Files that were made before the system watched the new folder.
            self.read_all(&discover(&[path.to_path_buf()]).sources);
        } else if looks_like_data(path) && path.is_file() {
            self.read(path, false);
        }
    }

    /// Reads files on all cores.
    fn read_all(&self, sources: &[Source]) {
        let next = AtomicUsize::new(0);
        let workers =
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(sources.len());
        let work = || {
            let mut parcel = Parcel::default();
            while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.stopping() {
                    break;
                }
                if let Some(path) = &source.path {
                    self.read_into(&mut parcel, path, false);
                }
            }
            // It fails only when the engine or the watcher ends.
            drop(self.hand_over(&mut parcel));
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
    }

    /// Reads lines without an end whose files were left alone.
    fn finish_lines(&self) {
        let due: Vec<PathBuf> = {
            let mut unfinished = held(&self.unfinished);
            let due: Vec<PathBuf> = unfinished
                .iter()
                .filter(|(_, since)| since.elapsed() >= QUIET)
                .map(|(path, _)| path.clone())
                .collect();
            for path in &due {
                unfinished.remove(path);
            }
            due
        };
        for path in due {
            self.read(&path, true);
        }
    }

    fn read(&self, path: &Path, to_the_end: bool) {
        let mut parcel = Parcel::default();
        self.read_into(&mut parcel, path, to_the_end);
        // It fails only when the engine or the watcher ends.
        drop(self.hand_over(&mut parcel));
    }

    fn read_into(&self, parcel: &mut Parcel, path: &Path, to_the_end: bool) {
        self.watched.files.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.read_on(parcel, path, to_the_end) {
            // The next change asks again. One that is gone needs no word.
            self.watched.unreadable.fetch_add(1, Ordering::Relaxed);
            if error.kind() != io::ErrorKind::NotFound && !self.stopping() {
                self.engine.notice(format!("{} could not be read: {error}", path.display()));
            }
        }
    }

    fn read_on(&self, parcel: &mut Parcel, path: &Path, to_the_end: bool) -> io::Result<()> {
        let name = path.to_string_lossy().into_owned();
        let meta = std::fs::metadata(path)?;
        let changed_ns = meta.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let changed_ns = changed_ns.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(0));
        let known = self.known(&name);
        if known.as_ref().is_some_and(|known| known.changed_ns == changed_ns && known.offset == meta.len()) {
            return Ok(());
        }
        let mut file = File::open(path)?;
        let mut head = vec![0; SNIFF_BYTES.min(usize::try_from(meta.len()).unwrap_or(SNIFF_BYTES))];
        let filled = fill(&mut file, &mut head)?;
        head.truncate(filled);
        if head.is_empty() {
            return Ok(());
        }
        let has_lines = !packed::is_packed(&head)
            && best(&name, &head).is_some_and(|(_, sniff)| sniff.framing == Framing::Lines);
        let of_head = |bytes: usize| Id::of(&[&head[..bytes.min(head.len())]]).low();
        let same = |known: &Reached| {
            let bytes = usize::try_from(known.head_bytes).unwrap_or(0);
            known.offset <= meta.len() && bytes <= head.len() && of_head(bytes) == known.head
        };
        let head_bytes = KNOWN_BY_BYTES.min(head.len());
        let reached =
            Reached { offset: 0, head: of_head(head_bytes), head_bytes: head_bytes as u64, changed_ns };
        if has_lines {
            let offset = known.filter(same).map_or(0, |known| known.offset);
            self.lines(parcel, path, &mut file, Reached { offset, ..reached }, to_the_end)
        } else {
            self.whole(parcel, path, reached)
        }
    }

    /// Reads a file of lines from where it was left, up to its last whole line.
    fn lines(
        &self,
        parcel: &mut Parcel,
        path: &Path,
        file: &mut File,
        mut reached: Reached,
        to_the_end: bool,
    ) -> io::Result<()> {
        let name = &*path.to_string_lossy();
        file.seek(SeekFrom::Start(reached.offset))?;
        let length = file.metadata()?.len();
        let mut part: Vec<u8> = Vec::new();
        loop {
            let filled = part.len();
            // One byte more than there should be: then its end is seen.
            let left = length.saturating_sub(reached.offset + filled as u64).saturating_add(1);
            let wanted = PART_BYTES.min(usize::try_from(left).unwrap_or(PART_BYTES));
            part.resize(filled + wanted, 0);
            let read = fill(file, &mut part[filled..])?;
            part.truncate(filled + read);
            let ended = read < wanted;
            let whole = memchr::memrchr(b'\n', &part).map_or(0, |at| at + 1);
            let end = if ended && to_the_end { part.len() } else { whole };
            if end > 0 {
                let rest = part.split_off(end);
                let bytes = std::mem::replace(&mut part, rest);
                let offset = reached.offset;
                reached.offset += bytes.len() as u64;
                self.pack(parcel, name, offset, bytes, &reached)?;
            }
            if ended {
                break;
            }
        }
        if !part.is_empty() {
            held(&self.unfinished).insert(path.into(), Instant::now());
        }
        Ok(())
    }

    /// Reads a file that is one piece, or packed.
    fn whole(&self, parcel: &mut Parcel, path: &Path, mut reached: Reached) -> io::Result<()> {
        let name = &*path.to_string_lossy();
        let mut bytes = Vec::new();
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        packed::open(file)?.take(MAX_WHOLE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_WHOLE_BYTES {
            self.watched.too_large.fetch_add(1, Ordering::Relaxed);
            self.engine.notice(format!(
                "{name} is over `max_watched_file_bytes` ({MAX_WHOLE_BYTES}) and was not read"
            ));
            bytes.clear();
        }
        reached.offset = length;
        if bytes.is_empty() {
            held(&self.known).insert(name.into(), reached);
            return Ok(());
        }
        self.pack(parcel, name, 0, bytes, &reached)
    }

    /// Puts a part into the parcel, and hands that over when it is large enough.
    fn pack(
        &self,
        parcel: &mut Parcel,
        name: &str,
        offset: u64,
        bytes: Vec<u8>,
        reached: &Reached,
    ) -> io::Result<()> {
        let checkpoint = Some(reached.checkpoint(name));
        parcel.bytes += bytes.len();
        parcel.parts.push(Part { path: name.into(), offset, bytes, checkpoint });
        parcel.reached.push(reached.clone());
        if parcel.bytes >= PART_BYTES { self.hand_over(parcel) } else { Ok(()) }
    }

    /// Hands a parcel over, with one write for all of it.
    fn hand_over(&self, parcel: &mut Parcel) -> io::Result<()> {
        let Parcel { parts, reached, bytes } = std::mem::take(parcel);
        if parts.is_empty() {
            return Ok(());
        }
        loop {
            match self.engine.take_parts(parts.clone()) {
                Ok(()) => break,
                Err(Refused::Stopping) => return Err(io::Error::other("the engine is closed")),
                // A full disk, most likely; what was not acknowledged is handed over again.
                Err(_) if !self.stopping() => std::thread::sleep(Duration::from_secs(1)),
                Err(_) => return Err(io::Error::other("the watcher ends")),
            }
        }
        self.watched.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        held(&self.known).extend(parts.into_iter().map(|part| part.path).zip(reached));
        Ok(())
    }

    fn known(&self, name: &str) -> Option<Reached> {
        if let Some(reached) = held(&self.known).get(name) {
            return Some(reached.clone());
        }
        let checkpoint = self.engine.with_store(|store| store.checkpoint(name)).ok().flatten()?;
        let reached = Reached::of(&checkpoint);
        held(&self.known).insert(name.into(), reached.clone());
        Some(reached)
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
