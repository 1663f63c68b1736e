//! What a generated session looks like: every trap is a field, so that tests can make their product.

/// How one generated session is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Where sub-agents are written.
    pub layout: Layout,
    /// Agents started by one message.
    pub width: usize,
    /// Levels of agents below the main one, 1 to 3.
    pub depth: usize,
    /// Whether siblings share their prompt and answer.
    pub prompts: Prompts,
    /// Whether siblings are of one type.
    pub types: Types,
    /// How agents run.
    pub mode: Mode,
    /// Whether siblings start in the order of their calls.
    pub launch: Launch,
    /// How API messages are cut into lines.
    pub streaming: Streaming,
    /// Whether a second file repeats the first.
    pub replay: Replay,
    /// Whether the conversation is compacted once.
    pub compaction: bool,
    /// Whether the client runs agents for itself.
    pub internal: bool,
    /// Whether API errors and failed spawns occur.
    pub errors: bool,
    /// Whether the parent's file copies the agents' messages as progress.
    pub progress: bool,
    /// Whether prompts are tried again: refused before, and run once more later.
    pub retries: bool,
    /// Whether agents that have answered are written to again.
    pub follow_ups: bool,
    /// What is left of an agent's first message.
    pub opening: Opening,
    /// Whether the last agent of each message is cut off before it answers.
    pub unfinished: bool,
    /// How much text tools return.
    pub bodies: Bodies,
    /// User inputs.
    pub turns: usize,
    /// How many of them, from the first, start agents.
    pub spawning_turns: usize,
    /// Most rounds of ordinary tool calls per turn or agent.
    pub rounds: usize,
}

/// Where sub-agents are written, by version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// In the session's own file, without agent ids (until 1.0.108).
    Sidechain,
    /// `agent-<8 hex>.jsonl` beside the session (2.0).
    Flat,
    /// `<session>/subagents/agent-<7 hex>.jsonl`, no meta file.
    Subagents,
    /// `<session>/subagents/agent-<17 hex>.jsonl` with a meta file.
    SubagentsMeta,
    /// A scripted workflow's folder with a journal and a snapshot.
    Workflow,
}

/// Whether siblings share their prompt and answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// Each has its own.
    Distinct,
    /// One prompt, different answers.
    Same,
    /// One prompt, one answer.
    SameWithSameAnswer,
}

/// Whether siblings are of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    /// All of one type.
    Same,
    /// Of several types.
    Mixed,
}

/// How agents run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The call returns the answer.
    Sync,
    /// The call returns at once, a notification brings the answer.
    Async,
    /// Teammates inside the session's process.
    Teammates,
    /// Teammates with processes and sessions of their own.
    TeammateProcesses,
}

/// Whether siblings start in the order of their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// In order, as a queue starts them.
    InOrder,
    /// Each after a delay of its own.
    Scattered,
}

/// How API messages are cut into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streaming {
    /// One line per message.
    Whole,
    /// One line per block; early lines hold placeholder usage.
    Split,
    /// One line per block, with results of early blocks between them.
    Interleaved,
}

/// Whether a second file repeats the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It does not.
    None,
    /// The whole session, under a new session id, then goes on.
    Resume,
    /// The first part of the session, marked as forked, then goes its own way.
    Branch,
}

/// What is left of an agent's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The prompt of the call.
    Prompt,
    /// Nothing: the file begins with the first answer.
    Lost,
    /// Other words than the call's, under the call's description, as a lead may write to a teammate.
    Rewritten,
}

/// How much text tools return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// A few words, for tests that make thousands of sessions.
    Short,
    /// Like real sessions: mostly 1 to 10 KB, some 100 KB.
    Realistic,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            layout: Layout::SubagentsMeta,
            width: 3,
            depth: 1,
            prompts: Prompts::Distinct,
            types: Types::Same,
            mode: Mode::Sync,
            launch: Launch::InOrder,
            streaming: Streaming::Split,
            replay: Replay::None,
            compaction: false,
            internal: false,
            errors: false,
            progress: false,
            retries: false,
            follow_ups: false,
            opening: Opening::Prompt,
            unfinished: false,
            bodies: Bodies::Short,
            turns: 2,
            spawning_turns: 1,
            rounds: 2,
        }
    }
}

impl Shape {
    /// Whether any version of Claude Code writes such a session.
    pub fn occurs(&self) -> bool {
        let team = matches!(self.mode, Mode::Teammates | Mode::TeammateProcesses);
        let recent = matches!(self.layout, Layout::SubagentsMeta | Layout::Workflow);
        let of_its_time =
            (recent && !team || !self.follow_ups) && (self.layout == Layout::Subagents || !self.progress);
        let opened = match self.opening {
            Opening::Prompt => true,
            Opening::Lost => self.layout != Layout::Sidechain,
            Opening::Rewritten => team,
        };
        of_its_time
            && opened
            && match self.layout {
                Layout::Sidechain => self.mode == Mode::Sync && self.depth == 1 && !self.internal,
                Layout::Workflow => {
                    self.mode == Mode::Async && self.depth == 1 && !self.retries && !self.follow_ups
                }
                Layout::Flat => !team && self.depth == 1,
                // A process of its own would keep its agents under its own session.
                Layout::Subagents | Layout::SubagentsMeta => {
                    self.mode != Mode::TeammateProcesses || self.depth == 1
                }
            }
    }

    /// Whether the hidden form leaves anything that tells siblings apart. One prompt, one answer and starts in
    /// any order leave nothing that names a sibling.
    pub fn can_be_told_apart(&self) -> bool {
        self.width == 1 || self.prompts != Prompts::SameWithSameAnswer || self.launch == Launch::InOrder
    }
}
