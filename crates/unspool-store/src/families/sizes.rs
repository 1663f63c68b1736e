//! How many bytes of the log are whose, as they were received.

use super::forget::{ALONE, STREAMS};
use super::{Families, FamilyId, failed};
use crate::error::StoreError;
use rusqlite::params;
use std::collections::BTreeMap;

/// How many bytes of the log families hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Of entries that one family alone needs.
    pub alone: BTreeMap<FamilyId, u64>,
    /// Entries that several families need, each with its bytes. They go when the last of them does.
    pub shared: Vec<(u64, Vec<FamilyId>)>,
    /// Of all entries, also of those that no family needs.
    pub all: u64,
}

impl Families {
    /// Says how many bytes an entry of the log has.
    pub fn set_size(&mut self, position: u64, bytes: u64) -> Result<(), StoreError> {
        self.begin()?;
        let sql = "INSERT OR REPLACE INTO sizes (position, bytes) VALUES (?1, ?2)";
        self.run(sql, params![position.cast_signed(), bytes.cast_signed()])
    }

    /// How many bytes of the log are whose. Copies and earlier versions of files count: the log holds them.
    pub fn held(&self) -> Result<Held, StoreError> {
        self.read_held().map_err(|error| failed(&self.name, &error))
    }

    fn read_held(&self) -> rusqlite::Result<Held> {
        let all: i64 =
            self.connection.query_row("SELECT coalesce(sum(bytes), 0) FROM sizes", [], |row| row.get(0))?;
        let mut held = Held { all: all.cast_unsigned(), ..Held::default() };
        // A family has an entry for a stream, which is its first part.
        let sql = "SELECT position, bytes, family FROM (SELECT family, position FROM entries
                   UNION SELECT entries.family, part.position FROM entries JOIN streams AS first ON first.position = entries.position
                   JOIN streams AS part ON part.name = first.name) JOIN sizes USING (position) ORDER BY position";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut last: Option<(i64, u64, Vec<FamilyId>)> = None;
        while let Some(row) = rows.next()? {
            let (position, bytes, family) =
                (row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned(), FamilyId(row.get(2)?));
            match &mut last {
                Some((known, _, families)) if *known == position => families.push(family),
                _ => {
                    if let Some((_, bytes, families)) = last.replace((position, bytes, vec![family])) {
                        held.add(bytes, families);
                    }
                }
            }
        }
        if let Some((_, bytes, families)) = last {
            held.add(bytes, families);
        }
        Ok(held)
    }

    /// The bytes of the entries that these families need and no other does.
    pub fn bytes_of(&mut self, families: &[FamilyId]) -> Result<u64, StoreError> {
        self.mark(families)?;
        let sql = format!(
            "SELECT coalesce(sum(bytes), 0) FROM sizes WHERE position IN
             ({ALONE} UNION SELECT position FROM streams WHERE name IN ({STREAMS}))"
        );
        Ok(self.numbers(&sql, [])?.into_iter().sum())
    }
}

impl Held {
    fn add(&mut self, bytes: u64, families: Vec<FamilyId>) {
        match families.as_slice() {
            [only] => *self.alone.entry(*only).or_default() += bytes,
            _ => self.shared.push((bytes, families)),
        }
    }
}
