//! A connection that writes what comes in one turn of its thread with one call.
//!
//! An answer comes as many small pieces, which are often there together; a call to the system for each would cost more than all else. So
//! what is to be written is held until everybody who has something to do has had a turn and nothing was added. Nobody waits for what has not come.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::io::{ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

/// No more is held.
const MAX_HELD_BYTES: usize = 64 << 10;
/// What is so large is a call of its own.
const LARGE_BYTES: usize = 16 << 10;

/// How often everything written to a connection was on its way. Shared by the connection and the body that is written to it, which are one task:
/// when an upstream breaks off, so must the answer, but hyper throws away what it has not written yet when a body fails. So a body fails only
/// after the connection was flushed.
#[derive(Clone, Default)]
pub(crate) struct Flushes(Arc<Counted>);

#[derive(Default)]
struct Counted {
    count: AtomicU64,
    /// A body wants to be asked again after the next one.
    awaited: AtomicBool,
}

impl Flushes {
    /// How many there were; after the next one whoever asks is woken.
    pub(crate) fn awaited(&self) -> u64 {
        self.0.awaited.store(true, Ordering::Relaxed);
        self.0.count.load(Ordering::Relaxed)
    }

    fn one_more(&self, context: &Context<'_>) {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        if self.0.awaited.swap(false, Ordering::Relaxed) {
            context.waker().wake_by_ref();
        }
    }
}

pub(crate) struct Gathered<C> {
    inner: C,
    held: Vec<u8>,
    /// How much of that is written.
    written: usize,
    /// Something was added in this turn.
    is_new: bool,
    flushes: Flushes,
}

impl<C> Gathered<C> {
    pub(crate) fn new(inner: C, flushes: Flushes) -> Gathered<C> {
        Gathered { inner, held: Vec::new(), written: 0, is_new: false, flushes }
    }
}

impl<C: Write + Unpin> Gathered<C> {
    /// Writes what is held.
    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while self.written < self.held.len() {
            match ready!(Pin::new(&mut self.inner).poll_write(context, &self.held[self.written..]))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                n => self.written += n,
            }
        }
        (self.written, self.is_new) = (0, false);
        self.held.clear();
        // Most connections are idle most of the time.
        self.held.shrink_to(LARGE_BYTES);
        Poll::Ready(Ok(()))
    }

    /// Makes room for so much more. True when it is to be written at once.
    fn poll_room(&mut self, context: &mut Context<'_>, bytes: usize) -> Poll<Result<bool>> {
        if bytes >= LARGE_BYTES || self.held.len() + bytes > MAX_HELD_BYTES {
            ready!(self.poll_held(context))?;
        }
        Poll::Ready(Ok(bytes >= LARGE_BYTES))
    }
}

impl<C: Read + Unpin> Read for Gathered<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<C: Write + Unpin> Write for Gathered<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if ready!(self.poll_room(context, bytes.len()))? {
            return Pin::new(&mut self.inner).poll_write(context, bytes);
        }
        self.held.extend_from_slice(bytes);
        self.is_new = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if std::mem::take(&mut self.is_new) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(self.poll_held(context))?;
        self.flushes.one_more(context);
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_held(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        if ready!(self.poll_room(context, bytes))? {
            return Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        }
        for piece in pieces {
            self.held.extend_from_slice(piece);
        }
        self.is_new = true;
        Poll::Ready(Ok(bytes))
    }
}

impl<C: Connection> Connection for Gathered<C> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use super::{Flushes, Gathered, LARGE_BYTES};
    use hyper::rt::Write;
    use std::io::{IoSlice, Result};
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    /// Notes each call.
    #[derive(Default)]
    struct Calls(Vec<usize>);

    impl Write for Calls {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
            self.0.push(bytes.len());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn pieces_of_one_turn_are_one_call_and_large_ones_their_own() {
        let flushes = Flushes::default();
        let mut connection = Gathered::new(Calls::default(), flushes.clone());
        let mut context = Context::from_waker(Waker::noop());
        let mut at = Pin::new(&mut connection);
        for _ in 0..3 {
            let two = [IoSlice::new(b"ab"), IoSlice::new(b"c")];
            assert!(at.as_mut().poll_write_vectored(&mut context, &two).is_ready());
            assert!(at.as_mut().poll_flush(&mut context).is_pending(), "others have their turn");
        }
        assert_eq!((at.inner.0.as_slice(), flushes.awaited()), (&[][..], 0));
        assert!(at.as_mut().poll_flush(&mut context).is_ready());
        assert_eq!((at.inner.0.as_slice(), flushes.awaited()), (&[9][..], 1));
        assert!(at.as_mut().poll_write(&mut context, b"head").is_ready());
        assert!(at.as_mut().poll_write(&mut context, &[0; LARGE_BYTES]).is_ready());
        assert_eq!(at.inner.0, [9, 4, LARGE_BYTES], "in their order");
        assert!(at.as_mut().poll_write(&mut context, b"end").is_ready());
        assert!(at.as_mut().poll_shutdown(&mut context).is_ready());
        assert_eq!(at.inner.0, [9, 4, LARGE_BYTES, 3], "nothing is left behind");
    }
}
