//! Which agents and steps of two sides belong together.
//!
//! In: two sides. Out: pairs of agents, and in each pair rows of steps: in both, or in one only. Steps that are the same
//! are found first (an inserted one moves nothing else), then between them those that do the same with other words.
//! Agents are walked from the roots down with a list of what is still to do; those left over on both sides belong together
//! by kind and prompt wherever they stand, so that a part is found in its whole. Never here: what changed in a pair.

use super::lcs::{MAX_EDITS, common};
use super::side::{Member, Members, Side};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use unspool_model::StepKind;

/// A step of each side, or of one.
pub(super) type Row = (Option<usize>, Option<usize>);

/// An agent of each side, or of one, with the rows of its steps.
#[derive(Debug)]
pub(super) struct Pair {
    /// Index of the agent in the flow.
    pub(super) a: Option<usize>,
    pub(super) b: Option<usize>,
    pub(super) rows: Vec<Row>,
}

/// How two sides belong together.
#[derive(Debug)]
pub(super) struct Alignment {
    pub(super) pairs: Vec<Pair>,
    /// Steps in parts that were too different to be aligned.
    pub(super) given_up: usize,
}

/// Aligns two sides. The answer does not depend on which of them comes first.
pub(super) fn align(a: &Side<'_>, b: &Side<'_>) -> Alignment {
    let (of_a, of_b) = (a.members(), b.members());
    if order(a, &of_a, b, &of_b) == Ordering::Greater {
        let mut turned = Walk::new(b, &of_b, a, &of_a).run();
        for pair in &mut turned.pairs {
            std::mem::swap(&mut pair.a, &mut pair.b);
            pair.rows.iter_mut().for_each(|(a, b)| std::mem::swap(a, b));
            // What is only in the first comes before what is only in the second.
            let alone = |row: &Row| row.0.is_none() || row.1.is_none();
            for gap in pair.rows.chunk_by_mut(|x, y| alone(x) && alone(y)) {
                gap.sort_by_key(|row| row.0.is_none());
            }
        }
        return turned;
    }
    Walk::new(a, &of_a, b, &of_b).run()
}

/// A fixed order of sides by what they say, so that aligning them is the same both ways.
fn order(a: &Side<'_>, of_a: &Members, b: &Side<'_>, of_b: &Members) -> Ordering {
    let steps =
        |members: &Members| members.all.iter().flat_map(|member| member.steps.clone()).collect::<Vec<_>>();
    let (steps_a, steps_b) = (steps(of_a), steps(of_b));
    for (x, y) in steps_a.iter().zip(&steps_b) {
        let inputs = a.input(*x).cmp(&b.input(*y));
        let (x, y) = (a.step(*x), b.step(*y));
        let words_a = [x.name, x.preview, x.intent].map(|sym| a.text(sym));
        let words_b = [y.name, y.preview, y.intent].map(|sym| b.text(sym));
        let order = x.kind.cmp(&y.kind).then_with(|| words_a.cmp(&words_b)).then(inputs);
        if order != Ordering::Equal {
            return order;
        }
    }
    let shape = |members: &Members| members.all.iter().map(|member| member.steps.len()).collect::<Vec<_>>();
    steps_a.len().cmp(&steps_b.len()).then_with(|| shape(of_a).cmp(&shape(of_b)))
}

struct Walk<'a> {
    a: &'a Side<'a>,
    b: &'a Side<'a>,
    of_a: &'a Members,
    of_b: &'a Members,
    names: Names<'a>,
    /// In the order of the walk; empty where an agent has found its twin elsewhere.
    pairs: Vec<Option<Pair>>,
    /// Members of one side only, and where their pairs are.
    lone_a: BTreeMap<usize, usize>,
    lone_b: BTreeMap<usize, usize>,
    given_up: usize,
}

