//! Reads what goes over a socket, beside it: what was carried does not wait for it.

use crate::calls::{Calls, Handshake};
use crate::frames::{Frames, Packing};
use crate::room::Loss;
use crate::seen::Cut;
use crate::serve::Shared;
use crate::sockets::{Way, Went};
use http::{HeaderMap, header};
use std::sync::Arc;
use std::time::Instant;

/// What is read of a socket.
pub(crate) struct Reading {
    calls: Calls,
    /// How each way is read; nothing when it cannot be, or not any more.
    frames: Option<[Frames; Way::ALL.len()]>,
    shared: Arc<Shared>,
    /// That something was not read is counted.
    is_lost: bool,
}

impl Reading {
    /// Of a socket that an upstream agreed to with these headers.
    pub(crate) fn new(handshake: Handshake, agreed: &HeaderMap, shared: Arc<Shared>) -> Reading {
        let is_known = agreed
            .get(header::UPGRADE)
            .is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(b"websocket"));
        let packing = Packing::agreed(agreed).filter(|_| is_known);
        let frames = packing.map(|both| both.map(|packing| Frames::new(packing, Arc::clone(&shared.room))));
        Reading { calls: Calls::new(handshake, Arc::clone(&shared)), frames, shared, is_lost: false }
    }

    /// Reads a piece, and says what it was.
    pub(crate) fn read(&mut self, way: Way, piece: &[u8], at: Instant) -> Went {
        let mut went = Went { bytes: piece.len() as u64, ..Went::default() };
        let Some(frames) = &mut self.frames else {
            self.lose();
            return went;
        };
        let calls = &mut self.calls;
        let read = frames[way as usize].read(piece, at, &mut |message| {
            let is_read = match way {
                Way::Up => calls.up(&message),
                Way::Down => calls.down(&message),
            };
            went += Went { bytes: 0, messages: 1, unread: u64::from(!is_read) };
        });
        if read.is_err() {
            self.frames = None;
            self.calls.end(None, Some(Loss::Unread));
            self.lose();
        } else if way == Way::Up && went.unread > 0 {
            self.lose_foreign();
        }
        went
    }

    /// Messages around calls are none; whoever says others before speaks of something else.
    fn lose_foreign(&mut self) {
        if !self.calls.any {
            self.lose();
        }
    }

    fn lose(&mut self) {
        if !std::mem::replace(&mut self.is_lost, true) {
            self.shared.room.count_loss(Loss::Unread);
        }
    }

    /// Whether answers are awaited.
    pub(crate) fn is_waiting(&self) -> bool {
        self.calls.is_waiting()
    }

    /// The socket is over; so much of what went was not read.
    pub(crate) fn end(&mut self, cut: Option<Cut>, unread: u64) {
        if unread > 0 {
            self.lose_foreign();
        }
        self.calls.end(cut, None);
    }
}
