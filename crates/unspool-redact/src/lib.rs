//! Secrets in bytes: keys, tokens and passwords, masked and counted.
//!
//! In: bytes of records. Out: the same bytes with a tag in the place of each secret. Equal secrets get equal tags, so that what belongs together
//! can still be seen; the tags do not tell what was there. What is JSON stays JSON, because nothing is taken that a string would end with.
//! Never here: files, and what a record means.
//!
//! Patterns are data (`KINDS`). They find what looks like a secret, not every secret there is. Users add rules of their own (`Rules`).

mod given;
mod kinds;
mod names;
mod passwords;
mod rules;
mod scan;
mod spots;

pub use kinds::{KINDS, Kind};
pub use names::{is_secret_name, is_secret_parameter};
pub use rules::{RuleError, Rules};

use scan::Found;
use spots::Hit;
use std::collections::BTreeMap;

/// How a tag begins.
const TAG: &str = "[redacted:";

/// How masked bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Text: a tag may be shorter or longer than the secret.
    Any,
    /// Bytes whose lengths are written elsewhere in them: a tag is as long as the secret.
    Same,
}

/// Masks secrets, and remembers which it has seen.
#[derive(Debug, Default)]
pub struct Masker {
    /// By secret, its number.
    seen: BTreeMap<Vec<u8>, usize>,
    counts: BTreeMap<String, u64>,
    rules: Rules,
}

impl Masker {
    /// One that goes by these rules, too.
    pub fn with_rules(rules: Rules) -> Masker {
        Masker { rules, ..Masker::default() }
    }

    /// The bytes without secrets; none when there are none in them.
    pub fn mask(&mut self, bytes: &[u8], room: Room) -> Option<Vec<u8>> {
        // Rules go first: what they leave in the place of a secret is none of any kind.
        let ruled = if self.rules.is_empty() { None } else { self.mask_by_rules(bytes, room) };
        self.mask_by_kinds(ruled.as_deref().unwrap_or(bytes), room).or(ruled)
    }

    fn mask_by_rules(&mut self, bytes: &[u8], room: Room) -> Option<Vec<u8>> {
        let rules = self.rules.clone();
        let mut masked = Vec::new();
        let mut done = 0;
        for Hit { rule, range, is_number } in spots::find(&rules, bytes) {
            masked.extend_from_slice(&bytes[done..range.start]);
            let secret = &bytes[range.clone()];
            if is_number {
                self.number(secret, room, &mut masked);
            } else {
                self.tag(secret, secret.len(), room, &mut masked);
            }
            self.count(rules.name(rule));
            done = range.end;
        }
        if done == 0 {
            return None;
        }
        masked.extend_from_slice(&bytes[done..]);
        Some(masked)
    }

    fn mask_by_kinds(&mut self, bytes: &[u8], room: Room) -> Option<Vec<u8>> {
        let mut masked = Vec::new();
        let mut done = 0;
        let mut from = 0;
        while let Some(Found { kind, secret }) = scan::next(bytes, from) {
            masked.extend_from_slice(&bytes[done..secret.start]);
            self.tag(&bytes[secret.clone()], secret.len(), room, &mut masked);
            self.count(kind);
            (done, from) = (secret.end, secret.end);
        }
        if done == 0 {
            return None;
        }
        masked.extend_from_slice(&bytes[done..]);
        Some(masked)
    }

    /// A form (`NAME=VALUE&…`) without the values whose names say that they are secrets; none when there are none.
    pub fn mask_form(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut masked = Vec::new();
        let mut done = 0;
        for value in passwords::in_form(bytes) {
            masked.extend_from_slice(&bytes[done..value.start]);
            self.tag(&bytes[value.clone()], value.len(), Room::Any, &mut masked);
            self.count(kinds::NAMED);
            done = value.end;
        }
        if done == 0 {
            return None;
        }
        masked.extend_from_slice(&bytes[done..]);
        Some(masked)
    }

    fn count(&mut self, name: &str) {
        if let Some(count) = self.counts.get_mut(name) {
            *count += 1;
        } else {
            self.counts.insert(name.into(), 1);
        }
    }

    /// A number of JSON becomes a string; where there is no room for its quotes, another number.
    fn number(&mut self, secret: &[u8], room: Room, out: &mut Vec<u8>) {
        match (room, secret.len().checked_sub(2)) {
            (Room::Same, None) => out.extend(secret.iter().map(|_| b'0')),
            (_, inside) => {
                out.push(b'"');
                self.tag(secret, inside.unwrap_or(0), room, out);
                out.push(b'"');
            }
        }
    }

    /// Writes what stands in the place of a secret, into so much room where that counts.
    fn tag(&mut self, secret: &[u8], length: usize, room: Room, out: &mut Vec<u8>) {
        let next = self.seen.len() + 1;
        let number = *self.seen.entry(secret.to_vec()).or_insert(next);
        let tag = format!("{TAG}{number}]");
        match room {
            Room::Any => out.extend_from_slice(tag.as_bytes()),
            Room::Same => {
                let end = out.len() + length;
                if tag.len() <= length {
                    out.extend_from_slice(tag.as_bytes());
                }
                out.resize(end, b'*');
            }
        }
    }

    /// How many places were masked, by kind and by the names of rules.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// How many different secrets there were.
    pub fn different(&self) -> usize {
        self.seen.len()
    }
}

#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod tests;
