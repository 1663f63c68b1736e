//! Recorded traffic that names no caller: whose is each request, and which call started each conversation?
//!
//! Labelled sessions become the log a proxy would have written, without any id of who calls, several sessions side by side.
//! The log is damaged in the ways logs are. A few seeds are checked; many are measured and printed:
//! `MEASURE_SEEDS=60 cargo test -p unspool-testkit --release --test traffic_linking what_is -- --nocapture`

#![expect(clippy::print_stdout, reason = "a measurement prints")]
#![expect(clippy::cast_precision_loss, reason = "shares of a few thousand links")]

use std::collections::{BTreeMap, BTreeSet};
use unspool_link::{Corpus, Table};
use unspool_model::{Outcome, StepKind, Timestamp};
use unspool_testkit::witness::{Callers, Exchange, exchanges};
use unspool_testkit::{
    Launch, Layout, Mode, Prompts, Random, Replay, Shape, Streaming, Tree, Types, generate, read,
};

/// Seeds per shape and damage.
const SEEDS: usize = 1;

/// Sessions that are recorded side by side.
const SIDE_BY_SIDE: u64 = 3;

/// What happened to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    None,
    /// A tenth of the lines was never written.
    Lost,
    /// Requests of at most two messages were filtered out.
    FirstsLost,
    /// Some lines stand twice.
    Repeated,
    /// The lines stand in any order.
    Shuffled,
}

const DAMAGES: [Damage; 5] =
    [Damage::None, Damage::Lost, Damage::FirstsLost, Damage::Repeated, Damage::Shuffled];

/// An exchange and the session and agent it really was of.
struct Told {
    exchange: Exchange,
    session: usize,
    agent: String,
}

/// What was found.
#[derive(Default, Clone)]
struct Found {
    /// Requests in the conversation they are of, in one of another, and in a piece of their own.
    placed: usize,
    mixed: usize,
    apart: usize,
    /// Sub-agents linked to the call that started them, to another, to none.
    right: usize,
    wrong: usize,
    missed: usize,
    exact_wrong: usize,
    /// Main conversations that something is said to have started.
    parented: usize,
    /// Agents without any request.
    invented: usize,
    tokens_off: usize,
    split: usize,
    /// Words of an answer in another's input that were really that sub-agent's answer, and those that were not.
    rules: BTreeMap<(&'static str, u16), (usize, usize)>,
    notes: Vec<String>,
}

impl Found {
    fn add(&mut self, other: Found) {
        for (sum, more) in [
            (&mut self.placed, other.placed),
            (&mut self.mixed, other.mixed),
            (&mut self.apart, other.apart),
            (&mut self.right, other.right),
            (&mut self.wrong, other.wrong),
            (&mut self.missed, other.missed),
            (&mut self.exact_wrong, other.exact_wrong),
            (&mut self.parented, other.parented),
            (&mut self.invented, other.invented),
            (&mut self.tokens_off, other.tokens_off),
            (&mut self.split, other.split),
        ] {
            *sum += more;
        }
        for (rule, (right, wrong)) in other.rules {
            let sum = self.rules.entry(rule).or_default();
            *sum = (sum.0 + right, sum.1 + wrong);
        }
        self.notes.extend(other.notes);
    }

