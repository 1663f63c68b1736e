//! Records that are not wanted any more.
//!
//! In: positions. Out: which of them are dropped; on the disk, a small file beside the segments. A dropped record is not given back by
//! anything from then on; its bytes go when its segment does, or when that is compacted. Positions of other records stay as they are.

use crate::LogError;
use crate::bytes::{Taker, put_number};
use crate::files::{Files, append_all};
use std::io;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"dropped\n";
const NAME_START: &str = "dropped-";
const NAME_END: &str = ".bin";

/// Dropped positions: ranges in order that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    ranges: Vec<Range<u64>>,
    /// Of the file they are in; the next one has the next.
    number: u64,
}

impl Dropped {
    pub(crate) fn contains(&self, position: u64) -> bool {
        self.kept_from(position) != position
    }

    /// The first position from that on which is not dropped.
    pub(crate) fn kept_from(&self, position: u64) -> u64 {
        let n = self.ranges.partition_point(|range| range.end <= position);
        self.ranges.get(n).filter(|range| range.start <= position).map_or(position, |range| range.end)
    }

    /// Whether all of them are dropped.
    pub(crate) fn covers(&self, positions: &Range<u64>) -> bool {
        positions.is_empty() || self.kept_from(positions.start) >= positions.end
    }

    /// How many of them are dropped.
    pub(crate) fn count(&self, positions: &Range<u64>) -> u64 {
        let within = |range: &Range<u64>| {
            range.end.min(positions.end).saturating_sub(range.start.max(positions.start))
        };
        self.ranges.iter().map(within).sum()
    }

    /// The position behind the last dropped one.
    pub(crate) fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    /// These and those; without what lies before `start`, which is gone altogether. The last of them stays: no position before its end is
    /// given out again.
    pub(crate) fn with(&self, positions: &[u64], start: u64) -> Dropped {
        let mut ranges: Vec<Range<u64>> = positions.iter().map(|position| *position..position + 1).collect();
        ranges.extend(self.ranges.iter().cloned());
        let end = ranges.iter().map(|range| range.end).max();
        ranges.retain(|range| range.end > start || Some(range.end) == end);
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Dropped { ranges: merged, number: self.number + 1 }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put_number(&mut bytes, self.ranges.len() as u64);
        let mut last = 0;
        for range in &self.ranges {
            put_number(&mut bytes, range.start - last);
            put_number(&mut bytes, range.end - range.start);
            last = range.end;
        }
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8], number: u64) -> Option<Dropped> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        if xxh3_64(content).to_le_bytes() != sum {
            return None;
        }
        let mut taker = Taker::new(content);
        if taker.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let count = taker.length().filter(|count| *count <= taker.left())?;
        let mut last = 0_u64;
        let ranges: Option<Vec<Range<u64>>> = (0..count)
            .map(|_| {
                let start = last.checked_add(taker.number()?)?;
                last = start.checked_add(taker.number()?)?;
                Some(start..last)
            })
            .collect();
        Some(Dropped { ranges: ranges?, number })
    }

    /// Writes them beside the segments; they are on the disk when this returns.
    pub(crate) fn save(&self, files: &dyn Files) -> Result<(), LogError> {
        let name = file_name(self.number);
        let failed = |source| LogError::Io { doing: "write", name: name.clone(), source };
        let written = files.create(&name).and_then(|mut file| {
            append_all(&mut *file, &self.bytes())?;
            file.sync()?;
            files.sync_folder()
        });
        if written.is_err() {
            drop(files.remove(&name));
        }
        written.map_err(failed)?;
        if let Some(before) = self.number.checked_sub(1) {
            // Older ones are passed over; what is left behind is removed at the next start.
            drop(files.remove(&file_name(before)));
        }
        Ok(())
    }

    /// The newest whole file of them. Others are removed, and damage is told of.
    pub(crate) fn open(files: &dyn Files, names: &[String], notes: &mut Vec<String>) -> io::Result<Dropped> {
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name)).collect();
        numbers.sort_unstable();
        let mut found: Option<Dropped> = None;
        for number in numbers.into_iter().rev() {
            let name = file_name(number);
            if found.is_none() {
                found = Dropped::parse(&read(files, &name)?, number);
                if found.is_some() {
                    continue;
                }
                notes.push(format!("{name}: damaged; records that were deleted may be back"));
            }
            drop(files.remove(&name));
        }
        Ok(found.unwrap_or_default())
    }
}

fn file_name(number: u64) -> String {
    format!("{NAME_START}{number:010}{NAME_END}")
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(NAME_START)?.strip_suffix(NAME_END)?.parse().ok()
}

fn read(files: &dyn Files, name: &str) -> io::Result<Vec<u8>> {
    let mut file = files.open(name)?;
    let size = usize::try_from(file.size()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; size];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::Dropped;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(first in proptest::collection::vec(0..60_u64, 0..40), second in proptest::collection::vec(0..60_u64, 0..40)) {
            let dropped = Dropped::default().with(&first, 0).with(&second, 0);
            let all: BTreeSet<u64> = first.into_iter().chain(second).collect();
            for position in 0..70 {
                prop_assert_eq!(dropped.contains(position), all.contains(&position));
                let kept = (position..u64::MAX).find(|position| !all.contains(position)).unwrap();
                prop_assert_eq!(dropped.kept_from(position), kept);
                prop_assert_eq!(dropped.count(&(5..position)), all.range(5..position.max(5)).count() as u64);
            }
            prop_assert_eq!(Dropped::parse(&dropped.bytes(), 2), Some(dropped.clone()));
            prop_assert_eq!(dropped.end(), all.last().map_or(0, |last| last + 1));
            let mut torn = dropped.bytes();
            torn.pop();
            prop_assert_eq!(Dropped::parse(&torn, 2), None);
        }
    }
}
