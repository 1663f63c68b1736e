//! A→B→A→B: the same few calls, in the same order, over and over.

use super::session::{Given, Session};
use super::{Finder, Finding};

pub(super) const FINDER: Finder = Finder {
    code: "cycle",
    sentence: "The same two to six calls with the same inputs were made in the same order at least twice in a row.",
    find,
};

/// Calls of one round, at most.
const LONGEST: usize = 6;

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for calls in session.calls() {
        let calls: Vec<(u32, Given)> = calls
            .into_iter()
            .filter(|call| !session.role(*call).repeats_on_purpose())
            .filter_map(|call| session.given(call).map(|given| (call, given)))
            .collect();
        let mut at = 0;
        while at < calls.len() {
            match longest_cycle(&calls[at..]) {
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
fn longest_cycle(calls: &[(u32, Given)]) -> Option<(usize, usize)> {
    let given = |n: usize| calls[n].1;
    (2..=LONGEST.min(calls.len() / 2)).find_map(|period| {
        let is_one_call = (1..period).all(|n| given(n) == given(0));
        let repeats = (period..calls.len()).take_while(|n| given(*n) == given(n - period)).count();
        let rounds = 1 + repeats / period;
        (rounds >= 2 && !is_one_call).then_some((period, rounds * period))
    })
}

fn finding(session: &Session<'_>, calls: &[(u32, Given)], period: usize) -> Finding {
    let steps: Vec<u32> = calls.iter().map(|(call, _)| *call).collect();
    let names: Vec<&str> = steps[..period].iter().map(|call| session.name(*call)).collect();
    let title =
        format!("{} was gone through {} times with the same inputs", names.join(" → "), steps.len() / period);
    Finding { title, cost: session.cost_of_calls(&steps[period..]), steps }
}
