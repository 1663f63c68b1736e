//! From linked sessions to the file.
//!
//! In: sessions, and somebody who fetches their sources. Out: the file, and what is to be said about it. What is written is opened first, by the
//! same code that opens it in the page: a report that cannot be read is not written.

use crate::container::{Container, Cover, Masked, NotAReport, Stream};
use crate::gather::{Gathered, Whole, gather};
use crate::html::{About, Page, html};
use crate::opened::Opened;
use serde_json::value::RawValue;
use unspool_formats::Framing;
use unspool_link::Corpus;
use unspool_model::{Batch, Flow, RecordIx};
use unspool_redact::{Masker, Room, Rules};
use unspool_view::Prices;

/// What a report is made from.
pub struct Asked<'a> {
    /// Everything that was read.
    pub corpus: &'a Corpus,
    /// Which sessions of it.
    pub sessions: &'a [usize],
    /// What models cost.
    pub prices: &'a Prices,
    /// Whether secrets are masked, and by which rules besides.
    pub redact: Option<&'a Rules>,
    /// Fetches a source by the name its records know it by.
    pub whole: &'a mut dyn FnMut(&str) -> Option<Whole>,
}

/// A session, with the records that are in it, as it stands in a list.
pub type Line = fn(&Flow, &Batch, Vec<RecordIx>, &Prices) -> serde_json::Result<Box<RawValue>>;

/// A report.
pub struct Report {
    /// The file.
    pub html: Vec<u8>,
    /// Sessions in it.
    pub sessions: usize,
    /// Steps of theirs.
    pub steps: usize,
    /// Bytes of records, as they were written.
    pub record_bytes: usize,
    /// Secrets that were masked, by kind, if that was asked for.
    pub masked: Option<Vec<Masked>>,
    /// What the reader of the report should know, in plain words.
    pub notices: Vec<String>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// Nothing is left to report on.
    #[error("the sources of this session cannot be read any more: {0}")]
    NoSources(String),
    /// What was to be written cannot be opened.
    #[error(transparent)]
    Unreadable(#[from] NotAReport),
    /// It could not be put together.
    #[error("the report could not be written: {0}")]
    Write(#[from] std::io::Error),
    /// Nor this.
    #[error("the report could not be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// The records that are in a session.
fn records_of(corpus: &Corpus, flow: &Flow) -> Vec<RecordIx> {
    let own = (0..corpus.len()).find(|n| corpus.session_id(*n) == flow.session.id);
    own.map(|n| corpus.records_of(n)).unwrap_or_default()
}

/// Makes a report.
pub fn make(page: Page, asked: Asked<'_>, line: Line) -> Result<Report, MakeError> {
    let corpus = asked.corpus;
    let Gathered { mut streams, lost, shared } = gather(corpus, asked.sessions, asked.whole);
    if streams.is_empty() {
        return Err(MakeError::NoSources(lost.join(", ")));
    }
    let masked = asked.redact.map(|rules| mask(&mut streams, rules));
    let cover = Cover {
        version: env!("CARGO_PKG_VERSION").into(),
        as_of_ns: corpus.as_of.ns(),
        table: corpus.table.clone(),
        prices: asked.prices.clone(),
        // The newest first, as in any list.
        sessions: asked.sessions.iter().rev().map(|n| corpus.session_id(*n).show('x')).collect(),
        lines: Vec::new(),
        masked: masked.clone(),
    };
    let opened = Opened::new(Container { cover, streams })?;
    let (batch, prices) = (&opened.corpus().batch, opened.prices());
    let lines = opened
        .flows()
        .map(|flow| line(flow, batch, records_of(opened.corpus(), flow), prices))
        .collect::<Result<_, _>>()?;
    let steps = opened.flows().map(|flow| flow.steps.len()).sum();
    let known: usize = asked.sessions.iter().map(|session| corpus.flow(*session).steps.len()).sum();
    let title = opened.flows().next().map(|flow| batch.text.get(flow.session.title)).unwrap_or_default();
    let title = match asked.sessions {
        [_] if !title.is_empty() => format!("{title} · Unspool"),
        [_] => "A session · Unspool".into(),
        several => format!("{} sessions · Unspool", several.len()),
    };
    let about = About {
        title,
        as_of: corpus.as_of.is_some().then(|| corpus.as_of.to_string()),
        masked: masked.as_ref().map(|masked| masked.iter().map(|one| one.count).sum()),
    };
    let container = opened.into_container(lines);
    let record_bytes = container.streams.iter().map(|stream| stream.bytes.len()).sum();
    Ok(Report {
        html: html(page, &about, &container.write()?)?,
        sessions: asked.sessions.len(),
        steps,
        record_bytes,
        masked,
        notices: notices(&lost, &shared, steps, known),
    })
}

/// Masks secrets everywhere; how many of which kind.
fn mask(streams: &mut [Stream], rules: &Rules) -> Vec<Masked> {
    let mut masker = Masker::with_rules(rules.clone());
    for stream in streams {
        let room = match stream.framing {
            Framing::Lines | Framing::Whole => Room::Any,
            Framing::Binary | Framing::Messages => Room::Same,
        };
        if let Some(masked) = masker.mask(&stream.bytes, room) {
            stream.bytes = masked;
        }
    }
    masker.counts().map(|(kind, count)| Masked { kind: kind.into(), count }).collect()
}

fn notices(lost: &[String], shared: &[String], steps: usize, known: usize) -> Vec<String> {
    let mut notices = Vec::new();
    if !lost.is_empty() {
        notices.push(format!("not in the report, because they cannot be read any more: {}", lost.join(", ")));
    }
    if !shared.is_empty() {
        notices.push(format!(
            "these hold records of other sessions and are in the report as a whole: {}",
            shared.join(", ")
        ));
    }
    if steps != known {
        notices.push(format!("the report has {steps} steps, and there are {known} in all"));
    }
    notices
}
