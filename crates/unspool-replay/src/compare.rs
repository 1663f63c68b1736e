//! Whether an answer says what was said then: the words and calls of a model, anything else as it is.

use crate::asking::place;
use crate::request::is_safe;
use unspool_formats::{Said, WholeAnswer, WholeExchange};

/// Whether an answer says what was said then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same words and calls.
    Equal,
    /// Others; where they part.
    Different(String),
    /// Nothing was recorded to compare with.
    NothingRecorded,
    /// Nothing came back.
    NoAnswer(String),
    /// It was not sent, because it changes something.
    NotSent,
}

/// Compares what was said, or the bodies as they are where nobody said anything.
pub(crate) fn compare(
    exchange: &WholeExchange,
    then: &WholeAnswer,
    now: &WholeAnswer,
    said: &Said,
) -> Verdict {
    let before = then.said();
    if is_safe(exchange.method())
        || place(exchange).ends_with("/count_tokens")
        || says_nothing(exchange, then, [&before, said])
    {
        return bodies(then, now);
    }
    words(then, now, &before, said)
}

/// Whether nothing was read in two answers that could be compared: numbers, a file, words of an API that is not known.
fn says_nothing(exchange: &WholeExchange, then: &WholeAnswer, both: [&Said; 2]) -> bool {
    if both.iter().any(|said| !said.texts.is_empty() || !said.calls.is_empty()) {
        return false;
    }
    let has_error = both.iter().any(|said| said.error.is_some());
    if exchange.api().is_none() {
        // What cannot be read counts as an error, which it is only where the request failed.
        return !has_error || then.status.is_none_or(|status| status < 400);
    }
    // An answer of a model may be empty; its id is another one each time.
    !has_error && both.iter().any(|said| said.id.is_empty())
}

/// Where the status of an answer is another one.
fn other_status(then: &WholeAnswer, now: &WholeAnswer) -> Option<Verdict> {
    let (was, is) = (then.status?, now.status.unwrap_or(0));
    (was != is).then(|| Verdict::Different(format!("the status was {was} and is {is}")))
}

fn bodies(then: &WholeAnswer, now: &WholeAnswer) -> Verdict {
    if let Some(other) = other_status(then, now) {
        return other;
    }
    let read = |answer: &WholeAnswer| {
        let text = || serde_json::Value::from(String::from_utf8_lossy(&answer.body).as_ref());
        serde_json::from_slice(&answer.body).unwrap_or_else(|_| text())
    };
    match crate::difference::first(&read(then), &read(now)) {
        Some(differs) => Verdict::Different(differs),
        None => Verdict::Equal,
    }
}

fn words(then: &WholeAnswer, now: &WholeAnswer, before: &Said, said: &Said) -> Verdict {
    if let Some(other) = other_status(then, now) {
        return other;
    }
    let told = |said: &Said| serde_json::json!({"text": said.texts.concat(), "error": said.error});
    if let Some(differs) = crate::difference::first(&told(before), &told(said)) {
        return Verdict::Different(differs);
    }
    let calls = |said: &Said| {
        let read = |text: &String| {
            serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::from(text.as_str()))
        };
        let one = |(name, input): &(String, String)| serde_json::json!({"name": name, "input": read(input)});
        serde_json::json!({"calls": said.calls.iter().map(one).collect::<Vec<serde_json::Value>>()})
    };
    match crate::difference::first(&calls(before), &calls(said)) {
        Some(differs) => Verdict::Different(differs),
        None => Verdict::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, bodies, compare, words};
    use unspool_formats::{WholeAnswer, WholeExchange};

    #[test]
    fn words_and_calls_are_compared() {
        let answer = |text: &str, status| WholeAnswer {
            status: Some(status),
            body: format!(r#"{{"id":"{text}","content":[{{"type":"text","text":"{text}"}}]}}"#).into_bytes(),
            ..WholeAnswer::default()
        };
        let verdict = |then: &WholeAnswer, now: &WholeAnswer| words(then, now, &then.said(), &now.said());
        assert_eq!(verdict(&answer("a", 200), &answer("a", 200)), Verdict::Equal);
        let other = verdict(&answer("a", 200), &answer("b", 200));
        assert_eq!(other, Verdict::Different(r#"text was "a" and is "b""#.into()));
        assert!(matches!(verdict(&answer("a", 200), &answer("a", 529)), Verdict::Different(_)));
    }

    #[test]
    fn what_nobody_says_is_compared_as_it_is() {
        let exchange = |path: &str| {
            let text = format!(
                r#"{{"unspool":"exchange","request":{{"method":"POST","path":"{path}","body":{{"model":"m","input":"a"}}}}}}"#
            );
            WholeExchange::read(text.as_bytes()).unwrap()
        };
        let answer = |body: &str| WholeAnswer {
            status: Some(200),
            body: body.as_bytes().to_vec(),
            ..WholeAnswer::default()
        };
        let verdict = |path: &str, then: &str, now: &str| {
            let (then, now) = (answer(then), answer(now));
            compare(&exchange(path), &then, &now, &now.said())
        };
        let numbers = |first: &str| {
            format!(
                r#"{{"data":[{{"embedding":[{first},0.5]}}],"model":"m","usage":{{"prompt_tokens":1,"total_tokens":1}}}}"#
            )
        };
        let differs = |verdict: Verdict| matches!(verdict, Verdict::Different(_));
        assert_eq!(verdict("/v1/embeddings", &numbers("0.1"), &numbers("0.1")), Verdict::Equal);
        assert!(differs(verdict("/v1/embeddings", &numbers("0.1"), &numbers("0.2"))));
        assert!(differs(verdict("/v1/audio/speech", "one sound", "one sound more")));
        assert!(differs(verdict("/v1/files", r#"{"id":"f1","bytes":1}"#, r#"{"id":"f1","bytes":2}"#)));
        let silent = |id: &str| format!(r#"{{"id":"{id}","content":[],"stop_reason":"end_turn"}}"#);
        let both = verdict("/v1/messages", &silent("msg_1"), &silent("msg_2"));
        assert_eq!(both, Verdict::Equal, "a model that says nothing says the same");
    }

    #[test]
    fn what_no_model_says_is_compared_as_it_is() {
        let answer = |body: &str| WholeAnswer {
            status: Some(200),
            body: body.as_bytes().to_vec(),
            ..WholeAnswer::default()
        };
        let verdict = |then: &str, now: &str| bodies(&answer(then), &answer(now));
        assert_eq!(verdict(r#"{"data":[{"id":"a"}]}"#, r#"{ "data": [{"id": "a"}] }"#), Verdict::Equal);
        let other = verdict(r#"{"data":[{"id":"a"}]}"#, r#"{"data":[{"id":"b"}]}"#);
        assert_eq!(other, Verdict::Different(r#"data[0].id was "a" and is "b""#.into()));
        assert!(matches!(verdict("words", "others"), Verdict::Different(_)));
    }
}
