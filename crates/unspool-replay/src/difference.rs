//! The first place where two documents differ, in words.

use serde_json::Value;
use std::fmt::Write;

/// Characters of a value that are shown.
const MAX_SHOWN_CHARS: usize = 60;

/// Where two values differ first, and what stands there; `None` when they are equal.
pub(crate) fn first(recorded: &Value, asked: &Value) -> Option<String> {
    let mut place = String::new();
    let (recorded, asked) = walk(Some(recorded), Some(asked), &mut place)?;
    let place = if place.is_empty() { "the body" } else { place.trim_start_matches('.') };
    Some(match (recorded, asked) {
        (Some(recorded), None) => format!("{place} was {} and is missing", shown(recorded)),
        (None, Some(asked)) => format!("{place} is {} and was not there", shown(asked)),
        (recorded, asked) => {
            let [recorded, asked] = [recorded, asked].map(|value| value.unwrap_or(&Value::Null));
            let (was, is) = apart(recorded, asked);
            format!("{place} was {was} and is {is}")
        }
    })
}

type Pair<'a> = (Option<&'a Value>, Option<&'a Value>);

/// Goes down to the first pair that differs. Depth is bounded by what `serde_json` reads.
fn walk<'a>(recorded: Option<&'a Value>, asked: Option<&'a Value>, place: &mut String) -> Option<Pair<'a>> {
    if recorded == asked {
        return None;
    }
    let length = place.len();
    match (recorded, asked) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let more = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(more) {
                place.push('.');
                place.push_str(key);
                if let Some(pair) = walk(one.get(key), other.get(key), place) {
                    return Some(pair);
                }
                place.truncate(length);
            }
            None
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for n in 0..one.len().max(other.len()) {
                let _ = write!(place, "[{n}]");
                if let Some(pair) = walk(one.get(n), other.get(n), place) {
                    return Some(pair);
                }
                place.truncate(length);
            }
            None
        }
        pair => Some(pair),
    }
}

/// Two values as they are shown; of long texts, the part where they differ.
fn apart(recorded: &Value, asked: &Value) -> (String, String) {
    let (Value::String(one), Value::String(other)) = (recorded, asked) else {
        return (shown(recorded), shown(asked));
    };
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(MAX_SHOWN_CHARS / 3);
    let part = |text: &str| {
        let behind: String = text.chars().skip(from).collect();
        let before = if from > 0 { "…" } else { "" };
        shown(&Value::String(format!("{before}{behind}")))
    };
    (part(one), part(other))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= MAX_SHOWN_CHARS {
        return text;
    }
    text.chars().take(MAX_SHOWN_CHARS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::first;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let recorded = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "n": 1});
        let differs = |asked| first(&recorded, &asked);
        assert_eq!(differs(recorded.clone()), None);
        let other = json!({"n": 1, "model": "m", "messages": [{"role": "user", "content": "Ho"}]});
        assert_eq!(differs(other).unwrap(), r#"messages[0].content was "Hi" and is "Ho""#);
        let more = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}, 2], "n": 1});
        assert_eq!(differs(more).unwrap(), "messages[1] is 2 and was not there");
        let less = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        assert_eq!(differs(less).unwrap(), "n was 1 and is missing");
        assert_eq!(differs(json!(7)).unwrap().split(" was").next(), Some("the body"));
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let text = |end: &str| json!({"a": format!("{}{end}", "x".repeat(5000))});
        let said = first(&text("one"), &text("two")).unwrap();
        assert!(said.contains("xone\"") && said.contains("xtwo\"") && said.len() < 200, "{said}");
    }
}
