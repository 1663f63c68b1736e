//! Large flows in memory, to measure answers on without reading anything.
//!
//! In: how many steps, and a seed. Out: a flow with the batch that has its names, the same for the same seed. Runs of a main
//! agent that starts sub-agents, model calls with tool calls below them, failures, tokens and edges, as linking makes
//! them. Never here: records, so nothing that needs native bytes.

use crate::random::Random;
use unspool_model::flow::{Millis, NONE};
use unspool_model::{
    Agent, Batch, Confidence, Edge, EdgeKind, Flow, Id, Rule, Run, Session, Spawn, Step, StepKind, Sym,
    Timestamp, Usage,
};

const TOOLS: &[&str] = &["Bash", "Read", "Edit", "Grep", "Glob", "Write", "WebFetch", "TodoWrite"];
const MODELS: &[&str] = &["claude-opus-4-7", "claude-haiku-4-5-20251001", "claude-sonnet-4-5-20250929"];
const KINDS: &[&str] = &["Explore", "Plan", "general-purpose", "test-runner"];
const WORDS: &[&str] = &[
    "cargo",
    "test",
    "pricing",
    "rounding",
    "src",
    "module",
    "connection",
    "timeout",
    "release",
    "workspace",
    "review",
    "session",
    "parser",
    "update",
    "config",
    "schema",
    "total",
    "coupon",
    "merge",
    "branch",
];

/// Makes a flow of at least so many steps.
pub fn large_flow(steps: usize, seed: u64) -> (Flow, Batch) {
    let mut maker = Maker {
        random: Random::new(seed),
        flow: Flow::default(),
        batch: Batch::default(),
        now_ms: 1_760_000_000_000,
        last: Vec::new(),
    };
    let native = maker.batch.text.intern("large-flow");
    maker.flow.session =
        Session { native_ids: vec![native], started: Timestamp::from_ms(maker.now_ms), ..Session::default() };
    maker.agent(NONE, None);
    while maker.flow.steps.len() < steps {
        maker.run();
    }
    maker.flow.edges.sort_by_key(|edge| (edge.to, edge.from, edge.kind));
    (maker.flow, maker.batch)
}

struct Maker {
    random: Random,
    flow: Flow,
    batch: Batch,
    now_ms: i64,
    /// The last step of each agent.
    last: Vec<u32>,
}

impl Maker {
    fn sentence(&mut self) -> Sym {
        let words: Vec<&str> = (0..self.random.count(5, 14)).map(|_| self.random.pick(WORDS)).collect();
        let text = format!("{} {}", words.join(" "), self.random.below(1_000_000));
        self.batch.text.intern(&text)
    }

    fn agent(&mut self, parent: u32, spawn: Option<Spawn>) -> u32 {
        let n = index(self.flow.agents.len());
        let kind = if parent == NONE { Sym::EMPTY } else { self.batch.text.intern(self.random.pick(KINDS)) };
        let depth = self.flow.agents.get(parent as usize).map_or(0, |above| above.depth + 1);
        let native_id = self.batch.text.intern(&format!("a{n:08x}"));
        let id = Id::of(&[b"agent", &n.to_le_bytes()]);
        let first_step = index(self.flow.steps.len());
        self.flow.agents.push(Agent {
            id,
            native_id,
            kind,
            parent,
            depth,
            main: parent == NONE,
            spawn,
            first_step,
            ..Agent::default()
        });
        self.last.push(NONE);
        n
    }

    fn step(&mut self, kind: StepKind, agent: u32, parent: u32, name: &str) -> u32 {
        let n = index(self.flow.steps.len());
        self.now_ms += self.random.between(0, 900);
        let took_ms = self.random.between(0, 20_000);
        let is_error = kind == StepKind::ToolCall && self.random.percent(4);
        let name = self.batch.text.intern(name);
        let preview = self.sentence();
        let intent = if kind == StepKind::ToolCall { self.sentence() } else { Sym::EMPTY };
        if is_error {
            let words = self.sentence();
            self.flow.errors.push((n, words));
        }
        let usage = if kind == StepKind::ModelCall { self.usage() } else { NONE };
        self.flow.steps.push(Step {
            id: Id::of(&[&n.to_le_bytes()]),
            started: Timestamp::from_ms(self.now_ms),
            ended: Timestamp::from_ms(self.now_ms + took_ms),
            duration_ms: Millis::new(Some(took_ms)),
            agent,
            run: index(self.flow.runs.len()).saturating_sub(1),
            parent,
            usage,
            name,
            model: if kind == StepKind::ModelCall { name } else { Sym::EMPTY },
            preview,
            intent,
            kind,
            is_error,
            start_estimated: kind == StepKind::ModelCall,
            ..Step::default()
        });
        let before = std::mem::replace(&mut self.last[agent as usize], n);
        if before != NONE {
            self.edge(before, n, EdgeKind::Sequence, Rule::AgentSequence);
        }
        n
    }

    fn usage(&mut self) -> u32 {
        let mut some = |most: usize| self.random.below(most) as u64;
        let usage =
            Usage { input: some(3_000), cache_read: some(40_000), output: some(900), ..Usage::default() };
        self.flow.usages.push(usage);
        index(self.flow.usages.len() - 1)
    }

    fn edge(&mut self, from: u32, to: u32, kind: EdgeKind, rule: Rule) {
        let inferred = Confidence::from_ten_thousandths(8_700);
        let confidence = if rule.inferred() { inferred } else { Confidence::EXACT };
        self.flow.edges.push(Edge {
            from,
            to,
            first_evidence: 0,
            evidence_count: 0,
            tool_use_id: Sym::EMPTY,
            confidence,
            kind,
            rule,
            is_error: false,
        });
    }

    /// A prompt and what the main agent does about it.
    fn run(&mut self) {
        let trigger = index(self.flow.steps.len());
        let id = Id::of(&[b"run", &trigger.to_le_bytes()]);
        self.flow.runs.push(Run { id, trigger, ..Run::default() });
        let prompt = self.step(StepKind::UserMessage, 0, NONE, "");
        self.rounds(0, prompt, 12);
    }

    /// Rounds of a model call and its tool calls. Agents nest only a few levels.
    fn rounds(&mut self, agent: u32, top: u32, most: usize) {
        let mut calls: Vec<u32> = Vec::new();
        for _ in 0..self.random.count(2, most) {
            let model = self.random.pick(MODELS);
            let answer = self.step(StepKind::ModelCall, agent, top, model);
            for call in calls.drain(..) {
                self.edge(call, answer, EdgeKind::ToolResult, Rule::ToolResultId);
            }
            for _ in 0..self.random.count(1, 3) {
                let spawns = most > 6 && self.random.percent(8);
                let tool = if spawns { "Task" } else { self.random.pick(TOOLS) };
                let call = self.step(StepKind::ToolCall, agent, answer, tool);
                self.edge(answer, call, EdgeKind::Calls, Rule::ToolCallId);
                calls.push(call);
                if spawns {
                    self.sub_agent(agent, call, most - 3);
                }
            }
        }
    }

    fn sub_agent(&mut self, parent: u32, call: u32, most: usize) {
        let rule = if self.random.percent(10) { Rule::SpawnPrompt } else { Rule::SpawnMetaId };
        let spawn = Spawn { step: call, tool_use_id: Sym::EMPTY, rule, confidence: Confidence::EXACT };
        let agent = self.agent(parent, Some(spawn));
        let prompt = self.step(StepKind::UserMessage, agent, call, "");
        self.edge(call, prompt, EdgeKind::SubagentSpawn, rule);
        self.rounds(agent, prompt, most);
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(NONE)
}
