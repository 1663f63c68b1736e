//! Traces whose truth is known: an agent, its model calls and calls, and agents that calls run, inside them or beside them.
//!
//! In: a style and a seed. Out: spans, and which call ran which agent. Never here: attributes copied from a real trace.

mod write;

pub use write::{as_json, as_protobuf};

use crate::random::Random;

/// One span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanData {
    /// 32 digits.
    pub trace: String,
    /// 16 digits.
    pub id: String,
    /// 16 digits, or nothing.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// Nanoseconds since the epoch.
    pub start_ns: u64,
    /// Nanoseconds since the epoch.
    pub end_ns: u64,
    /// Attributes.
    pub attributes: Vec<(&'static str, SpanValue)>,
}

/// An attribute's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A list of texts.
    List(Vec<String>),
}

/// How spans tell of agents that a call runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpanStyle {
    /// The agent's span lies in the call's, as the `GenAI` conventions have it.
    Nested,
    /// The agent's span lies beside its caller's, and the call is a leaf.
    Beside,
    /// Agents hand over to each other and are never nested.
    Handoff,
}

/// A trace and its truth.
#[derive(Clone, Debug, Default)]
pub struct LabelledTrace {
    /// All spans, in no particular order.
    pub spans: Vec<SpanData>,
    /// Which call span ran, or handed over to, which agent span.
    pub started: Vec<(String, String)>,
    /// Input and output tokens of all model calls.
    pub tokens: (i64, i64),
}

const SPECIALISTS: &[&str] = &["research", "billing", "travel", "legal", "coding", "writing"];
const TOOLS: &[&str] = &["search", "read_file", "run_query", "send_mail"];

/// A trace of this style.
pub fn trace(style: SpanStyle, seed: u64) -> LabelledTrace {
    let mut random = Random::new(seed);
    let mut made = LabelledTrace::default();
    let mut writer = Writer { trace: random.hex(32), now_ms: 0, made: &mut made, random: &mut random, style };
    writer.run();
    // Exporters write a span when it ends, which is no order to rely on.
    for n in (1..made.spans.len()).rev() {
        made.spans.swap(n, random.below(n + 1));
    }
    made
}

struct Writer<'w> {
    trace: String,
    now_ms: u64,
    made: &'w mut LabelledTrace,
    random: &'w mut Random,
    style: SpanStyle,
}

const EPOCH_MS: u64 = 1_767_348_000_000;

