//! What a caller proved itself with, wherever else it is said.
//!
//! In: the secrets of a request, and bytes that may repeat them: an API names a wrong key in its error, a tool that shows its environment
//! puts one into a prompt. Out: the same bytes with something else in the place of each, as long as they were. Never here: what only
//! looks like a secret.

use crate::pieces;
use crate::room::Loss;
use crate::written::{meant, written};
use memchr::memmem;
use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What is shorter, or a number that is not longer than any, is not looked for.
const LEAST: usize = 4;
/// What has letters and digits and is so long is a secret wherever it stands, and so is anything of the second length.
const LEAST_MIXED: usize = 8;
const LEAST_ANY: usize = 20;
/// Anything else may be a word (`none`, `ollama`), and is a secret only where it stands alone, and one of these so near before it.
const NEAR: usize = 32;
const SAYING: [&[u8]; 8] =
    [b"key", b"token", b"secret", b"password", b"credential", b"auth", b"bearer", b"cookie"];
/// Of a secret that is cut off at the end of a body, so much gives it away.
const LEAST_BEGUN: usize = 8;

/// Everything that is recorded is looked through for each of them: a request has no more than this, `max_secrets`.
const MAX_SECRETS: usize = 64;
/// They have no more bytes than this, all together: `max_secret_bytes`.
const MAX_SECRET_BYTES: usize = 64 << 10;

/// The secrets of a request. They show nothing of themselves.
#[derive(Clone, Default)]
pub struct Secrets {
    all: Arc<[Secret]>,
    beyond: Option<Loss>,
}

struct Secret {
    /// It, and what it says in a query.
    meant: Vec<String>,
    /// It, and how else it may be written.
    written: Vec<String>,
    /// What stands in its place where there is room for it.
    tag: String,
    /// It is one wherever it stands.
    is_sure: bool,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.all.len())
    }
}

/// Whether a text is no word: it is long, or of more than letters.
pub(crate) fn is_sure(text: &str) -> bool {
    let has = |is_it: fn(&u8) -> bool| text.as_bytes().iter().any(is_it);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    text.len() >= LEAST_ANY || (text.len() >= LEAST_MIXED && is_mixed)
}

impl Secrets {
    /// Of texts; `tag` says what is to stand in the place of one. What is beyond a limit is not looked for.
    pub(crate) fn new(mut texts: Vec<String>, tag: impl Fn(&str) -> String) -> Secrets {
        texts.retain(|text| {
            is_sure(text) || (text.len() >= LEAST && text.bytes().any(|byte| byte.is_ascii_alphabetic()))
        });
        texts.sort();
        texts.dedup();
        let beyond = if texts.len() > MAX_SECRETS {
            Some(Loss::ManySecrets)
        } else {
            let bytes = texts.iter().map(String::len).sum::<usize>();
            (bytes > MAX_SECRET_BYTES).then_some(Loss::LongSecrets)
        };
        let looked_for = texts.iter().filter(|_| beyond.is_none());
        Secrets { all: looked_for.map(|text| Secret::new(text, tag(text))).collect(), beyond }
    }

    /// Why they are not looked for, if they are not. Nothing that may say one may be kept then.
    pub(crate) fn beyond(&self) -> Option<Loss> {
        self.beyond
    }

    /// How many bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        let each = |secret: &Secret| {
            let texts = secret.meant.iter().chain(&secret.written).chain([&secret.tag]);
            size_of::<Secret>() + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>()
        };
        self.all.iter().map(each).sum()
    }

    /// Bytes without them, as long as they were; none when none is among them.
    pub fn hide(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let spots = self.spots(bytes);
        if spots.is_empty() {
            return None;
        }
        let mut safe = bytes.to_vec();
        for (Range { start, end }, secret) in spots {
            // A number of JSON becomes a string.
            let is_number = bytes[start..end].iter().all(u8::is_ascii_digit) && is_value(bytes, start..end);
            let place = &mut safe[start..end];
            place.fill(b'*');
            match place {
                [first, .., last] if is_number => (*first, *last) = (b'"', b'"'),
                _ => {
                    if let Some(tagged) = place.get_mut(..secret.tag.len()) {
                        tagged.copy_from_slice(secret.tag.as_bytes());
                    }
                }
            }
        }
        Some(safe)
    }

    /// A text without them, in words that may be shorter or longer; none when none is in it.
    pub(crate) fn hide_text(&self, text: &str) -> Option<String> {
        let mut safe = String::new();
        let mut done = 0;
        for (Range { start, end }, secret) in self.spots(text.as_bytes()) {
            // Bytes of a secret are whole characters of the text, but for one that is cut off.
            safe.push_str(text.get(done..start)?);
            safe.push_str(&secret.tag);
            done = end;
        }
        safe.push_str(text.get(done..)?);
        (done > 0).then_some(safe)
    }

    /// Where they are, in order and apart.
    fn spots(&self, bytes: &[u8]) -> Vec<(Range<usize>, &Secret)> {
        let mut found: Vec<(Range<usize>, &Secret)> = Vec::new();
        for secret in self.all.iter() {
            for written in &secret.written {
                let all = memmem::find_iter(bytes, written).map(|start| start..start + written.len());
                found.extend(
                    all.filter(|range| secret.is_sure || is_said(bytes, range)).map(|range| (range, secret)),
                );
            }
            found.extend(secret.begun(bytes).map(|range| (range, secret)));
        }
        found.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut end = 0;
        for (range, _) in &mut found {
            range.start = range.start.max(end);
            end = end.max(range.end);
        }
        found.retain(|(range, _)| !range.is_empty());
        found
    }

    /// Whether one may be said in pieces, each a string of its own. It errs on the side of yes.
    pub fn may_be_in_pieces(&self, bytes: &[u8]) -> bool {
        let sure = self.all.iter().filter(|secret| secret.is_sure).flat_map(|secret| &secret.meant);
        sure.into_iter().any(|text| pieces::may_be_in_pieces(text.as_bytes(), bytes))
    }
}

