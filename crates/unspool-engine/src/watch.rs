//! Watching folders: files are read as they grow, and what was read is remembered.
//!
//! In: folders. Out: parts of files to the live engine, each with a checkpoint. The system tells what changed; where it cannot, folders are
//! looked through now and then. Never here: what bytes mean, but for whether a file has lines that can be read one by one.
//!
//! A file of lines is read up to its last whole line, and on from there. One that is no longer what was read of it is read anew, and so is
//! any other file whenever it changes.

mod known;
mod news;
mod reached;
mod roots;
#[cfg(test)]
mod tests;

use crate::discover::{Source, discover, looks_like_data};
use crate::live::{Engine, Part, Refused};
use crate::packed;
use known::Known;
use news::News;
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use reached::Reached;
use roots::Identity;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unspool_formats::{Framing, SNIFF_BYTES, best};
use unspool_store::rows::Checkpoint;

/// Bytes of a file that are handed over at a time.
const PART_BYTES: usize = 4 << 20;
/// A line without an end is read after the file has been left alone for so long.
const QUIET: Duration = Duration::from_secs(3);
/// How often folders are looked for that were not there, and lines without an end are looked after.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often everything is looked through where the system does not tell of changes.
const POLL: Duration = Duration::from_secs(2);
/// A new folder is looked into once more after so long: the system tells of it before it watches it.
const YOUNG: Duration = Duration::from_millis(500);
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
    wake: Sender<News>,
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
        let mut work = Work::new(engine, Arc::clone(&stop), Arc::clone(&watched));
        work.listen(wake.clone());
        let thread = std::thread::Builder::new().name("watch".into());
        let handle = thread.spawn(move || work.run(&places, &changed))?;
        Ok(Watcher { stop, wake, handle: Some(handle), watched })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        drop(self.wake.send(News::End));
        if let Some(handle) = self.handle.take() {
            drop(handle.join());
        }
    }
}

/// Parts that are handed over together.
#[derive(Default)]
struct Parcel {
    parts: Vec<Part>,
    /// How far each file is read with them, by its name.
    reached: Vec<(String, Reached)>,
    bytes: usize,
}

struct Work {
    engine: Arc<Engine>,
    stop: Arc<AtomicBool>,
    watched: Arc<Watched>,
    known: Mutex<Known>,
    /// Nobody begins a file while a renamed one goes on under the name it had: that name may be the one.
    beginning: Mutex<()>,
    /// Files whose last line had no end when they were read, and since when.
    unfinished: Mutex<BTreeMap<PathBuf, Instant>>,
    /// Folders that the system told of, and when.
    young: BTreeMap<PathBuf, Instant>,
    roots: BTreeMap<PathBuf, Identity>,
    system: Option<RecommendedWatcher>,
}

impl Work {
    fn new(engine: Arc<Engine>, stop: Arc<AtomicBool>, watched: Arc<Watched>) -> Work {
        Work {
            engine,
            stop,
            watched,
            known: Mutex::default(),
            beginning: Mutex::default(),
            unfinished: Mutex::default(),
            young: BTreeMap::new(),
            roots: BTreeMap::new(),
            system: None,
        }
    }

    /// Asks the system to tell of changes.
    fn listen(&mut self, changed: Sender<News>) {
        // Nobody listens any more when the watcher ends.
        let told = move |event| news::of(event).into_iter().for_each(|news| drop(changed.send(news)));
        match notify::recommended_watcher(told) {
            Ok(watcher) => self.system = Some(watcher),
            Err(error) => self.poll(&error.to_string()),
        }
    }

    fn poll(&mut self, why: &str) {
        self.system = None;
        let seconds = POLL.as_secs();
        self.engine.mention(format!(
            "folders are looked through every {seconds} s, because changes are not told: {why}"
        ));
        *held(&self.watched.polling) = Some(why.into());
    }

