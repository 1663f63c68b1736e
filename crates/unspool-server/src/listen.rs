//! Listening, serving, and ending well.

use crate::api::Stopping;
use crate::app::{App, router};
use crate::guard::{self, Access, Door, Keys};
use crate::proxy::{Carrying, RunningProxy};
use crate::{connections, grpc, refusals};
use axum::middleware::from_fn_with_state;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use unspool_engine::HookSpool;
use unspool_store::TokenError;

/// How often events are looked for that hooks put down while there was no server.
const SPOOL_INTERVAL: Duration = Duration::from_secs(2);

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// HTTP.
    pub http: String,
    /// gRPC.
    pub grpc: String,
}

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The page, and everything else over HTTP.
    Page,
    /// OTLP over gRPC.
    Grpc,
    /// Requests to LLM APIs.
    Proxy,
}

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which one.
        address: String,
        /// What for.
        place: Place,
        /// What the system said.
        source: std::io::Error,
    },
    /// Everybody could come in, and nobody said that this is meant.
    #[error("{address} can be reached from other machines, and there is no token")]
    Unguarded {
        /// Which one.
        address: String,
    },
    /// Everybody could send through the proxy, and nobody said that this is meant.
    #[error("{address} can be reached from other machines, and everybody there could send through the proxy")]
    OpenProxy {
        /// Which one.
        address: String,
    },
    /// Upstreams over https could not be known.
    #[error(
        "the proxy cannot be started: this machine has no CA certificates, by which APIs over https are known"
    )]
    NoCertificates,
    /// The proxy.
    #[error("the proxy cannot be started: {0}")]
    Proxy(String),
    /// The tokens.
    #[error(transparent)]
    Tokens(#[from] TokenError),
}

/// A server that listens and does not serve yet.
pub struct Server {
    app: Arc<App>,
    http: (TcpListener, Door),
    grpc: (TcpListener, Door),
    proxy: Option<RunningProxy>,
}

impl Server {
    /// Takes the addresses.
    pub async fn bind(app: Arc<App>, addresses: &Addresses) -> Result<Server, ServeError> {
        let http = listen(&addresses.http, Place::Page).await?;
        Server::take_over(app, http, addresses).await
    }

    /// The same where somebody listened for HTTP before it.
    pub async fn take_over(
        app: Arc<App>,
        http: TcpListener,
        addresses: &Addresses,
    ) -> Result<Server, ServeError> {
        let keys = Arc::new(Keys::of(app.engine.folder()));
        let http = guarded(http, &addresses.http, Place::Page, &keys, &app.access)?;
        let grpc = listen(&addresses.grpc, Place::Grpc).await?;
        let grpc = guarded(grpc, &addresses.grpc, Place::Grpc, &keys, &app.access)?;
        Ok(Server { app, http, grpc, proxy: None })
    }

    /// Starts a proxy beside it, and says where that listens.
    pub async fn bind_proxy(&mut self, carrying: &Carrying) -> Result<SocketAddr, ServeError> {
        let recorder = self.app.recorder.clone();
        let recorder = recorder.ok_or_else(|| ServeError::Proxy("nothing records".into()))?;
        let proxy = RunningProxy::start(self.app.engine.folder(), recorder, carrying).await?;
        let local = proxy.local();
        self.beside(proxy);
        Ok(local)
    }

    /// Has a proxy beside it that runs already, and ends with it.
    pub fn beside(&mut self, mut proxy: RunningProxy) {
        proxy.keep_key(self.app.engine.folder());
        // A server has one proxy.
        drop(self.app.proxy.set(proxy.place()));
        self.proxy = Some(proxy);
    }

    /// Where it listens: HTTP, and gRPC.
    pub fn local(&self) -> std::io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.http.0.local_addr()?, self.grpc.0.local_addr()?))
    }

    /// Serves until `stop` ends. Requests under way are finished, as far as they do in time, and what they brought is shown.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) {
        let (told, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            // An error means that the sender is gone, which is the end, too.
            drop(stopped.wait_for(|stopped| *stopped).await);
        };
        let ((http, http_door), (grpc, grpc_door)) = (self.http, self.grpc);
        let times = self.app.times;
        let routes = router(Arc::clone(&self.app), http_door, &Stopping(stopped.clone()));
        let http = connections::serve(http, routes, times, until(stopped.clone()));
        let guarded = from_fn_with_state(grpc_door, guard::grpc);
        let counted = from_fn_with_state(Arc::clone(&self.app), refusals::counted);
        let methods = grpc::router(&self.app).layer(guarded).layer(counted);
        let grpc = connections::serve(grpc, methods, times, until(stopped.clone()));
        let carried = {
            let (proxy, stopped) = (self.proxy, until(stopped.clone()));
            async move {
                stopped.await;
                if let Some(proxy) = proxy {
                    proxy.end().await;
                }
            }
        };
        let spooled = take_spooled(Arc::clone(&self.app), until(stopped));
        let stopper = async move {
            stop.await;
            told.send_replace(true);
        };
        tokio::join!(http, grpc, carried, spooled, stopper);
        let app = self.app;
        let close = move || {
            app.recorder.iter().for_each(|recorder| recorder.close());
            app.engine.close();
        };
        drop(tokio::task::spawn_blocking(close).await);
    }
}

/// Takes the hook events that waited for a server, now and every few seconds.
async fn take_spooled(app: Arc<App>, stopped: impl Future<Output = ()>) {
    let spool = HookSpool::of(&app.engine.options().folder);
    tokio::pin!(stopped);
    let mut ticks = tokio::time::interval(SPOOL_INTERVAL);
    loop {
        tokio::select! {
            () = &mut stopped => return,
            _ = ticks.tick() => {}
        }
        let (app, spool) = (Arc::clone(&app), spool.clone());
        // What the disk refuses waits for the next time.
        drop(tokio::task::spawn_blocking(move || spool.take_all(&app.engine)).await);
    }
}

/// Takes an address.
pub(crate) async fn listen(address: &str, place: Place) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.into(), place, source };
    TcpListener::bind(address).await.map_err(failed)
}

/// A listener with who may come in there; an error where everybody could and nobody said that this is meant.
pub(crate) fn guarded(
    listener: TcpListener,
    address: &str,
    place: Place,
    keys: &Arc<Keys>,
    access: &Access,
) -> Result<(TcpListener, Door), ServeError> {
    let failed = |source| ServeError::Listen { address: address.into(), place, source };
    let door = Door::of(keys, access, address, listener.local_addr().map_err(failed)?)?;
    let door = door.ok_or_else(|| ServeError::Unguarded { address: address.into() })?;
    Ok((listener, door))
}
