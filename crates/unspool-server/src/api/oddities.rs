//! What was odd, and what became of what came in.

use super::endpoint::{Call, find};
use super::sessions;
use crate::error::ApiError;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unspool_answers::{Param, Reply, Sort};
use unspool_engine::live::Notice;
use unspool_model::{Code, Id};
use unspool_store::rows::{IssueRow, SessionRow};
use unspool_store::{Filter, LooseIssue, Question};

/// Issues of so many of the newest sessions are added up: `max_issue_sessions`.
const MAX_ISSUE_SESSIONS: usize = 10_000;
/// Samples of an issue: `max_issue_samples`.
const MAX_ISSUE_SAMPLES: usize = 8;
/// Where what the server says about itself comes from.
const SERVER: &str = "server";

pub(crate) const ISSUES: &[Param] = &[
    Param::new("session", Sort::Text, "only of this session"),
    Param::new(
        "source",
        Sort::Text,
        "only of sessions and records from here: `files`, `upload`, `otlp-http` and others; `server` is what it says about itself",
    ),
    Param::new("code", Sort::Text, "only issues of this code"),
];

/// What was odd.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IssuesDoc {
    /// Sessions that were looked into.
    looked_into: usize,
    /// Sessions that were not, by the limit `max_issue_sessions`.
    not_looked_into: u64,
    /// By code, errors first, then in the order of the catalogue.
    issues: Vec<IssueSumDoc>,
    /// By where records came from, in order of the names. What is odd in a session of several sources is counted with each.
    sources: Vec<SourceIssuesDoc>,
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
    /// It says that something of what happened is missing in what is shown.
    gap: bool,
    /// What it means.
    about: &'static str,
    /// How often in all.
    count: i64,
    /// In how many sessions.
    sessions: usize,
    /// How often in records that belong to no session.
    loose: i64,
    /// The first of them, newest session first, then records without a session; at most `max_issue_samples` (8) of each.
    samples: Vec<IssueSampleDoc>,
}

/// Where it occurred.
#[derive(Serialize, JsonSchema)]
struct IssueSampleDoc {
    /// The session; null when the records belong to none.
    session_id: Option<String>,
    /// Its title.
    title: Option<String>,
    /// Where the records came from.
    sources: Vec<String>,
    /// The file or request of the first record, where it belongs to no session.
    stream: Option<String>,
    /// What it is about; empty when there is nothing more to say.
    detail: String,
    /// How often.
    count: i64,
    /// Ids of the first records it was seen in.
    records: Vec<String>,
}

/// What was odd in what came from one source.
#[derive(Serialize, JsonSchema)]
struct SourceIssuesDoc {
    source: String,
    /// How often something was odd.
    count: i64,
    /// How often something was not known yet.
    drift: i64,
    /// How often in records that belong to no session.
    loose: i64,
}

/// Everything odd, added up.
#[derive(Default)]
struct Sums {
    code: Option<&'static str>,
    by_code: BTreeMap<Code, IssueSumDoc>,
    by_source: BTreeMap<String, SourceIssuesDoc>,
}

pub(crate) fn issues(call: &Call) -> Result<Reply, ApiError> {
    let engine = &call.app.engine;
    let wanted = call.asked.one_of("code", Code::ALL, Code::name)?;
    let mut sums = Sums { code: wanted.map(Code::name), ..Sums::default() };
    let filter = sessions::filter(call)?;
    if let Some(session) = call.asked.text("session") {
        let only =
            Filter { among: filter.among.clone(), native_id: filter.native_id.clone(), ..Filter::default() };
        let question = Question { filter: only, limit: 1, ..Question::default() };
        if engine.sessions(&question)?.sessions.is_empty() {
            // It says whether there never was one, or its records are lost.
            find(&call.app, session)?;
        }
    }
    let (mut looked_into, mut matching) = (0, 0);
    let mut question = Question { filter, descending: true, ..Question::default() };
    loop {
        let page = engine.sessions(&question)?;
        matching = page.matching.max(matching);
        for row in page.sessions.iter().take(MAX_ISSUE_SESSIONS - looked_into) {
            looked_into += 1;
            sums.add_session(row, engine.with_store(|store| store.issues(row.id))?);
        }
        question.after = page.next;
        if question.after.is_none() || looked_into == MAX_ISSUE_SESSIONS {
            break;
        }
    }
    if call.asked.text("session").is_none() {
        let source = call.asked.text("source");
        let mut loose = engine.loose_issues()?;
        loose.retain(|issue| source.is_none_or(|source| source == issue.source));
        for issue in loose {
            sums.add_loose(issue);
        }
        if source.is_none_or(|source| source == SERVER) {
            for notice in engine.own_issues() {
                sums.add_own(notice);
            }
            for past in engine.past_issues() {
                let words = format!("{} (told on {} by an earlier process)", past.words, past.at);
                sums.add_own(Notice { code: Some(past.code), words, session: None });
            }
        }
    }
    let mut issues: Vec<(Code, IssueSumDoc)> = sums.by_code.into_iter().collect();
    issues.sort_by_key(|(code, _)| (code.severity(), *code));
    Ok(Reply::json(IssuesDoc {
        looked_into,
        not_looked_into: matching.saturating_sub(looked_into as u64),
        issues: issues.into_iter().map(|(_, sum)| sum).collect(),
        sources: sums.by_source.into_values().collect(),
    }))
}

