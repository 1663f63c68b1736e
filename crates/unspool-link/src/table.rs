//! The linker's data: names, patterns, windows and measured confidences, with a user's overrides.

use crate::projects::{Project, RawProject};
use serde::{Deserialize, Serialize};
use unspool_model::{Confidence, Timestamp};

/// Names, patterns and windows. Read from the built-in table and, over it, a user's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Tools that start a sub-agent.
    pub spawn_tools: Vec<String>,
    /// Tools that start a scripted workflow.
    pub workflow_tools: Vec<String>,
    /// Tools that write to an existing agent.
    pub message_tools: Vec<String>,
    /// Tools of known clients; others are reported as drift.
    pub known_tools: Vec<String>,
    /// Ids of agents a client runs for itself start like this.
    pub internal_agent_prefixes: Vec<String>,
    /// First messages of agents a client runs for itself.
    pub internal_first_prompts: Vec<String>,
    /// How far back an exact prompt may lie.
    pub prompt_window_ms: i64,
    /// How far back type and time may reach.
    pub type_window_ms: i64,
    /// How much clocks may disagree.
    pub clock_tolerance_ms: i64,
    /// How much clocks that count whole seconds may disagree.
    pub coarse_clock_tolerance_ms: i64,
    /// How close two witnesses of one prompt must be.
    pub fusion_window_ms: i64,
    /// How far back the request may lie that a recorded request goes on from.
    pub conversation_window_ms: i64,
    /// The pause that ends a session whose requests name none.
    pub session_gap_ms: i64,
    /// Whether another caller has another session there, too.
    pub session_by_caller: bool,
    /// How fresh unfinished work must be to count as running.
    pub running_window_ms: i64,
    /// Largest joint assignment.
    pub max_joint_assignment: usize,
    /// An exact prompt without equal rivals.
    #[serde(with = "as_number")]
    pub prompt: Confidence,
    /// An exact prompt with equal rivals.
    #[serde(with = "as_number")]
    pub prompt_tied: Confidence,
    /// An exact prompt with equal rivals, where only recorded traffic tells of the calls.
    #[serde(with = "as_number")]
    pub prompt_tied_recorded: Confidence,
    /// An equal answer only.
    #[serde(with = "as_number")]
    pub answer: Confidence,
    /// An equal summary only.
    #[serde(with = "as_number")]
    pub summary: Confidence,
    /// Type and time.
    #[serde(with = "as_number")]
    pub type_time: Confidence,
    /// Type and time with equal rivals.
    #[serde(with = "as_number")]
    pub type_time_tied: Confidence,
    /// A result that belongs to a call by order alone.
    #[serde(with = "as_number")]
    pub result_order: Confidence,
    /// The same words in an answer and in a later input.
    #[serde(with = "as_number")]
    pub content_reuse: Confidence,
    /// A call of the agent's name whose time holds the agent's.
    #[serde(with = "as_number")]
    pub span_name: Confidence,
    /// The same with rivals.
    #[serde(with = "as_number")]
    pub span_name_tied: Confidence,
    /// A hand-over that names an agent, and the next agent of that name.
    #[serde(with = "as_number")]
    pub handoff: Confidence,
    /// A step of a stated parent that stands for the call nobody names.
    #[serde(with = "as_number")]
    pub parent_stand_in: Confidence,
    /// Sessions of some folders and routes have windows of their own.
    pub(crate) projects: Vec<Project>,
}

