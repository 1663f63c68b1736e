//! Which recorded exchange answers a request.
//!
//! In: recorded exchanges, and requests. Out: the exchange whose request is the same, in grades, or the nearest one and where it differs.

use crate::difference;
use crate::request::Request;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use unspool_formats::WholeExchange;

/// How a request was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The bodies are equal as JSON; where no model is asked, method, path and query, too.
    Equal,
    /// The messages are equal; other things are not.
    Messages,
    /// No model is asked, and method and path are equal; other things are not.
    Path,
    /// It is the next in order.
    InOrder,
}

impl How {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            How::Equal => "equal",
            How::Messages => "messages",
            How::Path => "path",
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

impl Recordings {
    /// Exchanges in the order they were sent, but for handshakes. Those that a log has twice are one: the one with an answer, or the longer one.
    pub fn new(exchanges: Vec<WholeExchange>, in_order: bool) -> Recordings {
        let mut kept: Vec<WholeExchange> = Vec::with_capacity(exchanges.len());
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for exchange in exchanges.into_iter().filter(|one| !one.is_handshake()) {
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
        let requests = kept.iter().map(Request::recorded).collect();
        Recordings { exchanges: kept, requests, given: BTreeSet::new(), in_order }
    }

    /// All of them, in order.
    pub fn exchanges(&self) -> &[WholeExchange] {
        &self.exchanges
    }

    /// The exchange that answers a request. Of several that are equal, each answers once, in order; the last answers from then on.
    pub fn find(&mut self, method: &str, path: &str, body: &[u8]) -> Result<Found, Miss> {
        let asked = Request::of(method, path, body).ok_or(Miss { nearest: None })?;
        let equal = self.take(|one| one.is_equal(&asked));
        if let Some(place) = equal {
            return Ok(Found { place, how: How::Equal });
        }
        let (how, same) = if asked.asks_model {
            let is_same = |one: &Request| one.streams() == asked.streams() && one.said == asked.said;
            (How::Messages, self.take(|one| one.fits(&asked) && is_same(one)))
        } else {
            (How::Path, self.take(|one| one.fits(&asked)))
        };
        if let Some(place) = same {
            return Ok(Found { place, how });
        }
        if self.in_order {
            let mut all = self.requests.iter().enumerate();
            let next = all.find(|(place, one)| {
                let is_next = |one: &Request| one.fits(&asked) && one.streams() == asked.streams();
                !self.given.contains(place) && one.as_ref().is_some_and(is_next)
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

    /// The request that has the most of the conversation in common, and the most fields; where no model is asked, one of another method.
    fn nearest(&self, asked: &Request) -> Option<(usize, String)> {
        let mut all =
            self.requests.iter().enumerate().filter_map(|(place, one)| Some((place, one.as_ref()?)));
        if !asked.asks_model {
            let (place, one) = all.find(|(_, one)| !one.asks_model && one.leads_to(asked))?;
            return Some((place, format!("its method was {} and is {}", one.method, asked.method)));
        }
        let all = all.filter(|(_, one)| one.asks_model);
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
        let Found { place, how } = recordings.find("POST", path, body.to_string().as_bytes()).ok()?;
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
        let miss = recordings.find("POST", "/v1/messages", asked.as_bytes()).unwrap_err();
        let (place, differs) = miss.nearest.unwrap();
        assert_eq!((place, differs.as_str()), (1, r#"messages[1].content[0].text was "b" and is "c""#));
        let miss = recordings.find("POST", "/v1/responses", asked.as_bytes()).unwrap_err();
        assert!(miss.nearest.unwrap().1.contains("/messages and not to /responses"));
        assert_eq!(recordings.find("POST", "/v1/messages", b"no json").unwrap_err().nearest, None);
    }

    #[test]
    fn what_asks_no_model_is_known_by_its_method_and_path() {
        let other = |method: &str, path: &str, body: &str, n: u8| {
            let body = if body.is_empty() { json!({}) } else { json!({"text": body}) };
            let mut request = json!({"method": method, "path": path});
            request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
            let text = json!({"unspool": "exchange", "exchange": format!("e{n}"), "request": request,
                "response": {"status": 200, "text": n.to_string()}});
            WholeExchange::read(text.to_string().as_bytes()).unwrap()
        };
        let all = vec![
            other("GET", "/v1/models?limit=5&key=masked:1", "", 0),
            other("GET", "/v1/models?limit=9", "", 1),
            other("POST", "/v1/files", "--one", 2),
            other("POST", "/v1/files", "--two", 3),
            other("DELETE", "/v1/files/f1", "", 4),
            other("GET", "/v1/messages/batches", "", 5),
        ];
        let mut recordings = Recordings::new(all, false);
        let mut find = |method: &str, path: &str, body: &str| {
            recordings.find(method, path, body.as_bytes()).map(|found| (found.place, found.how))
        };
        assert_eq!(find("GET", "/anthropic/v1/models?key=other&limit=5", ""), Ok((0, How::Equal)));
        assert_eq!(find("GET", "/models?limit=9", ""), Ok((1, How::Equal)));
        assert_eq!(find("HEAD", "/v1/models", ""), Ok((1, How::Path)), "the last stays");
        assert_eq!(find("POST", "/v1/files", "--two"), Ok((3, How::Equal)));
        assert_eq!(find("POST", "/v1/files", "--new boundary"), Ok((2, How::Path)));
        assert_eq!(find("DELETE", "/v1/files/f1", ""), Ok((4, How::Equal)));
        assert_eq!(find("GET", "/v1/messages/batches", ""), Ok((5, How::Equal)));
        let missed = find("PUT", "/v1/files", "").unwrap_err().nearest.unwrap();
        assert_eq!((missed.0, missed.1.as_str()), (2, "its method was POST and is PUT"));
        assert_eq!(find("GET", "/v1/other", "").unwrap_err().nearest, None);
        assert_eq!(find("GET", "/", "").unwrap_err().nearest, None);
    }

    /// What a model says to one thing is no answer to another, whichever API it is.
    #[test]
    fn models_of_other_apis_are_asked_in_words_too() {
        let all = vec![
            exchange("/v1/embeddings", &json!({"model": "e", "input": "a"}), 200),
            exchange(
                "/v1beta/models/g:generateContent",
                &json!({"model": "g", "contents": [{"parts": [{"text": "a"}]}]}),
                200,
            ),
            exchange("/v1/completions", &json!({"model": "c", "prompt": "a", "n": 1}), 200),
        ];
        let mut recordings = Recordings::new(all, false);
        let ask = |recordings: &mut Recordings, path: &str, body: Value| found(recordings, path, &body);
        let of = &mut recordings;
        assert_eq!(
            ask(of, "/openai/v1/embeddings", json!({"input": "a", "model": "f"})),
            Some((0, How::Messages))
        );
        assert_eq!(ask(of, "/v1/embeddings", json!({"model": "e", "input": "b"})), None);
        let said = |text: &str| json!({"contents": [{"parts": [{"text": text}]}], "more": 1});
        assert_eq!(ask(of, "/v1beta/models/g:generateContent", said("a")), Some((1, How::Messages)));
        assert_eq!(ask(of, "/v1beta/models/g:generateContent", said("b")), None);
        assert_eq!(ask(of, "/completions", json!({"prompt": "a"})), Some((2, How::Messages)));
        assert_eq!(ask(of, "/v1/chat/completions", json!({"prompt": "a"})), None);
    }
}
