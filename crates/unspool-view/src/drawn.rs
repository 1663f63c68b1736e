//! For tests: small flows, drawn step by step or a word per step, and random ones.
//!
//! In: steps and edges in few words. Out: a flow and the batch that holds its text. Never here: records, evidence, linking.

use proptest::prelude::*;
use unspool_model::flow::{Millis, NONE};
use unspool_model::{
    Agent, Batch, Confidence, Edge, EdgeKind, Flow, Id, Rule, Run, Spawn, Step, StepKind, Sym, Timestamp,
    Usage,
};

/// A flow in the making.
#[derive(Default)]
pub(crate) struct Drawn {
    pub(crate) flow: Flow,
    pub(crate) batch: Batch,
}

impl Drawn {
    /// With a main agent, number 0.
    pub(crate) fn new() -> Drawn {
        let mut drawn = Drawn::default();
        drawn.flow.agents.push(Agent {
            main: true,
            parent: NONE,
            first_step: NONE,
            last_step: NONE,
            ..Agent::default()
        });
        drawn
    }

    /// A main agent with a step per word in one run; see [`Drawn::word`].
    pub(crate) fn of_words(words: &[&str]) -> Drawn {
        let mut drawn = Drawn::new();
        drawn.flow.runs.push(Run::default());
        drawn.flow.agents[0].first_step = 0;
        for word in words {
            drawn.flow.agents[0].last_step = drawn.word(0, word);
        }
        drawn
    }

    /// Half a second of an agent, without edges, below the first step: a kind and name (`tool:Bash`), `!` behind a failed one, words
    /// behind a space as its preview.
    pub(crate) fn word(&mut self, agent: u32, word: &str) -> u32 {
        let (word, preview) = word.split_once(' ').unwrap_or((word, ""));
        let (word, is_error) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
        let (kind, name) = word.split_once(':').unwrap_or((word, ""));
        let kind = match kind {
            "model" => StepKind::ModelCall,
            "tool" => StepKind::ToolCall,
            "start" => StepKind::AgentStart,
            "user" => StepKind::UserMessage,
            _ => StepKind::Generic,
        };
        let at = i64::try_from(self.flow.steps.len()).unwrap() * 1_000;
        let n = self.push(agent, kind, name, (at, at + 500));
        let preview = self.batch.text.intern(preview);
        let step = &mut self.flow.steps[n as usize];
        step.parent = if n == 0 { NONE } else { 0 };
        (step.preview, step.is_error) = (preview, is_error);
        n
    }

    /// A step of an agent from one millisecond to another, after the last one of that agent.
    pub(crate) fn step(&mut self, agent: u32, kind: StepKind, name: &str, times: (i64, i64)) -> u32 {
        let last = self.flow.steps.iter().rposition(|step| step.agent == agent);
        let n = self.push(agent, kind, name, times);
        if let Some(last) = last {
            self.edge(u32::try_from(last).unwrap(), n, EdgeKind::Sequence);
        }
        n
    }

    fn push(&mut self, agent: u32, kind: StepKind, name: &str, times: (i64, i64)) -> u32 {
        let n = u32::try_from(self.flow.steps.len()).unwrap();
        let named = self.batch.text.intern(name);
        self.flow.steps.push(Step {
            id: Id::of(&[b"step", &n.to_le_bytes()]),
            started: Timestamp::from_ms(times.0),
            ended: Timestamp::from_ms(times.1),
            duration_ms: Millis::new(Some(times.1 - times.0)),
            agent,
            run: u32::try_from(self.flow.runs.len()).unwrap().wrapping_sub(1),
            name: named,
            model: if kind == StepKind::ModelCall { named } else { Sym::EMPTY },
            kind,
            ..Step::default()
        });
        n
    }

    /// The input of a new run.
    pub(crate) fn input(&mut self, at: i64) -> u32 {
        let trigger = u32::try_from(self.flow.steps.len()).unwrap();
        self.flow.runs.push(Run { trigger, started: Timestamp::from_ms(at), ..Run::default() });
        self.step(0, StepKind::UserMessage, "", (at, at))
    }

    /// A model call of an agent.
    pub(crate) fn model(&mut self, agent: u32, times: (i64, i64)) -> u32 {
        self.step(agent, StepKind::ModelCall, "model", times)
    }

    /// A call of a tool by a model call, with what it was given.
    pub(crate) fn tool(&mut self, caller: u32, name: &str, given: &str, times: (i64, i64)) -> u32 {
        let agent = self.flow.steps[caller as usize].agent;
        let call = self.step(agent, StepKind::ToolCall, name, times);
        let given = self.batch.text.intern(given);
        let step = &mut self.flow.steps[call as usize];
        (step.parent, step.preview) = (caller, given);
        self.edge(caller, call, EdgeKind::Calls);
        call
    }

    /// An agent started by a call, with its first message.
    pub(crate) fn agent(&mut self, call: u32, kind: &str, at: i64) -> u32 {
        let n = self.spawn(call, kind);
        let prompt = self.step(n, StepKind::UserMessage, "", (at, at));
        self.flow.steps[prompt as usize].parent = call;
        self.edge(call, prompt, EdgeKind::SubagentSpawn);
        n
    }

