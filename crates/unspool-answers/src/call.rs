//! Endpoints as data: what each is for, what can be asked there, what comes back, and who answers. And what an answer is made from.

use crate::asked::{Asked, Param};
use crate::error::ApiError;
use crate::layouts::Layouts;
use crate::reply::Reply;
use schemars::JsonSchema;
#[cfg(feature = "schemas")]
use schemars::{Schema, SchemaGenerator};
use std::sync::Arc;
use unspool_link::Corpus;
use unspool_model::{Flow, Timestamp};
use unspool_view::Prices;
use unspool_view::search::NativeBytes;

/// Something that can be asked, and of whom (`A`).
#[derive(Clone, Copy)]
pub struct Endpoint<A> {
    /// With `{name}` for what varies.
    pub path: &'static str,
    /// In one line.
    pub about: &'static str,
    /// What can be asked behind the `?`.
    pub params: &'static [Param],
    /// What comes back.
    pub answer: Answer,
    /// Behind the path of an example; may be empty.
    pub example: &'static str,
    /// Who answers.
    pub ask: A,
}

/// Answers about one session.
pub type AskSession = fn(&Seen, &Call) -> Result<Reply, ApiError>;

/// Describes a document.
#[cfg(feature = "schemas")]
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;
/// Where nobody asks for the description of a document, it would be dead weight.
#[cfg(not(feature = "schemas"))]
pub type SchemaOf = ();

/// What comes back.
#[derive(Clone, Copy)]
pub enum Answer {
    /// A document of that schema.
    Document(SchemaOf),
    /// Something of that media type.
    Media(&'static str),
}

impl Answer {
    /// A document of that type.
    #[cfg(feature = "schemas")]
    pub const fn of<T: JsonSchema>() -> Answer {
        Answer::Document(SchemaGenerator::subschema_for::<T>)
    }

    /// A document.
    #[cfg(not(feature = "schemas"))]
    pub const fn of<T: JsonSchema>() -> Answer {
        Answer::Document(())
    }
}

/// One question.
#[derive(Debug, Default)]
pub struct Call {
    /// What stands behind the `?`.
    pub asked: Asked,
    /// What stands in the place of each `{name}`.
    pub path: Vec<(String, String)>,
}

impl Call {
    /// What stands in the place of `{name}`.
    pub fn part(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// The way back to the bytes of a session's records.
pub trait Records: Send + Sync {
    /// Gives them back, one after the other.
    fn natives(&self) -> Box<dyn NativeBytes + '_>;
}

/// A session as it was at one moment. It never changes.
#[derive(Clone)]
pub struct Snapshot {
    /// All records of its family.
    pub corpus: Arc<Corpus>,
    /// The session.
    pub flow: Arc<Flow>,
    /// The bytes of its records.
    pub records: Arc<dyn Records>,
}

impl Snapshot {
    /// The way back to the bytes of its records.
    pub fn natives(&self) -> Box<dyn NativeBytes + '_> {
        self.records.natives()
    }
}

/// The other sessions, as far as answers about one need them.
pub trait Sessions: Send + Sync {
    /// The newest sessions of a working directory, at most so many.
    fn of_project(&self, cwd: &str, most: usize) -> Result<Neighbours, ApiError>;
}

/// Sessions of a working directory.
pub struct Neighbours {
    /// The newest first; the one that is asked about may be among them.
    pub others: Vec<Snapshot>,
    /// How many there are beyond.
    pub left_out: u64,
}

/// A session somebody asks about.
#[derive(Clone)]
pub struct Seen {
    /// The session.
    pub snapshot: Snapshot,
    /// The other sessions.
    pub sessions: Arc<dyn Sessions>,
    /// Where the nodes of graphs were.
    pub layouts: Arc<Layouts>,
    /// What models cost.
    pub prices: Arc<Prices>,
    /// The moment it is asked.
    pub now: Timestamp,
}

impl Seen {
    /// The moment it is asked.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}
