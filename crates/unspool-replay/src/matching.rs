//! Which recorded exchange answers a request.
//!
//! In: recorded exchanges, and requests. Out: the exchange whose request is the same, in three grades, or the nearest one and where it differs.

use crate::difference;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use unspool_formats::{WholeExchange, WireApi};

/// How a request was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The bodies are equal as JSON.
    Equal,
    /// The messages are equal; other things are not.
    Messages,
    /// It is the next in order.
    InOrder,
}

impl How {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            How::Equal => "equal",
            How::Messages => "messages",
            How::InOrder => "in-order",
        }
    }
}

/// An exchange that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its place among the recorded ones.
    pub place: usize,
    /// How it was found.
    pub how: How,
}

/// Nothing answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The place of the nearest one, and where it differs.
    pub nearest: Option<(usize, String)>,
}

/// Recorded exchanges to be asked.
pub struct Recordings {
    exchanges: Vec<WholeExchange>,
    requests: Vec<Option<Request>>,
    /// Which were given as an answer already.
    given: BTreeSet<usize>,
    in_order: bool,
}

/// A request as it is compared.
struct Request {
    /// What is asked for: the end of the path says it, whatever is before it.
    kind: String,
    body: Value,
    said: Value,
}

impl Request {
    fn of(kind: String, body: &[u8]) -> Option<Request> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let said = said(&body);
        Some(Request { kind, body, said })
    }

    fn streams(&self) -> bool {
        self.body["stream"] == true
    }
}

impl Recordings {
    /// Exchanges in the order they were sent. Those that a log has twice are one: the one with an answer, or the longer one.
    pub fn new(exchanges: Vec<WholeExchange>, in_order: bool) -> Recordings {
        let mut kept: Vec<WholeExchange> = Vec::with_capacity(exchanges.len());
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for exchange in exchanges {
            let weight = |one: &WholeExchange| one.answer.as_ref().map_or(0, |answer| answer.body.len() + 1);
            match exchange.id.clone().and_then(|id| known.get(&id).copied()) {
                Some(place) if kept[place].body == exchange.body => {
                    if weight(&exchange) > weight(&kept[place]) {
                        kept[place] = exchange;
                    }
                }
                _ => {
                    known.extend(exchange.id.clone().map(|id| (id, kept.len())));
                    kept.push(exchange);
                }
            }
        }
        kept.sort_by_key(|exchange| exchange.sent);
        let requests = kept.iter().map(|one| Request::of(kind_of(one), &one.body)).collect();
        Recordings { exchanges: kept, requests, given: BTreeSet::new(), in_order }
    }

    /// All of them, in order.
    pub fn exchanges(&self) -> &[WholeExchange] {
        &self.exchanges
    }

    /// The exchange that answers a request. Of several that are equal, each answers once, in order; the last answers from then on.
    pub fn find(&mut self, path: &str, body: &[u8]) -> Result<Found, Miss> {
        let asked = Request::of(kind(path), body).ok_or(Miss { nearest: None })?;
        let fits = |one: &Request| one.kind == asked.kind;
        let equal = self.take(|one| fits(one) && one.body == asked.body);
        if let Some(place) = equal {
            return Ok(Found { place, how: How::Equal });
        }
        let same = self.take(|one| fits(one) && one.streams() == asked.streams() && one.said == asked.said);
        if let Some(place) = same {
            return Ok(Found { place, how: How::Messages });
        }
        if self.in_order {
            let mut all = self.requests.iter().enumerate();
            let next = all.find(|(place, one)| {
                !self.given.contains(place)
                    && one.as_ref().is_some_and(|one| fits(one) && one.streams() == asked.streams())
            });
            if let Some((place, _)) = next {
                self.given.insert(place);
                return Ok(Found { place, how: How::InOrder });
            }
        }
        Err(Miss { nearest: self.nearest(&asked) })
    }

    fn take(&mut self, fits: impl Fn(&Request) -> bool) -> Option<usize> {
        let all = self.requests.iter().enumerate();
        let fitting: Vec<usize> =
            all.filter(|(_, one)| one.as_ref().is_some_and(&fits)).map(|(place, _)| place).collect();
        let fresh = fitting.iter().find(|place| !self.given.contains(place));
        let place = *fresh.or(fitting.last())?;
        self.given.insert(place);
        Some(place)
    }

    /// The request that has the most of the conversation in common, and the most fields.
    fn nearest(&self, asked: &Request) -> Option<(usize, String)> {
        let all = self.requests.iter().enumerate().filter_map(|(place, one)| Some((place, one.as_ref()?)));
        let alike = |one: &Request| {
            let begin = common(&one.said, &asked.said);
            let fields = one.body.as_object().into_iter().flatten();
            let equal = fields.filter(|(key, value)| asked.body.get(key.as_str()) == Some(*value)).count();
            (one.kind == asked.kind, begin, equal)
        };
        let (place, one) = all.max_by_key(|(place, one)| (alike(one), std::cmp::Reverse(*place)))?;
        let differs = if one.kind == asked.kind {
            difference::first(&one.said, &asked.said)
                .map(|said| said.replacen("said", "messages", 1))
                .or_else(|| difference::first(&one.body, &asked.body))
        } else {
            Some(format!("it was sent to {} and not to {}", one.kind, asked.kind))
        };
        Some((place, differs.unwrap_or_default()))
    }
}

/// How many messages two conversations begin alike with.
fn common(one: &Value, other: &Value) -> usize {
    let list = |value: &Value| value["said"].as_array().cloned().unwrap_or_default();
    list(one).iter().zip(&list(other)).take_while(|(one, other)| one == other).count()
}

