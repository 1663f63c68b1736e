//! Which spans a flow has, where they lie, and what they say.

use super::{AnyValue, Attribute, Link, SessionSpans, Span};
use crate::labels;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use unspool_model::flow::NONE;
use unspool_model::{Agent, Batch, Edge, EdgeKind, Flow, Id, IntentSource, Step, StepKind, Sym, Timestamp};

/// The spans of a session.
pub fn spans(flow: &Flow, batch: &Batch) -> SessionSpans {
    let writer = Writer::new(flow, batch);
    let mut spans = writer.agents();
    for (n, step) in flow.steps.iter().enumerate() {
        if writer.has_span(n) {
            spans.push(writer.step(n, step));
        }
    }
    spans.sort_by_key(|span| span.start_ns);
    let resource = vec![("service.name", AnyValue::Text("unspool".into()))];
    SessionSpans { resource, spans }
}

struct Writer<'f> {
    flow: &'f Flow,
    batch: &'f Batch,
    /// By agent and run: its steps. An agent that works in several runs has a span in each.
    turns: Vec<((u32, u32), Vec<u32>)>,
    /// By step: the message that opens its agent's turn is part of that turn's span.
    opens: Vec<bool>,
    edges_to: FxHashMap<u32, Vec<&'f Edge>>,
    calls_of: FxHashMap<u32, Vec<u32>>,
}

fn text(value: impl Into<String>) -> AnyValue {
    AnyValue::Text(value.into())
}

fn ns(at: Timestamp) -> u64 {
    at.ns().and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0)
}

fn first_half(id: Id) -> [u8; 8] {
    let mut half = [0; 8];
    half.copy_from_slice(&id.to_bytes()[..8]);
    half
}

