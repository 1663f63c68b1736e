//! Words in the native records of steps: what was said, what tools were given and what they answered.
//!
//! In: patterns, and somebody who gives records' bytes back. Out: per pattern the steps with a hit, and the first hit of
//! each with some words around it. Records are asked for once, in the order they lie in their files; one is looked at at
//! a time. Never here: files.

mod chunk;
mod list;
mod messages;
mod pairs;
mod texts;
pub mod words;

pub use chunk::{Chunk, Chunks, Leans, TEXTS_VERSION, Texts, Told};
pub use list::WordList;
pub use pairs::{Pair, PairFilter};

use crate::query::{Pattern, Query, Selection};
use std::borrow::Cow;
use std::ops::Range;
use texts::{Piece, pieces};
use unspool_model::{Batch, Flow, RecordIx, StepKind, Witness, without_codes};

/// Gives the bytes of records back; whoever has the files implements it.
pub trait NativeBytes {
    /// A record's bytes, or nothing when they cannot be had.
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]>;

    /// What a record says, for people: itself where it is text.
    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>>;
}

impl<N: NativeBytes + ?Sized> NativeBytes for Box<N> {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        (**self).bytes(record)
    }

    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>> {
        (**self).readable(record)
    }
}

/// What was found of one pattern.
#[derive(Clone, Debug)]
pub struct Found {
    /// The steps with a hit.
    pub steps: Selection,
    /// The first hit of each, in the order of steps.
    pub snippets: Vec<(usize, Snippet)>,
}

impl Found {
    /// The first hit of a step.
    pub fn snippet(&self, step: usize) -> Option<&Snippet> {
        let at = self.snippets.binary_search_by_key(&step, |(step, _)| *step).ok()?;
        Some(&self.snippets[at].1)
    }
}

/// A hit with some words around it, on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    /// What stands before.
    pub before: String,
    /// The words that were looked for.
    pub hit: String,
    /// What stands behind.
    pub after: String,
}

/// Answers for a query's `text:` conditions.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// One for each condition, in order.
    pub found: Vec<Found>,
    /// Records whose bytes could not be had.
    pub unread_records: u64,
}

impl Answers {
    /// The steps of each condition, as `select` wants them.
    pub fn selections(&self) -> Vec<Selection> {
        self.found.iter().map(|found| found.steps.clone()).collect()
    }
}

/// Looks for the words of a query's `text:` conditions; reads nothing when it has none.
pub fn look(query: &Query, flow: &Flow, batch: &Batch, natives: &mut dyn NativeBytes) -> Answers {
    let patterns: Vec<Pattern> = query.payload_words().into_iter().map(Pattern::new).collect();
    if patterns.is_empty() { Answers::default() } else { search(&patterns, flow, batch, natives) }
}

/// Looks for patterns in the records of a flow's steps.
pub fn search(patterns: &[Pattern], flow: &Flow, batch: &Batch, natives: &mut dyn NativeBytes) -> Answers {
    let none = || Found { steps: Selection::none(flow.steps.len()), snippets: Vec::new() };
    let mut answers = Answers { found: patterns.iter().map(|_| none()).collect(), unread_records: 0 };
    let witnesses = witnesses(flow, batch);
    for group in witnesses.chunk_by(|a, b| a.0 == b.0) {
        // An export holds first words only, and those of all steps at once: what was said is not in it.
        let is_at_hand = batch.stream_of(group[0].0).witness != Witness::Answer;
        let Some(text) = is_at_hand.then(|| natives.readable(group[0].0)).flatten() else {
            answers.unread_records += 1;
            continue;
        };
        let wanted: Vec<usize> = (0..patterns.len()).filter(|n| may_hold(&patterns[*n], &text)).collect();
        if !wanted.is_empty() {
            let steps: Vec<usize> = group.iter().map(|(_, step)| *step).collect();
            record(&text, &steps, patterns, &wanted, flow, batch, &mut answers.found);
        }
    }
    for found in &mut answers.found {
        found.snippets.sort_by_key(|(step, _)| *step);
    }
    answers
}

/// Records with the steps they witness, in the order they lie in their streams.
pub(crate) fn witnesses(flow: &Flow, batch: &Batch) -> Vec<(RecordIx, usize)> {
    let steps = flow.steps.iter().enumerate();
    let mut all: Vec<(RecordIx, usize)> =
        steps.flat_map(|(n, step)| flow.witnesses_of(step).iter().map(move |record| (*record, n))).collect();
    let place = |record: RecordIx| batch.records.get(record as usize).map(|row| (row.stream, row.offset));
    all.sort_unstable_by_key(|(record, step)| (place(*record), *record, *step));
    all.dedup();
    all
}

