//! The best assignment of rows to columns: most evidence over the whole group, not first come first served.

use std::ops::{Add, Sub};

/// What a pair costs: evidence first (more is better, so it is negative), time only between equal evidence, order only
/// between equal times.
/// Costs form an ordered group, which is all the algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Cost {
    /// Minus the weight of the evidence.
    pub(super) evidence: i64,
    /// Squared distance in time, so that order is kept among equals.
    pub(super) time: i64,
    /// Squared distance of the places in order.
    pub(super) order: i64,
}

impl Cost {
    /// More than any real pair; the pair is not possible.
    pub(super) const IMPOSSIBLE: Cost = Cost { evidence: 1 << 40, time: 0, order: 0 };
}

impl Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost {
            evidence: self.evidence + other.evidence,
            time: self.time + other.time,
            order: self.order + other.order,
        }
    }
}

impl Sub for Cost {
    type Output = Cost;
    fn sub(self, other: Cost) -> Cost {
        Cost {
            evidence: self.evidence - other.evidence,
            time: self.time - other.time,
            order: self.order - other.order,
        }
    }
}

const NOBODY: usize = usize::MAX;

/// For each row, its column in a cheapest assignment; `None` where leaving the row out is cheaper or nothing
/// fits. `cost[row][column]` must be rectangular. Cubic in the larger side (the Hungarian method with
/// potentials).
pub(super) fn assign(cost: &[Vec<Cost>]) -> Vec<Option<usize>> {
    let rows = cost.len();
    let columns = cost.first().map_or(0, Vec::len);
    // Every row also gets a column of its own that costs nothing: to stay alone.
    let width = columns + rows;
    let at = |row: usize, column: usize| {
        if column < columns {
            cost[row][column]
        } else if column - columns == row {
            Cost::default()
        } else {
            Cost::IMPOSSIBLE
        }
    };
    let mut row_potential = vec![Cost::default(); rows];
    let mut column_potential = vec![Cost::default(); width];
    let mut owner = vec![NOBODY; width];
    for start in 0..rows {
        // Grow a tree of tight pairs from `start` until it reaches a free column.
        let mut cheapest = vec![None::<Cost>; width];
        let mut came_from = vec![NOBODY; width];
        let mut visited = vec![false; width];
        let mut row = start;
        let mut column = NOBODY;
        loop {
            let mut next = NOBODY;
            let mut delta = None::<Cost>;
            for candidate in 0..width {
                if visited[candidate] {
                    continue;
                }
                let reduced = at(row, candidate) - row_potential[row] - column_potential[candidate];
                if cheapest[candidate].is_none_or(|known| reduced < known) {
                    cheapest[candidate] = Some(reduced);
                    came_from[candidate] = column;
                }
                if let Some(value) = cheapest[candidate]
                    && delta.is_none_or(|best| value < best)
                {
                    delta = Some(value);
                    next = candidate;
                }
            }
            let Some(delta) = delta else { break };
            row_potential[start] = row_potential[start] + delta;
            for candidate in 0..width {
                if visited[candidate] {
                    let owned = owner[candidate];
                    row_potential[owned] = row_potential[owned] + delta;
                    column_potential[candidate] = column_potential[candidate] - delta;
                } else if let Some(known) = &mut cheapest[candidate] {
                    *known = *known - delta;
                }
            }
            column = next;
            visited[column] = true;
            if owner[column] == NOBODY {
                break;
            }
            row = owner[column];
        }
        // Turn the path around.
        while column != NOBODY {
            let before = came_from[column];
            owner[column] = if before == NOBODY { start } else { owner[before] };
            column = before;
        }
    }
    let mut chosen = vec![None; rows];
    for (column, row) in owner.into_iter().enumerate().take(columns) {
        if row != NOBODY && at(row, column) < Cost::default() {
            chosen[row] = Some(column);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::{Cost, assign};

    fn cost(evidence: i64, time: i64) -> Cost {
        Cost { evidence: -evidence, time, order: 0 }
    }

    fn total(costs: &[Vec<Cost>], chosen: &[Option<usize>]) -> Cost {
        chosen
            .iter()
            .enumerate()
            .filter_map(|(row, column)| column.map(|column| costs[row][column]))
            .fold(Cost::default(), |sum, cost| sum + cost)
    }

    /// Every possible assignment, to compare with.
    fn best_by_trying(costs: &[Vec<Cost>], row: usize, used: &mut Vec<bool>) -> Cost {
        if row == costs.len() {
            return Cost::default();
        }
        let mut best = best_by_trying(costs, row + 1, used);
        for column in 0..used.len() {
            if !used[column] {
                used[column] = true;
                best = best.min(costs[row][column] + best_by_trying(costs, row + 1, used));
                used[column] = false;
            }
        }
        best
    }

    #[test]
    fn the_group_wins_over_the_first_come() {
        // Row 0 would take column 0 greedily; then row 1 could have nothing.
        let costs = vec![vec![cost(10, 0), cost(9, 0)], vec![cost(8, 0), Cost::IMPOSSIBLE]];
        assert_eq!(assign(&costs), [Some(1), Some(0)]);
    }

    #[test]
    fn equal_evidence_keeps_the_order_of_time() {
        let squared = |a: i64, b: i64| cost(10, (a - b) * (a - b));
        let (spawns, starts) = ([0, 10, 20], [500, 510, 520]);
        let costs: Vec<Vec<Cost>> =
            starts.iter().map(|start| spawns.iter().map(|spawn| squared(*start, *spawn)).collect()).collect();
        assert_eq!(assign(&costs), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn nothing_fits() {
        assert_eq!(assign(&[vec![Cost::IMPOSSIBLE]]), [None]);
        assert_eq!(assign(&[vec![], vec![]]), [None, None]);
        assert!(assign(&[]).is_empty());
    }

    #[test]
    fn as_cheap_as_the_best_of_all_assignments() {
        let mut state = 12_345_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from((state >> 33) % below).unwrap()
        };
        for _ in 0..300 {
            let (rows, columns) = (1 + random(5), 1 + random(5));
            let costs: Vec<Vec<Cost>> =
                (0..rows)
                    .map(|_| {
                        (0..columns)
                            .map(|_| {
                                if random(4) == 0 {
                                    Cost::IMPOSSIBLE
                                } else {
                                    cost(1 + random(4), random(50))
                                }
                            })
                            .collect()
                    })
                    .collect();
            let chosen = assign(&costs);
            let mut used = vec![false; usize::try_from(columns).unwrap()];
            assert_eq!(total(&costs, &chosen), best_by_trying(&costs, 0, &mut used), "{costs:?}");
        }
    }
}
