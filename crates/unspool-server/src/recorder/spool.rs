//! What was written and is not kept yet: a little in memory, the rest in a file, in the order it came.
//!
//! In: what was written of exchanges. Out: the same. Whoever keeps waits for the disk, and may be behind for long; whoever writes does not wait
//! before the file is full, or cannot be written. The file has no name and is gone with the process.

use super::Written;
use super::runs::OfRun;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) struct Spool {
    state: Mutex<State>,
    changed: Condvar,
    folder: PathBuf,
    max_bytes: u64,
    /// Bytes that went into the file and are not kept yet.
    bytes: AtomicU64,
}

/// One is written while another one is kept; what comes meanwhile goes into the file, and nothing passes what is there.
#[derive(Default)]
struct State {
    at_hand: Option<Written>,
    file: Option<File>,
    in_file: VecDeque<Spooled>,
    /// Nothing goes into the file before it is empty.
    is_broken: bool,
    /// Why, until somebody was told.
    why: Option<Error>,
    is_closed: bool,
}

/// What comes out.
pub(super) enum Next {
    /// This was written.
    Written(Written),
    /// Nothing came in time.
    Nothing,
    /// Nothing more comes.
    End,
}

/// What lies in the file.
struct Spooled {
    at: u64,
    bytes: u64,
    lengths: Vec<usize>,
    over: usize,
    of_runs: Vec<OfRun>,
}

impl Spool {
    /// A spool with a file of at most so many bytes in this folder.
    pub(super) fn new(folder: &Path, max_bytes: u64) -> Spool {
        let (state, changed, bytes) = Default::default();
        Spool { state, changed, folder: folder.into(), max_bytes, bytes }
    }

