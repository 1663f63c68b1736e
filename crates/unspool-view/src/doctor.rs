//! What drifted: what could not be read or linked, what is unknown, and the line of configuration that would mend it.
//!
//! In: flows, one by one, and which tools are known. Out: the report, for people and programs alike. Never here: a
//! terminal, a configuration file, a second linking.

use crate::detection::{FormatDoc, Linking};
use crate::flow_json::{CountsDoc, detail_of};
use crate::prices::Prices;
use crate::stats::{Stats, UNNAMED};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unspool_model::{Batch, Code, Flow, Issue, RecordIx, StepKind, Witness};

/// What `unspool doctor --json` writes.
#[derive(Serialize, JsonSchema)]
pub struct DoctorDoc {
    /// Always `unspool.doctor/1`.
    pub schema: &'static str,
    /// What became of the records.
    pub counts: CountsDoc,
    /// Sessions looked at.
    pub sessions: usize,
    /// Sub-agents, without internal ones.
    pub subagents: usize,
    /// Sub-agents whose spawn is named by explicit ids.
    pub linked_by_id: usize,
    /// Sub-agents whose spawn was inferred.
    pub linked_by_inference: usize,
    /// Sub-agents whose spawn was not found.
    pub unlinked: usize,
    /// What was read as which format, who else claimed it, and how much of it could not be linked.
    pub formats: Vec<FormatDoc>,
    /// What was odd, errors first.
    pub findings: Vec<FindingDoc>,
}

/// One kind of oddity, over everything.
#[derive(Serialize, JsonSchema)]
pub struct FindingDoc {
    /// Stable name; docs/issues.md has them all.
    pub code: &'static str,
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// How often in all.
    pub count: u64,
    /// What the code means.
    pub sentence: &'static str,
    /// What it is about, most frequent first.
    pub details: Vec<DetailDoc>,
    /// What to write into the configuration file; null when nothing there would help.
    pub fix: Option<String>,
}

/// One thing a finding is about.
#[derive(Serialize, JsonSchema)]
pub struct DetailDoc {
    /// What, or the code's sentence when there is nothing more to say.
    pub detail: String,
    /// How often.
    pub count: u64,
    /// The first place it was seen in, as `record 3 of FILE`, where records tell; null else.
    pub place: Option<String>,
}

/// Examines flows one by one, so that none need be kept.
#[derive(Default)]
pub struct Doctor {
    stats: Stats,
    sessions: usize,
    subagents: usize,
    linked_by_id: usize,
    linked_by_inference: usize,
    linking: Linking,
    /// Tools that a client has, by its own words. What a program brings to its traces and requests may bear any name.
    of_clients: BTreeSet<String>,
}

impl Doctor {
    /// Takes one session in.
    pub fn add(&mut self, flow: &Flow, batch: &Batch, prices: &Prices) {
        self.sessions += 1;
        for agent in flow.agents.iter().filter(|agent| !agent.main && !agent.internal) {
            self.subagents += 1;
            match agent.spawn {
                Some(spawn) if spawn.is_inferred() => self.linked_by_inference += 1,
                Some(_) => self.linked_by_id += 1,
                None => {}
            }
        }
        for step in flow.steps.iter().filter(|step| step.kind == StepKind::ToolCall) {
            let of_client = |record: &RecordIx| {
                matches!(batch.stream_of(*record).witness, Witness::Transcript | Witness::Notice)
            };
            let name = step.name.some().map_or(UNNAMED, |name| batch.text.get(name));
            if !self.of_clients.contains(name) && flow.witnesses_of(step).iter().any(of_client) {
                self.of_clients.insert(name.to_string());
            }
        }
        self.linking.add(flow, batch);
        self.stats.add(flow, batch, prices);
    }

    /// Takes an issue in that belongs to no session.
    pub fn issue(&mut self, issue: &Issue, batch: &Batch) {
        self.stats.issue(issue, batch);
    }

    /// The report; `known_tool` says which tools need no mention.
    pub fn finish(self, counts: CountsDoc, batch: &Batch, known_tool: impl Fn(&str) -> bool) -> DoctorDoc {
        let mut by_code: BTreeMap<Code, Vec<DetailDoc>> = BTreeMap::new();
        let mut note = |code: Code, detail: &str, count: u64, place: Option<String>| {
            by_code.entry(code).or_default().push(DetailDoc { detail: detail.into(), count, place });
        };
        for issue in self.stats.issues() {
            let place = issue.records.first().map(|record| place_of(*record, batch));
            note(issue.code, &detail_of(issue, batch), issue.count, place);
        }
        for (model, unpriced_calls) in self.stats.unpriced_models() {
            note(Code::UnknownModel, model, unpriced_calls, None);
        }
        let is_drift = |tool: &str| self.of_clients.contains(tool) && !known_tool(tool);
        for (tool, calls) in self.stats.tools().filter(|(tool, _)| is_drift(tool)) {
            note(Code::UnknownTool, tool, calls, None);
        }
        let first_day = self.stats.first_day().unwrap_or("2025-01-01");
        let mut codes: Vec<(Code, Vec<DetailDoc>)> = by_code.into_iter().collect();
        codes.sort_by_key(|(code, _)| code.severity());
        DoctorDoc {
            schema: "unspool.doctor/1",
            counts,
            sessions: self.sessions,
            subagents: self.subagents,
            linked_by_id: self.linked_by_id,
            linked_by_inference: self.linked_by_inference,
            unlinked: self.subagents - self.linked_by_id - self.linked_by_inference,
            formats: self.linking.finish(batch),
            findings: codes.into_iter().map(|(code, details)| finding(code, details, first_day)).collect(),
        }
    }
}

