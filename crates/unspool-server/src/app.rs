//! What all requests share, and which of them there are.

use crate::{api, ingest};
use axum::Router;
use axum::routing::post;
use std::sync::Arc;
use tower_http::compression::CompressionLayer;
use unspool_engine::live::Engine;

/// Sizes that requests are kept to; each is named in what it refuses.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request as sent: `max_body_bytes`.
    pub body_bytes: usize,
    /// Bytes of a request unpacked: `max_unpacked_bytes`.
    pub unpacked_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { body_bytes: 64 << 20, unpacked_bytes: 256 << 20 }
    }
}

/// What all requests share.
pub struct App {
    /// Where everything is kept and derived.
    pub engine: Engine,
    /// Sizes.
    pub limits: Limits,
}

/// All there is over HTTP.
pub(crate) fn router(app: Arc<App>, stopping: &api::Stopping) -> Router {
    api::routes(stopping)
        .route("/v1/traces", post(ingest::otlp::traces))
        .route("/v1/logs", post(ingest::otlp::logs))
        .fallback(api::missing)
        .layer(CompressionLayer::new())
        .with_state(app)
}
