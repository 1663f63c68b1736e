//! Secrets in bytes: keys, tokens and passwords, masked and counted.
//!
//! In: bytes of records. Out: the same bytes with a tag in the place of each secret. Equal secrets get equal tags, so that what belongs together
//! can still be seen; the tags do not tell what was there. What is JSON stays JSON, because nothing is taken that a string would end with.
//! Never here: files, and what a record means.
//!
//! Patterns are data (`KINDS`). They find what looks like a secret, not every secret there is.

mod kinds;
mod scan;

pub use kinds::{KINDS, Kind};

use scan::Found;
use std::collections::BTreeMap;

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
    counts: BTreeMap<&'static str, u64>,
}

impl Masker {
    /// The bytes without secrets; none when there are none in them.
    pub fn mask(&mut self, bytes: &[u8], room: Room) -> Option<Vec<u8>> {
        let mut masked = Vec::new();
        let mut done = 0;
        let mut from = 0;
        while let Some(Found { kind, secret }) = scan::next(bytes, from) {
            masked.extend_from_slice(&bytes[done..secret.start]);
            self.tag(&bytes[secret.clone()], room, &mut masked);
            *self.counts.entry(kind).or_default() += 1;
            (done, from) = (secret.end, secret.end);
        }
        if done == 0 {
            return None;
        }
        masked.extend_from_slice(&bytes[done..]);
        Some(masked)
    }

    fn tag(&mut self, secret: &[u8], room: Room, out: &mut Vec<u8>) {
        let next = self.seen.len() + 1;
        let number = *self.seen.entry(secret.to_vec()).or_insert(next);
        let tag = format!("[redacted:{number}]");
        match room {
            Room::Any => out.extend_from_slice(tag.as_bytes()),
            Room::Same => {
                let end = out.len() + secret.len();
                if tag.len() <= secret.len() {
                    out.extend_from_slice(tag.as_bytes());
                }
                out.resize(end, b'*');
            }
        }
    }

    /// How many places were masked, by kind.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// How many different secrets there were.
    pub fn different(&self) -> usize {
        self.seen.len()
    }
}

#[cfg(test)]
mod tests;
