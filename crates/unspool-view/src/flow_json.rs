//! The flow as JSON: schema `unspool.flow/1`, a contract. Field names and meanings only grow.
//!
//! The types here are the wire, not the core; their comments are the documentation of each field.

mod made;

pub(crate) use made::{detail_of, time};
pub use made::{edge_doc, issue_doc, link_doc, session_doc, step_doc, totals_doc, usage_doc};

use schemars::JsonSchema;
use serde::Serialize;

/// The name and version of this schema.
const SCHEMA: &str = "unspool.flow/1";

/// Everything Unspool knows about some records.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FlowDoc")]
pub struct FlowDoc<S = Vec<SessionDoc>> {
    /// Always `unspool.flow/1`.
    pub schema: &'static str,
    /// What became of the records; of one session, as a server or a report gives it, those that tell of it. The last three add up to the first.
    pub counts: CountsDoc,
    /// Sessions, oldest first.
    pub sessions: S,
    /// Anomalies that belong to no session, such as files no format recognised.
    pub issues: Vec<IssueDoc>,
}

impl<S> FlowDoc<S> {
    /// The whole document; `sessions` may be a list or something that is written like one.
    pub fn new(counts: CountsDoc, sessions: S, issues: Vec<IssueDoc>) -> FlowDoc<S> {
        FlowDoc { schema: SCHEMA, counts, sessions, issues }
    }
}

/// What became of the records.
#[derive(Serialize, JsonSchema, Clone, Copy)]
pub struct CountsDoc {
    /// Records read: lines, and files that are one record.
    pub records: u64,
    /// Read and kept.
    pub stored: u64,
    /// The same record was there before.
    pub duplicate: u64,
    /// Not readable as their format; kept as bytes, and an issue says why.
    pub rejected: u64,
}

/// One session: a conversation or job.
#[derive(Serialize, JsonSchema)]
pub struct SessionDoc {
    /// Deterministic id.
    pub id: String,
    /// The ids its sources gave it, sorted; several when it was resumed or forked.
    pub native_ids: Vec<String>,
    /// Given title, or the first prompt.
    pub title: Option<String>,
    /// The title is the first prompt.
    pub title_inferred: bool,
    /// Working directory, as first recorded.
    pub cwd: Option<String>,
    /// The working directory is what a client told its model in a prompt; left out when it was stated outright.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cwd_inferred: bool,
    /// Versions of the agent software that wrote it.
    pub versions: Vec<String>,
    /// Formats that witness it.
    pub formats: Vec<String>,
    /// First moment, RFC 3339 UTC.
    pub started_at: Option<String>,
    /// Last moment, RFC 3339 UTC.
    pub ended_at: Option<String>,
    /// Agents: main agents first, then in order of start.
    pub agents: Vec<AgentDoc>,
    /// Runs in order of start.
    pub runs: Vec<RunDoc>,
    /// Steps in order of `seq`.
    pub steps: Vec<StepDoc>,
    /// Edges in order of target, source and kind.
    pub edges: Vec<EdgeDoc>,
    /// What people said about links, in the order they said it; left out when nobody said anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkDoc>,
    /// Anomalies of this session.
    pub issues: Vec<IssueDoc>,
    /// Sums over all its steps.
    pub totals: TotalsDoc,
    /// Records that belong to the session and to no step (settings, snapshots, context).
    pub context_records: u32,
}

/// One agent instance.
#[derive(Serialize, JsonSchema)]
pub struct AgentDoc {
    /// Deterministic id.
    pub id: String,
    /// The id its source gave it; the file's stem when hidden; the session's id for a main agent; the root's uuid for an
    /// in-file side chain.
    pub native_id: String,
    /// Kind of agent (`Explore`, …), when known.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The type is the name of the agent's span, which names no agent.
    pub type_inferred: bool,
    /// Its name, or what it was asked to do.
    pub name: Option<String>,
    /// The agent that started it; null for a main agent, an internal one, or when nothing says.
    pub parent_id: Option<String>,
    /// Distance from the root of its tree; 0 at the root.
    pub depth: u32,
    /// `running`, `completed`, `failed` or `unknown`.
    pub status: &'static str,
    /// Run by the client for itself; never has a parent.
    pub internal: bool,
    /// The main agent of a session.
    pub main: bool,
    /// Position among the session's sub-tasks in the order they were asked for, from 1; null for main and internal agents.
    pub task_number: Option<u32>,
    /// How it was started; null when it has no parent or none was found.
    pub spawn: Option<SpawnDoc>,
    /// Spawns that were considered and not believed; the first of them, if there are many.
    pub rivals: Vec<SpawnRivalDoc>,
    /// How many spawns had something speak for them and were not chosen.
    pub rival_count: u32,
    /// The model it was told to use, when its source says.
    pub model: Option<String>,
    /// The first thing it did.
    pub first_step_id: Option<String>,
    /// The last thing it did.
    pub last_step_id: Option<String>,
    /// First moment.
    pub started_at: Option<String>,
    /// Last moment.
    pub ended_at: Option<String>,
    /// User messages and model calls.
    pub message_count: u32,
    /// Sums over its own steps.
    pub totals: TotalsDoc,
    /// Sums over its steps and those of every agent below it.
    pub subtree_totals: TotalsDoc,
}

