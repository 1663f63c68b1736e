//! Limits of linking, by the names notices call them. A limit that is reached costs a note, `limit_reached`.

use unspool_model::{Interner, Sym};

/// Records kept as evidence of one spawn; the strongest are.
pub(crate) const MAX_LINK_EVIDENCE: usize = 8;

/// Calls kept as rivals of one agent; the full count is kept beside them.
pub(crate) const MAX_RIVALS: usize = 16;

/// Pairs of agents and calls that are all weighed; of more, only those that share a hash or a type.
pub(crate) const MAX_WEIGHED_PAIRS: usize = 200_000;

/// Model calls of a trace that are open at one moment and compared with the next; of more, only the last.
pub(crate) const MAX_OPEN_CALLS: usize = 256;

/// The limits' names as text that issues can refer to.
pub(crate) struct Limits {
    pub(crate) link_evidence: Sym,
    pub(crate) rivals: Sym,
    pub(crate) weighed_pairs: Sym,
    pub(crate) open_calls: Sym,
}

impl Limits {
    pub(crate) fn new(text: &mut Interner) -> Limits {
        Limits {
            link_evidence: text.intern("max_link_evidence"),
            rivals: text.intern("max_rivals"),
            weighed_pairs: text.intern("max_weighed_pairs"),
            open_calls: text.intern("max_open_calls"),
        }
    }
}
