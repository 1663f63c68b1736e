//! What recovery has to say.

use std::fmt;
use std::ops::Range;

/// What sort of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The last write was cut off, as by a crash. It was not acknowledged.
    Tail,
    /// Bytes between sound frames are not what was written.
    Frame,
    /// The first bytes of a segment are not what was written; its frames are read all the same.
    Head,
    /// Records that were written are not there at all.
    Missing,
    /// A record needs bytes that were in a damaged frame.
    Record,
}

/// Something in the log that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub segment: String,
    /// What sort.
    pub kind: DamageKind,
    /// Where it begins in the file.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The records it took; empty when none were acknowledged.
    pub positions: Range<u64>,
}

impl Damage {
    /// Whether acknowledged records are gone.
    pub fn is_loss(&self) -> bool {
        !self.positions.is_empty()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { segment, kind, offset, bytes, positions } = self;
        match kind {
            DamageKind::Tail => {
                write!(
                    f,
                    "{segment}: the last write was cut off; {bytes} bytes at {offset} hold no whole frame"
                )?;
            }
            DamageKind::Frame => write!(f, "{segment}: {bytes} bytes at {offset} are damaged")?,
            DamageKind::Head => {
                write!(f, "{segment}: its first {bytes} bytes are damaged; its frames are not")?;
            }
            DamageKind::Missing => write!(f, "{segment}: records are not there")?,
            DamageKind::Record => write!(f, "{segment}: needs bytes of a damaged frame")?,
        }
        match (positions.is_empty(), positions.end.saturating_sub(positions.start)) {
            (true, _) => write!(f, "; no acknowledged record is in them"),
            (false, 1) => write!(f, "; record {} is lost", positions.start),
            (false, count) => {
                write!(f, "; {count} records from {} to {} are lost", positions.start, positions.end - 1)
            }
        }
    }
}

/// What opening the log found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// What was not as it should be.
    pub damages: Vec<Damage>,
    /// Files to which bytes were moved that belong to no frame.
    pub kept_aside: Vec<String>,
    /// What should have been mended and could not be; the log works all the same.
    pub left_as_is: Vec<String>,
}

impl Recovery {
    /// All of it in plain words, a line each.
    pub fn notices(&self) -> Vec<String> {
        let damages = self.damages.iter().map(ToString::to_string);
        let aside = self.kept_aside.iter();
        let aside = aside.map(|file| format!("bytes that belong to no record were put aside in {file}"));
        damages.chain(self.left_as_is.iter().cloned()).chain(aside).collect()
    }

    /// Whether everything was as it should be.
    pub fn is_clean(&self) -> bool {
        *self == Recovery::default()
    }
}
