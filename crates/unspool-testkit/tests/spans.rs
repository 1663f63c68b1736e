//! Agents in spans: with calls around them everything is right and exact; beside their callers, what names and times say is
//! worth what the table claims. The order of spans and the encoding change nothing.
//!
//! `MEASURE_SEEDS=3000 cargo test -p unspool-testkit --release --test spans what_names -- --nocapture` prints the shares.

#![expect(clippy::expect_used, reason = "tests may stop")]

use std::collections::{BTreeMap, BTreeSet};
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Edge, EdgeKind, Flow, KeyKind, Role, Rule, Timestamp, Usage};
use unspool_testkit::{LabelledTrace, Random, SpanStyle, as_json, as_protobuf, trace};

fn corpus(bytes: &[u8]) -> Corpus {
    let mut batch = Batch::default();
    let (format, sniff) = best("spans", bytes).expect("generated spans are recognised");
    let mut decoder = Decoder::new(&mut batch, format, sniff, "spans", Detail::Full);
    decoder.push(bytes);
    decoder.finish();
    Corpus::new(batch, Table::default(), Timestamp::NONE)
}

/// The span that a step's first witness is.
fn span_of(corpus: &Corpus, flow: &Flow, step: u32) -> String {
    let batch = &corpus.batch;
    let witnesses = flow.steps.get(step as usize).map_or(&[][..], |step| flow.witnesses_of(step));
    let mut events = batch.events.iter().filter(|event| witnesses.contains(&event.record));
    let key = events.find_map(|event| batch.key(event, KeyKind::Span, Role::Provides));
    let text = key.map_or("", |key| batch.text.get(key));
    text.rsplit_once('/').map_or("", |(_, span)| span).to_string()
}

/// Who started each agent: the agent's span, the span of what started it, the rule.
fn spawns(corpus: &Corpus) -> Vec<(String, String, Rule)> {
    let mut found = Vec::new();
    for flow in corpus.flows() {
        for agent in &flow.agents {
            if let Some(spawn) = agent.spawn {
                let own = span_of(corpus, &flow, agent.first_step);
                found.push((own, span_of(corpus, &flow, spawn.step), spawn.rule));
            }
        }
    }
    found
}

fn tokens(corpus: &Corpus) -> Usage {
    let mut sum = Usage::default();
    for usage in corpus.flows().flat_map(|flow| flow.usages) {
        sum.add(&usage);
    }
    sum
}

#[test]
fn agents_in_calls_are_found_exactly() {
    for seed in 0..60 {
        let made = trace(SpanStyle::Nested, seed);
        for bytes in [as_json(&made.spans, 7), as_protobuf(&made.spans)] {
            let corpus = corpus(&bytes);
            let mut found = spawns(&corpus);
            found.sort();
            let mut truth: Vec<_> = made
                .started
                .iter()
                .map(|(call, agent)| (agent.clone(), call.clone(), Rule::SpawnSpanParent))
                .collect();
            truth.sort();
            assert_eq!(found, truth, "seed {seed}");
            let sum = tokens(&corpus);
            let counted = (i64::try_from(sum.input), i64::try_from(sum.output));
            assert_eq!(counted, (Ok(made.tokens.0), Ok(made.tokens.1)), "seed {seed}");
        }
    }
}

/// Right, wrong and missed links, by rule and by whether others fitted, too.
fn measure(style: SpanStyle, seeds: u64) -> BTreeMap<(&'static str, bool), (u32, u32)> {
    let mut shares: BTreeMap<(&'static str, bool), (u32, u32)> = BTreeMap::new();
    let mut add = |rule: &'static str, tied: bool, right: bool| {
        let slot = shares.entry((rule, tied)).or_default();
        if right { slot.0 += 1 } else { slot.1 += 1 }
    };
    for seed in 0..seeds {
        let LabelledTrace { spans, started, .. } = trace(style, seed);
        let corpus = corpus(&as_protobuf(&spans));
        let truth: BTreeMap<&str, &str> =
            started.iter().map(|(call, agent)| (agent.as_str(), call.as_str())).collect();
        for flow in corpus.flows() {
            for edge in flow.edges.iter().filter(|edge| edge.rule == Rule::ContinuationHandoff) {
                let (from, to) = (span_of(&corpus, &flow, edge.from), span_of(&corpus, &flow, edge.to));
                assert_eq!(edge.kind, EdgeKind::Continuation);
                add(edge.rule.name(), false, truth.get(to.as_str()) == Some(&from.as_str()));
            }
            for agent in &flow.agents {
                let own = span_of(&corpus, &flow, agent.first_step);
                let (Some(spawn), Some(call)) = (agent.spawn, truth.get(own.as_str())) else { continue };
                let is_right = span_of(&corpus, &flow, spawn.step) == **call;
                let rule = if spawn.rule == Rule::SpawnSpanName { spawn.rule.name() } else { "missed" };
                if style == SpanStyle::Beside {
                    add(rule, agent.rival_count > 0, is_right);
                }
            }
        }
    }
    shares
}