/// How an agent was started.
#[derive(Serialize, JsonSchema)]
pub struct SpawnDoc {
    /// Native id of the tool call; null where it has none.
    pub tool_use_id: Option<String>,
    /// The tool call's step.
    pub step_id: String,
    /// Why it is believed.
    pub rule: &'static str,
    /// 1 for explicit ids; for inferred rules, the share that was right when measured.
    pub confidence: f64,
    /// The rule guesses.
    pub inferred: bool,
    /// Spawns that had something speak for them and were not chosen.
    pub rivals: u32,
}

/// A spawn that was considered for an agent and not believed.
#[derive(Serialize, JsonSchema)]
pub struct SpawnRivalDoc {
    /// Native id of the tool call; null where it has none.
    pub tool_use_id: Option<String>,
    /// Why not: `outweighed`, `tied`, `in_the_future`, `out_of_window`, `other_prompt`, `other_type`, `taken_by_id`,
    /// `other_record`, `denied`.
    pub reason: &'static str,
}

/// One task: from a user input to the last thing it caused.
#[derive(Serialize, JsonSchema)]
pub struct RunDoc {
    /// Deterministic id.
    pub id: String,
    /// The id its source gave it, with the session it is unique in; null when it was told from user inputs.
    pub native_id: Option<String>,
    /// The way it came in (`text`, `voice`, …), where its source says.
    pub channel: Option<String>,
    /// The user input that started it, or its first step.
    pub trigger_step_id: String,
    /// `running`, `completed`, `failed` or `unknown`.
    pub status: &'static str,
    /// How it ended in its source's word (`aborted`, `canceled`, …), where it says.
    pub stated_status: Option<String>,
    /// Moment of the input, or as its source says.
    pub started_at: Option<String>,
    /// Last moment of anything it caused.
    pub ended_at: Option<String>,
    /// Milliseconds between the two.
    pub duration_ms: Option<i64>,
}

/// One thing that happened.
#[derive(Serialize, JsonSchema)]
pub struct StepDoc {
    /// Deterministic id.
    pub id: String,
    /// `user_message`, `model_call`, `tool_call` (call and result are one step), `agent_start`, `agent_stop`,
    /// `compaction`, `system`, `hook`, `retrieval`, `embedding`, `memory`, `router`, `guardrail`, `generic`.
    pub kind: &'static str,
    /// What a recorded request was for, where it was not an agent's work: `compaction`, `quota`, `count_tokens`, `warm_up`;
    /// `title`, `topic`, `path_extraction`, `command_prefix`, `status_word`, `auxiliary` of a client's helpers; `other` for what
    /// asks no model. Null for an agent's work.
    pub request: Option<&'static str>,
    /// Whose step.
    pub agent_id: String,
    /// How that is known: `stated` by its records; `inherited` from the agent's span around theirs, which name none;
    /// `assumed`, as nothing says so and the session's main agent was taken.
    pub agent_source: &'static str,
    /// The run it belongs to; null when no user input leads to it.
    pub run_id: Option<String>,
    /// Its place in the timeline tree: a tool call under its model call, an agent's first step under the call that
    /// started it, an agent's other steps under its first, the main agent's under the input of their run.
    pub parent_id: Option<String>,
    /// Position in the depth-first order of the tree.
    pub seq: u32,
    /// Depth by agent scope: the depth of its agent.
    pub depth: u32,
    /// Tool, model, agent type, subtype or hook, as the kind has it.
    pub name: Option<String>,
    /// Native id of the tool call.
    pub tool_use_id: Option<String>,
    /// Native id of the API message.
    pub message_id: Option<String>,
    /// Native uuid of its first record that has one.
    pub uuid: Option<String>,
    /// The id by which its source names it, with the session and run it is unique in.
    pub native_id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// `started_at` is no record's time but the moment the step's input was complete, or follows from when it ended.
    pub started_at_estimated: bool,
    /// When it ended; null while nothing says so.
    pub ended_at: Option<String>,
    /// Milliseconds it took: as its source measured, else the difference of the two.
    pub duration_ms: Option<i64>,
    /// Milliseconds from the session's first moment to its start.
    pub elapsed_ms: Option<i64>,
    /// It failed.
    pub is_error: bool,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
    /// The call returned before its work was done.
    pub is_async: bool,
    /// Injected by the client rather than said by a person or model.
    pub meta: bool,
    /// First words of the message, or what the tool was given, without what is meant for a terminal (colours and the like).
    pub preview: Option<String>,
    /// A hash of everything a tool was given, where it is known: equal for equal input.
    pub input_hash: Option<u32>,
    /// The first line of the file that a call reads, from 1, where its input says.
    pub first_line: Option<u32>,
    /// The last line of the file that it reads.
    pub last_line: Option<u32>,
    /// First words of what went wrong, where it failed and its source says why.
    pub error: Option<String>,
    /// What it was for.
    pub intent: Option<IntentDoc>,
    /// Tokens in five buckets that never overlap; null when none were reported.
    pub usage: Option<UsageDoc>,
    /// The records that say it happened.
    pub witnesses: Vec<WitnessDoc>,
}

