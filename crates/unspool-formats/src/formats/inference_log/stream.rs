//! Streamed responses, put together again: server-sent events, JSON events one after another, or a list of pieces.
//!
//! Tool calls arrive in pieces: id and name first, then their input in fragments of JSON. A piece may come for a block
//! whose start was lost. Tokens come at the start and grow until the end.

use super::answer::{Answer, error_text, owned};
use crate::chat::Call;
use crate::json::{Json, Kind, Malformed, RawStr};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A response in the making.
#[derive(Default)]
pub(super) struct Assembly {
    answer: Answer,
    /// Blocks by their index, in order.
    blocks: BTreeMap<i64, Block>,
    /// The last event of a complete stream was seen.
    ended: bool,
    seen: bool,
    /// The last event so far was not whole.
    is_torn: bool,
}

/// Choices that are told apart. Named so in notices.
const MAX_CHOICES: i64 = 1 << 20;

/// Blocks of a choice that are told apart; its text is one more. Named so in notices.
const MAX_BLOCKS_PER_CHOICE: i64 = (1 << 20) - 1;

#[derive(Default)]
struct Block {
    text: String,
    call: Option<Call>,
    thinking: bool,
}

/// What ends a stream of Chat Completions.
const DONE: &str = "[DONE]";

/// Reads server-sent events: `data:` lines, several of which make one event.
pub(super) fn events(answer: &mut Answer, text: &str) {
    let mut events = Events::default();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        // A line may end with a carriage return alone.
        text[start..end].trim_end_matches('\r').split('\r').for_each(|line| events.line(line));
        start = end + 1;
    }
    events.line("");
    events.assembly.finish(answer);
}

/// Server-sent events, line by line.
#[derive(Default)]
struct Events {
    assembly: Assembly,
    /// Those of an event that is not whole yet.
    data: String,
}

impl Events {
    fn line(&mut self, line: &str) {
        let data = &mut self.data;
        if let Some(rest) = line.strip_prefix("data:") {
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            // Nearly every event is whole on its line.
            if data.is_empty() && self.assembly.whole_event(rest.as_bytes()) {
                return;
            }
            // An event that is whole goes on from none: the one before it was torn.
            if !data.is_empty() && (rest.trim() == DONE || is_event(rest.as_bytes())) {
                self.assembly.data(data);
                data.clear();
            }
            let is_first = data.is_empty();
            if !is_first {
                data.push('\n');
            }
            data.push_str(rest);
            // Recorders that keep only `data:` lines leave no blank ones between them; each of theirs is an event. What
            // takes several lines ends with a blank one, and is not looked at again for each of them.
            if !is_first || Json::new(data.as_bytes()).skip().is_err() {
                return;
            }
        } else if data.is_empty() || !(line.trim().is_empty() || line.starts_with("event:")) {
            return;
        }
        self.assembly.data(data);
        data.clear();
    }
}

/// Reads JSON events that follow each other without anything between them.
pub(super) fn values(answer: &mut Answer, bytes: &[u8]) {
    let mut assembly = Assembly::default();
    let mut json = Json::new(bytes);
    while let Ok(raw) = json.raw() {
        assembly.chunk(raw);
    }
    assembly.finish(answer);
}

/// Whether a text is a whole JSON object that is an event of a stream rather than a whole response.
pub(super) fn is_event(raw: &[u8]) -> bool {
    let mut found = false;
    let mut json = Json::new(raw);
    let read = json.object(|json, key| {
        match key {
            b"type" => {
                let kind = owned(json)?;
                found |=
                    ["message_", "content_block_", "response."].iter().any(|start| kind.starts_with(start));
            }
            b"object" => found |= owned(json)? == "chat.completion.chunk",
            _ => json.skip()?,
        }
        Ok(())
    });
    found && read.is_ok()
}

impl Assembly {
    fn data(&mut self, data: &str) {
        if data.trim() == DONE {
            self.next();
            self.ended = true;
        } else {
            self.event(data.as_bytes());
        }
    }

    /// One piece of a recorded list: an event, or a wrapper around one.
    pub(super) fn chunk(&mut self, raw: &[u8]) {
        let mut inner = None;
        let _ = Json::new(raw).object(|json, key| {
            match key {
                b"data" | b"response.completed" => inner = Some(json.raw()?),
                _ => json.skip()?,
            }
            Ok(())
        });
        match inner.map(|raw| (raw, Json::new(raw).kind())) {
            Some((raw, Ok(Kind::String))) => {
                let text = Json::new(raw).string().ok().flatten().map(|text| text.decode().into_owned());
                self.data(&text.unwrap_or_default());
            }
            Some((raw, Ok(Kind::Object))) => self.event(raw),
            _ => self.event(raw),
        }
    }

