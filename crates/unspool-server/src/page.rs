//! The page: three files that are built from `web/` and lie in `page/`, so that nothing but this program is needed to see it.
//!
//! In: requests for the page or its parts. Out: the files, which hold no data; the page asks for that itself. Paths that the page
//! understands, such as `/sessions/ID`, get the page.

use crate::api::{has_tag, known_tags};
use crate::app::App;
use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use std::sync::Arc;

/// A file of the page.
#[derive(Clone, Copy)]
struct Part {
    media: &'static str,
    bytes: &'static [u8],
}

const HTML: Part = Part { media: "text/html; charset=utf-8", bytes: include_bytes!("../page/index.html") };
const SCRIPT: Part =
    Part { media: "text/javascript; charset=utf-8", bytes: include_bytes!("../page/app.js") };
const STYLE: Part = Part { media: "text/css; charset=utf-8", bytes: include_bytes!("../page/app.css") };

/// The page for a file that needs no server.
pub(crate) const IN_FILE: unspool_report::Page = unspool_report::Page {
    script: include_str!("../page/app.js"),
    style: include_str!("../page/app.css"),
    answers: include_bytes!("../report/answers.wasm.deflate"),
};

/// Nothing comes from elsewhere, nothing runs that is not ours, nobody puts the page into theirs. Pictures inside records are `data:`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", part(HTML))
        .route("/sessions", part(HTML))
        .route("/sessions/{id}", part(HTML))
        .route("/issues", part(HTML))
        .route("/usage", part(HTML))
        .route("/diff", part(HTML))
        .route("/app.js", part(SCRIPT))
        .route("/app.css", part(STYLE))
}

fn part(part: Part) -> MethodRouter<Arc<App>> {
    let hash = blake3::hash(part.bytes).to_hex();
    let tag = HeaderValue::try_from(format!("W/\"p{}\"", &hash[..16]));
    let tag = tag.unwrap_or_else(|_| HeaderValue::from_static("W/\"p\""));
    get(move |headers: HeaderMap| async move { answer(part, &tag, &headers) })
}

fn answer(part: Part, tag: &HeaderValue, headers: &HeaderMap) -> Response {
    let is_known = match (known_tags(headers), tag.to_str()) {
        (Some(known), Ok(tag)) => has_tag(&known, tag),
        _ => false,
    };
    let mut response =
        if is_known { StatusCode::NOT_MODIFIED.into_response() } else { part.bytes.into_response() };
    let set = response.headers_mut();
    set.insert(header::CONTENT_TYPE, HeaderValue::from_static(part.media));
    set.insert(header::ETAG, tag.clone());
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    set.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
