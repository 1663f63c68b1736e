//! Cuts a line of the compact notation into words, quoted texts, JSON values and `name=value` pairs.
//!
//! In: one line. Out: tokens in order. Never here: what a token means.

use serde_json::Value;

/// One piece of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// Anything without spaces that is nothing else.
    Word(String),
    /// `"…"`, with JSON's escapes.
    Text(String),
    /// `{…}` or `[…]`.
    Json(Value),
    /// `name=word`, `name="text"`, `name={…}`.
    Pair(String, Value),
}

/// The tokens of a line, or what cannot be read.
pub(crate) fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut rest = line.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (token, after) = token(rest)?;
        found.push(token);
        rest = after.trim_start();
    }
    Ok(found)
}

fn token(text: &str) -> Result<(Token, &str), String> {
    if let Some((value, rest)) = json(text)? {
        let token = match value {
            Value::String(text) => Token::Text(text),
            other => Token::Json(other),
        };
        return Ok((token, rest));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let Some(equals) = text[..end].find('=').filter(|at| is_name(&text[..*at])) else {
        return Ok((Token::Word(text[..end].to_string()), &text[end..]));
    };
    let (name, value) = (text[..equals].to_string(), &text[equals + 1..]);
    if let Some((value, rest)) = json(value)? {
        return Ok((Token::Pair(name, value), rest));
    }
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    let word = value[..end].to_string();
    let value_read = word.parse::<u64>().map_or(Value::String(word), Value::from);
    Ok((Token::Pair(name, value_read), &value[end..]))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The JSON string, object or array the text starts with.
fn json(text: &str) -> Result<Option<(Value, &str)>, String> {
    if !text.starts_with(['"', '{', '[']) {
        return Ok(None);
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match stream.next() {
        Some(Ok(value)) => Ok(Some((value, &text[stream.byte_offset()..]))),
        Some(Err(error)) => Err(format!("{error} in: {text}")),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};
    use serde_json::json;

    #[test]
    fn every_sort_of_token() {
        let found =
            tokens(r#"10:00:01 user u1 <u0 "a \"b\"" {"c":[1]} in=10 tur={"d":"e f"} model=x"#).unwrap();
        let word = |text: &str| Token::Word(text.into());
        assert_eq!(
            found,
            [
                word("10:00:01"),
                word("user"),
                word("u1"),
                word("<u0"),
                Token::Text("a \"b\"".into()),
                Token::Json(json!({"c": [1]})),
                Token::Pair("in".into(), json!(10)),
                Token::Pair("tur".into(), json!({"d": "e f"})),
                Token::Pair("model".into(), json!("x")),
            ]
        );
        assert!(tokens("\"torn").is_err());
    }
}
