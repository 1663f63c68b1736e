//! Named anomalies. Each code has a severity and a sentence here, in one catalogue, and nowhere else.

use crate::{Interner, RecordIx, Sym};
use std::collections::BTreeMap;

/// How much an issue matters to the reader of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Something was or may have been lost or misread.
    Error,
    /// Something is missing or odd; the rest stands.
    Warning,
    /// Worth knowing, changes nothing.
    Info,
}

impl Severity {
    /// The word used in exports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $sentence:literal;)*) => {
        /// Every anomaly Unspool can name.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code { $(#[doc = $sentence] $variant,)* }

        impl Code {
            /// The whole catalogue.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name used in exports and documents.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// How much it matters.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// One sentence for people.
            pub fn sentence(self) -> &'static str {
                match self { $(Code::$variant => $sentence,)* }
            }
        }
    };
}

impl Code {
    /// Whether it says that the world has moved on from what this version knows. Never hidden, however little it matters.
    pub fn is_drift(self) -> bool {
        matches!(self, Code::UnknownType | Code::SpawnToolUnknown | Code::UnknownModel)
    }

    /// Whether it is more than information: something to look at, or the world that moved on.
    pub fn is_worth_a_look(self) -> bool {
        self.severity() < Severity::Info || self.is_drift()
    }

    /// Whether it says that something of what happened is missing in what is shown.
    pub fn is_gap(self) -> bool {
        use Code::{
            AgentTranscriptMissing, AgentUnlinked, DependencyMissing, FileCut, LimitReached, LineTooLong,
            LogDamaged, MainTranscriptMissing, NotAnObject, NotJson, NotProtobuf, ReferenceMissing,
            ResponseMissing, ResultWithoutCall, SpanIdBad, SpanParentMissing, SpawnUnlinked,
            StreamInterrupted, StreamTorn, TornLine,
        };
        matches!(
            self,
            NotJson
                | NotAnObject
                | NotProtobuf
                | SpanIdBad
                | TornLine
                | LineTooLong
                | FileCut
                | ResultWithoutCall
                | DependencyMissing
                | AgentUnlinked
                | AgentTranscriptMissing
                | MainTranscriptMissing
                | SpawnUnlinked
                | StreamInterrupted
                | StreamTorn
                | ResponseMissing
                | LimitReached
                | LogDamaged
                | SpanParentMissing
                | ReferenceMissing
        )
    }
}