impl Secret {
    fn new(text: &str, tag: String) -> Secret {
        let meant = meant(text);
        let mut written: Vec<String> = meant.iter().flat_map(|text| written(text)).collect();
        written.retain(|one| one.len() >= LEAST);
        written.sort();
        written.dedup();
        Secret { meant, written, tag, is_sure: is_sure(text) }
    }

    /// The end of bytes, where it begins and is cut off.
    fn begun(&self, bytes: &[u8]) -> Option<Range<usize>> {
        let all = self.written.iter().filter(|_| self.is_sure);
        let length = all.filter_map(|one| pieces::begun(one.as_bytes(), bytes, LEAST_BEGUN)).max()?;
        Some(bytes.len() - length..bytes.len())
    }
}

/// Whether something stands alone, and near behind a word that says what it is.
fn is_said(bytes: &[u8], range: &Range<usize>) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let (before, behind) = (&bytes[..range.start], &bytes[range.end..]);
    if before.last().is_some_and(is_part) || behind.first().is_some_and(is_part) {
        return false;
    }
    let near = &before[before.len().saturating_sub(NEAR)..];
    // Another field of JSON says nothing about this one.
    let is_end = |at: &usize| match near[*at] {
        b',' => near.get(at + 1) == Some(&b'"') || (*at > 0 && near[at - 1] == b'"'),
        byte => b"{}[]\n".contains(&byte),
    };
    let from = (0..near.len()).rev().find(is_end).map_or(0, |at| at + 1);
    let near = near[from..].to_ascii_lowercase();
    SAYING.iter().any(|word| memmem::find(&near, word).is_some())
}

