//! A session as `ThoughtFlow` has it: the document and the drawing, made from its flow, and kept as files when it ended.

use crate::error::ApiError;
use axum::http::StatusCode;
use std::collections::BTreeSet;
use unspool_engine::Artifacts;
use unspool_engine::live::{Engine, Snapshot};
use unspool_store::Question;
use unspool_view::export::{d2, name_lanes, thoughtflow};
use unspool_view::graph::{GroupBy, View, graph};

/// What a session is made into.
#[derive(Clone, Copy)]
pub(crate) enum Artifact {
    Json,
    D2,
}

impl Artifact {
    pub(crate) const ALL: [Artifact; 2] = [Artifact::Json, Artifact::D2];

    pub(crate) fn ending(self) -> &'static str {
        match self {
            Artifact::Json => "json",
            Artifact::D2 => "d2",
        }
    }

    pub(crate) fn media(self) -> &'static str {
        match self {
            Artifact::Json => "application/json",
            Artifact::D2 => "text/plain; charset=utf-8",
        }
    }

    /// Makes it from the flow as it is.
    pub(crate) fn make(self, engine: &Engine, snapshot: &Snapshot) -> Result<Vec<u8>, ApiError> {
        let (flow, batch) = (&snapshot.flow, &snapshot.corpus.batch);
        match self {
            Artifact::Json => {
                let failed = |error: serde_json::Error| ApiError::bad_request("not_json", error.to_string());
                serde_json::to_vec(&thoughtflow::thoughtflow(flow, batch, &mut snapshot.natives()))
                    .map_err(failed)
            }
            Artifact::D2 => {
                let view = View { group_by: GroupBy::Run, ..View::default() };
                let mut drawn = graph(flow, batch, &engine.options().prices, &view, &|_| true);
                name_lanes(flow, &mut drawn);
                thoughtflow::tell_payloads(flow, batch, &mut snapshot.natives(), &mut drawn);
                let mut bytes = Vec::new();
                let boards = d2::Boards { drill_down: false, chained: true };
                // Writing to memory does not fail.
                drop(d2::write(&mut bytes, &drawn, boards));
                Ok(bytes)
            }
        }
    }
}

/// Writes all that a session is made into, under the name its source gave it.
pub(crate) fn write(engine: &Engine, snapshot: &Snapshot, session: &str) -> Result<(), ApiError> {
    let files = Artifacts::of(&engine.options().folder);
    for artifact in Artifact::ALL {
        let bytes = artifact.make(engine, snapshot)?;
        files.put(session, artifact.ending(), &bytes).map_err(|error| {
            let message = format!("the artifacts of the session could not be written: {error}");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_written", message)
                .with_hint("its events are kept; end it again when there is room")
        })?;
    }
    Ok(())
}

/// Makes the files again that are there, and removes those whose session is gone. The reason when it could not.
pub fn remake_artifacts(engine: &Engine) -> Result<(), String> {
    let files = Artifacts::of(&engine.options().folder);
    let mut wanted = BTreeSet::new();
    let mut question = Question { limit: 1000, ..Question::default() };
    loop {
        let page = engine.sessions(&question).map_err(|error| error.to_string())?;
        for row in page.sessions {
            for native in &row.native_ids {
                let paths = Artifact::ALL.map(|artifact| files.path(native, artifact.ending()));
                if !paths.iter().any(|path| path.exists()) {
                    continue;
                }
                if let Some(snapshot) = engine.snapshot(row.id).map_err(|error| error.to_string())? {
                    write(engine, &snapshot, native).map_err(|error| error.message.clone())?;
                    wanted.extend(paths);
                }
            }
        }
        question.after = page.next;
        if question.after.is_none() {
            return files.keep_only(&wanted).map_err(|error| error.to_string());
        }
    }
}
