//! Families that are no longer wanted.

use super::{Families, FamilyId, failed};
use crate::error::StoreError;
use rusqlite::params;
use std::collections::BTreeSet;
use std::ops::Range;

impl Families {
    /// Every family that came to a session, with its sessions.
    pub fn with_sessions(&self) -> Result<Vec<FamilyId>, StoreError> {
        let found = self.numbers("SELECT DISTINCT family FROM sessions ORDER BY family", [])?;
        Ok(found.into_iter().map(|family| FamilyId(family.cast_signed())).collect())
    }

    /// Where the records of a family came from.
    pub fn sources(&self, family: FamilyId) -> Result<Vec<String>, StoreError> {
        let query = || {
            let mut statement =
                self.connection.prepare_cached("SELECT source FROM counts WHERE family = ?1")?;
            let rows = statement.query_map([family.0], |row| row.get(0))?;
            rows.collect::<Result<Vec<String>, _>>()
        };
        query().map_err(|error| failed(&self.name, &error))
    }

    /// All entries that hold records of a family or are parts of a stream, in order.
    pub fn all_positions(&self) -> Result<Vec<u64>, StoreError> {
        self.numbers("SELECT position FROM entries UNION SELECT position FROM streams ORDER BY position", [])
    }

    /// The entries that these families need and no other does, in order.
    pub fn positions_of(&mut self, families: &[FamilyId]) -> Result<Vec<u64>, StoreError> {
        self.mark(families)?;
        self.numbers(
            &format!("{ALONE} UNION SELECT position FROM streams WHERE name IN ({STREAMS}) ORDER BY 1"),
            [],
        )
    }

    /// Forgets families, with everything they are known by.
    pub fn forget(&mut self, families: &[FamilyId]) -> Result<(), StoreError> {
        self.begin()?;
        self.mark(families)?;
        self.batch(&format!(
            "DELETE FROM sizes WHERE position IN ({ALONE} UNION SELECT position FROM streams WHERE name IN ({STREAMS}));"
        ))?;
        self.batch(&format!("DELETE FROM streams WHERE name IN ({STREAMS});"))?;
        for table in ["entries", "sessions", "counts", "loose", "keys", "offers", "joined"] {
            self.batch(&format!("DELETE FROM {table} WHERE family IN (SELECT family FROM going);"))?;
        }
        Ok(())
    }

    /// Forgets entries that the log has lost, and gives the families they were of: those are to be read again. A stream whose first part is
    /// lost begins with the next one.
    pub fn lose(&mut self, lost: &Range<u64>) -> Result<Vec<FamilyId>, StoreError> {
        let within = [lost.start.cast_signed(), lost.end.cast_signed()];
        let sql = "SELECT family FROM entries WHERE position >= ?1 AND position < ?2
                   UNION SELECT entries.family FROM streams AS part JOIN streams AS first ON first.name = part.name
                   JOIN entries ON entries.position = first.position WHERE part.position >= ?1 AND part.position < ?2";
        let found = self.numbers(sql, within)?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        self.begin()?;
        let sql = "INSERT OR IGNORE INTO entries (family, position)
                   SELECT entries.family, (SELECT min(position) FROM streams AS next WHERE next.name = first.name
                       AND (next.position < ?1 OR next.position >= ?2)) AS next
                   FROM entries JOIN streams AS first ON first.position = entries.position
                   WHERE entries.position >= ?1 AND entries.position < ?2 AND next IS NOT NULL";
        self.run(sql, within)?;
        for table in ["entries", "streams", "sizes"] {
            self.run(&format!("DELETE FROM {table} WHERE position >= ?1 AND position < ?2"), within)?;
        }
        let settled = found.into_iter().map(|family| self.settle(FamilyId(family.cast_signed())));
        Ok(settled.collect::<BTreeSet<FamilyId>>().into_iter().collect())
    }

    /// Notes families that are to go, under all numbers they ever had.
    pub(super) fn mark(&mut self, families: &[FamilyId]) -> Result<(), StoreError> {
        self.batch("CREATE TEMP TABLE IF NOT EXISTS going (family INTEGER PRIMARY KEY); DELETE FROM going;")?;
        let mut numbers: Vec<i64> = self.joined.keys().copied().collect();
        numbers.retain(|number| families.contains(&self.settle(FamilyId(*number))));
        for number in numbers.into_iter().chain(families.iter().map(|family| family.0)) {
            self.run("INSERT OR IGNORE INTO going (family) VALUES (?1)", params![number])?;
        }
        Ok(())
    }
}

/// Entries of families that are to go, which no other family needs.
pub(super) const ALONE: &str = "SELECT position FROM entries WHERE family IN (SELECT family FROM going) AND NOT EXISTS
    (SELECT 1 FROM entries AS other WHERE other.position = entries.position AND other.family NOT IN (SELECT family FROM going))";

/// Streams that begin with one of those.
pub(super) const STREAMS: &str = "SELECT name FROM streams WHERE position IN (SELECT position FROM entries WHERE family IN
    (SELECT family FROM going) AND NOT EXISTS (SELECT 1 FROM entries AS other WHERE other.position = entries.position
    AND other.family NOT IN (SELECT family FROM going)))";
