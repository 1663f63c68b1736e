//! Questions to a store about sessions, and pages of answers.
//!
//! In: filters, an order, a place to go on from. Out: types that mean the same to every store. Never here: SQL.

use crate::error::StoreError;
use crate::rows::SessionRow;
use std::collections::BTreeSet;
use std::sync::Arc;
use unspool_model::Id;

/// No page has more sessions: `max_page_sessions`.
pub const MAX_PAGE_SESSIONS: usize = 1000;

/// Which sessions, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Only these.
    pub filter: Filter,
    /// By what.
    pub sort: Sort,
    /// The whole order backwards, ids too.
    pub descending: bool,
    /// Behind this place.
    pub after: Option<Cursor>,
    /// At most so many; 0 and too many mean `MAX_PAGE_SESSIONS`.
    pub limit: usize,
}

impl Question {
    /// How many sessions a page may have.
    pub fn page_limit(&self) -> usize {
        if self.limit == 0 { MAX_PAGE_SESSIONS } else { self.limit.min(MAX_PAGE_SESSIONS) }
    }

    /// An error when the place to go on from is of another order.
    pub fn check(&self) -> Result<(), StoreError> {
        let fits = self.after.as_ref().is_none_or(|after| {
            after.sort == self.sort && matches!(after.key, SortKey::Text(_)) == (self.sort == Sort::Title)
        });
        if fits { Ok(()) } else { Err(StoreError::Cursor) }
    }
}

/// A text without the difference between capitals and others, as titles are looked for.
pub(crate) fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// Which sessions; everything that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The title holds this, in capitals or not.
    pub title_contains: Option<String>,
    /// One of its sources gave it this id.
    pub native_id: Option<String>,
    /// This format witnesses it.
    pub format: Option<String>,
    /// Some of its records came from here.
    pub source: Option<String>,
    /// An agent of this kind took part.
    pub agent: Option<String>,
    /// This model answered.
    pub model: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// How its main agent ended.
    pub status: Option<String>,
    /// It is known to have begun at this moment or later.
    pub since_ns: Option<i64>,
    /// It is known to have begun before this moment.
    pub until_ns: Option<i64>,
    /// A step failed.
    pub with_errors: bool,
    /// Something was odd.
    pub with_issues: bool,
    /// Something is missing.
    pub with_gaps: bool,
    /// It is known to have cost so much or more.
    pub least_cost_nano_usd: Option<i64>,
    /// It is one of these.
    pub among: Option<Arc<BTreeSet<Id>>>,
}

impl Filter {
    /// One of these, and of those it was narrowed to before.
    pub fn only_among(&mut self, ids: BTreeSet<Id>) {
        let both = match self.among.take() {
            Some(known) => known.intersection(&ids).copied().collect(),
            None => ids,
        };
        self.among = Some(Arc::new(both));
    }

    /// Whether a session is meant.
    pub fn holds(&self, row: &SessionRow) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let among = |wanted: &Option<String>, found: &[String]| {
            wanted.as_ref().is_none_or(|wanted| found.contains(wanted))
        };
        self.title_contains.as_ref().is_none_or(|wanted| folded(&row.title).contains(&folded(wanted)))
            && among(&self.native_id, &row.native_ids)
            && among(&self.format, &row.formats)
            && among(&self.source, &row.sources)
            && among(&self.agent, &row.agent_kinds)
            && among(&self.model, &row.models)
            && is(&self.cwd, &row.cwd)
            && is(&self.status, &row.status)
            && self.since_ns.is_none_or(|since| row.started_ns.is_some_and(|at| at >= since))
            && self.until_ns.is_none_or(|until| row.started_ns.is_some_and(|at| at < until))
            && (!self.with_errors || row.error_count > 0)
            && (!self.with_issues || row.issue_count > 0)
            && (!self.with_gaps || !row.gaps.is_empty())
            && self
                .least_cost_nano_usd
                .is_none_or(|least| row.cost_nano_usd.is_some_and(|cost| cost >= least))
            && self.among.as_ref().is_none_or(|among| among.contains(&row.id))
    }
}

/// By what sessions are ordered. What is unknown comes before everything known; equals are ordered by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// First moment.
    #[default]
    Started,
    /// Last moment.
    Ended,
    /// Number of steps.
    Steps,
    /// Number of failed steps.
    Errors,
    /// From the first moment to the last.
    Duration,
    /// Number of sub-agents.
    Subagents,
    /// Number of things that were odd.
    Issues,
    /// Tokens of all buckets.
    Tokens,
    /// Cost.
    Cost,
    /// Title, bytewise.
    Title,
}

impl Sort {
    /// All of them.
    pub const ALL: [Sort; 10] = [
        Sort::Started,
        Sort::Ended,
        Sort::Duration,
        Sort::Steps,
        Sort::Subagents,
        Sort::Errors,
        Sort::Issues,
        Sort::Tokens,
        Sort::Cost,
        Sort::Title,
    ];

