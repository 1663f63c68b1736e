//! A session of an export as a flow: its rows put together, and what does not fit cut off.
//!
//! In: the fields of a session. Out: a flow whose every index is one, whose trees have no circles and whose rows are in order,
//! whatever the file says. Never here: what a single row says.

use super::rows::{self, Places, agent, edge, id, issue, link, places, run, small, step, text, usage, word};
use crate::object::Object;
use crate::sink::Sink;
use unspool_model::flow::NONE;
use unspool_model::{Agent, Code, Flow, Lines, RequestKind, Session, Step, Sym};

/// The flow of a session; none when it has no id, or steps and no agents.
pub(super) fn flow(row: &Object<'_>, out: &mut Sink<'_>) -> Option<Flow> {
    let id = id(row, "id", 'x')?;
    let agent_rows = objects(row, "agents", out);
    let (run_rows, step_rows) = (objects(row, "runs", out), objects(row, "steps", out));
    if agent_rows.is_empty() && !step_rows.is_empty() {
        return None;
    }
    let mut at =
        Places { agents: places(&agent_rows, 'a'), steps: places(&step_rows, 's'), ..Places::default() };
    let mut flow = Flow {
        session: session(row, out),
        witnesses: vec![out.record()],
        evidence: vec![out.record()],
        context_records: small(row, "context_records"),
        ..Flow::default()
    };
    flow.session.id = id;
    for row in &run_rows {
        if let Some(run) = run(row, &at, out) {
            at.runs.entry(run.id).or_insert_with(|| index(flow.runs.len()));
            flow.runs.push(run);
        }
    }
    flow.agents = agent_rows.iter().map(|row| agent(row, &at, out)).collect();
    for row in &step_rows {
        add_step(&mut flow, row, &at, out);
    }
    flow.edges = objects(row, "edges", out).iter().filter_map(|row| edge(row, &at, out)).collect();
    flow.edges.sort_by_key(|edge| (edge.to, edge.from, edge.kind, edge.rule));
    flow.links = objects(row, "links", out).iter().filter_map(|row| link(row, &at, out)).collect();
    flow.issues = objects(row, "issues", out).iter().filter_map(|row| issue(row, out)).collect();
    if !straighten_steps(&mut flow.steps) {
        out.issue(Code::ReferenceMissing, "parent_id");
    }
    if !straighten_agents(&mut flow.agents) {
        out.issue(Code::ReferenceMissing, "parent_id");
    }
    Some(flow)
}

/// The rows of a list; what is no row is an issue.
fn objects<'a>(row: &Object<'a>, key: &str, out: &mut Sink<'_>) -> Vec<Object<'a>> {
    let (rows, others): (Vec<_>, Vec<_>) =
        row.list(key).into_iter().partition(|raw| raw.first() == Some(&b'{'));
    for _ in others {
        out.issue(Code::WrongType, key);
    }
    rows.into_iter().map(Object::of).collect()
}

fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(NONE)
}

fn session(row: &Object<'_>, out: &mut Sink<'_>) -> Session {
    let texts = |key: &str, out: &mut Sink<'_>| {
        let texts = row.list(key).into_iter().filter_map(crate::object::string);
        texts.map(|text| out.intern(&text.decode())).collect::<Vec<Sym>>()
    };
    Session {
        native_ids: texts("native_ids", out),
        title: rows::label(row, "title", out),
        title_inferred: row.is("title_inferred"),
        cwd: text(row, "cwd", out),
        cwd_inferred: row.is("cwd_inferred"),
        versions: texts("versions", out),
        formats: texts("formats", out),
        started: row.time("started_at", out),
        ended: row.time("ended_at", out),
        ..Session::default()
    }
}

