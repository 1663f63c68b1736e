//! Recorded requests, sent again.
//!
//! In: an exchange, and where to send it with whose keys. Out: what came back, and whether it says what was said then. Only headers that are known
//! to say nothing about who calls are sent as recorded.

use crate::compare::{Verdict, compare};
use crate::request::open_pairs;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;
use unspool_formats::{Said, WholeAnswer, WholeExchange, WireApi};

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

/// An answer may have so many bytes: `max_replayed_body_bytes`.
const MAX_REPLAYED_BODY_BYTES: usize = 256 << 20;

/// Headers that are sent as recorded; a name that ends with `-` stands for all that begin so. No other is: it may be somebody's key.
const SENT_AS_RECORDED: [&str; 9] = [
    "accept",
    "content-type",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "x-app",
    "x-stainless-",
    "x-claude-code-",
];

/// The version that requests of Anthropic Messages state when the log does not.
const USUAL_ANTHROPIC_VERSION: &str = "2023-06-01";

/// Where to send, and as whom.
#[derive(Clone, Default)]
pub struct Target {
    /// The beginning of every address.
    pub upstream: Uri,
    /// Headers that are sent with every request, in the place of others of their names.
    pub headers: HeaderMap,
    /// The key for Anthropic's API.
    pub anthropic_key: Option<String>,
    /// The key for `OpenAI`'s.
    pub openai_key: Option<String>,
}

impl Target {
    /// Whether nothing leaves this machine.
    pub fn is_here(&self) -> bool {
        let host = self.upstream.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// The address of a recorded path. Keys in its query are left out.
    fn address(&self, path: &str) -> Result<Uri, http::Error> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query: Vec<&str> = open_pairs(query).collect();
        let mut place = format!("{}{path}", self.upstream.path().trim_end_matches('/'));
        if !query.is_empty() {
            place = format!("{place}?{}", query.join("&"));
        }
        let mut parts = self.upstream.clone().into_parts();
        parts.path_and_query = Some(place.parse()?);
        Ok(Uri::from_parts(parts)?)
    }

    fn headers(&self, exchange: &WholeExchange) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &exchange.headers {
            let name = name.to_ascii_lowercase();
            let known = |one: &str| if one.ends_with('-') { name.starts_with(one) } else { name == one };
            if SENT_AS_RECORDED.iter().any(|one| known(one)) && !value.starts_with("masked:") {
                insert(&mut headers, &name, value);
            }
        }
        if !headers.contains_key("content-type") && !exchange.body.is_empty() {
            insert(&mut headers, "content-type", "application/json");
        }
        if is_for_anthropic(exchange) {
            if !headers.contains_key("anthropic-version") {
                insert(&mut headers, "anthropic-version", USUAL_ANTHROPIC_VERSION);
            }
            if let Some(key) = &self.anthropic_key {
                insert(&mut headers, "x-api-key", key);
            }
        } else if let Some(key) = &self.openai_key {
            insert(&mut headers, "authorization", &format!("Bearer {key}"));
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        headers
    }
}

/// Whether a request is one of Anthropic's API: by what it asks for, or else by headers that only those have.
fn is_for_anthropic(exchange: &WholeExchange) -> bool {
    let is_own = |name: &str| name.starts_with("anthropic-") || name == "x-api-key";
    match exchange.api() {
        Some(api) => api == WireApi::Messages,
        None => exchange.headers.iter().any(|(name, _)| is_own(&name.to_ascii_lowercase())),
    }
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The status now.
    pub status: Option<u16>,
    /// Milliseconds to the first byte of the body, and to the end.
    pub first_ms: f64,
    /// Milliseconds to the end.
    pub took_ms: f64,
    /// What it says now.
    pub said: Said,
    /// Compared with then.
    pub verdict: Verdict,
}

/// Sends requests.
#[derive(Clone)]
pub struct Sender {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    target: Target,
}

