//! Streams that come in parts: files that grow, and files that were written anew.
//!
//! In: the parts of a file in the log. Out: its records. A part that begins at 0 begins the file anew: of a file of lines the earlier version
//! is kept as a stream beside it, because records in it may be nowhere else and copies are recognised; of any other file only the last
//! version counts.

use super::decode::Decoded;
use std::io::{Read, Seek, SeekFrom};
use unspool_formats::{Decoder, Detail, Framing, SNIFF_BYTES, best};
use unspool_model::Batch;
use unspool_store::{Entry, Log, LogError, StreamPart};

/// The versions of a file, each with its parts in order.
pub(crate) fn versions(parts: &[StreamPart]) -> Vec<Vec<StreamPart>> {
    let mut versions: Vec<Vec<StreamPart>> = Vec::new();
    for part in parts {
        match versions.last_mut() {
            Some(version) if part.offset > 0 => version.push(*part),
            _ => versions.push(vec![*part]),
        }
    }
    versions
}

/// The name that records know a version by; the last one has the file's own.
pub(crate) fn version_name(path: &str, number: usize, count: usize) -> String {
    if number + 1 == count { path.into() } else { format!("{path} (version {})", number + 1) }
}

/// The path in the name of a version.
pub(crate) fn path_of(name: &str) -> &str {
    let numbered = name.strip_suffix(')').and_then(|name| name.rsplit_once(" (version "));
    numbered.filter(|(_, number)| number.parse::<usize>().is_ok()).map_or(name, |(path, _)| path)
}

/// All records of a file; `None` when no format knows it. What is damaged in the log is passed over, and said.
pub(crate) fn read(
    log: &Log,
    path: &str,
    parts: &[StreamPart],
    damaged: &mut Vec<u64>,
) -> Result<Option<Decoded>, LogError> {
    let versions = versions(parts);
    let mut batch = Batch::default();
    let mut known = false;
    for (number, version) in versions.iter().enumerate() {
        let mut bytes = Version { log, parts: version.iter(), seen: 0 };
        let Some(first) = bytes.next(damaged)? else { continue };
        let Some((format, sniff)) = best(path, &first[..first.len().min(SNIFF_BYTES)]) else { continue };
        if sniff.framing != Framing::Lines && number + 1 < versions.len() {
            continue;
        }
        known = true;
        let stream = batch.streams.len();
        let mut decoder = Decoder::new(&mut batch, format, sniff, path, Detail::Full);
        decoder.push(&first);
        while let Some(part) = bytes.next(damaged)? {
            decoder.push(&part);
        }
        decoder.finish();
        let name = batch.text.intern(&version_name(path, number, versions.len()));
        batch.streams.iter_mut().skip(stream).for_each(|row| row.name = name);
    }
    Ok(known.then(|| Decoded { batch, ..Decoded::default() }))
}

/// Whether a file has other bytes than a version of it, or fewer, at the place of any part that can be read.
pub(crate) fn differs(
    log: &Log,
    parts: &[StreamPart],
    file: &mut (impl Read + Seek),
) -> Result<bool, LogError> {
    let mut bytes = Vec::new();
    for part in parts {
        let Some(entry) = sound(log, part.position, &mut Vec::new())? else { continue };
        bytes.resize(entry.bytes.len(), 0);
        let read = file.seek(SeekFrom::Start(part.offset)).and_then(|_| file.read_exact(&mut bytes));
        if read.is_err() || bytes != entry.bytes {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The bytes of one version, part by part, each byte once.
pub(crate) struct Version<'a> {
    pub(crate) log: &'a Log,
    pub(crate) parts: std::slice::Iter<'a, StreamPart>,
    pub(crate) seen: u64,
}

impl Version<'_> {
    /// The next part. A damaged one is passed over and named; a disk that cannot be read is an error.
    pub(crate) fn next(&mut self, damaged: &mut Vec<u64>) -> Result<Option<Vec<u8>>, LogError> {
        for part in self.parts.by_ref() {
            let Some(mut entry) = sound(self.log, part.position, damaged)? else { continue };
            // After a crash a part may have been read from its file twice.
            let known = usize::try_from(self.seen.saturating_sub(part.offset)).unwrap_or(usize::MAX);
            let end = part.offset + entry.bytes.len() as u64;
            if known < entry.bytes.len() {
                self.seen = self.seen.max(end);
                return Ok(Some(if known == 0 { entry.bytes } else { entry.bytes.split_off(known) }));
            }
        }
        Ok(None)
    }

    /// All of it.
    pub(crate) fn whole(mut self) -> Result<Vec<u8>, LogError> {
        let mut damaged = Vec::new();
        let before_last = self.parts.as_slice().last().map_or(0, |last| last.offset);
        // Mostly there is one part, which is not copied.
        let mut whole = self.next(&mut damaged)?.unwrap_or_default();
        // What is damaged may say anything; then it grows as it comes.
        let _ = whole.try_reserve_exact(usize::try_from(before_last).unwrap_or(0));
        while let Some(mut part) = self.next(&mut damaged)? {
            whole.append(&mut part);
        }
        Ok(whole)
    }
}

/// An entry of the log; none where it was dropped, or where it is damaged, which is noted.
pub(crate) fn sound(log: &Log, position: u64, damaged: &mut Vec<u64>) -> Result<Option<Entry>, LogError> {
    match log.read(position) {
        Err(LogError::Damaged { .. }) => {
            damaged.push(position);
            Ok(None)
        }
        other => other,
    }
}