fn kind_of(exchange: &WholeExchange) -> String {
    let usual = || exchange.api().map_or("/", WireApi::usual_path);
    kind(exchange.path.as_deref().unwrap_or_else(usual))
}

/// The end of a path that says what is asked for.
fn kind(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let known = ["/messages/count_tokens", "/messages", "/chat/completions", "/responses"];
    known.into_iter().find(|end| path.ends_with(end)).unwrap_or(path).into()
}

/// What a request says, whatever stands around it: the conversation, brought into one form.
fn said(body: &Value) -> Value {
    let list = match body.get("messages").or_else(|| body.get("input")) {
        Some(Value::Array(messages)) => messages.iter().map(message).collect(),
        Some(Value::String(text)) => vec![message(&serde_json::json!({"role": "user", "content": text}))],
        _ => Vec::new(),
    };
    serde_json::json!({"said": list})
}

/// A message without marks for the cache, its text as blocks.
fn message(message: &Value) -> Value {
    let mut message = without_marks(message);
    if let Some(Value::String(text)) = message.get("content") {
        message["content"] = serde_json::json!([{"type": "text", "text": text}]);
    }
    message
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(kept.map(|(key, value)| (key.clone(), without_marks(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, How, Recordings};
    use serde_json::{Value, json};
    use unspool_formats::WholeExchange;

    fn exchange(path: &str, body: &Value, status: u16) -> WholeExchange {
        let text = json!({"path": path, "body": body, "response": {"status": status, "body": {"id": "x"}}});
        WholeExchange::read(text.to_string().as_bytes()).unwrap()
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    fn found(recordings: &mut Recordings, path: &str, body: &Value) -> Option<(usize, How)> {
        let Found { place, how } = recordings.find(path, body.to_string().as_bytes()).ok()?;
        Some((place, how))
    }

    #[test]
    fn equal_bodies_then_equal_messages_then_the_next() {
        let one = json!({"model": "m", "messages": [user("a")], "metadata": {"user_id": "u"}});
        let two = json!({"model": "m", "messages": [user("b")]});
        let all = || vec![exchange("/v1/messages", &one, 200), exchange("/v1/messages", &two, 200)];
        let mut recordings = Recordings::new(all(), false);
        let turned = json!({"metadata": {"user_id": "u"}, "messages": [user("a")], "model": "m"});
        assert_eq!(
            found(&mut recordings, "/anthropic/v1/messages?beta=true", &turned),
            Some((0, How::Equal))
        );
        let blocks = json!([{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]);
        let marked = json!({"model": "n", "messages": [{"role": "user", "content": blocks}]});
        assert_eq!(found(&mut recordings, "/v1/messages", &marked), Some((1, How::Messages)));
        let new = json!({"model": "m", "messages": [user("c")]});
        assert_eq!(found(&mut recordings, "/v1/messages", &new), None);
        let mut ordered = Recordings::new(all(), true);
        assert_eq!(found(&mut ordered, "/v1/messages", &new), Some((0, How::InOrder)));
        assert_eq!(found(&mut ordered, "/v1/messages", &new), Some((1, How::InOrder)));
        assert_eq!(found(&mut ordered, "/v1/messages", &new), None, "each is the next once");
        let streamed = json!({"model": "n", "messages": [user("b")], "stream": true});
        assert_eq!(
            found(&mut recordings, "/v1/messages", &streamed),
            None,
            "a stream is answered by a stream"
        );
        assert_eq!(found(&mut recordings, "/v1/messages/count_tokens", &two), None);
    }

    #[test]
    fn attempts_are_answered_in_order_and_the_last_stays() {
        let body = json!({"model": "m", "messages": [user("a")]});
        let all = [529, 529, 200].map(|status| exchange("/v1/messages", &body, status));
        let mut recordings = Recordings::new(all.to_vec(), false);
        let places: Vec<usize> =
            (0..5).map(|_| found(&mut recordings, "/v1/messages", &body).unwrap().0).collect();
        assert_eq!(places, [0, 1, 2, 2, 2]);
    }

    #[test]
    fn an_exchange_that_a_log_has_twice_is_one() {
        let line = |answer: &str| {
            let text = format!(r#"{{"exchange":"e1","request":{{"body":{{"model":"m"}}}}{answer}}}"#);
            WholeExchange::read(text.as_bytes()).unwrap()
        };
        let (begun, over) = (line(""), line(r#","response":{"status":200,"text":"yes"}"#));
        for all in [vec![begun.clone(), over.clone()], vec![over, begun]] {
            let recordings = Recordings::new(all, false);
            let [one] = recordings.exchanges() else { panic!("one exchange") };
            assert_eq!(one.answer.as_ref().unwrap().body, b"yes");
        }
    }

    #[test]
    fn a_miss_names_the_nearest_and_the_difference() {
        let one = json!({"model": "m", "messages": [user("a"), user("b")]});
        let two = json!({"model": "m", "messages": [user("x")]});
        let all = vec![exchange("/v1/messages", &two, 200), exchange("/v1/messages", &one, 200)];
        let mut recordings = Recordings::new(all, false);
        let asked = json!({"model": "m", "messages": [user("a"), user("c")]}).to_string();
        let miss = recordings.find("/v1/messages", asked.as_bytes()).unwrap_err();
        let (place, differs) = miss.nearest.unwrap();
        assert_eq!((place, differs.as_str()), (1, r#"messages[1].content[0].text was "b" and is "c""#));
        let miss = recordings.find("/v1/responses", asked.as_bytes()).unwrap_err();
        assert!(miss.nearest.unwrap().1.contains("/messages and not to /responses"));
        assert_eq!(recordings.find("/v1/messages", b"no json").unwrap_err().nearest, None);
    }
}