fn add_step(flow: &mut Flow, row: &Object<'_>, at: &Places, out: &mut Sink<'_>) {
    let n = index(flow.steps.len());
    let mut step: Step = step(row, at, out);
    // The record of the session stands for all that witness it.
    step.witness_count = 1;
    if let Some(usage) = usage(row) {
        step.usage = index(flow.usages.len());
        flow.usages.push(usage);
    }
    if let Some(error) = rows::label(row, "error", out).some() {
        flow.errors.push((n, error));
    }
    if out.wants_text() && row.has("input_hash") {
        flow.inputs.push((n, small(row, "input_hash")));
    }
    if out.wants_text() && row.has("first_line") && row.has("last_line") {
        flow.lines.push((n, Lines { first: small(row, "first_line"), last: small(row, "last_line") }));
    }
    // Exports older than the word have none.
    if row.has("request")
        && let Some(request) = word(row, "request", &RequestKind::ALL, RequestKind::name, out)
    {
        flow.requests.push((n, request));
    }
    flow.steps.push(step);
}

/// Steps stand in depth-first order: a parent is the step before or one around it. Another parent is none; gives whether
/// there was no such.
fn straighten_steps(steps: &mut [Step]) -> bool {
    let mut around: Vec<u32> = Vec::new();
    let mut is_straight = true;
    for (n, step) in (0_u32..).zip(steps) {
        if step.parent != NONE && step.parent >= n {
            step.parent = NONE;
            is_straight = false;
        }
        // Steps stand in ascending order around another, so that leaving those behind the parent finds it.
        while around.last().is_some_and(|last| step.parent == NONE || *last > step.parent) {
            around.pop();
        }
        if step.parent != NONE && around.last() != Some(&step.parent) {
            step.parent = NONE;
            around.clear();
            is_straight = false;
        }
        around.push(n);
    }
    is_straight
}

/// Gives agents their depth and cuts circles; gives whether there were none.
fn straighten_agents(agents: &mut [Agent]) -> bool {
    let mut is_done = vec![false; agents.len()];
    let mut is_straight = true;
    for first in 0..agents.len() {
        let mut below = Vec::new();
        let mut at = first;
        while !is_done[at] {
            is_done[at] = true;
            below.push(at);
            match agents[at].parent {
                NONE => break,
                parent => at = parent as usize,
            }
        }
        // The walk ended at a root, at an agent whose depth is known, or in a circle of its own.
        let mut above = (!below.contains(&at)).then(|| agents[at].depth);
        if above.is_none()
            && let Some(root) = below.last()
            && agents[*root].parent != NONE
        {
            agents[*root].parent = NONE;
            is_straight = false;
        }
        for n in below.into_iter().rev() {
            agents[n].depth = above.map_or(0, |above| above + 1);
            above = Some(agents[n].depth);
        }
    }
    is_straight
}

#[cfg(test)]
mod tests {
    use super::{Agent, NONE, Step, straighten_agents, straighten_steps};

    fn steps(parents: &[u32]) -> (bool, Vec<u32>) {
        let mut steps: Vec<Step> =
            parents.iter().map(|parent| Step { parent: *parent, ..Step::default() }).collect();
        let is_straight = straighten_steps(&mut steps);
        (is_straight, steps.iter().map(|step| step.parent).collect())
    }

    #[test]
    fn a_parent_stands_around_its_step() {
        let whole = vec![NONE, 0, 1, 0, 3, NONE, 5];
        assert_eq!(steps(&whole), (true, whole));
        assert_eq!(steps(&[NONE, 0, 0, 1]), (false, vec![NONE, 0, 0, NONE]));
        assert_eq!(steps(&[0, 2, 1, 99]), (false, vec![NONE, NONE, 1, NONE]));
    }

    #[test]
    fn circles_of_agents_are_cut_and_depths_counted() {
        let agents = |parents: &[u32]| {
            let mut agents: Vec<Agent> =
                parents.iter().map(|parent| Agent { parent: *parent, ..Agent::default() }).collect();
            let is_straight = straighten_agents(&mut agents);
            (is_straight, agents.iter().map(|agent| agent.depth).collect::<Vec<_>>())
        };
        assert_eq!(agents(&[NONE, 0, 1, 0, NONE]), (true, vec![0, 1, 2, 1, 0]));
        assert_eq!(agents(&[2, 0, NONE, 1]), (true, vec![1, 2, 0, 3]));
        let (is_straight, depths) = agents(&[2, 0, 1, 0, 4]);
        assert!(!is_straight);
        assert_eq!(depths.iter().filter(|depth| **depth == 0).count(), 2);
    }
}