/// Whether something is a value of JSON by itself, and no part of a string.
fn is_value(bytes: &[u8], range: Range<usize>) -> bool {
    let before = bytes[..range.start].trim_ascii_end().last();
    let behind = bytes[range.end..].trim_ascii_start().first();
    before.is_some_and(|byte| b":,[".contains(byte)) && behind.is_some_and(|byte| b",]}".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::{Loss, Secrets};

    const KEY: &str = "wk-7Yb/Qz+91xA=";

    fn secrets(texts: &[&str]) -> Secrets {
        let texts = texts.iter().map(|text| (*text).into()).collect();
        Secrets::new(texts, |_| "masked:0011223344556677".into())
    }

    fn hidden(of: &Secrets, text: &str) -> String {
        let safe =
            of.hide(text.as_bytes()).map_or_else(|| text.into(), |safe| String::from_utf8(safe).unwrap());
        assert_eq!(safe.len(), text.len(), "as long as it was");
        safe
    }

    #[test]
    fn a_key_is_found_however_it_is_written() {
        let of = secrets(&[KEY]);
        for said in [
            KEY.to_string(),
            format!(r#"{{"error":"Incorrect API key provided: {KEY}."}}"#),
            r#"{"error":"wk-7Yb\/Qz+91xA= is no key"}"#.into(),
            "next=wk-7Yb%2FQz%2B91xA%3D&a=b".into(),
            "next=wk-7Yb%2fQz%2b91xA%3d&a=b".into(),
            r#"{"error":"wk-7Yb/Qz+91xA\u003d is no key"}"#.into(),
            r#"{"error":"wk-7Yb/Qz+91xA\u003D is no key"}"#.into(),
            r#"{"error":"wk-7Yb/Qz\u002B91xA= is no key"}"#.into(),
            r#"{"arguments":"{\"key\":\"wk-7Yb\\/Qz+91xA=\"}"}"#.into(),
        ] {
            let safe = hidden(&of, &said);
            assert!(safe.contains("*****") && !safe.contains("7Yb") && !safe.contains("91xA"), "{safe}");
        }
        assert_eq!(of.hide(b"wk-7Yb and others"), None);
    }

    #[test]
    fn what_is_long_enough_says_whose_it_was() {
        let long = "sk-test-0123456789abcdefghijklmnop";
        let of = secrets(&[long]);
        assert_eq!(hidden(&of, &format!("<{long}>")), "<masked:0011223344556677***********>");
        assert_eq!(of.hide_text(&format!("<{long}>")).unwrap(), "<masked:0011223344556677>");
        assert_eq!(of.hide_text("nothing"), None);
    }

    /// Whoever says `none` to an API that asks for no key does not want the word masked in every prompt.
    #[test]
    fn a_word_is_a_secret_only_where_it_is_said_to_be_one() {
        let of = secrets(&["ollama", "none", "abc"]);
        assert_eq!(of.hide(b"ask ollama, none of the others"), None);
        assert_eq!(of.hide(b"the API key of ollamas and ollama-x"), None);
        assert_eq!(of.hide(b"Invalid API key: abc"), None, "too short to be looked for");
        assert_eq!(hidden(&of, "Invalid API key: ollama"), "Invalid API key: ******");
        assert_eq!(secrets(&["100000"]).hide(br#"{"max_tokens":100000}"#), None, "a number is none");
        let fields =
            br#"{"max_tokens":9,"model":"m","tool_tokens": [], "messages":[{"role":"user","content":"x"}]}"#;
        assert_eq!(secrets(&["user", "model", "role", "content"]).hide(fields), None, "nor are other fields");
        assert_eq!(hidden(&of, r#"{"a":1,"api_key":"none"}"#), r#"{"a":1,"api_key":"****"}"#);
        assert_eq!(hidden(&of, r#"{"Authorization":"Bearer none"}"#), r#"{"Authorization":"Bearer ****"}"#);
    }

    #[test]
    fn what_was_json_stays_json() {
        let of = secrets(&["1234567890123456789012"]);
        let safe = hidden(&of, r#"{"a": 1234567890123456789012, "b": "x1234567890123456789012"}"#);
        assert_eq!(safe, r#"{"a": "********************", "b": "x**********************"}"#);
        assert!(serde_json::from_str::<serde_json::Value>(&safe).is_ok());
    }

    #[test]
    fn one_that_is_cut_off_at_the_end_is_hidden_as_far_as_it_goes() {
        let of = secrets(&[KEY]);
        assert_eq!(hidden(&of, "the key is wk-7Yb/Qz"), "the key is *********");
        assert_eq!(of.hide(b"the key is wk-7Y"), None);
        assert_eq!(hidden(&of, r"the key is wk-7Yb/Qz+91xA\u0"), "the key is *****************");
    }

    #[test]
    fn more_than_can_be_looked_for_is_told_and_what_they_take_is_known() {
        let many = |count: usize| {
            let texts = (0..count).map(|n| format!("key-{n:05}")).collect();
            Secrets::new(texts, |_| "masked:0011223344556677".into())
        };
        assert_eq!((many(64).beyond(), many(65).beyond()), (None, Some(Loss::ManySecrets)));
        assert_eq!(secrets(&["none"; 1000]).beyond(), None, "equal ones are one");
        let long = "a1".repeat(32 << 10);
        assert_eq!(
            (secrets(&[&long]).beyond(), secrets(&[&long, KEY]).beyond()),
            (None, Some(Loss::LongSecrets))
        );
        assert_eq!(Secrets::default().bytes(), 0);
        assert!(secrets(&[&long]).bytes() > long.len() && many(64).bytes() > 64 * "key-00000".len());
    }

    #[test]
    fn places_where_it_may_be_cut_are_known() {
        let of = secrets(&[KEY]);
        let event = |text: &str| format!("data: {{\"delta\":{{\"text\":\"{text}\"}}}}\n\n");
        for at in 1..KEY.len() {
            let stream = [event(&KEY[..at]), event("other"), event(&KEY[at..])].concat();
            assert!(of.may_be_in_pieces(stream.as_bytes()), "{at}");
        }
        let each: String = KEY.chars().map(|c| event(&c.to_string())).collect();
        assert!(of.may_be_in_pieces(each.as_bytes()));
        let none = [event("wk"), event("and more"), event("of it")].concat();
        assert!(!of.may_be_in_pieces(none.as_bytes()));
    }
}