impl<'a> Walk<'a> {
    fn new(a: &'a Side<'a>, of_a: &'a Members, b: &'a Side<'a>, of_b: &'a Members) -> Walk<'a> {
        Walk {
            a,
            b,
            of_a,
            of_b,
            names: Names::default(),
            pairs: Vec::new(),
            lone_a: BTreeMap::new(),
            lone_b: BTreeMap::new(),
            given_up: 0,
        }
    }

    fn run(mut self) -> Alignment {
        let mut waiting = self.agents(&self.of_a.roots, &self.of_b.roots);
        waiting.reverse();
        while let Some((a, b)) = waiting.pop() {
            let mut below = match (a, b) {
                (Some(a), Some(b)) => {
                    let (pair, below) = self.both(a, b);
                    self.pairs.push(Some(pair));
                    below
                }
                (Some(a), None) => {
                    let member = &self.of_a.all[a];
                    let rows = member.steps.iter().map(|step| (Some(*step), None)).collect();
                    self.lone_a.insert(a, self.pairs.len());
                    self.pairs.push(Some(Pair { a: Some(member.agent), b: None, rows }));
                    member.children.iter().map(|child| (Some(*child), None)).collect()
                }
                (None, Some(b)) => {
                    let member = &self.of_b.all[b];
                    let rows = member.steps.iter().map(|step| (None, Some(*step))).collect();
                    self.lone_b.insert(b, self.pairs.len());
                    self.pairs.push(Some(Pair { a: None, b: Some(member.agent), rows }));
                    member.children.iter().map(|child| (None, Some(*child))).collect()
                }
                (None, None) => Vec::new(),
            };
            below.reverse();
            waiting.append(&mut below);
        }
        self.reunite();
        Alignment { pairs: self.pairs.into_iter().flatten().collect(), given_up: self.given_up }
    }

    /// Pairs agents that stand in different places of their trees and were asked the same.
    fn reunite(&mut self) {
        let mut asked: FxHashMap<(&str, &str), VecDeque<usize>> = FxHashMap::default();
        for b in self.lone_b.keys() {
            asked.entry(task(self.b, &self.of_b.all[*b])).or_default().push_back(*b);
        }
        for a in self.lone_a.keys().copied().collect::<Vec<_>>() {
            let task = task(self.a, &self.of_a.all[a]);
            let Some(twins) = asked.get_mut(&task).filter(|_| !task.1.is_empty()) else { continue };
            let Some(at) = twins.iter().position(|b| self.lone_b.contains_key(b)) else { continue };
            let mut waiting: Vec<Row> = vec![(Some(a), twins.remove(at))];
            while let Some(row) = waiting.pop() {
                let (Some(a), Some(b)) = row else { continue };
                let (Some(place), Some(left)) = (self.lone_a.get(&a), self.lone_b.get(&b)) else { continue };
                let (place, left) = (*place, *left);
                self.lone_a.remove(&a);
                self.lone_b.remove(&b);
                let (pair, below) = self.both(a, b);
                self.pairs[place] = Some(pair);
                self.pairs[left] = None;
                waiting.extend(below);
            }
        }
    }

    /// Aligns the steps of two agents; gives back also how those that they started belong together.
    fn both(&mut self, a: usize, b: usize) -> (Pair, Vec<Row>) {
        let (of_a, of_b) = (&self.of_a.all[a], &self.of_b.all[b]);
        let matched = self.steps(&of_a.steps, &of_b.steps);
        // Agents belong together when the calls that started them do.
        let mut below: Vec<Row> = Vec::new();
        let twin_calls: FxHashMap<usize, usize> = matched.iter().copied().collect();
        let mut started: FxHashMap<usize, VecDeque<usize>> = FxHashMap::default();
        for child in &of_b.children {
            if let Some(call) = started_by(self.b, &self.of_b.all[*child]) {
                started.entry(call).or_default().push_back(*child);
            }
        }
        let (mut left_a, mut left_b) = (of_a.children.clone(), of_b.children.clone());
        let mut taken = FxHashSet::default();
        left_a.retain(|child| {
            let call = started_by(self.a, &self.of_a.all[*child]);
            let twin = call.and_then(|call| started.get_mut(twin_calls.get(&call)?)?.pop_front());
            let Some(twin) = twin else { return true };
            taken.insert(twin);
            below.push((Some(*child), Some(twin)));
            false
        });
        left_b.retain(|child| !taken.contains(child));
        below.extend(self.agents(&left_a, &left_b));
        let rows = rows(&of_a.steps, &of_b.steps, &matched);
        (Pair { a: Some(of_a.agent), b: Some(of_b.agent), rows }, below)
    }

    /// Agents by kind and prompt, then by kind, in order.
    fn agents(&mut self, a: &[usize], b: &[usize]) -> Vec<Row> {
        let mut signs = |side: &Side<'a>, members: &Members, list: &[usize]| -> (Vec<u32>, Vec<u32>) {
            let each = list.iter().map(|n| {
                let member = &members.all[*n];
                let agent = &side.flow.agents[member.agent];
                let (kind, prompt) = task(side, member);
                let [kind, name, prompt] =
                    [kind, side.text(agent.name), prompt].map(|text| self.names.text(text));
                (
                    self.names.sign([kind, name, prompt, u32::MAX, 0]),
                    self.names.sign([kind, 0, 0, u32::MAX - 1, 0]),
                )
            });
            each.unzip()
        };
        let (exact_a, rough_a) = signs(self.a, self.of_a, a);
        let (exact_b, rough_b) = signs(self.b, self.of_b, b);
        let places = self.matched(&exact_a, &exact_b, &rough_a, &rough_b, |_, _| true);
        let matched: Vec<(usize, usize)> = places.into_iter().map(|(x, y)| (a[x], b[y])).collect();
        rows(a, b, &matched)
    }

    fn steps(&mut self, a: &[usize], b: &[usize]) -> Vec<(usize, usize)> {
        let mut signs = |side: &Side<'a>, list: &[usize]| -> (Vec<u32>, Vec<u32>) {
            let each = list.iter().map(|n| {
                let step = side.step(*n);
                // Another model is a change of the call, not another call.
                let name = if step.kind == StepKind::ModelCall { "" } else { side.text(step.name) };
                let name = self.names.text(name);
                let words = [step.preview, step.intent].map(|sym| self.names.text(side.text(sym)));
                let kind = step.kind as u32;
                let input = side.input(*n);
                (
                    self.names.sign([name, words[0], words[1], kind, input]),
                    self.names.sign([name, u32::MAX, 0, kind, 0]),
                )
            });
            each.unzip()
        };
        let (exact_a, rough_a) = signs(self.a, a);
        let (exact_b, rough_b) = signs(self.b, b);
        let (side_a, side_b) = (self.a, self.b);
        let similar = |x: usize, y: usize| {
            let is_opening = x == 0 && y == 0;
            let (x, y) = (side_a.step(a[x]), side_b.step(b[y]));
            // Models never say the same twice, and every agent is asked something first.
            let must_be_alike = matches!(x.kind, StepKind::ToolCall | StepKind::UserMessage) && !is_opening;
            !must_be_alike || alike(side_a.text(x.preview), side_b.text(y.preview))
        };
        let places = self.matched(&exact_a, &exact_b, &rough_a, &rough_b, similar);
        places.into_iter().map(|(x, y)| (a[x], b[y])).collect()
    }

    /// Places that are the same, and between them those that are roughly so.
    fn matched(
        &mut self,
        exact_a: &[u32],
        exact_b: &[u32],
        rough_a: &[u32],
        rough_b: &[u32],
        similar: impl Fn(usize, usize) -> bool,
    ) -> Vec<(usize, usize)> {
        let exact = common(exact_a, exact_b, MAX_EDITS);
        self.given_up += exact.given_up;
        let mut matched = exact.pairs.clone();
        let (mut x, mut y) = (0, 0);
        for (next_x, next_y) in exact.pairs.into_iter().chain([(rough_a.len(), rough_b.len())]) {
            let rough = common(&rough_a[x..next_x], &rough_b[y..next_y], MAX_EDITS);
            let places = rough.pairs.into_iter().map(|(p, q)| (x + p, y + q));
            matched.extend(places.filter(|(p, q)| similar(*p, *q)));
            (x, y) = (next_x + 1, next_y + 1);
        }
        matched.sort_unstable();
        matched
    }
}

