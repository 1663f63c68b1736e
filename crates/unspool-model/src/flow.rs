//! A session's whole answer: agents, runs, steps, edges, issues. Rows refer to each other by index.

use crate::declared::DeclaredLink;
use crate::{Confidence, Edge, Id, Issue, RecordIx, RequestKind, Rule, Sym, Timestamp, Usage};

/// Marks "none" in index fields.
pub const NONE: u32 = u32::MAX;

/// A length of time in milliseconds, or none; half the size of an optional number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Millis(i64);

impl Millis {
    /// No length is known.
    pub const NONE: Millis = Millis(i64::MIN);

    /// From a known length or none.
    pub fn new(ms: Option<i64>) -> Millis {
        Millis(ms.unwrap_or(i64::MIN))
    }

    /// The known length.
    pub fn get(self) -> Option<i64> {
        (self != Millis::NONE).then_some(self.0)
    }

    /// This length, or the other when none is known.
    #[must_use]
    pub fn or(self, other: Option<i64>) -> Millis {
        if self == Millis::NONE { Millis::new(other) } else { self }
    }
}

/// The flow of one session.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The session itself.
    pub session: Session,
    /// Agents; the main one first, then in order of appearance.
    pub agents: Vec<Agent>,
    /// Runs in order of start.
    pub runs: Vec<Run>,
    /// Steps in order of `seq`.
    pub steps: Vec<Step>,
    /// Edges ordered by target, source and kind.
    pub edges: Vec<Edge>,
    /// Witness records of steps, as ranges.
    pub witnesses: Vec<RecordIx>,
    /// Evidence records of edges, as ranges.
    pub evidence: Vec<RecordIx>,
    /// Usage of steps that have one.
    pub usages: Vec<Usage>,
    /// First words of what went wrong, by step, in order; few steps fail.
    pub errors: Vec<(u32, Sym)>,
    /// A hash of everything a tool was given, by step, in order; where it is known.
    pub inputs: Vec<(u32, u32)>,
    /// The lines of a file that a call reads, by step, in order; where its input says.
    pub lines: Vec<(u32, Lines)>,
    /// What a recorded request was for, by step, in order; where it was not an agent's work.
    pub requests: Vec<(u32, RequestKind)>,
    /// What people said about links, in the order they said it.
    pub links: Vec<DeclaredLink>,
    /// What was odd.
    pub issues: Vec<Issue>,
    /// How many records are in the session and not in any step.
    pub context_records: u32,
}

/// Lines of a file, from 1, the last one with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lines {
    /// The first of them.
    pub first: u32,
    /// The last of them.
    pub last: u32,
}

/// The container of runs: one conversation or job.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Deterministic id.
    pub id: Id,
    /// The ids its sources gave it, sorted by text.
    pub native_ids: Vec<Sym>,
    /// Best known title.
    pub title: Sym,
    /// Whether the title is the first prompt rather than a given title.
    pub title_inferred: bool,
    /// Working directory.
    pub cwd: Sym,
    /// Whether it is only known from a prompt, in which a client told its model.
    pub cwd_inferred: bool,
    /// Versions of the agent software, sorted by text.
    pub versions: Vec<Sym>,
    /// Formats that witnessed it, sorted by text.
    pub formats: Vec<Sym>,
    /// First moment.
    pub started: Timestamp,
    /// Last moment.
    pub ended: Timestamp,
}

/// How a thing ended, as far as the records say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Status {
    /// Unfinished, and active a short while ago.
    Running,
    /// Ended with its answer.
    Completed,
    /// Ended with an error or an interruption.
    Failed,
    /// Unfinished, and nothing says what became of it.
    #[default]
    Unknown,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 4] = [Status::Running, Status::Completed, Status::Failed, Status::Unknown];

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Unknown => "unknown",
        }
    }
}

/// One agent instance.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// Deterministic id.
    pub id: Id,
    /// The id its source gave it; the session's id for the main agent.
    pub native_id: Sym,
    /// Kind of agent (`Explore`, …); empty when unknown.
    pub kind: Sym,
    /// The kind is the name of a span that names no agent.
    pub kind_inferred: bool,
    /// Its own name or description.
    pub name: Sym,
    /// The model it was told to use, when its source says.
    pub model: Sym,
    /// Index of the agent that started it, or `NONE`.
    pub parent: u32,
    /// Distance from the root of its tree.
    pub depth: u32,
    /// How it ended.
    pub status: Status,
    /// Run by the client for itself; never has a parent.
    pub internal: bool,
    /// The main agent of a session.
    pub main: bool,
    /// Its position among the sub-tasks of the session, from 1; 0 for main and internal agents.
    pub task_number: u32,
    /// How it was started, if known.
    pub spawn: Option<Spawn>,
    /// Spawns that were considered and not believed; the first of them, if there are many.
    pub rivals: Vec<Rival>,
    /// How many spawns had something speak for them and were not chosen.
    pub rival_count: u32,
    /// First moment.
    pub started: Timestamp,
    /// Last moment.
    pub ended: Timestamp,
    /// First step in order, or `NONE`.
    pub first_step: u32,
    /// Last step in order, or `NONE`.
    pub last_step: u32,
    /// Messages it exchanged: user messages and model calls.
    pub message_count: u32,
}

