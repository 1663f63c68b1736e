//! What the ends of declared links are called: an id of ours, or one that the source gave.

use crate::draft::Draft;
use crate::finish::{agent_id, step_id};
use rustc_hash::{FxHashMap, FxHashSet};
use unspool_model::flow::NONE;
use unspool_model::{Id, RecordIx, Sym};

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Step(u32),
    Agent(u32),
}

/// The steps and agents that some names mean. A name that means several means none.
pub(super) struct Ends {
    found: FxHashMap<Sym, End>,
}

impl Ends {
    pub(super) fn find(draft: &Draft<'_>, names: &FxHashSet<Sym>) -> Ends {
        let id_of = |letter| {
            names.iter().filter_map(move |name| Some((Id::parse(draft.text(*name), letter)?, *name)))
        };
        let (steps, agents): (FxHashMap<Id, Sym>, FxHashMap<Id, Sym>) =
            (id_of('s').collect(), id_of('a').collect());
        let mut named = Named { names, found: FxHashMap::default() };
        let first = if steps.is_empty() { Vec::new() } else { first_records(draft) };
        for (n, step) in (0_u32..).zip(&draft.steps) {
            named.tell(step.tool_use, End::Step(n));
            named.tell(step.message, End::Step(n));
            if let Some(first) = first.get(n as usize)
                && let Some(name) = steps.get(&step_id(draft, step, *first))
            {
                named.tell(*name, End::Step(n));
            }
        }
        for (n, agent) in (0_u32..).zip(&draft.agents) {
            named.tell(agent.native_id, End::Agent(n));
            if let Some(name) = agents.get(&agent_id(draft, n)) {
                named.tell(*name, End::Agent(n));
            }
        }
        Ends { found: named.found.into_iter().filter_map(|(name, end)| Some((name, end?))).collect() }
    }

    /// The step a name means as a cause; of an agent, its last.
    pub(super) fn cause(&self, draft: &Draft<'_>, name: Sym) -> u32 {
        match self.found.get(&name) {
            Some(End::Step(step)) => *step,
            Some(End::Agent(agent)) => draft.timeline[*agent as usize].last().copied().unwrap_or(NONE),
            None => NONE,
        }
    }

    /// The step a name means as an effect; of an agent, its first.
    pub(super) fn effect(&self, draft: &Draft<'_>, name: Sym) -> u32 {
        match self.found.get(&name) {
            Some(End::Step(step)) => *step,
            Some(End::Agent(agent)) => draft.timeline[*agent as usize].first().copied().unwrap_or(NONE),
            None => NONE,
        }
    }

    /// The agent a name means; of a step, whose it is.
    pub(super) fn agent(&self, draft: &Draft<'_>, name: Sym) -> u32 {
        match self.found.get(&name) {
            Some(End::Step(step)) => draft.steps[*step as usize].agent,
            Some(End::Agent(agent)) => *agent,
            None => NONE,
        }
    }
}

struct Named<'n> {
    names: &'n FxHashSet<Sym>,
    found: FxHashMap<Sym, Option<End>>,
}

impl Named<'_> {
    fn tell(&mut self, name: Sym, end: End) {
        if !name.is_empty() && self.names.contains(&name) {
            let slot = self.found.entry(name).or_insert(Some(end));
            *slot = slot.filter(|known| *known == end);
        }
    }
}

/// The first record of each step, as `finish` will find it.
fn first_records(draft: &Draft<'_>) -> Vec<Option<RecordIx>> {
    let mut first: Vec<Option<RecordIx>> = vec![None; draft.steps.len()];
    for at in (0..draft.event_step.len()).rev() {
        if let Some(slot) = first.get_mut(draft.event_step[at] as usize) {
            *slot = Some(draft.event(at).record);
        }
    }
    for (slot, step) in first.iter_mut().zip(&draft.steps) {
        if slot.is_none() {
            *slot = draft.agents[step.agent as usize].spawn_evidence.first().copied();
        }
    }
    first
}