/// Whether a look at the raw text is enough to rule a pattern out: letters that JSON may write otherwise are not.
fn may_hold(pattern: &Pattern, raw: &str) -> bool {
    pattern.has_odd_letters() || pattern.find(raw).is_some() || raw.contains("\\u")
}

/// Notes the hits in a record at the steps they belong to.
fn record(
    text: &str,
    steps: &[usize],
    patterns: &[Pattern],
    wanted: &[usize],
    flow: &Flow,
    batch: &Batch,
    found: &mut [Found],
) {
    let hits = |text: Cow<'_, str>| {
        let hit = |n: &usize| Some((*n, snippet(&text, patterns[*n].find(&text)?)));
        let hits: Vec<(usize, Snippet)> = wanted.iter().filter_map(hit).collect();
        (!hits.is_empty()).then_some(hits)
    };
    attributed(text, steps, flow, batch, hits, |steps, hits| {
        for (pattern, snippet) in hits {
            for step in steps {
                if !found[pattern].steps.has(*step) {
                    found[pattern].steps.add(*step);
                    found[pattern].snippets.push((*step, snippet.clone()));
                }
            }
        }
    });
}

/// Gives what `keep` makes of the texts of a record, with those of its steps that each text belongs to.
fn attributed<'a, T>(
    text: &'a str,
    steps: &[usize],
    flow: &Flow,
    batch: &Batch,
    mut keep: impl FnMut(Cow<'a, str>) -> Option<T>,
    mut give: impl FnMut(&[usize], T),
) {
    let is_call = |step: usize| flow.steps[step].kind == StepKind::ToolCall;
    let call_id = |step: usize| batch.text.get(flow.steps[step].tool_use_id);
    let mut kept: Vec<(usize, T)> = Vec::new();
    // Parts of the record that are about one call.
    let mut parts: Vec<(Range<usize>, usize)> = Vec::new();
    pieces(text, |piece| match piece {
        Piece::Text { at, text } => kept.extend(keep(text).map(|kept| (at, kept))),
        Piece::Id { object, id } => {
            let named = steps.iter().find(|step| is_call(**step) && call_id(**step) == id);
            parts.extend(named.map(|step| (object, *step)));
        }
    });
    let of_parts = |step: &usize| parts.iter().any(|(_, named)| named == step);
    let mut others: Vec<usize> = steps.iter().copied().filter(|step| !of_parts(step)).collect();
    if others.is_empty() {
        others = steps.to_vec();
    }
    for (at, kept) in kept {
        let innermost =
            parts.iter().filter(|(range, _)| range.contains(&at)).min_by_key(|(range, _)| range.len());
        give(innermost.map_or(others.as_slice(), |(_, step)| std::slice::from_ref(step)), kept);
    }
}

/// Letters shown before and behind a hit, and of the hit itself.
const BEFORE: usize = 40;
const AFTER: usize = 80;
const HIT: usize = 120;

/// A place in a text with some words around it.
pub fn snippet(text: &str, range: Range<usize>) -> Snippet {
    let (before, rest) = text.split_at(range.start);
    let (hit, after) = rest.split_at(range.end - range.start);
    let before = &without_codes(before);
    let skipped = before.char_indices().rev().nth(BEFORE).map(|(at, letter)| at + letter.len_utf8());
    let head = |text: &str, most: usize| {
        let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
        let cut = if end < text.len() { "…" } else { "" };
        without_codes(&format!("{}{cut}", text.get(..end).unwrap_or(text))).into_owned()
    };
    let cut = if skipped.is_some() { "…" } else { "" };
    let before = before.get(skipped.unwrap_or(0)..).unwrap_or(before);
    Snippet {
        before: one_line(&format!("{cut}{before}")).trim_start().to_string(),
        hit: one_line(&head(hit, HIT)),
        after: one_line(&head(after, AFTER)).trim_end().to_string(),
    }
}

/// White space in a row becomes one space.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        let letter = if letter.is_whitespace() || letter.is_control() { ' ' } else { letter };
        if letter != ' ' || !line.ends_with(' ') {
            line.push(letter);
        }
    }
    line
}

#[cfg(test)]
mod tests;
