//! The moments of one scope: what each waited for last, and how long it took from there.
//!
//! In: the moments of a session and a choice of steps. Out: lags that add up to the wall clock along every chain of last
//! causes, slack, and the same scope with other durations. Never here: text, totals.

use super::class::Class;
use super::joints::Piece;
use super::moments::{Moments, UNTIMED, is_begin, step_of};
use crate::dag::Arcs;
use rustc_hash::FxHashMap;
use unspool_model::flow::NONE;

/// Moments of a scope in order of time, numbered so that causes come first.
pub(crate) struct Network {
    /// Number of the moment in the session.
    pub(crate) moments: Vec<u32>,
    /// Milliseconds since the scope's first moment.
    pub(crate) at: Vec<i64>,
    causes: Arcs,
    /// What the path goes on from where nothing says what was waited for; `NONE` elsewhere.
    pub(super) joint: Vec<u32>,
    /// Lags of the path that more than one thing was at work in, by slot.
    pub(super) pieces: FxHashMap<u32, Vec<Piece>>,
    /// The latest of the causes; `NONE` where nothing in the scope is one.
    pub(crate) last_cause: Vec<u32>,
    /// Milliseconds from the last cause, or from the scope's first moment.
    pub(crate) lag: Vec<i64>,
    /// What the lag was spent on.
    pub(crate) class: Vec<Class>,
    /// The step at work during the lag; `NONE` for a gap.
    pub(crate) worker: Vec<u32>,
    /// From the first moment to the last.
    pub(crate) wall: i64,
    /// When the scope began, in milliseconds since the epoch.
    pub(crate) origin: i64,
    /// Steps of the scope without any time.
    pub(crate) untimed: u64,
}

impl Network {
    /// Of the steps that `contains` says.
    pub(crate) fn new(session: &Moments<'_>, contains: impl Fn(u32) -> bool) -> Network {
        let mut untimed = 0;
        let mut moments = Vec::new();
        for moment in &session.order {
            if !contains(step_of(*moment)) {
                continue;
            }
            if session.at[*moment as usize] == UNTIMED {
                untimed += u64::from(is_begin(*moment));
            } else {
                moments.push(*moment);
            }
        }
        Network::of(session, moments, untimed, &mut vec![NONE; session.at.len()])
    }

    /// Of these moments, in the session's order. `slots` is scratch: all `NONE`, by moment of the session, and left so.
    pub(crate) fn of(session: &Moments<'_>, moments: Vec<u32>, untimed: u64, slots: &mut [u32]) -> Network {
        for (slot, moment) in (0_u32..).zip(&moments) {
            slots[*moment as usize] = slot;
        }
        let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(moments.len() * 2);
        for (slot, moment) in (0_u32..).zip(&moments) {
            let causes = session.causes.of(*moment).iter().map(|cause| slots[*cause as usize]);
            pairs.extend(causes.filter(|cause| *cause != NONE).map(|cause| (slot, cause)));
        }
        for moment in &moments {
            slots[*moment as usize] = NONE;
        }
        let times = moments.iter().map(|moment| session.at[*moment as usize]);
        let origin = times.clone().min().unwrap_or(0);
        let at: Vec<i64> = times.map(|at| at.saturating_sub(origin)).collect();
        let causes = Arcs::new(moments.len(), pairs.iter().copied());
        let wall = at.iter().copied().max().unwrap_or(0);
        let mut network = Network {
            joint: vec![NONE; moments.len()],
            pieces: FxHashMap::default(),
            last_cause: vec![NONE; moments.len()],
            lag: vec![0; moments.len()],
            class: vec![Class::Idle; moments.len()],
            worker: vec![NONE; moments.len()],
            at,
            causes,
            moments,
            wall,
            origin,
            untimed,
        };
        network.settle(session);
        network.join(session);
        network
    }

    fn settle(&mut self, session: &Moments<'_>) {
        for slot in 0..self.moments.len() {
            let last = self.latest_cause(slot, &self.at);
            self.last_cause[slot] = last;
            self.lag[slot] = self.at[slot] - if last == NONE { 0 } else { self.at[last as usize] };
            (self.class[slot], self.worker[slot]) = self.spent(session, slot, last);
        }
    }

    /// The cause with the latest time; of several, the end of a step rather than a beginning, then the last in order.
    fn latest_cause(&self, slot: usize, at: &[i64]) -> u32 {
        let causes = self.causes.of(u32::try_from(slot).unwrap_or(NONE)).iter().copied();
        let rank = |cause: &u32| (at[*cause as usize], !is_begin(self.moments[*cause as usize]), *cause);
        causes.max_by_key(rank).unwrap_or(NONE)
    }

    fn causes_of(&self, slot: usize) -> impl Iterator<Item = u32> {
        let known = self.causes.of(u32::try_from(slot).unwrap_or(NONE)).iter().copied();
        known.chain(Some(self.joint[slot]).filter(|joint| *joint != NONE))
    }

    /// Who worked on what between the last cause and this moment.
    fn spent(&self, session: &Moments<'_>, slot: usize, last: u32) -> (Class, u32) {
        let moment = self.moments[slot];
        let step = step_of(moment);
        if !is_begin(moment) {
            return (session.classes[step as usize], step);
        }
        let before = self.moments.get(last as usize).copied();
        if let Some(before) = before.filter(|before| is_begin(*before)) {
            let worker = step_of(before);
            return (session.classes[worker as usize], worker);
        }
        let after_failure =
            before.is_some_and(|before| session.classes[step_of(before) as usize] == Class::Retry);
        let class = match () {
            () if session.waits_for_human(step, before.map(step_of)) => Class::Human,
            () if after_failure => Class::Retry,
            () => Class::Idle,
        };
        (class, NONE)
    }

    /// Where the last moment of the scope is; `None` for a scope without any.
    pub(crate) fn last(&self) -> Option<u32> {
        let slots = 0..u32::try_from(self.moments.len()).unwrap_or(NONE);
        slots.max_by_key(|slot| (self.at[*slot as usize], *slot))
    }

    /// By moment: how much later it could be without making the scope longer, if nothing else changed.
    pub(crate) fn slack(&self) -> Vec<i64> {
        let mut latest = vec![self.wall; self.moments.len()];
        for slot in (0..self.moments.len()).rev() {
            let from = latest[slot] - self.lag[slot];
            for cause in self.causes_of(slot) {
                let known = &mut latest[cause as usize];
                *known = (*known).min(from);
            }
        }
        latest.iter().zip(&self.at).map(|(latest, at)| latest - at).collect()
    }

    /// When every moment would be if lags were these.
    pub(crate) fn replay(&self, lag: impl Fn(usize) -> i64) -> Vec<i64> {
        let mut at = vec![0; self.moments.len()];
        for slot in 0..self.moments.len() {
            let from: i64 = self.causes_of(slot).map(|cause| at[cause as usize]).max().unwrap_or(0);
            at[slot] = from.saturating_add(lag(slot));
        }
        at
    }

    /// The moments from the scope's first to its last, each the effect of the one before it.
    pub(crate) fn critical(&self) -> Vec<u32> {
        let mut path = Vec::new();
        let mut slot = self.last();
        while let Some(at) = slot {
            path.push(at);
            slot = Some(self.last_cause[at as usize]).filter(|cause| *cause != NONE);
        }
        path.reverse();
        path
    }

    /// Beginnings and ends by step of the session, as slots.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (u32, u32)> {
        let slots = (0_u32..).zip(&self.moments);
        slots.filter(|(_, moment)| !is_begin(**moment)).map(|(slot, moment)| (step_of(*moment), slot))
    }
}