codes! {
    NotJson "not_json" Error "A line is not JSON. It is kept as bytes and was not read.";
    NotAnObject "not_an_object" Error "A line, or an item of a list of records, is JSON but not an object. It is kept as bytes and was not read.";
    SpanIdBad "span_id_bad" Error "A span has no trace id or none of its own: it is missing, all zeros or, in protobuf, not of 16 and 8 bytes, so nothing can say where it belongs. It is kept as bytes and was not read.";
    NotProtobuf "not_protobuf" Error "Bytes that should be protobuf are none, or end in the middle of a message. They are kept and were not read.";
    TornLine "torn_line" Warning "The last line ends in the middle of a value, as when a writer is still busy or was killed.";
    NulBytes "nul_bytes" Warning "A line holds NUL bytes, as after a crash of the machine that wrote it.";
    InvalidUtf8 "invalid_utf8" Warning "A line is not valid UTF-8; unreadable characters are shown as replacements.";
    LineTooLong "line_too_long" Error "A line is longer than the limit `max_record_bytes`. It is kept as bytes and was not read.";
    DuplicateKey "duplicate_key" Warning "An object names the same field twice; the last value counts.";
    WrongType "wrong_type" Warning "A field has a type that its format does not know; the field was left out.";
    BadTimestamp "bad_timestamp" Warning "A timestamp cannot be read; the moment counts as unknown.";
    UnknownType "unknown_type" Info "A record type this version does not know. It is kept and linked by its keys, without meaning.";
    UnknownFormat "unknown_format" Warning "No format recognised a file, so it was not read.";
    UnreadableFile "unreadable_file" Error "A file could not be opened or read.";
    FileCut "file_cut" Error "A file could not be read to its end, as when it is packed and damaged; what came before is kept.";
    EmptyFile "empty_file" Info "A file holds no records.";
    FileNotData "file_not_data" Info "Files in the folder whose names do not end as data does (.json, .jsonl, .ndjson, .pb, .binpb, .otlp; packed or not) were not looked into.";
    DuplicateUuid "duplicate_uuid" Warning "Two different records claim the same uuid; both are kept.";
    ParentCycle "parent_cycle" Warning "Records name each other as parents in a circle; the circle was cut at its first record.";
    ParentMissing "parent_missing" Info "A record names a parent that is not among the records read.";
    ResultWithoutCall "result_without_call" Warning "A tool result whose call is not among the records read.";
    CallWithoutResult "call_without_result" Info "A tool call that never got a result.";
    StepUnfinished "step_unfinished" Info "A step that began and never ended.";
    DependencyMissing "dependency_missing" Warning "A step depends on a step that is not among the records read.";
    DependencyCycle "dependency_cycle" Warning "Steps depend on each other in a circle; every dependency is shown as its source states it.";
    RunEmpty "run_empty" Info "A run its source names has no steps among the records read.";
    AgentUnlinked "agent_unlinked" Warning "A sub-agent whose spawn could not be found; it stands at the root.";
    AgentInternal "agent_internal" Info "An agent the client runs for itself (warm-up, compaction, suggestions); it has no parent by design.";
    AgentTranscriptMissing "agent_transcript_missing" Warning "A sub-agent is named by its spawn, but none of its own records were read.";
    MainTranscriptMissing "main_transcript_missing" Warning "Sub-agents of a session were read, but not the session's own records.";
    SpawnUnlinked "spawn_unlinked" Warning "A call of a spawn tool for which no sub-agent was found.";
    SpawnConflict "spawn_conflict" Error "Explicit ids name different parents for one agent; the stronger source was believed.";
    SpawnAmbiguous "spawn_ambiguous" Info "Several spawns fit several agents equally well; order of start decided.";
    SpawnGroupTooLarge "spawn_group_too_large" Warning "More spawns compete than `max_joint_assignment`; they were matched in order of time instead, or, for workflow runs, left alone.";
    SpawnToolUnknown "spawn_tool_unknown" Warning "A tool that looks like it spawns agents is not in the table of spawn tools.";
    UnknownTool "unknown_tool" Info "A tool this version does not know. It is shown as it is named.";
    UnknownModel "unknown_model" Info "A model without a price at the time of the call; its tokens are counted and its cost is left open.";
    ClockSkew "clock_skew" Warning "A later event carries an earlier time than what caused it.";
    UsageConflict "usage_conflict" Info "Lines of one API message report different final usage; the larger value of each field was counted.";
    UsageUnsplit "usage_unsplit" Info "A call reports a sum of tokens that its parts do not make up, or no parts at all; no bucket can take the rest, so it is not counted.";
    StreamInterrupted "stream_interrupted" Info "A streamed response ended before its last event; what had arrived is kept.";
    StreamTorn "stream_torn" Warning "An event in the middle of a streamed response is not whole; the others are kept, and what it said may be missing.";
    ResponseMissing "response_missing" Info "A request was recorded without its response.";
    UsageDisagreement "usage_disagreement" Info "Sources of different sorts report different tokens for one model call; the one closest to the wire was counted.";
    LimitReached "limit_reached" Info "So many things that some were left out: the limit is named, the count says how many were left out.";
    FusedByOrder "fused_by_order" Info "Records tell of a call without a common id: a span and the call a model asked for, or its beginning and its end. Same agent and same name, so they were taken for one call, in order.";
    FusedByTokens "fused_by_tokens" Info "A span and another source tell of a model call without a common id; same agent, same tokens and same time, so it was taken for one call.";
    FusedByOverlap "fused_by_overlap" Info "Two instruments traced a model call as two spans without a common id; one lies in the time of the other and both tell the same answer or tokens, so they were taken for one call.";
    UsageOfWrapper "usage_of_wrapper" Info "A span repeats tokens that spans inside it report; only the innermost were counted.";
    SpanParentMissing "span_parent_missing" Info "A span names a parent that is not among the spans read; it counts as a root of its trace.";
    SpanParentCycle "span_parent_cycle" Warning "Spans name each other as parents in a circle, or one names itself; the circle was cut at its first span.";
    DuplicateSpan "duplicate_span" Warning "Two different spans of a trace bear one id; both are kept, and what lies below belongs to the first.";
    AgentAssumed "agent_assumed" Info "Spans that lie in no agent's span were given to the session's main agent.";
    SchemaUnknown "schema_unknown" Error "An export names a version of its schema that this version does not know; it is kept as bytes and was not read.";
    SessionBroken "session_broken" Error "A session of an export lacks what it is nothing without: its id, or agents for its steps. It is kept as bytes and was not read.";
    ReferenceMissing "reference_missing" Warning "A row of an export names another that is not in it, or not where it must stand; what the row says through it was left out.";
    WordUnknown "word_unknown" Warning "An export uses a word for a kind, rule, status or issue that this version does not know; what it says was left out.";
    SessionSuperseded "session_superseded" Info "A session of an export is also read from its own records, or from a fuller export; the copy counts as a duplicate.";
    LinkEndMissing "link_end_missing" Warning "Somebody spoke of a link one end of which is not there, or not any more. What was said is kept, and counts when it is.";
    LinkCycle "link_cycle" Warning "A link that somebody added would make a circle of causes; it is kept and does not count.";
    ExactLinkDenied "exact_link_denied" Info "Somebody denied a link that explicit ids or order state; it is not shown.";
    LedgerMismatch "ledger_mismatch" Warning "The client's own ledger and the tokens counted here differ.";
    LogDamaged "log_damaged" Error "Part of the server's record log cannot be read. The records in it are lost, the others are served.";
    LogTailCut "log_tail_cut" Warning "The last write to the server's record log was cut off, as by a crash. It was not acknowledged; its bytes were put aside.";
    WriteRefused "write_refused" Error "The disk refused what the server wrote. What came meanwhile was refused, or kept and not shown.";
    DatabaseRemade "database_remade" Warning "A database of the server was damaged. Nothing is lost: it is made again from the record log.";
    ClockWentBack "clock_went_back" Warning "The server's clock stands before moments that are stored already. Order and numbers do not depend on it; what is shown as received or running may be wrong.";
    FamilyTooLarge "family_too_large" Warning "Records that may belong together are more than `max_family_records`. Nothing is left out, but they are linked less often and news of them comes later.";
}

