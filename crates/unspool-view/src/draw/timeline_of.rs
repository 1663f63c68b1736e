//! A flow as a timeline: a track per agent, a bar per step that has a time.
//!
//! In: a flow. Out: a picture. Steps that say nothing about the work are left out, and arrows are drawn only between agents. Never
//! here: where anything is drawn.

use super::picture::{Arrow, Look};
use super::timeline_svg::{TimelineBar, TimelinePicture, TimelineTrack};
use crate::labels::{agent_name, session_title, step_detail, step_name};
use unspool_model::{Batch, EdgeKind, Flow, Step, Timestamp};

impl TimelinePicture {
    /// The timeline of a flow, and the step each bar stands for.
    pub fn of(flow: &Flow, batch: &Batch) -> (TimelinePicture, Vec<u32>) {
        let tracks = flow.agents.iter().map(|agent| TimelineTrack {
            label: agent_name(batch, agent),
            parent: Some(agent.parent as usize).filter(|parent| *parent < flow.agents.len()),
        });
        let mut picture = TimelinePicture {
            title: session_title(flow, batch),
            tracks: tracks.collect(),
            ..TimelinePicture::default()
        };
        let first = flow.steps.iter().map(|step| step.started).filter(|at| at.is_some()).min();
        let Some(first) = first else { return (picture, Vec::new()) };
        let mut steps = Vec::new();
        let mut bar_of = vec![None; flow.steps.len()];
        for (n, step) in (0u32..).zip(&flow.steps) {
            let Some((start_ms, end_ms)) = span(step, first).filter(|_| !step.is_aside()) else { continue };
            bar_of[n as usize] = Some(steps.len());
            steps.push(n);
            picture.bars.push(TimelineBar {
                label: step_name(batch, step),
                detail: step_detail(batch, step).to_string(),
                look: Look::of(step.kind.name()),
                track: step.agent as usize,
                start_ms,
                end_ms,
                depth: 0,
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

    #[test]
    fn steps_are_bars_of_their_agents() {
        let Drawn { flow, batch } = Drawn::of_words(&["user", "model:opus", "tool:Bash!", "model:opus"]);
        let (picture, steps) = TimelinePicture::of(&flow, &batch);
        assert_eq!(steps, [0, 1, 2, 3]);
        let drawn: String =
            gantt(&picture, 60, Charset::Ascii).iter().map(|line| line.plain() + "\n").collect();
        insta::assert_snapshot!(drawn);
    }
}
