//! Who gets a stream.

use crate::format::{Format, Sniff};
use crate::formats::FORMATS;
use unspool_model::{Batch, Claim, Code};

/// How much of a stream formats may look at to decide.
pub const SNIFF_BYTES: usize = 64 << 10;

/// How much of it they look at first.
const PEEK_BYTES: usize = 4 << 10;

/// A claim this good ends the search.
const CERTAIN: u8 = 95;

/// A stream's name without the ending that only says how its bytes were packed.
pub fn plain_name(name: &str) -> &str {
    name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name)
}

/// Every format's claim, best first.
pub fn scores(name: &str, head: &[u8]) -> Vec<(&'static dyn Format, Sniff)> {
    // A byte order mark may open a file; it says nothing about the format.
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let ask = |head: &[u8]| {
        let mut claims: Vec<_> =
            FORMATS.iter().map(|format| (*format, format.sniff(plain_name(name), head))).collect();
        claims.sort_by_key(|(_, sniff)| std::cmp::Reverse(sniff.score));
        claims
    };
    // Most streams say what they are in their first lines; the others are looked at more closely.
    if let Some(peek) = head.get(..PEEK_BYTES) {
        let claims = ask(peek);
        if claims.first().is_some_and(|(_, sniff)| sniff.score >= CERTAIN) {
            return claims;
        }
    }
    ask(head)
}

/// The format that gets a stream; who claimed it is noted in the batch, and a stream without one with the reason.
pub fn claim(batch: &mut Batch, name: &str, head: &[u8]) -> Option<(&'static dyn Format, Sniff)> {
    let mut claims = scores(name, head).into_iter().filter(|(_, sniff)| sniff.score > 0);
    let (claim, rival) = (claims.next(), claims.next());
    let mut named = |claim: &Option<(&'static dyn Format, Sniff)>| {
        let id = claim.map(|(format, sniff)| (format.descriptor().id, sniff.score));
        id.map_or_else(Default::default, |(id, score)| (batch.text.intern(id), score))
    };
    let ((format, score), (rival, rival_score)) = (named(&claim), named(&rival));
    batch.claims.push(Claim { format, score, rival, rival_score });
    if claim.is_none() {
        let blank = head.iter().all(u8::is_ascii_whitespace);
        let name = batch.text.intern(name);
        let code = if blank { Code::EmptyFile } else { Code::UnknownFormat };
        batch.issues.add(code, name, u32::MAX, None);
    }
    claim
}

/// The format with the best claim, if any has one.
pub fn best(name: &str, head: &[u8]) -> Option<(&'static dyn Format, Sniff)> {
    scores(name, head).into_iter().next().filter(|(_, sniff)| sniff.score > 0)
}