/// One anomaly, counted.
#[derive(Clone, Debug)]
pub struct Issue {
    /// What it is.
    pub code: Code,
    /// What it is about (a type name, a tool, a file), if anything.
    pub detail: Sym,
    /// How often.
    pub count: u64,
    /// The first records it was seen in, at most `ISSUE_SAMPLES`.
    pub records: Vec<RecordIx>,
}

/// How many records an issue names; its count says how many there were.
pub const ISSUE_SAMPLES: usize = 8;

/// One occurrence of an anomaly.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence {
    /// What it is about, if anything.
    pub detail: Sym,
    /// The stream it was seen in, or `u32::MAX` for none.
    pub stream: u32,
    /// The record it was seen in, or `u32::MAX` for none.
    pub record: RecordIx,
    /// What it is.
    pub code: Code,
}

/// Every occurrence, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Issues {
    list: Vec<Occurrence>,
}

impl Issues {
    /// Notes one occurrence.
    pub fn add(&mut self, code: Code, detail: Sym, stream: u32, record: Option<RecordIx>) {
        self.list.push(Occurrence { detail, stream, record: record.unwrap_or(u32::MAX), code });
    }

    /// All occurrences.
    pub fn iter(&self) -> impl Iterator<Item = &Occurrence> {
        self.list.iter()
    }

    /// One of them, by its position.
    pub fn get(&self, n: usize) -> Option<&Occurrence> {
        self.list.get(n)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn append(
        &mut self,
        other: Issues,
        sym: impl Fn(Sym) -> Sym,
        record_base: u32,
        stream_base: u32,
    ) {
        let moved = |n: u32, base: u32| if n == u32::MAX { n } else { n + base };
        self.list.extend(other.list.into_iter().map(|one| Occurrence {
            detail: sym(one.detail),
            stream: moved(one.stream, stream_base),
            record: moved(one.record, record_base),
            code: one.code,
        }));
    }
}

/// Adds equal occurrences up, in the order of the catalogue and then of the detail's text. `place` gives records their
/// order, so that the samples do not depend on the order of reading.
pub fn add_up<K: Ord>(
    occurrences: impl Iterator<Item = Occurrence>,
    text: &Interner,
    place: impl Fn(RecordIx) -> K,
) -> Vec<Issue> {
    let mut merged: BTreeMap<(Code, &str), Issue> = BTreeMap::new();
    for one in occurrences {
        let slot = merged.entry((one.code, text.get(one.detail))).or_insert_with(|| Issue {
            code: one.code,
            detail: one.detail,
            count: 0,
            records: Vec::new(),
        });
        slot.count += 1;
        if one.record != u32::MAX {
            slot.records.push(one.record);
        }
    }
    let sampled = |mut issue: Issue| {
        issue.records.sort_by_key(|record| place(*record));
        issue.records.dedup();
        issue.records.truncate(ISSUE_SAMPLES);
        issue
    };
    merged.into_values().map(sampled).collect()
}

#[cfg(test)]
mod tests {
    use super::{Code, ISSUE_SAMPLES, Issues, add_up};
    use crate::{Interner, Sym};

    #[test]
    fn names_are_unique_and_snake_case() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert!(
            names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'8'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn counts_are_full_and_samples_are_bounded() {
        let mut issues = Issues::default();
        for record in 0..100 {
            issues.add(Code::NotJson, Sym::EMPTY, 0, Some(record));
        }
        let merged = add_up(issues.iter().copied(), &Interner::default(), |record| record);
        assert_eq!((merged[0].count, merged[0].records.len()), (100, ISSUE_SAMPLES));
    }
}