impl<'f> Writer<'f> {
    fn new(flow: &'f Flow, batch: &'f Batch) -> Writer<'f> {
        let mut index: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut turns: Vec<((u32, u32), Vec<u32>)> = Vec::new();
        for (n, step) in (0_u32..).zip(&flow.steps) {
            let turn = (step.agent, step.run);
            let at = *index.entry(turn).or_insert_with(|| {
                turns.push((turn, Vec::new()));
                turns.len() - 1
            });
            turns[at].1.push(n);
        }
        let mut opens = vec![false; flow.steps.len()];
        for (_, steps) in &turns {
            let said = |n: &&u32| flow.steps[**n as usize].kind == StepKind::UserMessage;
            if let Some(first) = steps.first().filter(said) {
                opens[*first as usize] = true;
            }
        }
        let mut edges_to: FxHashMap<u32, Vec<&Edge>> = FxHashMap::default();
        let mut calls_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for edge in &flow.edges {
            edges_to.entry(edge.to).or_default().push(edge);
            if edge.kind == EdgeKind::Calls {
                calls_of.entry(edge.from).or_default().push(edge.to);
            }
        }
        Writer { flow, batch, turns, opens, edges_to, calls_of }
    }

    fn text(&self, sym: Sym) -> &'f str {
        self.batch.text.get(sym)
    }

    /// Agents begin and end with their spans; only tokens that are told there need one of their own.
    fn has_span(&self, n: usize) -> bool {
        let step = &self.flow.steps[n];
        let borders = matches!(step.kind, StepKind::AgentStart | StepKind::AgentStop);
        !self.opens[n] && (!borders || self.flow.usage_of(step).is_some())
    }

    /// Why a begin or end without a span of its own failed.
    fn border_error(&self, n: u32) -> Option<String> {
        let failed =
            self.flow.steps[n as usize].is_error && !self.has_span(n as usize) && !self.opens[n as usize];
        failed.then(|| self.text(self.flow.error_of(n as usize)).to_string())
    }

    fn trace(&self, run: u32) -> [u8; 16] {
        self.flow.runs.get(run as usize).map_or(self.flow.session.id, |run| run.id).to_bytes()
    }

    fn turn_id(&self, agent: u32, run: u32) -> [u8; 8] {
        let agent = self.flow.agents.get(agent as usize).map(|agent| agent.id).unwrap_or_default();
        first_half(Id::of(&[b"turn", &agent.to_bytes(), &self.trace(run)]))
    }

    /// Where a step is found: its own span, or that of the turn it opens.
    fn place(&self, n: u32) -> ([u8; 16], [u8; 8]) {
        let step = &self.flow.steps[n as usize];
        let own = self.has_span(n as usize);
        (self.trace(step.run), if own { first_half(step.id) } else { self.turn_id(step.agent, step.run) })
    }

    fn session(&self) -> Attribute {
        let native = self.flow.session.native_ids.first().map_or("", |id| self.text(*id));
        let id = if native.is_empty() { self.flow.session.id.show('x') } else { native.into() };
        ("gen_ai.conversation.id", text(id))
    }

    fn agents(&self) -> Vec<Span> {
        self.turns.iter().map(|((agent, run), steps)| self.turn(*agent, *run, steps)).collect()
    }

    /// The span of an agent in a run.
    fn turn(&self, n: u32, run: u32, steps: &[u32]) -> Span {
        let all = || steps.iter().map(|step| &self.flow.steps[*step as usize]);
        let start = all().fold(Timestamp::NONE, |at, step| at.earlier(step.started).earlier(step.ended));
        let end = all().fold(Timestamp::NONE, |at, step| at.later(step.started).later(step.ended));
        let unknown = Agent::default();
        let agent = self.flow.agents.get(n as usize).unwrap_or(&unknown);
        let named = [agent.kind, agent.name].into_iter().find(|name| !name.is_empty());
        let name = named.map_or_else(|| labels::agent_name(self.batch, agent), |name| self.text(name).into());
        let mut attributes = vec![
            ("gen_ai.operation.name", text("invoke_agent")),
            ("gen_ai.agent.name", text(name.clone())),
            ("gen_ai.agent.id", text(self.text(agent.native_id))),
            self.session(),
            ("unspool.agent.id", text(agent.id.show('a'))),
            ("unspool.agent.status", text(agent.status.name())),
        ];
        if !agent.name.is_empty() {
            attributes.push(("gen_ai.agent.description", text(self.text(agent.name))));
        }
        let mut links = Vec::new();
        if let Some(first) = steps.first().filter(|first| self.opens[**first as usize]) {
            let said = self.text(self.flow.steps[*first as usize].preview);
            attributes.push((
                "gen_ai.input.messages",
                messages("user", &[json!({"type": "text", "content": said})]),
            ));
            links = self.links(*first);
        }
        let parent = agent.spawn.and_then(|spawn| {
            attributes.push(("unspool.spawn.rule", text(spawn.rule.name())));
            attributes.push(("unspool.spawn.confidence", AnyValue::Double(spawn.confidence.as_f64())));
            let (trace, id) = self.place(spawn.step);
            // A span lies in spans of its own trace only.
            if trace == self.trace(run) {
                return Some(id);
            }
            links.push(Link { trace, id, attributes: vec![("unspool.edge.kind", text("subagent_spawn"))] });
            None
        });
        Span {
            trace: self.trace(run),
            id: self.turn_id(n, run),
            parent,
            name: format!("invoke_agent {name}"),
            start_ns: ns(start),
            end_ns: ns(end),
            attributes,
            links,
            // A step that failed says so itself and must not count twice.
            error: steps.iter().find_map(|n| self.border_error(*n)),
        }
    }

    fn step(&self, n: usize, step: &Step) -> Span {
        let index = u32::try_from(n).unwrap_or(NONE);
        let (operation, name) = self.operation(step);
        let mut attributes = vec![
            self.session(),
            ("unspool.step.id", text(step.id.show('s'))),
            ("unspool.step.kind", text(step.kind.name())),
        ];
        if let Some(operation) = operation {
            attributes.insert(0, ("gen_ai.operation.name", text(operation)));
        }
        match step.kind {
            StepKind::ModelCall => self.model(index, step, &mut attributes),
            StepKind::ToolCall => self.tool(step, &mut attributes),
            StepKind::Guardrail => attributes.push(("openinference.span.kind", text("GUARDRAIL"))),
            _ => {}
        }
        self.usage(step, &mut attributes);
        if !matches!(step.kind, StepKind::ModelCall | StepKind::ToolCall) && !step.preview.is_empty() {
            attributes.push(("unspool.preview", text(self.text(step.preview))));
        }
        for (key, set) in [
            ("unspool.pending", step.pending),
            ("unspool.started_at_estimated", step.start_estimated),
            ("unspool.meta", step.meta),
            ("unspool.async", step.is_async),
        ] {
            if set {
                attributes.push((key, AnyValue::Bool(true)));
            }
        }
        Span {
            trace: self.trace(step.run),
            id: first_half(step.id),
            parent: Some(self.turn_id(step.agent, step.run)),
            name,
            start_ns: ns(step.started.earlier(step.ended)),
            end_ns: ns(step.ended.later(step.started)),
            attributes,
            links: self.links(index),
            error: step.is_error.then(|| self.text(self.flow.error_of(n)).to_string()),
        }
    }

    /// What the conventions call it, and the span's name.
    fn operation(&self, step: &Step) -> (Option<&'static str>, String) {
        let own = labels::step_name(self.batch, step);
        let operation = match step.kind {
            StepKind::ModelCall => "chat",
            StepKind::ToolCall => "execute_tool",
            StepKind::Embedding => "embeddings",
            StepKind::Retrieval => "retrieval",
            StepKind::Memory => "search_memory",
            _ => return (None, own),
        };
        (Some(operation), format!("{operation} {}", self.text(step.name)).trim().to_string())
    }

    fn model(&self, n: u32, step: &Step, attributes: &mut Vec<Attribute>) {
        for (key, sym) in [
            ("gen_ai.request.model", step.model),
            ("gen_ai.response.model", step.model),
            ("gen_ai.response.id", step.message_id),
        ] {
            if !sym.is_empty() {
                attributes.push((key, text(self.text(sym))));
            }
        }
        let edges = self.edges_to.get(&n).map_or(&[][..], Vec::as_slice);
        let results =
            edges.iter().filter(|edge| edge.kind == EdgeKind::ToolResult && !edge.tool_use_id.is_empty());
        let results: Vec<Value> = results
            .map(|edge| json!({"type": "tool_call_response", "id": self.text(edge.tool_use_id), "response": ""}))
            .collect();
        if !results.is_empty() {
            attributes.push(("gen_ai.input.messages", messages("tool", &results)));
        }
        let mut parts = Vec::new();
        if !step.preview.is_empty() {
            parts.push(json!({"type": "text", "content": self.text(step.preview)}));
        }
        for call in self.calls_of.get(&n).into_iter().flatten().map(|call| &self.flow.steps[*call as usize]) {
            let (id, name) = (self.text(call.tool_use_id), self.text(call.name));
            parts.push(
                json!({"type": "tool_call", "id": id, "name": name, "arguments": self.arguments(call)}),
            );
        }
        if !parts.is_empty() {
            attributes.push(("gen_ai.output.messages", messages("assistant", &parts)));
        }
    }

    /// Tokens as the conventions count them: input includes what a cache served or took, output includes thinking.
    fn usage(&self, step: &Step, attributes: &mut Vec<Attribute>) {
        let Some(usage) = self.flow.usage_of(step) else { return };
        for (key, count) in [
            ("gen_ai.usage.input_tokens", usage.input + usage.cache_read + usage.cache_write),
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
            ("gen_ai.usage.output_tokens", usage.output + usage.reasoning),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
        ] {
            attributes.push((key, AnyValue::Int(i64::try_from(count).unwrap_or(i64::MAX))));
        }
    }

    fn tool(&self, step: &Step, attributes: &mut Vec<Attribute>) {
        for (key, sym) in [("gen_ai.tool.name", step.name), ("gen_ai.tool.call.id", step.tool_use_id)] {
            if !sym.is_empty() {
                attributes.push((key, text(self.text(sym))));
            }
        }
        let arguments = self.arguments(step);
        let shown = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_string);
        attributes.push(("gen_ai.tool.call.arguments", text(shown)));
    }

    /// What is known of a call's input: what it was for in its source's words, else the first words of it.
    fn arguments(&self, step: &Step) -> Value {
        match step.intent_source {
            IntentSource::Data => json!({"description": self.text(step.intent)}),
            IntentSource::Rule => json!(self.text(step.intent)),
            IntentSource::None if step.preview.is_empty() => json!({}),
            IntentSource::None => json!(self.text(step.preview)),
        }
    }

    /// Edges that neither ids nor the nesting of spans tell.
    fn links(&self, n: u32) -> Vec<Link> {
        let edges = self.edges_to.get(&n).map_or(&[][..], Vec::as_slice);
        let told = |edge: &Edge| match edge.kind {
            EdgeKind::Sequence | EdgeKind::SubagentSpawn | EdgeKind::SpanParent => true,
            EdgeKind::Calls | EdgeKind::ToolResult => !edge.tool_use_id.is_empty(),
            _ => false,
        };
        let link = |edge: &&Edge| {
            let (trace, id) = self.place(edge.from);
            let attributes = vec![
                ("unspool.edge.kind", text(edge.kind.name())),
                ("unspool.edge.rule", text(edge.rule.name())),
                ("unspool.edge.confidence", AnyValue::Double(edge.confidence.as_f64())),
            ];
            Link { trace, id, attributes }
        };
        edges.iter().filter(|edge| !told(edge)).map(link).collect()
    }
}

/// One message as the conventions write it: JSON in a text.
fn messages(role: &str, parts: &[Value]) -> AnyValue {
    text(json!([{"role": role, "parts": parts}]).to_string())
}
