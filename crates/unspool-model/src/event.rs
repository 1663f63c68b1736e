//! A format's reading of a record: what was witnessed, when, and the join keys by which it meets other events.
//!
//! Join keys are data. A transcript line, a hook event and a span that speak of the same `toolu_01X` meet in one
//! step because they carry the same key, not because the linker knows their formats.

use crate::{Sym, Timestamp};

/// One thing a record says happened. Rows are small and flat; keys and attributes live in the batch's columns.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The record that says so.
    pub record: u32,
    /// First key in the batch's key column.
    pub first_key: u32,
    /// First attribute in the batch's attribute column.
    pub first_attr: u32,
    /// Index into the batch's usage column, or `u32::MAX`.
    pub usage: u32,
    /// Tool name, model, agent type, subtype or hook name, as the kind has it.
    pub name: Sym,
    /// When, as the source says.
    pub at: Timestamp,
    /// Marks.
    pub flags: EventFlags,
    /// How many keys.
    pub key_count: u16,
    /// How many attributes.
    pub attr_count: u16,
    /// What was witnessed.
    pub kind: EventKind,
    /// Where a link or a return is written; `Unstated` for everything else.
    pub source: LinkSource,
}

/// Where an explicit link between a call and an agent, or an agent's return, is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LinkSource {
    /// The event is none, or does not say.
    #[default]
    Unstated,
    /// A file beside the agent's own.
    Meta,
    /// A field of the call's result.
    Result,
    /// A hook event.
    Hook,
    /// A notification of the agent's end.
    Notification,
    /// A progress record of the call.
    Progress,
    /// The words of the call's result.
    Text,
    /// A teammate's name.
    Teammate,
    /// A workflow's run.
    Workflow,
}

/// What an event witnesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventKind {
    /// Somebody or something addressed the agent.
    UserMessage,
    /// One block or the whole of a model's answer; usage belongs to the call.
    ModelCall,
    /// The model asked for a tool, or a tool is about to run.
    ToolCall,
    /// A tool answered.
    ToolResult,
    /// An agent began.
    AgentStart,
    /// An agent ended a round.
    AgentStop,
    /// Facts about an agent that are not a moment of its life.
    AgentInfo,
    /// A tool call started an agent, by explicit ids; the source says where that is written.
    SpawnLink,
    /// An agent's answer reached its parent outside the tool result.
    AgentReturn,
    /// The context was compacted.
    Compaction,
    /// The harness said something.
    System,
    /// A hook ran or reported.
    Hook,
    /// Facts about a session that are not a moment of it (title, ledger).
    SessionInfo,
    /// Carries keys that chain other events, and nothing a person would call a step.
    Context,
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
    /// What an export says of the step or agent of its record: an edge that leads to it, or the call that started it.
    ToldLink,
    /// What somebody said about a link between two steps or agents, which its keys name.
    DeclaredLink,
}

/// A set of marks on an event.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EventFlags(u32);

impl EventFlags {
    /// The line belongs to an in-file side chain or an agent file.
    pub const SIDECHAIN: EventFlags = EventFlags(1);
    /// Injected by the harness, not typed by a person.
    pub const META: EventFlags = EventFlags(1 << 1);
    /// The summary that opens a compacted context.
    pub const COMPACT_SUMMARY: EventFlags = EventFlags(1 << 2);
    /// A tool failed.
    pub const ERROR: EventFlags = EventFlags(1 << 3);
    /// The API failed.
    pub const API_ERROR: EventFlags = EventFlags(1 << 4);
    /// Written by the harness in a model's place; no API call happened.
    pub const SYNTHETIC: EventFlags = EventFlags(1 << 5);
    /// The tool call returned before its work was done.
    pub const ASYNC: EventFlags = EventFlags(1 << 6);
    /// A person interrupted.
    pub const INTERRUPTED: EventFlags = EventFlags(1 << 7);
    /// The message reports the end of background work.
    pub const NOTIFICATION: EventFlags = EventFlags(1 << 8);
    /// The message came from another agent of a team.
    pub const TEAMMATE: EventFlags = EventFlags(1 << 9);
    /// The answer has visible text.
    pub const HAS_TEXT: EventFlags = EventFlags(1 << 10);
    /// The answer asks for a tool.
    pub const HAS_TOOL_USE: EventFlags = EventFlags(1 << 11);
    /// A local command of the client or its output, not a prompt.
    pub const COMMAND: EventFlags = EventFlags(1 << 12);
    /// The agent was given its parent's whole conversation.
    pub const FORK: EventFlags = EventFlags(1 << 14);
    /// The event is a copy that another source holds first-hand; it must never be counted.
    pub const COPY: EventFlags = EventFlags(1 << 15);
    /// The tool was refused by a person or a rule.
    pub const DENIED: EventFlags = EventFlags(1 << 16);
    /// A slash command, which the client runs itself or turns into a prompt.
    pub const SLASH: EventFlags = EventFlags(1 << 17);
    /// The main agent has ended its turn.
    pub const TURN_END: EventFlags = EventFlags(1 << 18);
    /// The event tells of the whole thing, beginning and end: a call with its result, a request with its answer.
    pub const WHOLE: EventFlags = EventFlags(1 << 19);
    /// The event starts a run although nobody said anything: the root of a trace, a trigger.
    pub const TRIGGER: EventFlags = EventFlags(1 << 20);
    /// The source says that the work was given up before its end.
    pub const ABORTED: EventFlags = EventFlags(1 << 21);
    /// Which call it is the result of is not in the source but follows from their order.
    pub const RESULT_BY_ORDER: EventFlags = EventFlags(1 << 22);
    /// The event tells of the beginning of something that takes time; its end is another event's.
    pub const BEGUN: EventFlags = EventFlags(1 << 23);
    /// When it began was not in the source but follows from when it ended.
    pub const START_INFERRED: EventFlags = EventFlags(1 << 24);
    /// The agent is one only where nothing around it is.
    pub const UMBRELLA: EventFlags = EventFlags(1 << 25);
    /// The message is what a model or some work was given; it is a prompt only where nobody states one.
    pub const IMPLIED: EventFlags = EventFlags(1 << 26);
    /// The record itself names the agent at work.
    pub const NAMES_AGENT: EventFlags = EventFlags(1 << 27);
    /// The agent the record names is a main agent.
    pub const MAIN_AGENT: EventFlags = EventFlags(1 << 28);

