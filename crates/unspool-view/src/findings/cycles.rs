//! A→B→A→B: the same few calls, in the same order, over and over.

use super::session::{Given, Session};
use super::{Basis, Finder, Finding};

pub(super) const FINDER: Finder = Finder {
    code: "cycle",
    sentence: "The same two to six calls with the same inputs were made in the same order at least twice in a row.",
    rests_on: Basis::Order,
    find,
};

/// Calls of one round, at most.
const LONGEST: usize = 6;

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for calls in session.calls() {
        let calls: Vec<(u32, Given)> = calls
            .into_iter()
            .filter(|call| !session.role(*call).repeats_on_purpose() && !session.is_refused(*call))
            .filter_map(|call| session.given(call).map(|given| (call, given)))
            .collect();
        let mut at = 0;
        while at < calls.len() {
            match longest_cycle(session, &calls[at..]) {
                Some((period, length)) => {
                    found.push(finding(session, &calls[at..at + length], period));
                    at += length;
                }
                None => at += 1,
            }
        }
    }
    found
}

/// A cycle that begins here: how many calls make a round, and how many calls it has in whole rounds.
fn longest_cycle(session: &Session<'_>, calls: &[(u32, Given)]) -> Option<(usize, usize)> {
    let given = |n: usize| calls[n].1;
    (2..=LONGEST.min(calls.len() / 2)).find_map(|period| {
        if (1..period).all(|n| given(n) == given(0)) {
            // One call again and again is no circle.
            return None;
        }
        let follows =
            |n: &usize| given(*n) == given(n - period) && session.is_later(calls[*n].0, calls[n - period].0);
        let rounds = 1 + (period..calls.len()).take_while(follows).count() / period;
        (rounds >= 2).then_some((period, rounds * period))
    })
}

fn finding(session: &Session<'_>, calls: &[(u32, Given)], period: usize) -> Finding {
    let steps: Vec<u32> = calls.iter().map(|(call, _)| *call).collect();
    let names: Vec<&str> = steps[..period].iter().map(|call| session.name(*call)).collect();
    let title =
        format!("{} was gone through {} times with the same inputs", names.join(" → "), steps.len() / period);
    Finding { title, cost: session.cost_of_calls(&steps[period..]), steps }
}
