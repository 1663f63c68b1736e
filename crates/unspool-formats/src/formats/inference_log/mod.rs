//! Recorded LLM traffic: requests with their responses, one exchange per line or many in one file.
//!
//! Proxies and tracers spell the envelope differently and the APIs spell the bodies differently; both are read by
//! what the fields are, not by who wrote them. `envelope` finds request, response, times and headers; `request` and
//! `answer` read the bodies of the three APIs; `history` says which conversation a request goes on from.

mod answer;
mod caller;
mod emit;
mod envelope;
mod folder;
mod history;
mod looks;
mod purpose;
mod request;
mod said;
mod stream;
mod summary;
mod usage;
mod whole;

pub use said::Said;
pub use whole::{Arrived, WholeAnswer, WholeExchange, WireApi};

use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::json::{Json, Kind, Malformed};
use crate::sink::Sink;
use emit::Told;
use envelope::Exchange;
use looks::Looks;
use unspool_model::{Code, Witness};

pub(crate) struct InferenceLog;

/// How everything begins that our own proxy records: docs/proxy.md.
const OWN_START: &[u8] = b"{\"unspool\":\"exchange\",";

static DESCRIPTOR: Descriptor = Descriptor {
    id: "inference-log",
    title: "Recorded LLM traffic (requests and responses)",
    evidence: "Public proxies and tracers' log lines, and the Anthropic Messages, OpenAI Chat Completions and OpenAI \
               Responses APIs, checked November 2026",
    witness: Witness::Wire,
    in_order: false,
};

impl Format for InferenceLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn opening(&self) -> &'static [u8] {
        OWN_START
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let start = head.trim_ascii_start();
        if start.starts_with(OWN_START) {
            // It is written as one line, and may have been laid out since.
            let end = memchr::memchr(b'\n', start);
            let is_line = end.is_none_or(|end| Json::new(&start[..end]).skip().is_ok());
            return Sniff { score: 100, framing: if is_line { Framing::Lines } else { Framing::Whole } };
        }
        let whole = Sniff { score: 88, framing: Framing::Whole };
        let has = |needle: &[u8]| has(head, needle);
        if is_bare_stream(start) && (has(b"\"response.created\"") || has(b"\"message_start\"")) {
            return whole;
        }
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let looks = Looks::at(line);
        // A line that ends inside its object is the first line of a text that spreads over many.
        let complete = line.len() == start.len() || Json::new(line).skip().is_ok();
        // The rest costs a look at every byte, and most lines of other formats end here.
        if complete && !looks.exchange() && !looks.list {
            return Sniff::NO;
        }
        // Bodies in strings: what browsers export.
        let exported = has(b"\"entries\"") && has(b"\"log\"") && has(b"messages\\\"");
        if !speaks_of_exchanges(head) && !exported {
            return Sniff::NO;
        }
        if looks.exchange() {
            return Sniff { score: 92, framing: if complete { Framing::Lines } else { Framing::Whole } };
        }
        let looks = Looks::at(start);
        if looks.exchange() || looks.list { whole } else { Sniff::NO }
    }

    fn record_type(&self, record: &[u8]) -> String {
        Exchange::read(record).map_or_else(|_| "record".into(), |exchange| exchange.api_name())
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(Log::default())
    }
}

/// Reads one log.
#[derive(Default)]
struct Log {
    /// Calls and results told so far. Requests repeat them; what is repeated is told once.
    told: Told,
}

impl Reader for Log {
    fn read(&mut self, frame: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        if is_bare_stream(frame) {
            emit::bare_stream(frame, &mut self.told, out);
            return Ok(());
        }
        let mut json = Json::new(frame);
        if json.kind() != Ok(Kind::Array) {
            // A list that is torn still has the exchanges before its end.
            let read = Exchange::read(frame);
            let is_one = read.as_ref().is_ok_and(Exchange::says_something) || !Looks::at(frame).list;
            if is_one {
                emit::exchange(&read.map_err(|error| rejection(error, frame))?, &mut self.told, out);
                return Ok(());
            }
        }
        self.parts(&mut json, out, 0).and_then(|()| json.end()).map_err(|error| rejection(error, frame))
    }
}

