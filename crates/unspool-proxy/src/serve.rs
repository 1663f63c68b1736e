//! Listening, and ending well.

use crate::flushed::{Connection, Flushes};
use crate::forward::carry;
use crate::mask::Masks;
use crate::room::Room;
use crate::routes::Routes;
use crate::seen::Recorder;
use crate::upstream::{Upstreams, client};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How long a new connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an upstream may say nothing.
const SILENCE: Duration = Duration::from_secs(600);
/// How long exchanges under way may take when the proxy is to end.
const DRAIN: Duration = Duration::from_secs(30);
/// How long to wait when the system gives no connection.
const BREATH: Duration = Duration::from_millis(50);

/// What a proxy is told once.
pub struct Options {
    /// Where paths lead to.
    pub routes: Routes,
    /// What is not handed over.
    pub masks: Masks,
    /// How much is held for whoever records.
    pub room: Arc<Room>,
    /// Whoever records.
    pub recorder: Arc<dyn Recorder>,
    /// How long a new connection may take.
    pub connect: Duration,
    /// How long an upstream may say nothing.
    pub silence: Duration,
    /// How long exchanges under way may take when the proxy is to end.
    pub drain: Duration,
}

impl Options {
    /// With the usual times.
    pub fn new(routes: Routes, masks: Masks, room: Arc<Room>, recorder: Arc<dyn Recorder>) -> Options {
        Options { routes, masks, room, recorder, connect: CONNECT, silence: SILENCE, drain: DRAIN }
    }
}

/// What all exchanges share.
pub(crate) struct Shared {
    pub(crate) routes: Routes,
    pub(crate) masks: Masks,
    pub(crate) room: Arc<Room>,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) upstreams: Upstreams,
    pub(crate) silence: Duration,
    pub(crate) stopping: Arc<AtomicBool>,
    /// Tells the exchanges of this process from those of others.
    process: u64,
}

impl Shared {
    pub(crate) fn next_exchange(&self) -> String {
        format!("{:016x}-{}", self.process, self.room.count_exchange())
    }
}

/// A proxy.
pub struct Proxy {
    shared: Arc<Shared>,
    drain: Duration,
}

impl Proxy {
    /// Reads the certificates of this machine, if an upstream needs them.
    pub fn new(options: Options) -> std::io::Result<Proxy> {
        let mut process = [0; 8];
        getrandom::fill(&mut process).map_err(std::io::Error::other)?;
        let upstreams = client(&options.routes, options.connect)?;
        let shared = Shared {
            routes: options.routes,
            masks: options.masks,
            room: options.room,
            recorder: options.recorder,
            upstreams,
            silence: options.silence,
            stopping: Arc::default(),
            process: u64::from_le_bytes(process),
        };
        Ok(Proxy { shared: Arc::new(shared), drain: options.drain })
    }

    /// Carries requests until `stop` ends; exchanges under way are finished, as far as they do in time.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => _ = connections.spawn(self.connection(stream, &graceful)),
                // Too many are open; some will be closed.
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
        drop(listener);
        if tokio::time::timeout(self.drain, graceful.shutdown()).await.is_err() {
            self.shared.stopping.store(true, Ordering::Relaxed);
        }
        connections.shutdown().await;
    }

    fn connection(
        &self,
        stream: TcpStream,
        graceful: &GracefulShutdown,
    ) -> impl Future<Output = ()> + Send + use<> {
        // Without it things go on, a little later.
        drop(stream.set_nodelay(true));
        let shared = Arc::clone(&self.shared);
        let flushes = Flushes::default();
        let connection = Connection::new(stream, flushes.clone());
        let service = service_fn(move |request| {
            let (shared, flushes) = (Arc::clone(&shared), flushes.clone());
            async move { Ok::<_, Infallible>(carry(shared, request, flushes).await) }
        });
        let connection = http1::Builder::new()
            .preserve_header_case(true)
            .auto_date_header(false)
            // A client may keep a connection for later, as long as it likes.
            .header_read_timeout(None)
            .serve_connection(connection, service);
        let connection = graceful.watch(connection);
        // How a connection ended is told by its exchanges.
        async move { drop(connection.await) }
    }
}
