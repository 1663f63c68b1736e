//! What goes over connections that no longer speak HTTP, counted.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

/// The ways of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the upstream.
    Up,
    /// From the upstream to the client.
    Down,
}

impl Way {
    /// Both.
    pub const ALL: [Way; 2] = [Way::Up, Way::Down];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Up => "up",
            Way::Down => "down",
        }
    }
}

/// What went each way.
pub type BothWays = [Went; Way::ALL.len()];

/// What went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Went {
    /// Bytes.
    pub bytes: u64,
    /// Messages, as far as they could be told apart.
    pub messages: u64,
    /// Messages of which nothing is recorded but that they were there.
    pub unread: u64,
}

impl AddAssign for Went {
    fn add_assign(&mut self, more: Went) {
        self.bytes += more.bytes;
        self.messages += more.messages;
        self.unread += more.unread;
    }
}

#[derive(Debug, Default)]
struct Tally {
    bytes: AtomicU64,
    messages: AtomicU64,
    unread: AtomicU64,
}

/// All of them since the process began.
#[derive(Debug, Default)]
pub struct Sockets {
    opened: AtomicU64,
    closed: AtomicU64,
    ways: [Tally; Way::ALL.len()],
}

impl Sockets {
    /// How many there were.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// How many are open.
    pub fn open(&self) -> u64 {
        self.opened().saturating_sub(self.closed.load(Ordering::Relaxed))
    }

    /// What went one way.
    pub fn went(&self, way: Way) -> Went {
        let Tally { bytes, messages, unread } = &self.ways[way as usize];
        let [bytes, messages, unread] = [bytes, messages, unread].map(|count| count.load(Ordering::Relaxed));
        Went { bytes, messages, unread }
    }

    pub(crate) fn count_opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, way: Way, more: Went) {
        let Tally { bytes, messages, unread } = &self.ways[way as usize];
        for (count, more) in [(bytes, more.bytes), (messages, more.messages), (unread, more.unread)] {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }
}
