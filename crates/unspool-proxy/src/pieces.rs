//! Whether a text is cut, at the end of bytes or into strings of a stream.
//!
//! In: a text and bytes. Out: how much of it stands at their end; whether it may be said in pieces. Both take time in proportion to the bytes,
//! whatever is in them.

use crate::written::may_be_escaped;
use memchr::{memchr, memchr_iter, memmem};

/// When a stream has more places where a text may be cut, it is looked at closely in any case.
const MAX_PLACES: usize = 64;

/// Follows how much of a text stands before a place in bytes (Knuth, Morris and Pratt).
struct Follower<'a> {
    whole: &'a [u8],
    /// Of each beginning, how much of its end is a shorter beginning.
    shorter: Vec<usize>,
    /// How much of it stands before the place.
    begun: usize,
}

impl<'a> Follower<'a> {
    fn new(whole: &'a [u8]) -> Follower<'a> {
        let mut follower = Follower { whole, shorter: vec![0], begun: 0 };
        for byte in whole.iter().skip(1) {
            follower.step(*byte);
            follower.shorter.push(follower.begun);
        }
        follower.begun = 0;
        follower
    }

    fn step(&mut self, byte: u8) {
        while self.begun > 0 && self.whole.get(self.begun) != Some(&byte) {
            self.begun = self.shorter[self.begun - 1];
        }
        self.begun += usize::from(self.whole.get(self.begun) == Some(&byte));
    }

    /// All beginnings that stand before the place and are not the whole text, the longest first.
    fn beginnings(&self) -> impl Iterator<Item = usize> {
        let next = |length: usize| length.checked_sub(1).map(|last| self.shorter[last]);
        let longest = if self.begun == self.whole.len() { next(self.begun) } else { Some(self.begun) };
        std::iter::successors(longest, move |length| next(*length)).take_while(|length| *length > 0)
    }
}

/// How much of a text stands at the end of bytes that end before it does, if it is so much at least.
pub(crate) fn begun(whole: &[u8], bytes: &[u8], least: usize) -> Option<usize> {
    let tail = &bytes[bytes.len().saturating_sub(whole.len().saturating_sub(1))..];
    memmem::find(tail, whole.get(..least)?)?;
    let mut follower = Follower::new(whole);
    for byte in tail {
        follower.step(*byte);
    }
    Some(follower.begun).filter(|length| *length >= least)
}

/// Whether a text may be said in pieces, each a string of its own. It errs on the side of yes.
pub(crate) fn may_be_in_pieces(whole: &[u8], bytes: &[u8]) -> bool {
    let Some(first) = whole.first() else { return false };
    // Where it begins cannot be seen if that is an escape.
    if may_be_escaped(*first) {
        return true;
    }
    let mut follower = Follower::new(whole);
    let (mut at, mut places) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if follower.begun == 0 {
            let Some(next) = memchr(*first, &bytes[at..]) else { return false };
            at += next + 1;
            follower.begun = 1;
            continue;
        }
        let is_cut = |length: usize| match byte {
            b'"' => {
                places += 1;
                places > MAX_PLACES || goes_on(&bytes[at + 1..], &whole[length..])
            }
            // What is written in another way is not followed further.
            b'\\' => may_be_escaped(whole[length]),
            _ => false,
        };
        if matches!(byte, b'"' | b'\\') && follower.beginnings().any(is_cut) {
            return true;
        }
        follower.step(*byte);
        at += 1;
    }
    false
}

/// Whether a string begins with the rest of something, or is a part of it.
fn goes_on(bytes: &[u8], rest: &[u8]) -> bool {
    memchr_iter(b'"', bytes).any(|quote| {
        let behind = &bytes[quote + 1..];
        let same = behind.iter().zip(rest).take_while(|(one, other)| one == other).count();
        match (rest.get(same), behind.get(same)) {
            (None, _) => true,
            (Some(_), Some(b'"')) => same > 0,
            (Some(next), Some(b'\\')) => may_be_escaped(*next),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{begun, may_be_in_pieces};
    use proptest::prelude::*;

    fn event(text: &str) -> String {
        format!("data: {{\"delta\":{{\"text\":\"{text}\"}}}}\n\n")
    }

    #[test]
    fn an_escape_may_hide_where_it_goes_on() {
        let key = "wk-7Yb=Qz'91xA1";
        for escape in
            [["\\u003d", "\\u0027"], ["\\u003D", "\\u0027"], ["=", "\\'"], ["\\\\u003d", "\\\\u0027"]]
        {
            let written = |text: &str| text.replace('=', escape[0]).replace('\'', escape[1]);
            for at in 1..key.len() {
                let stream = [event(&written(&key[..at])), event(&written(&key[at..]))].concat();
                assert!(may_be_in_pieces(key.as_bytes(), stream.as_bytes()), "{at}: {stream}");
            }
        }
        let other = [event("a walk\\n and 7Yb"), event("and more\\u003d")].concat();
        assert!(!may_be_in_pieces(key.as_bytes(), other.as_bytes()));
    }

    #[test]
    fn what_repeats_itself_takes_no_more_time() {
        let (key, text) = (format!("{}b1", "a".repeat(30_000)), "a".repeat(1 << 20));
        let time = std::time::Instant::now();
        assert!(!may_be_in_pieces(key.as_bytes(), text.as_bytes()));
        assert_eq!(begun(key.as_bytes(), text.as_bytes(), 8), Some(30_000));
        assert!(time.elapsed().as_secs() < 20, "{:?}", time.elapsed());
    }

    proptest! {
        #[test]
        fn what_is_begun_is_the_longest_beginning_at_the_end(whole in "[ab]{2,9}", bytes in "[ab]{0,20}") {
            let longest = (2..whole.len()).rev().find(|length| bytes.ends_with(&whole[..*length]));
            prop_assert_eq!(begun(whole.as_bytes(), bytes.as_bytes(), 2), longest);
        }

        #[test]
        fn a_cut_text_is_known_by_its_pieces(whole in "[ab]{3,9}", before in "[ab]{0,9}", at in 1..3_usize) {
            let stream = [event(&format!("{before}{}", &whole[..at])), event(&whole[at..])].concat();
            prop_assert!(may_be_in_pieces(whole.as_bytes(), stream.as_bytes()));
        }
    }
}
