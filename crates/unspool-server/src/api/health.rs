//! How it stands.

use super::endpoint::Call;
use crate::error::ApiError;
use crate::proxy::{self, ProxyPlace};
use crate::recorder::Recorder;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_answers::Reply;
use unspool_engine::live::Health;
use unspool_proxy::{Loss, Sockets, Way, Went};

/// How it stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HealthDoc {
    /// `ok`, or `degraded` when records are kept and nothing is derived from them, or the last one that was sent could not be kept.
    status: &'static str,
    version: &'static str,
    records_stored: u64,
    records_duplicate: u64,
    records_rejected: u64,
    steps_visible: u64,
    sessions: u64,
    /// How long the oldest record that is kept and not visible has been waiting.
    lag_ms: i64,
    /// How long the oldest change that words do not find has been waiting.
    index_lag_ms: i64,
    /// Bytes that what waits to be derived takes in memory.
    pending_bytes: u64,
    /// Families over `max_family_records`, which are linked less often.
    large_families: u64,
    /// What was refused with 429 since the process began, because too much waited (`max_pending_bytes`) or was being read (`max_reading_bytes`). Refusals of all sorts are
    /// counted in `unspool_requests_refused_total`, by code.
    refused: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Folders that are watched; null when none is.
    watched_folders: Option<Vec<String>>,
    /// What the proxy carried, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<ProxyDoc>,
    /// What was found and mended at the start and since, in plain words.
    notices: Vec<String>,
    /// Why words do not find what is new, if that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    index_problem: Option<String>,
}

/// What the proxy carried.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProxyDoc {
    /// Where it listens.
    address: Option<String>,
    /// The first parts of the paths that lead to upstreams, and where they lead.
    routes: BTreeMap<String, String>,
    /// Exchanges since the process began.
    exchanges: u64,
    /// Bytes that wait in memory to be recorded.
    held_bytes: u64,
    /// Bytes that wait in a file to be recorded.
    spooled_bytes: u64,
    /// Exchanges that were not recorded, or not whole, by the reason.
    lost: BTreeMap<&'static str, u64>,
    /// Bodies that could not be unpacked and are kept packed.
    still_packed: u64,
    /// Connections that no longer spoke HTTP: `WebSockets`.
    sockets: SocketsDoc,
}

/// Connections that no longer spoke HTTP: `WebSockets`, and what went over them since the process began.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SocketsDoc {
    open: u64,
    opened: u64,
    /// From clients to upstreams.
    up: WentDoc,
    /// From upstreams to clients.
    down: WentDoc,
}

/// What went one way.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WentDoc {
    bytes: u64,
    messages: u64,
    /// Messages of which nothing is recorded but that they were there.
    unread: u64,
}

impl SocketsDoc {
    fn of(sockets: &Sockets) -> SocketsDoc {
        let went = |way| {
            let Went { bytes, messages, unread } = sockets.went(way);
            WentDoc { bytes, messages, unread }
        };
        SocketsDoc {
            open: sockets.open(),
            opened: sockets.opened(),
            up: went(Way::Up),
            down: went(Way::Down),
        }
    }
}

impl ProxyDoc {
    fn of(place: Option<&ProxyPlace>, recorder: &Recorder) -> ProxyDoc {
        let room = recorder.room();
        ProxyDoc {
            address: place.map(|(address, _)| address.to_string()),
            routes: place.map(|(_, routes)| routes.clone()).unwrap_or_default(),
            exchanges: room.exchanges(),
            held_bytes: room.held(),
            spooled_bytes: recorder.spooled_bytes(),
            lost: Loss::ALL.iter().map(|loss| (loss.name(), room.lost(*loss))).collect(),
            still_packed: recorder.still_packed(),
            sockets: SocketsDoc::of(&room.sockets),
        }
    }
}

impl HealthDoc {
    fn of(health: Health, problem: Option<String>, proxy: Option<ProxyDoc>) -> HealthDoc {
        HealthDoc {
            status: if problem.is_none() { "ok" } else { "degraded" },
            version: env!("CARGO_PKG_VERSION"),
            records_stored: health.records_stored,
            records_duplicate: health.records_duplicate,
            records_rejected: health.records_rejected,
            steps_visible: health.steps_visible,
            sessions: health.sessions,
            lag_ms: health.lag_ms,
            index_lag_ms: health.index_lag_ms,
            pending_bytes: health.pending_bytes,
            large_families: health.large_families,
            refused: health.refused,
            problem,
            watched_folders: None,
            proxy,
            notices: Vec::new(),
            index_problem: None,
        }
    }

    /// While nothing is open, and nothing is known but what the proxy carried.
    pub(crate) fn awaited(why: String, place: &ProxyPlace, recorder: &Recorder) -> HealthDoc {
        let proxy = ProxyDoc::of(Some(place), recorder);
        let notices = recorder.notice().into_iter().collect();
        HealthDoc { notices, ..HealthDoc::of(Health::default(), Some(why), Some(proxy)) }
    }
}

pub(crate) fn health(call: &Call) -> Result<Reply, ApiError> {
    let engine = &call.app.engine;
    // First what waits for the engine: it may be there at the next moment.
    let proxy = call.app.recorder.as_deref().map(|recorder| ProxyDoc::of(call.app.proxy.get(), recorder));
    let more = proxy::notice(&call.app).into_iter().chain(call.app.ledgers.notice(&call.app.limits));
    Ok(Reply::json(HealthDoc {
        watched_folders: call
            .app
            .watched
            .map(|folders| folders().iter().map(|folder| folder.display().to_string()).collect()),
        notices: engine.notices().into_iter().chain(more).collect(),
        index_problem: engine.index_problem(),
        refused: call.app.refused_busy(),
        ..HealthDoc::of(engine.health(), engine.broken(), proxy)
    }))
}
