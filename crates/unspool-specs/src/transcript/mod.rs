//! The compact notation for Claude Code transcripts: one short line becomes one full JSONL entry.
//!
//! In: the text of a `cc` block and the entries of blocks before it. Out: entries as JSON. Never here: what linking
//! makes of them. `specs/README.md` has the notation for people.

mod answer;
mod line;

use crate::tokens::{Token, tokens};
use line::entry;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The day every short time belongs to.
pub(crate) const DAY: &str = "2026-01-02";

type Entry = Map<String, Value>;

/// Entries of all files so far, for `replay`.
pub(crate) type Known = BTreeMap<String, Vec<Entry>>;

/// What a block's `with` lines have set.
#[derive(Clone, Default)]
struct Defaults {
    pairs: BTreeMap<String, Value>,
    sidechain: bool,
}

/// Expands a block and remembers its entries under its path.
pub(crate) fn expand(path: &str, text: &str, known: &mut Known) -> Result<Vec<u8>, String> {
    let mut defaults = from_path(path);
    let mut entries: Vec<Entry> = Vec::new();
    let before = known.get(path).and_then(|entries| last_uuid(entries));
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let error = |why: String| format!("{path}: {why}\n  in: {line}");
        let found = tokens(line).map_err(error)?;
        match found.first() {
            Some(Token::Word(word)) if word == "with" => defaults.take(&found[1..]).map_err(error)?,
            Some(Token::Word(word)) if word == "replay" => {
                entries.extend(replay(&found[1..], &defaults, known).map_err(error)?);
            }
            _ => {
                let above = last_uuid(&entries).or_else(|| before.clone());
                entries.push(entry(&found, &defaults, above).map_err(error)?);
            }
        }
    }
    let mut bytes = Vec::new();
    for entry in &entries {
        bytes.extend_from_slice(Value::Object(entry.clone()).to_string().as_bytes());
        bytes.push(b'\n');
    }
    known.entry(path.to_string()).or_default().extend(entries);
    Ok(bytes)
}

fn last_uuid(entries: &[Entry]) -> Option<Value> {
    entries.iter().rev().find_map(|entry| entry.get("uuid")).cloned()
}

/// Session and agent as the layouts of Claude Code put them into paths.
fn from_path(path: &str) -> Defaults {
    let parts: Vec<&str> = path.split('/').collect();
    let stem = parts.last().map(|file| file.strip_suffix(".jsonl").unwrap_or(file)).unwrap_or_default();
    let mut defaults = Defaults::default();
    if let Some(agent) = stem.strip_prefix("agent-") {
        defaults.pairs.insert("agent".into(), agent.into());
        defaults.sidechain = true;
        if let Some(at) = parts.iter().position(|part| *part == "subagents").filter(|at| *at > 0) {
            defaults.pairs.insert("session".into(), parts[at - 1].into());
        }
    } else {
        defaults.pairs.insert("session".into(), stem.into());
    }
    defaults
}

impl Defaults {
    fn take(&mut self, found: &[Token]) -> Result<(), String> {
        for token in found {
            match token {
                Token::Pair(name, value) => _ = self.pairs.insert(name.clone(), value.clone()),
                Token::Word(word) if word == "sidechain" => self.sidechain = true,
                other => return Err(format!("`with` takes name=value and `sidechain`, not {other:?}")),
            }
        }
        Ok(())
    }
}

/// Another file's entries again, as a resumed or forked session copies them.
fn replay(found: &[Token], defaults: &Defaults, known: &Known) -> Result<Vec<Entry>, String> {
    let (mut source, mut until, mut forked) = (None, None, false);
    for token in found {
        match token {
            Token::Word(word) if word == "forked" => forked = true,
            Token::Word(word) => source = Some(word),
            Token::Pair(name, value) if name == "until" => until = Some(value),
            other => return Err(format!("`replay` takes a path, until= and `forked`, not {other:?}")),
        }
    }
    let entries = source.and_then(|path| known.get(path)).ok_or("no block before this one has that path")?;
    let end = entries.iter().position(|entry| until.is_some() && entry.get("uuid") == until);
    let mut copies = entries[..end.map_or(entries.len(), |end| end + 1)].to_vec();
    for entry in &mut copies {
        if forked {
            let origin = json!({"sessionId": entry.get("sessionId"), "messageUuid": entry.get("uuid")});
            entry.insert("forkedFrom".into(), origin);
        }
        if let Some(session) = defaults.pairs.get("session") {
            entry.insert("sessionId".into(), session.clone());
        }
    }
    Ok(copies)
}

/// A short time of `DAY`, a full one as it is, `-` for none.
pub(crate) fn time(word: &str) -> Option<String> {
    match word {
        "-" => None,
        full if full.contains('T') => Some(full.to_string()),
        short if short.contains('.') => Some(format!("{DAY}T{short}Z")),
        short => Some(format!("{DAY}T{short}.000Z")),
    }
}
