//! What people say about links: that one is right, wrong, missing, or that they take back what they said.

use crate::flow::NONE;
use crate::{Confidence, EdgeKind, RecordIx, Rule, Sym, Timestamp};

/// What somebody said about a link between two steps, or a step and the agent it started.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredLink {
    /// The record that says so.
    pub record: RecordIx,
    /// What was said.
    pub verdict: Verdict,
    /// What relation is meant.
    pub kind: EdgeKind,
    /// The cause as the record names it.
    pub from: Sym,
    /// The effect as the record names it.
    pub to: Sym,
    /// The step that is meant by `from`, or `NONE`.
    pub from_step: u32,
    /// The step that is meant by `to`, or `NONE`; of an agent, its first.
    pub to_step: u32,
    /// Who said it; empty when nobody is named.
    pub who: Sym,
    /// What they noted.
    pub note: Sym,
    /// When.
    pub at: Timestamp,
    /// What the rules had said of it then, as the record tells.
    pub was: Option<(Rule, Confidence)>,
    /// What became of it.
    pub standing: LinkStanding,
}

impl DeclaredLink {
    /// Whether it speaks of an edge.
    pub fn is_about(&self, from: u32, to: u32, kind: EdgeKind) -> bool {
        (self.from_step, self.to_step, self.kind) == (from, to, kind) && from != NONE && to != NONE
    }
}

/// What may be said about a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// It is right.
    Confirm,
    /// It is wrong.
    Deny,
    /// It is missing.
    Add,
    /// What was said before is taken back.
    Remove,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 4] = [Verdict::Confirm, Verdict::Deny, Verdict::Add, Verdict::Remove];

    /// The word used in records and exports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Confirm => "confirm",
            Verdict::Deny => "deny",
            Verdict::Add => "add",
            Verdict::Remove => "remove",
        }
    }

    /// Whether the link is said to be there.
    pub fn asserts(self) -> bool {
        matches!(self, Verdict::Confirm | Verdict::Add)
    }
}

/// What became of something that was said about a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkStanding {
    /// It counts.
    Counts,
    /// Something said later counts instead.
    Superseded,
    /// An end of it is not there.
    EndMissing,
    /// It would make a circle of causes.
    Cycle,
}

impl LinkStanding {
    /// All of them.
    pub const ALL: [LinkStanding; 4] =
        [LinkStanding::Counts, LinkStanding::Superseded, LinkStanding::EndMissing, LinkStanding::Cycle];

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            LinkStanding::Counts => "counts",
            LinkStanding::Superseded => "superseded",
            LinkStanding::EndMissing => "end_missing",
            LinkStanding::Cycle => "cycle",
        }
    }
}