/// What kind of agent it is and what it was asked.
fn task<'a>(side: &Side<'a>, member: &Member) -> (&'a str, &'a str) {
    let agent = &side.flow.agents[member.agent];
    (if agent.main { "main" } else { side.text(agent.kind) }, side.prompt(member))
}

/// The call that started an agent.
fn started_by(side: &Side<'_>, member: &Member) -> Option<usize> {
    side.flow.agents[member.agent].spawn.map(|spawn| spawn.step as usize)
}

/// All elements of both lists in order: what is only in the first, then what is only in the second, then what is in both.
fn rows(a: &[usize], b: &[usize], matched: &[(usize, usize)]) -> Vec<Row> {
    let mut rows = Vec::with_capacity(a.len().max(b.len()));
    let (mut left_a, mut left_b) = (a.iter().peekable(), b.iter().peekable());
    for (x, y) in matched {
        rows.extend(std::iter::from_fn(|| left_a.next_if(|n| *n != x)).map(|n| (Some(*n), None)));
        rows.extend(std::iter::from_fn(|| left_b.next_if(|n| *n != y)).map(|n| (None, Some(*n))));
        left_a.next();
        left_b.next();
        rows.push((Some(*x), Some(*y)));
    }
    rows.extend(left_a.map(|n| (Some(*n), None)));
    rows.extend(left_b.map(|n| (None, Some(*n))));
    rows
}

/// Of the words of two texts, this share must be common for one to be a change of the other: a quarter.
const ALIKE_SHARE: usize = 4;

/// Whether one text may be a change of the other: they share enough words, in any order.
fn alike(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut words: Vec<String> = words.map(str::to_lowercase).collect();
        words.sort_unstable();
        words.dedup();
        words
    };
    let (of_a, of_b) = (words(a), words(b));
    let shared = of_a.iter().filter(|word| of_b.binary_search(word).is_ok()).count();
    let all = of_a.len() + of_b.len() - shared;
    all == 0 || shared * ALIKE_SHARE >= all
}

/// Numbers for texts and for what is compared as one, the same for both sides.
#[derive(Default)]
struct Names<'a> {
    texts: FxHashMap<&'a str, u32>,
    signs: FxHashMap<[u32; 5], u32>,
}

impl<'a> Names<'a> {
    fn text(&mut self, text: &'a str) -> u32 {
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        *self.texts.entry(text).or_insert(next)
    }

    fn sign(&mut self, parts: [u32; 5]) -> u32 {
        let next = u32::try_from(self.signs.len()).unwrap_or(u32::MAX);
        *self.signs.entry(parts).or_insert(next)
    }
}