    fn run(&mut self, places: &dyn Fn() -> Vec<PathBuf>, changed: &Receiver<News>) {
        self.look_for_folders(places);
        self.watched.first_look.store(true, Ordering::Release);
        let mut looked = Instant::now();
        while !self.stopping() {
            let patience = if self.system.is_some() { LOOK_AGAIN } else { POLL };
            let mut news = match changed.recv_timeout(if self.young.is_empty() { patience } else { YOUNG }) {
                Ok(news) => vec![news],
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            news.extend(changed.try_iter());
            self.heed(news, places);
            self.look_into_young_folders();
            if looked.elapsed() >= patience {
                looked = Instant::now();
                if self.system.is_none() {
                    self.read_all(&discover(&self.roots.keys().cloned().collect::<Vec<_>>()).sources);
                }
                self.look_for_folders(places);
                self.finish_lines();
            }
        }
    }

    /// Does what news ask for.
    fn heed(&mut self, news: Vec<News>, places: &dyn Fn() -> Vec<PathBuf>) {
        let (mut paths, mut look) = (BTreeSet::new(), false);
        for one in news {
            match one {
                News::Changed(path) => {
                    paths.insert(path);
                }
                News::Gone(path) => {
                    look |= self.forget(&path);
                    // It may be there again.
                    paths.insert(path);
                }
                News::Missed => {
                    // Folders that are new are not watched either, so all are watched anew.
                    for root in self.roots.keys().cloned().collect::<Vec<_>>() {
                        look |= self.forget(&root);
                    }
                }
                News::Untold(why) if self.system.is_some() => self.poll(&why),
                News::Untold(_) | News::End => {}
            }
        }
        if look {
            self.look_for_folders(places);
        }
        for path in paths {
            self.changed(path);
        }
    }

    /// No longer watches a folder and those in it; false when it was not watched by its name.
    fn forget(&mut self, root: &Path) -> bool {
        let known = self.roots.remove(root).is_some();
        if let Some(system) = self.system.as_mut().filter(|_| known) {
            // The system has forgotten a folder that is gone already.
            drop(system.unwatch(root));
        }
        known
    }

    /// Watches folders that have appeared, and reads what is in them.
    fn look_for_folders(&mut self, places: &dyn Fn() -> Vec<PathBuf>) {
        let there = roots::there(places());
        let others = |(root, identity): (&PathBuf, &Identity)| {
            (there.get(root) != Some(identity)).then(|| root.clone())
        };
        for root in self.roots.iter().filter_map(others).collect::<Vec<_>>() {
            self.forget(&root);
        }
        let mut new = Vec::new();
        for (place, identity) in there {
            if self.roots.contains_key(&place) {
                continue;
            }
            let told = self.system.as_mut().map(|system| system.watch(&place, RecursiveMode::Recursive));
            match told {
                // Gone meanwhile: it is looked for again.
                Some(Err(error)) if is_missing(&error) => continue,
                Some(Err(error)) => self.poll(&format!("{}: {error}", place.display())),
                _ => {}
            }
            self.roots.insert(place.clone(), identity);
            new.push(place);
        }
        if !new.is_empty() {
            // Watched first and read then: what changes meanwhile is told.
            self.read_all(&discover(&new).sources);
        }
    }

    fn changed(&mut self, path: PathBuf) {
        if path.is_dir() {
            // Files that were made before the system watched the new folder.
            self.read_all(&discover(std::slice::from_ref(&path)).sources);
            self.young.entry(path).or_insert_with(Instant::now);
        } else if looks_like_data(&path) && path.is_file() {
            self.read(&path, false);
        }
    }

    /// What was written between the news of a folder and the watching of it.
    fn look_into_young_folders(&mut self) {
        let of_age = |(path, since): (&PathBuf, &Instant)| (since.elapsed() >= YOUNG).then(|| path.clone());
        let paths: Vec<PathBuf> = self.young.iter().filter_map(of_age).collect();
        if !paths.is_empty() {
            self.young.retain(|path, _| !paths.contains(path));
            self.read_all(&discover(&paths).sources);
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
                self.engine.mention(format!("{} could not be read: {error}", path.display()));
            }
        }
    }

