//! A map from symbols to small numbers, sized to its session: a plain table where most symbols belong to the session,
//! a hash table where few do.

use rustc_hash::FxHashMap;
use unspool_model::Sym;

pub(crate) enum SymMap {
    Dense(Vec<u32>),
    /// With how many are expected: room is made when the first comes, for most maps stay empty.
    Sparse(FxHashMap<Sym, u32>, usize),
}

const ABSENT: u32 = u32::MAX;

impl SymMap {
    /// A map for about `expected` of `all` symbols.
    pub(crate) fn new(expected: usize, all: usize) -> SymMap {
        // A hash table needs some 16 bytes an entry, the plain one 4 bytes a symbol.
        if expected * 4 >= all {
            SymMap::Dense(vec![ABSENT; all])
        } else {
            SymMap::Sparse(FxHashMap::default(), expected)
        }
    }

    pub(crate) fn get(&self, key: Sym) -> Option<u32> {
        match self {
            SymMap::Dense(table) => table.get(key.index()).copied().filter(|value| *value != ABSENT),
            SymMap::Sparse(map, _) => map.get(&key).copied(),
        }
    }

    pub(crate) fn contains(&self, key: Sym) -> bool {
        self.get(key).is_some()
    }

    /// Sets a value; `u32::MAX` takes the key out.
    pub(crate) fn insert(&mut self, key: Sym, value: u32) {
        match self {
            SymMap::Dense(table) => {
                if let Some(slot) = table.get_mut(key.index()) {
                    *slot = value;
                }
            }
            SymMap::Sparse(map, _) if value == ABSENT => _ = map.remove(&key),
            SymMap::Sparse(map, expected) => {
                if map.is_empty() {
                    map.reserve(*expected);
                }
                map.insert(key, value);
            }
        }
    }

    /// Sets a value unless there is one, and gives the one that holds.
    pub(crate) fn first(&mut self, key: Sym, value: u32) -> u32 {
        if let Some(known) = self.get(key) {
            return known;
        }
        self.insert(key, value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::SymMap;
    use unspool_model::Sym;

    #[test]
    fn both_forms_behave_alike() {
        for mut map in [SymMap::new(10, 10), SymMap::new(1, 1000)] {
            let (a, b) = (Sym::from_raw(3), Sym::from_raw(7));
            assert_eq!(map.get(a), None);
            assert_eq!(map.first(a, 5), 5);
            assert_eq!(map.first(a, 6), 5);
            map.insert(b, 9);
            map.insert(a, u32::MAX);
            assert!(!map.contains(a) && map.get(b) == Some(9));
        }
    }
}
