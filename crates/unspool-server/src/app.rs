//! What all requests share, and which of them there are.

use crate::body::Reading;
use crate::guard::{self, Access, Door};
use crate::ingest::thoughtflow::{self, Ledgers};
use crate::notices::Notices;
use crate::proxy::ProxyPlace;
use crate::recorder::Recorder;
use crate::refusals::{self, Refusals};
use crate::{api, ingest, page};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tower_http::compression::CompressionLayer;
use unspool_answers::Layouts;
use unspool_engine::live::Engine;
use unspool_redact::Rules;

/// Sizes that requests are kept to; each is named in what it refuses, or in what is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request as sent: `max_body_bytes`.
    pub body_bytes: usize,
    /// Bytes of a request unpacked: `max_unpacked_bytes`.
    pub unpacked_bytes: usize,
    /// Bytes of all requests that are being read at one moment: `max_reading_bytes`.
    pub reading_bytes: usize,
    /// Sessions of the `ThoughtFlow` emitter that are remembered: `max_emitted_sessions`.
    pub emitted_sessions: usize,
    /// Runs and steps of all of them that are remembered: `max_emitted_ids`.
    pub emitted_ids: usize,
    /// Runs and steps of one of them: `max_session_ids`.
    pub session_ids: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 64 << 20,
            unpacked_bytes: 256 << 20,
            reading_bytes: 128 << 20,
            emitted_sessions: 4096,
            emitted_ids: 1 << 20,
            session_ids: 1 << 18,
        }
    }
}

/// How long is waited for others; each is named in the documents.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For the head of the next request on a connection: `max_head_s`.
    pub head: Duration,
    /// For more of a body: `max_body_silence_s`.
    pub body_silence: Duration,
    /// The same when others are refused for want of the room it takes: `max_body_silence_when_full_s`.
    pub body_silence_when_full: Duration,
    /// For requests under way when the server is to end: `max_drain_s`.
    pub drain: Duration,
}

impl Default for Times {
    fn default() -> Times {
        let [head, body_silence, body_silence_when_full, drain] = [75, 30, 2, 10].map(Duration::from_secs);
        Times { head, body_silence, body_silence_when_full, drain }
    }
}

/// What all requests share.
pub struct App {
    /// Where everything is kept and derived.
    pub engine: Arc<Engine>,
    /// Sizes.
    pub limits: Limits,
    /// Times.
    pub times: Times,
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
    /// What is masked in a report besides what looks like a secret.
    pub redact_rules: Rules,
    /// Records what the proxy carries, if there is one.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Where the proxy listens and its routes lead, once it does.
    pub(crate) proxy: OnceLock<ProxyPlace>,
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
            times: Times::default(),
            notices: Notices::default(),
            access: Access::default(),
            refusals: Refusals::default(),
            watched: None,
            reading: Reading::default(),
            redact_rules: Rules::default(),
            recorder: None,
            proxy: OnceLock::new(),
            ledgers: Ledgers::default(),
            saying: Mutex::default(),
            layouts: Arc::default(),
        }
    }

    /// How many bytes of requests are being read and unpacked at this moment.
    pub fn reading_bytes(&self) -> usize {
        self.reading.bytes()
    }

    /// How many requests were refused with 429: too much waited to be derived, or was being read.
    pub(crate) fn refused_busy(&self) -> u64 {
        self.engine.health().refused + self.reading.refused()
    }

    /// Has what the proxy carries recorded; what is lost of it is told with the other notices.
    pub fn record(&mut self, recorder: Arc<Recorder>) {
        self.notices = recorder.notices().clone();
        self.recorder = Some(recorder);
    }
}

/// All there is over HTTP.
pub(crate) fn router(app: Arc<App>, door: Door, stopping: &api::Stopping) -> Router {
    let routes = ingest::WAYS_IN
        .iter()
        .fold(api::routes(stopping), |routes, way| routes.route(way.path, (way.route)()));
    routes
        .route(api::ARTIFACT, get(thoughtflow::artifact))
        .merge(page::routes())
        .method_not_allowed_fallback(api::wrong_method)
        .fallback(api::missing)
        .layer(from_fn(api::readable_path))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(door, guard::http))
        .layer(from_fn_with_state(Arc::clone(&app), refusals::counted))
        .with_state(app)
}
