//! All ways in over HTTP, as data: the router, the description and the page for people are made from it, and whoever sends nonsense to try them asks the description.

use super::{hooks, otlp, thoughtflow, upload};
use crate::app::App;
use axum::routing::{MethodRouter, post};
use std::sync::Arc;
use unspool_answers::Param;

/// Something that can be sent.
pub(crate) struct WayIn {
    pub(crate) path: &'static str,
    pub(crate) about: &'static str,
    /// What a body may be.
    pub(crate) media: &'static [&'static str],
    /// Whether there has to be one.
    pub(crate) needs_body: bool,
    /// What may stand behind the `?`.
    pub(crate) params: &'static [Param],
    pub(crate) route: fn() -> MethodRouter<Arc<App>>,
}

const JSON: &str = "application/json";
const OTLP: &[&str] = &["application/x-protobuf", JSON];
const LINES: &[&str] = &[JSON, "application/x-ndjson"];
const FILES: &[&str] = &["application/octet-stream", "multipart/form-data"];

impl WayIn {
    const fn new(
        path: &'static str,
        about: &'static str,
        media: &'static [&'static str],
        route: fn() -> MethodRouter<Arc<App>>,
    ) -> WayIn {
        WayIn { path, about, media, needs_body: true, params: &[], route }
    }

    /// One whose fields may all be left out.
    const fn of_fields(
        path: &'static str,
        about: &'static str,
        route: fn() -> MethodRouter<Arc<App>>,
    ) -> WayIn {
        WayIn { path, about, media: &[JSON], needs_body: false, params: &[], route }
    }

    /// Whether it speaks OTLP, which has a form of its own for errors.
    pub(crate) fn is_otlp(&self) -> bool {
        self.media == OTLP
    }
}

/// Everything that can be sent, in the order people read it.
pub(crate) const WAYS_IN: &[WayIn] = &[
    WayIn::new("/v1/traces", "OTLP/HTTP: spans, in protobuf or JSON", OTLP, || post(otlp::traces)),
    WayIn::new("/v1/logs", "OTLP/HTTP: log records, in protobuf or JSON", OTLP, || post(otlp::logs)),
    WayIn {
        params: upload::PARAMS,
        ..WayIn::new("/v1/ingest", "Any known file or stream, as the body or in a form", FILES, || {
            post(upload::ingest)
        })
    },
    WayIn::new("/v1/hooks", "An event of a hook", LINES, || post(hooks::hooks)),
    WayIn::new("/v1/thoughtflow/events", "ThoughtFlow events", LINES, || post(thoughtflow::events)),
    WayIn::of_fields("/v1/thoughtflow/sessions", "A ThoughtFlow session begins", || {
        post(thoughtflow::session_start)
    }),
    WayIn::of_fields("/v1/thoughtflow/sessions/{session}/complete", "It ends", || {
        post(thoughtflow::session_end)
    }),
    WayIn::of_fields("/v1/thoughtflow/sessions/{session}/runs", "A run of it begins", || {
        post(thoughtflow::run_start)
    }),
    WayIn::of_fields("/v1/thoughtflow/sessions/{session}/runs/{run}/complete", "The run ends", || {
        post(thoughtflow::run_end)
    }),
    WayIn::new(
        "/v1/thoughtflow/sessions/{session}/runs/{run}/steps",
        "A step of the run begins",
        &[JSON],
        || post(thoughtflow::step_start),
    ),
    WayIn::of_fields(
        "/v1/thoughtflow/sessions/{session}/runs/{run}/steps/{step}/complete",
        "The step ends",
        || post(thoughtflow::step_end),
    ),
];
