//! Agents as a tree: who started whom, and why that is believed.

use super::{Drawn, confidence, quoted};
use std::fmt::Write as _;
use unspool_model::Agent;
use unspool_model::flow::{NONE, RivalReason};

pub(super) fn draw(drawn: &Drawn<'_>, out: &mut String) {
    let agents = &drawn.flow.agents;
    let below =
        |parent: u32| -> Vec<usize> { (0..agents.len()).filter(|n| agents[*n].parent == parent).collect() };
    // Depth first without recursion: an agent, the lines before it, and whether it is the last of its parent's.
    let mut stack: Vec<(usize, String, bool)> = Vec::new();
    stack.extend(below(NONE).into_iter().rev().map(|n| (n, String::new(), true)));
    while let Some((n, lead, last)) = stack.pop() {
        let agent = &agents[n];
        let at_root = agent.parent == NONE;
        let joint = match (at_root, last) {
            (true, _) => "",
            (false, true) => "└ ",
            (false, false) => "├ ",
        };
        let _ = writeln!(out, "  {lead}{joint}{}", line(drawn, agent));
        let lead = match (at_root, last) {
            (true, _) => String::new(),
            (false, true) => format!("{lead}  "),
            (false, false) => format!("{lead}│ "),
        };
        let children = below(u32::try_from(n).unwrap_or(NONE));
        let end = children.len();
        let rows = children.into_iter().enumerate().rev();
        stack.extend(rows.map(|(place, child)| (child, lead.clone(), place + 1 == end)));
    }
}

fn line(drawn: &Drawn<'_>, agent: &Agent) -> String {
    let mut line = if agent.main { String::from("main ") } else { String::from("agent ") };
    line.push_str(drawn.text(agent.native_id));
    for word in [agent.kind, agent.model] {
        if !word.is_empty() {
            let _ = write!(line, " {}", drawn.text(word));
        }
    }
    if !agent.name.is_empty() {
        let _ = write!(line, " {}", quoted(drawn.text(agent.name)));
    }
    let _ = write!(line, " {}", agent.status.name());
    if agent.internal {
        line.push_str(" internal");
    }
    if let Some(spawn) = agent.spawn {
        let arrow = if spawn.is_inferred() { '⇠' } else { '⇐' };
        let call = drawn.text(spawn.tool_use_id);
        let _ = write!(line, " {arrow} {call} {} {}", spawn.rule.name(), confidence(spawn.confidence));
    }
    if !agent.rivals.is_empty() {
        let rivals: Vec<String> = agent
            .rivals
            .iter()
            .map(|rival| format!("{} {}", drawn.text(rival.tool_use_id), reason(rival.reason)))
            .collect();
        let many = if rivals.len() == 1 { "rival" } else { "rivals" };
        let _ = write!(line, ", {} {many} ({})", rivals.len(), rivals.join(", "));
    }
    line
}

fn reason(reason: RivalReason) -> &'static str {
    match reason {
        RivalReason::Outweighed => "outweighed",
        RivalReason::Tied => "tied",
        RivalReason::InTheFuture => "in the future",
        RivalReason::OutOfWindow => "too long before",
        RivalReason::OtherPrompt => "other prompt",
        RivalReason::OtherType => "other type",
        RivalReason::TakenById => "taken by id",
        RivalReason::OtherRecord => "other record",
        RivalReason::Denied => "denied",
    }
}
