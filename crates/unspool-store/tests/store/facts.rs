//! Facts and questions of few different values, so that they collide.

use std::sync::Arc;
use unspool_model::Id;
use unspool_store::rows::{
    AgentRow, Checkpoint, EdgeRow, IssueRow, RunRow, SessionFacts, SessionRow, SourceReceipt, StepRow,
};
use unspool_store::{Commit, Filter, Question, Sort};

/// Numbers without a pattern (splitmix64).
pub(crate) struct Random(pub(crate) u64);

pub(crate) const TEXTS: [&str; 9] =
    ["", "a", "A", "aé", "b\u{10ffff}", "a%_", "'; --", "Ärger", "line\nbreak"];
const NUMBERS: [i64; 7] = [0, 1, -1, 7, 1_767_348_000_000_000_000, i64::MAX, i64::MIN + 1];

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn text(&mut self) -> String {
        self.pick(&TEXTS).into()
    }

    fn texts(&mut self) -> Vec<String> {
        (0..self.below(3)).map(|_| self.text()).collect()
    }

    fn number(&mut self) -> i64 {
        self.pick(&NUMBERS)
    }

    fn count(&mut self) -> i64 {
        self.below(4).cast_signed()
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Random) -> T) -> Option<T> {
        self.yes().then(|| value(self))
    }

    pub(crate) fn id(&mut self) -> Id {
        Id::of(&[&self.below(6).to_le_bytes()])
    }

    fn ids(&mut self) -> Vec<Id> {
        (0..self.below(3)).map(|_| self.id()).collect()
    }

    fn many<T>(&mut self, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| one(self)).collect()
    }

    pub(crate) fn facts(&mut self, id: Id) -> SessionFacts {
        let session = SessionRow {
            id,
            native_ids: self.texts(),
            title: self.text(),
            title_inferred: self.yes(),
            cwd: self.text(),
            versions: self.texts(),
            formats: self.texts(),
            status: self.text(),
            started_ns: self.maybe(Random::number),
            ended_ns: self.maybe(Random::number),
            sources: self.texts(),
            agent_kinds: self.texts(),
            models: self.texts(),
            agent_count: self.count(),
            subagent_count: self.count(),
            run_count: self.count(),
            step_count: self.count(),
            error_count: self.count(),
            issue_count: self.count(),
            gaps: self.texts(),
            activity: self.text().into_bytes(),
            input_tokens: self.number().saturating_abs(),
            cache_read_tokens: self.count(),
            cache_write_tokens: self.count(),
            cache_write_long_tokens: self.count(),
            output_tokens: self.number().saturating_abs(),
            reasoning_tokens: self.count(),
            uncounted_calls: self.count(),
            cost_nano_usd: self.maybe(Random::number),
            context_records: self.count(),
            native_bytes: self.count(),
            first_position: self.count(),
            end_position: self.count(),
        };
        SessionFacts {
            session,
            agents: self.many(Random::agent),
            runs: self.many(Random::run),
            steps: self.many(Random::step).into(),
            edges: self.many(Random::edge).into(),
            issues: self.many(|random| IssueRow {
                code: random.text(),
                detail: random.text(),
                count: random.count(),
                records: random.ids(),
            }),
        }
    }

    fn agent(&mut self) -> AgentRow {
        AgentRow {
            id: self.id(),
            native_id: self.text(),
            kind: self.text(),
            kind_inferred: self.yes(),
            name: self.text(),
            model: self.text(),
            parent_id: self.maybe(Random::id),
            depth: self.count(),
            status: self.text(),
            internal: self.yes(),
            main: self.yes(),
            task_number: self.count(),
            spawn_step_id: self.maybe(Random::id),
            spawn_tool_use_id: self.text(),
            spawn_rule: self.text(),
            spawn_confidence: self.count(),
            rival_count: self.count(),
            started_ns: self.maybe(Random::number),
            ended_ns: self.maybe(Random::number),
            message_count: self.count(),
        }
    }

    fn run(&mut self) -> RunRow {
        RunRow {
            id: self.id(),
            native_id: self.text(),
            channel: self.text(),
            stated: self.text(),
            trigger_id: self.maybe(Random::id),
            status: self.text(),
            started_ns: self.maybe(Random::number),
            ended_ns: self.maybe(Random::number),
        }
    }

    fn step(&mut self) -> StepRow {
        StepRow {
            id: self.id(),
            kind: self.text(),
            started_ns: self.maybe(Random::number),
            ended_ns: self.maybe(Random::number),
            duration_ms: self.maybe(Random::number),
            agent_id: self.maybe(Random::id),
            agent_source: self.text(),
            run_id: self.maybe(Random::id),
            parent_id: self.maybe(Random::id),
            name: self.text(),
            tool_use_id: self.text(),
            message_id: self.text(),
            uuid: self.text(),
            native_id: self.text(),
            model: self.text(),
            preview: self.text(),
            intent: self.text(),
            intent_inferred: self.yes(),
            error: self.text(),
            input_hash: self.maybe(Random::number),
            is_error: self.yes(),
            start_estimated: self.yes(),
            pending: self.yes(),
            meta: self.yes(),
            is_async: self.yes(),
            input_tokens: self.maybe(Random::number),
            cache_read_tokens: self.maybe(Random::number),
            cache_write_tokens: self.maybe(Random::number),
            cache_write_long_tokens: self.maybe(Random::number),
            output_tokens: self.maybe(Random::number),
            reasoning_tokens: self.maybe(Random::number),
            witnesses: self.ids(),
        }
    }

    fn edge(&mut self) -> EdgeRow {
        EdgeRow {
            from_id: self.id(),
            to_id: self.id(),
            kind: self.text(),
            rule: self.text(),
            confidence: self.count(),
            tool_use_id: self.text(),
            is_error: self.yes(),
            evidence: self.ids(),
        }
    }

    pub(crate) fn commit(&mut self, version: u64) -> Commit {
        let mut sessions: Vec<Id> = self.many(Random::id);
        sessions.sort_unstable();
        sessions.dedup();
        // A session is not both there and gone in one commit.
        let gone = self.ids().into_iter().filter(|id| !sessions.contains(id)).collect();
        let mut commit = Commit {
            version,
            through: self.below(20),
            sessions: sessions.into_iter().map(|id| self.facts(id)).collect(),
            gone,
            checkpoints: self.many(|random| Checkpoint {
                source: random.text(),
                offset: random.number(),
                fingerprint: random.text().into_bytes(),
            }),
            receipts: self.many(|random| SourceReceipt {
                source: random.text(),
                seen: random.count(),
                stored: random.count(),
                duplicate: random.count(),
                rejected: random.count(),
                last_ns: random.maybe(Random::number),
            }),
        };
        commit.checkpoints.sort_by(|a, b| a.source.cmp(&b.source));
        commit.checkpoints.dedup_by(|a, b| a.source == b.source);
        commit.receipts.sort_by(|a, b| a.source.cmp(&b.source));
        commit.receipts.dedup_by(|a, b| a.source == b.source);
        commit
    }

    pub(crate) fn question(&mut self) -> Question {
        let rarely = |random: &mut Random| random.below(5) == 0;
        let mut filter = Filter::default();
        for wanted in [
            &mut filter.title_contains,
            &mut filter.native_id,
            &mut filter.format,
            &mut filter.source,
            &mut filter.agent,
            &mut filter.model,
            &mut filter.cwd,
            &mut filter.status,
        ] {
            *wanted = rarely(self).then(|| self.text());
        }
        filter.since_ns = rarely(self).then(|| self.number());
        filter.until_ns = rarely(self).then(|| self.number());
        filter.with_errors = rarely(self);
        filter.with_issues = rarely(self);
        filter.with_gaps = rarely(self);
        filter.least_cost_nano_usd = rarely(self).then(|| self.number());
        filter.among = rarely(self).then(|| Arc::new((0..self.below(6)).map(|_| self.id()).collect()));
        Question {
            filter,
            sort: self.pick(&Sort::ALL),
            descending: self.yes(),
            after: None,
            limit: usize::try_from(self.below(4)).unwrap(),
        }
    }
}
