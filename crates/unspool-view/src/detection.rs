//! Per format: how many streams were read as it, which other formats claimed them too, and what could not be linked.
//!
//! In: the claims noted while reading, and flows one by one. Out: one row per format. A format that drifts shows here
//! first: others begin to claim its streams, or its agents stop being linked.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unspool_model::{Batch, Code, Flow, RecordIx, Sym};

/// One format as it was met.
#[derive(Serialize, JsonSchema)]
pub struct FormatDoc {
    /// Its id; null for streams that no format recognised.
    pub format: Option<String>,
    /// Streams it had the best claim to.
    pub streams: u64,
    /// Formats that had the next claim to some of them. None is best.
    pub rivals: Vec<RivalDoc>,
    /// Sub-agents it witnesses, without internal ones.
    pub subagents: u64,
    /// Those whose spawn was not found.
    pub unlinked_subagents: u64,
    /// Calls that start agents.
    pub spawns: u64,
    /// Those for which no agent was found.
    pub unlinked_spawns: u64,
    /// The share of both together that is not linked; null when there are none.
    pub unlinked_share: Option<f64>,
}

/// A format that claimed streams of another.
#[derive(Serialize, JsonSchema)]
pub struct RivalDoc {
    /// Its id.
    pub format: String,
    /// Streams it had the next claim to.
    pub streams: u64,
    /// Its greatest claim to any of them, of 100.
    pub score: u8,
    /// The least by which it lost.
    pub margin: u8,
}

#[derive(Default)]
struct Row {
    streams: u64,
    rivals: BTreeMap<String, RivalDoc>,
    agents: [u64; 2],
    spawns: [u64; 2],
}

/// What could not be linked, by the format that witnesses it.
#[derive(Default)]
pub(crate) struct Linking {
    rows: BTreeMap<String, Row>,
}

impl Linking {
    /// Takes one session in.
    pub(crate) fn add(&mut self, flow: &Flow, batch: &Batch) {
        let format =
            |record: Option<RecordIx>| record.map_or(Sym::EMPTY, |record| batch.stream_of(record).format);
        let of_step = |step: u32| {
            let step = flow.steps.get(step as usize);
            format(step.and_then(|step| flow.witnesses_of(step).first().copied()))
        };
        let mut linked: BTreeSet<u32> = BTreeSet::new();
        for agent in &flow.agents {
            if !agent.main && !agent.internal {
                let row = self.row(batch, of_step(agent.first_step));
                row.agents[0] += 1;
                row.agents[1] += u64::from(agent.spawn.is_none());
            }
            // One call may start many agents.
            if let Some(spawn) = agent.spawn.filter(|spawn| linked.insert(spawn.step)) {
                self.row(batch, of_step(spawn.step)).spawns[0] += 1;
            }
        }
        for issue in flow.issues.iter().filter(|issue| issue.code == Code::SpawnUnlinked) {
            let row = self.row(batch, format(issue.records.first().copied()));
            row.spawns[0] += issue.count;
            row.spawns[1] += issue.count;
        }
    }

    fn row(&mut self, batch: &Batch, format: Sym) -> &mut Row {
        self.rows.entry(batch.text.get(format).to_string()).or_default()
    }

    /// The rows, in order of their formats; what nobody recognised comes first.
    pub(crate) fn finish(mut self, batch: &Batch) -> Vec<FormatDoc> {
        for claim in &batch.claims {
            let row = self.row(batch, claim.format);
            row.streams += 1;
            let Some(rival) = claim.rival.some() else { continue };
            let name = batch.text.get(rival);
            let margin = claim.score.saturating_sub(claim.rival_score);
            let entry = row.rivals.entry(name.to_string()).or_insert_with(|| RivalDoc {
                format: name.to_string(),
                streams: 0,
                score: 0,
                margin,
            });
            entry.streams += 1;
            entry.score = entry.score.max(claim.rival_score);
            entry.margin = entry.margin.min(margin);
        }
        self.rows.into_iter().map(|(format, row)| row.doc(format)).collect()
    }
}

impl Row {
    fn doc(self, format: String) -> FormatDoc {
        let [subagents, unlinked_subagents] = self.agents;
        let [spawns, unlinked_spawns] = self.spawns;
        FormatDoc {
            format: (!format.is_empty()).then_some(format),
            streams: self.streams,
            rivals: self.rivals.into_values().collect(),
            subagents,
            unlinked_subagents,
            spawns,
            unlinked_spawns,
            unlinked_share: share(unlinked_subagents + unlinked_spawns, subagents + spawns),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of counts that are far below 2^52")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::Linking;
    use unspool_model::{Batch, Claim};

    #[test]
    fn rivals_are_counted_with_their_narrowest_defeat() {
        let mut batch = Batch::default();
        let [a, b] = ["a", "b"].map(|name| batch.text.intern(name));
        let claim = |score, rival, rival_score| Claim { format: a, score, rival, rival_score };
        batch.claims = vec![
            claim(90, b, 80),
            claim(95, b, 40),
            claim(95, unspool_model::Sym::default(), 0),
            Claim::default(),
        ];
        let rows = Linking::default().finish(&batch);
        assert_eq!((rows[0].format.as_deref(), rows[0].streams), (None, 1), "nobody's stream");
        let [rival] = rows[1].rivals.as_slice() else { panic!("one rival") };
        assert_eq!((rows[1].streams, rival.streams, rival.score, rival.margin), (3, 2, 80, 10));
        assert_eq!(rows[1].unlinked_share, None);
    }
}
