//! Rows of one sort, in order, that are made when they are asked for.
//!
//! In: rows, or where they come from; and a hash of each. Out: any of them. A session that grows has thousands of rows and a few that are new: whoever
//! knows the others by their hashes need not ask for them.

use foldhash::quality::FixedState;
use std::fmt;
use std::hash::{BuildHasher as _, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use unspool_model::Id;

/// A sort of rows.
pub trait Row: Clone + Hash + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Calls for each id that a row names, always in the same order.
    fn ids(&self, each: &mut dyn FnMut(Id));
}

/// Where rows come from. It gives the same ones whenever it is asked.
pub trait Source<R>: Send + Sync {
    /// Those at some places, all of which are there.
    fn rows(&self, places: Range<usize>) -> Vec<R>;

    /// The ids that they name.
    fn ids(&self, places: Range<usize>, each: &mut dyn FnMut(Id));
}

impl<R: Row> Source<R> for Vec<R> {
    fn rows(&self, places: Range<usize>) -> Vec<R> {
        self[places].to_vec()
    }

    fn ids(&self, places: Range<usize>, each: &mut dyn FnMut(Id)) {
        self[places].iter().for_each(|row| row.ids(each));
    }
}

/// Rows of one sort, in order. Two lists are the same when their rows are.
#[derive(Clone)]
pub struct List<R> {
    hashes: Vec<u64>,
    source: Arc<dyn Source<R>>,
}

/// A hash of a row, the same for one that borrows its texts, or of what stands for many. It is kept in databases: when it changes, their rows are written once more.
pub(crate) fn hash_of(row: &(impl Hash + ?Sized)) -> u64 {
    FixedState::default().hash_one(row)
}

impl<R: Row> List<R> {
    /// Rows with these hashes, from there.
    pub fn new(hashes: Vec<u64>, source: Arc<dyn Source<R>>) -> List<R> {
        List { hashes, source }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// A hash of each.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// All of them.
    pub fn all(&self) -> Vec<R> {
        self.some(0..self.len())
    }

    /// Those of these places that there are.
    pub fn some(&self, places: Range<usize>) -> Vec<R> {
        let end = places.end.min(self.len());
        self.source.rows(places.start.min(end)..end)
    }

    /// The ids that those of these places name.
    pub fn ids(&self, places: Range<usize>, each: &mut dyn FnMut(Id)) {
        let end = places.end.min(self.len());
        self.source.ids(places.start.min(end)..end, each);
    }
}

impl<R: Row> From<Vec<R>> for List<R> {
    fn from(rows: Vec<R>) -> List<R> {
        List { hashes: rows.iter().map(hash_of).collect(), source: Arc::new(rows) }
    }
}

impl<R: Row> FromIterator<R> for List<R> {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> List<R> {
        rows.into_iter().collect::<Vec<R>>().into()
    }
}

impl<R: Row> Default for List<R> {
    fn default() -> List<R> {
        Vec::new().into()
    }
}

impl<R: Row> PartialEq for List<R> {
    fn eq(&self, other: &List<R>) -> bool {
        self.hashes == other.hashes && self.all() == other.all()
    }
}

impl<R: Row + Eq> Eq for List<R> {}

impl<R> Hash for List<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hashes.hash(state);
    }
}

impl<R: Row> fmt::Debug for List<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().fmt(f)
    }
}
