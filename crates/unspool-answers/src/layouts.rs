//! Where the nodes of graphs were, so that they stay there when a session grows.
//!
//! In: the layout that was told last for a question. Out: the same, for the next answer to it. Kept in memory only: whoever asks for the first time,
//! or after a long while, gets a layout of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use unspool_view::layout::Previous;

/// So many are kept, the ones used last: `max_layouts_kept`.
const MAX_LAYOUTS: usize = 16;

/// Layouts by question, the one used last at the end.
#[derive(Default)]
pub struct Layouts {
    kept: Mutex<VecDeque<(String, Arc<Previous>)>>,
}

impl Layouts {
    pub(crate) fn get(&self, question: &str) -> Option<Arc<Previous>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == question).map(|(_, layout)| Arc::clone(layout))
    }

    pub(crate) fn put(&self, question: String, layout: Previous) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != question);
        kept.push_back((question, Arc::new(layout)));
        if kept.len() > MAX_LAYOUTS {
            kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layouts, MAX_LAYOUTS};
    use unspool_view::layout::Previous;

    #[test]
    fn the_ones_used_last_are_kept() {
        let layouts = Layouts::default();
        for n in 0..=MAX_LAYOUTS {
            layouts.put(n.to_string(), Previous::default());
        }
        assert!(layouts.get("0").is_none());
        assert!(layouts.get("1").is_some() && layouts.get(&MAX_LAYOUTS.to_string()).is_some());
    }
}
