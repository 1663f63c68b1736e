//! The steps of a flow as bars on tracks: an agent's steps that overlap lie on tracks of their own.

use crate::layout::FirstFit;
use unspool_model::Flow;

/// A step in time, in microseconds since the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bar {
    /// Index of the step.
    pub(super) step: usize,
    /// Index into the tracks.
    pub(super) track: usize,
    pub(super) start_us: i64,
    /// After the start, by a microsecond at least, so that every bar can be seen and pointed at.
    pub(super) end_us: i64,
}

/// A row of bars that do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Track {
    /// Index of the agent.
    pub(super) agent: usize,
    /// Position among the agent's tracks, from 0.
    pub(super) n: usize,
}

/// All bars of a flow.
#[derive(Default)]
pub(super) struct Bars {
    /// By start; longer ones first.
    pub(super) list: Vec<Bar>,
    /// By agent.
    pub(super) tracks: Vec<Track>,
    /// Steps of which no moment is known.
    pub(super) left_out: usize,
}

impl Bars {
    pub(super) fn of(flow: &Flow) -> Bars {
        let mut found = Bars::default();
        for (n, step) in flow.steps.iter().enumerate() {
            let start = step.started.earlier(step.ended);
            let (Some(start), Some(end)) = (start.ns(), step.ended.later(start).ns()) else {
                found.left_out += 1;
                continue;
            };
            let (start_us, end_us) = (start.div_euclid(1000), end.div_euclid(1000));
            found.list.push(Bar { step: n, track: 0, start_us, end_us: end_us.max(start_us + 1) });
        }
        found.list.sort_unstable_by_key(|bar| (bar.start_us, std::cmp::Reverse(bar.end_us), bar.step));
        found.lay(flow);
        found
    }

    /// Gives each bar the first track of its agent that is free.
    fn lay(&mut self, flow: &Flow) {
        let mut tracks_of: Vec<FirstFit> = (0..=flow.agents.len()).map(|_| FirstFit::default()).collect();
        let slot = |agent: u32| (agent as usize).min(flow.agents.len());
        let mut rows = Vec::with_capacity(self.list.len());
        for bar in &self.list {
            rows.push(tracks_of[slot(flow.steps[bar.step].agent)].place(bar.start_us, bar.end_us, 0));
        }
        let mut first_track = Vec::with_capacity(tracks_of.len());
        for (agent, tracks) in tracks_of.iter().enumerate() {
            first_track.push(self.tracks.len());
            self.tracks.extend((0..tracks.count).map(|n| Track { agent, n }));
        }
        for (bar, n) in self.list.iter_mut().zip(rows) {
            bar.track = first_track[slot(flow.steps[bar.step].agent)] + n;
        }
    }
}
