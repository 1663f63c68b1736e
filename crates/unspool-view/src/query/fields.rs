//! Every name of the query language: what may stand before `:` or `>`, and what it means.
//!
//! In: nothing. Out: the one table that the parser reads by and `docs/query.md` is written from. Never here: how a
//! condition is tested.

use unspool_model::StepKind;

/// One name before `:`, `~` or a comparison.
pub struct Field {
    /// As it is written.
    pub name: &'static str,
    /// Other ways to write it.
    pub aliases: &'static [&'static str],
    /// What may follow.
    pub sort: Sort,
    /// In words.
    pub meaning: &'static str,
    /// In use.
    pub example: &'static str,
}

/// What may follow a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Text with `*` and `?`.
    Text(TextField),
    /// Words of a fixed list.
    Choice(ChoiceField),
    /// A comparison with a number.
    Number(NumberField),
    /// A moment.
    Time(TimeField),
    /// Another condition.
    Relation(Relation),
    /// Words to look for in the native records.
    Payload,
}

/// Texts of a step and of what it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextField {
    /// Name of the tool.
    Tool,
    /// Type, name or id of the agent.
    Agent,
    /// The model.
    Model,
    /// Whatever the step is called.
    Name,
    /// The run's number or id.
    Run,
    /// The session's id.
    Session,
    /// The session's title.
    Title,
    /// The session's working directory.
    Cwd,
    /// Any id of the step.
    Id,
    /// What it was for.
    Intent,
    /// First words.
    Preview,
    /// What went wrong.
    Error,
    /// The format of a witness.
    Format,
}

impl TextField {
    /// Whether the text is sentences, in which one looks for words, rather than a name.
    pub fn is_prose(self) -> bool {
        matches!(self, TextField::Intent | TextField::Preview | TextField::Error | TextField::Title)
    }
}

/// Facts with a fixed list of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChoiceField {
    /// Marks.
    Is,
    /// Kind of step.
    Kind,
    /// What a recorded request was for.
    Request,
    /// Kind of an edge that leads to the step.
    Edge,
    /// Rule of an edge that leads to the step.
    Rule,
}

/// Figures of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberField {
    /// How long it took.
    Duration,
    /// From the session's begin to its start.
    Elapsed,
    /// All tokens.
    Tokens,
    /// Fresh input.
    Input,
    /// Input from the cache.
    CacheRead,
    /// Input into the cache.
    CacheWrite,
    /// Visible output.
    Output,
    /// Thinking.
    Reasoning,
    /// Dollars.
    Cost,
    /// The least believed edge that leads to it.
    Confidence,
    /// Depth of its agent.
    Depth,
    /// How many records witness it.
    Witnesses,
}

/// What numbers are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Milliseconds.
    Time,
    /// Single things.
    Count,
    /// Trillionths of a dollar.
    Money,
    /// Ten-thousandths of one.
    Share,
}

impl NumberField {
    /// What it is counted in.
    pub fn unit(self) -> Unit {
        match self {
            NumberField::Duration | NumberField::Elapsed => Unit::Time,
            NumberField::Cost => Unit::Money,
            NumberField::Confidence => Unit::Share,
            _ => Unit::Count,
        }
    }
}

/// Ways to compare a step's start with a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeField {
    /// Later than all of it.
    After,
    /// Earlier than all of it.
    Before,
    /// In it or later.
    Since,
    /// In it or earlier.
    Until,
    /// In it.
    On,
}

/// Ways steps stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// It, or in the tree below it.
    Under,
    /// It, or in the tree above it.
    Above,
    /// Of an agent that it started.
    SpawnedBy,
    /// Started its agent.
    Spawns,
    /// It comes later in the same agent and run.
    FollowedBy,
    /// It came earlier in the same agent and run.
    PrecededBy,
    /// It is the agent's next step of the kind.
    Next,
    /// It is the agent's previous step of the kind.
    Previous,
    /// Asked for it.
    Calls,
    /// It asked for this.
    CalledBy,
    /// It led here.
    CausedBy,
    /// This led to it.
    Causes,
}

