//! The lanes at the left of a drawing: each is an arrow on its way to a node further down.
//!
//! In: groups in the order they are written. Out: the lanes' characters for every line.

use super::sequence::Group;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// An arrow on its way: to which group, and whether it is a guess.
type Lane = Option<(usize, bool)>;

pub(super) struct Lanes {
    open: Vec<Lane>,
    /// By group: the lanes that lead there.
    leading: FxHashMap<usize, BTreeSet<usize>>,
    /// Lanes in `open` that lead nowhere.
    free: BTreeSet<usize>,
    ascii: bool,
    /// More lanes are not shown.
    most: usize,
    /// Where the current group stands.
    at: usize,
}

/// What a line between nodes draws in a lane.
#[derive(Clone, Copy, PartialEq)]
enum Knot {
    /// The lane that others join or leave.
    Trunk,
    Join,
    Leave,
}

impl Lanes {
    pub(super) fn new(ascii: bool, most: usize) -> Lanes {
        Lanes { open: Vec::new(), leading: FxHashMap::default(), free: BTreeSet::new(), ascii, most, at: 0 }
    }

    /// Brings the lanes that lead to a group together; the lines this takes.
    pub(super) fn gather(&mut self, group: &Group) -> Vec<String> {
        let mut leading = self.leading.get(&group.number).into_iter().flatten().copied();
        let Some(first) = leading.next() else {
            self.at = self.free_lane();
            return Vec::new();
        };
        let joining: Vec<usize> = leading.collect();
        self.at = first;
        if joining.is_empty() {
            return Vec::new();
        }
        let knots: Vec<(usize, Knot)> = joining.iter().map(|n| (*n, Knot::Join)).collect();
        let line = self.line(&knots);
        for n in joining {
            self.set(n, None);
        }
        self.trim();
        vec![line]
    }

    /// The line of a node.
    pub(super) fn node(&self, is_error: bool, is_beside: bool) -> String {
        let mark = match (self.ascii, is_error, is_beside) {
            (true, true, _) => 'x',
            (true, _, true) => 'o',
            (true, ..) => '*',
            (false, true, _) => '✗',
            (false, _, true) => '○',
            (false, ..) => '●',
        };
        let count = self.open.len().max(self.at + 1);
        let mut text = String::new();
        for n in 0..count.min(self.most) {
            text.push(if n == self.at { mark } else { self.stroke(n) });
            text.push(' ');
        }
        if self.at >= self.most {
            text.push(mark);
        } else if count > self.most {
            text.push(if self.ascii { '.' } else { '…' });
        }
        text.trim_end().to_string()
    }

    /// Lets the arrows of a group go their ways; the lines this takes.
    pub(super) fn spread(&mut self, group: &Group) -> Vec<String> {
        let at = self.at;
        if at >= self.open.len() {
            self.open.resize(at + 1, None);
        }
        self.set(at, None);
        // What is awaited in another lane already is joined there.
        let mut knots: Vec<(usize, Knot)> = Vec::new();
        let mut own = Vec::new();
        for &(to, is_guess) in &group.next {
            match self.leading.get(&to).and_then(|lanes| lanes.first().copied()) {
                Some(lane) => {
                    if let Some((_, known)) = &mut self.open[lane] {
                        *known &= is_guess;
                    }
                    knots.push((lane, Knot::Join));
                }
                None => own.push((to, is_guess)),
            }
        }
        let mut own = own.into_iter();
        self.set(at, own.next());
        let is_continued = self.open[at].is_some();
        for lane in own {
            let free = self.free_after(at);
            self.set(free, Some(lane));
            knots.push((free, Knot::Leave));
        }
        let line = (!knots.is_empty()).then(|| self.spread_line(&knots, is_continued));
        self.trim();
        line.into_iter().collect()
    }

    /// A line on which lanes join the current one from the right.
    fn line(&self, knots: &[(usize, Knot)]) -> String {
        self.draw(knots, true, true)
    }

