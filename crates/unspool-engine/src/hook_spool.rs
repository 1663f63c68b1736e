//! Hook events that found no server: where they wait, and how they are taken from there.
//!
//! In: lines, from any number of processes that live for a moment. Out: the same lines, kept by an engine, each once. A line is added and the
//! file is taken away under one lock, so that nobody writes to what was taken. What was taken and not kept is taken again later, and
//! what was kept and not deleted before a crash is the same records once more, which count once.

use crate::live::{Arrival, Engine, Refused, source};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use unspool_store::files::{make_private_folder, private_file};

/// Bytes of events that may wait before more are dropped and counted.
pub const MAX_SPOOL_BYTES: u64 = 64 << 20;

/// How often and how long the lock is asked for before a process goes its own way: an agent waits meanwhile.
const LOCK_TRIES: u32 = 4;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// The folder in which events wait.
#[derive(Clone, Debug)]
pub struct HookSpool {
    folder: PathBuf,
    max_bytes: u64,
}

/// How it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HooksWaiting {
    /// Bytes that wait.
    pub bytes: u64,
    /// Events that were dropped because `max_spool_bytes` was reached.
    pub dropped: u64,
}

impl HookSpool {
    /// The spool of a data folder.
    pub fn of(data: &Path) -> HookSpool {
        HookSpool::with_limit(data, MAX_SPOOL_BYTES)
    }

    /// The same with another limit.
    pub fn with_limit(data: &Path, max_bytes: u64) -> HookSpool {
        HookSpool { folder: data.join("spool"), max_bytes }
    }

    /// Adds a line. False when there is no room: it is dropped and counted.
    pub fn add(&self, line: &[u8]) -> io::Result<bool> {
        make_private_folder(&self.folder)?;
        let lock = private_file().write(true).create(true).open(self.folder.join("lock"))?;
        if !locked(&lock) {
            // Somebody holds the lock and sleeps: a file of its own needs none.
            let name = own_name();
            let part = self.folder.join(format!("{name}.part"));
            private_file().write(true).create_new(true).open(&part)?.write_all(line)?;
            fs::rename(&part, self.folder.join(format!("taken-{name}.jsonl")))?;
            return Ok(true);
        }
        let mut file = private_file().read(true).append(true).create(true).open(self.waiting())?;
        let length = file.metadata()?.len();
        if length + line.len() as u64 > self.max_bytes {
            // One byte for each.
            private_file().append(true).create(true).open(self.dropped())?.write_all(b".")?;
            return Ok(false);
        }
        let mut bytes = Vec::with_capacity(line.len() + 1);
        if length > 0 && !ends_a_line(&mut file)? {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line);
        file.write_all(&bytes)?;
        Ok(true)
    }