macro_rules! fields {
    ($($name:literal $aliases:tt $sort:expr, $meaning:literal, $example:literal;)*) => {
        &[$(Field { name: $name, aliases: &$aliases, sort: $sort, meaning: $meaning, example: $example },)*]
    };
}

/// All fields, in the order of the documentation.
pub const FIELDS: &[Field] = fields! {
    "tool" [] Sort::Text(TextField::Tool), "name of the tool that was called", "tool:mcp__*";
    "agent" [] Sort::Text(TextField::Agent), "type or name of the agent, its id or the start of one; `main`, `internal`", "agent:Explore";
    "model" [] Sort::Text(TextField::Model), "the model that answered", "model:*haiku*";
    "name" [] Sort::Text(TextField::Name), "what the step is called: tool, model, agent type, subtype or hook", "name:Stop";
    "run" [] Sort::Text(TextField::Run), "the run's position in its session from 1, its id or the start of one", "run:2";
    "session" [] Sort::Text(TextField::Session), "the session's id or the start of one", "session:3f2a";
    "title" [] Sort::Text(TextField::Title), "words of the session's title", "title:refactor";
    "cwd" ["project"] Sort::Text(TextField::Cwd), "the session's working directory", "cwd:*/checkout";
    "id" [] Sort::Text(TextField::Id), "an id of the step (ours, tool call, message, uuid, native, or of a record that witnesses it) or the start of one; `#N` its position", "id:toolu_01";
    "intent" [] Sort::Text(TextField::Intent), "words of what it was for", "intent:tests";
    "preview" [] Sort::Text(TextField::Preview), "words of what was said first, or of what the tool was given", "preview:\"git push\"";
    "error" [] Sort::Text(TextField::Error), "words of what went wrong", "error:timeout";
    "format" ["source"] Sort::Text(TextField::Format), "format of a record that witnesses it", "format:otlp*";
    "text" ["payload"] Sort::Payload, "words anywhere in its native records: messages, tool inputs, results", "text:\"connection refused\"";
    "is" ["has"] Sort::Choice(ChoiceField::Is), "a mark, see below", "is:error";
    "kind" ["type"] Sort::Choice(ChoiceField::Kind), "kind of step", "kind:model_call";
    "request" [] Sort::Choice(ChoiceField::Request), "what a recorded request was for", "request:compaction";
    "edge" ["link"] Sort::Choice(ChoiceField::Edge), "kind of an edge that leads to it", "edge:subagent_return";
    "rule" [] Sort::Choice(ChoiceField::Rule), "rule of an edge that leads to it", "rule:spawn-prompt";
    "duration" ["took"] Sort::Number(NumberField::Duration), "how long it took", "duration>5s";
    "elapsed" [] Sort::Number(NumberField::Elapsed), "time from the session's begin to its start", "elapsed<=1h30m";
    "tokens" [] Sort::Number(NumberField::Tokens), "all its tokens", "tokens>10k";
    "input" [] Sort::Number(NumberField::Input), "input tokens outside any cache", "input>1k";
    "cache-read" [] Sort::Number(NumberField::CacheRead), "input tokens read from a cache", "cache-read=0";
    "cache-write" [] Sort::Number(NumberField::CacheWrite), "input tokens written to a cache", "cache-write>50k";
    "output" [] Sort::Number(NumberField::Output), "output tokens that can be seen", "output>4k";
    "reasoning" [] Sort::Number(NumberField::Reasoning), "output tokens spent on thinking", "reasoning>1k";
    "cost" [] Sort::Number(NumberField::Cost), "US dollars; unknown without a price", "cost>0.10";
    "confidence" [] Sort::Number(NumberField::Confidence), "confidence of the least believed edge that leads to it", "confidence<0.8";
    "depth" [] Sort::Number(NumberField::Depth), "depth of its agent; 0 for main agents", "depth>=2";
    "witnesses" [] Sort::Number(NumberField::Witnesses), "how many records say that it happened", "witnesses>1";
    "after" [] Sort::Time(TimeField::After), "it began later than all of the moment", "after:2026-01-18";
    "before" [] Sort::Time(TimeField::Before), "it began earlier than all of the moment", "before:2026-01-18T19:55";
    "since" [] Sort::Time(TimeField::Since), "it began in the moment or later", "since:2h";
    "until" [] Sort::Time(TimeField::Until), "it began in the moment or earlier", "until:2026-01-18";
    "on" ["at"] Sort::Time(TimeField::On), "it began in the moment", "on:2026-01-18";
    "under" ["below", "in"] Sort::Relation(Relation::Under), "steps that the condition selects, and all below them in the tree", "under:agent:Explore";
    "above" ["over"] Sort::Relation(Relation::Above), "steps that the condition selects, and all above them in the tree", "above:is:error";
    "spawned-by" [] Sort::Relation(Relation::SpawnedBy), "steps of agents that such a step started", "spawned-by:(tool:Task is:error)";
    "spawns" [] Sort::Relation(Relation::Spawns), "steps that started an agent with such a step", "spawns:is:error";
    "followed-by" [] Sort::Relation(Relation::FollowedBy), "such a step comes later in the same agent and run", "tool:Edit followed-by:(tool:Bash is:error)";
    "preceded-by" [] Sort::Relation(Relation::PrecededBy), "such a step came earlier in the same agent and run", "preceded-by:kind:compaction";
    "next" [] Sort::Relation(Relation::Next), "the agent's next step of the same kind is such a step", "tool:Read next:tool:Read";
    "previous" ["prev"] Sort::Relation(Relation::Previous), "the agent's previous step of the same kind is such a step", "is:error previous:is:error";
    "calls" [] Sort::Relation(Relation::Calls), "the step asked for such a step", "calls:tool:WebFetch";
    "called-by" [] Sort::Relation(Relation::CalledBy), "such a step asked for it", "called-by:model:*haiku*";
    "caused-by" [] Sort::Relation(Relation::CausedBy), "such a step led to it, directly or through others, by edges that are more than order", "caused-by:id:toolu_01";
    "causes" [] Sort::Relation(Relation::Causes), "it led to such a step, directly or through others, by edges that are more than order", "causes:is:error";
};