    fn event(&mut self, raw: &[u8]) {
        // What was understood before a torn end counts, but the stream did not end there.
        if let Some((event, whole)) = Event::read(raw) {
            self.take(&event, whole, raw);
        }
    }

    /// Reads an event if it is whole; whether it was.
    fn whole_event(&mut self, raw: &[u8]) -> bool {
        let event = Event::read(raw).filter(|(_, whole)| *whole);
        event.map(|(event, whole)| self.take(&event, whole, raw)).is_some()
    }

    fn take(&mut self, event: &Event<'_>, whole: bool, raw: &[u8]) {
        self.next();
        self.is_torn = !whole;
        self.seen = true;
        self.apply(event, raw);
        self.ended &= whole;
    }

    /// Another event comes, so that a torn one before it was not where the stream ended.
    fn next(&mut self) {
        self.answer.torn += usize::from(std::mem::take(&mut self.is_torn));
    }

    fn apply(&mut self, event: &Event<'_>, raw: &[u8]) {
        match &*event.kind {
            "message_start" => {
                if let Some(message) = event.message {
                    self.answer.body(message);
                    self.answer.texts.clear();
                }
            }
            "content_block_start" => {
                if let Some(start) = event.content_block {
                    let mut read = Answer::default();
                    let _ = read.item(&mut Json::new(start));
                    let call = read.calls.pop().map(|call| Call { input: String::new(), ..call });
                    let thinking = memchr::memmem::find(start, b"thinking\"").is_some() && call.is_none();
                    let text = read.texts.pop().unwrap_or_default();
                    self.blocks.insert(event.index, Block { text, call, thinking });
                }
            }
            "content_block_delta" => self.delta(event.index, event.delta),
            "message_delta" => {
                if let Some(delta) = event.delta {
                    self.answer.body(delta);
                }
                if let Some(usage) = event.usage {
                    let _ = self.answer.tokens.read(&mut Json::new(usage));
                }
            }
            "message_stop" => self.ended = true,
            "error" | "response.failed" | "response.error" => {
                let raw = event.error.or(event.response).unwrap_or(raw);
                self.answer.error = error_text(raw, &mut self.answer.limit);
                self.ended = true;
            }
            "response.created" | "response.in_progress" => {
                if let Some(response) = event.response {
                    self.answer.body(response);
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                if let Some(response) = event.response {
                    let mut whole = Answer::default();
                    whole.body(response);
                    // The last event repeats everything, unless a recorder cut it short.
                    if whole.texts.is_empty() && whole.calls.is_empty() {
                        self.answer.body(response);
                    } else {
                        self.answer = whole;
                        self.blocks.clear();
                    }
                }
                self.ended = true;
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = event.item {
                    let mut read = Answer::default();
                    let _ = read.item(&mut Json::new(item));
                    let text = read.texts.concat();
                    self.blocks
                        .insert(event.output_index, Block { text, call: read.calls.pop(), thinking: false });
                }
            }
            "response.output_text.delta" => {
                let text = event.delta.and_then(|raw| Json::new(raw).string().ok().flatten());
                if let Some(text) = text {
                    self.blocks.entry(event.output_index).or_default().text.push_str(&text.decode());
                }
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let text = event.delta.and_then(|raw| Json::new(raw).string().ok().flatten());
                if let (Some(text), Some(block)) = (text, self.blocks.get_mut(&event.output_index)) {
                    block.call.get_or_insert_default().input.push_str(&text.decode());
                }
            }
            _ => self.chat(event, raw),
        }
    }

    /// A piece of one content block.
    fn delta(&mut self, index: i64, delta: Option<&[u8]>) {
        let Some(delta) = delta else { return };
        let block = self.blocks.entry(index).or_default();
        let _ = Json::new(delta).object(|json, key| {
            match key {
                b"text" => block.text.push_str(&piece(json)?),
                b"partial_json" => {
                    let piece = piece(json)?;
                    block.call.get_or_insert_default().input.push_str(&piece);
                }
                _ => json.skip()?,
            }
            Ok(())
        });
    }

    /// A piece of a chat completion.
    fn chat(&mut self, event: &Event<'_>, raw: &[u8]) {
        if event.choices.is_none() && event.usage.is_none() {
            return;
        }
        let mut head = Answer::default();
        let _ = Json::new(raw).object(|json, key| {
            match key {
                b"id" => head.id = owned(json)?,
                b"model" => head.model = owned(json)?,
                b"usage" => self.answer.tokens.read(json)?,
                _ => json.skip()?,
            }
            Ok(())
        });
        if self.answer.id.is_empty() {
            (self.answer.id, self.answer.model) = (head.id, head.model);
        }
        let Some(choices) = event.choices else { return };
        let _ = Json::new(choices).array(|json| {
            if json.kind()? != Kind::Object {
                return json.skip();
            }
            let (mut choice, mut delta) = (0, None);
            json.object(|json, key| {
                match key {
                    b"index" => choice = json.integer()?.unwrap_or(0),
                    b"finish_reason" => {
                        let reason = owned(json)?;
                        if !reason.is_empty() {
                            self.answer.stop = reason;
                            self.ended = true;
                        }
                    }
                    b"delta" if json.kind()? == Kind::Object => delta = Some(json.raw()?),
                    _ => json.skip()?,
                }
                Ok(())
            })?;
            // Each choice is an answer of its own.
            let first = self.number(choice, MAX_CHOICES, "max_choices") * (MAX_BLOCKS_PER_CHOICE + 1);
            delta.map_or(Ok(()), |delta| self.chat_delta(&mut Json::new(delta), first))
        });
    }

    /// A number that things are told apart by: all beyond a limit are taken for one.
    fn number(&mut self, number: i64, limit: i64, name: &'static str) -> i64 {
        if number >= limit {
            self.answer.limit = Some(name);
        }
        number.clamp(0, limit - 1)
    }

    fn chat_delta(&mut self, json: &mut Json<'_>, first: i64) -> Result<(), Malformed> {
        json.object(|json, key| {
            match key {
                b"content" => {
                    let text = piece(json)?;
                    self.blocks.entry(first - 1).or_default().text.push_str(&text);
                }
                b"tool_calls" if json.kind()? == Kind::Array => {
                    json.array(|json| self.chat_call(json, first))?;
                }
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    fn chat_call(&mut self, json: &mut Json<'_>, first: i64) -> Result<(), Malformed> {
        if json.kind()? != Kind::Object {
            return json.skip();
        }
        let (mut index, mut piece) = (0, Call::default());
        json.object(|json, key| {
            match key {
                b"index" => index = json.integer()?.unwrap_or(0),
                b"id" => piece.id = owned(json)?,
                b"function" if json.kind()? == Kind::Object => json.object(|json, key| {
                    match key {
                        b"name" => piece.name = owned(json)?,
                        b"arguments" => piece.input = owned(json)?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        let index = self.number(index, MAX_BLOCKS_PER_CHOICE, "max_blocks_per_choice");
        let call = self.blocks.entry(first + index).or_default().call.get_or_insert_default();
        for (slot, value) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            if slot.is_empty() {
                *slot = value;
            }
        }
        call.input.push_str(&piece.input);
        Ok(())
    }

    /// Puts the blocks in order into the answer.
    pub(super) fn finish(mut self, answer: &mut Answer) {
        for (_, block) in std::mem::take(&mut self.blocks) {
            if !block.thinking {
                self.answer.say(block.text);
            }
            self.answer.calls.extend(block.call);
        }
        self.answer.interrupted = self.seen && !self.ended;
        *answer = self.answer;
    }
}

/// A piece of a text.
fn piece<'a>(json: &mut Json<'a>) -> Result<Cow<'a, str>, Malformed> {
    Ok(json.string()?.map(RawStr::decode).unwrap_or_default())
}

/// The fields of an event, whatever API's.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    index: i64,
    output_index: i64,
    message: Option<&'a [u8]>,
    content_block: Option<&'a [u8]>,
    delta: Option<&'a [u8]>,
    usage: Option<&'a [u8]>,
    response: Option<&'a [u8]>,
    item: Option<&'a [u8]>,
    choices: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
}

impl<'a> Event<'a> {
    /// What can be read of an object, and whether that is all of it; `None` when it is something else.
    fn read(raw: &'a [u8]) -> Option<(Event<'a>, bool)> {
        let (mut event, mut json) = (Event::default(), Json::new(raw));
        if json.kind() != Ok(Kind::Object) {
            return None;
        }
        let read = json.object(|json, key| event.field(json, key));
        Some((event, read.is_ok()))
    }

    fn field(&mut self, json: &mut Json<'a>, key: &[u8]) -> Result<(), Malformed> {
        let slot = match key {
            b"type" => {
                self.kind = piece(json)?;
                return Ok(());
            }
            b"index" => {
                self.index = json.integer()?.unwrap_or(0);
                return Ok(());
            }
            b"output_index" => {
                self.output_index = json.integer()?.unwrap_or(0);
                return Ok(());
            }
            b"message" => &mut self.message,
            b"content_block" => &mut self.content_block,
            b"delta" => &mut self.delta,
            b"usage" => &mut self.usage,
            b"response" => &mut self.response,
            b"item" => &mut self.item,
            b"choices" => &mut self.choices,
            b"error" => &mut self.error,
            _ => return json.skip(),
        };
        *slot = Some(json.raw()?).filter(|raw| *raw != b"null");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::events;
    use crate::formats::inference_log::answer::Answer;
    use crate::formats::inference_log::envelope::Given;

    fn read(text: &str) -> Answer {
        let mut answer = Answer::default();
        events(&mut answer, text);
        answer
    }

    const STREAM: &str = ": ping\n\nevent: message_start\n\
        data: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"usage\":{\"input_tokens\":5}}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"Hé\"}}\n\n: ping\n\n\
        data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"partial_json\":\"{\\\"a\\\":\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"partial_json\":\"1}\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"partial_json\":\"{}\"}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";

    #[test]
    fn a_torn_event_costs_no_other() {
        let events = &STREAM[STREAM.find("data:").unwrap()..];
        for end in "data: {".len()..events.find('\n').unwrap() {
            for between in ["\n", "\nevent: content_block_delta\n", "\n\n"] {
                let torn = events[..end].to_string() + between + events;
                let answer = read(&torn);
                assert_eq!((answer.torn, answer.interrupted), (1, false), "{torn}");
                assert_eq!((&*answer.id, answer.texts.len(), answer.calls.len()), ("m1", 1, 2), "{torn}");
            }
        }
        let chunk = |text: &str| {
            format!(
                "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n"
            )
        };
        let answer = read(&format!("{}{}\n{}data: [DONE]\n", chunk("A"), &chunk("B")[..70], chunk("C")));
        assert_eq!((answer.torn, &answer.texts[..]), (1, &["AC".to_string()][..]));
    }

    #[test]
    fn an_event_of_many_lines_is_looked_at_once() {
        // Looked at again for every line, this would take hours.
        let text = "data: [\n".repeat(500_000) + "\n" + STREAM;
        assert_eq!(read(&text).id, "m1");
        let spread = "data: {\"type\":\"message_start\",\ndata: \"message\":{\"id\":\"m2\"}}\n\n";
        assert_eq!(read(spread).id, "m2");
    }

    #[test]
    fn line_ends_and_comments_do_not_matter() {
        for end in ["\n", "\r\n", "\r"] {
            let answer = read(&STREAM.replace('\n', end));
            let calls: Vec<_> =
                answer.calls.iter().map(|call| (&*call.id, &*call.name, &*call.input)).collect();
            // The start of the last one was lost.
            assert_eq!(calls, [("t1", "Bash", "{\"a\":1}"), ("", "", "{}")]);
            assert_eq!(
                (&*answer.id, &answer.texts[..], answer.interrupted),
                ("m1", &["Hé".to_string()][..], false)
            );
        }
    }

    #[test]
    fn a_stream_may_be_cut_into_pieces_anywhere() {
        let whole = format!("{:?}", read(STREAM));
        for at in (1..STREAM.len()).filter(|at| STREAM.is_char_boundary(*at)) {
            let pieces = serde_json::json!([STREAM[..at], STREAM[at..]]).to_string();
            let mut answer = Answer::read(&Given::Chunks(pieces.as_bytes()));
            answer.present = false;
            assert_eq!(format!("{answer:?}"), whole, "cut at {at}");
        }
    }

    #[test]
    fn every_beginning_of_a_stream_keeps_what_had_arrived() {
        for end in (0..STREAM.len()).filter(|end| STREAM.is_char_boundary(*end)) {
            let answer = read(&STREAM[..end]);
            let said = STREAM[..end].contains("Hé\"}}");
            assert!(answer.texts.len() >= usize::from(said), "{}", &STREAM[..end]);
        }
    }

    #[test]
    fn an_error_in_the_middle_keeps_what_was_said_before() {
        let cut = &STREAM[..STREAM.find("data: {\"type\":\"content_block_start").unwrap_or(0)];
        let answer =
            read(&format!("{cut}data: {{\"type\":\"error\",\"error\":{{\"message\":\"Overloaded\"}}}}\n\n"));
        assert_eq!(
            (&answer.texts[..], answer.error.as_deref()),
            (&["Hé".to_string()][..], Some("Overloaded"))
        );
    }

    #[test]
    fn each_choice_is_an_answer_of_its_own() {
        let chunk = |text: &str| {
            let choice = |n: i64, text: &str| serde_json::json!({"index": n, "delta": {"content": text}});
            let chunk =
                serde_json::json!({"id": "c", "choices": [choice(0, text), choice(1, &text.to_lowercase())]});
            format!("data: {chunk}\n\n")
        };
        assert_eq!(read(&[chunk("A"), chunk("B")].concat()).texts, ["AB", "ab"]);
    }

    #[test]
    fn a_failed_response_says_why() {
        let answer = read(
            "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"It broke\"}}}\n\n",
        );
        assert_eq!(answer.error.as_deref(), Some("It broke"));
    }
}
