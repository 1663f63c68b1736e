//! Connections to upstreams, kept and used again.

use crate::driven::{Connections, Driven};
use crate::gathered::{Flushes, Gathered};
use crate::routes::Routes;
use crate::serve::StartError;
use crate::tee::RequestTee;
use crate::turns::Turns;
use http::header::{HOST, UPGRADE};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{HttpConnector, capture_connection};
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
    secure: Client<InTime<Connector>, RequestTee>,
    turns: Turns,
    /// Those that may speak another protocol later, encrypted or not.
    sockets: InTime<Connector>,
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
        let (secure, sockets) = (client(connector.secure.clone()), connector.sockets.clone());
        Upstreams { plain, secure, turns: Turns::default(), sockets }
    }

    pub(crate) async fn request(
        &self,
        mut request: Request<RequestTee>,
    ) -> Result<Response<Answer>, Unanswered> {
        if request.headers().contains_key(UPGRADE) {
            return Ok(self.upgrade(request).await?.map(Either::Right));
        }
        if request.uri().scheme_str() == Some("http") {
            return Ok(self.plain.request(request).await?.map(Either::Left));
        }
        let captured = capture_connection(&mut request);
        let answer = match request.uri().authority().cloned() {
            Some(to) => self.turns.take(to, captured, self.secure.request(request)).await,
            None => self.secure.request(request).await,
        };
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

    /// Sends a request over a connection that nobody else uses.
    async fn upgrade(&self, mut request: Request<RequestTee>) -> Result<Response<Incoming>, Unanswered> {
        let (to, _) = aim(&mut request)?;
        let wire = self.sockets.clone().call(to).await.map_err(Unanswered::Unreachable)?;
        let made = http1::Builder::new().preserve_header_case(true).handshake(wire).await;
        let (mut sender, connection) = made.map_err(|error| Unanswered::Unreachable(error.into()))?;
        // How it ended is told to whoever waits for the answer, or has the connection by then.
        tokio::spawn(async move { drop(connection.with_upgrades().await) });
        sender.send_request(request).await.map_err(|error| Unanswered::Broken(error.into()))
    }
}

/// Leaves of a request's address what its upstream is told. Gives the whole of it, and the host.
pub(crate) fn aim<B>(request: &mut Request<B>) -> Result<(Uri, Authority), Unanswered> {
    let to = std::mem::take(request.uri_mut());
    let authority = to.authority().cloned();
    let authority = authority.ok_or_else(|| Unanswered::Unreachable("it has no host".into()))?;
    let path = to.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    *request.uri_mut() = path.into();
    if let Ok(host) = HeaderValue::from_str(host(&to, &authority)) {
        request.headers_mut().insert(HOST, host);
    }
    Ok((to, authority))
}

/// The name of a host as requests say it.
fn host<'a>(to: &Uri, authority: &'a Authority) -> &'a str {
    let said = authority.as_str();
    let usual = if to.scheme_str() == Some("https") { 443 } else { 80 };
    if authority.port_u16() == Some(usual) {
        said.rsplit_once(':').map_or(said, |(host, _)| host)
    } else {
        said
    }
}

/// The body of an answer, by the way it comes.
pub(crate) type Answer = Either<Driven, Incoming>;

/// How much of one answer an upstream may send in HTTP/2 before it is read. A connection has room for more answers than it carries at once,
/// so that clients that do not read hold up nobody else.
const STREAM_WINDOW: u32 = 1 << 18;
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// How often a connection in HTTP/2 is asked whether it is alive while answers are awaited, and how long it has for that.
const ALIVE: Duration = Duration::from_secs(60);
const ALIVE_ANSWER: Duration = Duration::from_secs(20);

type Connector = HttpsConnector<Gathering>;

/// How connections are made.
pub(crate) struct Connectors {
    plain: Gathering,
    secure: InTime<Connector>,
    sockets: InTime<Connector>,
}

/// Connects within a time, encryption and all.
#[derive(Clone)]
pub(crate) struct InTime<C> {
    connector: C,
    limit: Duration,
}

impl<C> Service<Uri> for InTime<C>
where
    C: Service<Uri, Error = Box<dyn Error + Send + Sync>>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, C::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connected, limit) = (self.connector.call(uri), self.limit);
        Box::pin(async move {
            let connected = tokio::time::timeout(limit, connected).await;
            connected.map_err(|_| format!("no connection was made within {limit:?}"))?
        })
    }
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
pub(crate) fn connectors(routes: &Routes, connect: Duration) -> Result<Connectors, StartError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let plain = Gathering(http);
    let config = encryption(routes)?;
    // HTTP/2 has no upgrades.
    let mut of_sockets = config.clone();
    of_sockets.alpn_protocols = vec![b"http/1.1".to_vec()];
    let sockets = HttpsConnector::from((plain.clone(), of_sockets));
    let secure = HttpsConnectorBuilder::new().with_tls_config(config);
    let secure = secure.https_only().enable_all_versions().wrap_connector(plain.clone());
    let [secure, sockets] = [secure, sockets].map(|connector| InTime { connector, limit: connect });
    Ok(Connectors { plain, secure, sockets })
}

fn encryption(routes: &Routes) -> Result<rustls::ClientConfig, StartError> {
    let provider = rustls::crypto::ring::default_provider().into();
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?;
    let config = if routes.all().iter().any(|one| one.url.scheme_str() == Some("https")) {
        // It fails for no other reason than that there are none.
        config.with_native_roots().map_err(|_| StartError::NoCertificates)?
    } else {
        config.with_root_certificates(rustls::RootCertStore::empty())
    };
    Ok(config.with_no_client_auth())
}

fn client(connector: InTime<Connector>) -> Client<InTime<Connector>, RequestTee> {
    let mut client = Client::builder(TokioExecutor::new());
    client
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW);
    client.http2_keep_alive_interval(ALIVE).http2_keep_alive_timeout(ALIVE_ANSWER);
    client.http1_preserve_header_case(true).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
    client.build(connector)
}

/// Whether this process may open no more files, which connections are, too.
pub(crate) fn is_out_of_files(error: &(dyn Error + 'static)) -> bool {
    // EMFILE and ENFILE, wherever we run.
    let is_it = |error: &std::io::Error| cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24));
    let mut next = Some(error);
    while let Some(one) = next {
        if one.downcast_ref::<std::io::Error>().is_some_and(is_it) {
            return true;
        }
        next = one.source();
    }
    false
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