    /// Lets an engine keep everything that waits. What it refuses for the moment waits on; what it can read nothing of is put aside.
    pub fn take_all(&self, engine: &Engine) -> io::Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        if self.waiting().exists() {
            let lock = private_file().write(true).create(true).open(self.folder.join("lock"))?;
            if locked(&lock) {
                fs::rename(self.waiting(), self.folder.join(format!("taken-{}.jsonl", own_name())))?;
            }
        }
        for path in self.taken()? {
            let bytes = fs::read(&path)?;
            let arrival = Arrival::Body { source: source::HOOKS.into(), name: "hooks.jsonl".into(), bytes };
            match engine.take(arrival) {
                Ok(_) => fs::remove_file(&path)?,
                Err(Refused::Unknown { .. }) => {
                    let name = path
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .replacen("taken", "refused", 1);
                    fs::rename(&path, self.folder.join(name))?;
                }
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// How it stands.
    pub fn standing(&self) -> HooksWaiting {
        let length = |path: &Path| fs::metadata(path).map_or(0, |known| known.len());
        let taken: u64 = self.taken().unwrap_or_default().iter().map(|path| length(path)).sum();
        HooksWaiting { bytes: length(&self.waiting()) + taken, dropped: length(&self.dropped()) }
    }

    fn waiting(&self) -> PathBuf {
        self.folder.join("waiting.jsonl")
    }

    fn dropped(&self) -> PathBuf {
        self.folder.join("dropped")
    }

    /// Files that were taken away and not kept yet, oldest first.
    fn taken(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("taken-") {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// A name that no other file has, in the order of time.
fn own_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:020}-{}", since.as_nanos(), std::process::id())
}

fn locked(lock: &File) -> bool {
    for _ in 0..LOCK_TRIES {
        if lock.try_lock().is_ok() {
            return true;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    false
}

/// Whether the last line is whole: a process may have died while it wrote.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Options;
    use unspool_model::Timestamp;

    fn event(n: usize) -> Vec<u8> {
        let text = format!(
            "{{\"received_at\":\"2026-11-15T12:00:00Z\",\"stdin\":{{\"hook_event_name\":\"Stop\",\"session_id\":\"s{n}\"}}}}\n"
        );
        text.into_bytes()
    }

    fn engine(folder: &Path) -> Engine {
        Engine::open(Options::new(folder, || Timestamp::from_ms(0))).unwrap()
    }

    fn stored(engine: &Engine) -> (u64, u64) {
        engine.settle();
        (engine.health().records_stored, engine.health().records_duplicate)
    }

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice_while_many_add_and_one_takes() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let spool = HookSpool::of(folder.path());
        std::thread::scope(|scope| {
            let adders: Vec<_> = (0..4)
                .map(|adder| {
                    let spool = spool.clone();
                    scope.spawn(move || {
                        for n in 0..50 {
                            assert!(spool.add(&event(adder * 50 + n)).unwrap());
                        }
                    })
                })
                .collect();
            while adders.iter().any(|adder| !adder.is_finished()) {
                spool.take_all(&engine).unwrap();
            }
        });
        spool.take_all(&engine).unwrap();
        assert_eq!(stored(&engine), (200, 0));
        assert_eq!(spool.standing(), HooksWaiting::default());
    }

    #[test]
    fn what_is_too_much_is_dropped_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let line = event(1);
        let spool = HookSpool::with_limit(folder.path(), 2 * line.len() as u64);
        let added: Vec<bool> = (0..5).map(|_| spool.add(&line).unwrap()).collect();
        assert_eq!(added, [true, true, false, false, false]);
        assert_eq!(spool.standing(), HooksWaiting { bytes: 2 * line.len() as u64, dropped: 3 });
    }

    #[test]
    fn a_torn_line_harms_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let spool = HookSpool::of(folder.path());
        spool.add(&event(1)).unwrap();
        spool.add(b"{\"received_at\":\"2026-11-").unwrap();
        spool.add(&event(2)).unwrap();
        spool.take_all(&engine).unwrap();
        assert_eq!(stored(&engine), (2, 0));
        assert_eq!(engine.health().records_rejected, 1);
    }

    #[test]
    fn a_sleeping_holder_of_the_lock_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let spool = HookSpool::of(folder.path());
        spool.add(&event(1)).unwrap();
        let lock = File::open(folder.path().join("spool/lock")).unwrap();
        lock.lock().unwrap();
        assert!(spool.add(&event(2)).unwrap());
        spool.take_all(&engine).unwrap();
        assert_eq!(stored(&engine), (1, 0));
        lock.unlock().unwrap();
        spool.take_all(&engine).unwrap();
        assert_eq!(stored(&engine), (2, 0));
    }

    #[test]
    fn what_was_kept_and_not_deleted_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let spool = HookSpool::of(folder.path());
        spool.add(&event(1)).unwrap();
        let saved = fs::read(spool.waiting()).unwrap();
        spool.take_all(&engine).unwrap();
        fs::write(spool.folder.join("taken-1.jsonl"), saved).unwrap();
        spool.take_all(&engine).unwrap();
        assert_eq!(stored(&engine), (1, 1));
    }

    #[test]
    fn what_nobody_knows_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let spool = HookSpool::of(folder.path());
        spool.add(b"nonsense\n").unwrap();
        spool.take_all(&engine).unwrap();
        let names = fs::read_dir(&spool.folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.filter(|name| name.to_string_lossy().starts_with("refused-")).count(), 1);
        assert_eq!(spool.standing(), HooksWaiting::default());
    }

    #[test]
    #[cfg(unix)]
    fn only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let spool = HookSpool::of(folder.path());
        spool.add(&event(1)).unwrap();
        for path in [spool.folder.clone(), spool.waiting(), spool.folder.join("lock")] {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
        }
    }
}
