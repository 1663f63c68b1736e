//! Sessions: the list, and one of them whole.

use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use unspool_engine::live::Snapshot;
use unspool_model::{Id, Timestamp};
use unspool_store::rows::SessionRow;
use unspool_store::{Cursor, Filter, Question, Sort};
use unspool_view::flow_json::session_doc;

/// Which sessions are asked for.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    title: Option<String>,
    native_id: Option<String>,
    format: Option<String>,
    cwd: Option<String>,
    status: Option<String>,
    #[serde(default)]
    errors: bool,
    sort: Option<String>,
    order: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(crate) struct ListDoc {
    sessions: Vec<SessionDoc>,
    next_cursor: Option<String>,
    matching: u64,
}

#[derive(Serialize)]
pub(crate) struct SessionDoc {
    id: String,
    native_ids: Vec<String>,
    title: Option<String>,
    title_inferred: bool,
    cwd: Option<String>,
    versions: Vec<String>,
    formats: Vec<String>,
    status: String,
    started_at: Option<String>,
    ended_at: Option<String>,
    duration_ms: Option<i64>,
    agents: i64,
    runs: i64,
    steps: i64,
    errors: i64,
    tokens: TokensDoc,
    uncounted_calls: i64,
    cost_usd: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct TokensDoc {
    input: i64,
    cache_read: i64,
    cache_write: i64,
    output: i64,
    reasoning: i64,
    total: i64,
}

impl From<&SessionRow> for SessionDoc {
    fn from(row: &SessionRow) -> SessionDoc {
        let moment = |ns: Option<i64>| ns.map(|ns| Timestamp::from_ns(ns).to_string());
        let named = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let duration = row.started_ns.zip(row.ended_ns).map(|(start, end)| (end - start) / 1_000_000);
        SessionDoc {
            id: row.id.show('x'),
            native_ids: row.native_ids.clone(),
            title: named(&row.title),
            title_inferred: row.title_inferred,
            cwd: named(&row.cwd),
            versions: row.versions.clone(),
            formats: row.formats.clone(),
            status: row.status.clone(),
            started_at: moment(row.started_ns),
            ended_at: moment(row.ended_ns),
            duration_ms: duration,
            agents: row.agent_count,
            runs: row.run_count,
            steps: row.step_count,
            errors: row.error_count,
            tokens: TokensDoc {
                input: row.input_tokens,
                cache_read: row.cache_read_tokens,
                cache_write: row.cache_write_tokens,
                output: row.output_tokens,
                reasoning: row.reasoning_tokens,
                total: row.total_tokens(),
            },
            uncounted_calls: row.uncounted_calls,
            #[expect(clippy::cast_precision_loss, reason = "money is shown, not counted on")]
            cost_usd: row.cost_nano_usd.map(|cost| cost as f64 / 1e9),
        }
    }
}

impl Asked {
    fn question(&self) -> Result<Question, ApiError> {
        let sort = match &self.sort {
            None => Sort::Started,
            Some(name) => Sort::ALL.into_iter().find(|sort| sort.name() == name).ok_or_else(|| {
                let all: Vec<&str> = Sort::ALL.iter().map(|sort| sort.name()).collect();
                ApiError::bad_request("bad_sort", format!("`{name}` is no order"))
                    .with_hint(format!("one of {}", all.join(", ")))
            })?,
        };
        let descending = match self.order.as_deref() {
            None | Some("desc") => true,
            Some("asc") => false,
            Some(other) => {
                let error = ApiError::bad_request("bad_order", format!("`{other}` is no direction"));
                return Err(error.with_hint("asc or desc"));
            }
        };
        let filter = Filter {
            title_contains: self.title.clone(),
            native_id: self.native_id.clone(),
            format: self.format.clone(),
            cwd: self.cwd.clone(),
            status: self.status.clone(),
            with_errors: self.errors,
            ..Filter::default()
        };
        let after = self.cursor.as_deref().map(Cursor::parse).transpose()?;
        Ok(Question { filter, sort, descending, after, limit: self.limit.unwrap_or(100) })
    }
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
) -> Result<Json<ListDoc>, ApiError> {
    let question = asked.question()?;
    let page = blocking(move || app.engine.sessions(&question)).await??;
    Ok(Json(ListDoc {
        sessions: page.sessions.iter().map(SessionDoc::from).collect(),
        next_cursor: page.next.map(|cursor| cursor.show()),
        matching: page.matching,
    }))
}

pub(crate) async fn flow(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ApiError> {
    let bytes = blocking(move || {
        let snapshot = find(&app, &id)?;
        let document = session_doc(&snapshot.flow, &snapshot.corpus.batch, &app.engine.options().prices);
        serde_json::to_vec(&document).map_err(|error| ApiError::bad_request("not_json", error.to_string()))
    })
    .await??;
    Ok(([(axum::http::header::CONTENT_TYPE, "application/json")], bytes).into_response())
}

/// The session of that id, or of that native id.
pub(crate) fn find(app: &App, id: &str) -> Result<Arc<Snapshot>, ApiError> {
    let missing = || ApiError::not_found("session", id).with_hint("/api/v1/sessions lists them");
    let known = if let Some(known) = Id::parse(id, 'x') {
        known
    } else {
        let filter = Filter { native_id: Some(id.into()), ..Filter::default() };
        let page = app.engine.sessions(&Question { filter, limit: 1, ..Question::default() })?;
        page.sessions.first().map(|row| row.id).ok_or_else(missing)?
    };
    app.engine.snapshot(known)?.ok_or_else(missing)
}

/// Work that takes its time, off the threads that serve.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |_| {
        let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "failed", "the answer could not be worked out")
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
