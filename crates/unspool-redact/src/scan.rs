//! Finds secrets in bytes, by the table of kinds.
//!
//! In: bytes that may be cut anywhere and may be JSON. Out: where the next secret lies. A secret never takes a quote or half of an escape with it.

use crate::kinds::{KINDS, Shape, Sort, is_named_so};
use crate::{given, passwords};
use std::ops::Range;

/// A secret.
pub(crate) struct Found {
    pub(crate) kind: &'static str,
    pub(crate) secret: Range<usize>,
}

/// A block that goes on for longer is none: `max_block_bytes`.
const MAX_BLOCK_BYTES: usize = 32 << 10;
/// The shortest thing inside a block that is a key and not talk of one.
const LEAST_BLOCK: usize = 40;
/// Names and users are not longer than this.
pub(crate) const MAX_NAME: usize = 64;
/// What is given to a name without quotes is at least so long.
const LEAST_BARE: usize = 16;
/// What is given to a name, or stands in an address, is not longer than this.
pub(crate) const MAX_VALUE: usize = 512;

/// The next secret that begins at `from` or later.
pub(crate) fn next(bytes: &[u8], from: usize) -> Option<Found> {
    (from..bytes.len()).filter(|at| may_begin(bytes[*at])).find_map(|at| {
        KINDS.iter().find_map(|kind| {
            let secret = find(bytes, at, kind.shape)?;
            (secret.start >= from).then_some(Found { kind: kind.name, secret })
        })
    })
}

/// Whether something of the table may be recognised at such a byte.
fn may_begin(byte: u8) -> bool {
    const fn marked() -> [bool; 256] {
        let mut table = [false; 256];
        let (mut n, marks) = (0, b"-sAyghxrwnpPdSebBtT:=");
        while n < marks.len() {
            table[marks[n] as usize] = true;
            n += 1;
        }
        table
    }
    const MARKED: [bool; 256] = marked();
    MARKED[usize::from(byte)]
}

fn find(bytes: &[u8], at: usize, shape: Shape) -> Option<Range<usize>> {
    match shape {
        Shape::Begins { with, then, least } => begins(bytes, at, with, then, least),
        Shape::Follows { what, then, least } => follows(bytes, at, what, then, least),
        Shape::Block { name } => block(bytes, at, name),
        Shape::WebToken => web_token(bytes, at),
        Shape::InAddress => in_address(bytes, at),
        Shape::Named { least } => named(bytes, at, least),
        Shape::Flag { least } => given::flag(bytes, at, least),
        Shape::Cookie => given::cookie(bytes, at),
        Shape::Password => passwords::password(bytes, at),
        Shape::InQuery => passwords::in_query(bytes, at),
    }
}

/// How many bytes from there on are like that.
pub(crate) fn run(bytes: &[u8], from: usize, is_it: impl Fn(u8) -> bool) -> usize {
    bytes.get(from..).map_or(0, |rest| rest.iter().take_while(|byte| is_it(**byte)).count())
}

/// The same for what may be a value: one that is longer than any is counted as one byte too long, and no further. Names may stand inside what
/// follows others (`key=key=key=…`), and each of them would be followed to the end.
pub(crate) fn value_run(bytes: &[u8], from: usize, is_it: impl Fn(u8) -> bool) -> usize {
    run(&bytes[..bytes.len().min(from + MAX_VALUE + 1)], from, is_it)
}

/// Whether a word may begin here: behind nothing, behind what is no part of a word, behind an escape of JSON, or behind the length of a
/// string in bytes that are no text, which any byte may be; what stands before a length is no letter.
fn is_start(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|n| bytes[n]) else { return true };
    let is_inside = before.is_ascii_alphanumeric() || matches!(before, b'_' | b'-' | b'+' | b'/');
    let has = |back: usize, text: &[u8]| at.checked_sub(back).is_some_and(|n| bytes[n..].starts_with(text));
    let is_length = at.checked_sub(2).is_some_and(|n| is_no_text(bytes[n]));
    !is_inside || is_length || (has(2, b"\\") && b"nrtbf".contains(&before)) || has(6, b"\\u")
}

fn is_no_text(byte: u8) -> bool {
    !byte.is_ascii() || (byte.is_ascii_control() && !byte.is_ascii_whitespace()) || byte == b'\n'
}

pub(crate) fn has_digit(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit)
}

fn begins(bytes: &[u8], at: usize, with: &[&str], then: Sort, least: usize) -> Option<Range<usize>> {
    let start = with.iter().find(|with| bytes[at..].starts_with(with.as_bytes()))?;
    if !is_start(bytes, at) {
        return None;
    }
    let body = at + start.len();
    // Some go on behind a dot, where another one may begin (`SG.SG.SG.…`): what has no digit by then is not followed to its end.
    let near = value_run(bytes, body, |byte| then.has(byte));
    if near > MAX_VALUE && !has_digit(&bytes[body..body + near]) {
        return None;
    }
    let count = run(bytes, body, |byte| then.has(byte));
    let end = body + count;
    let fits = if then == Sort::Capitals {
        count == least && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric)
    } else {
        count >= least && has_digit(&bytes[body..end])
    };
    fits.then_some(at..end)
}

