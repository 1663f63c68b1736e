//! A flow as a timeline: a track per agent, a bar per step that has a time.
//!
//! In: a flow. Out: a picture. Steps that say nothing about the work are left out and counted, and arrows are drawn only between agents.
//! Never here: where anything is drawn.

use super::picture::{Arrow, Look};
use super::timeline_svg::{TimelineBar, TimelinePicture, TimelineTrack};
use crate::labels::{agent_name, session_title, step_detail, step_name};
use crate::screen::has_bar;
use crate::workflow::holders::Holders;
use unspool_model::{Batch, EdgeKind, Flow, RequestKind, Step, Timestamp};

/// Deeper steps stand as deep: their rows would be further apart than anybody sees.
const MAX_DEPTH: u32 = 24;

impl TimelinePicture {
    /// The timeline of a flow, and the step each bar stands for; `full`: what the client asked for itself, too.
    pub fn of(flow: &Flow, batch: &Batch, full: bool) -> (TimelinePicture, Vec<u32>) {
        let tracks = flow.agents.iter().map(|agent| TimelineTrack {
            label: agent_name(batch, agent),
            parent: Some(agent.parent as usize).filter(|parent| *parent < flow.agents.len()),
        });
        let mut picture = TimelinePicture {
            title: session_title(flow, batch),
            tracks: tracks.collect(),
            ..TimelinePicture::default()
        };
        let holders = Holders::new(flow);
        let depths = holders.depths(flow);
        let first = flow.steps.iter().map(|step| step.started).filter(|at| at.is_some()).min();
        let first = first.unwrap_or(Timestamp::NONE);
        let mut steps = Vec::new();
        let mut bar_of = vec![None; flow.steps.len()];
        for (n, step) in (0u32..).zip(&flow.steps) {
            if !has_bar(flow, n, step, full) {
                let own = has_bar(flow, n, step, true);
                *if own { &mut picture.left_out.internal } else { &mut picture.left_out.aside } += 1;
                continue;
            }
            let Some((start_ms, end_ms)) = span(step, first) else {
                picture.left_out.untimed += 1;
                continue;
            };
            bar_of[n as usize] = Some(steps.len());
            steps.push(n);
            picture.bars.push(TimelineBar {
                label: bar_name(flow, batch, n, step),
                detail: step_detail(batch, step).to_string(),
                look: Look::of(step.kind.name()),
                track: step.agent as usize,
                start_ms,
                end_ms,
                took_ms: step.duration_ms.get(),
                depth: depths[n as usize].min(MAX_DEPTH),
                is_error: step.is_error,
                is_pending: step.pending,
            });
        }
        let between_agents = flow
            .edges
            .iter()
            .filter(|e| matches!(e.kind, EdgeKind::SubagentSpawn | EdgeKind::SubagentReturn));
        let bar = |step: u32| bar_of.get(step as usize).copied().flatten();
        picture.arrows.extend(between_agents.filter_map(|edge| {
            Some(Arrow {
                from: bar(edge.from)?,
                to: bar(edge.to)?,
                relation: edge.kind.name(),
                is_inferred: edge.is_inferred(),
                is_error: edge.is_error,
                is_spawn: edge.kind == EdgeKind::SubagentSpawn,
                ..Arrow::default()
            })
        }));
        (picture, steps)
    }
}

/// What a bar is called: a recorded request also by what it was for.
fn bar_name(flow: &Flow, batch: &Batch, n: u32, step: &Step) -> String {
    let name = step_name(batch, step);
    let request = flow.request_of(n).map(RequestKind::name).filter(|request| *request != name);
    request.map_or_else(|| name.clone(), |request| format!("{name} ({})", request.replace('_', " ")))
}

/// Begin and end of a step in milliseconds since the first.
fn span(step: &Step, first: Timestamp) -> Option<(i64, i64)> {
    let start = step.started.ms_since(first)?;
    let end = step.ended.ms_since(first).unwrap_or(start);
    Some((start, end.max(start)))
}

#[cfg(test)]
mod tests {
    use crate::draw::text::Charset;
    use crate::draw::{TimelinePicture, gantt};
    use crate::drawn::Drawn;
    use unspool_model::{EdgeKind, RequestKind, Timestamp};

    #[test]
    fn steps_are_bars_of_their_agents() {
        let Drawn { flow, batch } = Drawn::of_words(&["user", "model:opus", "tool:Bash!", "model:opus"]);
        let (picture, steps) = TimelinePicture::of(&flow, &batch, false);
        assert_eq!(steps, [0, 1, 2, 3]);
        let drawn: String =
            gantt(&picture, 60, Charset::Ascii).iter().map(|line| line.plain() + "\n").collect();
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn steps_lie_as_deep_as_their_spans_and_what_has_no_bar_is_counted() {
        let mut drawn =
            Drawn::of_words(&["work:main", "start:Executor", "work:chain", "model:opus", "tool:Bash"]);
        for (from, to) in [(0, 1), (1, 2), (2, 3), (1, 4)] {
            drawn.edge(from, to, EdgeKind::SpanParent);
        }
        let untimed = drawn.word(0, "tool:Read") as usize;
        drawn.flow.steps[untimed].started = Timestamp::NONE;
        let (picture, steps) = TimelinePicture::of(&drawn.flow, &drawn.batch, false);
        let depths: Vec<u32> = picture.bars.iter().map(|bar| bar.depth).collect();
        assert_eq!((steps, depths), (vec![0, 2, 3, 4], vec![0, 1, 2, 1]));
        assert_eq!(picture.left_out.words().unwrap(), "steps not drawn: 1 without a time, 1 beside the work");
    }

    #[test]
    fn what_a_client_asks_for_itself_is_drawn_when_asked_for() {
        let mut drawn = Drawn::of_words(&["user", "model:opus"]);
        let own = drawn.spawn(0, "helper");
        drawn.flow.agents[own as usize].internal = true;
        let quota = drawn.word(own, "model:haiku");
        drawn.flow.requests = vec![(1, RequestKind::Compaction), (quota, RequestKind::Quota)];
        let of = |full| TimelinePicture::of(&drawn.flow, &drawn.batch, full).0;
        assert_eq!(of(false).left_out.words().unwrap(), "steps not drawn: 1 of the client's own");
        let full = of(true);
        assert_eq!(full.left_out.words(), None);
        let labels: Vec<&str> = full.bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["user", "opus (compaction)", "haiku (quota)"]);
    }
}
