//! Messages out of the bytes of a `WebSocket` (RFC 6455), one way of it.
//!
//! In: bytes as they went, cut anywhere. Out: whole messages, unmasked and unpacked (RFC 7692). What is held of them takes room like
//! everything else that is held; what finds none is told without its words.

use crate::room::{Held, Loss, Room};
use flate2::{Decompress, FlushDecompress, Status};
use http::{HeaderMap, header};
use std::sync::Arc;
use std::time::Instant;

/// The head of a frame has no more bytes.
const MAX_HEAD_BYTES: usize = 14;
/// Commands of a connection have no more, and come in one frame.
const MAX_COMMAND_BYTES: u64 = 125;
/// How many bytes are unpacked at once, at least.
const UNPACKED_AT_ONCE: usize = 4 << 10;
/// A message that unpacks to so many times what is recorded of one is not unpacked to its end.
const MAX_TIMES_TOO_LARGE: u64 = 2;
/// What senders leave out at the end of a packed message.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

const CONTINUED: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PONG: u8 = 10;

/// From here on nobody can tell where messages begin, or what they say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// How messages are packed, as both sides agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Not at all.
    None,
    /// One behind the other.
    Joint,
    /// Each by itself.
    Each,
}

impl Packing {
    /// What an upstream agreed to, for what goes up and what goes down. Nothing when messages mean something else than RFC 6455 says.
    pub(crate) fn agreed(headers: &HeaderMap) -> Option<[Packing; 2]> {
        let mut packing = [Packing::None; 2];
        for list in headers.get_all(header::SEC_WEBSOCKET_EXTENSIONS) {
            for extension in list.to_str().ok()?.split(',') {
                let mut parts = extension.split(';').map(str::trim);
                if parts.next() != Some("permessage-deflate") {
                    return None;
                }
                let said: Vec<&str> = parts.collect();
                packing = ["client_no_context_takeover", "server_no_context_takeover"]
                    .map(|each| if said.contains(&each) { Packing::Each } else { Packing::Joint });
            }
        }
        Some(packing)
    }
}

/// A whole message.
#[derive(Debug)]
pub(crate) struct Message {
    /// When its first byte came.
    pub(crate) began: Instant,
    /// What it says, if it is text and was held.
    pub(crate) text: Option<Vec<u8>>,
    /// How many bytes it has, unpacked.
    pub(crate) bytes: u64,
    /// Why it is not held.
    pub(crate) loss: Option<Loss>,
    /// The room of its text.
    _held: Held,
}

/// Reads one way.
pub(crate) struct Frames {
    packing: Packing,
    unpacker: Option<Box<Decompress>>,
    /// The head of a frame, as far as it came.
    head: Vec<u8>,
    frame: Option<Frame>,
    message: Option<Partial>,
    room: Arc<Room>,
}

impl Frames {
    pub(crate) fn new(packing: Packing, room: Arc<Room>) -> Frames {
        let head = Vec::with_capacity(MAX_HEAD_BYTES);
        Frames { packing, unpacker: None, head, frame: None, message: None, room }
    }

    /// Reads what came, and gives each message that has ended.
    pub(crate) fn read(
        &mut self,
        mut bytes: &[u8],
        at: Instant,
        each: &mut dyn FnMut(Message),
    ) -> Result<(), Unreadable> {
        loop {
            if self.frame.is_none() {
                let Some(frame) = self.begin(&mut bytes)? else { return Ok(()) };
                self.frame = Some(self.fit(frame, at)?);
            }
            let Some(frame) = &mut self.frame else { return Ok(()) };
            let n = usize::try_from(frame.left).unwrap_or(usize::MAX).min(bytes.len());
            let (piece, rest) = bytes.split_at(n);
            bytes = rest;
            frame.left -= n as u64;
            let (is_over, is_last) = (frame.left == 0, frame.is_last);
            if frame.is_data {
                let plain = frame.unmasked(piece);
                self.take(&plain)?;
            }
            if !is_over {
                return Ok(());
            }
            let is_data = self.frame.take().is_some_and(|frame| frame.is_data);
            if is_data && is_last {
                self.end(each)?;
            }
        }
    }

