//! Connections to upstreams, kept and used again.

use crate::routes::Routes;
use crate::tee::RequestTee;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error;
use std::time::Duration;

pub(crate) type Upstreams = Client<HttpsConnector<HttpConnector>, RequestTee>;

/// How much an upstream may send before it is read, of one answer and of all over one connection in HTTP/2.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// How often a connection in HTTP/2 is asked whether it is alive while answers are awaited, and how long it has for that.
const ALIVE: Duration = Duration::from_secs(60);
const ALIVE_ANSWER: Duration = Duration::from_secs(20);

/// A client for all upstreams. The certificates of this machine are read if any upstream needs them.
pub(crate) fn client(routes: &Routes, connect: Duration) -> std::io::Result<Upstreams> {
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
    let connector = builder.https_or_http().enable_all_versions().wrap_connector(http);
    let mut client = Client::builder(TokioExecutor::new());
    client
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW);
    client.http2_keep_alive_interval(ALIVE).http2_keep_alive_timeout(ALIVE_ANSWER);
    client.http1_preserve_header_case(true).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
    Ok(client.build(connector))
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