    /// Bytes that went into the file and are not kept yet.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes what was written and leaves it empty; waits when neither memory nor file have room.
    pub(super) fn push(&self, written: &mut Written) {
        let mut state = self.state();
        loop {
            if state.in_file.is_empty() && state.at_hand.is_none() {
                state.at_hand = Some(std::mem::take(written));
                break;
            }
            if self.spool(&mut state, written) {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.changed.notify_all();
        written.clear();
    }

    /// The next to be kept; waits for it, no longer than that.
    pub(super) fn pop(&self, wait: Option<Duration>) -> Next {
        let mut state = self.state();
        let next = loop {
            if let Some(written) = state.at_hand.take() {
                break Next::Written(written);
            }
            if let Some(spooled) = state.in_file.pop_front() {
                break Next::Written(state.read(spooled));
            }
            if state.is_closed {
                break Next::End;
            }
            match wait {
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    let waited =
                        self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
                    state = waited.0;
                    if waited.1.timed_out() && state.at_hand.is_none() && !state.is_closed {
                        return Next::Nothing;
                    }
                }
            }
        };
        if state.in_file.is_empty() {
            (state.file, state.is_broken) = (None, false);
        }
        drop(state);
        self.changed.notify_all();
        next
    }

    /// Why something did not go into the file, since that was asked.
    pub(super) fn why(&self) -> Option<Error> {
        self.state().why.take()
    }

    /// This was kept, or never will be.
    pub(super) fn done(&self, written: &Written) {
        self.bytes.fetch_sub(written.spooled_bytes, Ordering::Relaxed);
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes it into the file, if there is room and the disk does it.
    fn spool(&self, state: &mut State, written: &Written) -> bool {
        let bytes = written.bytes.len() as u64;
        let Some(at) = state.place(bytes, self.max_bytes).filter(|_| !state.is_broken) else {
            return false;
        };
        if let Err(error) = state.write(at, &written.bytes, &self.folder) {
            (state.is_broken, state.why) = (true, Some(error));
            return false;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (lengths, of_runs) = (written.lengths.clone(), written.of_runs.clone());
        state.in_file.push_back(Spooled { at, bytes, lengths, over: written.over, of_runs });
        true
    }
}

impl State {
    /// Where so many bytes fit. What is read makes room: behind the end the file goes on at its beginning.
    fn place(&self, bytes: u64, max_bytes: u64) -> Option<u64> {
        let (Some(first), Some(last)) = (self.in_file.front(), self.in_file.back()) else {
            return (bytes <= max_bytes).then_some(0);
        };
        let end = last.at + last.bytes;
        let fits = |at: u64, until: u64| (at + bytes <= until).then_some(at);
        if last.at < first.at {
            return fits(end, first.at);
        }
        fits(end, max_bytes).or_else(|| fits(0, first.at))
    }

    fn write(&mut self, at: u64, bytes: &[u8], folder: &Path) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(folder)?),
        };
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    fn read(&mut self, Spooled { at, bytes: spooled_bytes, lengths, over, of_runs }: Spooled) -> Written {
        let read = |file: &mut File| {
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.take(spooled_bytes).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == spooled_bytes { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
        };
        let gone = || Err(ErrorKind::NotFound.into());
        let (bytes, lost) = match self.file.as_mut().map_or_else(gone, read) {
            Ok(bytes) => (bytes, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Written { bytes, lengths, over, of_runs, seen: Vec::new(), spooled_bytes, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, Spool, Written};
    use std::io::{Error, ErrorKind};
    use std::sync::Arc;
    use std::time::Duration;

    fn push(spool: &Spool, n: u8, bytes: usize) {
        let lengths = vec![bytes, 1];
        let mut written = Written { bytes: vec![n; bytes + 1], lengths, over: 2, ..Written::default() };
        spool.push(&mut written);
        assert!(written.bytes.is_empty() && written.lengths.is_empty() && written.over == 0);
    }

    fn pop(spool: &Spool) -> Option<Written> {
        match spool.pop(None) {
            Next::Written(written) => Some(written),
            _ => None,
        }
    }

    fn number(written: Option<Written>) -> Option<u8> {
        let written = written?;
        let bodies = written.bodies();
        assert!(written.lost.is_none() && written.over == 2 && bodies.len() == 2);
        assert!(bodies.iter().flatten().all(|byte| *byte == bodies[0][0]));
        Some(bodies[0][0])
    }

    /// Numbers in the order they were pushed, with pauses in which one or the other end is faster.
    #[test]
    fn everything_comes_out_in_order_whichever_end_is_faster() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path(), 1400);
        let (mut next_in, mut next_out) = (0_u8, 0_u8);
        for (pushed, popped) in [(1, 1), (5, 2), (3, 6), (7, 1), (1, 3), (2, 5), (9, 9), (1, 0), (3, 4)] {
            for _ in 0..pushed {
                push(&spool, next_in, 100 + usize::from(next_in));
                next_in += 1;
            }
            for _ in 0..popped {
                let one = pop(&spool);
                spool.done(one.as_ref().unwrap());
                assert_eq!(number(one), Some(next_out));
                next_out += 1;
            }
        }
        assert_eq!((next_in, next_out), (32, 31));
        assert_eq!(number(pop(&spool)), Some(31));
        assert!(matches!(spool.pop(Some(Duration::from_millis(1))), Next::Nothing));
        spool.close();
        assert!(pop(&spool).is_none());
    }

    #[test]
    fn bytes_count_until_they_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path(), 1000);
        push(&spool, 1, 10);
        assert_eq!(spool.bytes(), 0, "one is at hand");
        push(&spool, 2, 20);
        assert_eq!(spool.bytes(), 21);
        spool.done(&pop(&spool).unwrap());
        let second = pop(&spool).unwrap();
        assert_eq!(spool.bytes(), 21, "it is read, not kept");
        spool.done(&second);
        assert_eq!(spool.bytes(), 0);
        let left: Vec<_> = folder.path().read_dir().unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Whoever writes waits when there is no room left, and goes on when there is.
    #[test]
    fn a_full_file_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(waits(Spool::new(folder.path(), 250)).is_none());
    }

    #[test]
    fn a_disk_that_refuses_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let why = waits(Spool::new(&folder.path().join("is not there"), 1000));
        assert_eq!(why.unwrap().kind(), ErrorKind::NotFound);
    }

    /// Gives the reason that was told.
    fn waits(spool: Spool) -> Option<Error> {
        let spool = Arc::new(spool);
        let writer = {
            let spool = Arc::clone(&spool);
            std::thread::spawn(move || {
                (0..20).for_each(|n| push(&spool, n, 100));
                spool.close();
            })
        };
        std::thread::sleep(Duration::from_millis(30));
        assert!(!writer.is_finished());
        let all: Vec<u8> = std::iter::from_fn(|| number(pop(&spool))).collect();
        assert_eq!(all, (0..20).collect::<Vec<u8>>());
        writer.join().unwrap();
        spool.why()
    }
}
