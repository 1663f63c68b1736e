//! Who may come in: by the address, by the name they call us, by the page they come from, by a token.
//!
//! In: every request, before anything else sees it. Out: the request, or why not. A browser can be made to send requests to this machine by any page;
//! names and origins are looked at so that none but our own is listened to.

use crate::error::ApiError;
use crate::grpc::refuse;
use crate::ingest::otlp;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use unspool_proxy::{Names, host_of};
use unspool_store::{Scope, Stamp, Token, TokenError, Tokens};

/// So many hashes are computed at a time: each takes 19 MiB.
const HASHES_AT_A_TIME: usize = 2;
/// Tokens that are remembered as verified.
const REMEMBERED: usize = 1024;

/// What the server is told about who may come in.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Beyond this machine without a token, too.
    pub allow_unauthenticated: bool,
    /// On this machine with a token only, too.
    pub require_token: bool,
    /// Names it may be called by, beside those of this machine and the one it listens on.
    pub hosts: Vec<String>,
}

/// The tokens, and those that were verified lately.
pub(crate) struct Keys {
    tokens: Tokens,
    verified: Mutex<Verified>,
    hashing: Semaphore,
}

#[derive(Default)]
struct Verified {
    stamp: Stamp,
    tokens: Vec<Token>,
    /// By the hash of their text.
    scopes: HashMap<[u8; 32], Scope>,
}

impl Keys {
    pub(crate) fn of(data: &Path) -> Keys {
        Keys {
            tokens: Tokens::of(data),
            verified: Mutex::default(),
            hashing: Semaphore::new(HASHES_AT_A_TIME),
        }
    }

    pub(crate) fn is_empty(&self) -> Result<bool, TokenError> {
        self.tokens.all().map(|all| all.is_empty())
    }

    /// What a token is good for; `None` when it is none. The first time takes a moment, the next ones do not.
    async fn scope(&self, text: &str) -> Result<Option<Scope>, ApiError> {
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        let (known, found) = self.look_up(&key, text).map_err(|error| {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "tokens", error.to_string())
                .with_hint("`unspool token ls` says the same; mend or remove the file")
        })?;
        let Some(found) = found.filter(|_| known.is_none()) else { return Ok(known) };
        let Ok(_turn) = self.hashing.acquire().await else { return Ok(None) };
        let (text, scope) = (text.to_string(), found.scope);
        let stamp = held(&self.verified).stamp;
        let is = tokio::task::spawn_blocking(move || found.is(&text)).await.unwrap_or(false);
        let mut verified = held(&self.verified);
        if is && verified.stamp == stamp && verified.scopes.len() < REMEMBERED {
            verified.scopes.insert(key, scope);
        }
        Ok(is.then_some(scope))
    }

    /// A verified token's scope, or the token it may be. Tokens that were made or revoked meanwhile are seen.
    fn look_up(&self, key: &[u8; 32], text: &str) -> Result<(Option<Scope>, Option<Token>), TokenError> {
        let stamp = self.tokens.stamp();
        let mut verified = held(&self.verified);
        if verified.stamp != stamp {
            let tokens = self.tokens.all()?;
            *verified = Verified { stamp, tokens, scopes: HashMap::new() };
        }
        let id = Token::id_in(text).unwrap_or_default();
        let token = verified.tokens.iter().find(|token| token.id == id).cloned();
        Ok((verified.scopes.get(key).copied(), token))
    }
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the addresses listened on.
#[derive(Clone)]
pub(crate) struct Door {
    keys: Arc<Keys>,
    /// Nobody is asked for a token.
    open: bool,
    /// What it may be called.
    names: Arc<Names>,
}

impl Door {
    /// The door of an address; `None` when it would be open to everybody and nobody said so.
    pub(crate) fn of(
        keys: &Arc<Keys>,
        access: &Access,
        asked: &str,
        bound: SocketAddr,
    ) -> Result<Option<Door>, TokenError> {
        let loopback = bound.ip().is_loopback();
        let open = if loopback { !access.require_token } else { access.allow_unauthenticated };
        if !open && !loopback && keys.is_empty()? {
            return Ok(None);
        }
        let names = access.hosts.iter().map(String::as_str).chain([host_of(asked)]);
        let names = Arc::new(Names::new(loopback, names));
        Ok(Some(Door { keys: Arc::clone(keys), open, names }))
    }