    /// Takes the head of the next frame, if all of it is there.
    fn begin(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, Unreadable> {
        loop {
            if let Some(frame) = Frame::parse(&self.head) {
                self.head.clear();
                return Ok(Some(frame));
            }
            let Some((first, rest)) = bytes.split_first() else { return Ok(None) };
            self.head.push(*first);
            *bytes = rest;
            if self.head.len() > MAX_HEAD_BYTES {
                return Err(Unreadable);
            }
        }
    }

    /// Whether a frame may stand here; it begins a message or goes on with one.
    fn fit(&mut self, mut frame: Frame, at: Instant) -> Result<Frame, Unreadable> {
        match (frame.sort, &self.message) {
            (CONTINUED, Some(_)) if !frame.is_packed => frame.is_data = true,
            (TEXT | BINARY, None) if !frame.is_packed || self.packing != Packing::None => {
                frame.is_data = true;
                self.message = Some(Partial::new(&frame, at, &self.room));
            }
            (CLOSE..=PONG, _) if frame.is_last && !frame.is_packed && frame.left <= MAX_COMMAND_BYTES => {}
            _ => return Err(Unreadable),
        }
        Ok(frame)
    }

    fn take(&mut self, plain: &[u8]) -> Result<(), Unreadable> {
        let Some(message) = &mut self.message else { return Err(Unreadable) };
        if message.is_packed {
            let unpacker = self.unpacker.get_or_insert_with(|| Box::new(Decompress::new(false)));
            return message.unpack(unpacker, plain);
        }
        message.bytes += plain.len() as u64;
        if message.makes_room(plain.len()) {
            message.text.extend_from_slice(plain);
        }
        Ok(())
    }

    fn end(&mut self, each: &mut dyn FnMut(Message)) -> Result<(), Unreadable> {
        if self.message.as_ref().is_some_and(|message| message.is_packed) {
            self.take(&TAIL)?;
            if let (Packing::Each, Some(unpacker)) = (self.packing, &mut self.unpacker) {
                unpacker.reset(false);
            }
        }
        let Some(Partial { began, is_text, text, bytes, loss, held, .. }) = self.message.take() else {
            return Err(Unreadable);
        };
        let text = (is_text && loss.is_none()).then_some(text);
        each(Message { began, text, bytes, loss, _held: held });
        Ok(())
    }
}

/// A frame, as its head says.
struct Frame {
    /// What it is, with bits in front that mean nothing here.
    sort: u8,
    /// It is a part of a message.
    is_data: bool,
    is_last: bool,
    is_packed: bool,
    mask: Option<[u8; 4]>,
    /// Which byte of the mask is next.
    turn: usize,
    left: u64,
}

impl Frame {
    /// Nothing when more of it has to come.
    fn parse(head: &[u8]) -> Option<Frame> {
        let [first, second, rest @ ..] = head else { return None };
        let (length, rest) = match second & 0x7f {
            126 => number(rest, 2)?,
            127 => number(rest, 8)?,
            length => (u64::from(length), rest),
        };
        let mask = if second & 0x80 == 0 { None } else { Some(*rest.first_chunk::<4>()?) };
        Some(Frame {
            sort: first & 0x3f,
            is_data: false,
            is_last: first & 0x80 != 0,
            is_packed: first & 0x40 != 0,
            mask,
            turn: 0,
            left: length,
        })
    }

    fn unmasked(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(mask) = self.mask else { return piece.to_vec() };
        let turn = self.turn;
        self.turn = (turn + piece.len()) % mask.len();
        piece.iter().enumerate().map(|(n, byte)| byte ^ mask[(turn + n) % mask.len()]).collect()
    }
}

fn number(bytes: &[u8], length: usize) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_at_checked(length)?;
    Some((first.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)), rest))
}

/// A message, as far as it came.
struct Partial {
    began: Instant,
    is_text: bool,
    is_packed: bool,
    text: Vec<u8>,
    bytes: u64,
    loss: Option<Loss>,
    held: Held,
    max_bytes: u64,
}

impl Partial {
    fn new(frame: &Frame, began: Instant, room: &Arc<Room>) -> Partial {
        Partial {
            began,
            is_text: frame.sort == TEXT,
            is_packed: frame.is_packed,
            text: Vec::new(),
            bytes: 0,
            loss: None,
            held: Held::none(room),
            max_bytes: room.max_body_bytes,
        }
    }

    /// Takes room for more of the text. False when nothing of it is to be held.
    fn makes_room(&mut self, more: usize) -> bool {
        if self.loss.is_none() && self.is_text {
            if self.bytes > self.max_bytes {
                self.loss = Some(Loss::TooLarge);
            } else if !self.held.more(more) {
                self.loss = Some(Loss::NoRoom);
            }
        }
        self.loss.is_none() && self.is_text
    }

    /// What is packed behind it may refer to it, so it is unpacked even when it is not held.
    fn unpack(&mut self, unpacker: &mut Decompress, mut packed: &[u8]) -> Result<(), Unreadable> {
        loop {
            let (read, before) = (unpacker.total_in(), self.text.len());
            self.text.reserve(UNPACKED_AT_ONCE);
            let status = unpacker.decompress_vec(packed, &mut self.text, FlushDecompress::Sync);
            let status = status.map_err(|_| Unreadable)?;
            let read = usize::try_from(unpacker.total_in() - read).map_err(|_| Unreadable)?;
            packed = packed.get(read..).unwrap_or_default();
            let more = self.text.len() - before;
            self.bytes += more as u64;
            let is_full = self.text.len() == self.text.capacity();
            if !self.makes_room(more) {
                self.text.clear();
            }
            if self.bytes / MAX_TIMES_TOO_LARGE > self.max_bytes {
                return Err(Unreadable);
            }
            match status {
                Status::StreamEnd => unpacker.reset(false),
                _ if read == 0 && more == 0 && !packed.is_empty() => return Err(Unreadable),
                _ => {}
            }
            if packed.is_empty() && !is_full {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