    /// Something that happened in the course of what the event's span lies in, which another record tells; no step of its own.
    pub const MOMENT: EventFlags = EventFlags(1 << 29);

    /// No marks.
    pub const fn none() -> EventFlags {
        EventFlags(0)
    }

    /// Whether every mark of `other` is set.
    pub const fn has(self, other: EventFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds marks.
    pub const fn set(&mut self, other: EventFlags) {
        self.0 |= other.0;
    }

    /// Adds marks when `yes`.
    pub const fn set_if(&mut self, yes: bool, other: EventFlags) {
        if yes {
            self.0 |= other.0;
        }
    }

    /// Both sets of marks.
    #[must_use]
    pub const fn with(self, other: EventFlags) -> EventFlags {
        EventFlags(self.0 | other.0)
    }
}

/// One join key. Packed, because there are several for every event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed)]
pub struct Key {
    /// The key's value.
    pub value: Sym,
    /// What kind of id it is.
    pub kind: KeyKind,
    /// Whether the event is the thing, or speaks of it.
    pub role: Role,
}

/// The kinds of ids by which events meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyKind {
    /// A session as its source names it.
    Session,
    /// A record of a chain. Referred to by the next one.
    Uuid,
    /// A record across a cut in the chain (compaction, resume).
    LogicalParent,
    /// An API message.
    Message,
    /// An API request.
    Request,
    /// A tool call.
    ToolUse,
    /// An agent. `Refers`: the event happened inside it. `Provides`: the event is about it.
    Agent,
    /// An agent by its name in a team, `name@team`.
    Teammate,
    /// One user input.
    Prompt,
    /// The normalised text of a prompt.
    PromptHash,
    /// The normalised text of an answer.
    AnswerHash,
    /// One run of a scripted workflow.
    WorkflowRun,
    /// A background task.
    Task,
    /// The session a branch was cut from.
    ForkedFrom,
    /// A span, as `trace/span`. `Refers`: its parent.
    Span,
    /// A span that a span links to.
    SpanLink,
    /// A trace; spans of one trace are of one session.
    Trace,
    /// A step its source names. `Refers`: it depends on that one.
    Step,
    /// A run its source names. `Provides`: the event is its begin or end. `Refers`: the event is part of it.
    Run,
    /// The agent that started the agent an event happened in.
    ParentAgent,
    /// The whole conversation a model was given. `Refers`: a conversation that it goes on from, the longest first.
    History,
    /// The system prompt, without its volatile parts.
    System,
    /// The text of a summary that a compacted conversation goes on from.
    Summary,
    /// Who calls, where no session is named.
    User,
    /// A command line by its letters and digits.
    Command,
    /// A node of a graph the source drew itself. `Refers`: a node before it.
    GraphNode,
    /// What an answer asks tools for, by its letters and digits.
    CallsHash,
    /// Something that a source tells moment by moment. `Provides`: the event is its beginning. `Refers`: what became of it.
    Course,
    /// A step by the id an export gave it. `Refers`: the step it stands under, or the one a link leads from.
    Told,
    /// An end of a link that somebody spoke of. `Provides`: the cause. `Refers`: the effect.
    LinkEnd,
    /// An exchange with an API, by the id that whoever carried it gave it.
    Exchange,
}

/// A set of kinds of keys, so that nobody looks for what is not there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyKinds(u64);

impl KeyKinds {
    /// Adds a kind.
    pub fn add(&mut self, kind: KeyKind) {
        self.0 |= 1 << (kind as u32);
    }