/// A confidence as a number, for tables that are kept as they are.
mod as_number {
    use serde::{Deserialize, Deserializer, Serializer};
    use unspool_model::Confidence;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(super) fn serialize<S: Serializer>(confidence: &Confidence, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u16(confidence.ten_thousandths())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Confidence, D::Error> {
        u16::deserialize(from).map(Confidence::from_ten_thousandths)
    }
}

/// A table that cannot be read.
#[derive(Debug)]
pub struct TableError(String);

impl TableError {
    pub(crate) fn new(why: String) -> TableError {
        TableError(why)
    }
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TableError {}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Raw {
    spawn_tools: Option<Vec<String>>,
    workflow_tools: Option<Vec<String>>,
    message_tools: Option<Vec<String>>,
    known_tools: Option<Vec<String>>,
    extra_known_tools: Option<Vec<String>>,
    internal_agent_prefixes: Option<Vec<String>>,
    internal_first_prompts: Option<Vec<String>>,
    extra_spawn_tools: Option<Vec<String>>,
    extra_internal_agent_prefixes: Option<Vec<String>>,
    extra_internal_first_prompts: Option<Vec<String>>,
    prompt_window_s: Option<u32>,
    type_window_s: Option<u32>,
    clock_tolerance_ms: Option<u32>,
    coarse_clock_tolerance_ms: Option<u32>,
    fusion_window_s: Option<u32>,
    conversation_window_s: Option<u32>,
    session_gap_s: Option<u32>,
    session_by_caller: Option<bool>,
    running_window_s: Option<u32>,
    max_joint_assignment: Option<u32>,
    confidence: Option<RawConfidence>,
    project: Option<Vec<RawProject>>,
    /// Prices stand in the same file and are read elsewhere.
    #[serde(rename = "price")]
    _price: Option<serde::de::IgnoredAny>,
    /// So does what the server keeps for how long.
    #[serde(rename = "retention")]
    _retention: Option<serde::de::IgnoredAny>,
    /// And what is masked.
    #[serde(rename = "redact")]
    _redact: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawConfidence {
    prompt: Option<f64>,
    prompt_tied: Option<f64>,
    prompt_tied_recorded: Option<f64>,
    answer: Option<f64>,
    summary: Option<f64>,
    type_time: Option<f64>,
    type_time_tied: Option<f64>,
    result_order: Option<f64>,
    content_reuse: Option<f64>,
    span_name: Option<f64>,
    span_name_tied: Option<f64>,
    handoff: Option<f64>,
    parent_stand_in: Option<f64>,
}

const BUILT_IN: &str = include_str!("table.toml");

impl Default for Table {
    fn default() -> Self {
        let empty = Table {
            spawn_tools: Vec::new(),
            workflow_tools: Vec::new(),
            message_tools: Vec::new(),
            known_tools: Vec::new(),
            internal_agent_prefixes: Vec::new(),
            internal_first_prompts: Vec::new(),
            prompt_window_ms: 0,
            type_window_ms: 0,
            clock_tolerance_ms: 0,
            coarse_clock_tolerance_ms: 0,
            fusion_window_ms: 0,
            conversation_window_ms: 0,
            session_gap_ms: 0,
            session_by_caller: true,
            running_window_ms: 0,
            max_joint_assignment: 0,
            prompt: Confidence::EXACT,
            prompt_tied: Confidence::EXACT,
            prompt_tied_recorded: Confidence::EXACT,
            answer: Confidence::EXACT,
            summary: Confidence::EXACT,
            type_time: Confidence::EXACT,
            type_time_tied: Confidence::EXACT,
            result_order: Confidence::EXACT,
            content_reuse: Confidence::EXACT,
            span_name: Confidence::EXACT,
            span_name_tied: Confidence::EXACT,
            handoff: Confidence::EXACT,
            parent_stand_in: Confidence::EXACT,
            projects: Vec::new(),
        };
        // A test reads the built-in table, so the fallback is never met.
        empty.clone().with(BUILT_IN).unwrap_or(empty)
    }
}

impl Table {
    /// This table with the settings of a TOML text over it. Unknown names are refused, so that a typo is seen.
    pub fn with(mut self, text: &str) -> Result<Table, TableError> {
        let raw: Raw = toml::from_str(text).map_err(|error| TableError(error.to_string()))?;
        over(&mut self.spawn_tools, raw.spawn_tools);
        over(&mut self.workflow_tools, raw.workflow_tools);
        over(&mut self.message_tools, raw.message_tools);
        over(&mut self.known_tools, raw.known_tools);
        self.known_tools.extend(raw.extra_known_tools.unwrap_or_default());
        over(&mut self.internal_agent_prefixes, raw.internal_agent_prefixes);
        over(&mut self.internal_first_prompts, raw.internal_first_prompts);
        self.spawn_tools.extend(raw.extra_spawn_tools.unwrap_or_default());
        self.internal_agent_prefixes.extend(raw.extra_internal_agent_prefixes.unwrap_or_default());
        self.internal_first_prompts.extend(raw.extra_internal_first_prompts.unwrap_or_default());
        let seconds = |value: Option<u32>| value.map(|s| i64::from(s) * 1000);
        over(&mut self.prompt_window_ms, seconds(raw.prompt_window_s));
        over(&mut self.type_window_ms, seconds(raw.type_window_s));
        over(&mut self.clock_tolerance_ms, raw.clock_tolerance_ms.map(i64::from));
        over(&mut self.coarse_clock_tolerance_ms, raw.coarse_clock_tolerance_ms.map(i64::from));
        over(&mut self.fusion_window_ms, seconds(raw.fusion_window_s));
        over(&mut self.conversation_window_ms, seconds(raw.conversation_window_s));
        over(&mut self.session_gap_ms, seconds(raw.session_gap_s));
        over(&mut self.session_by_caller, raw.session_by_caller);
        over(&mut self.running_window_ms, seconds(raw.running_window_s));
        over(&mut self.max_joint_assignment, raw.max_joint_assignment.map(|n| n as usize));
        let confidence = raw.confidence.unwrap_or_default();
        for (slot, value) in [
            (&mut self.prompt, confidence.prompt),
            (&mut self.prompt_tied, confidence.prompt_tied),
            (&mut self.prompt_tied_recorded, confidence.prompt_tied_recorded),
            (&mut self.answer, confidence.answer),
            (&mut self.summary, confidence.summary),
            (&mut self.type_time, confidence.type_time),
            (&mut self.type_time_tied, confidence.type_time_tied),
            (&mut self.result_order, confidence.result_order),
            (&mut self.content_reuse, confidence.content_reuse),
            (&mut self.span_name, confidence.span_name),
            (&mut self.span_name_tied, confidence.span_name_tied),
            (&mut self.handoff, confidence.handoff),
            (&mut self.parent_stand_in, confidence.parent_stand_in),
        ] {
            if let Some(value) = value {
                *slot = fraction(value)?;
            }
        }
        self.add_projects(raw.project.unwrap_or_default())?;
        Ok(self)
    }

    /// How much two moments may disagree.
    pub fn tolerance_ms(&self, a: Timestamp, b: Timestamp) -> i64 {
        let coarse = a.is_whole_second() || b.is_whole_second();
        if coarse { self.coarse_clock_tolerance_ms } else { self.clock_tolerance_ms }
    }

    /// Whether a tool of this name starts a sub-agent. Models sometimes mangle the name's end.
    pub fn is_spawn_tool(&self, name: &str) -> bool {
        contains(&self.spawn_tools, name)
    }

    /// Whether a tool of this name starts a workflow.
    pub fn is_workflow_tool(&self, name: &str) -> bool {
        contains(&self.workflow_tools, name)
    }

    /// Whether a tool of this name writes to an existing agent.
    pub fn is_message_tool(&self, name: &str) -> bool {
        contains(&self.message_tools, name)
    }

    /// Whether a tool is one of a known client, or of an MCP server (whose names are the user's own).
    pub fn is_known_tool(&self, name: &str) -> bool {
        name.starts_with("mcp__") || contains(&self.known_tools, name) || self.is_spawn_tool(name)
    }

    /// Whether an agent id is one a client gives to its own helpers.
    pub fn is_internal_id(&self, id: &str) -> bool {
        self.internal_agent_prefixes.iter().any(|prefix| !prefix.is_empty() && id.starts_with(prefix))
    }
}

/// Sets what the file gives.
pub(crate) fn over<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

fn contains(tools: &[String], name: &str) -> bool {
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.:/".contains(c))).unwrap_or(name.len());
    tools.iter().any(|tool| tool == &name[..end])
}

fn fraction(value: f64) -> Result<Confidence, TableError> {
    if !(0.0..1.0).contains(&value) {
        return Err(TableError(format!("confidence {value} is not in 0..1; only explicit ids are worth 1")));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in 0..1 above"
    )]
    Ok(Confidence::from_ten_thousandths((value * 10_000.0).round() as u16))
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Table};

    #[test]
    fn built_in_table_reads_and_can_be_overridden() {
        let table = Table::default();
        assert!(table.is_spawn_tool("Agent") && !table.is_spawn_tool("Bash"));
        assert!(table.is_spawn_tool("Task\" >\n<parameter name=\"description"));
        assert!(!table.is_spawn_tool("TaskOutput"));
        let table = table.with("extra_spawn_tools = [\"Delegate\"]\nprompt_window_s = 30").unwrap();
        assert!(table.is_spawn_tool("Delegate") && table.is_spawn_tool("Task"));
        assert_eq!(table.prompt_window_ms, 30_000);
        assert!(toml::from_str::<toml::Table>(BUILT_IN).is_ok());
    }

    #[test]
    fn typos_and_certainties_are_refused() {
        assert!(Table::default().with("spawn_tool = []").is_err());
        assert!(Table::default().with("[confidence]\nprompt = 1.0").is_err());
    }
}
