//! Looking after a folder that no server uses: how much is in it, whether it is sound, less of it, and all of it elsewhere.
//!
//! In: a folder. Out: numbers, plain words, and files of records that any other folder takes in.

use super::{OpenError, Options, repair, streams};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::sync::Arc;
use unspool_model::{Id, Timestamp};
use unspool_store::files::{DiskFiles, FolderLock, RESERVE, make_private_folder};
use unspool_store::{
    Compacted, DatabaseFile, Entry, GroundError, Log, LogError, LogOptions, Recovery, Scanned, Store, Totals,
};

/// What a file of records begins with.
const SCHEMA: &str = "unspool.records/1";
/// Entries that are appended together.
const APPEND_BYTES: usize = 4 << 20;

/// A folder that is ours alone for a while.
struct Held {
    log: Log,
    recovery: Recovery,
    store: Box<dyn Store>,
    _lock: FolderLock,
}

fn hold(options: &Options, must_exist: bool) -> Result<Held, OpenError> {
    let folder = &options.folder;
    let shown = || folder.display().to_string();
    if must_exist && !folder.join("log").is_dir() {
        return Err(OpenError::Nothing { folder: shown() });
    }
    make_private_folder(folder).map_err(|source| OpenError::Folder { folder: shown(), source })?;
    let lock = FolderLock::take(folder, &options.holder).map_err(GroundError::from)?;
    let store = options.store.open()?;
    let files = DiskFiles::new(&folder.join("log"))
        .map_err(|source| OpenError::Folder { folder: shown(), source })?;
    let next_at_least = store.standing()?.through;
    let log_options = LogOptions { next_at_least, ..LogOptions::default() };
    let (log, recovery) = Log::open(Arc::new(files), log_options).map_err(GroundError::from)?;
    Ok(Held { log, recovery, store, _lock: lock })
}

/// How much of a source there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSize {
    /// Entries in the log: requests, events, parts of files.
    pub entries: u64,
    /// Their bytes, as they were received.
    pub bytes: u64,
}

/// How much is in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Files and their sizes; all segments of the log are one.
    pub files: Vec<(String, u64)>,
    /// By where they came from.
    pub sources: BTreeMap<String, SourceSize>,
    /// Segments of the log.
    pub segments: u64,
    /// What is derived.
    pub totals: Totals,
}

/// How much is in a folder.
pub fn stats(options: &Options) -> Result<Stats, OpenError> {
    let held = hold(options, true)?;
    let size = held.log.size();
    let mut stats = Stats { segments: size.segments, totals: held.store.totals()?, ..Stats::default() };
    stats.files.push(("log".into(), size.bytes));
    stats.files.push((options.store.short_name(), options.store.bytes()));
    for name in [repair::FAMILIES, repair::TEXTS] {
        stats.files.push((name.into(), DatabaseFile::new(options.folder.join(name)).size()));
    }
    let reserve = std::fs::metadata(options.folder.join(RESERVE)).map_or(0, |file| file.len());
    stats.files.push((RESERVE.into(), reserve));
    for found in held.log.scan(0) {
        let Scanned::Record(position, entry) = found.map_err(GroundError::from)? else { continue };
        let shown = streams::Sort::of(&entry.stream).shown(position);
        let source = stats.sources.entry(streams::source(&shown).to_string()).or_default();
        source.entries += 1;
        source.bytes += entry.bytes.len() as u64;
    }
    Ok(stats)
}

/// Reads everything and says what is not as it should be; nothing when all is well.
pub fn check(options: &Options) -> Result<Vec<String>, OpenError> {
    let held = hold(options, true)?;
    let mut found = held.recovery.notices();
    let damages = held.log.check().map_err(GroundError::from)?;
    found.extend(
        damages.iter().map(ToString::to_string).filter(|line| !held.recovery.notices().contains(line)),
    );
    let said = |name: &str, line: &String| format!("{name}: {line}");
    let store_damage = repair::damage(held.store.check());
    found.extend(store_damage.iter().map(|line| said(&options.store.short_name(), line)));
    let opened = repair::open(options);
    let families_damage = match &opened {
        Ok(opened) => repair::damage(opened.families.check()),
        Err(error) => Some(error.to_string()),
    };
    found.extend(families_damage.iter().map(|line| said(repair::FAMILIES, line)));
    found.extend(repair::texts_damage(&options.folder).iter().map(|line| said(repair::TEXTS, line)));
    if let (Ok(opened), None, None) = (&opened, &store_damage, &families_damage) {
        found.extend(strangers(&held, opened, &options.store.short_name())?);
    }
    Ok(found)
}

/// What the databases know and the log does not, and what one of them knows and the other does not.
fn strangers(held: &Held, opened: &repair::Databases, store: &str) -> Result<Vec<String>, OpenError> {
    let mut found = Vec::new();
    let missing = |position: &u64| !matches!(held.log.read(*position), Ok(Some(_)));
    let missing = opened.families.all_positions()?.iter().filter(|position| missing(position)).count();
    if missing > 0 {
        found.push(format!("{}: {missing} entries are not in the log", repair::FAMILIES));
    }
    let known: FxHashSet<Id> = opened.families.all_sessions()?.into_iter().collect();
    let stored: FxHashSet<Id> = held.store.session_ids()?.into_iter().collect();
    let (ghosts, absent) = (stored.difference(&known).count(), known.difference(&stored).count());
    if ghosts + absent > 0 {
        found.push(format!(
            "{store}: {ghosts} sessions too many and {absent} too few; the next start mends it"
        ));
    }
    Ok(found)
}

