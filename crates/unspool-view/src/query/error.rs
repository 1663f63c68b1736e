//! What is wrong with a query, and where.
//!
//! In: a place and what was expected there. Out: an error that can be drawn below the query. Never here: drawing.

use super::fields::{FIELDS, spelled};
use std::ops::Range;

/// Why a query was not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryError {
    /// Bytes of the query that it is about; empty where something is missing.
    pub at: Range<usize>,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What to type instead.
    pub hint: Option<String>,
}

impl QueryError {
    pub(super) fn new(at: Range<usize>, message: impl Into<String>) -> QueryError {
        QueryError { at, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> QueryError {
        self.hint = Some(hint.into());
        self
    }

    /// The position of the first character it is about, in characters from 0.
    pub fn column(&self, query: &str) -> usize {
        query.get(..self.at.start).map_or(0, |before| before.chars().count())
    }
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for QueryError {}

/// The name most like what was typed.
pub(super) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = spelled(typed);
    let closeness = |name: &str| {
        let distance = distance(&typed, &spelled(name));
        // Whoever typed only the start of a name means it, however long it is.
        if typed.len() >= 3 && name.starts_with(&typed) { distance.min(1) } else { distance }
    };
    let allowed = if typed.chars().count() <= 3 { 1 } else { 2 };
    let scored = names.map(|name| (closeness(name), name));
    scored
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The field most like what was typed.
pub(super) fn nearest_field(typed: &str) -> Option<&'static str> {
    nearest(typed, FIELDS.iter().flat_map(|field| std::iter::once(&field.name).chain(field.aliases)).copied())
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(MAX_COMPARED).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let above = &rows[i];
            let mut best = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

/// Longer names are like none of ours anyway.
const MAX_COMPARED: usize = 40;

#[cfg(test)]
mod tests {
    use super::{distance, nearest_field};

    #[test]
    fn typing_errors_are_near() {
        assert_eq!(distance("tool", "tool"), 0);
        assert_eq!(distance("tol", "tool"), 1);
        assert_eq!(distance("toll", "tool"), 1);
        assert_eq!(distance("tolo", "tool"), 1);
        assert_eq!(nearest_field("tol"), Some("tool"));
        assert_eq!(nearest_field("duraton"), Some("duration"));
        assert_eq!(nearest_field("conf"), Some("confidence"));
        assert_eq!(nearest_field("spawned_by"), Some("spawned-by"));
        assert_eq!(nearest_field("https"), None);
    }
}
