//! How much of the truth Unspool finds.
//!
//! In: files and what really happened. Out: counts of right, wrong and missed links, and for each rule how often
//! it was right. Everything runs in memory: bytes go through the formats and the linker, never through a file.

use crate::tree::Tree;
use crate::truth::{SessionTruth, Tokens};
use std::collections::BTreeMap;
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, claim};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Flow, StepKind, Timestamp};

/// What was found and what was not.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Agents linked to the call that started them.
    pub right: usize,
    /// Agents linked to another call.
    pub wrong: usize,
    /// Agents linked to none.
    pub missed: usize,
    /// Wrong links that claim to be certain.
    pub exact_wrong: usize,
    /// Right links at another depth than the true one.
    pub wrong_depth: usize,
    /// Internal agents that were given a parent.
    pub internal_parented: usize,
    /// Agents that do not exist.
    pub invented: usize,
    /// Sessions whose tokens are not the true ones.
    pub token_mismatches: usize,
    /// Sessions whose numbers of tool calls or results are not the true ones.
    pub count_mismatches: usize,
    /// Sessions that were found in several pieces or not at all.
    pub split_sessions: usize,
    /// Right and wrong links by rule and by confidence in ten-thousandths.
    pub rules: BTreeMap<(&'static str, u16), RuleScore>,
    /// What went wrong, in words.
    pub notes: Vec<String>,
}

/// How often a rule was right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleScore {
    /// Right links.
    pub right: usize,
    /// Wrong links.
    pub wrong: usize,
}

const MAX_NOTES: usize = 200;

impl Score {
    /// All agents that were really started.
    pub fn total(&self) -> usize {
        self.right + self.wrong + self.missed
    }

    /// Whether at least this share, in thousandths, is right.
    pub fn right_at_least(&self, thousandths: usize) -> bool {
        self.right * 1_000 >= self.total() * thousandths
    }

    /// Whether anything but links is off.
    pub fn is_sound(&self) -> bool {
        let off = self.exact_wrong + self.internal_parented + self.invented + self.token_mismatches;
        off + self.count_mismatches + self.wrong_depth == 0
    }

    /// Adds another score.
    pub fn add(&mut self, other: Score) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.missed += other.missed;
        self.exact_wrong += other.exact_wrong;
        self.wrong_depth += other.wrong_depth;
        self.internal_parented += other.internal_parented;
        self.invented += other.invented;
        self.token_mismatches += other.token_mismatches;
        self.count_mismatches += other.count_mismatches;
        self.split_sessions += other.split_sessions;
        for (key, rule) in other.rules {
            let sum = self.rules.entry(key).or_default();
            sum.right += rule.right;
            sum.wrong += rule.wrong;
        }
        let room = MAX_NOTES.saturating_sub(self.notes.len());
        self.notes.extend(other.notes.into_iter().take(room));
    }

    /// The rules as lines: name, confidence, right, wrong, share.
    pub fn rule_table(&self) -> String {
        let line = |((name, confidence), rule): (&(&'static str, u16), &RuleScore)| {
            let share = rule.right * 10_000 / (rule.right + rule.wrong).max(1);
            let fraction = |n: usize| format!("{}.{:04}", n / 10_000, n % 10_000);
            let confidence = fraction(usize::from(*confidence));
            format!(
                "{name:<24} {confidence} right {:>6} wrong {:>5} share {}\n",
                rule.right,
                rule.wrong,
                fraction(share)
            )
        };
        self.rules.iter().map(line).collect()
    }

    fn note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(text);
        }
    }
}

/// Reads a tree, handing each file over in chunks of this many bytes.
pub fn read(tree: &Tree, chunk: usize) -> Batch {
    let mut batch = Batch::default();
    for (name, bytes) in &tree.files {
        read_file(&mut batch, name, bytes, chunk);
    }
    batch
}

