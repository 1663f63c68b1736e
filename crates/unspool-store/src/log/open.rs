//! Opening the log: what the last writer left is looked at, mended and reported.
//!
//! In: a folder of files. Out: a log that can be appended to, and a report. Only the last segment can have been written when the
//! machine stopped, so only it is read; the others are looked at when they are read, or by `check`.

use super::append::Queue;
use super::compact::REWRITE;
use super::dropped::Dropped;
use super::read::Cache;
use super::recover::{Care, walk};
use super::report::{Damage, DamageKind};
use super::segment::{SEGMENT_HEAD_BYTES, SegmentName};
use super::write::Writer;
use super::{Log, LogOptions, Recovery, Segment};
use crate::LogError;
use crate::files::{Files, append_all};
use std::io;
use std::sync::{Arc, Condvar, Mutex};

/// How much of a cut-off tail is copied at a time.
const COPY_BYTES: u64 = 1 << 20;

impl Log {
    /// Opens the log in a folder; an empty folder is an empty log. New records always go into a new segment, so nothing is ever
    /// written behind bytes of which it is not known how they got there.
    pub fn open(files: Arc<dyn Files>, options: LogOptions) -> Result<(Log, Recovery), LogError> {
        let listed = files.names().map_err(|source| io_error("list", "the folder", source))?;
        let mut names: Vec<SegmentName> = listed.iter().filter_map(|name| SegmentName::parse(name)).collect();
        names.sort_unstable();
        let mut recovery = Recovery::default();
        let dropped = Dropped::open(&*files, &listed, &mut recovery.left_as_is)
            .map_err(|source| io_error("read", "the list of dropped records", source))?;
        if listed.iter().any(|name| name == REWRITE) {
            // A segment that was being written anew; the old one is there.
            drop(files.remove(REWRITE));
        }
        let next_sequence = names.last().map_or(0, |last| last.sequence + 1);
        let mut segments = Vec::new();
        for name in &names {
            let bytes = files.open(&name.show()).and_then(|mut file| file.size());
            let bytes = bytes.map_err(|source| io_error("read", &name.show(), source))?;
            segments.push(Segment { name: name.clone(), frames: None, bytes });
        }
        let (mut end, mut limit) = (0, u64::MAX);
        while let Some(last) = segments.last_mut() {
            end = mend(&*files, last, limit, &mut recovery)?;
            let holds_nothing = last.frames.as_ref().is_some_and(|frames| frames.is_empty());
            if !holds_nothing || last.bytes > SEGMENT_HEAD_BYTES as u64 {
                break;
            }
            // Writing stopped before its first frame was whole.
            let empty = last.name.show();
            if let Err(error) = files.remove(&empty) {
                recovery.left_as_is.push(format!("{empty}: {error}"));
                break;
            }
            limit = last.name.first;
            segments.pop();
        }
        // What was dropped may be missing.
        recovery.damages.retain(|damage| !damage.is_loss() || !dropped.covers(&damage.positions));
        // The last records may have been dropped and are gone: their positions are not given out again.
        end = end.max(dropped.end());
        if end < options.next_at_least {
            note_missing(&segments, end, options.next_at_least, &mut recovery);
            end = options.next_at_least;
        }
        let log = Log {
            files,
            options,
            segments: Mutex::new(segments),
            queue: Mutex::new(Queue::from(end)),
            answered: Condvar::new(),
            writer: Mutex::new(Writer::new(next_sequence)),
            cache: Mutex::new(Cache::default()),
            dropped: Mutex::new(Arc::new(dropped)),
        };
        Ok((log, recovery))
    }
}

/// Somebody has seen records that the log does not hold.
fn note_missing(segments: &[Segment], end: u64, seen: u64, recovery: &mut Recovery) {
    let torn = recovery.damages.iter_mut().find(|damage| damage.kind == DamageKind::Tail);
    if let Some(tail) = torn {
        tail.positions = end..seen;
        return;
    }
    let last = segments.last();
    recovery.damages.push(Damage {
        segment: last.map_or_else(|| "the log".into(), |segment| segment.name.show()),
        kind: DamageKind::Missing,
        offset: last.map_or(0, |segment| segment.bytes),
        bytes: 0,
        positions: end..seen,
    });
}

/// Looks at the last segment and cuts off what is no whole frame. Gives the position behind its last record.
fn mend(
    files: &dyn Files,
    segment: &mut Segment,
    limit: u64,
    recovery: &mut Recovery,
) -> Result<u64, LogError> {
    let name = segment.name.show();
    let mut file = files.open(&name).map_err(|source| io_error("read", &name, source))?;
    let walked = walk(&mut *file, &segment.name, limit, Care::Bodies)?;
    let tail = walked.size - walked.sound_bytes;
    let kept = if tail > 0 {
        let kept = keep_aside(files, &name, &mut *file, walked.sound_bytes, tail);
        kept.map(|aside| recovery.kept_aside.push(aside))
    } else {
        Ok(())
    };
    // Also where there is nothing to cut: what a killed process had written may not be on the disk yet.
    match kept.and_then(|()| files.truncate(&name, walked.sound_bytes)) {
        Ok(()) => segment.bytes = walked.sound_bytes,
        Err(error) => recovery.left_as_is.push(format!("{name}: {error}")),
    }
    recovery.damages.extend(walked.damages);
    segment.frames = Some(Arc::new(walked.frames));
    Ok(walked.end)
}

/// Copies bytes that belong to no frame into a file of their own, so that cutting them off loses nothing.
fn keep_aside(
    files: &dyn Files,
    name: &str,
    file: &mut dyn crate::files::Reading,
    offset: u64,
    bytes: u64,
) -> io::Result<String> {
    let aside = format!("aside-{}-{offset}.bin", name.trim_end_matches(".log"));
    // An earlier attempt may have left the file half-written.
    if files.names()?.contains(&aside) {
        files.remove(&aside)?;
    }
    let mut copy = files.create(&aside)?;
    let mut copied = 0;
    while copied < bytes {
        let mut some = vec![0; usize::try_from(COPY_BYTES.min(bytes - copied)).unwrap_or_default()];
        file.read_at(offset + copied, &mut some)?;
        append_all(&mut *copy, &some)?;
        copied += some.len() as u64;
    }
    copy.sync()?;
    files.sync_folder()?;
    Ok(aside)
}

fn io_error(doing: &'static str, name: &str, source: io::Error) -> LogError {
    LogError::Io { doing, name: name.into(), source }
}