    /// Whether a kind is in it.
    pub fn has(self, kind: KeyKind) -> bool {
        self.0 & (1 << (kind as u32)) != 0
    }

    /// Adds all kinds of another set.
    pub fn join(&mut self, other: KeyKinds) {
        self.0 |= other.0;
    }
}

/// Whether an event is the thing a key names, or only speaks of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// The event is (a witness of) the thing.
    Provides,
    /// The event speaks of the thing.
    Refers,
}

/// One further fact of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attr {
    raw: i64,
    /// Which fact.
    pub name: AttrName,
}

impl Attr {
    /// A fact whose value is text.
    pub fn text(name: AttrName, value: Sym) -> Attr {
        Attr { raw: value.to_raw(), name }
    }

    /// A fact whose value is a number.
    pub fn int(name: AttrName, value: i64) -> Attr {
        Attr { raw: value, name }
    }

    /// The value as text.
    pub fn sym(self) -> Sym {
        Sym::from_raw(self.raw)
    }

    /// The value as a number.
    pub fn number(self) -> i64 {
        self.raw
    }

    /// Renumbers a text value when batches are joined.
    pub(crate) fn remap(&mut self, mut map: impl FnMut(Sym) -> Sym) {
        if self.name.is_text() {
            self.raw = map(self.sym()).to_raw();
        }
    }
}

/// The facts an event may carry besides its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrName {
    /// Text: the kind of agent that was asked for or that this is.
    AgentType,
    /// Text: the agent's own name.
    AgentName,
    /// Text: what a tool call or agent is for, in the source's words.
    Description,
    /// Text: what a tool call does, made from its input by rule.
    Summary,
    /// Text: the first words of a message.
    Preview,
    /// Text: a session's title. Titles given later and by people win; see `TitleRank`.
    Title,
    /// Number: how much a title counts against others.
    TitleRank,
    /// Text: working directory.
    Cwd,
    /// Text: working directory, as a client tells its model in a prompt. What states one outright counts more.
    PromptCwd,
    /// Text: the route of our own proxy that a request to a model went by.
    Upstream,
    /// Text: the path of such a request, without its query.
    Route,
    /// Text: version of the agent software.
    Version,
    /// Text: why the model stopped.
    StopReason,
    /// Text: a status in the source's words.
    Status,
    /// Number: milliseconds the source itself measured.
    DurationMs,
    /// Number: how many tools an agent used, as its parent was told.
    ToolUseCount,
    /// Text: the model an agent was told to use.
    Model,
    /// Text: id of the agent a call continues.
    Resume,
    /// Text: name of the agent a call hands over to.
    Handoff,
    /// Number: a bucket of the source's own ledger, in the order of `Usage`'s fields.
    LedgerInput,
    /// Number: see `LedgerInput`.
    LedgerCacheRead,
    /// Number: see `LedgerInput`.
    LedgerCacheWrite,
    /// Number: see `LedgerInput`; visible output and thinking together.
    LedgerOutput,
    /// Text: a short error message.
    ErrorText,
    /// Number: when it ended, in nanoseconds since the epoch, where the source says so.
    EndedAt,
    /// Text: what watched the thing and wrote the record, where several may watch one.
    Instrument,
    /// Text: what a client asked a model for besides its work (`title`, `quota`, …).
    Purpose,
    /// Text: the way a run came in (`text`, `voice`, …).
    Channel,
    /// Number: a hash of everything a tool was given. Only where text is wanted.
    InputHash,
    /// Number: the first line of a file that a call reads, from 1. Only where text is wanted.
    FirstLine,
    /// Number: the last one. Only with the first.
    LastLine,
    /// Text: a field of a tool call or its outcome that could not be read, should the tool be one that links agents.
    Unreadable,
    /// Text: what to call the node of a graph the source drew itself.
    GraphLabel,
    /// Text: what that node does, in the source's word.
    GraphType,
    /// Text: what kind of edge an export tells of.
    EdgeKind,
    /// Text: the rule by which an export believes a link.
    LinkRule,
    /// Number: how much, in ten-thousandths.
    LinkConfidence,
    /// Text: what somebody said of a link: `confirm`, `deny`, `add` or `remove`.
    Verdict,
    /// Text: who said it.
    Author,
    /// Number: how many histories a request does not name, though it may go on from them.
    HistoriesLeftOut,
    /// Text: what is left of the key a request was made with; the same for the same key.
    Caller,
}

impl AttrName {
    /// Whether values are text.
    pub fn is_text(self) -> bool {
        !matches!(
            self,
            AttrName::TitleRank
                | AttrName::DurationMs
                | AttrName::ToolUseCount
                | AttrName::LedgerInput
                | AttrName::LedgerCacheRead
                | AttrName::LedgerCacheWrite
                | AttrName::LedgerOutput
                | AttrName::EndedAt
                | AttrName::InputHash
                | AttrName::FirstLine
                | AttrName::LastLine
                | AttrName::LinkConfidence
        )
    }
}
