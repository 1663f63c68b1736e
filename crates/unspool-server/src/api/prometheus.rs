//! How it stands, for Prometheus.

use super::endpoint::Call;
use super::endpoints::ENDPOINTS;
use crate::error::ApiError;
use crate::recorder::Recorder;
use std::fmt::Write as _;
use unspool_answers::Reply;
use unspool_engine::HookSpool;
use unspool_proxy::{Loss, Sockets, Way, Went};

/// The media type of the text format.
pub(crate) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Text in the making.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, sort: &str, about: &str) {
        let _ = write!(self.text, "# HELP unspool_{name} {about}\n# TYPE unspool_{name} {sort}\n");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "unspool_{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, sort: &str, about: &str, value: impl std::fmt::Display) {
        self.head(name, sort, about);
        self.line(name, "", value);
    }
}

pub(crate) fn metrics(call: &Call) -> Result<Reply, ApiError> {
    let engine = &call.app.engine;
    let (health, log) = (engine.health(), engine.log_size());
    let mut page = Page::default();
    page.one(
        "up",
        "gauge",
        "1 while what is sent is kept and derived, 0 when that fails.",
        u8::from(engine.broken().is_none()),
    );
    page.one(
        "queue_bytes",
        "gauge",
        "Bytes that what is kept and waits to be derived takes in memory.",
        health.pending_bytes,
    );
    let limit = engine.options().max_pending_bytes;
    page.one("queue_bytes_limit", "gauge", "Bytes that may wait before more is refused.", limit);
    #[expect(clippy::cast_precision_loss, reason = "a lag of years need not be exact")]
    let [lag, index_lag] = [health.lag_ms, health.index_lag_ms].map(|ms| ms as f64 / 1e3);
    page.one("lag_seconds", "gauge", "How long what waits longest has been waiting to be derived.", lag);
    let about = "How long what waits longest has been waiting to be found by its words.";
    page.one("index_lag_seconds", "gauge", about, index_lag);
    page.head("records", "gauge", "Records by what became of them.");
    page.line("records", "{outcome=\"stored\"}", health.records_stored);
    page.line("records", "{outcome=\"duplicate\"}", health.records_duplicate);
    page.line("records", "{outcome=\"rejected\"}", health.records_rejected);
    let about = "Acknowledged records that are known to be lost: the log is damaged where they were.";
    page.one("dropped_total", "counter", about, engine.lost_records());
    page.one(
        "refused_total",
        "counter",
        "Arrivals that were refused with 429, because too much waited or was being read.",
        call.app.refused_busy(),
    );
    page.head("requests_refused_total", "counter", "Requests that were refused, by the code of their error.");
    for (code, count) in call.app.refusals.all() {
        page.line("requests_refused_total", &format!("{{code=\"{code}\"}}"), count);
    }
    let hooks = HookSpool::of(&engine.options().folder).standing();
    page.one("hook_spool_bytes", "gauge", "Bytes of hook events that wait to be taken.", hooks.bytes);
    page.one(
        "hook_events_dropped_total",
        "counter",
        "Hook events that found no server and no room to wait (max_spool_bytes).",
        hooks.dropped,
    );
    page.one(
        "thoughtflow_unchecked_total",
        "counter",
        "ThoughtFlow events that were taken without a look whether what they end began (max_session_ids).",
        call.app.ledgers.unchecked(),
    );
    if let Some(recorder) = call.app.recorder.as_deref() {
        proxy(&mut page, recorder);
    }
    page.one("sessions", "gauge", "Sessions that can be asked for.", health.sessions);
    page.one("steps", "gauge", "Steps that can be asked for.", health.steps_visible);
    page.one("subagents", "gauge", "Sub-agents of the sessions, without internal ones.", health.subagents);
    page.one(
        "subagents_unlinked",
        "gauge",
        "Sub-agents that nobody is known to have started.",
        health.unlinked,
    );
    #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
    let rate = health.unlinked as f64 / health.subagents.max(1) as f64;
    page.one("unlinked_rate", "gauge", "Share of sub-agents that nobody is known to have started.", rate);
    page.one("changes_last", "gauge", "The number of the last change.", engine.changes().last());
    page.one("log_bytes", "gauge", "Bytes of the record log on the disk.", log.bytes);
    page.one("log_segments", "gauge", "Files of the record log.", log.segments);
    page.head("requests_total", "counter", "Answers by path and hundreds of their status.");
    for (endpoint, class, count) in call.tally.all() {
        let labels = format!("{{path=\"{}\",status=\"{class}xx\"}}", ENDPOINTS[endpoint].path);
        page.line("requests_total", &labels, count);
    }
    Ok(Reply::ready(MEDIA, page.text))
}

fn proxy(page: &mut Page, recorder: &Recorder) {
    let room = recorder.room();
    page.one("proxy_exchanges_total", "counter", "Exchanges that the proxy carried.", room.exchanges());
    page.one(
        "proxy_held_bytes",
        "gauge",
        "Bytes of exchanges that wait in memory to be recorded.",
        room.held(),
    );
    page.one(
        "proxy_held_bytes_limit",
        "gauge",
        "Bytes that may wait in memory (max_recording_bytes).",
        room.max_bytes,
    );
    page.one(
        "proxy_spooled_bytes",
        "gauge",
        "Bytes of exchanges that wait in a file to be recorded.",
        recorder.spooled_bytes(),
    );
    page.one(
        "proxy_spooled_bytes_limit",
        "gauge",
        "Bytes that may wait in a file (max_recording_spool_bytes).",
        recorder.limits().spool_bytes,
    );
    page.head(
        "proxy_lost_total",
        "counter",
        "Exchanges that were not recorded, or not whole, by the reason.",
    );
    for loss in Loss::ALL {
        page.line("proxy_lost_total", &format!("{{reason=\"{}\"}}", loss.name()), room.lost(loss));
    }
    if let Some(ms) = room.last_lost_ms() {
        let about = "When an exchange was last not recorded, or not whole, in seconds since 1970.";
        page.one("proxy_last_loss_timestamp_seconds", "gauge", about, ms / 1000);
    }
    let about = "1 while what is carried is kept, 0 while the record log refuses it.";
    page.one("proxy_recording", "gauge", about, u64::from(recorder.is_kept()));
    let about = "Bodies of exchanges that could not be unpacked and are kept packed.";
    page.one("proxy_still_packed_total", "counter", about, recorder.still_packed());
    sockets(page, &room.sockets);
}

fn sockets(page: &mut Page, sockets: &Sockets) {
    page.one("proxy_sockets", "gauge", "WebSockets that are open.", sockets.open());
    page.one("proxy_sockets_total", "counter", "WebSockets that the proxy carried.", sockets.opened());
    let mut both = |name: &str, about: &str, count: fn(Went) -> u64| {
        page.head(name, "counter", about);
        for way in Way::ALL {
            page.line(name, &format!("{{way=\"{}\"}}", way.name()), count(sockets.went(way)));
        }
    };
    both("proxy_socket_bytes_total", "Bytes that went over WebSockets.", |went| went.bytes);
    both("proxy_socket_messages_total", "Messages that went over WebSockets.", |went| went.messages);
    let about = "Messages over WebSockets of which nothing is recorded but that they were there.";
    both("proxy_socket_unread_total", about, |went| went.unread);
}