    /// The word used in cursors and questions.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Started => "started",
            Sort::Ended => "ended",
            Sort::Steps => "steps",
            Sort::Errors => "errors",
            Sort::Duration => "duration",
            Sort::Subagents => "subagents",
            Sort::Issues => "issues",
            Sort::Tokens => "tokens",
            Sort::Cost => "cost",
            Sort::Title => "title",
        }
    }

    /// What a session is ordered by.
    pub fn key(self, row: &SessionRow) -> SortKey {
        let known = |number: Option<i64>| SortKey::Number(number.unwrap_or(i64::MIN));
        match self {
            Sort::Started => known(row.started_ns),
            Sort::Ended => known(row.ended_ns),
            Sort::Steps => SortKey::Number(row.step_count),
            Sort::Errors => SortKey::Number(row.error_count),
            Sort::Duration => known(row.duration_ns()),
            Sort::Subagents => SortKey::Number(row.subagent_count),
            Sort::Issues => SortKey::Number(row.issue_count),
            Sort::Tokens => SortKey::Number(row.total_tokens()),
            Sort::Cost => known(row.cost_nano_usd),
            Sort::Title => SortKey::Text(row.title.clone()),
        }
    }
}

/// What a session is ordered by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// A number; the smallest when unknown.
    Number(i64),
    /// Text, bytewise.
    Text(String),
}

/// A place in an order: behind the session it was made of, whether that still exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    sort: Sort,
    pub(crate) key: SortKey,
    pub(crate) id: Id,
}

impl Cursor {
    /// The place behind a session.
    pub fn behind(row: &SessionRow, sort: Sort) -> Cursor {
        Cursor { sort, key: sort.key(row), id: row.id }
    }

    /// As text that fits into an address.
    pub fn show(&self) -> String {
        let key = match &self.key {
            SortKey::Number(number) => number.to_string(),
            SortKey::Text(text) => {
                text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
            }
        };
        format!("{}.{key}.{}", self.sort.name(), self.id.show('c'))
    }

    /// Reads the text again.
    pub fn parse(text: &str) -> Result<Cursor, StoreError> {
        Cursor::read(text).ok_or(StoreError::Cursor)
    }

    fn read(text: &str) -> Option<Cursor> {
        let (name, rest) = text.split_once('.')?;
        let (key, id) = rest.split_once('.')?;
        let sort = Sort::ALL.into_iter().find(|sort| sort.name() == name)?;
        let key = if sort == Sort::Title {
            let byte = |at: usize| u8::from_str_radix(key.get(at..at + 2)?, 16).ok();
            let bytes: Option<Vec<u8>> = (0..key.len()).step_by(2).map(byte).collect();
            SortKey::Text(String::from_utf8(bytes?).ok()?)
        } else {
            SortKey::Number(key.parse().ok()?)
        };
        Some(Cursor { sort, key, id: Id::parse(id, 'c')? })
    }
}

/// Some sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order asked for.
    pub sessions: Vec<SessionRow>,
    /// Where to go on; `None` at the end.
    pub next: Option<Cursor>,
    /// How many sessions the filter lets through, on all pages.
    pub matching: u64,
}

/// By what sessions can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facet {
    /// Where records came from.
    Source,
    /// Formats that witness it.
    Format,
    /// Kinds of agents.
    Agent,
    /// Models that answered.
    Model,
    /// Working directory.
    Cwd,
    /// How its main agent ended.
    Status,
}

impl Facet {
    /// All of them.
    pub const ALL: [Facet; 6] =
        [Facet::Source, Facet::Format, Facet::Agent, Facet::Model, Facet::Cwd, Facet::Status];

    /// The word used in questions.
    pub fn name(self) -> &'static str {
        match self {
            Facet::Source => "source",
            Facet::Format => "format",
            Facet::Agent => "agent",
            Facet::Model => "model",
            Facet::Cwd => "cwd",
            Facet::Status => "status",
        }
    }

    /// The values of a session; none is empty.
    pub fn values(self, row: &SessionRow) -> BTreeSet<&str> {
        let values = match self {
            Facet::Source => row.sources.as_slice(),
            Facet::Format => row.formats.as_slice(),
            Facet::Agent => row.agent_kinds.as_slice(),
            Facet::Model => row.models.as_slice(),
            Facet::Cwd => std::slice::from_ref(&row.cwd),
            Facet::Status => std::slice::from_ref(&row.status),
        };
        values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect()
    }

    /// The filter without what it says about this.
    #[must_use]
    pub fn left_open(self, filter: &Filter) -> Filter {
        let mut filter = filter.clone();
        let wanted = match self {
            Facet::Source => &mut filter.source,
            Facet::Format => &mut filter.format,
            Facet::Agent => &mut filter.agent,
            Facet::Model => &mut filter.model,
            Facet::Cwd => &mut filter.cwd,
            Facet::Status => &mut filter.status,
        };
        *wanted = None;
        filter
    }
}

/// No facet is told with more values: `max_facet_values`.
pub const MAX_FACET_VALUES: usize = 100;

/// The values of a facet that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetValues {
    /// Each with the number of sessions that have it, most first, equals in bytewise order; at most `MAX_FACET_VALUES`.
    pub values: Vec<(String, u64)>,
    /// How many values there are in all.
    pub different: u64,
}