#[test]
fn what_names_and_times_are_worth() {
    let seeds = std::env::var("MEASURE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    let mut shares = measure(SpanStyle::Beside, seeds);
    shares.extend(measure(SpanStyle::Handoff, seeds));
    let table = Table::default();
    for ((rule, tied), (right, wrong)) in shares {
        let share = f64::from(right) / f64::from((right + wrong).max(1));
        println!("{rule:<22} tied {tied:<5} right {right:>6} wrong {wrong:>5} share {share:.4}");
        let claimed = match (rule, tied) {
            ("spawn-span-name", false) => table.span_name,
            ("spawn-span-name", true) => table.span_name_tied,
            ("continuation-handoff", _) => table.handoff,
            _ => continue,
        };
        assert!(share >= claimed.as_f64() - 0.03, "{rule} is worth {share}, not {}", claimed.as_f64());
    }
}

#[test]
fn the_order_of_spans_and_their_encoding_change_nothing() {
    for style in [SpanStyle::Nested, SpanStyle::Beside, SpanStyle::Handoff] {
        for seed in 0..20 {
            let mut made = trace(style, seed);
            let draw = |bytes: &[u8]| {
                let corpus = corpus(bytes);
                let flows: Vec<_> = corpus.flows().collect();
                let steps = |flow: &Flow| {
                    let text = |sym| corpus.batch.text.get(sym).to_string();
                    let rows = (0_u32..).zip(&flow.steps);
                    rows.map(|(n, step)| {
                        (span_of(&corpus, flow, n), step.kind, text(step.name), step.parent, step.run)
                    })
                    .collect::<Vec<_>>()
                };
                let edges = |flow: &Flow| {
                    let edges = flow.edges.iter();
                    edges.map(|edge| (edge.from, edge.to, edge.kind, edge.rule)).collect::<Vec<_>>()
                };
                flows.iter().map(|flow| (steps(flow), edges(flow))).collect::<Vec<_>>()
            };
            let first = draw(&as_json(&made.spans, usize::MAX));
            let mut random = Random::new(seed + 1000);
            for n in (1..made.spans.len()).rev() {
                made.spans.swap(n, random.below(n + 1));
            }
            assert_eq!(draw(&as_json(&made.spans, 3)), first, "{style:?} {seed}");
            assert_eq!(draw(&as_protobuf(&made.spans)), first, "{style:?} {seed}");
            made.spans.extend(made.spans.clone());
            assert_eq!(draw(&as_json(&made.spans, 5)), first, "{style:?} {seed}, every span twice");
        }
    }
}

#[test]
fn order_never_speaks_against_a_cause_whatever_clocks_say() {
    for style in [SpanStyle::Nested, SpanStyle::Beside, SpanStyle::Handoff] {
        for seed in 0..40 {
            let mut made = trace(style, seed);
            let mut random = Random::new(seed);
            for span in &mut made.spans {
                span.start_ns -= 1_000_000 * random.below(4) as u64;
            }
            for flow in corpus(&as_json(&made.spans, 7)).flows() {
                let (order, causes): (Vec<&Edge>, Vec<&Edge>) = flow
                    .edges
                    .iter()
                    .filter(|edge| !edge.rule.inferred())
                    .partition(|edge| edge.kind == EdgeKind::Sequence);
                let order: BTreeSet<(u32, u32)> = order.iter().map(|edge| (edge.from, edge.to)).collect();
                for cause in causes {
                    assert!(
                        !order.contains(&(cause.to, cause.from)),
                        "{style:?} {seed}: {}",
                        cause.rule.name()
                    );
                }
            }
        }
    }
}