/// Reads one file into the batch.
pub(crate) fn read_file(batch: &mut Batch, name: &str, bytes: &[u8], chunk: usize) {
    let head = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let Some((format, sniff)) = claim(batch, name, head) else { return };
    let mut decoder = Decoder::new(batch, format, sniff, name, Detail::Full);
    for piece in bytes.chunks(chunk.max(1)) {
        decoder.push(piece);
    }
    decoder.finish();
}

/// Links a tree and compares what was found with the truth.
pub fn score(tree: &Tree, sessions: &[SessionTruth]) -> Score {
    let corpus = Corpus::new(read(tree, usize::MAX), Table::default(), Timestamp::NONE);
    let flows: Vec<Flow> = corpus.flows().collect();
    let mut score = Score::default();
    for session in sessions {
        score_session(&mut score, &corpus.batch, &flows, session);
    }
    score
}

fn score_session(score: &mut Score, batch: &Batch, flows: &[Flow], truth: &SessionTruth) {
    let text = |sym| batch.text.get(sym);
    let own: Vec<&Flow> = flows
        .iter()
        .filter(|flow| {
            flow.session.native_ids.iter().any(|id| truth.native_ids.iter().any(|own| own == text(*id)))
        })
        .collect();
    score.split_sessions += usize::from(own.len() != 1);
    let mut found = BTreeMap::new();
    for agent in own.iter().flat_map(|flow| &flow.agents) {
        found.insert(text(agent.native_id), agent);
    }
    for agent in &truth.agents {
        let id = agent.native_id.as_str();
        let known = found.remove(id);
        let spawn = known.and_then(|known| known.spawn);
        let (Some(known), Some(spawn)) = (known, spawn) else {
            if !agent.internal {
                score.missed += 1;
                score.note(format!("{id}: not linked, should be {}", agent.tool_use_id));
            }
            continue;
        };
        if agent.internal {
            score.internal_parented += 1;
            score.note(format!("{id}: internal, linked by {}", spawn.rule.name()));
            continue;
        }
        let right = text(spawn.tool_use_id) == agent.tool_use_id;
        let rule = score.rules.entry((spawn.rule.name(), spawn.confidence.ten_thousandths())).or_default();
        if right {
            rule.right += 1;
            score.right += 1;
            score.wrong_depth += usize::from(known.depth != agent.depth);
        } else {
            rule.wrong += 1;
            score.wrong += 1;
            score.exact_wrong += usize::from(!spawn.rule.inferred());
            let rule = spawn.rule.name();
            score.note(format!("{id}: {rule} says {}, not {}", text(spawn.tool_use_id), agent.tool_use_id));
        }
    }
    let invented: Vec<&str> = found.iter().filter(|(_, agent)| !agent.main).map(|(id, _)| *id).collect();
    score.invented += invented.len();
    if !invented.is_empty() {
        score.note(format!("invented: {invented:?}"));
    }
    score_numbers(score, &own, truth);
}

fn score_numbers(score: &mut Score, flows: &[&Flow], truth: &SessionTruth) {
    let mut tokens = Tokens::default();
    let (mut calls, mut results) = (0, 0);
    for (flow, step) in flows.iter().flat_map(|flow| flow.steps.iter().map(move |step| (flow, step))) {
        if let Some(usage) = flow.usage_of(step) {
            tokens.add(Tokens {
                input: usage.input,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                output: usage.output + usage.reasoning,
            });
        }
        if step.kind == StepKind::ToolCall {
            calls += 1;
            results += usize::from(!step.pending);
        }
    }
    if tokens != truth.tokens {
        score.token_mismatches += 1;
        score.note(format!("tokens {tokens:?}, not {:?}", truth.tokens));
    }
    if (calls, results) != (truth.tool_calls, truth.tool_results) {
        score.count_mismatches += 1;
        let (true_calls, true_results) = (truth.tool_calls, truth.tool_results);
        score.note(format!("{calls} calls and {results} results, not {true_calls} and {true_results}"));
    }
}