/// Writes segments anew without the records that were dropped, and makes the databases as small as they can be.
pub fn compact(options: &Options, one_in: u64) -> Result<Compacted, OpenError> {
    let mut held = hold(options, true)?;
    let dropped = held.log.drop_records(&[]).map_err(GroundError::from)?;
    let mut done = held.log.compact(one_in).map_err(GroundError::from)?;
    done.bytes += dropped.bytes;
    held.store.shrink()?;
    Ok(done)
}

/// Writes all records, in order, packed: a line of JSON for each.
pub fn export(options: &Options, out: &mut dyn Write) -> Result<u64, OpenError> {
    let held = hold(options, true)?;
    let failed = |source| OpenError::Ground(io_error("write", "the export", source).into());
    let packed = zstd::Encoder::new(out, 0).map_err(failed)?;
    let mut out = BufWriter::new(packed);
    let mut count = 0;
    writeln!(out, "{}", json!({"schema": SCHEMA})).map_err(failed)?;
    for found in held.log.scan(0) {
        let Scanned::Record(_, entry) = found.map_err(GroundError::from)? else { continue };
        writeln!(out, "{}", line(&entry)).map_err(failed)?;
        count += 1;
    }
    let packed = out.into_inner().map_err(|error| failed(error.into_error()))?;
    packed.finish().map_err(failed)?.flush().map_err(failed)?;
    Ok(count)
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Records that were added.
    pub added: u64,
    /// Records that were there before.
    pub known: u64,
}

/// Adds the records of an export that are not there yet. What follows from them is derived when the folder is opened next.
pub fn import(options: &Options, from: impl Read) -> Result<Imported, OpenError> {
    let failed = OpenError::Import;
    let mut lines = BufReader::new(zstd::Decoder::new(from).map_err(failed)?).lines();
    let first = lines.next().transpose().map_err(failed)?.unwrap_or_default();
    let head: Value = serde_json::from_str(&first).unwrap_or_default();
    if head["schema"] != SCHEMA {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, format!("it is no `{SCHEMA}`"))));
    }
    let held = hold(options, false)?;
    let hasher = RandomState::new();
    let mut known: FxHashMap<(u64, u64), u32> = FxHashMap::default();
    for found in held.log.scan(0) {
        if let Scanned::Record(_, entry) = found.map_err(GroundError::from)? {
            *known.entry(content(&hasher, &entry)).or_default() += 1;
        }
    }
    let (mut imported, mut some, mut bytes) = (Imported::default(), Vec::new(), 0);
    for (n, text) in (2_u64..).zip(lines) {
        let text = text.map_err(failed)?;
        let entry = entry(&text).ok_or_else(|| {
            failed(io::Error::new(io::ErrorKind::InvalidData, format!("line {n} is no record")))
        })?;
        // A record that came twice is there twice.
        if let Some(left) = known.get_mut(&content(&hasher, &entry)).filter(|left| **left > 0) {
            *left -= 1;
            imported.known += 1;
            continue;
        }
        bytes += entry.bytes.len();
        some.push(entry);
        if bytes >= APPEND_BYTES {
            imported.added += append(&held, std::mem::take(&mut some))?;
            bytes = 0;
        }
    }
    imported.added += append(&held, some)?;
    Ok(imported)
}

fn append(held: &Held, entries: Vec<Entry>) -> Result<u64, OpenError> {
    let count = entries.len() as u64;
    if count > 0 {
        held.log.append(entries).map_err(GroundError::from)?;
    }
    Ok(count)
}

/// What makes two records the same: where they came from, where they lay, and what is in them.
fn content(hasher: &RandomState, entry: &Entry) -> (u64, u64) {
    let half = |n: u8| hasher.hash_one((n, &entry.stream, entry.offset, &entry.bytes));
    (half(0), half(1))
}

fn line(entry: &Entry) -> Value {
    let Entry { stream, offset, received, bytes } = entry;
    let mut line = json!({"stream": stream, "offset": offset, "received_ns": received.ns()});
    match std::str::from_utf8(bytes) {
        Ok(text) => line["text"] = text.into(),
        Err(_) => line["hex"] = hex(bytes).into(),
    }
    line
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn entry(line: &str) -> Option<Entry> {
    let line: Value = serde_json::from_str(line).ok()?;
    let bytes = match (line["text"].as_str(), line["hex"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(hex)) => {
            let byte = |n: usize| hex.get(n..n + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
            (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?
        }
        (None, None) => return None,
    };
    let received = line["received_ns"].as_i64().map_or(Timestamp::NONE, Timestamp::from_ns);
    Some(Entry { stream: line["stream"].as_str()?.into(), offset: line["offset"].as_u64()?, received, bytes })
}

fn io_error(doing: &'static str, name: &str, source: io::Error) -> LogError {
    LogError::Io { doing, name: name.into(), source }
}