/// Marks of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// It failed.
    Error,
    /// Begun and not ended.
    Pending,
    /// Returned before its work was done.
    Async,
    /// Tried again.
    Retry,
    /// An inferred edge leads to it.
    Inferred,
    /// Its start is estimated.
    Estimated,
    /// Injected.
    Meta,
    /// Of a main agent.
    Main,
    /// Of a sub-agent.
    Subagent,
    /// Of an internal agent.
    Internal,
    /// Starts a run.
    Trigger,
    /// Started an agent.
    Spawn,
    /// Used tokens without a price.
    Unpriced,
}

/// All marks with their words and meanings.
pub const MARKS: &[(Mark, &str, &str)] = &[
    (Mark::Error, "error", "it failed"),
    (Mark::Pending, "pending", "it has begun and nothing says that it ended"),
    (Mark::Async, "async", "the call returned before its work was done"),
    (
        Mark::Retry,
        "retry",
        "the same call as one that failed before it: the same tool with the same input, or a model, in the same run of the same agent; not one made together with it",
    ),
    (Mark::Inferred, "inferred", "an edge that leads to it is inferred"),
    (Mark::Estimated, "estimated", "its start is not written anywhere but follows from other times"),
    (Mark::Meta, "meta", "injected by the client rather than said by a person or model"),
    (Mark::Main, "main", "a step of a main agent"),
    (Mark::Subagent, "subagent", "a step of a sub-agent"),
    (Mark::Internal, "internal", "a step of an agent that the client runs for itself"),
    (Mark::Trigger, "trigger", "the input that starts a run"),
    (Mark::Spawn, "spawn", "it started an agent"),
    (Mark::Unpriced, "unpriced", "it used tokens of a model without a price"),
];

/// Words that people use for kinds of steps.
pub const KIND_ALIASES: &[(&str, StepKind)] =
    &[("model", StepKind::ModelCall), ("tool", StepKind::ToolCall), ("user", StepKind::UserMessage)];

/// The field of a name, whatever its case, with `_` for `-` too.
pub fn field(name: &str) -> Option<&'static Field> {
    let name = spelled(name);
    FIELDS.iter().find(|field| field.name == name || field.aliases.contains(&name.as_str()))
}

/// How names are compared.
pub fn spelled(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}
