//! How much may be held for whoever records, and what was lost of it.

use crate::sockets::Sockets;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Why an exchange was not recorded, or not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// More than `max_recording_bytes` were held.
    NoRoom,
    /// A body of more than `max_recorded_body_bytes`.
    TooLarge,
    /// Whoever records could not keep it.
    NotKept,
    /// Messages over its socket were not read.
    Unread,
    /// Its caller proved itself with more than `max_secrets`.
    ManySecrets,
    /// Its caller proved itself with more than `max_secret_bytes`.
    LongSecrets,
}

impl Loss {
    /// All there are.
    pub const ALL: [Loss; 6] =
        [Loss::NoRoom, Loss::TooLarge, Loss::NotKept, Loss::Unread, Loss::ManySecrets, Loss::LongSecrets];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Loss::NoRoom => "max_recording_bytes",
            Loss::TooLarge => "max_recorded_body_bytes",
            Loss::NotKept => "not_kept",
            Loss::Unread => "unread_socket",
            Loss::ManySecrets => "max_secrets",
            Loss::LongSecrets => "max_secret_bytes",
        }
    }
}

/// Bytes held for whoever records, in all exchanges together, and a tally of losses.
#[derive(Debug)]
pub struct Room {
    /// `max_recording_bytes`.
    pub max_bytes: u64,
    /// `max_recorded_body_bytes`.
    pub max_body_bytes: u64,
    /// What went over connections that no longer spoke HTTP.
    pub sockets: Sockets,
    held: AtomicU64,
    exchanges: AtomicU64,
    lost: [AtomicU64; Loss::ALL.len()],
    /// When the last was lost, in milliseconds since 1970.
    lost_ms: AtomicU64,
}

impl Room {
    /// So much room.
    pub fn new(max_bytes: u64, max_body_bytes: u64) -> Arc<Room> {
        let (sockets, held, exchanges, lost, lost_ms) = Default::default();
        Arc::new(Room { max_bytes, max_body_bytes, sockets, held, exchanges, lost, lost_ms })
    }

    /// Bytes held now.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Exchanges so far.
    pub fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::Relaxed)
    }

    pub(crate) fn count_exchange(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts an exchange that is not recorded, or not whole.
    pub fn count_loss(&self, loss: Loss) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.lost_ms.fetch_max(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.lost[loss as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// When the last was lost, in milliseconds since 1970, if any was.
    pub fn last_lost_ms(&self) -> Option<u64> {
        Some(self.lost_ms.load(Ordering::Relaxed)).filter(|ms| *ms > 0)
    }

    /// Exchanges lost for a reason.
    pub fn lost(&self, loss: Loss) -> u64 {
        self.lost[loss as usize].load(Ordering::Relaxed)
    }

    /// Exchanges lost for any reason.
    pub fn lost_in_all(&self) -> u64 {
        Loss::ALL.iter().map(|loss| self.lost(*loss)).sum()
    }

    fn take(&self, bytes: u64) -> bool {
        let fits = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= self.max_bytes);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Room>,
    bytes: u64,
}

impl Held {
    pub(crate) fn none(room: &Arc<Room>) -> Held {
        Held { room: Arc::clone(room), bytes: 0 }
    }

    /// Takes more room; false when there is not so much.
    pub(crate) fn more(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let fits = self.room.take(bytes);
        self.bytes += if fits { bytes } else { 0 };
        fits
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, Room};

    #[test]
    fn room_is_given_back_and_never_overdrawn() {
        let room = Room::new(10, 10);
        let mut one = Held::none(&room);
        let mut two = Held::none(&room);
        assert!(one.more(6) && !two.more(5) && two.more(4));
        assert_eq!(room.held(), 10);
        drop(one);
        assert!(two.more(6) && !two.more(1));
        drop(two);
        assert_eq!(room.held(), 0);
    }
}
