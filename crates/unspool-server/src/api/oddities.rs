//! What was odd, and what became of what came in.

use super::endpoint::Call;
use crate::error::ApiError;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unspool_answers::Reply;
use unspool_model::{Code, Id};
use unspool_store::rows::IssueRow;
use unspool_store::{Question, Store};

/// Issues of so many of the newest sessions are added up: `max_issue_sessions`.
const MAX_ISSUE_SESSIONS: usize = 10_000;
/// Samples of an issue: `max_issue_samples`.
const MAX_ISSUE_SAMPLES: usize = 8;

/// What was odd in all sessions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IssuesDoc {
    /// Sessions that were looked into.
    looked_into: usize,
    /// Sessions that were not, by the limit `max_issue_sessions`.
    not_looked_into: u64,
    /// By code, errors first, then in the order of the catalogue.
    issues: Vec<IssueSumDoc>,
}

/// One sort of oddity.
#[derive(Serialize, JsonSchema)]
struct IssueSumDoc {
    /// Stable name.
    code: &'static str,
    /// `error`, `warning` or `info`.
    severity: &'static str,
    /// A source wrote something that is not known yet.
    drift: bool,
    /// What it means.
    about: &'static str,
    /// How often in all.
    count: i64,
    /// In how many sessions.
    sessions: usize,
    /// The first of them, newest session first, at most `max_issue_samples` (8).
    samples: Vec<IssueSampleDoc>,
}

/// Where it occurred.
#[derive(Serialize, JsonSchema)]
struct IssueSampleDoc {
    /// The session.
    session_id: String,
    /// What it is about; empty when there is nothing more to say.
    detail: String,
    /// How often.
    count: i64,
    /// Ids of the first records it was seen in.
    records: Vec<String>,
}

pub(crate) fn issues(call: &Call) -> Result<Reply, ApiError> {
    let engine = &call.app.engine;
    let mut sums: BTreeMap<&'static str, IssueSumDoc> = BTreeMap::new();
    let (mut looked_into, mut matching) = (0, 0);
    let mut question = Question { descending: true, ..Question::default() };
    loop {
        let page = engine.sessions(&question)?;
        matching = page.matching.max(matching);
        for row in page.sessions.iter().take(MAX_ISSUE_SESSIONS - looked_into) {
            looked_into += 1;
            add(&mut sums, row.id, engine.with_store(|store| store.issues(row.id))?);
        }
        question.after = page.next;
        if question.after.is_none() || looked_into == MAX_ISSUE_SESSIONS {
            break;
        }
    }
    let place = |code: &'static str| {
        let at = Code::ALL.iter().position(|known| known.name() == code).unwrap_or(usize::MAX);
        (Code::ALL.get(at).map(|code| code.severity()), at)
    };
    let mut issues: Vec<IssueSumDoc> = sums.into_values().collect();
    issues.sort_by_key(|sum| place(sum.code));
    let not_looked_into = matching.saturating_sub(looked_into as u64);
    Ok(Reply::json(IssuesDoc { looked_into, not_looked_into, issues }))
}

fn add(sums: &mut BTreeMap<&'static str, IssueSumDoc>, session: Id, issues: Vec<IssueRow>) {
    let mut seen: Vec<&'static str> = Vec::new();
    for issue in issues {
        let Some(code) = Code::ALL.iter().find(|code| code.name() == issue.code) else { continue };
        let sum = sums.entry(code.name()).or_insert_with(|| IssueSumDoc {
            code: code.name(),
            severity: code.severity().name(),
            drift: code.is_drift(),
            about: code.sentence(),
            count: 0,
            sessions: 0,
            samples: Vec::new(),
        });
        sum.count += issue.count;
        if !seen.contains(&code.name()) {
            seen.push(code.name());
            sum.sessions += 1;
        }
        if sum.samples.len() < MAX_ISSUE_SAMPLES {
            sum.samples.push(IssueSampleDoc {
                session_id: session.show('x'),
                detail: issue.detail,
                count: issue.count,
                records: issue.records.iter().map(|record| record.show('r')).collect(),
            });
        }
    }
}

/// What became of what came in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReceiptsDoc {
    /// By source, in order of their names.
    sources: Vec<ReceiptDoc>,
    /// Arrivals that were refused because too much waited; nothing of them was kept.
    refused: u64,
}

/// What became of the records of a source.
#[derive(Serialize, JsonSchema)]
struct ReceiptDoc {
    /// Where from: `otlp-http`, `otlp-grpc`, `files` and others.
    source: String,
    /// Records seen; the sum of the others.
    seen: u64,
    /// Read and kept.
    stored: u64,
    /// There before.
    duplicate: u64,
    /// Not readable; kept as bytes.
    rejected: u64,
}

pub(crate) fn receipts(call: &Call) -> Result<Reply, ApiError> {
    let engine = &call.app.engine;
    let sources = engine.receipts()?.into_iter().map(|(source, counts)| ReceiptDoc {
        source,
        seen: counts.stored + counts.duplicate + counts.rejected,
        stored: counts.stored,
        duplicate: counts.duplicate,
        rejected: counts.rejected,
    });
    Ok(Reply::json(ReceiptsDoc { sources: sources.collect(), refused: engine.health().refused }))
}
