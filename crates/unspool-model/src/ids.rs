//! Deterministic 128-bit ids: the same facts give the same id on every machine and in every order.

use std::fmt;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Parts that are no longer than this together are hashed at once.
const SHORT_BYTES: usize = 256;

/// A deterministic id. Its text form carries a one-letter kind (`r` record, `s` step, `a` agent, …), so that
/// a pasted id says what it names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id {
    high: u64,
    low: u64,
}

impl Id {
    /// Hashes the parts with their lengths, so that `["ab","c"]` and `["a","bc"]` differ.
    pub fn of(parts: &[&[u8]]) -> Id {
        let len: usize = parts.iter().map(|part| part.len() + 8).sum();
        let mut buffer = [0_u8; SHORT_BYTES];
        if len > SHORT_BYTES {
            return Id::of_long(parts);
        }
        // Hashing in one go is several times as fast.
        let mut at = 0;
        for part in parts {
            buffer[at..at + 8].copy_from_slice(&(part.len() as u64).to_le_bytes());
            buffer[at + 8..at + 8 + part.len()].copy_from_slice(part);
            at += 8 + part.len();
        }
        Id::from_u128(xxh3_128(&buffer[..len]))
    }

    fn of_long(parts: &[&[u8]]) -> Id {
        let mut hasher = Xxh3::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Id::from_u128(hasher.digest128())
    }

    /// Splits a 128-bit number; the halves keep the type 8-byte aligned and so half as large in rows.
    pub fn from_u128(value: u128) -> Id {
        let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default();
        Id { high: half(value >> 64), low: half(value) }
    }

    /// The text form with its kind letter.
    pub fn show(self, kind: char) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(36);
        text.push(kind);
        // Large documents hold a hundred thousand of them: this is several times as fast as formatting.
        for byte in self.to_bytes() {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        text
    }

    /// Reads the text form back; `None` when the kind letter or the digits are not those of an id.
    pub fn parse(text: &str, kind: char) -> Option<Id> {
        let digits = text.strip_prefix(kind)?;
        if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return None;
        }
        Some(Id {
            high: u64::from_str_radix(&digits[..16], 16).ok()?,
            low: u64::from_str_radix(&digits[16..], 16).ok()?,
        })
    }

    /// The id as bytes, for hashing into other ids.
    pub fn to_bytes(self) -> [u8; 16] {
        ((u128::from(self.high) << 64) | u128::from(self.low)).to_be_bytes()
    }

    /// The lower half, for hash tables that need no second hash.
    pub fn low(self) -> u64 {
        self.low
    }

    /// The first digits: enough for a name.
    pub fn short(self) -> String {
        let mut digits = format!("{self:?}");
        digits.truncate(12);
        digits
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.high, self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    #[test]
    fn text_form_round_trips_and_refuses_others() {
        let id = Id::of(&[b"a", b"b"]);
        assert_eq!(Id::parse(&id.show('r'), 'r'), Some(id));
        assert_eq!(Id::parse(&id.show('r'), 's'), None);
        assert_eq!(Id::parse("r12", 'r'), None);
        assert_eq!(Id::parse(&id.show('r').to_uppercase(), 'r'), None);
    }

    #[test]
    fn short_and_long_parts_are_hashed_alike() {
        let text = [b'x'; 300];
        for len in [0, 1, 16, 100, 231, 232, 233, 240, 300] {
            let parts: [&[u8]; 3] = [b"step", b"", &text[..len]];
            assert_eq!(Id::of(&parts), Id::of_long(&parts), "{len}");
        }
    }

    #[test]
    fn parts_are_not_concatenated() {
        assert_ne!(Id::of(&[b"ab", b"c"]), Id::of(&[b"a", b"bc"]));
    }
}
