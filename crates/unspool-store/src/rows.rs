//! The rows a store keeps: what a flow says, in columns that any database has.
//!
//! In: nothing. Out: the types. Numbers are 64-bit integers, moments are nanoseconds since the epoch, money is in billionths of a dollar, names of
//! kinds are the words of the model, rows name each other by id. Never here: the model's own types, which change as the model does,
//! and SQL.

pub use crate::list::{List, Row, Source};

use std::borrow::Cow;
use unspool_model::Id;

/// Everything derived about one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionFacts {
    /// The session itself.
    pub session: SessionRow,
    /// Its agents; the order is that of the flow, here and in the other lists.
    pub agents: Vec<AgentRow>,
    /// Its runs.
    pub runs: Vec<RunRow>,
    /// Its steps.
    pub steps: List<StepRow>,
    /// Its edges.
    pub edges: List<EdgeRow>,
    /// What was odd.
    pub issues: Vec<IssueRow>,
}

/// A session in a list: enough to show it without its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionRow {
    /// Deterministic id.
    pub id: Id,
    /// The ids its sources gave it.
    pub native_ids: Vec<String>,
    /// Best known title.
    pub title: String,
    /// The title is the first prompt.
    pub title_inferred: bool,
    /// Working directory.
    pub cwd: String,
    /// Versions of the agent software.
    pub versions: Vec<String>,
    /// Formats that witness it.
    pub formats: Vec<String>,
    /// How its main agent ended.
    pub status: String,
    /// First moment.
    pub started_ns: Option<i64>,
    /// Last moment.
    pub ended_ns: Option<i64>,
    /// Where its records came from: `files`, `otlp-http` and others, in order.
    pub sources: Vec<String>,
    /// Kinds of its agents, in order; those that are only guessed are left out.
    pub agent_kinds: Vec<String>,
    /// Models that answered, in order.
    pub models: Vec<String>,
    /// How many agents.
    pub agent_count: i64,
    /// Those of them that another one started; without those the client runs for itself.
    pub subagent_count: i64,
    /// How many runs.
    pub run_count: i64,
    /// How many steps.
    pub step_count: i64,
    /// How many steps failed.
    pub error_count: i64,
    /// How many different things were odd; without those that only inform.
    pub issue_count: i64,
    /// Codes of issues that say that something is missing, in the order of the catalogue.
    pub gaps: Vec<String>,
    /// When its steps began: parts of its time, each as its share of the busiest one, from 0 to 255. Empty when that is not known.
    pub activity: Vec<u8>,
    /// Tokens of all steps, in five buckets that do not overlap.
    pub input_tokens: i64,
    /// Input served from a cache.
    pub cache_read_tokens: i64,
    /// Input written to a cache.
    pub cache_write_tokens: i64,
    /// The part of that kept for an hour.
    pub cache_write_long_tokens: i64,
    /// Visible output.
    pub output_tokens: i64,
    /// Thinking.
    pub reasoning_tokens: i64,
    /// Model calls whose sources do not say how many tokens they took: when not 0, the sums are a part only.
    pub uncounted_calls: i64,
    /// What it cost, where all prices are known.
    pub cost_nano_usd: Option<i64>,
    /// Records that belong to it and to no step.
    pub context_records: i64,
    /// Bytes of its records.
    pub native_bytes: i64,
    /// Position of its first record in the log.
    pub first_position: i64,
    /// Position behind its last record in the log.
    pub end_position: i64,
}

impl SessionRow {
    /// Tokens of all buckets.
    pub fn total_tokens(&self) -> i64 {
        let buckets = [
            self.input_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.output_tokens,
            self.reasoning_tokens,
        ];
        buckets.into_iter().fold(0, i64::saturating_add)
    }

    /// From its first moment to its last.
    pub fn duration_ns(&self) -> Option<i64> {
        self.started_ns.zip(self.ended_ns).map(|(start, end)| end.saturating_sub(start))
    }
}

/// One agent instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AgentRow {
    /// Deterministic id.
    pub id: Id,
    /// The id its source gave it.
    pub native_id: String,
    /// Kind of agent; empty when unknown.
    pub kind: String,
    /// The kind is the name of a span that names no agent.
    pub kind_inferred: bool,
    /// Its own name or description.
    pub name: String,
    /// The model it was told to use.
    pub model: String,
    /// The agent that started it.
    pub parent_id: Option<Id>,
    /// Distance from the root.
    pub depth: i64,
    /// How it ended.
    pub status: String,
    /// Run by the client for itself.
    pub internal: bool,
    /// The main agent of a session.
    pub main: bool,
    /// Its position among the sub-tasks; 0 for main and internal agents.
    pub task_number: i64,
    /// The step that started it.
    pub spawn_step_id: Option<Id>,
    /// Native id of that tool call.
    pub spawn_tool_use_id: String,
    /// Why this is believed; empty when nothing is.
    pub spawn_rule: String,
    /// How much, in ten-thousandths.
    pub spawn_confidence: i64,
    /// How many other spawns had something speak for them.
    pub rival_count: i64,
    /// First moment.
    pub started_ns: Option<i64>,
    /// Last moment.
    pub ended_ns: Option<i64>,
    /// User messages and model calls.
    pub message_count: i64,
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunRow {
    /// Deterministic id.
    pub id: Id,
    /// The id its source gave it.
    pub native_id: String,
    /// The way it came in.
    pub channel: String,
    /// How it ended, in its source's word.
    pub stated: String,
    /// The step that started it.
    pub trigger_id: Option<Id>,
    /// How it ended.
    pub status: String,
    /// First moment.
    pub started_ns: Option<i64>,
    /// Last moment.
    pub ended_ns: Option<i64>,
}

