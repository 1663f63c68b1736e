//! How far a file was read, and whether it is still the file that was read.
//!
//! In: an open file and what was remembered of it. Out: a checkpoint, and a verdict. Reading all of a long file again to be sure would cost more
//! than reading what is new, so a long one is known by some of its bytes: its first, those just before the place that was reached, and
//! some between. Lines that were put in, taken out or written anew in another length move all that follow, which the last of them show.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::time::UNIX_EPOCH;
use unspool_model::Id;
use unspool_store::rows::Checkpoint;

/// The first bytes of a file by which it is known again.
const HEAD_BYTES: usize = 1024;
/// Up to here all bytes before the place that was reached are compared.
const WHOLE_BYTES: u64 = 16 << 10;
/// Behind that, so many just before it, and as many at so many places at even distances.
const SAMPLE_BYTES: u64 = 2048;
const SAMPLES: u64 = 7;

/// How far a file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) offset: u64,
    /// Hash of its first bytes, and how many those are.
    head: u64,
    head_bytes: u64,
    /// When it was changed last, as the system counts.
    changed_ns: u64,
    /// The number its file system has for it; another file of its name may be as long and of the same moment.
    number: u64,
    /// Hash of bytes before the offset; checkpoints of earlier versions have neither this nor a number.
    before: Option<u64>,
    /// The name it is kept under, where it had another when it was first read.
    pub(super) kept_as: Option<String>,
}

impl Reached {
    /// Nothing of it yet.
    pub(super) fn nothing(head: &[u8], meta: &Metadata) -> Reached {
        let head_bytes = HEAD_BYTES.min(head.len());
        Reached {
            head: hash(&head[..head_bytes]),
            head_bytes: head_bytes as u64,
            changed_ns: changed_ns(meta),
            number: number(meta),
            ..Reached::default()
        }
    }

    /// Whether a file was read to its end and left alone since, by what its file system says.
    pub(super) fn is_all_of(&self, meta: &Metadata) -> bool {
        let is_other = self.before.is_some() && self.number != number(meta);
        !is_other && self.offset == meta.len() && self.changed_ns == changed_ns(meta)
    }

    /// The same file, read up to an offset. Where the file is read from next is for the caller to say.
    pub(super) fn up_to(&self, offset: u64, file: &mut File) -> io::Result<Reached> {
        let meta = file.metadata()?;
        // It may have grown since it was first looked at.
        let changed_ns = if meta.len() == offset { changed_ns(&meta) } else { self.changed_ns };
        Ok(Reached { offset, changed_ns, before: Some(before(file, offset)?), ..self.clone() })
    }

    /// Whether a file that begins with these bytes still has what was read of it, as far as that can be told cheaply.
    pub(super) fn is_part_of(&self, head: &[u8], file: &mut File) -> io::Result<bool> {
        let known = usize::try_from(self.head_bytes).ok().and_then(|bytes| head.get(..bytes));
        if self.offset > file.metadata()?.len() || known.map(hash) != Some(self.head) {
            return Ok(false);
        }
        match self.before {
            Some(known) => Ok(before(file, self.offset)? == known),
            None => Ok(true),
        }
    }

    /// Whether a file of another name is the one that was read, by what its file system says.
    pub(super) fn is_of_number(&self, meta: &Metadata) -> bool {
        self.number() == Some(number(meta))
    }

    /// The number its file system has for it, where that is known.
    pub(super) fn number(&self) -> Option<u64> {
        Some(self.number).filter(|number| self.before.is_some() && *number != 0)
    }

    pub(super) fn checkpoint(&self, path: &str) -> Checkpoint {
        let mut numbers = vec![self.head, self.head_bytes, self.changed_ns];
        numbers.extend(self.before.iter().flat_map(|before| [*before, self.number]));
        let mut fingerprint: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        if let (Some(_), Some(name)) = (self.before, &self.kept_as) {
            fingerprint.extend_from_slice(name.as_bytes());
        }
        let offset = i64::try_from(self.offset).unwrap_or(i64::MAX);
        Checkpoint { source: path.into(), offset, fingerprint }
    }

    /// What leads from the number of the file to the name it was read by, so that it is known when it has another.
    pub(super) fn name_of_number(&self, path: &str) -> Option<Checkpoint> {
        let source = self.number().map(source_of_number)?;
        Some(Checkpoint { source, offset: 0, fingerprint: path.as_bytes().to_vec() })
    }

