//! What differs between two runs, sessions or sub-trees.
//!
//! In: two sides, each a part of a flow. Out: where they first part, what was added, removed and changed, and what that
//! did to tokens, cost and time. The same both ways round, and empty for a side and itself. Never here: drawing.

mod align;
mod changes;
mod doc;
mod lcs;
mod side;
mod sums;
#[cfg(test)]
mod tests;

pub use doc::{
    AgentDiff, AgentSide, Change, Counts, DiffDoc, Field, FieldChange, ModelsDiff, SideDoc, StepDiff,
    StepSide, ToolDiff, ToolSide, TotalsDelta, TotalsDiff,
};
pub use lcs::MAX_EDITS;
pub use side::{Part, Side};

use align::{Alignment, Pair, Row, align};
use changes::{agent_changes, field_changes};
use doc::SCHEMA;
use sums::{agent_totals, models, side_doc, tools, totals_diff};

/// Compares two sides.
pub fn diff(a: &Side<'_>, b: &Side<'_>) -> DiffDoc {
    let alignment = align(a, b);
    let places = Places::new(&alignment);
    let mut counts = Counts::default();
    let mut steps: Vec<(Place, StepDiff)> = Vec::new();
    let mut agents = Vec::new();
    for pair in &alignment.pairs {
        let mut own = Counts::default();
        for row in &pair.rows {
            let step = step_diff(a, b, pair, *row);
            own.add(step.as_ref().map(|step| step.change));
            steps.extend(step.map(|step| (places.of(*row), step)));
        }
        counts.join(&own);
        agents.push(agent_diff(a, b, pair, own));
    }
    let parted = steps.iter().filter(|(_, step)| step.change != Change::Figures);
    let first = parted.min_by_key(|(place, _)| *place).map(|(_, step)| step.clone());
    DiffDoc {
        schema: SCHEMA,
        a: side_doc(a, &alignment, |pair| pair.a, |row| row.0),
        b: side_doc(b, &alignment, |pair| pair.b, |row| row.1),
        same: steps.is_empty() && agents.iter().all(|agent| agent.change == Change::Figures),
        counts,
        first_divergence: first,
        totals: totals_diff(a, b, &alignment),
        tools: tools(a, b, &alignment),
        models: models(a, b, &alignment),
        agents,
        steps: steps.into_iter().map(|(_, step)| step).collect(),
        unaligned_steps: alignment.given_up,
    }
}

/// The last step of the first side that both have, and how far behind it: what is only in the first comes before what is only
/// in the second.
type Place = (Option<usize>, Behind);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Behind {
    Itself,
    OnlyInA(usize),
    OnlyInB(usize),
}

/// Where rows lie in the order of the first side.
struct Places {
    /// Steps that both sides have, in the order of the first and in that of the second.
    common: Vec<usize>,
    twins: Vec<(usize, usize)>,
}

impl Places {
    fn new(alignment: &Alignment) -> Places {
        let rows = alignment.pairs.iter().flat_map(|pair| &pair.rows);
        let mut twins: Vec<(usize, usize)> = rows.filter_map(|(a, b)| b.zip(*a)).collect();
        let mut common: Vec<usize> = twins.iter().map(|(_, a)| *a).collect();
        twins.sort_unstable();
        common.sort_unstable();
        Places { common, twins }
    }

    fn of(&self, row: Row) -> Place {
        match row {
            (Some(a), None) => {
                let before = self.common.partition_point(|common| *common < a);
                (before.checked_sub(1).map(|last| self.common[last]), Behind::OnlyInA(a))
            }
            (None, Some(b)) => {
                let before = self.twins.partition_point(|(twin, _)| *twin < b);
                (before.checked_sub(1).map(|last| self.twins[last].1), Behind::OnlyInB(b))
            }
            (a, _) => (a, Behind::Itself),
        }
    }
}

fn step_diff(a: &Side<'_>, b: &Side<'_>, pair: &Pair, row: Row) -> Option<StepDiff> {
    let (change, fields) = match row {
        (Some(x), Some(y)) => {
            let fields = field_changes(a, x, b, y);
            let is_meant = fields.iter().any(|change| !change.field.is_figure());
            (if is_meant { Change::Changed } else { Change::Figures }, fields)
        }
        (Some(_), None) => (Change::Removed, Vec::new()),
        _ => (Change::Added, Vec::new()),
    };
    if change == Change::Figures && fields.is_empty() {
        return None;
    }
    Some(StepDiff {
        change,
        agent: doc::pair_label(a, b, pair),
        a: row.0.map(|n| doc::step_side(a, n)),
        b: row.1.map(|n| doc::step_side(b, n)),
        fields,
    })
}

fn agent_diff(a: &Side<'_>, b: &Side<'_>, pair: &Pair, counts: Counts) -> AgentDiff {
    let both = pair.a.zip(pair.b);
    let fields = both.map(|(x, y)| agent_changes(a, x, b, y)).unwrap_or_default();
    let is_changed = counts.added + counts.removed + counts.changed > 0 || !fields.is_empty();
    AgentDiff {
        change: match (pair.a, pair.b) {
            (Some(_), Some(_)) if is_changed => Change::Changed,
            (Some(_), Some(_)) => Change::Figures,
            (Some(_), None) => Change::Removed,
            _ => Change::Added,
        },
        agent: doc::pair_label(a, b, pair),
        a: pair.a.map(|agent| agent_totals(a, agent, pair.rows.iter().filter_map(|row| row.0))),
        b: pair.b.map(|agent| agent_totals(b, agent, pair.rows.iter().filter_map(|row| row.1))),
        counts,
        fields,
    }
}
