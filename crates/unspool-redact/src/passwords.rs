//! Passwords where people and forms write them: `password: hunter2`, `my password is hunter2`, `--password hunter2`, `user=a&password=b`.
//!
//! In: bytes, and where to look. Out: where a value lies. Most of what follows the word is prose, a type or the name of something else, so what is
//! taken for a password has to look made up, unless a form or a query says that it is the value of that name.

use crate::kinds::Sort;
use crate::names::is_secret_name;
use crate::scan::{MAX_NAME, MAX_VALUE, has_digit, is_placeholder, run, value_run};
use std::ops::Range;

/// Words that a password is called by. `pwd` is a folder more often.
const NAMES: [&str; 4] = ["password", "passphrase", "passcode", "passwd"];
/// Words between the name and what it is.
const VERBS: [&str; 3] = ["is ", "was ", "to "];
/// What follows the name and has digits without being one: how it is kept, and of which type it is.
const NO_VALUES: [&str; 21] = [
    "base64", "base32", "sha1", "sha2", "sha3", "sha5", "md5", "utf8", "utf16", "bcrypt", "argon2", "pbkdf2",
    "scrypt", "oauth", "uint", "int8", "int16", "int32", "int64", "float", "bytes32",
];
const LEAST_BARE: usize = 6;
const LEAST_QUOTED: usize = 4;
/// What a query calls by a name that says less than `password` has to be so long, and of letters and digits.
const LEAST_IN_QUERY: usize = 8;

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}

fn begins(bytes: &[u8], at: usize, word: &str) -> bool {
    bytes.get(at..at + word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()))
}

/// What follows the name of a password that begins here, if it is one.
pub(crate) fn password(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let name = NAMES.iter().find(|name| begins(bytes, at, name))?;
    let end = at + name.len();
    let end = end + run(bytes, end, |byte| byte.is_ascii_digit());
    // `passwords` and `password_hash` are other things.
    if bytes.get(end).is_some_and(|byte| Sort::Token.has(*byte)) {
        return None;
    }
    if let Some(value) = of_part(bytes, at, end).or_else(|| in_query(bytes, end)) {
        return Some(value);
    }
    let start = value_start(bytes, at, end)?;
    let quotes = run(bytes, start, is_quote);
    let is_value = |byte: u8| byte.is_ascii_graphic() && !is_quote(byte);
    if quotes > 0 {
        let inside = start + quotes..start + quotes + value_run(bytes, start + quotes, is_value);
        if bytes.get(inside.end).is_some_and(|byte| is_quote(*byte)) {
            return Some(inside).filter(|range| is_made_up(&bytes[range.clone()]));
        }
    }
    bare(bytes, start + quotes)
}

/// The value in a part of a form that has several.
fn of_part(bytes: &[u8], name: usize, name_end: usize) -> Option<Range<usize>> {
    let before = bytes[..name].iter().rev().take_while(|byte| Sort::Token.has(**byte)).count();
    let is_part = bytes[..name - before].ends_with(b"name=\"");
    bytes.get(name_end..)?.strip_prefix(b"\"\r\n\r\n").filter(|_| is_part)?;
    let start = name_end + 5;
    let length = run(bytes, start, |byte| byte != b'\r' && byte != b'\n');
    ((1..=MAX_VALUE).contains(&length) && !is_placeholder(&bytes[start..])).then_some(start..start + length)
}

/// Where a value may begin behind the name of one: behind `:` or `=`, behind a verb, behind a blank if the name is that of a flag.
fn value_start(bytes: &[u8], name: usize, name_end: usize) -> Option<usize> {
    let blanks = |from: usize| from + run(bytes, from, |byte| byte == b' ');
    let behind = blanks(name_end + run(bytes, name_end, is_quote));
    if matches!(bytes.get(behind), Some(b':' | b'=')) {
        return Some(blanks(behind + run(bytes, behind, |byte| matches!(byte, b':' | b'=' | b'>'))));
    }
    if bytes.get(name_end) != Some(&b' ') {
        return None;
    }
    if let Some(verb) = VERBS.iter().find(|verb| begins(bytes, behind, verb)) {
        return Some(blanks(behind + verb.len()));
    }
    let before = bytes[..name].iter().rev().take_while(|byte| Sort::Token.has(**byte)).count();
    bytes[name - before..name].starts_with(b"--").then_some(behind)
}

