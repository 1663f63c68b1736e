//! Interned text: every distinct string is stored once and named by a small number.
//!
//! Ids repeat all over agent data (a uuid is its own line's and the next line's parent), so interning is both
//! the memory budget and what makes joins cheap: equal text, equal `Sym`.

use hashbrown::HashTable;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// The name of an interned string. Numbers depend on the order of reading: never sort by them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sym(u32);

impl Sym {
    /// The empty string, which also stands for "not given".
    pub const EMPTY: Sym = Sym(0);

    /// Whether this is the empty string.
    pub fn is_empty(self) -> bool {
        self == Sym::EMPTY
    }

    /// The empty string as `None`.
    pub fn some(self) -> Option<Sym> {
        (!self.is_empty()).then_some(self)
    }

    /// A dense index, for tables keyed by `Sym`.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The raw number, for packing into an attribute value.
    pub fn to_raw(self) -> i64 {
        i64::from(self.0)
    }

    /// The inverse of `to_raw`; a number that never was a `Sym` gives the empty string.
    pub fn from_raw(raw: i64) -> Sym {
        Sym(u32::try_from(raw).unwrap_or(0))
    }
}

impl fmt::Debug for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// The table of interned strings.
#[derive(Clone)]
pub struct Interner {
    bytes: String,
    /// End of string `n` in `bytes`; its start is the end of string `n - 1`.
    ends: Vec<u32>,
    overflow: Vec<Box<str>>,
    /// Hash and number of each string: growing must not read them all again.
    table: HashTable<(u32, u32)>,
    /// Hash and number of strings asked for of late, once the table is too large to be near: most ids are named again soon.
    recent: Box<[(u32, u32)]>,
}

/// How many strings are kept at hand; a power of two. The table of fewer is near enough: there are many small interners.
const RECENT: usize = 2048;

/// Strings past this many bytes in one interner are kept one by one instead, so that offsets stay 32 bits wide.
const ARENA_LIMIT_BYTES: usize = u32::MAX as usize;

impl Default for Interner {
    fn default() -> Self {
        let mut interner = Interner {
            bytes: String::new(),
            ends: Vec::new(),
            overflow: Vec::new(),
            table: HashTable::new(),
            recent: Box::default(),
        };
        interner.intern("");
        interner
    }
}

impl Interner {
    /// The `Sym` of `text`, new or known.
    pub fn intern(&mut self, text: &str) -> Sym {
        if text.is_empty() && !self.ends.is_empty() {
            return Sym::EMPTY;
        }
        let hash = hash(text);
        let (bytes, ends, overflow) = (&self.bytes, &self.ends, &self.overflow);
        let same = |(other, n): &(u32, u32)| *other == hash && resolve(bytes, ends, overflow, *n) == text;
        let mut at_hand = self.recent.get_mut(hash as usize % RECENT);
        if let Some((_, n)) = at_hand.as_deref().filter(|at_hand| same(at_hand)) {
            return Sym(*n);
        }
        if let Some(found) = self.table.find(spread(hash), same) {
            if let Some(at_hand) = &mut at_hand {
                **at_hand = *found;
            }
            return Sym(found.1);
        }
        // 2^32 distinct strings need > 100 GB of ids; past that, text degrades to "not given".
        let Ok(n) = u32::try_from(self.ends.len() + self.overflow.len()) else { return Sym::EMPTY };
        match u32::try_from(self.bytes.len() + text.len()) {
            Ok(end) if self.overflow.is_empty() && self.bytes.len() + text.len() <= ARENA_LIMIT_BYTES => {
                self.bytes.push_str(text);
                self.ends.push(end);
            }
            _ => self.overflow.push(text.into()),
        }
        match self.recent.get_mut(hash as usize % RECENT) {
            Some(at_hand) => *at_hand = (hash, n),
            None if self.table.len() >= RECENT => self.recent = vec![(0, 0); RECENT].into(),
            None => {}
        }
        self.table.insert_unique(spread(hash), (hash, n), |(hash, _)| spread(*hash));
        Sym(n)
    }

    /// The `Sym` of `text` if it was interned before.
    pub fn find(&self, text: &str) -> Option<Sym> {
        let hash = hash(text);
        let same = |(other, n): &(u32, u32)| *other == hash && self.get(Sym(*n)) == text;
        self.table.find(spread(hash), same).map(|(_, n)| Sym(*n))
    }

    /// The text behind a `Sym`.
    pub fn get(&self, sym: Sym) -> &str {
        resolve(&self.bytes, &self.ends, &self.overflow, sym.0)
    }

    /// How many distinct strings there are.
    pub fn len(&self) -> usize {
        self.ends.len() + self.overflow.len()
    }

    /// About how many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        let overflow: usize = self.overflow.iter().map(|text| text.len()).sum();
        let lookup = (self.table.capacity() + self.recent.len()) * size_of::<(u32, u32)>();
        self.bytes.len() + size_of_val(self.ends.as_slice()) + overflow + lookup
    }

    /// Whether nothing but the empty string was interned.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// All strings in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|n| self.get(Sym(u32::try_from(n).unwrap_or(0))))
    }

    /// Drops the look-up table once reading is over. `intern` and `find` then treat every text as new.
    pub fn forget_lookup(&mut self) {
        self.table = HashTable::new();
        self.recent = Box::default();
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

fn hash(text: &str) -> u32 {
    u32::try_from(xxh3_64(text.as_bytes()) >> 32).unwrap_or(0)
}

/// As many bits as the table wants.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn resolve<'a>(bytes: &'a str, ends: &[u32], overflow: &'a [Box<str>], n: u32) -> &'a str {
    let n = n as usize;
    let Some(end) = ends.get(n) else {
        return overflow.get(n.wrapping_sub(ends.len())).map_or("", |text| text);
    };
    let start = if n == 0 { 0 } else { ends[n - 1] };
    bytes.get(start as usize..*end as usize).unwrap_or("")
}

impl fmt::Debug for Interner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interner").field("strings", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Interner, Sym};

    #[test]
    fn equal_text_equal_sym() {
        let mut interner = Interner::default();
        let a = interner.intern("toolu_01");
        assert_eq!(interner.intern("toolu_01"), a);
        assert_ne!(interner.intern("toolu_02"), a);
        assert_eq!(interner.get(a), "toolu_01");
        assert_eq!(interner.find("toolu_02").map(|s| interner.get(s)), Some("toolu_02"));
        assert_eq!(interner.intern(""), Sym::EMPTY);
        assert_eq!(interner.iter().collect::<Vec<_>>(), ["", "toolu_01", "toolu_02"]);
    }

    #[test]
    fn equal_text_equal_sym_among_many() {
        let mut interner = Interner::default();
        let all = |interner: &mut Interner| {
            (0..3 * super::RECENT).map(|n| interner.intern(&n.to_string())).collect::<Vec<_>>()
        };
        let first = all(&mut interner);
        assert_eq!(all(&mut interner), first);
        assert_eq!(interner.len(), 3 * super::RECENT + 1);
    }
}
