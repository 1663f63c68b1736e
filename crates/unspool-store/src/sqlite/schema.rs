//! The schema and its numbered migrations. A database says which number it has; the migrations behind that one are run, each in
//! a transaction of its own. A released migration is never changed: the next one is added behind it.

use rusqlite::{Connection, TransactionBehavior};

/// The migrations, the first of them number 1.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
];

/// What a database of ours says it is (`unsp`), so that no other one is mistaken for it.
const APPLICATION: i64 = 0x756e_7370;

/// The number of the last migration.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The number of the last migration the database has had; `None` when it is some other program's.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let ours = application == APPLICATION || (application == 0 && version == 0 && tables == 0);
    Ok(ours.then_some(version))
}

/// Runs the migrations behind that number.
pub(super) fn migrate(connection: &mut Connection, from: i64) -> rusqlite::Result<()> {
    for (number, sql) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > from) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}
