//! The answer as plain values: the path of a scope with its sums and slack.
//!
//! In: a flow, a scope and changes. Out: what `unspool path` prints and writes. Never here: a terminal.

use super::joints::Piece;
use super::left_out::{LeftOutDoc, left_out};
use super::moments::{Moments, is_begin, step_of};
use super::network::Network;
use super::split::{ParallelismDoc, SplitDoc, parallelism, split};
use super::what_if::{Change, WhatIfDoc, what_if};
use crate::labels::agent_label;
use schemars::JsonSchema;
use serde::Serialize;
use unspool_model::flow::NONE;
use unspool_model::{Flow, Interner, Timestamp};

/// All paths that were asked for.
#[derive(Serialize, JsonSchema)]
pub struct PathDoc {
    /// Always `unspool.path/1`.
    pub schema: &'static str,
    /// Sessions, oldest first.
    pub sessions: Vec<SessionPathDoc>,
}

/// The critical path of a session, or of a part of it.
#[derive(Serialize, JsonSchema)]
pub struct SessionPathDoc {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Title, or first prompt.
    pub title: Option<String>,
    /// What was asked for.
    pub path: ScopePathDoc,
    /// Every run of the session in short.
    pub runs: Vec<ScopeDoc>,
}

/// Sums over a scope.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ScopeDoc {
    /// `session`, `run` or `agent` (an agent with everything it started).
    pub scope: &'static str,
    /// Id of the session, run or agent.
    pub id: String,
    /// The session's title, the input of the run, or the agent's name or type.
    pub title: Option<String>,
    /// First moment of its steps.
    pub started_at: Option<String>,
    /// Milliseconds from there to the last moment of its steps.
    pub wall_ms: i64,
    /// Milliseconds of the path in which a step was at work.
    pub path_ms: i64,
    /// Milliseconds of the path in which none was. Together with `path_ms`, the wall clock exactly.
    pub gaps_ms: i64,
    /// What the wall clock was spent on.
    pub split: SplitDoc,
    /// How much went on at once.
    pub parallelism: ParallelismDoc,
    /// Steps with a time.
    pub steps_timed: u64,
    /// Steps without any time; they are not on the path.
    pub steps_untimed: u64,
    /// Milliseconds of the path in steps whose beginning is estimated or whose end is missing.
    pub estimated_ms: i64,
    /// Links along the path that are inferred; joints among them.
    pub inferred_links: u64,
    /// Where the path would break off or only wait, and goes on from what was at work last.
    pub joints: u64,
    /// Milliseconds of the path in steps that nothing says it waited for; they were at work then.
    pub unexplained_ms: i64,
}

/// A scope with its path and the slack of every step.
#[derive(Serialize, JsonSchema)]
pub struct ScopePathDoc {
    /// Sums.
    #[serde(flatten)]
    pub sums: ScopeDoc,
    /// Edges of the session that contradict the clock and were not used.
    pub unused_edges: u64,
    /// Agents of the session that the path is without; null when there are none, or a part was asked for.
    pub left_out: Option<LeftOutDoc>,
    /// The path: what the wall clock was spent on, from the first moment to the last, without holes.
    pub segments: Vec<SegmentDoc>,
    /// Steps with a time, in order of `seq`.
    pub steps: Vec<StepSlackDoc>,
    /// The scope with other durations, when that was asked for.
    pub what_if: Option<WhatIfDoc>,
}

/// One piece of the path.
#[derive(Serialize, JsonSchema)]
pub struct SegmentDoc {
    /// Milliseconds since the scope's first moment.
    pub at_ms: i64,
    /// How long.
    pub ms: i64,
    /// What it was spent on: `model`, `tool`, `human`, `retry`, `idle` or `other`.
    pub class: &'static str,
    /// The step at work; null for a gap.
    pub step_id: Option<String>,
    /// The step that a gap was before; null otherwise.
    pub before_step_id: Option<String>,
    /// Kind of the step at work, or of the one after the gap.
    pub kind: &'static str,
    /// Its tool, model or other name.
    pub name: Option<String>,
    /// Its first words, or what it was given.
    pub preview: Option<String>,
    /// Its agent.
    pub agent_id: String,
    /// Type of its agent, or `agent` when it is not known; null for a main agent.
    pub agent: Option<String>,
    /// The step's beginning is estimated or its end is missing.
    pub estimated: bool,
    /// That this waited for what is before it on the path is inferred.
    pub inferred: bool,
    /// Nothing says why the path leads here: it is what was at work then, or the gap after what was at work last.
    pub unexplained: bool,
}