    fn show(&self, title: &str) {
        let Found { placed, mixed, apart, right, wrong, missed, exact_wrong, .. } = self;
        let Found { parented, invented, tokens_off, split, .. } = self;
        println!(
            "{title:<58} requests {placed} mixed {mixed} apart {apart} | spawns {right} wrong {wrong} missed {missed} \
             exact-wrong {exact_wrong} parented {parented} | invented {invented} tokens {tokens_off} split {split}"
        );
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (layout, mode) in [
        (Layout::Flat, Mode::Sync),
        (Layout::Subagents, Mode::Sync),
        (Layout::SubagentsMeta, Mode::Sync),
        (Layout::SubagentsMeta, Mode::Async),
    ] {
        for depth in 1..=if layout == Layout::Flat { 1 } else { 3 } {
            for prompts in [Prompts::Distinct, Prompts::Same, Prompts::SameWithSameAnswer] {
                let width = if depth == 1 { 3 } else { 2 };
                shapes.push(Shape { layout, mode, depth, prompts, width, ..Shape::default() });
            }
        }
    }
    shapes
}

/// What the product leaves open, drawn by the seed.
fn varied(base: Shape, random: &mut Random) -> Shape {
    Shape {
        launch: [Launch::InOrder, Launch::Scattered][random.below(2)],
        streaming: [Streaming::Whole, Streaming::Split, Streaming::Interleaved][random.below(3)],
        replay: [Replay::None, Replay::None, Replay::Resume, Replay::Branch][random.below(4)],
        types: [Types::Same, Types::Mixed][random.below(2)],
        compaction: random.percent(30),
        internal: random.percent(30),
        errors: random.percent(30),
        retries: random.percent(25),
        ..base
    }
}

/// Sessions of one caller, recorded at the same time and damaged.
fn log(base: Shape, seed: u64, damage: Damage) -> (Vec<Told>, Vec<BTreeMap<String, String>>) {
    let mut random = Random::new(seed);
    let mut told = Vec::new();
    let mut started_by = Vec::new();
    for n in 0..SIDE_BY_SIDE {
        let shape = varied(base, &mut random);
        let labelled = generate(shape, seed * 10 + n);
        let agents = labelled.sessions.iter().flat_map(|session| &session.agents);
        started_by.push(
            agents
                .map(|agent| (agent.native_id.clone(), agent.tool_use_id.clone()))
                .collect::<BTreeMap<_, _>>(),
        );
        let own = exchanges(&labelled.tree, Callers::Unnamed);
        // Sessions of one caller overlap.
        let first = own.first().map(|exchange| exchange.asked).unwrap_or_default();
        let start = 1_772_442_000_000 + random.between(0, 120_000);
        for mut exchange in own {
            exchange.asked = Timestamp::from_ms(start + exchange.asked.ms_since(first).unwrap_or(0));
            exchange.entry["timestamp"] = exchange.asked.to_string().into();
            let agent = exchange.agent.clone().unwrap_or_default();
            told.push(Told { exchange, session: usize::try_from(n).unwrap_or(0), agent });
        }
    }
    told.sort_by_key(|told| told.exchange.asked);
    match damage {
        Damage::None => {}
        Damage::Lost => told.retain(|_| !random.percent(10)),
        Damage::FirstsLost => told.retain(|told| told.exchange.messages > 2),
        Damage::Repeated => {
            for n in 0..told.len() {
                if random.percent(20) {
                    let Told { exchange, session, agent } = &told[n];
                    told.push(Told { exchange: exchange.clone(), session: *session, agent: agent.clone() });
                }
            }
        }
        Damage::Shuffled => {
            for n in (1..told.len()).rev() {
                let other = random.below(n + 1);
                told.swap(n, other);
            }
        }
    }
    (told, started_by)
}

/// A session and an agent of it.
type Real<'t> = (usize, &'t str);

fn measure(base: Shape, seed: u64, damage: Damage) -> Found {
    let (told, started_by) = log(base, seed, damage);
    let lines = told.iter().map(|told| told.exchange.entry.to_string());
    let mut tree = Tree::default();
    tree.add_lines("requests.jsonl", lines);
    let corpus = Corpus::new(read(&tree, usize::MAX), Table::default(), Timestamp::NONE);
    let text = |sym| corpus.batch.text.get(sym);
    let mut found = Found::default();
    let note = |found: &mut Found, words: String| {
        found.notes.push(format!("{words} in seed {seed}, {damage:?} of {base:?}"));
    };

    // Whose each found agent's requests really are; who holds each real agent's.
    let mut holds: BTreeMap<(usize, usize), BTreeMap<Real<'_>, usize>> = BTreeMap::new();
    let mut held: BTreeMap<Real<'_>, BTreeMap<(usize, usize), usize>> = BTreeMap::new();
    let mut flows_of: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let (mut tokens, mut spent) = (0, 0);
    let mut real_of_step = BTreeMap::new();
    let flows: Vec<_> = corpus.flows().collect();
    for (f, flow) in flows.iter().enumerate() {
        for (n, step) in flow.steps.iter().enumerate() {
            tokens += flow.usage_of(step).map_or(0, |usage| usage.output + usage.reasoning);
            if step.kind != StepKind::ModelCall {
                continue;
            }
            let record = corpus.batch.records[flow.witnesses_of(step)[0] as usize];
            let line = &told[record.ordinal as usize];
            let real = (line.session, line.agent.as_str());
            let own = (f, step.agent as usize);
            real_of_step.insert((f, n), real);
            *holds.entry(own).or_default().entry(real).or_default() += 1;
            *held.entry(real).or_default().entry(own).or_default() += 1;
            flows_of.entry(line.session).or_default().insert(f);
        }
    }
    let stored = corpus.batch.records.iter().filter(|record| record.outcome == Outcome::Stored);
    for record in stored {
        let usage = &told[record.ordinal as usize].exchange.entry["response"]["body"]["usage"];
        spent += usage["output_tokens"].as_u64().unwrap_or(0);
    }
    found.tokens_off += usize::from(tokens != spent);
    if tokens != spent {
        note(&mut found, format!("{tokens} tokens, not {spent}"));
    }
    found.split += flows_of.values().filter(|flows| flows.len() != 1).count();
    for (session, flows) in flows_of.iter().filter(|(_, flows)| flows.len() != 1) {
        note(&mut found, format!("session {session} is in {} pieces", flows.len()));
    }

    let most = |counts: &BTreeMap<(usize, usize), usize>| {
        counts.iter().max_by_key(|(own, n)| (**n, std::cmp::Reverse(**own))).map(|(own, _)| *own)
    };
    for (real, owners) in &held {
        let home = most(owners);
        for (own, count) in owners {
            let others: usize = holds[own].iter().filter(|(other, _)| *other != real).map(|(_, n)| n).sum();
            if others > *count {
                found.mixed += count;
                note(&mut found, format!("{count} requests of {real:?} are with {:?}", holds[own]));
            } else if Some(*own) == home {
                found.placed += count;
            } else {
                found.apart += count;
                note(&mut found, format!("{count} requests of {real:?} are apart"));
            }
        }
        let Some((f, agent)) = home else { continue };
        let spawn = flows[f].agents[agent].spawn;
        let call = started_by[real.0].get(real.1).map(String::as_str).unwrap_or_default();
        if call.is_empty() {
            if let Some(spawn) = spawn {
                found.parented += 1;
                note(&mut found, format!("{real:?} was started by nobody, not {}", text(spawn.tool_use_id)));
            }
            continue;
        }
        let Some(spawn) = spawn else {
            found.missed += 1;
            note(&mut found, format!("{real:?} should be started by {call}"));
            continue;
        };
        let right = text(spawn.tool_use_id) == call;
        let rule = found.rules.entry((spawn.rule.name(), spawn.confidence.ten_thousandths())).or_default();
        if right {
            rule.0 += 1;
            found.right += 1;
        } else {
            rule.1 += 1;
            found.wrong += 1;
            found.exact_wrong += usize::from(!spawn.rule.inferred());
            let (said, rule) = (text(spawn.tool_use_id), spawn.rule.name());
            note(&mut found, format!("{real:?}: {rule} says {said}, not {call}"));
        }
    }
    for (f, flow) in flows.iter().enumerate() {
        let empty = (0..flow.agents.len()).filter(|n| !holds.contains_key(&(f, *n)));
        for agent in empty {
            // An agent that failed at once, or whose requests were all lost, is rightly named by its call's result.
            let id = text(flow.agents[agent].native_id);
            let recorded = told.iter().any(|told| told.agent == id);
            if recorded {
                found.invented += 1;
                note(&mut found, format!("{id} is invented"));
            }
        }
        reuse(&mut found, flow, f, &real_of_step, &started_by);
    }
    found
}

/// Words of an answer in another agent's input: right if they came from a sub-agent of that one.
fn reuse(
    found: &mut Found,
    flow: &unspool_model::Flow,
    f: usize,
    real: &BTreeMap<(usize, usize), (usize, &str)>,
    started_by: &[BTreeMap<String, String>],
) {
    for edge in flow.edges.iter().filter(|edge| edge.rule.name() == "content-reuse") {
        let (Some(from), Some(to)) = (real.get(&(f, edge.from as usize)), real.get(&(f, edge.to as usize)))
        else {
            continue;
        };
        let is_sub = started_by[from.0].get(from.1).is_some_and(|call| !call.is_empty());
        let rule = found.rules.entry(("content-reuse", edge.confidence.ten_thousandths())).or_default();
        if from.0 == to.0 && is_sub {
            rule.0 += 1;
        } else {
            rule.1 += 1;
            found.notes.push(format!("words of {from:?} in {to:?}"));
        }
    }
}

fn all(seeds: usize, damage: Damage, wanted: impl Fn(&Shape) -> bool) -> Found {
    let mut sum = Found::default();
    for (n, base) in shapes().iter().enumerate().filter(|(_, base)| wanted(base)) {
        for seed in (n as u64 * 1_000..).take(seeds) {
            sum.add(measure(*base, seed, damage));
        }
    }
    sum
}

/// How far a share measured on few links may lie below the confidence that was measured on many.
const SLACK: f64 = 0.1;

#[test]
fn requests_without_callers_find_their_conversations_and_calls() {
    let mut sum = Found::default();
    for damage in DAMAGES {
        let alike = all(SEEDS, damage, |shape| shape.prompts == Prompts::SameWithSameAnswer);
        let mut found = all(SEEDS, damage, |shape| shape.prompts != Prompts::SameWithSameAnswer);
        let notes = found.notes.join("\n");
        let requests = |found: &Found| found.placed + found.mixed + found.apart;
        assert!(
            requests(&found) > 1_000 && found.right > 300,
            "{damage:?}: {} {}",
            requests(&found),
            found.right
        );
        if !matches!(damage, Damage::Lost | Damage::FirstsLost) {
            assert_eq!((found.wrong, found.missed, found.invented), (0, 0, 0), "{damage:?}\n{notes}");
            assert_eq!((alike.missed, alike.mixed, alike.apart), (0, 0, 0), "{}", alike.notes.join("\n"));
        }
        // Of identical prompts and answers, only the order tells.
        assert!(found.right * 100 >= 97 * (found.right + found.wrong + found.missed), "{damage:?}\n{notes}");
        found.add(alike);
        // What is said to be certain is; a summary that was lost takes the rest of its conversation away.
        let notes = found.notes.join("\n");
        assert_eq!((found.exact_wrong, found.parented), (0, 0), "{damage:?}\n{notes}");
        assert_eq!((found.mixed, found.tokens_off), (0, 0), "{damage:?}\n{notes}");
        assert!(found.apart * 100 <= requests(&found), "{damage:?}\n{notes}");
        assert!(damage == Damage::Lost || found.split == 0, "{damage:?}\n{notes}");
        sum.add(found);
    }
    for ((rule, confidence), (right, wrong)) in sum.rules {
        let (share, claimed) =
            (right as f64 / (right + wrong).max(1) as f64, f64::from(confidence) / 10_000.0);
        assert!(
            right + wrong < 30 || share >= claimed - SLACK,
            "{rule} claims {claimed} and was right in {share} of {}",
            right + wrong
        );
    }
}

#[test]
fn what_is_found_in_requests_without_callers() {
    let Some(seeds) = std::env::var("MEASURE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()) else {
        return;
    };
    let mut rules: BTreeMap<(&str, u16), (usize, usize)> = BTreeMap::new();
    for damage in DAMAGES {
        for alike in [false, true] {
            let found = all(seeds, damage, |shape| (shape.prompts == Prompts::SameWithSameAnswer) == alike);
            found.show(&format!("{damage:?}{}", if alike { ", same prompts and answers" } else { "" }));
            if std::env::var("MEASURE_NOTES").is_ok() {
                found.notes.iter().take(40).for_each(|note| println!("    {note}"));
            }
            for (rule, (right, wrong)) in &found.rules {
                let sum = rules.entry(*rule).or_default();
                *sum = (sum.0 + right, sum.1 + wrong);
            }
        }
    }
    for ((rule, confidence), (right, wrong)) in rules {
        let share = right as f64 / (right + wrong).max(1) as f64;
        let confidence = f64::from(confidence) / 10_000.0;
        println!("{rule:<24} {confidence:.4} right {right:>6} wrong {wrong:>5} share {share:.4}");
    }
}
