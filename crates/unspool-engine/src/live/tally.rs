//! What became of a family's records, and what is odd in those that belong to no session, by where they came from.

use super::streams;
use std::collections::BTreeMap;
use unspool_link::Corpus;
use unspool_model::{Batch, Outcome, Record};
use unspool_store::{LooseIssue, RecordCounts};

/// Where a stream came from.
pub(super) fn source_of(batch: &Batch, stream: u32) -> &str {
    batch.streams.get(stream as usize).map_or("", |stream| streams::source(batch.text.get(stream.name)))
}

/// What is odd in records that belong to no session.
pub(super) fn loose(corpus: &Corpus) -> Vec<LooseIssue> {
    let batch = &corpus.batch;
    let mut all: Vec<LooseIssue> = Vec::new();
    for (source, issues) in corpus.loose_issues_by(|stream| source_of(batch, stream)) {
        for issue in issues {
            let records: Vec<&Record> =
                issue.records.iter().filter_map(|n| batch.records.get(*n as usize)).collect();
            let stream = records.first().and_then(|record| batch.streams.get(record.stream as usize));
            all.push(LooseIssue {
                source: source.into(),
                code: issue.code.name().into(),
                detail: batch.text.get(issue.detail).into(),
                stream: stream.map(|stream| batch.text.get(stream.name).into()).unwrap_or_default(),
                count: issue.count.cast_signed(),
                records: records.iter().map(|record| record.id).collect(),
            });
        }
    }
    all
}

/// What became of records, by where they came from.
pub(super) fn by_source(batch: &Batch) -> BTreeMap<&str, RecordCounts> {
    let mut counts: BTreeMap<&str, RecordCounts> = BTreeMap::new();
    for record in &batch.records {
        let one = counts.entry(source_of(batch, record.stream)).or_default();
        match record.outcome {
            Outcome::Stored => one.stored += 1,
            Outcome::Duplicate => one.duplicate += 1,
            Outcome::Rejected => one.rejected += 1,
        }
    }
    counts
}