    /// An agent started by a call, with a step per word; see [`Drawn::word`].
    pub(crate) fn with_agent(mut self, call: u32, kind: &str, words: &[&str]) -> Drawn {
        let n = self.spawn(call, kind);
        self.flow.agents[n as usize].first_step = u32::try_from(self.flow.steps.len()).unwrap();
        for word in words {
            self.word(n, word);
        }
        self
    }

    /// An agent started by a call, without any step.
    pub(crate) fn spawn(&mut self, call: u32, kind: &str) -> u32 {
        let n = u32::try_from(self.flow.agents.len()).unwrap();
        let parent = self.flow.steps[call as usize].agent;
        let spawn = Spawn {
            step: call,
            tool_use_id: Sym::EMPTY,
            rule: Rule::SpawnResultId,
            confidence: Confidence::EXACT,
        };
        self.flow.agents.push(Agent {
            id: Id::of(&[b"agent", &n.to_le_bytes()]),
            kind: self.batch.text.intern(kind),
            parent,
            depth: self.flow.agents[parent as usize].depth + 1,
            spawn: Some(spawn),
            first_step: NONE,
            last_step: NONE,
            ..Agent::default()
        });
        n
    }

    /// An edge between two steps.
    pub(crate) fn edge(&mut self, from: u32, to: u32, kind: EdgeKind) {
        self.flow.edges.push(Edge {
            from,
            to,
            first_evidence: 0,
            evidence_count: 0,
            tool_use_id: Sym::EMPTY,
            confidence: Confidence::EXACT,
            kind,
            rule: if kind == EdgeKind::ContentReuse { Rule::ContentReuse } else { Rule::AgentSequence },
            is_error: false,
        });
    }

    /// A step's result is received by another.
    pub(crate) fn result(&mut self, call: u32, receiver: u32) {
        self.edge(call, receiver, EdgeKind::ToolResult);
    }

    /// A step failed.
    pub(crate) fn fail(&mut self, step: u32) {
        self.flow.steps[step as usize].is_error = true;
    }

    /// A model call took tokens.
    pub(crate) fn usage(&mut self, step: u32, usage: Usage) {
        self.flow.steps[step as usize].usage = u32::try_from(self.flow.usages.len()).unwrap();
        self.flow.usages.push(usage);
    }
}

/// Flows that no linker would make: any times, any edges, circles too.
pub(crate) fn wild() -> impl Strategy<Value = Drawn> {
    let kinds = prop_oneof![
        Just(StepKind::UserMessage),
        Just(StepKind::ModelCall),
        Just(StepKind::ToolCall),
        Just(StepKind::Generic)
    ];
    let steps = prop::collection::vec((kinds, 0_u32..3, 0_i64..60, 0_i64..25, any::<[bool; 3]>()), 0..24);
    let edge_kinds = prop_oneof![
        Just(EdgeKind::Calls),
        Just(EdgeKind::SpanParent),
        Just(EdgeKind::ToolResult),
        Just(EdgeKind::SubagentReturn),
        Just(EdgeKind::ContentReuse)
    ];
    let edges = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), edge_kinds),
        0..30,
    );
    (steps, edges).prop_map(|(steps, edges)| {
        let mut drawn = Drawn::new();
        drawn.flow.agents.push(Agent { parent: NONE, ..Agent::default() });
        drawn.flow.agents.push(Agent { parent: 0, depth: 1, ..Agent::default() });
        for (n, (kind, agent, at, ms, [is_trigger, is_error, is_untimed])) in steps.into_iter().enumerate() {
            if n == 0 || (is_trigger && kind == StepKind::UserMessage) {
                drawn.flow.runs.push(Run { trigger: u32::try_from(n).unwrap(), ..Run::default() });
            }
            let step = drawn.step(agent, kind, "name", (at, at + ms));
            let step = &mut drawn.flow.steps[step as usize];
            step.is_error = is_error;
            if is_untimed {
                (step.started, step.duration_ms) = (Timestamp::NONE, Millis::NONE);
                step.ended = if is_error { step.ended } else { Timestamp::NONE };
            }
        }
        let count = drawn.flow.steps.len();
        for (from, to, kind) in edges.into_iter().filter(|_| count > 0) {
            let (from, to) = (from.index(count), to.index(count));
            drawn.edge(u32::try_from(from).unwrap(), u32::try_from(to).unwrap(), kind);
        }
        let call =
            drawn.flow.steps.iter().position(|step| step.kind == StepKind::ToolCall && step.agent == 0);
        drawn.flow.agents[2].spawn = call.map(|call| Spawn {
            step: u32::try_from(call).unwrap(),
            tool_use_id: Sym::EMPTY,
            rule: Rule::SpawnPrompt,
            confidence: Confidence::EXACT,
        });
        drawn
    })
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, step) in self.flow.steps.iter().enumerate() {
            writeln!(f, "{n} agent {} {:?} {:?}..{:?}", step.agent, step.kind, step.started, step.ended)?;
        }
        for edge in &self.flow.edges {
            writeln!(f, "{} -> {} {:?}", edge.from, edge.to, edge.kind)?;
        }
        Ok(())
    }
}