    pub(super) fn of(checkpoint: &Checkpoint) -> Reached {
        let number = |n: usize| {
            let bytes = checkpoint.fingerprint.get(n * 8..n * 8 + 8)?;
            bytes.try_into().ok().map(u64::from_le_bytes)
        };
        Reached {
            offset: u64::try_from(checkpoint.offset).unwrap_or(0),
            head: number(0).unwrap_or(0),
            head_bytes: number(1).unwrap_or(0),
            changed_ns: number(2).unwrap_or(0),
            before: number(3),
            number: number(4).unwrap_or(0),
            kept_as: checkpoint.fingerprint.get(NUMBERS * 8..).filter(|name| !name.is_empty()).map(text),
        }
    }
}

/// Numbers in a fingerprint; what follows them is a name.
const NUMBERS: usize = 5;

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Where it is kept which name a file had, by its number.
fn source_of_number(number: u64) -> String {
    format!("number of a file: {number}")
}

/// The same for a file that is there; none where files have no numbers.
pub(super) fn source_of(meta: &Metadata) -> Option<String> {
    Some(number(meta)).filter(|number| *number != 0).map(source_of_number)
}

/// The name in such a checkpoint.
pub(super) fn name_in(checkpoint: &Checkpoint) -> String {
    text(&checkpoint.fingerprint)
}

fn changed_ns(meta: &Metadata) -> u64 {
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    changed.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(0))
}

#[cfg(unix)]
pub(super) fn number(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
pub(super) fn number(_: &Metadata) -> u64 {
    0
}

/// Hash of bytes before an offset: of all of them, or of samples.
fn before(file: &mut File, offset: u64) -> io::Result<u64> {
    let mut bytes = Vec::new();
    let mut add = |from: u64, length: u64| {
        file.seek(SeekFrom::Start(from))?;
        Read::by_ref(file).take(length).read_to_end(&mut bytes).map(drop)
    };
    if offset <= WHOLE_BYTES {
        add(0, offset)?;
    } else {
        for n in 0..SAMPLES {
            add(offset / SAMPLES * n, SAMPLE_BYTES)?;
        }
        add(offset - SAMPLE_BYTES, SAMPLE_BYTES)?;
    }
    Ok(hash(&bytes))
}

fn hash(bytes: &[u8]) -> u64 {
    Id::of(&[bytes]).low()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    /// What is remembered of a file that was read to its end.
    fn read(bytes: &[u8]) -> Reached {
        let mut file = file(bytes);
        let meta = file.metadata().unwrap();
        let reached = Reached::nothing(bytes, &meta).up_to(bytes.len() as u64, &mut file).unwrap();
        assert!(reached.is_all_of(&meta));
        assert!(!Reached { number: 0, ..reached.clone() }.is_all_of(&meta) || cfg!(not(unix)));
        assert_eq!(Reached::of(&reached.checkpoint("a")), reached);
        reached
    }

    fn goes_on(reached: &Reached, bytes: &[u8]) -> bool {
        reached.is_part_of(bytes, &mut file(bytes)).unwrap()
    }

    fn lines(count: usize) -> Vec<u8> {
        (0..count).flat_map(|n| format!("line {n} of a file\n").into_bytes()).collect()
    }

    #[test]
    fn a_file_that_grew_is_the_same_and_one_that_was_written_anew_is_not() {
        for count in [1, 50, 300, 5_000] {
            let old = lines(count);
            let reached = read(&old);
            assert!(goes_on(&reached, &old));
            assert!(goes_on(&reached, &lines(count + 1_000)));
            let shorter = &old[..old.len() - 1];
            assert!(!goes_on(&reached, shorter), "{count}");
            // A line that became longer moves those behind it.
            let at = old.len() / 2;
            let longer = [&old[..at], b"more", &old[at..], b"and more"].concat();
            assert!(!goes_on(&reached, &longer), "{count}");
            let mut last = old.clone();
            let end = last.len();
            last[end - 2] = b'!';
            last.extend_from_slice(b"more\n");
            assert!(!goes_on(&reached, &last), "{count}");
        }
    }

    #[test]
    fn a_short_file_is_known_by_all_of_its_bytes() {
        let old = lines(600);
        let reached = read(&old);
        for at in (0..old.len()).step_by(97) {
            let mut other = old.clone();
            other[at] ^= 1;
            assert!(!goes_on(&reached, &other), "{at}");
        }
    }

    #[test]
    fn a_checkpoint_of_an_earlier_version_says_less_and_is_understood() {
        let old = lines(300);
        let mut checkpoint = read(&old).checkpoint("a");
        checkpoint.fingerprint.truncate(24);
        let reached = Reached::of(&checkpoint);
        assert!(goes_on(&reached, &lines(301)));
        assert!(!goes_on(&reached, &[b"other", &old[..]].concat()));
        assert!(!goes_on(&reached, &lines(299)));
    }
}
