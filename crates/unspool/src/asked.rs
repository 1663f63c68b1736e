//! A query and what it is asked of.

use crate::error::CliError;
use crate::load::Loaded;
use crate::natives::Bytes;
use crate::term::{plain, text_width};
use std::cell::RefCell;
use unspool_model::{Flow, Timestamp};
use unspool_view::query::{Query, QueryError, Scope, Selection, select};
use unspool_view::search::{Answers, look};

/// A query and what it is asked of.
pub(crate) struct Asked<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) query: &'a Query,
    now: Timestamp,
    /// Files stay open from one session to the next.
    bytes: RefCell<Bytes<'a>>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(loaded: &'a Loaded, query: &'a Query, now: Timestamp) -> Asked<'a> {
        let bytes = RefCell::new(Bytes::new(&loaded.natives, &loaded.corpus.batch));
        Asked { loaded, query, now, bytes }
    }

    /// The steps of a session for which the query holds, and where its words stand.
    pub(crate) fn select(&self, flow: &Flow) -> (Selection, Answers) {
        let (batch, prices) = (&self.loaded.corpus.batch, &self.loaded.prices);
        let answers = look(self.query, flow, batch, &mut *self.bytes.borrow_mut());
        let scope = Scope { flow, batch, prices, now: self.now };
        (select(self.query, &scope, &answers.selections()), answers)
    }
}

/// The error as the user meets it: the query with a mark below it.
pub(crate) fn refused(query: &str, error: &QueryError) -> CliError {
    let width = |text: Option<&str>| text.map_or(0, |text| text_width(&plain(text)));
    let before = width(query.get(..error.at.start));
    let marks = width(query.get(error.at.clone())).max(1);
    CliError::Query {
        why: error.message.clone(),
        pointed: vec![query.to_string(), format!("{}{}", " ".repeat(before), "^".repeat(marks))],
        hint: error.hint.clone().unwrap_or_else(|| "docs/query.md has the language with examples".into()),
    }
}