/// How an agent was started.
#[derive(Clone, Copy, Debug)]
pub struct Spawn {
    /// The tool call that started it.
    pub step: u32,
    /// Its native id.
    pub tool_use_id: Sym,
    /// Why this is believed.
    pub rule: Rule,
    /// How much.
    pub confidence: Confidence,
}

impl Spawn {
    /// Whether it is guessed who started the agent, or by which step.
    pub fn is_inferred(&self) -> bool {
        self.rule.inferred() || self.confidence < Confidence::EXACT
    }
}

/// A spawn that was considered for an agent and not chosen.
#[derive(Clone, Copy, Debug)]
pub struct Rival {
    /// Native id of the tool call.
    pub tool_use_id: Sym,
    /// Why not.
    pub reason: RivalReason,
}

/// Why a candidate spawn was not chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RivalReason {
    /// It fits another agent better, or fits this one less well, in the best assignment of the whole group.
    Outweighed,
    /// It fits just as well; the order of start decided.
    Tied,
    /// It came after the agent had started.
    InTheFuture,
    /// It came too long before the agent.
    OutOfWindow,
    /// Its prompt is known and another one.
    OtherPrompt,
    /// It asked for another type of agent.
    OtherType,
    /// Explicit ids give it to another agent.
    TakenById,
    /// The agent's side chain goes on from a record that does not hold it.
    OtherRecord,
    /// Somebody said that it was not this one.
    Denied,
}

impl RivalReason {
    /// All of them.
    pub const ALL: [RivalReason; 9] = [
        RivalReason::Outweighed,
        RivalReason::Tied,
        RivalReason::InTheFuture,
        RivalReason::OutOfWindow,
        RivalReason::OtherPrompt,
        RivalReason::OtherType,
        RivalReason::TakenById,
        RivalReason::OtherRecord,
        RivalReason::Denied,
    ];

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            RivalReason::Outweighed => "outweighed",
            RivalReason::Tied => "tied",
            RivalReason::InTheFuture => "in_the_future",
            RivalReason::OutOfWindow => "out_of_window",
            RivalReason::OtherPrompt => "other_prompt",
            RivalReason::OtherType => "other_type",
            RivalReason::TakenById => "taken_by_id",
            RivalReason::OtherRecord => "other_record",
            RivalReason::Denied => "denied",
        }
    }

    /// Whether the candidate had something speak for it.
    pub fn plausible(self) -> bool {
        !matches!(self, RivalReason::OtherPrompt | RivalReason::OtherType | RivalReason::OtherRecord)
    }

    /// A phrase for people.
    pub fn phrase(self) -> &'static str {
        match self {
            RivalReason::Outweighed => "fits less well than the one chosen, over the whole group",
            RivalReason::Tied => "fits equally well; the order of start decided",
            RivalReason::InTheFuture => "was called after the agent had started",
            RivalReason::OutOfWindow => "was called too long before the agent started",
            RivalReason::OtherPrompt => "gave a different prompt",
            RivalReason::OtherType => "asked for another type of agent",
            RivalReason::TakenById => "belongs to another agent by explicit id, or because somebody said so",
            RivalReason::OtherRecord => "stands in another record than the one the agent goes on from",
            RivalReason::Denied => "was denied by somebody",
        }
    }
}