    fn check_names(&self, parts: &Parts) -> Result<(), ApiError> {
        let said = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = parts.uri.authority().map(axum::http::uri::Authority::as_str).or(said).unwrap_or_default();
        if !self.names.is_called(host) {
            let hint = "use localhost or the address; `unspool serve --allow-host NAME` allows another name";
            return Err(forbidden("foreign_host", format!("this server is not called `{host}`"), hint));
        }
        check_origin(&parts.headers, host)
    }

    /// What it came in by; none where nobody is asked for a token.
    async fn check_token(&self, parts: &Parts, wanted: Scope) -> Result<Option<Pass>, ApiError> {
        if self.open {
            return Ok(None);
        }
        let unauthorized = |code, message: &str| {
            ApiError::new(StatusCode::UNAUTHORIZED, code, message).with_hint(format!(
                "send `Authorization: Bearer TOKEN`; `unspool token create --scope {}` makes one, with the `--data-dir` of the server if it has one",
                wanted.name()
            ))
        };
        let said = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let text = said.and_then(|said| {
            let (kind, text) = said.trim().split_once(' ')?;
            kind.eq_ignore_ascii_case("bearer").then(|| text.trim())
        });
        let text = text.ok_or_else(|| unauthorized("no_token", "a token is needed"))?;
        match self.keys.scope(text).await? {
            None => Err(unauthorized("bad_token", "the token is not known, or was revoked")),
            Some(scope) if scope.allows(wanted) => {
                Ok(Some(Pass { keys: Arc::clone(&self.keys), text: text.into(), wanted }))
            }
            Some(scope) => {
                let message =
                    format!("the token's scope is `{}`, and `{}` is needed", scope.name(), wanted.name());
                let hint = format!("`unspool token create --scope {}` makes one", wanted.name());
                Err(ApiError::new(StatusCode::FORBIDDEN, "wrong_scope", message).with_hint(hint))
            }
        }
    }
}

/// The token a request came in by, so that an answer that goes on can see whether it is still good.
#[derive(Clone)]
pub(crate) struct Pass {
    keys: Arc<Keys>,
    text: Arc<str>,
    wanted: Scope,
}

impl Pass {
    /// Whether a request would still come in by it. Where the tokens cannot be read, none does.
    pub(crate) async fn holds(&self) -> bool {
        let scope = self.keys.scope(&self.text).await;
        matches!(scope, Ok(Some(scope)) if scope.allows(self.wanted))
    }
}

fn forbidden(code: &'static str, message: String, hint: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, code, message).with_hint(hint)
}

/// A page that sends a request says where it is from, and that must be here.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or("?");
    let ours = origin.split_once("://").is_some_and(|(scheme, authority)| {
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let plain = |authority: &str| authority.strip_suffix(usual).unwrap_or(authority).to_ascii_lowercase();
        matches!(scheme, "http" | "https") && plain(authority) == plain(host)
    });
    if ours {
        return Ok(());
    }
    let hint = "pages of other sites are not answered; programs leave `Origin` out";
    Err(forbidden("foreign_origin", format!("the page at `{origin}` is not this server's"), hint))
}

/// What a request needs a token for; pages and their parts hold no data and need none.
fn scope_of(method: &Method, path: &str) -> Option<Scope> {
    if path.starts_with("/v1/") {
        return Some(Scope::Ingest);
    }
    let holds_data =
        ["/api/", "/thoughtflow/"].iter().any(|start| path.starts_with(start)) || path == "/metrics";
    if method == Method::GET || method == Method::HEAD {
        return holds_data.then_some(Scope::Read);
    }
    // What people say about links is a record like any other.
    let mut parts = path.strip_prefix("/api/v1/sessions/").unwrap_or_default().split('/').skip(1);
    if parts.next() == Some("links") {
        return Some(Scope::Ingest);
    }
    Some(Scope::Admin)
}

