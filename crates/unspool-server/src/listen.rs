//! Listening, serving, and ending well.

use crate::api::Stopping;
use crate::app::{App, router};
use crate::grpc;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// HTTP.
    pub http: String,
    /// gRPC.
    pub grpc: String,
}

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which one.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// While serving.
    #[error("serving failed: {0}")]
    Serve(String),
}

/// A server that listens and does not serve yet.
pub struct Server {
    app: Arc<App>,
    http: TcpListener,
    grpc: TcpListener,
}

impl Server {
    /// Takes the addresses.
    pub async fn bind(app: Arc<App>, addresses: &Addresses) -> Result<Server, ServeError> {
        Ok(Server { app, http: bind(&addresses.http).await?, grpc: bind(&addresses.grpc).await? })
    }

    /// Where it listens: HTTP, and gRPC.
    pub fn local(&self) -> std::io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.http.local_addr()?, self.grpc.local_addr()?))
    }

    /// Serves until `stop` ends; requests under way are finished and what they brought is shown.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
        let (told, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            // An error means that the sender is gone, which is the end, too.
            drop(stopped.wait_for(|stopped| *stopped).await);
        };
        let http = axum::serve(self.http, router(Arc::clone(&self.app), &Stopping(stopped.clone())))
            .with_graceful_shutdown(until(stopped.clone()));
        let incoming = tonic::transport::server::TcpIncoming::from(self.grpc);
        let grpc = tonic::transport::Server::builder()
            .add_routes(tonic::service::Routes::from(grpc::router(&self.app)))
            .serve_with_incoming_shutdown(incoming, until(stopped));
        let stopper = async move {
            stop.await;
            told.send_replace(true);
        };
        let failed = |error: String| ServeError::Serve(error);
        let (http, grpc, ()) = tokio::join!(http, grpc, stopper);
        http.map_err(|error| failed(error.to_string()))?;
        grpc.map_err(|error| failed(error.to_string()))?;
        let app = self.app;
        drop(tokio::task::spawn_blocking(move || app.engine.close()).await);
        Ok(())
    }
}

async fn bind(address: &str) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.into(), source };
    TcpListener::bind(address).await.map_err(failed)
}
