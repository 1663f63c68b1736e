//! A client's connection that knows when everything written to it is on its way.
//!
//! When an upstream breaks off, so must the answer; but hyper throws away what it has not written yet when a body fails. So a body fails only
//! after the connection was flushed, which hyper does when it has nothing left to write.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// How often a connection was flushed. Shared by the connection and the body that is written to it, which are one task.
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

pub(crate) struct Connection {
    stream: TokioIo<TcpStream>,
    flushes: Flushes,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, flushes: Flushes) -> Connection {
        Connection { stream: TokioIo::new(stream), flushes }
    }
}

impl Read for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl Write for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.flushes.one_more(context);
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}
