//! What people said about links, and how something new is said: checked against the flow, and turned into the record that will be kept.

use super::brief::{StepBriefDoc, step_brief};
use crate::flow_json::{LinkDoc, link_doc};
use crate::labels::step_name;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use unspool_model::flow::NONE;
use unspool_model::{
    Batch, Confidence, DeclaredLink, Edge, EdgeKind, Flow, Id, LinkStanding, Role, Rule, StepKind, Sym,
    Timestamp, Verdict, Witness,
};

/// Bytes of a name or note that are kept: `max_link_text_bytes`.
pub const MAX_LINK_TEXT_BYTES: usize = 2000;

/// Steps of a circle that are named.
const MAX_CIRCLE_STEPS: usize = 8;

/// What people said about the links of a session.
#[derive(Serialize, JsonSchema)]
pub struct LinksDoc {
    /// The session.
    pub session_id: String,
    /// In the order they were said; all of them, also those that something later took the place of.
    pub links: Vec<SaidDoc>,
}

/// What somebody said about a link.
#[derive(Serialize, JsonSchema)]
pub struct SaidDoc {
    /// What was said.
    #[serde(flatten)]
    pub link: LinkDoc,
    /// The cause, if it is there.
    pub from_step: Option<StepBriefDoc>,
    /// The effect, if it is there; of an agent, its first step.
    pub to_step: Option<StepBriefDoc>,
    /// It counts, and can be taken back.
    pub can_remove: bool,
}

/// All that was said about the links of a session.
pub fn links(flow: &Flow, batch: &Batch) -> LinksDoc {
    LinksDoc {
        session_id: flow.session.id.show('x'),
        links: flow.links.iter().map(|link| said(flow, batch, link)).collect(),
    }
}

/// What somebody said, with both ends.
pub fn said(flow: &Flow, batch: &Batch, link: &DeclaredLink) -> SaidDoc {
    SaidDoc {
        link: link_doc(flow, batch, link),
        from_step: step_brief(flow, batch, link.from_step),
        to_step: step_brief(flow, batch, link.to_step),
        can_remove: can_remove(link),
    }
}

fn can_remove(link: &DeclaredLink) -> bool {
    link.standing != LinkStanding::Superseded && link.verdict != Verdict::Remove
}

/// What counts of an edge that was spoken of.
pub(super) fn said_of<'f>(flow: &'f Flow, edge: &Edge) -> Option<&'f DeclaredLink> {
    let mut counts = flow.links.iter().filter(|link| link.standing == LinkStanding::Counts);
    counts.rfind(|link| link.is_about(edge.from, edge.to, edge.kind) && link.verdict != Verdict::Remove)
}

/// Something that somebody wants to say about a link.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// What.
    pub verdict: Verdict,
    /// The cause: an id of a step or agent, of ours or its source's, or `#` and a step's position.
    pub from: &'a str,
    /// The effect.
    pub to: &'a str,
    /// What relation, in a word of [`kind_of`]; where only one can be meant, it can be left out.
    pub kind: Option<&'a str>,
    /// Who says so.
    pub who: &'a str,
    /// What they note.
    pub note: &'a str,
}

/// Why something cannot be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable name.
    pub code: &'static str,
    /// In one sentence.
    pub message: String,
    /// What can be done.
    pub hint: String,
}

fn refuse<T>(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { code, message: message.into(), hint: hint.into() })
}

/// Short words for the kinds that people add most.
const SHORT_KINDS: [(&str, EdgeKind); 4] = [
    ("spawn", EdgeKind::SubagentSpawn),
    ("return", EdgeKind::SubagentReturn),
    ("result", EdgeKind::ToolResult),
    ("data", EdgeKind::ContentReuse),
];

/// The relation a word means.
pub fn kind_of(word: &str) -> Option<EdgeKind> {
    let short = SHORT_KINDS.iter().find(|(short, _)| *short == word).map(|(_, kind)| *kind);
    short.or_else(|| EdgeKind::ALL.into_iter().find(|kind| kind.name() == word))
}

/// The kinds of links that can be spoken of.
pub fn kinds() -> Vec<&'static str> {
    EdgeKind::ALL.into_iter().filter(|kind| kind.can_be_declared()).map(EdgeKind::name).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Step(u32),
    Agent(u32),
}