impl Writer<'_> {
    fn run(&mut self) {
        let root = self.open("", "desk");
        let workflow = if self.style == SpanStyle::Nested { String::new() } else { root.clone() };
        let lead = if self.style == SpanStyle::Nested { root } else { self.open(&workflow, "lead") };
        self.agent(&lead, "lead");
        let rounds = self.random.count(1, 4);
        for _ in 0..rounds {
            self.model_call(&lead);
            match self.style {
                SpanStyle::Handoff => self.hand_over(&lead, &workflow),
                _ => self.fan_out(&lead, &workflow),
            }
        }
        self.model_call(&lead);
        self.close(&lead);
        if !workflow.is_empty() {
            self.set(&workflow, "traceloop.span.kind", SpanValue::Text("workflow".into()));
            self.close(&workflow);
        }
    }

    /// Calls that run at one time, some of them agents, some of them of one name.
    fn fan_out(&mut self, lead: &str, workflow: &str) {
        let mut end_ms = self.now_ms;
        let began_ms = self.now_ms;
        for _ in 0..self.random.count(1, 4) {
            self.now_ms = began_ms + self.random.below(400) as u64;
            let is_agent = self.random.percent(60);
            let name = self.random.pick(if is_agent { SPECIALISTS } else { TOOLS });
            let shown = match self.random.below(3) {
                0 if is_agent => format!("ask_{name}"),
                1 if is_agent => format!("{name}_agent"),
                _ => name.to_string(),
            };
            let call = self.call(lead, &shown);
            self.now_ms += self.random.below(40) as u64;
            // Some calls of an agent fail before it starts.
            if is_agent && !self.random.percent(5) {
                let parent =
                    if self.style == SpanStyle::Nested { call.clone() } else { workflow.to_string() };
                self.specialist(&parent, name, &call);
            } else {
                self.now_ms += self.random.below(2_000) as u64;
            }
            self.now_ms += self.random.below(40) as u64;
            self.close(&call);
            end_ms = end_ms.max(self.now_ms);
        }
        self.now_ms = end_ms + 5;
    }

    fn hand_over(&mut self, lead: &str, workflow: &str) {
        let name = self.random.pick(SPECIALISTS);
        let call = self.call(lead, &format!("transfer_to_{name}"));
        self.now_ms += 3;
        self.close(&call);
        self.now_ms += self.random.below(50) as u64;
        self.specialist(workflow, name, &call);
    }

    fn specialist(&mut self, parent: &str, name: &str, call: &str) {
        let agent = self.open(parent, name);
        self.agent(&agent, name);
        for _ in 0..self.random.count(1, 3) {
            self.model_call(&agent);
            let tool = self.random.pick(TOOLS);
            let inner = self.call(&agent, tool);
            self.now_ms += self.random.below(500) as u64;
            self.close(&inner);
        }
        self.close(&agent);
        self.made.started.push((call.to_string(), agent));
    }

    fn model_call(&mut self, parent: &str) {
        let call = self.open(parent, "chat m-large");
        let (input, output) = (self.random.between(50, 5_000), self.random.between(5, 800));
        self.made.tokens.0 += input;
        self.made.tokens.1 += output;
        let response = format!("chatcmpl-{}", self.random.hex(24));
        for (key, value) in [
            ("gen_ai.operation.name", SpanValue::Text("chat".into())),
            ("gen_ai.provider.name", SpanValue::Text("openai".into())),
            ("gen_ai.request.model", SpanValue::Text("m-large".into())),
            ("gen_ai.request.temperature", SpanValue::Text("0.2".into())),
            ("gen_ai.request.max_tokens", SpanValue::Int(4096)),
            ("gen_ai.response.model", SpanValue::Text("m-large-2026-01-01".into())),
            ("gen_ai.response.id", SpanValue::Text(response)),
            ("gen_ai.response.finish_reasons", SpanValue::List(vec!["stop".into()])),
            ("gen_ai.usage.input_tokens", SpanValue::Int(input)),
            ("gen_ai.usage.output_tokens", SpanValue::Int(output)),
            ("server.address", SpanValue::Text("api.example.com".into())),
            ("server.port", SpanValue::Int(443)),
        ] {
            self.set(&call, key, value);
        }
        self.now_ms += 100 + self.random.below(3_000) as u64;
        self.close(&call);
        self.now_ms += 2;
    }

    fn call(&mut self, parent: &str, name: &str) -> String {
        let call = self.open(parent, &format!("execute_tool {name}"));
        if self.style == SpanStyle::Nested {
            let id = format!("call_{}", self.random.hex(20));
            self.set(&call, "gen_ai.operation.name", SpanValue::Text("execute_tool".into()));
            self.set(&call, "gen_ai.tool.name", SpanValue::Text(name.into()));
            self.set(&call, "gen_ai.tool.call.id", SpanValue::Text(id));
        } else {
            self.set(&call, "traceloop.span.kind", SpanValue::Text("tool".into()));
            self.set(&call, "traceloop.entity.name", SpanValue::Text(name.into()));
        }
        call
    }

    fn agent(&mut self, span: &str, name: &str) {
        if self.style == SpanStyle::Nested {
            self.set(span, "gen_ai.operation.name", SpanValue::Text("invoke_agent".into()));
            self.set(span, "gen_ai.agent.name", SpanValue::Text(name.into()));
        } else {
            self.set(span, "traceloop.span.kind", SpanValue::Text("agent".into()));
            self.set(span, "traceloop.entity.name", SpanValue::Text(name.into()));
        }
    }

    fn open(&mut self, parent: &str, name: &str) -> String {
        let id = self.random.hex(16);
        let start_ns = (EPOCH_MS + self.now_ms) * 1_000_000 + self.random.below(900_000) as u64;
        self.made.spans.push(SpanData {
            trace: self.trace.clone(),
            id: id.clone(),
            parent: parent.into(),
            name: name.into(),
            start_ns,
            end_ns: start_ns,
            attributes: Vec::new(),
        });
        self.now_ms += 1;
        id
    }

    fn close(&mut self, id: &str) {
        let end_ns = (EPOCH_MS + self.now_ms) * 1_000_000;
        if let Some(span) = self.made.spans.iter_mut().rev().find(|span| span.id == id) {
            span.end_ns = end_ns.max(span.start_ns);
        }
    }

    fn set(&mut self, id: &str, key: &'static str, value: SpanValue) {
        if let Some(span) = self.made.spans.iter_mut().rev().find(|span| span.id == id) {
            span.attributes.push((key, value));
        }
    }
}