/// One task: from a user input to the last thing it caused.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Deterministic id.
    pub id: Id,
    /// The id its source gave it; empty when it was told from user inputs.
    pub native_id: Sym,
    /// The way it came in (`text`, `voice`, …), where its source says.
    pub channel: Sym,
    /// How it ended, in its source's word.
    pub stated: Sym,
    /// The step that started it.
    pub trigger: u32,
    /// How it ended.
    pub status: Status,
    /// First moment.
    pub started: Timestamp,
    /// Last moment of anything it caused.
    pub ended: Timestamp,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Step {
    /// Deterministic id.
    pub id: Id,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Milliseconds it took, when known.
    pub duration_ms: Millis,
    /// Whose step it is.
    pub agent: u32,
    /// The run it belongs to, or `NONE`.
    pub run: u32,
    /// Parent in the timeline tree, or `NONE`.
    pub parent: u32,
    /// First witness in the flow's witness column.
    pub first_witness: u32,
    /// How many records witness it.
    pub witness_count: u32,
    /// Index into the flow's usages, or `NONE`.
    pub usage: u32,
    /// Tool name, model, subtype or hook name.
    pub name: Sym,
    /// Native id of the tool call.
    pub tool_use_id: Sym,
    /// Native id of the API message.
    pub message_id: Sym,
    /// Native uuid of its first witness that has one.
    pub uuid: Sym,
    /// The id by which its source names it and other steps depend on it.
    pub native_id: Sym,
    /// Model that answered.
    pub model: Sym,
    /// First words of the message.
    pub preview: Sym,
    /// What it was for.
    pub intent: Sym,
    /// Where the intent comes from.
    pub intent_source: IntentSource,
    /// What it was.
    pub kind: StepKind,
    /// It failed.
    pub is_error: bool,
    /// `started` is not written anywhere: it is the moment its input was complete, or follows from when it ended.
    pub start_estimated: bool,
    /// It has begun and nothing says that it ended.
    pub pending: bool,
    /// Injected by the harness rather than said by a person or model.
    pub meta: bool,
    /// The call returned before its work was done.
    pub is_async: bool,
    /// How it is known whose step it is.
    pub agent_source: AgentSource,
}

/// How it is known whose step a step is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum AgentSource {
    /// Its records say so.
    #[default]
    Stated,
    /// They name no agent; the agent's span lies around theirs.
    Inherited,
    /// Nothing says so; the session's main agent was taken.
    Assumed,
}

impl AgentSource {
    /// All of them.
    pub const ALL: [AgentSource; 3] = [AgentSource::Stated, AgentSource::Inherited, AgentSource::Assumed];

    /// Name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            AgentSource::Stated => "stated",
            AgentSource::Inherited => "inherited",
            AgentSource::Assumed => "assumed",
        }
    }
}

impl Step {
    /// Whether it says nothing about the work itself: what the client notes or injects, hooks, the bare begin and end of an agent.
    pub fn is_aside(&self) -> bool {
        let is_note = matches!(
            self.kind,
            StepKind::System | StepKind::Hook | StepKind::AgentStart | StepKind::AgentStop
        );
        self.meta || is_note
    }
}

/// A step of which nothing is known.
impl Default for Step {
    fn default() -> Step {
        Step {
            id: Id::default(),
            started: Timestamp::NONE,
            ended: Timestamp::NONE,
            duration_ms: Millis::NONE,
            agent: NONE,
            run: NONE,
            parent: NONE,
            first_witness: 0,
            witness_count: 0,
            usage: NONE,
            name: Sym::EMPTY,
            tool_use_id: Sym::EMPTY,
            message_id: Sym::EMPTY,
            uuid: Sym::EMPTY,
            native_id: Sym::EMPTY,
            model: Sym::EMPTY,
            preview: Sym::EMPTY,
            intent: Sym::EMPTY,
            intent_source: IntentSource::None,
            kind: StepKind::Generic,
            is_error: false,
            start_estimated: false,
            pending: false,
            meta: false,
            is_async: false,
            agent_source: AgentSource::default(),
        }
    }
}

/// What a step was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StepKind {
    /// Somebody or something addressed an agent.
    UserMessage,
    /// A call of a model.
    ModelCall,
    /// A tool call and its result.
    ToolCall,
    /// An agent began.
    AgentStart,
    /// An agent ended.
    AgentStop,
    /// The context was compacted.
    Compaction,
    /// The harness said something.
    System,
    /// A hook ran or reported.
    Hook,
    /// Something was looked up.
    Retrieval,
    /// Text was turned into vectors.
    Embedding,
    /// A memory was read or written.
    Memory,
    /// A decision about who goes on.
    Router,
    /// A check of what goes in or out.
    Guardrail,
    /// Work of another sort.
    Generic,
}

impl StepKind {
    /// All of them.
    pub const ALL: [StepKind; 14] = [
        StepKind::UserMessage,
        StepKind::ModelCall,
        StepKind::ToolCall,
        StepKind::AgentStart,
        StepKind::AgentStop,
        StepKind::Compaction,
        StepKind::System,
        StepKind::Hook,
        StepKind::Retrieval,
        StepKind::Embedding,
        StepKind::Memory,
        StepKind::Router,
        StepKind::Guardrail,
        StepKind::Generic,
    ];

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            StepKind::UserMessage => "user_message",
            StepKind::ModelCall => "model_call",
            StepKind::ToolCall => "tool_call",
            StepKind::AgentStart => "agent_start",
            StepKind::AgentStop => "agent_stop",
            StepKind::Compaction => "compaction",
            StepKind::System => "system",
            StepKind::Hook => "hook",
            StepKind::Retrieval => "retrieval",
            StepKind::Embedding => "embedding",
            StepKind::Memory => "memory",
            StepKind::Router => "router",
            StepKind::Guardrail => "guardrail",
            StepKind::Generic => "generic",
        }
    }
}

