//! Connections to upstreams, kept and used again.

use crate::driven::{Connections, Driven};
use crate::gathered::{Flushes, Gathered};
use crate::routes::Routes;
use crate::tee::RequestTee;
use http::{Request, Response, Uri};
use http_body_util::Either;
use hyper::body::Incoming;
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

/// The ways to all upstreams, with connections of their own.
pub(crate) struct Upstreams {
    plain: Connections,
    /// Encrypted, in HTTP/2 where the upstream speaks it.
    secure: Client<Connector, RequestTee>,
}

/// Why a request has no answer.
pub(crate) enum Unanswered {
    /// There was no connection to send it over.
    Unreachable(Box<dyn Error + Send + Sync>),
    /// The connection broke.
    Broken(Box<dyn Error + Send + Sync>),
}

impl Upstreams {
    pub(crate) fn new(connector: &Connectors) -> Upstreams {
        let plain = Connections::new(connector.plain.clone());
        Upstreams { plain, secure: client(connector.secure.clone()) }
    }

    pub(crate) async fn request(&self, request: Request<RequestTee>) -> Result<Response<Answer>, Unanswered> {
        if request.uri().scheme_str() == Some("http") {
            return Ok(self.plain.request(request).await?.map(Either::Left));
        }
        let answer = self.secure.request(request).await;
        let answer = answer.map_err(|error| {
            let is_unreachable = error.is_connect();
            if is_unreachable {
                Unanswered::Unreachable(error.into())
            } else {
                Unanswered::Broken(error.into())
            }
        })?;
        Ok(answer.map(Either::Right))
    }
}

/// The body of an answer, by the way it comes.
pub(crate) type Answer = Either<Driven, Incoming>;

/// How much an upstream may send before it is read, of one answer and of all over one connection in HTTP/2.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// How often a connection in HTTP/2 is asked whether it is alive while answers are awaited, and how long it has for that.
const ALIVE: Duration = Duration::from_secs(60);
const ALIVE_ANSWER: Duration = Duration::from_secs(20);

type Connector = HttpsConnector<Gathering>;

/// How connections are made.
pub(crate) struct Connectors {
    plain: Gathering,
    secure: Connector,
}

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
pub(crate) fn connectors(routes: &Routes, connect: Duration) -> std::io::Result<Connectors> {
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
    let plain = Gathering(http);
    let secure = builder.https_only().enable_all_versions().wrap_connector(plain.clone());
    Ok(Connectors { plain, secure })
}

fn client(connector: Connector) -> Client<Connector, RequestTee> {
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