impl Sums {
    /// The sum of a code, when it is wanted.
    fn sum(&mut self, name: &str) -> Option<&mut IssueSumDoc> {
        let code = *Code::ALL.iter().find(|code| code.name() == name)?;
        if self.code.is_some_and(|wanted| wanted != name) {
            return None;
        }
        Some(self.by_code.entry(code).or_insert_with(|| IssueSumDoc {
            code: code.name(),
            severity: code.severity().name(),
            drift: code.is_drift(),
            gap: code.is_gap(),
            about: code.sentence(),
            count: 0,
            sessions: 0,
            loose: 0,
            samples: Vec::new(),
        }))
    }

    fn of_source(&mut self, source: &str, count: i64, drift: bool, loose: bool) {
        let new = || SourceIssuesDoc { source: source.into(), count: 0, drift: 0, loose: 0 };
        let one = self.by_source.entry(source.into()).or_insert_with(new);
        one.count += count;
        one.drift += if drift { count } else { 0 };
        one.loose += if loose { count } else { 0 };
    }

    fn add_session(&mut self, row: &SessionRow, issues: Vec<IssueRow>) {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for IssueRow { code, detail, count, records } in issues {
            let Some(sum) = self.sum(&code) else { continue };
            let drift = sum.drift;
            sum.count += count;
            sum.sessions += usize::from(seen.insert(code));
            sum.sample(|| IssueSampleDoc {
                session_id: Some(row.id.show('x')),
                title: (!row.title.is_empty()).then(|| row.title.clone()),
                sources: row.sources.clone(),
                stream: None,
                detail,
                count,
                records: records.iter().map(|record| record.show('r')).collect(),
            });
            row.sources.iter().for_each(|source| self.of_source(source, count, drift, false));
        }
    }

    fn add_loose(&mut self, issue: LooseIssue) {
        let LooseIssue { source, code, detail, stream, count, records } = issue;
        let Some(sum) = self.sum(&code) else { return };
        let drift = sum.drift;
        sum.count += count;
        sum.loose += count;
        sum.sample(|| IssueSampleDoc {
            session_id: None,
            title: None,
            sources: vec![source.clone()],
            stream: (!stream.is_empty()).then_some(stream),
            detail,
            count,
            records: records.iter().map(|record| record.show('r')).collect(),
        });
        self.of_source(&source, count, drift, true);
    }

    /// What the server found, mended or lost.
    fn add_own(&mut self, notice: Notice) {
        let Some(sum) = notice.code.and_then(|code| self.sum(code.name())) else { return };
        let drift = sum.drift;
        sum.count += 1;
        sum.sample(|| IssueSampleDoc {
            session_id: notice.session.map(|session| session.show('x')),
            title: None,
            sources: vec![SERVER.into()],
            stream: None,
            detail: notice.words,
            count: 1,
            records: Vec::new(),
        });
        self.of_source(SERVER, 1, drift, false);
    }
}

impl IssueSumDoc {
    fn sample(&mut self, sample: impl FnOnce() -> IssueSampleDoc) {
        let sample = sample();
        let is_alike = |other: &&IssueSampleDoc| other.session_id.is_none() == sample.session_id.is_none();
        if self.samples.iter().filter(is_alike).count() < MAX_ISSUE_SAMPLES {
            self.samples.push(sample);
        }
    }
}

/// The bytes of a record that an issue names and no session has.
pub(crate) fn record(call: &Call) -> Result<Reply, ApiError> {
    let wanted = call.part("loose");
    let missing =
        || ApiError::not_found("record", wanted).with_hint("/api/v1/issues names some records of no session");
    let id = Id::parse(wanted, 'r').ok_or_else(missing)?;
    let bytes = call.app.engine.loose_record(id)?.ok_or_else(missing)?;
    Ok(Reply::ready("application/octet-stream", bytes))
}

/// What became of what came in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReceiptsDoc {
    /// By source, in order of their names.
    sources: Vec<ReceiptDoc>,
    /// What was refused with 429 since the process began, because too much waited (`max_pending_bytes`) or was being read (`max_reading_bytes`); nothing of it was kept.
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
    Ok(Reply::json(ReceiptsDoc { sources: sources.collect(), refused: call.app.refused_busy() }))
}