/// Checks what somebody wants to say, and gives the record that says it: one line, later than everything said before.
pub fn declare(flow: &Flow, batch: &Batch, wanted: &Wanted<'_>, now: Timestamp) -> Result<String, Refusal> {
    check_texts(wanted)?;
    if batch.given.sessions.iter().any(|given| given.flow.session.id == flow.session.id) {
        let hint = "say it where its records are, and export it again";
        return refuse(
            "session_came_linked",
            "this session came linked, as an export; it is shown as it came",
            hint,
        );
    }
    let say = Saying { flow, batch };
    let (cause, effect) = (say.end(wanted.from)?, say.end(wanted.to)?);
    let kind = say.kind(wanted, cause, effect)?;
    if let (EdgeKind::SubagentSpawn, End::Agent(_)) = (kind, cause) {
        let message = format!("`{}` is an agent, and a step starts another", wanted.from);
        return refuse("step_needed", message, "name the step that started it, best the tool call");
    }
    let pair = say.pair(kind, cause, effect);
    let was = say.check(wanted, kind, pair)?;
    let effect = if kind == EdgeKind::SubagentSpawn { End::Agent(say.agent(effect)) } else { effect };
    Ok(say.line(wanted, kind, (&say.name(cause), &say.name(effect)), pair, was, now))
}

/// The record that takes back what a record said, whether or not its ends are there.
pub fn take_back(flow: &Flow, batch: &Batch, said: Id, who: &str, now: Timestamp) -> Result<String, Refusal> {
    let is_it = |link: &&DeclaredLink| {
        batch.records.get(link.record as usize).is_some_and(|record| record.id == said)
    };
    let Some(link) = flow.links.iter().find(is_it) else {
        let message = format!("there is no link `{}`", said.show('r'));
        return refuse("no_such_link", message, "the session's `links` lists what was said, with ids");
    };
    if !can_remove(link) {
        return refuse(
            "superseded",
            "something was said later, or it was taken back already",
            "look at the last one",
        );
    }
    let say = Saying { flow, batch };
    let pair = (link.from_step, link.to_step);
    let wanted = Wanted {
        verdict: Verdict::Remove,
        from: say.text(link.from),
        to: say.text(link.to),
        kind: None,
        who,
        note: "",
    };
    check_texts(&wanted)?;
    Ok(say.line(&wanted, link.kind, (say.text(link.from), say.text(link.to)), pair, None, now))
}

fn check_texts(wanted: &Wanted<'_>) -> Result<(), Refusal> {
    for (name, text) in [("who", wanted.who), ("note", wanted.note)] {
        if text.len() > MAX_LINK_TEXT_BYTES {
            let length = text.len();
            let message = format!(
                "`{name}` has {length} bytes, more than `max_link_text_bytes` ({MAX_LINK_TEXT_BYTES})"
            );
            return refuse("link_text_too_long", message, "say it in fewer words");
        }
    }
    Ok(())
}

struct Saying<'a> {
    flow: &'a Flow,
    batch: &'a Batch,
}

impl<'a> Saying<'a> {
    /// The record that says it: one line, later than everything said before.
    fn line(
        &self,
        wanted: &Wanted<'_>,
        kind: EdgeKind,
        (from, to): (&str, &str),
        pair: (u32, u32),
        was: Option<(Rule, Confidence)>,
        now: Timestamp,
    ) -> String {
        let last = self.flow.links.last().map(|link| link.at.plus_ms(1)).unwrap_or_default();
        let mut line = json!({
            "unspool": "link",
            "at": now.later(last).to_string(),
            "session": self.session(pair.0),
            "action": wanted.verdict.name(),
            "from": from,
            "to": to,
            "kind": kind.name(),
        });
        for (name, text) in [("who", wanted.who), ("note", wanted.note), ("message", self.message(pair))] {
            if !text.is_empty() {
                line[name] = text.into();
            }
        }
        if let Some((rule, confidence)) = was {
            line["was"] = json!({"rule": rule.name(), "confidence": confidence.as_f64()});
        }
        format!("{line}\n")
    }