/// A value without quotes.
fn bare(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let is_value = |byte: u8| byte.is_ascii_graphic() && !is_quote(byte) && !b",;(){}[]<>&|".contains(&byte);
    let end = start + value_run(bytes, start, is_value);
    let is_call = bytes.get(end).is_some_and(|byte| b"([{".contains(byte));
    let said = Some(&bytes[start..end]).filter(|said| said.len() <= MAX_VALUE)?;
    let sentence_end = said.iter().rev().take_while(|byte| b".!?:".contains(byte)).count();
    let value = &said[..said.len() - sentence_end];
    let is_name = value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    // The name of another one, in a program.
    let lower = value.to_ascii_lowercase();
    let is_of_program = is_name && lower.windows(4).any(|part| part == b"pass");
    let is_secret = value.len() >= LEAST_BARE
        && is_mixed(value)
        && !value.iter().any(|byte| b"./:=".contains(byte))
        && !is_call
        && !is_of_program
        // A number of JSON.
        && !value.iter().all(|byte| byte.is_ascii_digit() || b"+-eE".contains(byte))
        && !is_otherwise_known(value);
    is_secret.then(|| start..start + value.len())
}

fn is_mixed(value: &[u8]) -> bool {
    has_digit(value) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a value in quotes is no word and no label.
fn is_made_up(value: &[u8]) -> bool {
    let label_end = value.iter().rev().take_while(|byte| b".!?:*".contains(byte)).count();
    let inside = &value[..value.len() - label_end];
    let is_odd = |byte: &u8| byte.is_ascii_digit() || b"!@#$%^&*?+~".contains(byte);
    (LEAST_QUOTED..=MAX_VALUE).contains(&value.len())
        && inside.iter().any(is_odd)
        && inside.first() != Some(&b'@')
        && !is_otherwise_known(value)
}

fn is_otherwise_known(value: &[u8]) -> bool {
    is_placeholder(value) || NO_VALUES.iter().any(|known| begins(value, 0, known))
}

/// The value of a secret's name in a query or form, whose `=` is here.
pub(crate) fn in_query(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    if bytes.get(at) != Some(&b'=') {
        return None;
    }
    let is_name = |byte: u8| Sort::Token.has(byte) || matches!(byte, b'.' | b'[' | b']');
    let length = bytes[..at].iter().rev().take(MAX_NAME).take_while(|byte| is_name(**byte)).count();
    let name = std::str::from_utf8(&bytes[at - length..at]).ok().filter(|name| is_secret_name(name))?;
    let before = &bytes[..at - length];
    let is_inside = match before {
        [.., b'&', b'&'] => false,
        [.., b'?' | b'&'] => true,
        _ => before.ends_with(b"&amp;"),
    };
    // Nothing else is looked at further: most of what has a `=` is no query.
    let is_first = matches!(before, [] | [.., b' ' | b'"' | b'\'' | b'\n']);
    if !is_inside && !is_first {
        return None;
    }
    let is_value = |byte: u8| byte.is_ascii_graphic() && !is_quote(byte) && !b"&#<>".contains(&byte);
    let end = at + 1 + value_run(bytes, at + 1, is_value);
    let value = &bytes[at + 1..end];
    // The first of several.
    let has_next = || {
        let next = end + 1 + run(bytes, end + 1, is_name);
        bytes.get(end) == Some(&b'&') && next > end + 1 && bytes.get(next) == Some(&b'=')
    };
    let is_password = NAMES.iter().chain(&["pwd"]).any(|word| ends_with(name, word));
    let is_secret = (is_inside || has_next())
        && (1..=MAX_VALUE).contains(&value.len())
        && (is_password || (value.len() >= LEAST_IN_QUERY && is_mixed(value)))
        && !is_placeholder(value);
    is_secret.then_some(at + 1..end)
}

fn ends_with(name: &str, word: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '[' | ']'));
    name.len().checked_sub(word.len()).is_some_and(|start| begins(name.as_bytes(), start, word))
}

/// The values in a form whose names say that they are secrets.
pub(crate) fn in_form(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for pair in bytes.split(|byte| *byte == b'&') {
        let equals = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let name = String::from_utf8_lossy(&pair[..equals]);
        let value = start + equals + 1..start + pair.len();
        start += pair.len() + 1;
        if !value.is_empty() && is_secret_name(name.trim_end_matches("[]")) {
            found.push(value);
        }
    }
    found
}
