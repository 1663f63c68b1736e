//! Rows as columns of `SQLite`: for each row its table and its columns, once, for writing and reading alike.
//!
//! In: rows. Out: values. Never here: which rows, and when.

use crate::bytes::{Taker, put_bytes};
use crate::error::StoreError;
use crate::rows::{Checkpoint, SessionRow, SourceReceipt};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use unspool_model::Id;

/// Something that fits into a column.
trait Column: Sized {
    fn write(&self) -> ToSqlOutput<'_>;
    fn read(value: ValueRef<'_>) -> Option<Self>;
}

impl Column for i64 {
    fn write(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Owned(Value::Integer(*self))
    }
    fn read(value: ValueRef<'_>) -> Option<i64> {
        value.as_i64().ok()
    }
}

impl Column for bool {
    fn write(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Owned(Value::Integer(i64::from(*self)))
    }
    fn read(value: ValueRef<'_>) -> Option<bool> {
        value.as_i64().ok().map(|number| number != 0)
    }
}

impl Column for String {
    fn write(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(ValueRef::Text(self.as_bytes()))
    }
    fn read(value: ValueRef<'_>) -> Option<String> {
        value.as_str().ok().map(str::to_string)
    }
}

impl Column for Id {
    fn write(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Owned(Value::Blob(self.to_bytes().to_vec()))
    }
    fn read(value: ValueRef<'_>) -> Option<Id> {
        let bytes: [u8; 16] = value.as_blob().ok()?.try_into().ok()?;
        Some(Id::from_u128(u128::from_be_bytes(bytes)))
    }
}

impl Column for Vec<u8> {
    fn write(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(ValueRef::Blob(self))
    }
    fn read(value: ValueRef<'_>) -> Option<Vec<u8>> {
        value.as_blob().ok().map(<[u8]>::to_vec)
    }
}

/// Texts with their lengths.
impl Column for Vec<String> {
    fn write(&self) -> ToSqlOutput<'_> {
        let mut bytes = Vec::new();
        for text in self {
            put_bytes(&mut bytes, text.as_bytes());
        }
        ToSqlOutput::Owned(Value::Blob(bytes))
    }
    fn read(value: ValueRef<'_>) -> Option<Vec<String>> {
        let mut taker = Taker::new(value.as_blob().ok()?);
        let mut texts = Vec::new();
        while taker.left() > 0 {
            texts.push(String::from_utf8(taker.bytes()?.to_vec()).ok()?);
        }
        Some(texts)
    }
}

impl<T: Column> Column for Option<T> {
    fn write(&self) -> ToSqlOutput<'_> {
        self.as_ref().map_or(ToSqlOutput::Owned(Value::Null), Column::write)
    }
    fn read(value: ValueRef<'_>) -> Option<Option<T>> {
        if value == ValueRef::Null { Some(None) } else { T::read(value).map(Some) }
    }
}

/// A row of a table.
pub(super) trait TableRow: Sized {
    /// The table.
    const TABLE: &'static str;
    /// Its columns, in the order of `values`.
    const COLUMNS: &'static [&'static str];
    fn values(&self) -> Vec<ToSqlOutput<'_>>;
    fn read(row: &rusqlite::Row<'_>) -> Result<Self, StoreError>;

    /// `SELECT` all columns from the table.
    fn select(behind: &str) -> String {
        format!("SELECT \"{}\" FROM {} {behind}", Self::COLUMNS.join("\", \""), Self::TABLE)
    }

    /// `INSERT` or replace a row; `before` names columns whose values come first.
    fn insert(before: &[&str]) -> String {
        let names: Vec<&str> = before.iter().chain(Self::COLUMNS).copied().collect();
        let marks = vec!["?"; names.len()].join(", ");
        format!("INSERT OR REPLACE INTO {} (\"{}\") VALUES ({marks})", Self::TABLE, names.join("\", \""))
    }
}

macro_rules! tables {
    ($($table:literal $row:ident { $($field:ident)* })*) => {$(
        impl TableRow for $row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),*];

            fn values(&self) -> Vec<ToSqlOutput<'_>> {
                vec![$(self.$field.write()),*]
            }

            fn read(row: &rusqlite::Row<'_>) -> Result<Self, StoreError> {
                let mut at = 0..;
                Ok($row { $($field: {
                    let value = at.next().and_then(|n| row.get_ref(n).ok());
                    value.and_then(Column::read).ok_or(StoreError::Value { column: stringify!($field) })?
                }),* })
            }
        }
    )*};
}

tables! {
    "sessions" SessionRow {
        id native_ids title title_inferred cwd versions formats status started_ns ended_ns sources agent_kinds models agent_count
        subagent_count run_count step_count error_count issue_count gaps activity
        input_tokens cache_read_tokens cache_write_tokens cache_write_long_tokens output_tokens reasoning_tokens uncounted_calls
        cost_nano_usd context_records native_bytes first_position end_position
    }
    "checkpoints" Checkpoint { source offset fingerprint }
    "receipts" SourceReceipt { source seen stored duplicate rejected last_ns }
}
