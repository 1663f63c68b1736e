//! What was odd in records that belong to no session.

use super::{Families, FamilyId, failed};
use crate::error::StoreError;
use rusqlite::params;
use unspool_model::Id;

/// Something odd in records that belong to no session, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LooseIssue {
    /// Where the records came from.
    pub source: String,
    /// Its code in the catalogue.
    pub code: String,
    /// What it is about.
    pub detail: String,
    /// The stream of the first of the records; empty when no record is named.
    pub stream: String,
    /// How often.
    pub count: i64,
    /// The first records it was seen in.
    pub records: Vec<Id>,
}

impl Families {
    /// Says what is odd in the records of a family that belong to no session, in the place of what was said before.
    pub fn set_loose(&mut self, family: FamilyId, issues: &[LooseIssue]) -> Result<(), StoreError> {
        self.begin()?;
        self.put_loose(family.0, issues).map_err(|error| failed(&self.name, &error))
    }

    fn put_loose(&self, family: i64, issues: &[LooseIssue]) -> rusqlite::Result<()> {
        self.connection.prepare_cached("DELETE FROM loose WHERE family = ?1")?.execute([family])?;
        let sql = "INSERT OR REPLACE INTO loose (family, source, code, detail, stream, count, records) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        for one in issues {
            let records: Vec<u8> = one.records.iter().flat_map(|id| id.to_bytes()).collect();
            let values = params![family, one.source, one.code, one.detail, one.stream, one.count, records];
            self.connection.prepare_cached(sql)?.execute(values)?;
        }
        Ok(())
    }

    /// What is odd in records that belong to no session, each with its family, in order of family.
    pub fn loose(&self) -> Result<Vec<(FamilyId, LooseIssue)>, StoreError> {
        let query = || {
            let sql = "SELECT family, source, code, detail, stream, count, records FROM loose
                       ORDER BY family, source, code, detail";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                let records: Vec<u8> = row.get(6)?;
                let ids = records.as_chunks::<16>().0.iter();
                let issue = LooseIssue {
                    source: row.get(1)?,
                    code: row.get(2)?,
                    detail: row.get(3)?,
                    stream: row.get(4)?,
                    count: row.get(5)?,
                    records: ids.map(|bytes| Id::from_u128(u128::from_be_bytes(*bytes))).collect(),
                };
                Ok((FamilyId(row.get(0)?), issue))
            })?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        query().map_err(|error: rusqlite::Error| failed(&self.name, &error))
    }
}
