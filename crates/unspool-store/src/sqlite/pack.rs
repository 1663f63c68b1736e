//! Rows as bytes: column by column, each value by what it differs in from the one above it.
//!
//! In: rows of one sort. Out: bytes that compress well, and the rows again; `None` where bytes do not hold what they should.

use crate::bytes::{Taker, put_bytes, put_number, put_signed};
use crate::rows::{AgentRow, EdgeRow, IssueRow, List, RunRow, StepRow};
use rustc_hash::FxHashMap;
use std::ops::Range;
use unspool_model::Id;

/// A value that is written by what it differs in from the one above it; the first lies below a default one.
trait Packed: Sized + Clone + Default {
    fn put(&self, above: &Self, out: &mut Vec<u8>);
    fn take(above: &Self, from: &mut Taker<'_>) -> Option<Self>;
}

impl Packed for i64 {
    fn put(&self, above: &i64, out: &mut Vec<u8>) {
        put_signed(out, self.wrapping_sub(*above));
    }
    fn take(above: &i64, from: &mut Taker<'_>) -> Option<i64> {
        Some(above.wrapping_add(from.signed()?))
    }
}

impl Packed for bool {
    fn put(&self, _: &bool, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(_: &bool, from: &mut Taker<'_>) -> Option<bool> {
        from.array::<1>().map(|[byte]| byte != 0)
    }
}

/// 0: the same as above. Else its length plus 1, and its bytes.
impl Packed for String {
    fn put(&self, above: &String, out: &mut Vec<u8>) {
        // Most are empty. To compare nothing behind pointers to nothing takes a processor longer than to compare words.
        let is_same = if self.is_empty() { above.is_empty() } else { self == above };
        if is_same {
            out.push(0);
        } else {
            put_number(out, self.len() as u64 + 1);
            out.extend_from_slice(self.as_bytes());
        }
    }
    fn take(above: &String, from: &mut Taker<'_>) -> Option<String> {
        match from.length()?.checked_sub(1) {
            None => Some(above.clone()),
            Some(length) => String::from_utf8(from.take(length)?.to_vec()).ok(),
        }
    }
}

/// 0: the same as above. Else 1 and its bytes.
impl Packed for Id {
    fn put(&self, above: &Id, out: &mut Vec<u8>) {
        if self == above {
            out.push(0);
        } else {
            out.push(1);
            out.extend_from_slice(&self.to_bytes());
        }
    }
    fn take(above: &Id, from: &mut Taker<'_>) -> Option<Id> {
        match from.array()? {
            [0] => Some(*above),
            [1] => from.array().map(|bytes| Id::from_u128(u128::from_be_bytes(bytes))),
            _ => None,
        }
    }
}

impl Packed for Vec<Id> {
    fn put(&self, above: &Vec<Id>, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        let mut before = above.first().copied().unwrap_or_default();
        for id in self {
            id.put(&before, out);
            before = *id;
        }
    }
    fn take(above: &Vec<Id>, from: &mut Taker<'_>) -> Option<Vec<Id>> {
        let count = from.length()?;
        let mut before = above.first().copied().unwrap_or_default();
        let mut ids = Vec::with_capacity(count.min(from.left()));
        for _ in 0..count {
            before = Id::take(&before, from)?;
            ids.push(before);
        }
        Some(ids)
    }
}

/// What is known is written by what it differs in from the last known value above it.
impl<T: Packed> Packed for Option<T> {
    fn put(&self, above: &Option<T>, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(above.as_ref().unwrap_or(&T::default()), out);
        }
    }
    fn take(above: &Option<T>, from: &mut Taker<'_>) -> Option<Option<T>> {
        match from.array()? {
            [0] => Some(None),
            [1] => T::take(above.as_ref().unwrap_or(&T::default()), from).map(Some),
            _ => None,
        }
    }
}

/// A sort of rows that can be packed.
pub(super) trait PackedRow: Sized {
    fn pack(rows: &[Self]) -> Vec<u8>;
    fn unpack(bytes: &[u8]) -> Option<Vec<Self>>;
}

macro_rules! packed {
    ($($row:ident { $($field:ident)* })*) => {$(
        impl PackedRow for $row {
            fn pack(rows: &[$row]) -> Vec<u8> {
                $(let mut $field: Vec<u8> = Vec::with_capacity(rows.len());)*
                let first = $row::default();
                let mut above = &first;
                // Row by row: the texts of a row lie together in memory, those of a column do not.
                for row in rows {
                    $(row.$field.put(&above.$field, &mut $field);)*
                    above = row;
                }
                let columns = [$($field),*];
                let mut out = Vec::with_capacity(columns.iter().map(Vec::len).sum::<usize>() + 10);
                put_number(&mut out, rows.len() as u64);
                for column in &columns {
                    out.extend_from_slice(column);
                }
                out
            }

            fn unpack(bytes: &[u8]) -> Option<Vec<$row>> {
                let mut from = Taker::new(bytes);
                let count = from.length().filter(|count| *count <= bytes.len())?;
                let first: $row = Default::default();
                let mut rows = vec![first.clone(); count];
                $({
                    let mut above = first.$field.clone();
                    for row in &mut rows {
                        row.$field = Packed::take(&above, &mut from)?;
                        above.clone_from(&row.$field);
                    }
                })*
                (from.left() == 0).then_some(rows)
            }
        }
    )*};
}

packed! {
    AgentRow {
        id native_id kind kind_inferred name model parent_id depth status internal main task_number spawn_step_id spawn_tool_use_id
        spawn_rule spawn_confidence rival_count started_ns ended_ns message_count
    }
    RunRow { id native_id channel stated trigger_id status started_ns ended_ns }
    StepRow {
        id kind started_ns ended_ns duration_ms agent_id agent_source run_id parent_id name tool_use_id message_id uuid native_id model
        preview intent intent_inferred error input_hash is_error start_estimated pending meta is_async input_tokens cache_read_tokens
        cache_write_tokens cache_write_long_tokens output_tokens reasoning_tokens witnesses
    }
    IssueRow { code detail count records }
    EdgeRow { from_id to_id kind rule confidence tool_use_id is_error evidence }
}

/// A list of ids and, in their stead, short numbers. Edges name steps and records that the steps of their session name, too.
pub(super) struct Names {
    of: FxHashMap<Id, u64>,
    ids: Vec<Id>,
}

impl Names {
    /// Ids of steps and of their witnesses.
    pub(super) fn of(steps: &List<StepRow>) -> Names {
        let mut names = Names { of: FxHashMap::default(), ids: Vec::new() };
        steps.ids(0..steps.len(), &mut |id| {
            let next = names.ids.len() as u64;
            if *names.of.entry(id).or_insert(next) == next {
                names.ids.push(id);
            }
        });
        names
    }

