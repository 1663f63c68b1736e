//! Recording what the proxy carries, beside it and never in its way.
//!
//! In: exchanges, as the proxy hands them over. Out: bodies of the source `proxy` in the engine, many with one write. One thread writes them
//! down, another one keeps them when the processors and the disk have time for it. What cannot be kept is counted and told; it is not tried
//! again, because what comes next needs the room.

mod envelope;
mod late;
mod redact;
mod runs;
mod spool;
mod unpack;

use crate::notices::{Notice, Notices};
use envelope::Writer;
use late::Waited;
use runs::{OfRun, Runs};
use spool::{Next, Spool};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unspool_engine::live::{Engine, source};
use unspool_model::Timestamp;
use unspool_proxy::{Loss, Room, Seen, Sent};
use unspool_redact::{Masker, Rules};

pub use late::LateEngine;
pub(crate) use runs::Carried;
pub use runs::new_run;

/// The source of what the proxy saw, and the name of each body.
const SOURCE: &str = source::PROXY;
const NAME: &str = "exchange.json";
/// Exchanges that come within this time share a write.
const TOGETHER: Duration = Duration::from_millis(10);
/// No more exchanges and bytes share a write.
const MAX_TOGETHER: usize = 1024;
const MAX_TOGETHER_BYTES: usize = 8 << 20;
/// When this share of the room is taken, nobody waits for others to come.
const BEHIND_SHARE: u64 = 16;
/// The event of the live stream that says that the health document has something new for people.
const NOTICE: &str = "notice";
/// Losses are told so often at most.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// What may be held of what is carried, and what is recorded of it.
#[derive(Clone, Copy, Debug)]
pub struct RecordingLimits {
    /// Bytes that may be held in memory, of all exchanges together: `max_recording_bytes`.
    pub bytes: u64,
    /// Bytes of one body that are recorded: `max_recorded_body_bytes`.
    pub body_bytes: u64,
    /// Bytes that may wait in a file, of all exchanges together: `max_recording_spool_bytes`.
    pub spool_bytes: u64,
}

impl Default for RecordingLimits {
    fn default() -> RecordingLimits {
        RecordingLimits { bytes: 128 << 20, body_bytes: 32 << 20, spool_bytes: 1 << 30 }
    }
}

/// What was seen; nothing when there will be no more.
type Message = Option<Seen>;

/// Records exchanges.
pub struct Recorder {
    engine: Arc<LateEngine>,
    room: Arc<Room>,
    sender: Sender<Message>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    still_packed: Arc<AtomicU64>,
    spool: Arc<Spool>,
    runs: Arc<Runs>,
    limits: RecordingLimits,
    notices: Notices,
    disk: Arc<Mutex<Disk>>,
}

impl unspool_proxy::Recorder for Recorder {
    fn take(&self, seen: Seen) {
        if let Err(SendError(Some(seen))) = self.sender.send(Some(seen))
            && ended(&seen).is_some()
        {
            self.room.count_loss(Loss::NotKept);
            self.runs.kept(OfRun::of(&seen, 0).as_slice(), None);
        }
    }

    fn begins(&self, run: &Arc<str>, is_recorded: bool) {
        self.runs.begins(run, is_recorded);
    }
}

impl Recorder {
    /// Starts to record; with rules of redaction, even if they are none, what looks like a secret is masked in bodies. `tell` is given words for people when something was lost.
    pub fn start(
        engine: Arc<Engine>,
        limits: RecordingLimits,
        redact: Option<Rules>,
        tell: fn(&str),
    ) -> std::io::Result<Recorder> {
        let folder = engine.folder().to_path_buf();
        Recorder::start_early(Arc::new(engine.into()), &folder, limits, redact, tell)
    }

    /// The same before everything is open that keeps it in that folder. Until then it waits in memory, as far as there is room.
    pub fn start_early(
        engine: Arc<LateEngine>,
        folder: &Path,
        limits: RecordingLimits,
        redact: Option<Rules>,
        tell: fn(&str),
    ) -> std::io::Result<Recorder> {
        let (sender, messages) = channel();
        let room = Room::new(limits.bytes, limits.body_bytes);
        let still_packed = Arc::new(AtomicU64::new(0));
        let spool = Arc::new(Spool::new(folder, limits.spool_bytes));
        let runs = Arc::<Runs>::default();
        let mut writing = Writing {
            room: Arc::clone(&room),
            writer: Writer { masker: redact.map(Masker::with_rules), still_packed: 0 },
            still_packed: Arc::clone(&still_packed),
            spool: Arc::clone(&spool),
            written: Written::default(),
        };
        let (notices, disk) = (Notices::default(), Arc::<Mutex<Disk>>::default());
        let mut keeping = Keeping {
            late: Arc::clone(&engine),
            engine: None,
            room: Arc::clone(&room),
            spool: Arc::clone(&spool),
            still_packed: Arc::clone(&still_packed),
            runs: Arc::clone(&runs),
            tell,
            notices: notices.clone(),
            told: None,
            told_at: None,
            why: None,
            disk: Arc::clone(&disk),
        };
        let named = |name: &str| std::thread::Builder::new().name(name.into());
        let threads = vec![
            named("record").spawn(move || writing.run(&messages))?,
            named("keep").spawn(move || keeping.run())?,
        ];
        Ok(Recorder {
            engine,
            room,
            sender,
            threads: Mutex::new(threads),
            still_packed,
            spool,
            runs,
            limits,
            notices,
            disk,
        })
    }

