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