/// One thing that happened; `T` is its texts, which may be somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepRow<T = String> {
    /// Deterministic id.
    pub id: Id,
    /// What it was.
    pub kind: T,
    /// When it began.
    pub started_ns: Option<i64>,
    /// When it ended.
    pub ended_ns: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// Whose step it is.
    pub agent_id: Option<Id>,
    /// How that is known.
    pub agent_source: T,
    /// The run it belongs to.
    pub run_id: Option<Id>,
    /// Its parent in the tree.
    pub parent_id: Option<Id>,
    /// Tool name, model, subtype or hook name.
    pub name: T,
    /// Native id of the tool call.
    pub tool_use_id: T,
    /// Native id of the API message.
    pub message_id: T,
    /// Native uuid.
    pub uuid: T,
    /// The id by which its source names it.
    pub native_id: T,
    /// Model that answered.
    pub model: T,
    /// First words.
    pub preview: T,
    /// What it was for.
    pub intent: T,
    /// The intent was made by rule.
    pub intent_inferred: bool,
    /// First words of what went wrong.
    pub error: T,
    /// A hash of everything a tool was given.
    pub input_hash: Option<i64>,
    /// It failed.
    pub is_error: bool,
    /// Its start is not written anywhere.
    pub start_estimated: bool,
    /// Nothing says that it ended.
    pub pending: bool,
    /// Injected by the harness.
    pub meta: bool,
    /// It returned before its work was done.
    pub is_async: bool,
    /// Tokens, in the buckets of a session; none when the step has no usage.
    pub input_tokens: Option<i64>,
    /// Input served from a cache.
    pub cache_read_tokens: Option<i64>,
    /// Input written to a cache.
    pub cache_write_tokens: Option<i64>,
    /// The part of that kept for an hour.
    pub cache_write_long_tokens: Option<i64>,
    /// Visible output.
    pub output_tokens: Option<i64>,
    /// Thinking.
    pub reasoning_tokens: Option<i64>,
    /// The records that witness it.
    pub witnesses: Vec<Id>,
}

impl Row for StepRow {
    /// Its own and those of its witnesses.
    fn ids(&self, each: &mut dyn FnMut(Id)) {
        each(self.id);
        self.witnesses.iter().copied().for_each(each);
    }
}

impl StepRow<Cow<'_, str>> {
    /// The same with texts of its own.
    pub fn into_owned(self) -> StepRow {
        StepRow {
            id: self.id,
            kind: self.kind.into_owned(),
            started_ns: self.started_ns,
            ended_ns: self.ended_ns,
            duration_ms: self.duration_ms,
            agent_id: self.agent_id,
            agent_source: self.agent_source.into_owned(),
            run_id: self.run_id,
            parent_id: self.parent_id,
            name: self.name.into_owned(),
            tool_use_id: self.tool_use_id.into_owned(),
            message_id: self.message_id.into_owned(),
            uuid: self.uuid.into_owned(),
            native_id: self.native_id.into_owned(),
            model: self.model.into_owned(),
            preview: self.preview.into_owned(),
            intent: self.intent.into_owned(),
            intent_inferred: self.intent_inferred,
            error: self.error.into_owned(),
            input_hash: self.input_hash,
            is_error: self.is_error,
            start_estimated: self.start_estimated,
            pending: self.pending,
            meta: self.meta,
            is_async: self.is_async,
            input_tokens: self.input_tokens,
            cache_read_tokens: self.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens,
            cache_write_long_tokens: self.cache_write_long_tokens,
            output_tokens: self.output_tokens,
            reasoning_tokens: self.reasoning_tokens,
            witnesses: self.witnesses,
        }
    }
}

/// A causal relation between steps; `T` is its texts, which may be somebody else's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EdgeRow<T = String> {
    /// Cause.
    pub from_id: Id,
    /// Effect.
    pub to_id: Id,
    /// What relation.
    pub kind: T,
    /// Why it is believed.
    pub rule: T,
    /// How much, in ten-thousandths.
    pub confidence: i64,
    /// Native id of the tool call it runs over.
    pub tool_use_id: T,
    /// It carries an error.
    pub is_error: bool,
    /// The records that are its evidence.
    pub evidence: Vec<Id>,
}

impl Row for EdgeRow {
    /// Those of its ends, and of its evidence.
    fn ids(&self, each: &mut dyn FnMut(Id)) {
        each(self.to_id);
        each(self.from_id);
        self.evidence.iter().copied().for_each(each);
    }
}

impl EdgeRow<Cow<'_, str>> {
    /// The same with texts of its own.
    pub fn into_owned(self) -> EdgeRow {
        EdgeRow {
            from_id: self.from_id,
            to_id: self.to_id,
            kind: self.kind.into_owned(),
            rule: self.rule.into_owned(),
            confidence: self.confidence,
            tool_use_id: self.tool_use_id.into_owned(),
            is_error: self.is_error,
            evidence: self.evidence,
        }
    }
}

/// Something odd, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IssueRow {
    /// Its code in the catalogue.
    pub code: String,
    /// What it is about.
    pub detail: String,
    /// How often.
    pub count: i64,
    /// The first records it was seen in.
    pub records: Vec<Id>,
}

/// How far a source has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    /// The source.
    pub source: String,
    /// How far: bytes or records, whichever the source counts in.
    pub offset: i64,
    /// What tells the same source from another one of its name, such as a hash of its first bytes.
    pub fingerprint: Vec<u8>,
}

/// What became of the records of a source, in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceReceipt {
    /// The source.
    pub source: String,
    /// Records seen; the sum of the others.
    pub seen: i64,
    /// Read and kept.
    pub stored: i64,
    /// There before.
    pub duplicate: i64,
    /// Not readable, or refused.
    pub rejected: i64,
    /// When the last one came.
    pub last_ns: Option<i64>,
}