    fn spread_line(&self, knots: &[(usize, Knot)], is_continued: bool) -> String {
        self.draw(knots, false, is_continued)
    }

    /// Draws knots and what runs between them. `is_gather`: lanes end here in the trunk; else they begin here or go on.
    fn draw(&self, knots: &[(usize, Knot)], is_gather: bool, is_continued: bool) -> String {
        let knot = |n: usize| knots.iter().find(|(at, _)| *at == n).map(|(_, knot)| *knot);
        let left = knots.iter().map(|(n, _)| *n).min().unwrap_or(self.at).min(self.at);
        let right = knots.iter().map(|(n, _)| *n).max().unwrap_or(self.at).max(self.at);
        let count = self.open.len().max(right + 1);
        let mut text = String::new();
        for n in 0..count.min(self.most) {
            let is_between = (left..=right).contains(&n);
            let arms = Arms { left: n > left && is_between, right: n < right && is_between };
            let symbol = match if n == self.at { Some(Knot::Trunk) } else { knot(n) } {
                Some(Knot::Trunk) => arms.symbol(true, is_gather || is_continued),
                Some(Knot::Join) if is_gather => arms.symbol(true, false),
                Some(Knot::Join) => arms.symbol(true, true),
                Some(Knot::Leave) => arms.symbol(false, true),
                None if is_between && self.open.get(n).is_none_or(Option::is_none) => '─',
                None => self.stroke(n),
            };
            text.push(self.in_charset(symbol));
            let gap = if is_between && n < right { '─' } else { ' ' };
            text.push(self.in_charset(gap));
        }
        if count > self.most {
            text.push(if self.ascii { '.' } else { '…' });
        }
        text.trim_end().to_string()
    }

    fn stroke(&self, n: usize) -> char {
        self.in_charset(match self.open.get(n).copied().flatten() {
            None => ' ',
            Some((_, true)) => '┆',
            Some((_, false)) => '│',
        })
    }

    fn in_charset(&self, symbol: char) -> char {
        match symbol {
            symbol if !self.ascii => symbol,
            '─' => '-',
            '│' => '|',
            '┆' => ':',
            '╮' | '┬' => '.',
            '╯' | '╰' | '┴' => '\'',
            '├' | '┤' | '┼' | '╭' => '+',
            other => other,
        }
    }

    /// Lets a lane lead somewhere else, or nowhere.
    fn set(&mut self, n: usize, lane: Lane) {
        if let Some((to, _)) = self.open[n]
            && let Some(leading) = self.leading.get_mut(&to)
        {
            leading.remove(&n);
        }
        self.open[n] = lane;
        match lane {
            Some((to, _)) => {
                self.leading.entry(to).or_default().insert(n);
                self.free.remove(&n);
            }
            None => _ = self.free.insert(n),
        }
    }

    fn free_lane(&self) -> usize {
        self.free.first().copied().unwrap_or(self.open.len())
    }

    fn free_after(&mut self, at: usize) -> usize {
        self.free.range(at + 1..).next().copied().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        })
    }

    fn trim(&mut self) {
        while self.open.last() == Some(&None) {
            self.open.pop();
            self.free.remove(&self.open.len());
        }
    }
}

/// Where lines leave a knot sideways.
struct Arms {
    left: bool,
    right: bool,
}

impl Arms {
    fn symbol(&self, up: bool, down: bool) -> char {
        match (up, down, self.left, self.right) {
            (true, true, false, true) => '├',
            (true, true, true, false) => '┤',
            (true, true, true, true) => '┼',
            (true, true, false, false) => '│',
            (true, false, true, false) => '╯',
            (true, false, false, true) => '╰',
            (true, false, _, _) => '┴',
            (false, true, true, false) => '╮',
            (false, true, false, true) => '╭',
            (false, true, _, _) => '┬',
            (false, false, _, _) => '─',
        }
    }
}
