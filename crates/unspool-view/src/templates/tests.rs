//! Prompts that are one task, and prompts that are not.

use super::pattern::{Pattern, Words};
use super::{MAX_CANDIDATES, Templates};
use crate::drawn::Drawn;
use crate::prices::Prices;
use unspool_model::Status;

fn common(a: &str, b: &str) -> Option<String> {
    let mut words = Words::default();
    let (a, b) = (Pattern::of(a, &mut words), Pattern::of(b, &mut words));
    a.common(&b).map(|pattern| pattern.shown(&words))
}

#[test]
fn what_is_filled_in_is_a_hole() {
    assert_eq!(
        common("Review the file src/a.rs for bugs", "Review the file src/b.rs for bugs").as_deref(),
        Some("review the file … for bugs")
    );
    assert_eq!(
        common("Fix issue 12 in the parser", "Fix issue 34 in the printer").as_deref(),
        Some("fix issue … in the …")
    );
    assert_eq!(common("Look for dead code in tests", "Write a changelog for this release"), None);
    assert_eq!(common("Go", "Go").as_deref(), Some("go"));
    assert_eq!(common("", ""), None);
}

#[test]
fn a_template_has_a_count_a_rate_and_durations() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    for (n, prompt) in
        ["Review module alpha for bugs", "Review module beta for bugs", "Write the notes"].iter().enumerate()
    {
        let call = drawn.tool(ask, "Task", prompt, (10, 100));
        let agent = drawn.agent(call, "Explore", 11);
        let agent = &mut drawn.flow.agents[agent as usize];
        agent.status = if n == 0 { Status::Completed } else { Status::Failed };
        agent.started = unspool_model::Timestamp::from_ms(11);
        agent.ended = unspool_model::Timestamp::from_ms(31);
    }
    let mut templates = Templates::default();
    templates.add(&drawn.flow, &drawn.batch.text, &Prices::default());
    let found = templates.finish().templates;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pattern.as_str(), found[0].count), ("review module … for bugs", 2));
    assert_eq!((found[0].success_rate, found[0].durations.as_ref().map(|d| d.p50_ms)), (Some(0.5), Some(20)));
}

#[test]
fn prompts_beyond_the_limit_are_counted() {
    let mut drawn = Drawn::new();
    drawn.input(0);
    let ask = drawn.model(0, (0, 10));
    for n in 0..MAX_CANDIDATES + 3 {
        let own = ['a', 'b', 'c', 'd'].map(|letter| format!("{letter}{}", "x".repeat(n)));
        let call = drawn.tool(ask, "Task", &format!("Do {}", own.join(" ")), (10, 100));
        drawn.agent(call, "Explore", 11);
    }
    let mut templates = Templates::default();
    templates.add(&drawn.flow, &drawn.batch.text, &Prices::default());
    let found = templates.finish();
    assert_eq!(
        (found.templates.len(), found.unmatched),
        (0, 2),
        "the first beyond the limit has been compared with all"
    );
}
