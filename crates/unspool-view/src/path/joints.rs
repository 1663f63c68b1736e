//! Where the chain of causes breaks or only waits, what was at work then takes its place.
//!
//! In: a network and what was at work in it. Out: joints from the path to work that nothing says it waited for, and lags cut into pieces.
//! Never here: a change of moments beside the path.

use super::at_work::AtWork;
use super::class::Class;
use super::moments::{Moments, is_begin, step_of};
use super::network::Network;
use unspool_model::flow::NONE;

/// A part of a lag on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Milliseconds since the scope's first moment.
    pub(crate) at: i64,
    /// How long.
    pub(crate) ms: i64,
    /// What it was spent on.
    pub(crate) class: Class,
    /// The step at work; `NONE` for a gap.
    pub(crate) worker: u32,
    /// Nothing says that the path waited for the worker; it was at work then.
    pub(crate) unexplained: bool,
}

impl Network {
    /// Leads the path on where it would end or wait for a person or the next run, although something was at work: there it goes on from the
    /// last moment at which work began or ended. What remains of waiting is cut into who was at work.
    pub(super) fn join(&mut self, session: &Moments<'_>) {
        let work = AtWork::new(session, &self.moments, &self.at);
        let mut next = self.last();
        while let Some(slot) = next {
            if self.is_broken(session, slot) {
                self.join_at(session, slot, &work);
            }
            self.cut(session, slot, &work);
            next = Some(self.last_cause[slot as usize]).filter(|cause| *cause != NONE);
        }
    }

    /// Whether nothing, or only a person or an earlier run, is known to come before the gap before a moment.
    fn is_broken(&self, session: &Moments<'_>, slot: u32) -> bool {
        let at = slot as usize;
        let is_gap = self.worker[at] == NONE && self.lag[at] > 0;
        let has_no_cause = self.last_cause[at] == NONE || self.class[at] == Class::Human;
        is_gap && (has_no_cause || session.starts_run(step_of(self.moments[at])))
    }

    fn join_at(&mut self, session: &Moments<'_>, slot: u32, work: &AtWork) {
        let at = slot as usize;
        let waited_since = self.at.get(self.last_cause[at] as usize).copied();
        let Some(turn) = work.turn_before(slot) else { return };
        if waited_since.is_some_and(|since| self.at[turn as usize] <= since) {
            return;
        }
        self.joint[at] = turn;
        self.last_cause[at] = turn;
        self.lag[at] = self.at[at] - self.at[turn as usize];
        let moment = self.moments[turn as usize];
        if is_begin(moment) {
            self.worker[at] = step_of(moment);
            self.class[at] = session.classes[step_of(moment) as usize];
        }
    }

    /// Cuts a lag in which nothing, a person or only a span around others was at work into what else was.
    fn cut(&mut self, session: &Moments<'_>, slot: u32, work: &AtWork) {
        let whole = self.whole(slot);
        if whole.ms == 0 || whole.class.is_work() && whole.class != Class::Other && whole.worker != NONE {
            return;
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for (from, until, worker) in work.between(whole.at, whole.at + whole.ms) {
            let own = Piece { at: from, ms: until - from, ..whole };
            let class = session.classes.get(worker as usize).copied();
            let piece = match class {
                Some(class) if whole.worker == NONE || class != Class::Other => {
                    let is_explained = class == Class::Other || session.lies_inside(worker, whole.worker);
                    Piece { class, worker, unexplained: !is_explained, ..own }
                }
                _ => own,
            };
            match pieces.last_mut() {
                Some(last) if (last.worker, last.class) == (piece.worker, piece.class) => last.ms += piece.ms,
                _ => pieces.push(piece),
            }
        }
        if pieces != [whole] {
            self.pieces.insert(slot, pieces);
        }
    }

    fn whole(&self, slot: u32) -> Piece {
        let at = slot as usize;
        Piece {
            at: self.at[at] - self.lag[at],
            ms: self.lag[at],
            class: self.class[at],
            worker: self.worker[at],
            unexplained: self.joint[at] != NONE,
        }
    }

    /// What the lag of a moment was spent on, without holes.
    pub(crate) fn pieces_of(&self, slot: u32) -> Vec<Piece> {
        self.pieces.get(&slot).cloned().unwrap_or_else(|| vec![self.whole(slot)])
    }
}
