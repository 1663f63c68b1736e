//! What leads from one step to another, why that is believed, and how much.

use crate::Sym;

/// A directed causal relation between steps.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Cause.
    pub from: u32,
    /// Effect.
    pub to: u32,
    /// First evidence record in the flow's evidence column.
    pub first_evidence: u32,
    /// How many.
    pub evidence_count: u16,
    /// Native id of the tool call it runs over, if any.
    pub tool_use_id: Sym,
    /// How much it is believed.
    pub confidence: Confidence,
    /// What relation.
    pub kind: EdgeKind,
    /// Why it is believed.
    pub rule: Rule,
    /// It carries an error.
    pub is_error: bool,
}

impl Edge {
    /// Whether it is guessed, in whole or in part.
    pub fn is_inferred(&self) -> bool {
        self.rule.inferred() || self.confidence < Confidence::EXACT
    }
}

/// The kinds of edges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// A model call asked for a tool call.
    Calls,
    /// A tool call's result was first received by a model call.
    ToolResult,
    /// A tool call started an agent.
    SubagentSpawn,
    /// An agent's answer was received by a model call.
    SubagentReturn,
    /// One step of an agent came before the next.
    Sequence,
    /// A conversation went on after a cut: compaction, resume, fork.
    Continuation,
    /// A step's source says that it needed another.
    DependsOn,
    /// A span encloses another.
    SpanParent,
    /// A span links to another.
    SpanLink,
    /// What one step said stands in the input of another.
    ContentReuse,
}

impl EdgeKind {
    /// All of them.
    pub const ALL: [EdgeKind; 10] = [
        EdgeKind::Calls,
        EdgeKind::ToolResult,
        EdgeKind::SubagentSpawn,
        EdgeKind::SubagentReturn,
        EdgeKind::Sequence,
        EdgeKind::Continuation,
        EdgeKind::DependsOn,
        EdgeKind::SpanParent,
        EdgeKind::SpanLink,
        EdgeKind::ContentReuse,
    ];

    /// Whether somebody may add, confirm or deny an edge of this kind. What a model asked for, what encloses what and which step of
    /// an agent came first is how a source is written: nobody guesses it.
    pub fn can_be_declared(self) -> bool {
        !matches!(self, EdgeKind::Calls | EdgeKind::Sequence | EdgeKind::SpanParent)
    }

    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Calls => "calls",
            EdgeKind::ToolResult => "tool_result",
            EdgeKind::SubagentSpawn => "subagent_spawn",
            EdgeKind::SubagentReturn => "subagent_return",
            EdgeKind::Sequence => "sequence",
            EdgeKind::Continuation => "continuation",
            EdgeKind::DependsOn => "depends_on",
            EdgeKind::SpanParent => "span_parent",
            EdgeKind::SpanLink => "span_link",
            EdgeKind::ContentReuse => "content_reuse",
        }
    }
}

macro_rules! rules {
    ($($variant:ident $name:literal $sentence:literal;)*) => {
        /// Why an edge is believed. Each rule has a file in the linker and a specification.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule { $(#[doc = $sentence] $variant,)* }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)*];

            /// The stable name used in exports and documents.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$variant => $name,)* }
            }

            /// One sentence for people.
            pub fn sentence(self) -> &'static str {
                match self { $(Rule::$variant => $sentence,)* }
            }
        }
    };
}

rules! {
    ToolCallId "tool-call-id" "The tool call stands in the answer of this model call.";
    ToolResultId "tool-result-id" "The result names the call by id, and this is the first model call of the agent after it.";
    ToolResultOrder "tool-result-order" "The result follows the call in order, and no id says more; this is the first model call of the agent after it.";
    SpawnResultId "spawn-result-id" "The result of the spawn call names the agent's id.";
    SpawnResultOrder "spawn-result-order" "The result that names the agent's id follows the spawn call in order, and no id says more.";
    SpawnMetaId "spawn-meta-id" "The agent's meta file names the spawn call's id.";
    SpawnHookId "spawn-hook-id" "A hook event names both the spawn call and the agent.";
    SpawnNotificationId "spawn-notification-id" "The notification of the agent's end names both the spawn call and the agent.";
    SpawnTextId "spawn-text-id" "The text of the spawn call's result names the agent's id.";
    SpawnProgressId "spawn-progress-id" "A progress record of the spawn call names the agent's id.";
    SpawnTeammateId "spawn-teammate-id" "The spawn call's result names the teammate, and the agent bears that name in that team.";
    SpawnWorkflowId "spawn-workflow-id" "The workflow call's result names the run whose folder holds the agent.";
    SpawnParentId "spawn-parent-id" "The agent's records name the agent that started it; this is what that agent did last before.";
    SpawnChainId "spawn-chain-id" "The agent's first record names the record of this spawn call as its parent.";
    SpawnPrompt "spawn-prompt" "The agent's first message is exactly the prompt of this spawn call.";
    SpawnAnswer "spawn-answer" "The agent's last answer is exactly the result of this spawn call.";
    SpawnSummary "spawn-summary" "The message that opened the teammate carries this spawn call's description.";
    SpawnTypeTime "spawn-type-time" "The spawn call asked for this type of agent at the right time.";
    SpawnSpanParent "spawn-span-parent" "The agent's span lies in the span of this step.";
    SpawnSpanName "spawn-span-name" "The call bears the agent's name, and the agent worked while the call was open.";
    ReturnResultId "return-result-id" "The spawn call's result carried the agent's answer to this model call.";
    ReturnNotificationId "return-notification-id" "A notification carried the agent's answer to this model call.";
    ReturnTeammateId "return-teammate-id" "A message of the teammate reached this model call.";
    AgentSequence "agent-sequence" "The steps follow each other in one agent.";
    ConversationHistory "conversation-history" "The request repeats the conversation up to this one's answer, or names it.";
    ContinuationCompaction "continuation-compaction" "The context was compacted here and the conversation went on.";
    ContinuationResume "continuation-resume" "A later session file goes on from this record.";
    ContinuationFork "continuation-fork" "Another conversation branches off from this record.";
    DeclaredDependency "declared-dependency" "The step's source says that it depends on this one.";
    ContinuationHandoff "continuation-handoff" "The call hands over to an agent of this name, and this is the next one to start.";
    SpanParent "span-parent" "The one span encloses the other.";
    SpanLink "span-link" "The span names the other in its links.";
    ContinuationMessage "continuation-message" "A message sent by this tool call set a stopped agent to work again.";
    ContentReuse "content-reuse" "The words of this step stand in the input of the other.";
    Manual "manual" "Somebody said so.";
}

impl Rule {
    /// Whether the rule guesses, however well. Every other rule joins explicit ids or reads order.
    pub fn inferred(self) -> bool {
        matches!(
            self,
            Rule::SpawnPrompt
                | Rule::SpawnAnswer
                | Rule::SpawnSummary
                | Rule::SpawnTypeTime
                | Rule::ContentReuse
                | Rule::ToolResultOrder
                | Rule::SpawnResultOrder
                | Rule::SpawnSpanName
                | Rule::ContinuationHandoff
        )
    }
}

/// How much an edge is believed, in ten-thousandths; exact ids are 1.0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Confidence(u16);

impl Confidence {
    /// Certain.
    pub const EXACT: Confidence = Confidence(10_000);

    /// From ten-thousandths; more than 1.0 is 1.0.
    pub fn from_ten_thousandths(value: u16) -> Confidence {
        Confidence(value.min(10_000))
    }

    /// Ten-thousandths.
    pub fn ten_thousandths(self) -> u16 {
        self.0
    }

    /// As a fraction of one.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}
