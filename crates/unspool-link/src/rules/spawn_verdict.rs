//! Who gets which call, given what speaks for every pair: jointly, or in order of time where too many compete.

use super::assignment::{Cost, assign};
use super::spawn_inference::Match;
use unspool_model::flow::RivalReason;

/// What became of one agent: its call, whether others fitted as well, and the calls it did not get.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) chosen: Option<(usize, Match)>,
    pub(super) tied: bool,
    pub(super) rivals: Vec<(usize, RivalReason)>,
}

/// The assignment with the most evidence over the whole group.
pub(super) fn jointly(
    rows: usize,
    columns: usize,
    pairs: impl Iterator<Item = (usize, usize, Match)>,
) -> Vec<Verdict> {
    let mut table: Vec<Vec<Option<Match>>> = vec![vec![None; columns]; rows];
    for (row, column, found) in pairs {
        table[row][column] = Some(found);
    }
    let cost = |row: usize, column: usize| match table[row][column] {
        Some(found) => {
            let apart = i64::try_from(row.abs_diff(column)).unwrap_or(i64::from(u16::MAX));
            Cost { evidence: -found.evidence, time: found.time, order: apart * apart }
        }
        None => Cost::IMPOSSIBLE,
    };
    let row = |row: usize| (0..columns).map(|column| cost(row, column)).collect();
    let chosen = assign(&(0..rows).map(row).collect::<Vec<Vec<Cost>>>());
    let mut holder = vec![None; columns];
    for (row, column) in chosen.iter().enumerate() {
        if let Some(column) = column {
            holder[*column] = Some(row);
        }
    }
    let verdict = |row: usize| {
        let column = chosen[row];
        let found = column.and_then(|column| table[row][column]);
        let tied = column.is_some_and(|column| has_equal(&table, &holder, row, column));
        let others = table[row].iter().enumerate().filter(|(other, _)| Some(*other) != column);
        let rivals =
            others.filter_map(|(other, rival)| Some((other, rival.as_ref()?))).map(|(other, rival)| {
                let equal = tied && found.is_some_and(|found| found.evidence == rival.evidence);
                (other, if equal { RivalReason::Tied } else { RivalReason::Outweighed })
            });
        Verdict { chosen: column.zip(found), tied, rivals: rivals.collect() }
    };
    (0..rows).map(verdict).collect()
}

/// Each row in order takes the free column with the most evidence, the earliest among equals.
pub(super) fn in_order_of_time(
    rows: usize,
    columns: usize,
    pairs: impl Iterator<Item = (usize, usize, Match)>,
) -> Vec<Verdict> {
    let mut of_row: Vec<Vec<(usize, Match)>> = vec![Vec::new(); rows];
    for (row, column, found) in pairs {
        of_row[row].push((column, found));
    }
    let mut used = vec![false; columns];
    let verdict = |mut options: Vec<(usize, Match)>| {
        options.sort_unstable_by_key(|(column, found)| (-found.evidence, *column));
        let chosen = options.iter().find(|(column, _)| !used[*column]).copied();
        let Some((column, found)) = chosen else { return Verdict::default() };
        used[column] = true;
        let others = options.iter().filter(|(other, _)| *other != column);
        let reason = |rival: &Match| {
            if rival.evidence >= found.evidence { RivalReason::Tied } else { RivalReason::Outweighed }
        };
        let rivals: Vec<_> = others.map(|(other, rival)| (*other, reason(rival))).collect();
        let tied = rivals.iter().any(|(_, reason)| *reason == RivalReason::Tied);
        Verdict { chosen, tied, rivals }
    };
    of_row.into_iter().map(verdict).collect()
}

/// Whether another choice for this row has just as much evidence in total.
fn has_equal(table: &[Vec<Option<Match>>], holder: &[Option<usize>], row: usize, column: usize) -> bool {
    let evidence = |row: usize, column: usize| table[row][column].map(|found| found.evidence);
    let Some(own) = evidence(row, column) else { return false };
    (0..table[row].len()).filter(|other| *other != column).any(|other| {
        let Some(instead) = evidence(row, other) else { return false };
        match holder[other] {
            None => instead >= own,
            Some(holder) => match (evidence(holder, other), evidence(holder, column)) {
                (Some(held), Some(swapped)) => instead + swapped >= own + held,
                _ => false,
            },
        }
    })
}