    /// The numbers of what edges name, in order; those that are no name of a step are numbered behind all that are.
    pub(super) fn numbers(&self, edges: &List<EdgeRow>, places: Range<usize>) -> Numbers {
        let mut numbers = Numbers { of: Vec::with_capacity(places.len() * 4), strange: Vec::new() };
        edges.ids(places, &mut |id| {
            let number = self.of.get(&id).copied().unwrap_or_else(|| {
                numbers.strange.push(id);
                (self.ids.len() + numbers.strange.len() - 1) as u64
            });
            numbers.of.push(number);
        });
        numbers
    }
}

/// What some edges name: the numbers of their ends and of their evidence, one edge after the other.
#[derive(Hash)]
pub(super) struct Numbers {
    of: Vec<u64>,
    strange: Vec<Id>,
}

/// Edges, with numbers in the place of ids.
pub(super) fn pack_edges(mut edges: Vec<EdgeRow>, numbers: &Numbers) -> Vec<u8> {
    let mut out = Vec::with_capacity(edges.len() * 16);
    let mut body = Vec::with_capacity(edges.len() * 16);
    let mut left = numbers.of.iter().map(|number| number.cast_signed());
    let mut put = |above: &mut i64, body: &mut Vec<u8>| {
        let number = left.next().unwrap_or_default();
        put_signed(body, number.wrapping_sub(*above));
        *above = number;
    };
    let mut above = 0_i64;
    for edge in &mut edges {
        let mut near = above;
        put(&mut near, &mut body);
        above = near;
        put(&mut near, &mut body);
        put_number(&mut body, edge.evidence.len() as u64);
        let mut evidence = above;
        edge.evidence.iter().for_each(|_| put(&mut evidence, &mut body));
        (edge.from_id, edge.to_id) = (Id::default(), Id::default());
        edge.evidence.clear();
    }
    put_number(&mut out, numbers.strange.len() as u64);
    for id in &numbers.strange {
        out.extend_from_slice(&id.to_bytes());
    }
    put_bytes(&mut out, &body);
    out.extend(EdgeRow::pack(&edges));
    out
}

/// Reads them again.
pub(super) fn unpack_edges(bytes: &[u8], names: &Names) -> Option<Vec<EdgeRow>> {
    let mut from = Taker::new(bytes);
    let count = from.length()?;
    let mut strange: Vec<Id> = Vec::new();
    for _ in 0..count {
        strange.push(Id::from_u128(u128::from_be_bytes(from.array()?)));
    }
    let mut body = Taker::new(from.bytes()?);
    let mut edges = EdgeRow::unpack(from.take(from.left())?)?;
    let take = |above: &mut i64, body: &mut Taker<'_>| {
        *above = above.wrapping_add(body.signed()?);
        let number = usize::try_from(*above).ok()?;
        names.ids.get(number).or_else(|| strange.get(number.checked_sub(names.ids.len())?)).copied()
    };
    let mut above = 0_i64;
    for edge in &mut edges {
        let mut near = above;
        edge.to_id = take(&mut near, &mut body)?;
        above = near;
        edge.from_id = take(&mut near, &mut body)?;
        let count = body.length()?;
        let mut evidence = above;
        for _ in 0..count {
            edge.evidence.push(take(&mut evidence, &mut body)?);
        }
    }
    (body.left() == 0).then_some(edges)
}
