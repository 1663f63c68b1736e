//! Which step was at work at any time of a scope, whether or not anything waited for it.
//!
//! In: the moments of a scope in order of time. Out: stretches of time with their innermost work, and the last change before a moment.
//! Never here: what waits for what.

use super::moments::{Moments, begin, end, is_begin, step_of};
use unspool_model::flow::NONE;
use unspool_model::{Flow, StepKind};

/// A time in which the same step was the innermost at work.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: i64,
    until: i64,
    worker: u32,
}

/// What was at work in a scope.
pub(super) struct AtWork {
    /// In order, without overlap; in the holes nothing was at work.
    stretches: Vec<Stretch>,
    /// By slot, the last one before it at which work began or ended.
    turn_before: Vec<u32>,
}

impl AtWork {
    /// Of moments in order of time, `at` that time. Of steps at work at once, the one that began last is the innermost.
    pub(super) fn new(session: &Moments<'_>, moments: &[u32], at: &[i64]) -> AtWork {
        let mut work = AtWork { stretches: Vec::new(), turn_before: vec![NONE; moments.len()] };
        let mut begun: Vec<u32> = Vec::new();
        let (mut since, mut turn) = (0, NONE);
        for (slot, moment) in (0_u32..).zip(moments) {
            work.turn_before[slot as usize] = turn;
            let step = step_of(*moment);
            if !session.works[step as usize] {
                continue;
            }
            let now = at[slot as usize];
            if let Some(worker) = begun.last() {
                work.add(Stretch { from: since, until: now, worker: *worker });
            }
            if is_begin(*moment) {
                begun.push(step);
            } else {
                let ended = session.at[*moment as usize];
                while begun.pop_if(|step| session.at[end(*step) as usize] <= ended).is_some() {}
            }
            (since, turn) = (now, slot);
        }
        work
    }

    fn add(&mut self, stretch: Stretch) {
        if stretch.from == stretch.until {
            return;
        }
        match self.stretches.last_mut() {
            Some(last) if last.until == stretch.from && last.worker == stretch.worker => {
                last.until = stretch.until;
            }
            _ => self.stretches.push(stretch),
        }
    }

    /// The last slot before this one at which work began or ended.
    pub(super) fn turn_before(&self, slot: u32) -> Option<u32> {
        Some(self.turn_before[slot as usize]).filter(|turn| *turn != NONE)
    }

    /// Who worked from one time to another, cut to these: beginning, end and worker, `NONE` where nothing was at work.
    pub(super) fn between(&self, from: i64, until: i64) -> Vec<(i64, i64, u32)> {
        let mut found = Vec::new();
        let mut known = from;
        let first = self.stretches.partition_point(|stretch| stretch.until <= from);
        for stretch in self.stretches[first..].iter().take_while(|stretch| stretch.from < until) {
            let (begins, ends) = (stretch.from.max(from), stretch.until.min(until));
            if known < begins {
                found.push((known, begins, NONE));
            }
            found.push((begins, ends, stretch.worker));
            known = ends;
        }
        if known < until {
            found.push((known, until, NONE));
        }
        found
    }
}

/// By step, whether it is work of its own while it lasts: not a wait for a person or for an agent.
pub(super) fn works(flow: &Flow, at: &[i64], classes: &[super::Class]) -> Vec<bool> {
    let lasts = |step: u32| at[begin(step) as usize] < at[end(step) as usize];
    let mut works: Vec<bool> =
        (0_u32..).zip(classes).map(|(step, class)| class.is_work() && lasts(step)).collect();
    for spawn in flow.agents.iter().filter_map(|agent| agent.spawn) {
        let call = spawn.step as usize;
        if flow.steps.get(call).is_some_and(|step| step.kind == StepKind::ToolCall) {
            works[call] = false;
        }
    }
    works
}