fn follows(bytes: &[u8], at: usize, what: &[&str], then: Sort, least: usize) -> Option<Range<usize>> {
    let is_here = |what: &&&str| {
        bytes.get(at..at + what.len()).is_some_and(|here| here.eq_ignore_ascii_case(what.as_bytes()))
    };
    let start = at + what.iter().find(is_here)?.len();
    let end = start + run(bytes, start, |byte| then.has(byte));
    (is_start(bytes, at) && end - start >= least && has_digit(&bytes[start..end])).then_some(start..end)
}

fn block(bytes: &[u8], at: usize, name: &str) -> Option<Range<usize>> {
    let behind = |at: usize, text: &[u8]| bytes[at..].starts_with(text).then_some(at + text.len());
    let title = behind(at, b"-----BEGIN ")?;
    let is_title = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let title_end = title + run(bytes, title, is_title);
    let body = behind(title_end, b"-----")?;
    if !bytes[title..title_end].windows(name.len()).any(|part| part == name.as_bytes()) {
        return None;
    }
    // Base64 and headers, and line ends as they are or escaped, once or twice.
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\ \r\n\t:,.".contains(&byte);
    let inside = run(bytes, body, is_inside);
    if !(LEAST_BLOCK..=MAX_BLOCK_BYTES).contains(&inside) {
        return None;
    }
    let body_end = body + inside;
    let ended = behind(body_end, b"-----END ")
        .and_then(|title| behind(title + run(bytes, title, is_title), b"-----"));
    // Where it is cut off, half of an escape must not go with it.
    let escapes = bytes[body..body_end].iter().rev().take_while(|byte| **byte == b'\\').count();
    Some(at..ended.unwrap_or(body_end - escapes))
}

fn web_token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let part = |from: usize| run(bytes, from, |byte| Sort::Token.has(byte));
    if !bytes[at..].starts_with(b"eyJ") || !is_start(bytes, at) {
        return None;
    }
    let mut end = at;
    for least in [12, 4, 12] {
        let length = part(end);
        let dot = usize::from(least != 12 || end == at);
        if length < least || (dot == 1 && bytes.get(end + length) != Some(&b'.')) {
            return None;
        }
        end += length + dot;
    }
    Some(at..end)
}

fn in_address(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let user = bytes[at..].starts_with(b"://").then_some(at + 3)?;
    let is_plain =
        |byte: u8| !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"/@:\"'`\\<>".contains(&byte);
    let name = run(bytes, user, is_plain);
    let secret = user + name + 1;
    if name > MAX_NAME || bytes.get(secret - 1) != Some(&b':') {
        return None;
    }
    let length = run(bytes, secret, |byte| is_plain(byte) || byte == b':');
    let end = secret + length;
    let is_given = (1..=MAX_VALUE).contains(&length) && bytes.get(end) == Some(&b'@');
    (is_given && !is_placeholder(&bytes[secret..end])).then_some(secret..end)
}

/// Whether something stands for a value that is filled in elsewhere, or was masked before.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    value.first().is_some_and(|first| b"${<[*%(".contains(first))
}

/// The name before a `:` or `=` that is here, and where what it names begins: behind blanks, and behind quotes, which may be escaped.
pub(crate) struct Named {
    pub(crate) name: Range<usize>,
    pub(crate) start: usize,
    pub(crate) is_quoted: bool,
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'\\')
}

pub(crate) fn name_at(bytes: &[u8], at: usize) -> Option<Named> {
    if !matches!(bytes[at], b'=' | b':') {
        return None;
    }
    let back = |from: usize, is_it: &dyn Fn(u8) -> bool| {
        from - bytes[..from].iter().rev().take_while(|byte| is_it(**byte)).count()
    };
    let name_end = back(back(at, &|byte| byte == b' '), &is_quote);
    let name_start = back(name_end, &|byte| Sort::Token.has(byte)).max(name_end.saturating_sub(MAX_NAME));
    // The letter of an escaped line end is no part of a name.
    let is_escape =
        name_start < name_end && bytes[..name_start].ends_with(b"\\") && b"nrt".contains(&bytes[name_start]);
    let blanks = at + 1 + run(bytes, at + 1, |byte| byte == b' ');
    let start = blanks + run(bytes, blanks, is_quote);
    Some(Named { name: name_start + usize::from(is_escape)..name_end, start, is_quoted: start > blanks })
}

fn named(bytes: &[u8], at: usize, least: usize) -> Option<Range<usize>> {
    let Named { name, start, is_quoted } = name_at(bytes, at)?;
    let name = &bytes[name];
    if !is_named_so(name) {
        return None;
    }
    let is_value = |byte: u8| byte.is_ascii_graphic() && !b"\"'`\\,;(){}[]<>&|".contains(&byte);
    let length = value_run(bytes, start, is_value);
    let value = &bytes[start..start + length];
    let is_call = bytes.get(start + length).is_some_and(|byte| b"([{".contains(byte));
    // In a program a name is followed by types and other names; values are quoted there, or the name is one of the environment.
    let is_shouted = !name.iter().any(u8::is_ascii_lowercase);
    let is_given = is_quoted || is_shouted || is_no_name(value);
    let is_secret = (least..=MAX_VALUE).contains(&length)
        && value.iter().any(u8::is_ascii_alphabetic)
        && has_digit(value)
        && is_given
        && !is_call
        && !is_placeholder(value);
    is_secret.then_some(start..start + length)
}

/// Whether something is too long and mixed to be a name in a program.
fn is_no_name(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    value.len() >= LEAST_BARE && digits >= 3 && !value.contains(&b'.')
}
