//! Where a session is at work: its folder, and the way its requests go.
//!
//! In: the events of a session. Out: what they say first. A folder that a record states counts more than one that a client only tells its model.

use crate::Table;
use crate::corpus::Corpus;
use crate::grouping::Group;
use crate::projects::Place;
use unspool_model::{AttrName, EventKind, Sym};

/// Where a session is at work.
#[derive(Clone, Copy, Default)]
pub(crate) struct Surroundings {
    pub(crate) folder: Sym,
    /// Only a prompt tells the folder.
    pub(crate) folder_inferred: bool,
    /// How its first request to a model went, if that was recorded: the name of the proxy's route, and the path.
    upstream: Sym,
    route: Sym,
}

impl Surroundings {
    pub(crate) fn of(corpus: &Corpus, group: &Group) -> Surroundings {
        let batch = &corpus.batch;
        // Whether anybody asks how requests went.
        let mut seeks_route = corpus.table.has_projects();
        let mut found = Surroundings::default();
        let mut told = Sym::EMPTY;
        for event in group.events.iter().filter_map(|event| batch.events.get(*event as usize)) {
            if let Some(folder) = batch.attr_text(event, AttrName::Cwd).filter(|_| found.folder.is_empty()) {
                found.folder = folder;
            }
            if told.is_empty() {
                told = batch.attr_text(event, AttrName::PromptCwd).unwrap_or_default();
            }
            if seeks_route && event.kind == EventKind::ModelCall {
                found.upstream = batch.attr_text(event, AttrName::Upstream).unwrap_or_default();
                found.route = batch.attr_text(event, AttrName::Route).unwrap_or_default();
                seeks_route = found.upstream.is_empty() && found.route.is_empty();
            }
            if !found.folder.is_empty() && !seeks_route {
                break;
            }
        }
        if found.folder.is_empty() && !told.is_empty() {
            (found.folder, found.folder_inferred) = (told, true);
        }
        found
    }

    /// The table for sessions that are at work there.
    pub(crate) fn table(self, corpus: &Corpus) -> &Table {
        let text = |sym: Sym| corpus.batch.text.get(sym);
        let place =
            Place { folder: text(self.folder), upstream: text(self.upstream), route: text(self.route) };
        corpus.table.of_place(&place)
    }
}
