//! Listening, and ending well.

use crate::carriers::{Carriers, count};
use crate::mask::Masks;
use crate::names::Names;
use crate::room::Room;
use crate::routes::Routes;
use crate::seen::Recorder;
use crate::upstream::{Upstreams, connectors};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long a new connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an upstream may say nothing.
const SILENCE: Duration = Duration::from_secs(600);
/// How long nothing may go over a connection that no longer speaks HTTP.
const IDLE: Duration = Duration::from_secs(3600);
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
    /// What it may be called, and by whose pages; anything and anybody's when nobody says so.
    pub names: Option<Names>,
    /// How long a new connection may take.
    pub connect: Duration,
    /// How long an upstream may say nothing.
    pub silence: Duration,
    /// How long nothing may go over a connection that no longer speaks HTTP.
    pub idle: Duration,
    /// How long exchanges under way may take when the proxy is to end.
    pub drain: Duration,
}

impl Options {
    /// With the usual times.
    pub fn new(routes: Routes, masks: Masks, room: Arc<Room>, recorder: Arc<dyn Recorder>) -> Options {
        Options {
            routes,
            masks,
            room,
            recorder,
            names: None,
            connect: CONNECT,
            silence: SILENCE,
            idle: IDLE,
            drain: DRAIN,
        }
    }
}

/// What all exchanges of a thread share.
pub(crate) struct Shared {
    pub(crate) routes: Routes,
    pub(crate) masks: Masks,
    pub(crate) names: Option<Names>,
    pub(crate) room: Arc<Room>,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) upstreams: Upstreams,
    pub(crate) silence: Duration,
    pub(crate) idle: Duration,
    pub(crate) stopping: Arc<AtomicBool>,
    /// Tells the exchanges of this process from those of others.
    process: u64,
}

impl Shared {
    pub(crate) fn next_exchange(&self) -> String {
        format!("{:016x}-{}", self.process, self.room.count_exchange())
    }
}

/// Why a proxy does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An upstream is to be known by its certificate, and this machine trusts none.
    #[error("this machine has no CA certificates")]
    NoCertificates,
    /// What the system said.
    #[error(transparent)]
    System(#[from] std::io::Error),
}

/// A proxy.
pub struct Proxy {
    carriers: Carriers,
}

impl Proxy {
    /// Reads the certificates of this machine, if an upstream needs them, and starts the threads that carry.
    pub fn new(options: &Options) -> Result<Proxy, StartError> {
        let mut process = [0; 8];
        getrandom::fill(&mut process).map_err(std::io::Error::other)?;
        let connectors = connectors(&options.routes, options.connect)?;
        let stopping = Arc::<AtomicBool>::default();
        let shared = || Shared {
            routes: options.routes.clone(),
            masks: options.masks.clone(),
            names: options.names.clone(),
            room: Arc::clone(&options.room),
            recorder: Arc::clone(&options.recorder),
            upstreams: Upstreams::new(&connectors),
            silence: options.silence,
            idle: options.idle,
            stopping: Arc::clone(&stopping),
            process: u64::from_le_bytes(process),
        };
        let all = (0..count()).map(|_| shared()).collect();
        Ok(Proxy { carriers: Carriers::start(all, options.drain)? })
    }

    /// Carries requests until `stop` ends; exchanges under way are finished, as far as they do in time.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((client, _)) => self.carriers.give(client),
                // Too many are open; some will be closed.
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
        drop(listener);
        drop(tokio::task::spawn_blocking(move || self.carriers.end()).await);
    }
}