/// What a step was for.
#[derive(Serialize, JsonSchema)]
pub struct IntentDoc {
    /// In words.
    pub text: String,
    /// Made from the tool and its input by rule, not stated by the source.
    pub inferred: bool,
}

/// Tokens in five disjoint buckets.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct UsageDoc {
    /// Input neither read from nor written to a cache.
    pub input: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// The part of `cache_write` kept for an hour, which costs more; not a sixth bucket.
    pub cache_write_long: u64,
    /// Visible output.
    pub output: u64,
    /// Output spent on thinking.
    pub reasoning: u64,
}

/// One record that witnesses a step.
#[derive(Serialize, JsonSchema)]
pub struct WitnessDoc {
    /// For `unspool export --native`.
    pub record_id: String,
    /// The format that read it.
    pub format: String,
    /// The stream it came from.
    pub stream: String,
    /// Its position in the stream, from 0.
    pub ordinal: u32,
}

/// A directed causal relation.
#[derive(Serialize, JsonSchema)]
pub struct EdgeDoc {
    /// Step that caused.
    pub from: String,
    /// Step that followed.
    pub to: String,
    /// `calls`, `tool_result`, `subagent_spawn`, `subagent_return`, `sequence`, `continuation`, `depends_on`,
    /// `span_parent`, `span_link`, `content_reuse`.
    pub kind: &'static str,
    /// Why it is believed.
    pub rule: &'static str,
    /// 1 for explicit ids and order; less for inferred rules.
    pub confidence: f64,
    /// The rule guesses.
    pub inferred: bool,
    /// Native id of the tool call it runs over.
    pub tool_use_id: Option<String>,
    /// It carries an error.
    pub is_error: bool,
    /// Ids of the records that show it.
    pub evidence: Vec<String>,
}

/// What somebody said about a link.
#[derive(Serialize, JsonSchema)]
pub struct LinkDoc {
    /// Id of the record that says so.
    pub id: String,
    /// `confirm`, `deny`, `add`, or `remove` for what takes back what was said before.
    pub action: &'static str,
    /// What relation; see the kinds of edges.
    pub kind: &'static str,
    /// The cause as the record names it: a step or agent by its id, ours or its source's.
    pub from: String,
    /// The effect as the record names it.
    pub to: String,
    /// The step that is the cause; null when it is not there.
    pub from_step_id: Option<String>,
    /// The step that is the effect; null when it is not there.
    pub to_step_id: Option<String>,
    /// Who said so.
    pub who: Option<String>,
    /// When.
    pub at: Option<String>,
    /// What they noted.
    pub note: Option<String>,
    /// The rule by which the link was believed when they said it.
    pub was_rule: Option<&'static str>,
    /// How much it was believed.
    pub was_confidence: Option<f64>,
    /// What became of it: `counts`, `superseded` by something said later, `end_missing`, or `cycle`, as it would make a circle.
    pub standing: &'static str,
}

/// One named anomaly.
#[derive(Serialize, JsonSchema)]
pub struct IssueDoc {
    /// Stable name; docs/issues.md has them all.
    pub code: &'static str,
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// How often.
    pub count: u64,
    /// What it is about, or the code's sentence.
    pub detail: String,
    /// The first records it was seen in, at most eight.
    pub records: Vec<String>,
}

/// Sums.
#[derive(Serialize, JsonSchema, Debug, Clone)]
pub struct TotalsDoc {
    /// All steps.
    pub steps: u64,
    /// Calls of models.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Steps that failed.
    pub errors: u64,
    /// Tokens, once per API message; null when no source says how many.
    pub usage: Option<UsageDoc>,
    /// Model calls whose sources do not say how many tokens they took; when not 0, `usage` is a part only.
    pub uncounted_calls: u64,
    /// US dollars for the calls that have a price; null when no source says how many tokens were used.
    pub cost_usd: Option<f64>,
    /// Calls whose model has no price; when not 0, `cost_usd` is a part only.
    pub unpriced_calls: u64,
    /// Milliseconds from first to last moment.
    pub duration_ms: Option<i64>,
}