/// Over HTTP.
pub(crate) async fn http(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut checked = door.check_names(&parts).map(|()| None);
    if let (Ok(_), Some(wanted)) = (&checked, scope_of(&parts.method, parts.uri.path())) {
        checked = door.check_token(&parts, wanted).await;
    }
    let error = match checked {
        Ok(pass) => {
            if let Some(pass) = pass {
                parts.extensions.insert(pass);
            }
            return next.run(Request::from_parts(parts, body)).await;
        }
        Err(error) => error,
    };
    let is_otlp = ["/v1/traces", "/v1/logs", "/v1/metrics"].contains(&parts.uri.path());
    let status = error.status;
    let mut response = if is_otlp {
        otlp::refuse_with(&error, otlp::is_json(&parts.headers))
    } else {
        error.into_response()
    };
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Over gRPC. No page of a browser speaks it, but one can send the bytes of it, as plain text and without asking first: so they have to be called what they are, and names
/// and origins are looked at as everywhere.
pub(crate) async fn grpc(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let checked = match check_grpc(&parts.headers).and_then(|()| door.check_names(&parts)) {
        Ok(()) => door.check_token(&parts, Scope::Ingest).await,
        Err(error) => Err(error),
    };
    match checked {
        Ok(_) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => refuse(&error),
    }
}

fn check_grpc(headers: &HeaderMap) -> Result<(), ApiError> {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let rest = said.strip_prefix("application/grpc").map(str::as_bytes);
    if rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';'))) {
        return Ok(());
    }
    let error = ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "no_grpc", format!("`{said}` is not gRPC"));
    Err(error.with_hint("this address takes application/grpc; OTLP over HTTP goes to the page's address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(asked: &str, bound: &str) -> Door {
        let keys = Arc::new(Keys::of(Path::new("/nowhere")));
        let access =
            Access { allow_unauthenticated: true, hosts: vec!["My.Proxy".into()], ..Access::default() };
        Door::of(&keys, &access, asked, bound.parse().unwrap()).unwrap().unwrap()
    }

    #[test]
    fn names_that_could_be_made_to_lead_here_are_refused() {
        let local = door("127.0.0.1:4680", "127.0.0.1:4680");
        for good in [
            "localhost",
            "LOCALHOST:1",
            "a.localhost",
            "127.0.0.1:4680",
            "127.1.2.3",
            "[::1]:4680",
            "my.proxy:80",
            "localhost.",
        ] {
            assert!(local.names.is_called(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "evil.example:4680",
            "10.0.0.1",
            "169.254.169.254",
            "127.0.0.1.evil.example",
            "user@evil.example",
        ] {
            assert!(!local.names.is_called(bad), "{bad}");
        }
        let open = door("box.lan:4680", "10.0.0.1:4680");
        for good in ["box.lan", "10.0.0.1:4680", "192.168.1.1", "[fe80::1]:4680", "localhost"] {
            assert!(open.names.is_called(good), "{good}");
        }
        assert!(!open.names.is_called("evil.example"));
    }

    #[test]
    fn an_origin_is_the_host_or_nothing() {
        let check = |origin: &str, host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            check_origin(&headers, host).is_ok()
        };
        assert!(check_origin(&HeaderMap::new(), "localhost").is_ok());
        assert!(
            check("http://localhost:4680", "localhost:4680") && check("http://LocalHost", "localhost:80")
        );
        assert!(check("https://box.lan", "box.lan:443") && check("https://box.lan", "box.lan"));
        for bad in [
            "null",
            "http://localhost:4681",
            "http://evil.example",
            "file://localhost:4680",
            "localhost:4680",
            "http://localhost:4680.evil.example",
        ] {
            assert!(!check(bad, "localhost:4680"), "{bad}");
        }
    }

    #[test]
    fn every_path_has_the_scope_it_needs() {
        for (method, path, scope) in [
            (Method::POST, "/v1/traces", Some(Scope::Ingest)),
            (Method::POST, "/v1/thoughtflow/events", Some(Scope::Ingest)),
            (Method::GET, "/api/v1/health", Some(Scope::Read)),
            (Method::GET, "/thoughtflow/s.json", Some(Scope::Read)),
            (Method::GET, "/metrics", Some(Scope::Read)),
            (Method::POST, "/api/v1/sessions/x1/links", Some(Scope::Ingest)),
            (Method::DELETE, "/api/v1/sessions/x1/links/r1", Some(Scope::Ingest)),
            (Method::GET, "/api/v1/sessions/x1/links", Some(Scope::Read)),
            (Method::POST, "/api/v1/sessions/links", Some(Scope::Admin)),
            (Method::DELETE, "/api/v1/sessions/x", Some(Scope::Admin)),
            (Method::GET, "/", None),
            (Method::GET, "/app.js", None),
        ] {
            assert_eq!(scope_of(&method, path), scope, "{method} {path}");
        }
    }
}
