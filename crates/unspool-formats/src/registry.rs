//! Who gets a stream.

use crate::format::{Format, Sniff};
use crate::formats::FORMATS;
use unspool_model::{Batch, Claim, Code};

/// How much of a stream formats may look at to decide.
pub const SNIFF_BYTES: usize = 64 << 10;

/// How much of it they look at first.
const PEEK_BYTES: usize = 4 << 10;

/// A claim this good ends the search, and one this good need not be compared with others.
const CERTAIN: u8 = 95;
const SURE: u8 = 100;

/// A stream's name without the ending that only says how its bytes were packed.
pub fn plain_name(name: &str) -> &str {
    name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name)
}

type Claimed = (&'static dyn Format, Sniff);

/// Every format's claim, best first.
pub fn scores(name: &str, head: &[u8]) -> Vec<Claimed> {
    let ask = |head: &[u8]| {
        let mut claims: Vec<_> = claims(name, head).collect();
        claims.sort_by_key(|(_, sniff)| std::cmp::Reverse(sniff.score));
        claims
    };
    look(head, ask, |claims| claims.first().copied())
}

fn claims<'a>(name: &'a str, head: &'a [u8]) -> impl Iterator<Item = Claimed> + 'a {
    FORMATS.iter().map(move |format| (*format, format.sniff(plain_name(name), head)))
}

/// Most streams say what they are in their first lines; the others are looked at more closely.
fn look<T>(head: &[u8], ask: impl Fn(&[u8]) -> T, best: impl Fn(&T) -> Option<Claimed>) -> T {
    // A byte order mark may open a file; it says nothing about the format.
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    if let Some(peek) = head.get(..PEEK_BYTES) {
        let asked = ask(peek);
        if best(&asked).is_some_and(|(_, sniff)| sniff.score >= CERTAIN) {
            return asked;
        }
    }
    ask(head)
}

/// The format that gets a stream; who claimed it is noted in the batch, and a stream without one with the reason.
pub fn claim(batch: &mut Batch, name: &str, head: &[u8]) -> Option<Claimed> {
    let mut claims = scores(name, head).into_iter().filter(|(_, sniff)| sniff.score > 0);
    let (claim, rival) = (claims.next(), claims.next());
    let mut named = |claim: &Option<Claimed>| {
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
pub fn best(name: &str, head: &[u8]) -> Option<Claimed> {
    let opens = |format: &&&dyn Format| !format.opening().is_empty() && head.starts_with(format.opening());
    if let Some(format) = FORMATS.iter().find(opens) {
        return Some((*format, format.sniff(plain_name(name), head)));
    }
    let ask = |head: &[u8]| {
        let mut best: Option<Claimed> = None;
        for claim in claims(name, head) {
            if claim.1.score == SURE {
                return Some(claim);
            }
            best = best.filter(|(_, known)| known.score >= claim.1.score).or(Some(claim));
        }
        best
    };
    look(head, ask, |best| *best).filter(|(_, sniff)| sniff.score > 0)
}