impl Log {
    /// Finds the exchanges in a list, or in the named lists and pairs of an object.
    fn parts(&mut self, json: &mut Json<'_>, out: &mut Sink<'_>, depth: u32) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::Array if depth < MAX_LIST_LEVELS => json.array(|json| self.part(json, out, depth + 1)),
            Kind::Object if depth < MAX_LIST_LEVELS => json.object(|json, _| self.part(json, out, depth + 1)),
            _ => {
                if speaks_of_exchanges(json.raw()?) {
                    out.issue(Code::LimitReached, "max_list_levels");
                }
                Ok(())
            }
        }
    }

    fn part(&mut self, json: &mut Json<'_>, out: &mut Sink<'_>, depth: u32) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::Object => {
                let raw = json.raw()?;
                if !Looks::at(raw).exchange() {
                    return self.parts(&mut Json::new(raw), out, depth);
                }
                out.part(raw);
                match Exchange::read(raw) {
                    Ok(exchange) => emit::exchange(&exchange, &mut self.told, out),
                    Err(_) => out.reject_part(Code::NotJson),
                }
                Ok(())
            }
            Kind::Array => self.parts(json, out, depth),
            _ => json.skip(),
        }
    }
}

/// Lists and objects around an exchange. Named so in notices.
const MAX_LIST_LEVELS: u32 = 3;

/// Whether a text has words of which every exchange has some.
fn speaks_of_exchanges(text: &[u8]) -> bool {
    let has = |word: &[u8]| has(text, word);
    let api = has(b"\"messages\"") || has(b"\"input\"") || has(b"\"prompt\"") || has(b"\"choices\"");
    api && (has(b"\"response") || has(b"\"body\"") || has(b"\"request\""))
}

fn has(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

/// The first event of a stream says what it is within its first bytes.
const BARE_STREAM_BYTES: usize = 256;

/// Whether a text is nothing but the events of one streamed response: server-sent, or as JSON values one after another.
fn is_bare_stream(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    if text.starts_with(b"event: message_start") || text.starts_with(b"event: response.created") {
        return true;
    }
    let start = &text[..text.len().min(BARE_STREAM_BYTES)];
    if [&b"\"response.created\""[..], b"\"message_start\""]
        .iter()
        .all(|word| memchr::memmem::find(start, word).is_none())
    {
        return false;
    }
    let mut kind = None;
    let _ = Json::new(text).object(|json, key| {
        match key {
            b"type" => kind = json.string()?,
            _ => json.skip()?,
        }
        Ok(())
    });
    matches!(kind.map(|kind| kind.raw), Some(b"response.created" | b"message_start"))
}

#[cfg(test)]
mod tests {
    use super::InferenceLog;
    use crate::format::{Framing, Sniff};
    use crate::{Decoder, Detail};
    use unspool_model::Batch;

    fn read(text: &str) -> (usize, Vec<String>) {
        let mut batch = Batch::default();
        let sniff = Sniff { score: 1, framing: Framing::Whole };
        let mut decoder = Decoder::new(&mut batch, &InferenceLog, sniff, "log.json", Detail::Full);
        decoder.push(text.as_bytes());
        decoder.finish();
        let notes =
            batch.issues.iter().map(|one| format!("{} {}", one.code.name(), batch.text.get(one.detail)));
        (
            batch.events.iter().filter(|event| event.kind == unspool_model::EventKind::ModelCall).count(),
            notes.collect(),
        )
    }

    const EXCHANGE: &str = r#"{"request":{"model":"m","messages":[{"role":"user","content":"Hi"}]},"response":{"id":"r1","content":[{"type":"text","text":"Yes"}]}}"#;

    #[test]
    fn exchanges_in_too_many_lists_are_noted() {
        assert_eq!(read(&format!("[[[{EXCHANGE}]]]")), (1, vec![]));
        assert_eq!(
            read(&format!("[[[[{EXCHANGE}]]]]")),
            (0, vec!["limit_reached max_list_levels".to_string()])
        );
        let other = r#"{"pages":[{"timings":{"load":1}}]}"#;
        assert_eq!(
            read(&format!("[[[{EXCHANGE}]],{other}]")),
            (1, vec![]),
            "what is no exchange is not missed"
        );
    }

    #[test]
    fn choices_beyond_the_limit_are_noted() {
        let answer = |choice: u64, call: u64| {
            let data = format!(
                r#"data: {{"id":"r1","choices":[{{"index":{choice},"delta":{{"content":"a","tool_calls":[{{"index":{call},"id":"c"}}]}},"finish_reason":"stop"}}]}}"#
            );
            let request = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;
            let stream = serde_json::json!(format!("{data}\n\ndata: [DONE]\n\n"));
            read(&format!(r#"{{"request":{request},"response":{stream}}}"#))
        };
        assert_eq!(answer(1, 1), (1, vec![]));
        assert_eq!(answer(1 << 40, 1), (1, vec!["limit_reached max_choices".to_string()]));
        assert_eq!(answer(1, 1 << 40), (1, vec!["limit_reached max_blocks_per_choice".to_string()]));
    }
}
