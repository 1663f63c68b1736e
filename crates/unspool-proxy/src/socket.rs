//! Two connections that no longer speak HTTP, joined.
//!
//! In: an upgrade that both sides agreed to. Out: what comes from one side goes to the other, byte for byte, and so does its end; what went is
//! read and counted when it has gone. Never here: a byte of our own.

use crate::reading::Reading;
use crate::seen::Cut;
use crate::serve::Shared;
use crate::sockets::{BothWays, Sockets, Way};
use crate::tee::Ending;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::watch;

/// Read and passed on at once.
const PIECE_BYTES: usize = 16 << 10;
/// A socket over which nothing went for so long may be closed when the proxy is to end.
const QUIET: Duration = Duration::from_secs(1);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Two connections that are about to be joined.
pub(crate) struct Socket {
    pub(crate) client: OnUpgrade,
    pub(crate) upstream: OnUpgrade,
    pub(crate) ending: Ending,
    pub(crate) reading: Reading,
    pub(crate) shared: Arc<Shared>,
}

/// What a client's connection goes on with when it no longer speaks HTTP.
#[derive(Clone, Default)]
pub(crate) struct Next(Arc<Mutex<Option<Socket>>>);

impl Next {
    fn slot(&self) -> MutexGuard<'_, Option<Socket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, socket: Socket) {
        *self.slot() = Some(socket);
    }

    pub(crate) fn take(&self) -> Option<Socket> {
        self.slot().take()
    }
}

impl Socket {
    /// Carries until both sides have ended, one breaks off, or nothing went for too long.
    pub(crate) async fn run(self, stop: watch::Receiver<bool>) {
        let Socket { client, upstream, ending, reading, shared } = self;
        let said = Said::new(ending, reading, Arc::clone(&shared));
        // Whoever broke off before its part of the agreement was told is told apart by who is still there.
        let Ok(client) = client.await else { return said.end(Some(Cut::Client)) };
        let Ok(upstream) = upstream.await else { return said.end(Some(Cut::Upstream)) };
        let cut = tokio::select! {
            cut = join(client, upstream, &said) => cut,
            () = idle(&said, &shared) => Some(Cut::Silence),
            () = stopped(&said, stop) => Some(Cut::Stopped),
        };
        said.end(cut);
    }
}

/// Gives who broke off, if somebody did.
async fn join(client: Upgraded, upstream: Upgraded, said: &Said) -> Option<Cut> {
    let (from_client, to_client) = split(TokioIo::new(client));
    let (from_upstream, to_upstream) = split(TokioIo::new(upstream));
    let up = pass(Way::Up, from_client, to_upstream, said);
    let down = pass(Way::Down, from_upstream, to_client, said);
    match tokio::try_join!(up, down) {
        Ok(_) => None,
        Err(Way::Up) => Some(Cut::Client),
        Err(Way::Down) => Some(Cut::Upstream),
    }
}

/// Passes on what comes until its end, and then the end. Fails when whoever sends breaks off.
async fn pass(
    way: Way,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    said: &Said,
) -> Result<(), Way> {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let Ok(n) = from.read(&mut buffer).await else { return Err(way) };
        let (at, piece) = (Instant::now(), &buffer[..n]);
        if way == Way::Up {
            said.goes_up(piece, at);
        }
        let taken = pass_on(&mut to, piece).await;
        said.went(way, piece, at);
        // Whoever takes no more may still have something to say: it ends the other way.
        if n == 0 || taken.is_err() {
            return Ok(());
        }
    }
}

/// Passes on a piece; an empty one is the end.
async fn pass_on(to: &mut (impl AsyncWrite + Unpin), piece: &[u8]) -> std::io::Result<()> {
    if piece.is_empty() {
        return to.shutdown().await;
    }
    to.write_all(piece).await?;
    to.flush().await
}

/// Waits until nothing went for too long.
async fn idle(said: &Said, shared: &Shared) {
    loop {
        let limit = if said.has_ended() { shared.silence } else { shared.idle };
        let quiet = said.quiet();
        if quiet >= limit {
            return;
        }
        tokio::time::sleep(limit.saturating_sub(quiet).min(shared.silence)).await;
    }
}

/// Waits until the proxy is to end and nobody says anything.
async fn stopped(said: &Said, mut stop: watch::Receiver<bool>) {
    // Whoever could say so is gone: then so is the proxy.
    drop(stop.wait_for(|stop| *stop).await);
    while said.quiet() < QUIET || said.heard().reading.is_waiting() {
        tokio::time::sleep(LOOK).await;
    }
}

/// What goes over a socket, on its way.
struct Said {
    shared: Arc<Shared>,
    heard: Mutex<Heard>,
}

struct Heard {
    ending: Ending,
    reading: Reading,
    /// What is on its way up, and when it came.
    going: Option<(Vec<u8>, Instant)>,
    went: BothWays,
    /// When something last went.
    last: Instant,
    /// Which side has ended, the first if both have.
    ended: Option<Way>,
}

impl Said {
    fn new(ending: Ending, reading: Reading, shared: Arc<Shared>) -> Said {
        shared.room.sockets.count_opened();
        let (went, last) = (BothWays::default(), Instant::now());
        let heard = Heard { ending, reading, going: None, went, last, ended: None };
        Said { shared, heard: Mutex::new(heard) }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece came from the client; an empty one is the end.
    fn goes_up(&self, piece: &[u8], at: Instant) {
        self.heard().going = Some((piece.to_vec(), at));
    }

    /// Notes a piece that has gone on. An answer may come before all of the piece has gone that it answers.
    fn went(&self, way: Way, piece: &[u8], at: Instant) {
        let mut heard = self.heard();
        if let Some((piece, at)) = heard.going.take() {
            heard.note(Way::Up, &piece, at, &self.shared.room.sockets);
        }
        if way == Way::Down {
            heard.note(way, piece, at, &self.shared.room.sockets);
        }
    }

    /// How long nothing went.
    fn quiet(&self) -> Duration {
        self.heard().last.elapsed()
    }

    fn has_ended(&self) -> bool {
        self.heard().ended.is_some()
    }

    fn end(&self, cut: Option<Cut>) {
        let mut heard = self.heard();
        heard.told(cut);
        heard.ending.end(cut, None);
    }
}

impl Heard {
    fn note(&mut self, way: Way, piece: &[u8], at: Instant, all: &Sockets) {
        self.last = at;
        if piece.is_empty() {
            self.ended.get_or_insert(way);
            return;
        }
        let more = self.reading.read(way, piece, at);
        self.went[way as usize] += more;
        all.count(way, more);
    }

    /// Tells what was heard until now. Whoever ended first left the other without an answer.
    fn told(&mut self, cut: Option<Cut>) {
        let Heard { ending, reading, went, ended, .. } = self;
        let left = ended.map(|way| if way == Way::Up { Cut::Client } else { Cut::Upstream });
        reading.end(cut.or(left), went.iter().map(|went| went.unread).sum());
        ending.carried(*went);
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        // A task that is thrown away has not ended it.
        let stopped = self.shared.stopping.load(Ordering::Relaxed);
        self.heard().told(Some(if stopped { Cut::Stopped } else { Cut::Client }));
        self.shared.room.sockets.count_closed();
    }
}
