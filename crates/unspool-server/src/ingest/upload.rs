//! Anything of a known format: a body that is one file, or a form with several.
//!
//! In: bytes, packed or not, and the names they go by. Out: a receipt for each. A file that nobody can read is refused by itself; the others are kept.

use super::keep;
use crate::api::blocking;
use crate::app::App;
use crate::body::{self, unpacked};
use crate::error::ApiError;
use axum::Json;
use axum::body::Body;
use axum::extract::multipart::MultipartError;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use unspool_answers::ErrorDoc;
use unspool_answers::{Param, Sort};
use unspool_engine::live::{Taken, source};

/// Files of one form: `max_form_files`.
const MAX_FORM_FILES: usize = 1000;
/// Bytes of a name; the end is what tells a format: `max_name_bytes`.
const MAX_NAME_BYTES: usize = 1024;

pub(super) const PARAMS: &[Param] = &[Param::new(
    "name",
    Sort::Text,
    "the name of the file, where it is the body; its end helps to tell the format",
)];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    name: Option<String>,
}

/// One file, as it was sent.
struct Sent {
    name: String,
    bytes: Vec<u8>,
}

/// What became of the files that were sent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UploadDoc {
    /// One for each file, in their order.
    files: Vec<ReceiptDoc>,
}

/// Why nothing was kept of several files.
#[derive(Serialize)]
struct RefusedDoc<'a> {
    #[serde(flatten)]
    error: ErrorDoc<'a>,
    files: Vec<ReceiptDoc>,
}

/// What became of a file.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "FileReceiptDoc")]
struct ReceiptDoc {
    /// What it is called.
    name: String,
    /// As what it was read; none when it was refused.
    format: Option<String>,
    /// Where it lies in the record log.
    position: Option<u64>,
    /// Records in it.
    records: u64,
    /// Records that could not be read; their bytes are kept.
    rejected: u64,
    /// Why it was refused, or why records of it were rejected.
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn ingest(
    State(app): State<Arc<App>>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let Query(asked) = asked.map_err(|error| {
        ApiError::bad_request("bad_query", error.body_text()).with_hint("`?name=FILE` is all there is")
    })?;
    let bytes = body::read(&app, &headers, body).await?;
    let files = if is_form(&headers) {
        form(&headers, bytes).await?
    } else {
        let name = asked.name.or_else(|| named(&headers)).unwrap_or_else(|| "body".into());
        vec![Sent { name, bytes }]
    };
    let mut room = app.limits.unpacked_bytes;
    let mut receipts = Vec::with_capacity(files.len());
    let mut refusal: Option<ApiError> = None;
    for file in files {
        let name = shown_name(&file.name);
        match one(&app, &name, file.bytes, &mut room).await {
            Ok(taken) => receipts.push(receipt(name, taken)),
            Err(error) => {
                receipts.push(ReceiptDoc {
                    name,
                    reason: Some(error.message.clone()),
                    hint: error.hint.clone(),
                    ..ReceiptDoc::default()
                });
                refusal.get_or_insert(error);
            }
        }
    }
    let nothing_kept = receipts.iter().all(|receipt| receipt.position.is_none());
    match refusal {
        Some(error) if nothing_kept && receipts.len() == 1 => Err(error),
        Some(error) if nothing_kept => Ok(error.told_in(&RefusedDoc { error: error.doc(), files: receipts })),
        _ => Ok(Json(UploadDoc { files: receipts }).into_response()),
    }
}

/// Unpacks and keeps one file; what it unpacks to is taken from the room all files of a request share.
async fn one(app: &Arc<App>, name: &str, bytes: Vec<u8>, room: &mut usize) -> Result<Taken, ApiError> {
    let limits = crate::app::Limits { unpacked_bytes: *room, ..app.limits };
    let shared = Arc::clone(app);
    let bytes = blocking(move || unpacked(&shared, bytes, limits)).await??;
    if bytes.trim_ascii().is_empty() {
        return Err(super::empty());
    }
    *room = room.saturating_sub(bytes.len());
    Ok(keep(Arc::clone(app), source::UPLOAD, name, bytes).await?)
}

fn receipt(name: String, taken: Taken) -> ReceiptDoc {
    let counted = taken.counted;
    ReceiptDoc {
        name,
        format: Some(counted.format),
        position: Some(taken.position),
        records: counted.records,
        rejected: counted.rejected,
        reason: counted.reason,
        hint: None,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = text(headers, "content-type").unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

/// The name that headers tell.
fn named(headers: &HeaderMap) -> Option<String> {
    let disposition = || {
        let parts = text(headers, "content-disposition")?.split(';').map(str::trim);
        let name = parts.filter_map(|part| part.split_once('=')).find(|(key, _)| key.trim() == "filename")?.1;
        Some(name.trim().trim_matches('"'))
    };
    text(headers, "x-file-name").or_else(disposition).map(Into::into).filter(|name: &String| !name.is_empty())
}

/// A name that can be shown: one line, its end if it is long, without the ending that only says how it was packed.
fn shown_name(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    let mut from = name.len().saturating_sub(MAX_NAME_BYTES);
    while !name.is_char_boundary(from) {
        from += 1;
    }
    if name.is_empty() { "body".into() } else { name[from..].into() }
}

/// The files of a form.
async fn form(headers: &HeaderMap, bytes: Vec<u8>) -> Result<Vec<Sent>, ApiError> {
    let mut request = Request::new(Body::from(bytes));
    if let Some(kind) = headers.get(header::CONTENT_TYPE) {
        request.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    // The body was bounded when it was read.
    DefaultBodyLimit::disable().apply(&mut request);
    let broken = |why: String| {
        ApiError::bad_request("bad_form", format!("the form cannot be read: {why}"))
            .with_hint("nothing of it was kept; send it again, or each file as a body of its own")
    };
    let form = Multipart::from_request(request, &()).await;
    let mut form = form.map_err(|rejection| broken(rejection.body_text()))?;
    let said = |error: MultipartError| broken(error.body_text());
    let mut files: Vec<Sent> = Vec::new();
    while let Some(field) = form.next_field().await.map_err(said)? {
        if files.len() == MAX_FORM_FILES {
            return Err(ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_many_files",
                format!("the form has more files than the limit `max_form_files` ({MAX_FORM_FILES})"),
            )
            .with_hint("nothing of it was kept; send several forms"));
        }
        let name = field.file_name().or_else(|| field.name()).unwrap_or("body").to_string();
        files.push(Sent { name, bytes: field.bytes().await.map_err(said)?.into() });
    }
    if files.is_empty() {
        return Err(broken("there is no file in it".into()));
    }
    Ok(files)
}
