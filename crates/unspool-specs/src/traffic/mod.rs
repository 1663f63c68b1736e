//! The compact notation for recorded LLM traffic: one short line becomes one request with its whole history and its
//! response, as any of the APIs and loggers write it.
//!
//! In: the text of a `log` block. Out: JSON lines. Never here: what linking makes of them.

mod api;
mod wrap;

use crate::tokens::{Token, tokens};
use crate::transcript::time;
use api::Api;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use wrap::Shape;

/// One message, whichever API will spell it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) by_model: bool,
    pub(crate) parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Call { id: String, name: String, input: Value },
    Result { id: String, text: String },
}

/// One exchange, before it is spelled.
#[derive(Clone, Default)]
pub(crate) struct Exchange {
    pub(crate) at: Option<String>,
    pub(crate) ms: u64,
    pub(crate) history: Vec<Message>,
    pub(crate) answer: Vec<Part>,
    /// Pairs of the line: `session`, `agent`, `in`, `error`, ….
    pub(crate) pairs: BTreeMap<String, Value>,
    pub(crate) id: Option<String>,
    /// Its place in the block.
    pub(crate) number: usize,
    /// The stream broke off.
    pub(crate) torn: bool,
    /// Nothing came back.
    pub(crate) unanswered: bool,
}

impl Exchange {
    pub(crate) fn pair(&self, name: &str) -> Option<&Value> {
        self.pairs.get(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.pair(name).and_then(Value::as_str)
    }

    /// Tokens as the line gives them.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.pair(name).and_then(Value::as_u64).unwrap_or(0)
    }
}

#[derive(Default)]
struct Block {
    defaults: BTreeMap<String, Value>,
    stream: bool,
    /// Each conversation's messages so far, and where they stood after each answer.
    conversations: BTreeMap<String, Vec<Message>>,
    answers: BTreeMap<String, Vec<Vec<Message>>>,
    /// All lines are of this shape, whatever they say.
    shape: Option<Shape>,
    lines: usize,
}

/// Expands a block.
pub(crate) fn expand(path: &str, text: &str) -> Result<Vec<u8>, String> {
    let lines = lines(path, text, Block::default())?;
    Ok(lines.iter().flat_map(|line| (line.to_string() + "\n").into_bytes()).collect())
}

/// The exchanges of a block as our own proxy keeps them.
pub(crate) fn own(path: &str, text: &str) -> Result<Vec<Value>, String> {
    lines(path, text, Block { shape: Some(Shape::Own), ..Block::default() })
}

fn lines(path: &str, text: &str, mut block: Block) -> Result<Vec<Value>, String> {
    let mut values = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let error = |why: String| format!("{path}: {why}\n  in: {line}");
        let found = tokens(line).map_err(error)?;
        if found.first() == Some(&Token::Word("with".into())) {
            block.with(&found[1..]).map_err(error)?;
        } else if let Some(made) = block.line(&found).map_err(error)? {
            values.push(made);
        }
    }
    Ok(values)
}

impl Block {
    fn with(&mut self, found: &[Token]) -> Result<(), String> {
        for token in found {
            match token {
                Token::Pair(name, value) => _ = self.defaults.insert(name.clone(), value.clone()),
                Token::Word(word) if word == "stream" => self.stream = true,
                other => return Err(format!("`with` takes name=value and `stream`, not {other:?}")),
            }
        }
        Ok(())
    }

