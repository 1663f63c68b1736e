//! What all requests share, and which of them there are.

use crate::body::Reading;
use crate::guard::{self, Access, Door};
use crate::ingest::thoughtflow::{self, Ledgers};
use crate::notices::Notices;
use crate::recorder::Recorder;
use crate::refusals::{self, Refusals};
use crate::{api, ingest, page};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use tower_http::compression::CompressionLayer;
use unspool_answers::Layouts;
use unspool_engine::live::Engine;

/// Sizes that requests are kept to; each is named in what it refuses.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request as sent: `max_body_bytes`.
    pub body_bytes: usize,
    /// Bytes of a request unpacked: `max_unpacked_bytes`.
    pub unpacked_bytes: usize,
    /// Bytes of all requests that are being read at one moment: `max_reading_bytes`.
    pub reading_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { body_bytes: 64 << 20, unpacked_bytes: 256 << 20, reading_bytes: 128 << 20 }
    }
}

/// What all requests share.
pub struct App {
    /// Where everything is kept and derived.
    pub engine: Arc<Engine>,
    /// Sizes.
    pub limits: Limits,
    /// What is told beside the changes of sessions.
    pub notices: Notices,
    /// Who may come in.
    pub access: Access,
    /// What was refused so far.
    pub refusals: Refusals,
    /// The folders that are watched and there, if any are watched.
    pub watched: Option<fn() -> Vec<PathBuf>>,
    /// How much of requests is being read.
    pub(crate) reading: Reading,
    /// Records what the proxy carries, if there is one.
    pub recorder: Option<Arc<Recorder>>,
    /// Where the proxy listens and its routes, once it does.
    pub(crate) proxy: OnceLock<(SocketAddr, Vec<String>)>,
    pub(crate) ledgers: Ledgers,
    /// Held while somebody says something about a link.
    pub(crate) saying: Mutex<()>,
    pub(crate) layouts: Arc<Layouts>,
}

impl App {
    /// The usual sizes around an engine.
    pub fn new(engine: impl Into<Arc<Engine>>) -> App {
        App {
            engine: engine.into(),
            limits: Limits::default(),
            notices: Notices::default(),
            access: Access::default(),
            refusals: Refusals::default(),
            watched: None,
            reading: Reading::default(),
            recorder: None,
            proxy: OnceLock::new(),
            ledgers: Ledgers::default(),
            saying: Mutex::default(),
            layouts: Arc::default(),
        }
    }
}

/// All there is over HTTP.
pub(crate) fn router(app: Arc<App>, door: Door, stopping: &api::Stopping) -> Router {
    api::routes(stopping)
        .route("/v1/traces", post(ingest::otlp::traces))
        .route("/v1/logs", post(ingest::otlp::logs))
        .route("/v1/ingest", post(ingest::upload::ingest))
        .route("/v1/hooks", post(ingest::hooks::hooks))
        .merge(thoughtflow_routes())
        .merge(page::routes())
        .method_not_allowed_fallback(api::wrong_method)
        .fallback(api::missing)
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(door, guard::http))
        .layer(from_fn_with_state(Arc::clone(&app), refusals::counted))
        .with_state(app)
}

fn thoughtflow_routes() -> Router<Arc<App>> {
    let run = "/v1/thoughtflow/sessions/{session}/runs/{run}";
    Router::new()
        .route("/v1/thoughtflow/events", post(thoughtflow::events))
        .route("/v1/thoughtflow/sessions", post(thoughtflow::session_start))
        .route("/v1/thoughtflow/sessions/{session}/complete", post(thoughtflow::session_end))
        .route("/v1/thoughtflow/sessions/{session}/runs", post(thoughtflow::run_start))
        .route(&format!("{run}/complete"), post(thoughtflow::run_end))
        .route(&format!("{run}/steps"), post(thoughtflow::step_start))
        .route(&format!("{run}/steps/{{step}}/complete"), post(thoughtflow::step_end))
        .route("/thoughtflow/{file}", get(thoughtflow::artifact))
}
