//! Connections to upstreams, kept and used again.

use crate::gathered::{Flushes, Gathered};
use crate::routes::Routes;
use crate::tee::RequestTee;
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tower_service::Service;

pub(crate) type Upstreams = Client<Connector, RequestTee>;

/// How much an upstream may send before it is read, of one answer and of all over one connection in HTTP/2.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// How often a connection in HTTP/2 is asked whether it is alive while answers are awaited, and how long it has for that.
const ALIVE: Duration = Duration::from_secs(60);
const ALIVE_ANSWER: Duration = Duration::from_secs(20);

type Connector = HttpsConnector<Gathering>;

/// Connects, and gathers what is written.
#[derive(Clone)]
pub(crate) struct Gathering(HttpConnector);

impl Service<Uri> for Gathering {
    type Response = Gathered<TokioIo<TcpStream>>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connected = self.0.call(uri);
        Box::pin(async move { Ok(Gathered::new(connected.await?, Flushes::default())) })
    }
}

/// Connects to upstreams. The certificates of this machine are read if any upstream needs them.
pub(crate) fn connector(routes: &Routes, connect: Duration) -> std::io::Result<Connector> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let secure = routes.all().iter().any(|one| one.url.scheme_str() == Some("https"));
    let builder = if secure {
        HttpsConnectorBuilder::new().with_native_roots()?
    } else {
        let roots = rustls::RootCertStore::empty();
        let config =
            rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
                .with_safe_default_protocol_versions()
                .map_err(std::io::Error::other)?
                .with_root_certificates(roots)
                .with_no_client_auth();
        HttpsConnectorBuilder::new().with_tls_config(config)
    };
    Ok(builder.https_or_http().enable_all_versions().wrap_connector(Gathering(http)))
}

/// A client for all upstreams, with connections of its own.
pub(crate) fn client(connector: Connector) -> Upstreams {
    let mut client = Client::builder(TokioExecutor::new());
    client
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW);
    client.http2_keep_alive_interval(ALIVE).http2_keep_alive_timeout(ALIVE_ANSWER);
    client.http1_preserve_header_case(true).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
    client.build(connector)
}

/// An error and what led to it, in words.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !said.ends_with(&words) {
            said = format!("{said}: {words}");
        }
        next = cause.source();
    }
    said
}
