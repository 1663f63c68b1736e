//! Numbers that only ever grow: over restarts, and whatever the clock does.
//!
//! In: the data folder. Out: numbers greater than all that any process before has given out. The file says how far they may have come; it is
//! written before they do. It also says what the clock said, so that one that goes back is noticed.

use super::held;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use unspool_model::Timestamp;
use unspool_store::files::{DiskFiles, Files};

const FILE: &str = "numbers";
const NEW: &str = "numbers.new";
/// So many are set aside at a time. So many also belong to a second of the clock, with which numbers begin: where the file is gone they
/// grow, too, unless the clock went back.
const AT_A_TIME: u64 = 1 << 20;
/// A clock that stands so much before what is stored went back.
const LEAST_MS: i64 = 60_000;

pub(crate) struct Numbers {
    folder: PathBuf,
    now: fn() -> Timestamp,
    first: u64,
    /// The file says that all before this may have been given out.
    set_aside: AtomicU64,
    writing: Mutex<()>,
}

impl Numbers {
    /// Those of a folder, from here on; and what the clock said when some were last set aside.
    pub(crate) fn open(folder: &Path, now: fn() -> Timestamp) -> (Numbers, Timestamp) {
        // A file that cannot be read is none: then the clock is believed.
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        let mut words = text.split_whitespace();
        let given: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let clock = words.next().and_then(|word| word.parse().ok());
        let first = given.max(of_second(now()));
        let set_aside = AtomicU64::new(first);
        let numbers = Numbers { folder: folder.into(), now, first, set_aside, writing: Mutex::default() };
        numbers.used(first);
        (numbers, clock.map_or(Timestamp::NONE, Timestamp::from_ns))
    }

    /// Where those of this process begin. A program that reads numbers as doubles reads them exactly.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Numbers up to this one are used; more are set aside before they run out.
    pub(crate) fn used(&self, number: u64) {
        let is_enough = || number.saturating_add(AT_A_TIME / 2) <= self.set_aside.load(Ordering::Acquire);
        if is_enough() {
            return;
        }
        let _one = held(&self.writing);
        let upto = number.saturating_add(AT_A_TIME);
        // What the disk refuses now is tried again with the next number.
        if !is_enough() && self.write(upto).is_ok() {
            self.set_aside.store(upto, Ordering::Release);
        }
    }

    fn write(&self, upto: u64) -> std::io::Result<()> {
        let files = DiskFiles::new(&self.folder)?;
        // An earlier attempt may have left it half-written.
        drop(files.remove(NEW));
        let mut file = files.create(NEW)?;
        let clock = (self.now)().ns().map(|ns| ns.to_string()).unwrap_or_default();
        let text = format!("{upto} {clock}\n");
        if file.append(text.as_bytes())? < text.len() {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        file.sync()?;
        drop(file);
        files.rename(NEW, FILE)?;
        files.sync_folder()
    }
}

fn of_second(now: Timestamp) -> u64 {
    let seconds = now.ms_since(Timestamp::from_ns(0)).unwrap_or(0) / 1000;
    u64::try_from(seconds).unwrap_or(0).saturating_mul(AT_A_TIME)
}

/// What to say of a clock that stands before what it said earlier.
pub(crate) fn clock_went_back(now: Timestamp, known: Timestamp) -> Option<String> {
    let behind = known.ms_since(now).filter(|behind| *behind >= LEAST_MS)?;
    let (days, hours, minutes) = (behind / 86_400_000, behind / 3_600_000 % 24, behind / 60_000 % 60);
    Some(format!(
        "the clock went back: it stands at {now}, {days} days, {hours} hours and {minutes} minutes before what is stored ({known})"
    ))
}

#[cfg(test)]
mod tests {
    use super::{AT_A_TIME, Numbers, clock_went_back, of_second};
    use unspool_model::Timestamp;

    fn late() -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000)
    }

    fn early() -> Timestamp {
        Timestamp::from_ms(1_700_000_000_000)
    }

    #[test]
    fn numbers_grow_whatever_the_clock_does() {
        let folder = tempfile::tempdir().unwrap();
        let mut last = 0;
        for now in [late, late, early, late] {
            let (numbers, _) = Numbers::open(folder.path(), now);
            assert!(numbers.first() > last, "{} {last}", numbers.first());
            // More than are set aside at a time.
            for n in 0..30 {
                last = numbers.first() + n * (AT_A_TIME / 8);
                numbers.used(last);
            }
        }
        assert!(last < of_second(late()) + 100 * AT_A_TIME && last < 1 << 53);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("numbers"), b"\xff\x00").unwrap();
        let (numbers, clock) = Numbers::open(folder.path(), late);
        assert_eq!((numbers.first(), clock), (of_second(late()), Timestamp::NONE));
    }

    #[test]
    fn a_clock_that_went_back_is_told_of_and_one_that_did_not_is_not() {
        let (early, late) = (early(), late());
        assert_eq!(clock_went_back(late, early), None);
        assert_eq!(clock_went_back(late.plus_ms(-30_000), late), None);
        assert_eq!(clock_went_back(Timestamp::NONE, late), None);
        assert_eq!(clock_went_back(late, Timestamp::NONE), None);
        let said = clock_went_back(late.plus_ms(-864_000_000), late).unwrap();
        assert!(said.contains("10 days, 0 hours"), "{said}");
    }
}