    fn read_on(&self, parcel: &mut Parcel, path: &Path, to_the_end: bool) -> io::Result<()> {
        let name = path.to_string_lossy().into_owned();
        let meta = std::fs::metadata(path)?;
        let known = self.known(&name).or_else(|| self.renamed(&name, &meta));
        if let Some(known) = known.as_ref().filter(|known| known.is_all_of(&meta)) {
            // One that has another name now is remembered by it.
            held(&self.known).insert(name, known.clone());
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
        let mut reached = Reached::nothing(&head, &meta);
        if !has_lines {
            return self.whole(parcel, path, reached);
        }
        let is_renamed = known.as_ref().is_some_and(|known| known.kept_as.is_some());
        let alone = is_renamed.then(|| held(&self.beginning));
        if let Some(known) = known
            && known.offset > 0
            && !self.is_taken(&known)
            && known.is_part_of(&head, &mut file)?
        {
            // Written to, and no longer than before: bytes that no sample looks at may be others. That is rare, so all of them are looked at.
            if known.offset < meta.len() || self.is_kept(known.kept_as.as_ref().unwrap_or(&name), &mut file) {
                (reached.offset, reached.kept_as) = (known.offset, known.kept_as);
            }
            if reached.offset == meta.len() {
                held(&self.known).insert(name, reached.up_to(meta.len(), &mut file)?);
                return Ok(());
            }
        }
        if reached.kept_as.is_none() {
            drop(alone);
            return self.lines(parcel, path, &mut file, reached, to_the_end);
        }
        let mut own = Parcel::default();
        self.lines(&mut own, path, &mut file, reached, to_the_end)?;
        self.hand_over(&mut own)
    }

    /// Whether another file has, or had, the name that a renamed one is kept under: that is a file of its own from now on.
    fn is_taken(&self, known: &Reached) -> bool {
        known.kept_as.as_ref().is_some_and(|name| {
            let last = self.known(name).and_then(|last| last.number());
            Path::new(name).exists() || last.is_some_and(|last| Some(last) != known.number())
        })
    }

    /// Whether what is kept of a file is what it has. Where that cannot be told, it is.
    fn is_kept(&self, name: &str, file: &mut File) -> bool {
        !self.engine.file_differs(name, file).unwrap_or(false)
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
                reached = reached.up_to(offset + bytes.len() as u64, file)?;
                file.seek(SeekFrom::Start(reached.offset + part.len() as u64))?;
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
            self.engine.mention(format!(
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
        let path = reached.kept_as.clone().unwrap_or_else(|| name.into());
        parcel.bytes += bytes.len();
        parcel.parts.push(Part { path, offset, bytes, checkpoint });
        parcel.reached.push((name.into(), reached.clone()));
        if parcel.bytes >= PART_BYTES { self.hand_over(parcel) } else { Ok(()) }
    }

    /// Hands a parcel over, with one write for all of it.
    fn hand_over(&self, parcel: &mut Parcel) -> io::Result<()> {
        let Parcel { parts, reached, bytes } = std::mem::take(parcel);
        if parts.is_empty() {
            return Ok(());
        }
        let _alone = parts.iter().any(|part| part.offset == 0).then(|| held(&self.beginning));
        let names: Vec<Checkpoint> =
            reached.iter().filter_map(|(name, reached)| reached.name_of_number(name)).collect();
        loop {
            match self.engine.take_parts(parts.clone(), names.clone()) {
                Ok(()) => break,
                Err(Refused::Stopping) => return Err(io::Error::other("the engine is closed")),
                // A full disk, most likely; what was not acknowledged is handed over again.
                Err(_) if !self.stopping() => std::thread::sleep(Duration::from_secs(1)),
                Err(_) => return Err(io::Error::other("the watcher ends")),
            }
        }
        self.watched.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let mut known = held(&self.known);
        for (name, reached) in reached {
            known.insert(name, reached);
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Option<Reached> {
        if let Some(reached) = held(&self.known).get(name) {
            return Some(reached.clone());
        }
        let checkpoint = self.engine.with_store(|store| store.checkpoint(name)).ok().flatten()?;
        let reached = Reached::of(&checkpoint);
        held(&self.known).remember(name, &reached);
        Some(reached)
    }

    /// How far a file was read under another name that it has no longer. It goes on as what it was: records that only their file tells apart are
    /// nothing new because of its name.
    fn renamed(&self, name: &str, meta: &Metadata) -> Option<Reached> {
        let source = reached::source_of(meta)?;
        let before = held(&self.known).name_of(meta);
        let kept = || self.engine.with_store(|store| store.checkpoint(&source)).ok().flatten();
        let before = before.or_else(|| kept().map(|checkpoint| reached::name_in(&checkpoint)))?;
        let mut known = self.known(&before).filter(|known| known.is_of_number(meta))?;
        // A copy by another name, or a name that another file has by now, is a file of its own.
        if before == name
            || !matches!(std::fs::symlink_metadata(&before), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            return None;
        }
        let kept_as = known.kept_as.take().unwrap_or_else(|| before.clone());
        // It may have its first name again.
        known.kept_as = Some(kept_as).filter(|kept_as| kept_as != name);
        held(&self.unfinished).remove(Path::new(&before));
        Some(known)
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Whether a folder could not be watched because it is not there.
fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
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
