//! Telling frames from damage in a segment.
//!
//! In: a segment's file and how far it may reach. Out: where its frames lie, and what is damaged. Never here: writing.

use super::report::{Damage, DamageKind};
use super::segment::{
    FRAME_HEAD_BYTES, FrameHead, SEGMENT_HEAD_BYTES, SegmentName, VERSION, body_sum, segment_version,
};
use crate::LogError;
use crate::files::Reading;

/// How much is looked at at a time in search of the next frame behind damage.
const SEARCH_BYTES: usize = 1 << 20;

/// A frame and where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) offset: u64,
    pub(crate) head: FrameHead,
}

/// What a walk through a segment found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) frames: Vec<Placed>,
    pub(crate) damages: Vec<Damage>,
    /// Length of the file.
    pub(crate) size: u64,
    /// Where the last whole frame ends.
    pub(crate) sound_bytes: u64,
    /// The position behind its last record.
    pub(crate) end: u64,
}

/// Whether bodies are looked at, too, or only heads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    Heads,
    Bodies,
}

/// Walks through a segment whose records end before `limit`, where the next segment begins. A frame that reaches beyond was never
/// acknowledged: writing went on in the next segment after it had failed in this one.
pub(crate) fn walk(
    file: &mut dyn Reading,
    name: &SegmentName,
    limit: u64,
    care: Care,
) -> Result<Walked, LogError> {
    let io = |source| LogError::Io { doing: "read", name: name.show(), source };
    let size = file.size().map_err(io)?;
    let mut walked = Walked { size, end: name.first, ..Walked::default() };
    let mut head = [0; SEGMENT_HEAD_BYTES];
    let whole_head = size >= SEGMENT_HEAD_BYTES as u64;
    if whole_head {
        file.read_at(0, &mut head).map_err(io)?;
        match segment_version(&head) {
            Some(version) if version > VERSION => {
                return Err(LogError::TooNew { name: name.show(), version, known: VERSION });
            }
            Some(_) => walked.sound_bytes = SEGMENT_HEAD_BYTES as u64,
            None => walked.note(name, DamageKind::Head, 0, SEGMENT_HEAD_BYTES as u64, name.first),
        }
    }
    let mut offset = size.min(SEGMENT_HEAD_BYTES as u64);
    while offset < size {
        let found = frame_at(file, name.salt, offset, size, care).map_err(io)?;
        let (next, placed) = match found {
            Some(head) => (offset + head.frame_bytes(), Some(Placed { offset, head })),
            None => (next_frame(file, name.salt, offset, size, care).map_err(io)?, None),
        };
        if let Some(placed) =
            placed.filter(|placed| placed.head.end() <= limit && placed.head.first >= walked.end)
        {
            walked.settle(placed.head.first);
            walked.end = placed.head.end();
            walked.sound_bytes = next;
            walked.frames.push(placed);
        } else if placed.is_none() && next < size {
            walked.note(name, DamageKind::Frame, offset, next - offset, walked.end);
        } else if placed.is_none() && walked.end < limit {
            walked.note(name, DamageKind::Tail, offset, size - offset, walked.end);
        }
        offset = next;
    }
    // A beginning that failed, and after which writing went on elsewhere, is nothing to speak of.
    if !whole_head && size > 0 && name.first < limit {
        walked.note(name, DamageKind::Tail, 0, size, name.first);
    }
    // The next segment says where this one ended; what is missing up to there was acknowledged.
    if limit < u64::MAX {
        walked.settle(limit);
        if walked.end < limit && walked.damages.last().is_none_or(|last| last.positions.end < limit) {
            walked.note(name, DamageKind::Missing, size, 0, walked.end);
            walked.settle(limit);
        }
    }
    Ok(walked)
}

impl Walked {
    fn note(&mut self, name: &SegmentName, kind: DamageKind, offset: u64, bytes: u64, first: u64) {
        self.damages.push(Damage { segment: name.show(), kind, offset, bytes, positions: first..first });
    }

    /// The next sound frame tells which records the damage before it took.
    fn settle(&mut self, first: u64) {
        let open = self.damages.iter_mut().filter(|damage| damage.positions.start == self.end);
        open.filter(|damage| damage.kind != DamageKind::Head).for_each(|damage| damage.positions.end = first);
    }
}

/// The sound frame at that offset, if there is one.
fn frame_at(
    file: &mut dyn Reading,
    salt: u64,
    offset: u64,
    size: u64,
    care: Care,
) -> std::io::Result<Option<FrameHead>> {
    let mut head = [0; FRAME_HEAD_BYTES];
    if size - offset < FRAME_HEAD_BYTES as u64 {
        return Ok(None);
    }
    file.read_at(offset, &mut head)?;
    let Some(head) = FrameHead::read(&head, salt).filter(|head| head.frame_bytes() <= size - offset) else {
        return Ok(None);
    };
    if care == Care::Bodies {
        let mut body = vec![0; head.body_bytes as usize];
        file.read_at(offset + FRAME_HEAD_BYTES as u64, &mut body)?;
        if body_sum(&body, salt) != head.body_sum {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Where the next sound frame behind that offset begins; the end of the file when there is none.
fn next_frame(file: &mut dyn Reading, salt: u64, offset: u64, size: u64, care: Care) -> std::io::Result<u64> {
    let mut start = offset + 1;
    while size.saturating_sub(start) >= FRAME_HEAD_BYTES as u64 {
        let wanted = (size - start).min(SEARCH_BYTES as u64);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(SEARCH_BYTES)];
        file.read_at(start, &mut bytes)?;
        let mut searched = 0;
        while let Some(at) = FrameHead::find(&bytes[searched..], salt) {
            let place = start + (searched + at) as u64;
            if frame_at(file, salt, place, size, care)?.is_some() {
                return Ok(place);
            }
            searched += at + 1;
        }
        // A head may lie across the end of what was looked at.
        start += (bytes.len() - (FRAME_HEAD_BYTES - 1)) as u64;
    }
    Ok(size)
}
