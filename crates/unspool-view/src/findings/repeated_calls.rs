//! The same call again, with nothing in between that could have changed the answer.

use super::session::{Given, Session};
use super::tools::Role;
use super::{Basis, Finder, Finding};
use rustc_hash::FxHashMap;

pub(super) const FINDER: Finder = Finder {
    code: "repeated_call",
    sentence: "A tool was given exactly the same again, and nothing in between could have changed the answer.",
    rests_on: Basis::Order,
    find,
};

fn find(session: &Session<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for calls in session.calls() {
        let mut open: FxHashMap<Given, Vec<u32>> = FxHashMap::default();
        let mut close = |repeated: Vec<u32>| found.extend(finding(session, repeated));
        for call in calls {
            let role = session.role(call);
            let given = session.given(call);
            if role.may_change() {
                // What it changes makes all others new; itself, too, when it is not the same again.
                let same = given.and_then(|given| open.remove(&given));
                let mut others: Vec<_> = std::mem::take(&mut open).into_values().collect();
                others.sort_unstable();
                others.into_iter().for_each(&mut close);
                if let (Some(given), Some(same)) = (given, same) {
                    open.insert(given, same);
                }
            }
            let counts = !role.repeats_on_purpose() && role != Role::Read && role != Role::Spawn;
            if let Some(given) =
                given.filter(|_| counts && !session.step(call).is_error && !waits(session, call))
            {
                let same = open.entry(given).or_default();
                if same.last().is_some_and(|last| !session.is_later(call, *last)) {
                    close(std::mem::take(same));
                }
                same.push(call);
            }
        }
        let mut rest: Vec<_> = open.into_values().collect();
        rest.sort_unstable();
        rest.into_iter().for_each(close);
    }
    found
}

/// A command that only lets time pass is there to be repeated.
fn waits(session: &Session<'_>, call: u32) -> bool {
    session.role(call) == Role::Shell && session.given_text(call).trim_start().starts_with("sleep")
}

fn finding(session: &Session<'_>, calls: Vec<u32>) -> Option<Finding> {
    let first = *calls.first().filter(|_| calls.len() > 1)?;
    let given = session.given_text(first);
    let title = format!(
        "{} was called {} times with the same input and nothing changed in between: {given}",
        session.name(first),
        calls.len()
    );
    Some(Finding { title, cost: session.cost_of_calls(&calls[1..]), steps: calls })
}
