//! Secrets as commands and requests are given them: `--api-key VALUE`, `Cookie: NAME=VALUE`.
//!
//! In: bytes, and where to look. Out: where a value lies.

use crate::kinds::{Sort, is_named_so};
use crate::scan::{MAX_NAME, MAX_VALUE, Named, has_digit, is_placeholder, name_at, run, value_run};
use std::ops::Range;

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'\\')
}

/// What follows the flag that begins here, in a line or as the next of a list.
pub(crate) fn flag(bytes: &[u8], at: usize, least: usize) -> Option<Range<usize>> {
    let is_inside = at.checked_sub(1).is_some_and(|before| Sort::Token.has(bytes[before]));
    if !bytes[at..].starts_with(b"--") || is_inside {
        return None;
    }
    let length = run(&bytes[..bytes.len().min(at + MAX_NAME)], at, |byte| Sort::Token.has(byte));
    let name_end = at + length;
    if !is_named_so(&bytes[at..name_end]) {
        return None;
    }
    let blanks = |from: usize| from + run(bytes, from, |byte| byte == b' ');
    let behind = name_end + run(bytes, name_end, is_quote);
    let next = blanks(behind + usize::from(behind > name_end && bytes.get(behind) == Some(&b',')));
    let start = next + run(bytes, next, is_quote);
    if start == name_end {
        return None;
    }
    let is_value = |byte: u8| byte.is_ascii_graphic() && !b"\"'`\\,;(){}[]<>&|".contains(&byte);
    let length = value_run(bytes, start, is_value);
    let value = &bytes[start..start + length];
    // Files and settings (`--secret id=one,src=two`) begin otherwise, or have a name inside.
    let filling = value.iter().rev().take_while(|byte| **byte == b'=').count();
    let inside = &value[..length - filling];
    let is_secret = (least..=MAX_VALUE).contains(&length)
        && value[0].is_ascii_alphanumeric()
        && value.iter().any(u8::is_ascii_alphabetic)
        && has_digit(value)
        && !inside.iter().any(|byte| matches!(byte, b'=' | b':'));
    is_secret.then_some(start..start + length)
}

/// What the header holds whose colon is here: all that a client sends, and the first that a server sets, behind which stands what holds for it.
/// However long it is, it is taken whole, so that nothing is looked at twice.
pub(crate) fn cookie(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    if bytes[at] != b':' {
        return None;
    }
    let Named { name, start, .. } = name_at(bytes, at)?;
    let name = bytes[name].to_ascii_lowercase();
    if !name.ends_with(b"cookie") {
        return None;
    }
    let is_one = name.ends_with(b"set-cookie");
    let is_name = |byte: u8| Sort::Token.has(byte) || byte == b'.';
    let key = run(bytes, start, is_name);
    let value = start + key + 1;
    if !(1..=MAX_NAME).contains(&key) || bytes.get(value - 1) != Some(&b'=') {
        return None;
    }
    let is_value = |byte: u8| byte.is_ascii_graphic() && !is_quote(byte) && !(is_one && byte == b';');
    let mut end = value;
    loop {
        end += run(bytes, end, is_value);
        let goes_on = !is_one && bytes[..end].ends_with(b";") && bytes.get(end) == Some(&b' ');
        if !goes_on || !bytes.get(end + 1).is_some_and(|byte| is_value(*byte)) {
            break;
        }
        end += 1;
    }
    (end > value && !is_placeholder(&bytes[value..])).then_some(value..end)
}