/// How much room a step has.
#[derive(Serialize, JsonSchema)]
pub struct StepSlackDoc {
    /// Id of the step.
    pub id: String,
    /// The longest chain of waiting that goes through the end of the step. With `slack_ms`, the wall clock exactly.
    pub through_ms: i64,
    /// Milliseconds by which it could end later without making the scope longer.
    pub slack_ms: i64,
    /// Its end is on the critical path, or it was at work there until another step took over.
    pub on_path: bool,
    /// Its beginning is estimated or its end is missing.
    pub estimated: bool,
}

/// What a path is wanted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything but agents that the client runs for itself.
    Session,
    /// One run, by index.
    Run(u32),
    /// One agent and everything it started, by index.
    Agent(u32),
}

/// Paths through one session.
pub struct Paths<'a> {
    flow: &'a Flow,
    text: &'a Interner,
    pub(crate) moments: Moments<'a>,
}

impl<'a> Paths<'a> {
    /// Reads times and causes once for all scopes.
    pub fn new(flow: &'a Flow, text: &'a Interner) -> Paths<'a> {
        Paths { flow, text, moments: Moments::new(flow, text) }
    }

    /// The moments of a scope.
    pub(crate) fn network(&self, scope: Scope) -> Network {
        let agents = self.agents_in(scope);
        Network::new(&self.moments, |step| {
            let step = &self.flow.steps[step as usize];
            match scope {
                Scope::Run(run) => step.run == run,
                _ => agents.get(step.agent as usize).copied().unwrap_or(false),
            }
        })
    }

    fn agents_in(&self, scope: Scope) -> Vec<bool> {
        let agents = &self.flow.agents;
        match scope {
            Scope::Session => agents.iter().map(|agent| !agent.internal).collect(),
            Scope::Run(_) => Vec::new(),
            Scope::Agent(root) => {
                let mut inside = vec![false; agents.len()];
                let mut by_depth: Vec<u32> = (0..u32::try_from(agents.len()).unwrap_or(NONE)).collect();
                unspool_model::sort_by_meaning(&mut by_depth, |n| agents[*n as usize].depth);
                for n in by_depth {
                    let parent = agents[n as usize].parent as usize;
                    inside[n as usize] = n == root || inside.get(parent).copied().unwrap_or(false);
                }
                inside
            }
        }
    }

    /// Every run of the session, in order.
    pub fn runs(&self) -> Vec<ScopeDoc> {
        let mut moments: Vec<Vec<u32>> = vec![Vec::new(); self.flow.runs.len()];
        let mut untimed = vec![0; self.flow.runs.len()];
        for moment in &self.moments.order {
            let run = self.flow.steps[step_of(*moment) as usize].run as usize;
            if run >= moments.len() {
                continue;
            }
            if self.moments.at[*moment as usize] == super::moments::UNTIMED {
                untimed[run] += u64::from(is_begin(*moment));
            } else {
                moments[run].push(*moment);
            }
        }
        let mut slots = vec![NONE; self.moments.at.len()];
        let runs = (0_u32..).zip(moments.into_iter().zip(untimed));
        runs.map(|(run, (moments, untimed))| {
            let network = Network::of(&self.moments, moments, untimed, &mut slots);
            self.sums(Scope::Run(run), &network, &network.critical())
        })
        .collect()
    }

    /// Sums over a scope.
    pub(crate) fn sums(&self, scope: Scope, network: &Network, path: &[u32]) -> ScopeDoc {
        let flow = self.flow;
        let split = split(network, path);
        let mut sums = ScopeDoc {
            scope: match scope {
                Scope::Session => "session",
                Scope::Run(_) => "run",
                Scope::Agent(_) => "agent",
            },
            id: match scope {
                Scope::Session => flow.session.id.show('x'),
                Scope::Run(n) => flow.runs.get(n as usize).map(|run| run.id.show('u')).unwrap_or_default(),
                Scope::Agent(n) => flow.agents.get(n as usize).map(|a| a.id.show('a')).unwrap_or_default(),
            },
            title: self.title(scope),
            started_at: network.last().map(|_| Timestamp::from_ms(network.origin).to_string()),
            wall_ms: network.wall,
            path_ms: 0,
            gaps_ms: 0,
            split,
            parallelism: parallelism(network),
            steps_timed: network.steps().count() as u64,
            steps_untimed: network.untimed,
            estimated_ms: 0,
            inferred_links: 0,
            joints: 0,
            unexplained_ms: 0,
        };
        for slot in path {
            for piece in network.pieces_of(*slot) {
                *(if piece.worker == NONE { &mut sums.gaps_ms } else { &mut sums.path_ms }) += piece.ms;
                sums.estimated_ms += if self.is_estimated(piece.worker) { piece.ms } else { 0 };
                sums.unexplained_ms += if piece.unexplained && piece.worker != NONE { piece.ms } else { 0 };
            }
            sums.inferred_links += u64::from(self.is_inferred(network, *slot));
            sums.joints += u64::from(network.joint[*slot as usize] != NONE);
        }
        sums
    }

    fn title(&self, scope: Scope) -> Option<String> {
        let flow = self.flow;
        let title = match scope {
            Scope::Session => flow.session.title,
            Scope::Run(n) => {
                let trigger = flow.runs.get(n as usize).and_then(|run| flow.steps.get(run.trigger as usize));
                trigger.map(|step| step.preview).unwrap_or_default()
            }
            Scope::Agent(n) => {
                let agent = flow.agents.get(n as usize);
                agent.and_then(|agent| agent.name.some().or(agent.kind.some())).unwrap_or_default()
            }
        };
        title.some().map(|title| self.text.get(title).to_string())
    }

    fn is_estimated(&self, step: u32) -> bool {
        let step = self.flow.steps.get(step as usize);
        step.is_some_and(|step| step.start_estimated || !step.started.is_some() || !step.ended.is_some())
    }

    fn is_inferred(&self, network: &Network, slot: u32) -> bool {
        let cause = network.last_cause[slot as usize];
        let moment = |slot: u32| network.moments[slot as usize];
        let is_joint = network.joint[slot as usize] != NONE;
        is_joint || cause != NONE && self.moments.is_inferred(moment(cause), moment(slot))
    }

    /// The path of a scope with everything beside it.
    pub fn path(&self, scope: Scope, changes: &[Change]) -> ScopePathDoc {
        let network = self.network(scope);
        let path = network.critical();
        let mut on_path = vec![false; self.flow.steps.len()];
        for slot in &path {
            let moment = network.moments[*slot as usize];
            if !is_begin(moment) {
                on_path[step_of(moment) as usize] = true;
            }
            for piece in network.pieces_of(*slot).iter().filter(|piece| piece.ms > 0 && piece.worker != NONE)
            {
                on_path[piece.worker as usize] = true;
            }
        }
        let slack = network.slack();
        let mut steps: Vec<(u32, u32)> = network.steps().collect();
        steps.sort_unstable();
        let steps = steps.into_iter().map(|(step, slot)| StepSlackDoc {
            id: self.flow.steps[step as usize].id.show('s'),
            through_ms: network.wall - slack[slot as usize],
            slack_ms: slack[slot as usize],
            on_path: on_path[step as usize],
            estimated: self.is_estimated(step),
        });
        let steps = steps.collect();
        let pieces =
            path.iter().flat_map(|slot| network.pieces_of(*slot).into_iter().map(|piece| (*slot, piece)));
        let long = pieces.filter(|(_, piece)| piece.ms > 0);
        ScopePathDoc {
            sums: self.sums(scope, &network, &path),
            unused_edges: self.moments.unused_edges,
            left_out: if scope == Scope::Session { left_out(self.flow, &self.moments) } else { None },
            segments: long.map(|(slot, piece)| self.segment(&network, slot, piece)).collect(),
            steps,
            what_if: (!changes.is_empty()).then(|| what_if(self.flow, self.text, &network, changes)),
        }
    }

    fn segment(&self, network: &Network, slot: u32, piece: Piece) -> SegmentDoc {
        let worker = piece.worker;
        let shown = if worker == NONE { step_of(network.moments[slot as usize]) } else { worker };
        let step = &self.flow.steps[shown as usize];
        let agent = self.flow.agents.get(step.agent as usize);
        let text = |sym: unspool_model::Sym| sym.some().map(|sym| self.text.get(sym).to_string());
        SegmentDoc {
            at_ms: piece.at,
            ms: piece.ms,
            class: piece.class.name(),
            step_id: (worker != NONE).then(|| step.id.show('s')),
            before_step_id: (worker == NONE).then(|| step.id.show('s')),
            kind: step.kind.name(),
            name: text(step.name),
            preview: text(step.preview),
            agent_id: agent.map(|agent| agent.id.show('a')).unwrap_or_default(),
            agent: agent.filter(|agent| !agent.main).map(|agent| agent_label(self.text, agent)),
            estimated: self.is_estimated(worker),
            inferred: self.is_inferred(network, slot),
            unexplained: piece.unexplained,
        }
    }
}

/// The path of a session with all its runs in short.
pub fn session_path(flow: &Flow, text: &Interner, scope: Scope, changes: &[Change]) -> SessionPathDoc {
    let paths = Paths::new(flow, text);
    SessionPathDoc {
        id: flow.session.id.show('x'),
        native_ids: flow.session.native_ids.iter().map(|id| text.get(*id).to_string()).collect(),
        title: flow.session.title.some().map(|title| text.get(title).to_string()),
        path: paths.path(scope, changes),
        runs: paths.runs(),
    }
}
