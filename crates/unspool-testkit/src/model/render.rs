//! A script as the bytes of an answer.
//!
//! In: a script, an API, a model's name. Out: the events of a stream or the body of an answer, with a mark where the id of the
//! request goes in. Made once for all requests: whoever serves stands beside what is measured.

use super::script::Script;
use super::{anthropic, chat, responses};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The bytes of an event.
pub(super) type Event = Cow<'static, str>;

/// Where the sixteen digits of a request go in.
const MARK: &str = "~~request digits~~";
const MARK_BYTES: usize = MARK.len();

/// The APIs that are spoken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Api {
    /// Anthropic Messages.
    Messages,
    /// How many tokens a request of Anthropic Messages has.
    CountTokens,
    /// `OpenAI` Chat Completions.
    Chat,
    /// `OpenAI` Responses.
    Responses,
}

impl Api {
    /// The API of a path, whatever stands before it.
    pub fn of(path: &str) -> Option<Api> {
        let path = path.split('?').next().unwrap_or_default();
        let ends = [
            ("/messages/count_tokens", Api::CountTokens),
            ("/messages", Api::Messages),
            ("/chat/completions", Api::Chat),
            ("/responses", Api::Responses),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, api)| api)
    }

    /// The path where it is usually asked.
    pub fn path(self) -> &'static str {
        match self {
            Api::Messages => "/v1/messages",
            Api::CountTokens => "/v1/messages/count_tokens",
            Api::Chat => "/v1/chat/completions",
            Api::Responses => "/v1/responses",
        }
    }

    /// A body in the words of this API for a status.
    pub(super) fn refusal(self, status: u16) -> Value {
        match self {
            Api::Messages | Api::CountTokens => anthropic::refusal(status),
            Api::Chat | Api::Responses => chat::refusal(status),
        }
    }
}

/// What an answer is made for.
pub(super) struct Turn<'a> {
    pub(super) script: &'a Script,
    pub(super) model: &'a str,
    pub(super) wants_usage: bool,
}

impl Turn<'_> {
    pub(super) fn calls_tools(&self) -> bool {
        self.script.blocks.iter().any(|block| block.tool.is_some())
    }
}

/// The id of an answer.
pub(super) fn digits_id(kind: &str) -> String {
    format!("{kind}_{MARK}")
}

/// The id of a part of an answer.
pub(super) fn part_id(kind: &str, n: usize) -> String {
    format!("{kind}_{MARK}{n}")
}

/// A text with places for the digits of a request.
pub(super) struct Template {
    text: Vec<u8>,
    places: Vec<usize>,
}

impl Template {
    fn new(text: &str) -> Template {
        let places = memchr::memmem::find_iter(text.as_bytes(), MARK).collect();
        Template { text: text.as_bytes().to_vec(), places }
    }

    /// Appends the text for a request.
    pub(super) fn write(&self, digits: &str, out: &mut Vec<u8>) {
        let mut from = 0;
        for place in &self.places {
            out.extend_from_slice(&self.text[from..*place]);
            out.extend_from_slice(digits.as_bytes());
            from = place + MARK_BYTES;
        }
        out.extend_from_slice(&self.text[from..]);
    }
}

/// An answer that waits for requests.
pub(super) enum Rendered {
    Whole(Template),
    Stream(Vec<Template>),
}

pub(super) fn render(api: Api, stream: bool, turn: &Turn<'_>) -> Rendered {
    if api == Api::CountTokens {
        return Rendered::Whole(Template::new(&json!({"input_tokens": turn.script.usage.input}).to_string()));
    }
    if !stream {
        let whole = match api {
            Api::Chat => chat::whole(turn),
            Api::Responses => responses::whole(turn),
            Api::Messages | Api::CountTokens => anthropic::whole(turn),
        };
        return Rendered::Whole(Template::new(&whole.to_string()));
    }
    let (events, ping, error) = match api {
        Api::Chat => (chat::events(turn), chat::ping(), chat::error_event()),
        Api::Responses => (responses::events(turn), responses::ping(), responses::error_event()),
        Api::Messages | Api::CountTokens => {
            (anthropic::events(turn), anthropic::ping(), anthropic::error_event())
        }
    };
    let mut out = Vec::new();
    for (n, event) in events.iter().enumerate() {
        if turn.script.error_after == Some(n) {
            out.push(Template::new(&error));
            break;
        }
        out.push(Template::new(event));
        // The APIs that ping do so before the first words, too.
        let pings = turn.script.ping_every;
        if (n == 0 && api == Api::Messages) || (pings > 0 && n % pings == 0) {
            out.push(Template::new(&ping));
        }
    }
    Rendered::Stream(out)
}