impl Sender {
    /// A client for a target. The certificates of this machine are read if it needs them.
    pub fn new(target: Target) -> io::Result<Sender> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let builder = if target.upstream.scheme_str() == Some("https") {
            // It fails for no other reason than that there are none.
            let none = |_| io::Error::new(io::ErrorKind::NotFound, "this machine has no CA certificates");
            HttpsConnectorBuilder::new().with_native_roots().map_err(none)?
        } else {
            let ring = rustls::crypto::ring::default_provider();
            let config = rustls::ClientConfig::builder_with_provider(ring.into())
                .with_safe_default_protocol_versions()
                .map_err(io::Error::other)?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            HttpsConnectorBuilder::new().with_tls_config(config)
        };
        let connector = builder.https_or_http().enable_http1().enable_http2().wrap_connector(http);
        Ok(Sender { client: Client::builder(TokioExecutor::new()).build(connector), target })
    }

    /// Sends a recorded request and compares the answer.
    pub async fn send(&self, exchange: &WholeExchange) -> Outcome {
        let began = Instant::now();
        let came = tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(exchange, began)).await;
        let came = came.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs())));
        let took_ms = began.elapsed().as_secs_f64() * 1e3;
        match came {
            Ok((answer, first_ms)) => {
                let said = answer.said();
                let verdict = match &exchange.answer {
                    Some(then) => compare(exchange, then, &answer, &said),
                    None => Verdict::NothingRecorded,
                };
                Outcome { status: answer.status, first_ms, took_ms, said, verdict }
            }
            Err(why) => {
                let verdict = Verdict::NoAnswer(why);
                Outcome { status: None, first_ms: took_ms, took_ms, said: Said::default(), verdict }
            }
        }
    }

    async fn exchange(&self, exchange: &WholeExchange, began: Instant) -> Result<(WholeAnswer, f64), String> {
        let path =
            exchange.path.as_deref().or_else(|| exchange.api().map(WireApi::usual_path)).unwrap_or("/");
        let method = exchange.method().parse().unwrap_or(Method::POST);
        let address = self.target.address(path).map_err(|error| error.to_string())?;
        let mut request = Request::new(Full::new(Bytes::copy_from_slice(&exchange.body)));
        (*request.method_mut(), *request.uri_mut()) = (method, address);
        *request.headers_mut() = self.target.headers(exchange);
        let response = self.client.request(request).await.map_err(|error| causes(&error))?;
        let (head, mut body) = response.into_parts();
        let mut answer = WholeAnswer { status: Some(head.status.as_u16()), ..WholeAnswer::default() };
        let mut first_ms = None;
        while let Some(frame) = body.frame().await {
            first_ms = first_ms.or_else(|| Some(began.elapsed().as_secs_f64() * 1e3));
            let Ok(frame) = frame else {
                answer.is_cut = true;
                break;
            };
            answer.body.extend_from_slice(frame.data_ref().map(|data| &data[..]).unwrap_or_default());
            if answer.body.len() > MAX_REPLAYED_BODY_BYTES {
                return Err(format!(
                    "the answer is over the limit `max_replayed_body_bytes` ({MAX_REPLAYED_BODY_BYTES})"
                ));
            }
        }
        Ok((answer, first_ms.unwrap_or_default()))
    }
}

/// An error and what led to it, in words.
fn causes(error: &dyn Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::Target;
    use unspool_formats::WholeExchange;

    fn target(upstream: &str) -> Target {
        let keys = (Some("sk-a".into()), Some("sk-o".into()));
        Target {
            upstream: upstream.parse().unwrap(),
            anthropic_key: keys.0,
            openai_key: keys.1,
            ..Target::default()
        }
    }

    #[test]
    fn recorded_credentials_are_never_sent() {
        let recorded = r#"{"path":"/v1/messages","headers":{"Authorization":"Bearer sk-real","x-api-key":"masked:12",
          "cookie":"a=b","x-my-own-secret":"s","user-agent":"claude-cli/2.1","anthropic-beta":"masked:99",
          "x-stainless-lang":"js"},"body":{"model":"m"}}"#;
        let exchange = WholeExchange::read(recorded.as_bytes()).unwrap();
        let mut target = target("http://127.0.0.1:1");
        let sent = target.headers(&exchange);
        let mut names: Vec<&str> = sent.keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["anthropic-version", "content-type", "user-agent", "x-api-key", "x-stainless-lang"]
        );
        assert_eq!(sent["x-api-key"], "sk-a");
        target.headers.insert("x-api-key", "mine".parse().unwrap());
        assert_eq!(target.headers(&exchange)["x-api-key"], "mine");
        let chat = WholeExchange::read(br#"{"path":"/v1/chat/completions","body":{"model":"m"}}"#).unwrap();
        assert_eq!(target.headers(&chat)["authorization"], "Bearer sk-o");
        target.headers.clear();
        for (header, sent) in [
            ("x-api-key", "x-api-key"),
            ("anthropic-version", "x-api-key"),
            ("authorization", "authorization"),
        ] {
            let listed = format!(
                r#"{{"unspool":"exchange","request":{{"method":"GET","path":"/v1/models","headers":[["{header}","masked:1"]]}}}}"#
            );
            let headers = target.headers(&WholeExchange::read(listed.as_bytes()).unwrap());
            let keys = ["x-api-key", "authorization"].map(|name| headers.contains_key(name));
            assert_eq!(
                keys,
                [sent == "x-api-key", sent == "authorization"],
                "nobody gets the key of another"
            );
        }
    }

    #[test]
    fn addresses_are_joined_and_lose_their_keys() {
        let at = |upstream: &str, path: &str| target(upstream).address(path).unwrap().to_string();
        assert_eq!(at("http://h:1/", "/v1/messages?beta=true"), "http://h:1/v1/messages?beta=true");
        assert_eq!(at("https://h/base/", "/v1/x?key=masked:1&a=b&api_key=2"), "https://h/base/v1/x?a=b");
        assert_eq!(at("https://h", "/v1/x?key=1"), "https://h/v1/x");
        assert_eq!(
            at("http://h", "/x?models%5B%5D=a%20b&%6bey=1&auth%5Btoken%5D=2"),
            "http://h/x?models%5B%5D=a%20b"
        );
        assert_eq!(at("http://h", "/x?models%5B%5D=masked:12&b=1"), "http://h/x?b=1");
    }

    #[test]
    fn only_this_machine_is_here() {
        for (url, here) in [
            ("http://127.0.0.1:4690", true),
            ("http://localhost", true),
            ("http://[::1]:9", true),
            ("https://api.anthropic.com", false),
            ("http://10.0.0.1", false),
            ("http://127.0.0.1.example.com", false),
        ] {
            assert_eq!(target(url).is_here(), here, "{url}");
        }
    }
}