    fn text(&self, sym: Sym) -> &'a str {
        self.batch.text.get(sym)
    }

    fn end(&self, name: &str) -> Result<End, Refusal> {
        let (steps, agents) = (&self.flow.steps, &self.flow.agents);
        let step = |n: usize| End::Step(index(n));
        let by_place = name.strip_prefix('#').and_then(|n| n.parse::<usize>().ok());
        if let Some(n) = by_place.filter(|n| *n < steps.len()) {
            return Ok(step(n));
        }
        if let Some(n) = Id::parse(name, 's').and_then(|id| steps.iter().position(|step| step.id == id)) {
            return Ok(step(n));
        }
        if let Some(n) = Id::parse(name, 'a').and_then(|id| agents.iter().position(|agent| agent.id == id)) {
            return Ok(End::Agent(index(n)));
        }
        let is_named = |sym: Sym| !sym.is_empty() && self.text(sym) == name;
        let of_step = |one: &unspool_model::Step| is_named(one.tool_use_id) || is_named(one.message_id);
        let found = (0..steps.len()).filter(|n| of_step(&steps[*n])).map(step);
        let named =
            (0..agents.len()).filter(|n| is_named(agents[*n].native_id)).map(|n| End::Agent(index(n)));
        match found.chain(named).collect::<Vec<_>>().as_slice() {
            [one] => Ok(*one),
            [] => refuse(
                "no_such_end",
                format!("there is no step or agent `{name}` in this session"),
                "name an id that its tree or `unspool show` has; links lie within one session",
            ),
            several => refuse(
                "ambiguous_end",
                format!("`{name}` may mean {} steps and agents", several.len()),
                "use the id of the one that is meant, `s…` or `a…`",
            ),
        }
    }

    fn agent(&self, end: End) -> u32 {
        match end {
            End::Agent(agent) => agent,
            End::Step(step) => self.flow.steps[step as usize].agent,
        }
    }

    /// The steps of an edge between two ends.
    fn pair(&self, kind: EdgeKind, cause: End, effect: End) -> (u32, u32) {
        let agent = |n: u32| &self.flow.agents[n as usize];
        let from = match cause {
            End::Step(step) => step,
            End::Agent(n) => agent(n).last_step,
        };
        let to = match effect {
            End::Step(step) if kind != EdgeKind::SubagentSpawn => step,
            _ => agent(self.agent(effect)).first_step,
        };
        (from, to)
    }

    /// What relation is meant: the one that was named, or the only one there is.
    fn kind(&self, wanted: &Wanted<'_>, cause: End, effect: End) -> Result<EdgeKind, Refusal> {
        let all = || format!("the kinds are {}", kinds().join(", "));
        let Some(word) = wanted.kind.filter(|word| !word.is_empty()) else {
            let mut known: Vec<EdgeKind> =
                EdgeKind::ALL.into_iter().filter(|kind| kind.can_be_declared()).collect();
            known.retain(|kind| {
                let (from, to) = self.pair(*kind, cause, effect);
                let is_said = |link: &DeclaredLink| can_remove(link) && link.is_about(from, to, *kind);
                match wanted.verdict {
                    Verdict::Add => false,
                    Verdict::Remove => self.flow.links.iter().any(is_said),
                    Verdict::Confirm | Verdict::Deny => self.edge(*kind, (from, to)).is_some(),
                }
            });
            return match known.as_slice() {
                [only] => Ok(*only),
                [] if wanted.verdict != Verdict::Add => no_such(wanted),
                _ => refuse(
                    "kind_needed",
                    "it is not clear which relation is meant",
                    format!("give a kind: {}", all()),
                ),
            };
        };
        match kind_of(word) {
            Some(kind) if kind.can_be_declared() => Ok(kind),
            Some(kind) => refuse(
                "kind_is_stated",
                format!("`{}` is how the source is written; nobody has to guess it", kind.name()),
                all(),
            ),
            None => refuse("unknown_kind", format!("there is no kind of link called `{word}`"), all()),
        }
    }

    fn edge(&self, kind: EdgeKind, (from, to): (u32, u32)) -> Option<&'a Edge> {
        self.flow.edges.iter().find(|edge| (edge.from, edge.to, edge.kind) == (from, to, kind))
    }

    /// Whether that can be said; and what the rules say of it now.
    fn check(
        &self,
        wanted: &Wanted<'_>,
        kind: EdgeKind,
        pair: (u32, u32),
    ) -> Result<Option<(Rule, Confidence)>, Refusal> {
        let edge = self.edge(kind, pair);
        let of_rules = edge.filter(|edge| edge.rule != Rule::Manual).map(|edge| (edge.rule, edge.confidence));
        let before =
            self.flow.links.iter().rfind(|link| can_remove(link) && link.is_about(pair.0, pair.1, kind));
        // What the rules said when somebody spoke first is what they would say.
        let was = of_rules.or_else(|| before.and_then(|link| link.was));
        match (wanted.verdict, edge, before) {
            (Verdict::Remove, _, None) => refuse(
                "nothing_said",
                format!("nobody said anything about this link from `{}` to `{}`", wanted.from, wanted.to),
                "the session's `links` lists what was said",
            ),
            (Verdict::Confirm | Verdict::Add, Some(edge), _) if edge.rule == Rule::Manual => {
                refuse("already_said", "somebody said so already", "there is nothing to do")
            }
            (Verdict::Add, Some(edge), _) => refuse(
                "already_there",
                format!("the link is there, by the rule {}", edge.rule.name()),
                "confirm it instead",
            ),
            (Verdict::Deny, None, Some(link)) if link.verdict == Verdict::Deny => {
                refuse("already_said", "somebody denied it already", "there is nothing to do")
            }
            (Verdict::Confirm | Verdict::Deny, None, None) => no_such(wanted),
            (Verdict::Add | Verdict::Confirm, None, _) => self.without_circle(kind, pair).map(|()| was),
            _ => Ok(was),
        }
    }

    /// A cause comes before its effect: refuses a link whose effect leads to its cause, and shows how.
    fn without_circle(&self, kind: EdgeKind, (from, to): (u32, u32)) -> Result<(), Refusal> {
        let agent = self.flow.steps.get(to as usize).map_or(NONE, |step| step.agent);
        let of_agent = |n: u32| self.flow.steps.get(n as usize).is_some_and(|step| step.agent == agent);
        // The start that the agent has now would go, and with it what it gave back.
        let goes = |edge: &Edge| {
            kind == EdgeKind::SubagentSpawn
                && ((edge.kind == EdgeKind::SubagentSpawn && edge.to == to)
                    || (edge.kind == EdgeKind::SubagentReturn && of_agent(edge.from)))
        };
        let mut next: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for edge in self.flow.edges.iter().filter(|edge| !goes(edge)) {
            next.entry(edge.from).or_default().push(edge.to);
        }
        let mut came: FxHashMap<u32, u32> = FxHashMap::from_iter([(to, NONE)]);
        let mut open = std::collections::VecDeque::from([to]);
        while let Some(at) = open.pop_front() {
            if at == from {
                return Err(self.circle(&came, from));
            }
            for after in next.get(&at).into_iter().flatten() {
                came.entry(*after).or_insert_with(|| {
                    open.push_back(*after);
                    at
                });
            }
        }
        Ok(())
    }

    fn circle(&self, came: &FxHashMap<u32, u32>, end: u32) -> Refusal {
        let mut steps = vec![end];
        while let Some(before) = came.get(&steps[steps.len() - 1]).filter(|before| **before != NONE) {
            steps.push(*before);
        }
        steps.reverse();
        let name = |n: &u32| {
            let step = self.flow.steps.get(*n as usize);
            step.map_or_else(String::new, |step| format!("{} #{n}", step_name(self.batch, step)))
        };
        let first = name(&steps[0]);
        let mut names: Vec<String> = steps.iter().map(name).collect();
        if names.len() > MAX_CIRCLE_STEPS {
            let left_out = names.len() - MAX_CIRCLE_STEPS;
            let half = MAX_CIRCLE_STEPS / 2;
            names.splice(half..half + left_out, [format!("{left_out} more")]);
        }
        names.push(first);
        Refusal {
            code: "circle",
            message: format!("that would make a circle: {}", names.join(" → ")),
            hint: "a cause comes before its effect; was the other direction meant?".into(),
        }
    }

    /// What an end is called in the record: what its source calls it where that is clear, because it outlasts everything else.
    fn name(&self, end: End) -> String {
        let (steps, agents) = (&self.flow.steps, &self.flow.agents);
        let is_clear = |sym: Sym| {
            let of_steps =
                steps.iter().filter(|step| step.tool_use_id == sym || step.message_id == sym).count();
            !sym.is_empty() && of_steps + agents.iter().filter(|agent| agent.native_id == sym).count() == 1
        };
        match end {
            End::Step(n) => {
                let step = &steps[n as usize];
                let native =
                    if step.kind == StepKind::ModelCall { step.message_id } else { step.tool_use_id };
                if is_clear(native) { self.text(native).into() } else { step.id.show('s') }
            }
            End::Agent(n) => {
                let agent = &agents[n as usize];
                if is_clear(agent.native_id) { self.text(agent.native_id).into() } else { agent.id.show('a') }
            }
        }
    }

    /// The native session of a step: the one its first record names, else the first of all.
    fn session(&self, step: u32) -> &'a str {
        let natives = &self.flow.session.native_ids;
        let step = self.flow.steps.get(step as usize);
        let record = step.and_then(|step| self.flow.witnesses_of(step).first().copied());
        let head = record.and_then(|record| self.batch.events_of(record).first());
        let named = head.and_then(|head| self.batch.key(head, unspool_model::KeyKind::Session, Role::Refers));
        let native = named.filter(|named| natives.contains(named)).or(natives.first().copied());
        native.map_or("", |native| self.text(native))
    }

    /// Recorded traffic may name no session: a message that was seen on the wire says where the record belongs.
    fn message(&self, (from, to): (u32, u32)) -> &'a str {
        let steps = &self.flow.steps;
        let is_recorded = |step: &&unspool_model::Step| {
            let mut witnesses = self.flow.witnesses_of(step).iter();
            !step.message_id.is_empty()
                && witnesses.any(|record| self.batch.stream_of(*record).witness == Witness::Wire)
        };
        let near = [from, to].into_iter().filter_map(|n| steps.get(n as usize));
        near.chain(steps).find(is_recorded).map_or("", |step| self.text(step.message_id))
    }
}

fn no_such<T>(wanted: &Wanted<'_>) -> Result<T, Refusal> {
    let message = format!("there is no such link from `{}` to `{}`", wanted.from, wanted.to);
    refuse("no_such_link", message, "add it, with its kind")
}

fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(NONE)
}
