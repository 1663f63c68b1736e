//! Threads that carry, each with its share of the clients and its own connections to the upstreams: what came goes on without waking
//! another thread.

use crate::forward::carry;
use crate::gathered::{Flushes, Gathered};
use crate::serve::Shared;
use crate::socket::Next;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::Future;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// More threads have nothing to do, whatever the machine.
const MAX_CARRIERS: usize = 4;

/// A thread may have so many clients more than the one with fewest: few clients share its connections to upstreams.
const MORE_CLIENTS: usize = 4;

/// Tasks have so many turns before the system is asked what else came: a piece takes two.
const TURNS: u32 = 256;

/// How many there are on this machine.
pub(crate) fn count() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_CARRIERS)
}

/// The threads.
pub(crate) struct Carriers(Vec<Carrier>);

struct Carrier {
    clients: UnboundedSender<Client>,
    open: Open,
    thread: JoinHandle<()>,
}

/// How many clients a thread has, counted by what each of them holds.
#[derive(Clone, Default)]
struct Open(Arc<()>);

impl Open {
    fn count(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

struct Client {
    stream: std::net::TcpStream,
    open: Open,
}

impl Carriers {
    /// Starts a thread for each.
    pub(crate) fn start(all: Vec<Shared>, drain: Duration) -> std::io::Result<Carriers> {
        all.into_iter().map(|shared| Carrier::start(shared, drain)).collect::<Result<_, _>>().map(Carriers)
    }

    /// Gives a client to the first that has not too many.
    pub(crate) fn give(&self, client: TcpStream) {
        // A client that is gone by now needs nobody.
        let Ok(stream) = client.into_std() else { return };
        let counts = self.0.iter().map(|carrier| carrier.open.count());
        let most = counts.min().unwrap_or(0) + MORE_CLIENTS;
        if let Some(carrier) = self.0.iter().find(|carrier| carrier.open.count() < most) {
            // A thread that has ended wants no clients.
            drop(carrier.clients.send(Client { stream, open: carrier.open.clone() }));
        }
    }

    /// Waits until exchanges under way are finished, as far as they do in time.
    pub(crate) fn end(self) {
        let threads: Vec<JoinHandle<()>> = self.0.into_iter().map(|carrier| carrier.thread).collect();
        for thread in threads {
            drop(thread.join());
        }
    }
}

impl Carrier {
    fn start(shared: Shared, drain: Duration) -> std::io::Result<Carrier> {
        let (clients, given) = unbounded_channel();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().event_interval(TURNS).build()?;
        let shared = Arc::new(shared);
        let thread = std::thread::Builder::new().name("carry".into());
        let thread = thread.spawn(move || runtime.block_on(run(&shared, given, drain)))?;
        Ok(Carrier { clients, open: Open::default(), thread })
    }
}

async fn run(shared: &Arc<Shared>, mut given: UnboundedReceiver<Client>, drain: Duration) {
    let mut connections = JoinSet::new();
    let (stop, stopped) = watch::channel(false);
    loop {
        let client = tokio::select! {
            client = given.recv() => client,
            Some(_) = connections.join_next() => continue,
        };
        let Some(Client { stream, open }) = client else { break };
        if let Ok(stream) = TcpStream::from_std(stream) {
            let connection = connection(shared, stream, stopped.clone());
            connections.spawn(async move {
                connection.await;
                drop(open);
            });
        }
    }
    stop.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, ended).await.is_err() {
        shared.stopping.store(true, Ordering::Relaxed);
    }
    connections.shutdown().await;
}

fn connection(
    shared: &Arc<Shared>,
    client: TcpStream,
    mut stop: watch::Receiver<bool>,
) -> impl Future<Output = ()> + Send + use<> {
    // Without it things go on, a little later.
    drop(client.set_nodelay(true));
    let shared = Arc::clone(shared);
    let (flushes, next) = (Flushes::default(), Next::default());
    let after = next.clone();
    let connection = Gathered::new(TokioIo::new(client), flushes.clone());
    let service = service_fn(move |request| {
        let (shared, flushes, next) = (Arc::clone(&shared), flushes.clone(), next.clone());
        async move { Ok::<_, Infallible>(carry(shared, request, flushes, next).await) }
    });
    let connection = http1::Builder::new()
        .preserve_header_case(true)
        .auto_date_header(false)
        // A client may keep a connection for later, as long as it likes.
        .header_read_timeout(None)
        .serve_connection(connection, service)
        .with_upgrades();
    // How a connection ended is told by its exchanges.
    async move {
        let mut connection = std::pin::pin!(connection);
        let stopped = tokio::select! {
            biased;
            _ = connection.as_mut() => false,
            _ = stop.wait_for(|stop| *stop) => true,
        };
        if stopped {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
        if let Some(socket) = after.take() {
            socket.run(stop).await;
        }
    }
}