    /// What is held and what was lost.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Bodies that could not be unpacked and are kept packed.
    pub fn still_packed(&self) -> u64 {
        self.still_packed.load(Ordering::Relaxed)
    }

    /// What it keeps to.
    pub fn limits(&self) -> RecordingLimits {
        self.limits
    }

    /// Bytes that wait in a file.
    pub fn spooled_bytes(&self) -> u64 {
        self.spool.bytes()
    }

    /// What was carried for a command, and how many commands were forgotten.
    pub(crate) fn carried(&self, run: &str) -> (Carried, u64) {
        self.runs.of(run)
    }

    /// Where it is told that something was lost.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// What was lost so far, in words for people.
    pub fn notice(&self) -> Option<String> {
        notice(&self.room, self.still_packed(), self.disk())
    }

    /// Whether what is carried is kept, as of the last write.
    pub fn is_kept(&self) -> bool {
        self.disk().refuses_since.is_none()
    }

    fn disk(&self) -> Disk {
        *self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was handed over, and ends.
    pub fn close(&self) {
        self.engine.give_up();
        // An error means that it has ended.
        drop(self.sender.send(None));
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            drop(thread.join());
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether the record log takes what was recorded, as of the last write.
#[derive(Clone, Copy, Default)]
struct Disk {
    /// Since when it does not.
    refuses_since: Option<Timestamp>,
    /// Since when it does again.
    takes_since: Option<Timestamp>,
}

impl Disk {
    fn note(&mut self, is_kept: bool, now: Timestamp) {
        if !is_kept {
            self.refuses_since = self.refuses_since.or(Some(now));
            self.takes_since = None;
        } else if self.refuses_since.take().is_some() {
            self.takes_since = Some(now);
        }
    }
}

fn notice(room: &Room, still_packed: u64, disk: Disk) -> Option<String> {
    let lost = room.lost_in_all();
    let reasons =
        Loss::ALL.iter().map(|loss| (loss.name(), room.lost(*loss))).filter(|(_, count)| *count > 0);
    let reasons: Vec<String> = reasons.map(|(name, count)| format!("{name} {count}")).collect();
    let mut said = Vec::new();
    if lost > 0 {
        let exchanges = if lost == 1 { "exchange was" } else { "exchanges were" };
        let last = room.last_lost_ms().and_then(|ms| i64::try_from(ms).ok()).map(Timestamp::from_ms);
        let last = last.map(|at| format!(", the last at {at}")).unwrap_or_default();
        said.push(format!("{lost} {exchanges} not recorded, or not whole: {}{last}", reasons.join(", ")));
        let now = disk.refuses_since.map(|since| format!("nothing is recorded since {since}"));
        let again = || disk.takes_since.map(|since| format!("what comes is recorded again since {since}"));
        said.extend(now.or_else(again));
    }
    if still_packed > 0 {
        let bodies = if still_packed == 1 { "body was" } else { "bodies were" };
        said.push(format!("{still_packed} {bodies} kept packed and not read: still_packed"));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// What was written of some exchanges, on its way to the log.
#[derive(Default)]
struct Written {
    /// All of them, one behind the other.
    bytes: Vec<u8>,
    /// How many bytes each has.
    lengths: Vec<usize>,
    /// How many of them are exchanges that are over.
    over: usize,
    /// Those of commands.
    of_runs: Vec<OfRun>,
    /// Their room is taken while they are in memory.
    seen: Vec<Seen>,
    /// How many bytes of them were in the file.
    spooled_bytes: u64,
    /// Why they could not be read from the file.
    lost: Option<std::io::Error>,
}

impl Written {
    /// Each by itself.
    fn bodies(&self) -> Vec<Vec<u8>> {
        let mut rest = self.bytes.as_slice();
        let each = self.lengths.iter().filter_map(|length| {
            let (first, behind) = rest.split_at_checked(*length)?;
            rest = behind;
            Some(first.to_vec())
        });
        each.collect()
    }

    /// Forgets them, and keeps the memory for the next.
    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(2 * MAX_TOGETHER_BYTES);
        self.lengths.clear();
        self.seen.clear();
        self.of_runs.clear();
        self.over = 0;
    }
}

/// What the thread that writes has to itself.
struct Writing {
    room: Arc<Room>,
    writer: Writer,
    still_packed: Arc<AtomicU64>,
    spool: Arc<Spool>,
    written: Written,
}

impl Writing {
    fn run(&mut self, messages: &Receiver<Message>) {
        let mut is_open = true;
        while is_open {
            let Ok(Some(first)) = messages.recv() else { break };
            if self.room.held() < self.room.max_bytes / BEHIND_SHARE {
                std::thread::sleep(TOGETHER);
            }
            let mut batch = vec![first];
            while batch.len() < MAX_TOGETHER {
                match messages.try_recv() {
                    Ok(Some(seen)) => batch.push(seen),
                    Ok(None) => {
                        is_open = false;
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.write_all(batch);
        }
        self.spool.close();
    }

    /// An exchange that is over is written once, whole.
    fn write_all(&mut self, batch: Vec<Seen>) {
        let ended: HashSet<*const Sent> = batch.iter().filter_map(ended).map(Arc::as_ptr).collect();
        let written = &mut self.written;
        for seen in batch {
            let before = written.bytes.len();
            match &seen {
                Seen::Sent(sent) if ended.contains(&Arc::as_ptr(sent)) => continue,
                Seen::Sent(sent) => self.writer.sent(sent, &mut written.bytes),
                Seen::Ended(sent, response, failure) => {
                    written.over += 1;
                    self.writer.ended(sent, response.as_deref(), failure.as_ref(), &mut written.bytes);
                }
            }
            written.of_runs.extend(OfRun::of(&seen, written.lengths.len() as u64));
            written.lengths.push(written.bytes.len() - before);
            written.seen.push(seen);
            if written.bytes.len() >= MAX_TOGETHER_BYTES {
                self.spool.push(written);
            }
        }
        if !written.lengths.is_empty() {
            self.spool.push(written);
        }
        self.still_packed.store(self.writer.still_packed, Ordering::Relaxed);
    }
}

/// What the thread that keeps has to itself.
struct Keeping {
    late: Arc<LateEngine>,
    /// None as long as it is not open.
    engine: Option<Arc<Engine>>,
    room: Arc<Room>,
    spool: Arc<Spool>,
    still_packed: Arc<AtomicU64>,
    runs: Arc<Runs>,
    tell: fn(&str),
    notices: Notices,
    /// What was told last, and when.
    told: Option<String>,
    told_at: Option<Instant>,
    /// Why something was not kept, since that was told.
    why: Option<String>,
    disk: Arc<Mutex<Disk>>,
}

impl Keeping {
    fn run(&mut self) {
        self.engine = loop {
            match self.late.wait(TELL_AGAIN) {
                Waited::Open(engine) => break Some(engine),
                Waited::Never => break None,
                Waited::NotYet => self.tell_losses(),
            }
        };
        loop {
            // What is told later must not wait for more to come.
            let is_untold = self.notice() != self.told;
            match self.spool.pop(is_untold.then_some(TELL_AGAIN)) {
                Next::Written(written) => {
                    self.keep(&written);
                    self.spool.done(&written);
                }
                Next::Nothing => {}
                Next::End => break,
            }
            if self.told_at.is_none_or(|at| at.elapsed() >= TELL_AGAIN) {
                self.tell_losses();
            }
        }
        self.tell_losses();
    }

    fn notice(&self) -> Option<String> {
        let disk = *self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        notice(&self.room, self.still_packed.load(Ordering::Relaxed), disk)
    }

    /// A request that is not kept may be kept with its response.
    fn keep(&mut self, written: &Written) {
        let kept = match (&written.lost, &self.engine) {
            (Some(error), _) => Err(error.to_string()),
            (None, None) => Err("the data folder was never open".into()),
            (None, Some(engine)) => {
                let kept = engine.take_bodies(SOURCE, NAME, written.bodies());
                // Whether the log takes what comes is known by this alone: what waited in the file is lost where that cannot be read.
                let now = (engine.options().now)();
                self.disk.lock().unwrap_or_else(PoisonError::into_inner).note(kept.is_ok(), now);
                kept.map_err(|error| error.to_string())
            }
        };
        self.runs.kept(&written.of_runs, kept.as_ref().ok().copied());
        if let Err(why) = kept {
            (0..written.over).for_each(|_| self.room.count_loss(Loss::NotKept));
            self.why = Some(why);
        }
    }

    /// Tells of all losses so far, if there are more than were told of.
    fn tell_losses(&mut self) {
        let words = self.notice();
        if words != self.told
            && let Some(words) = &words
        {
            // Both are told once, or not at all: next time they are not the reason.
            let of_spool = self.spool.why();
            let why = self.why.take().or_else(|| of_spool.map(|why| format!("spool: {why}")));
            let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
            (self.tell)(&format!("{words}{why}"));
            let data = serde_json::json!({ "words": words });
            self.notices.tell(Notice { name: NOTICE, session: String::new(), data });
            self.told_at = Some(Instant::now());
        }
        self.told = words;
    }
}

fn ended(seen: &Seen) -> Option<&Arc<Sent>> {
    match seen {
        Seen::Ended(sent, ..) => Some(sent),
        Seen::Sent(_) => None,
    }
}

#[cfg(test)]
mod tests;