    fn line(&mut self, found: &[Token]) -> Result<Option<Value>, String> {
        let [Token::Word(at), Token::Word(length), Token::Word(name), rest @ ..] = found else {
            return Err("a line starts with a time, a length and a conversation".into());
        };
        let cut = rest.iter().position(|token| *token == Token::Word("->".into()));
        let cut = cut.ok_or("a line has `->` between what is said and what is answered")?;
        self.lines += 1;
        let mut exchange = Exchange {
            number: self.lines,
            at: time(at),
            ms: milliseconds(length)?,
            pairs: self.defaults.clone(),
            ..Exchange::default()
        };
        let (mut new, mut lost) = (Vec::new(), false);
        let mut words = rest[..cut].iter();
        while let Some(token) = words.next() {
            match token {
                Token::Text(text) => new.push(Part::Text(text.clone())),
                Token::Word(word) if word == "result" => {
                    let (Some(Token::Word(id)), Some(Token::Text(text))) = (words.next(), words.next())
                    else {
                        return Err("`result` is followed by a call's id and a text".into());
                    };
                    new.push(Part::Result { id: id.clone(), text: text.clone() });
                }
                Token::Word(word) if word == "again" => {}
                Token::Word(word) if word == "lost" => lost = true,
                Token::Pair(name, value) => _ = exchange.pairs.insert(name.clone(), value.clone()),
                other => return Err(format!("nothing is said by {other:?}")),
            }
        }
        answer(&rest[cut + 1..], &mut exchange)?;
        let mut history = match exchange.text("from").map(str::to_string) {
            Some(from) => self.from(&from)?,
            None => self.conversations.get(name).cloned().unwrap_or_default(),
        };
        if !new.is_empty() {
            history.push(Message { by_model: false, parts: new });
        }
        exchange.history.clone_from(&history);
        if !exchange.answer.is_empty() && !exchange.torn {
            history.push(Message { by_model: true, parts: exchange.answer.clone() });
            self.answers.entry(name.clone()).or_default().push(history.clone());
        }
        self.conversations.insert(name.clone(), history);
        if lost {
            return Ok(None);
        }
        let api = Api::named(exchange.text("api").unwrap_or("anthropic"))?;
        let named = || Shape::named(exchange.text("shape").unwrap_or("proxy"));
        let shape = self.shape.map_or_else(named, Ok)?;
        Ok(Some(wrap::wrap(&exchange, api, shape, self.stream)))
    }

    /// `A@2`: conversation A as it stood after its second answer.
    fn from(&self, from: &str) -> Result<Vec<Message>, String> {
        let (name, nth) = from.split_once('@').ok_or("from= is written A@2")?;
        let nth: usize = nth.parse().map_err(|_| "from= is written A@2")?;
        let found = self.answers.get(name).and_then(|answers| answers.get(nth.wrapping_sub(1)));
        found.cloned().ok_or_else(|| format!("there is no {from}"))
    }
}

fn answer(found: &[Token], exchange: &mut Exchange) -> Result<(), String> {
    let mut words = found.iter();
    while let Some(token) = words.next() {
        match token {
            Token::Text(text) => exchange.answer.push(Part::Text(text.clone())),
            Token::Pair(name, value) => _ = exchange.pairs.insert(name.clone(), value.clone()),
            Token::Word(word) if word == "torn" => exchange.torn = true,
            Token::Word(word) if word == "nothing" => exchange.unanswered = true,
            Token::Word(word)
                if exchange.id.is_none() && word.contains('_') && !word.starts_with("mcp__") =>
            {
                exchange.id = Some(word.clone());
            }
            Token::Word(name) => {
                let (Some(Token::Word(id)), Some(Token::Json(input))) = (words.next(), words.next()) else {
                    return Err("a call is a name, an id and an input".into());
                };
                exchange.answer.push(Part::Call { id: id.clone(), name: name.clone(), input: input.clone() });
            }
            Token::Json(other) => return Err(format!("nothing is answered by {other}")),
        }
    }
    Ok(())
}

fn milliseconds(word: &str) -> Result<u64, String> {
    let (number, unit) = word
        .strip_suffix("ms")
        .map_or_else(|| (word.strip_suffix('s').unwrap_or(word), 1000), |number| (number, 1));
    number.parse::<u64>().map(|n| n * unit).map_err(|_| format!("{word} is no length such as 2s or 250ms"))
}

/// An object of the fields that are there.
pub(crate) fn object(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let mut object = Map::new();
    for (name, value) in fields {
        if let Some(value) = value {
            object.insert(name.into(), value);
        }
    }
    object.into()
}