/// Where a record lies, in the words of `explain`.
fn place_of(record: RecordIx, batch: &Batch) -> String {
    let ordinal = batch.records.get(record as usize).map_or(0, |row| row.ordinal);
    format!("record {ordinal} of {}", batch.text.get(batch.stream_of(record).name))
}

fn finding(code: Code, mut details: Vec<DetailDoc>, first_day: &str) -> FindingDoc {
    details.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.detail.cmp(&b.detail)));
    FindingDoc {
        code: code.name(),
        severity: code.severity().name(),
        count: details.iter().map(|detail| detail.count).sum(),
        sentence: code.sentence(),
        fix: fix(code, &details, first_day),
        details,
    }
}

/// The lines that would mend it, in the words of the configuration file.
fn fix(code: Code, details: &[DetailDoc], first_day: &str) -> Option<String> {
    let names = || {
        let named = details.iter().filter(|detail| detail.detail != UNNAMED);
        let quoted: Vec<String> = named.map(|detail| quoted(&detail.detail)).collect();
        quoted.join(", ")
    };
    match code {
        Code::SpawnToolUnknown => Some(format!("extra_spawn_tools = [{}]", names())),
        // A call whose model nobody names cannot be given a price.
        Code::UnknownModel if names().is_empty() => None,
        Code::UnknownModel => Some(format!(
            "[[price]]\nmodels = [{}]\nfrom = \"{first_day}\"\ninput = \"…\"\noutput = \"…\"\ncache_read = \"…\"\ncache_write = \"…\"",
            names()
        )),
        Code::SpawnGroupTooLarge => Some("max_joint_assignment = 1000".into()),
        _ => None,
    }
}

/// A TOML string, whatever a record called its tool or model: JSON's escapes are TOML's too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Code, DetailDoc, Doctor, finding};
    use crate::flow_json::CountsDoc;
    use crate::prices::Prices;
    use unspool_model::flow::Spawn;
    use unspool_model::{Agent, Batch, Confidence, Flow, Issue, Rule, Sym};

    const COUNTS: CountsDoc = CountsDoc { records: 0, stored: 0, duplicate: 0, rejected: 0 };

    fn detail(detail: &str, count: u64) -> DetailDoc {
        DetailDoc { detail: detail.into(), count, place: None }
    }

    #[test]
    fn nothing_is_odd_about_nothing() {
        let doc = Doctor::default().finish(COUNTS, &Batch::default(), |_| true);
        assert!(doc.findings.is_empty());
        assert_eq!((doc.sessions, doc.subagents, doc.unlinked), (0, 0, 0));
    }

    #[test]
    fn agents_are_counted_by_how_they_are_linked_and_errors_come_first() {
        let by = |rule| Some(Spawn { step: 0, tool_use_id: Sym::EMPTY, rule, confidence: Confidence::EXACT });
        let rule = |inferred| *Rule::ALL.iter().find(|rule| rule.inferred() == inferred).unwrap();
        let agent = |spawn| Agent { spawn, ..Agent::default() };
        let issue = |code| Issue { code, detail: Sym::EMPTY, count: 2, records: Vec::new() };
        let flow = Flow {
            agents: vec![
                Agent { main: true, ..Agent::default() },
                Agent { internal: true, ..Agent::default() },
                agent(by(rule(false))),
                agent(by(rule(true))),
                agent(None),
            ],
            issues: vec![issue(Code::AgentInternal)],
            ..Flow::default()
        };
        let batch = Batch::default();
        let mut doctor = Doctor::default();
        doctor.add(&flow, &batch, &Prices::default());
        doctor.issue(&issue(Code::UnreadableFile), &batch);
        let doc = doctor.finish(COUNTS, &batch, |_| true);
        assert_eq!((doc.sessions, doc.subagents), (1, 3));
        assert_eq!((doc.linked_by_id, doc.linked_by_inference, doc.unlinked), (1, 1, 1));
        let codes: Vec<&str> = doc.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["unreadable_file", "agent_internal"]);
        assert_eq!(doc.findings[0].count, 2);
    }

    #[test]
    fn the_fix_is_a_line_of_configuration_whatever_the_names() {
        let doc = finding(Code::SpawnToolUnknown, vec![detail("B", 1), detail("a\"b", 3)], "2026-01-01");
        assert_eq!(doc.count, 4);
        let fix: toml::Table = doc.fix.unwrap().parse().unwrap();
        assert_eq!(fix["extra_spawn_tools"].as_array().unwrap().len(), 2);
        assert_eq!(fix["extra_spawn_tools"][0].as_str(), Some("a\"b"), "the most frequent first");
    }

    #[test]
    fn no_price_is_asked_for_a_model_without_a_name() {
        let doc = finding(Code::UnknownModel, vec![detail("(unnamed)", 5), detail("m-1", 1)], "2026-01-01");
        let fix: toml::Table = doc.fix.unwrap().parse().unwrap();
        assert_eq!(fix["price"][0]["models"].as_array().unwrap().len(), 1);
        assert!(finding(Code::UnknownModel, vec![detail("(unnamed)", 5)], "2026-01-01").fix.is_none());
    }
}