/// Where a step's intent comes from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IntentSource {
    /// None is known.
    #[default]
    None,
    /// The source states it.
    Data,
    /// Made from the tool and its input by rule: inferred.
    Rule,
}

impl Flow {
    /// How it stands: it runs while any of its runs does, and else ended as the last of them did. A source that names its runs says how each
    /// ended, and the main agent sums that up.
    pub fn status(&self) -> Status {
        let main = self.agents.iter().find(|agent| agent.main).or(self.agents.first());
        let named = self.runs.iter().any(|run| !run.native_id.is_empty());
        let mut runs = self.runs.iter().map(|run| run.status).filter(|_| !named);
        let running = runs.clone().find(|status| *status == Status::Running);
        let of_runs = running.or_else(|| runs.next_back());
        of_runs.or(main.map(|main| main.status)).unwrap_or_default()
    }

    /// The records that witness a step.
    pub fn witnesses_of(&self, step: &Step) -> &[RecordIx] {
        let start = step.first_witness as usize;
        self.witnesses.get(start..start + step.witness_count as usize).unwrap_or(&[])
    }

    /// The records that are an edge's evidence.
    pub fn evidence_of(&self, edge: &Edge) -> &[RecordIx] {
        let start = edge.first_evidence as usize;
        self.evidence.get(start..start + edge.evidence_count as usize).unwrap_or(&[])
    }

    /// A step's depth by agent scope.
    pub fn depth_of(&self, step: &Step) -> u32 {
        self.agents.get(step.agent as usize).map_or(0, |agent| agent.depth)
    }

    /// First words of what went wrong in a step; empty when it did not fail or nobody says.
    pub fn error_of(&self, step: usize) -> Sym {
        let step = u32::try_from(step).unwrap_or(NONE);
        let at = self.errors.binary_search_by_key(&step, |(n, _)| *n);
        at.ok().and_then(|at| self.errors.get(at)).map_or(Sym::EMPTY, |(_, words)| *words)
    }

    /// A hash of everything a tool call was given, where it is known.
    pub fn input_of(&self, step: u32) -> Option<u32> {
        let at = self.inputs.binary_search_by_key(&step, |(n, _)| *n).ok()?;
        self.inputs.get(at).map(|(_, hash)| *hash)
    }

    /// The lines of a file that a tool call reads, where its input says.
    pub fn lines_of(&self, step: u32) -> Option<Lines> {
        let at = self.lines.binary_search_by_key(&step, |(n, _)| *n).ok()?;
        self.lines.get(at).map(|(_, lines)| *lines)
    }

    /// What a recorded request was for, where it was not an agent's work.
    pub fn request_of(&self, step: u32) -> Option<RequestKind> {
        let at = self.requests.binary_search_by_key(&step, |(n, _)| *n).ok()?;
        self.requests.get(at).map(|(_, request)| *request)
    }

    /// A step's usage.
    pub fn usage_of(&self, step: &Step) -> Option<&Usage> {
        self.usages.get(step.usage as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{Agent, Flow, Run, Status};
    use crate::Interner;
    use Status::{Completed, Failed, Running, Unknown};

    fn status(main: Status, runs: &[Status], named: bool) -> Status {
        let native_id = if named { Interner::default().intern("r") } else { crate::Sym::EMPTY };
        let run = |status: &Status| Run { status: *status, native_id, ..Run::default() };
        let agent = Agent { status: main, main: true, ..Agent::default() };
        Flow { agents: vec![agent], runs: runs.iter().map(run).collect(), ..Flow::default() }.status()
    }

    #[test]
    fn a_session_stands_as_what_runs_or_as_its_last_run() {
        assert_eq!(status(Completed, &[Completed, Running], false), Running);
        assert_eq!(status(Completed, &[Running, Completed], false), Running);
        assert_eq!(status(Completed, &[Completed, Completed, Failed], false), Failed);
        assert_eq!(status(Completed, &[Failed, Completed], false), Completed);
        assert_eq!(status(Failed, &[Failed, Completed], true), Failed, "its source sums them up");
        assert_eq!(status(Completed, &[], false), Completed);
        assert_eq!(Flow::default().status(), Unknown);
    }
}
