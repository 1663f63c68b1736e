//! Unspool's own JSON export, read back: sessions that were linked when it was written.
//!
//! In: a document of schema `unspool.flow/1`. Out: one record per session and its flow, ready to be shown. Never here: events
//! or linking; rules and confidences come back as they were written.

mod rows;
mod session;

use crate::format::{Descriptor, Format, Framing, Reader, Rejected, Sniff, rejection};
use crate::json::{Json, Malformed, RawStr};
use crate::object::{Object, elements};
use crate::sink::Sink;
use rows::issue;
use unspool_model::{Code, Witness};

/// The format.
pub(crate) struct FlowExport;

static DESCRIPTOR: Descriptor = Descriptor {
    id: "unspool-flow",
    title: "Unspool JSON export",
    evidence: "Unspool's own contract, docs/flow.md",
    witness: Witness::Answer,
    in_order: true,
};

/// What every version of the schema is called, but for its number.
const FAMILY: &str = "unspool.flow/";
/// The version that is read.
const SCHEMA: &str = "unspool.flow/1";

impl Format for FlowExport {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, _name: &str, head: &[u8]) -> Sniff {
        let is_ours = schema(head).is_some_and(|schema| schema.raw.starts_with(FAMILY.as_bytes()));
        Sniff { score: if is_ours { 100 } else { 0 }, framing: Framing::Whole }
    }

    fn record_type(&self, _record: &[u8]) -> String {
        "session".into()
    }

    fn open(&self) -> Box<dyn Reader> {
        Box::new(FlowExport)
    }
}

/// The schema a text names, which may be cut off behind it.
fn schema(text: &[u8]) -> Option<RawStr<'_>> {
    let mut schema = None;
    let _ = Json::new(text).object(|json, key| {
        if key != b"schema" {
            return json.skip();
        }
        schema = json.string()?;
        // Nothing behind it is looked at.
        Err(Malformed { at: 0, ended: false })
    });
    schema
}

impl Reader for FlowExport {
    fn read(&mut self, frame: &[u8], out: &mut Sink<'_>) -> Result<(), Rejected> {
        if schema(frame).is_some_and(|schema| schema.decode() != SCHEMA) {
            return Err(Rejected { code: Code::SchemaUnknown, ended: false });
        }
        let mut json = Json::new(frame);
        let walked = json.object(|json, key| match key {
            b"sessions" if json.rest().trim_ascii_start().first() == Some(&b'[') => json.array(|json| {
                let raw = json.raw()?;
                out.part(raw);
                match session::flow(&Object::of(raw), out) {
                    Some(flow) => out.give(flow),
                    None => out.reject_part(Code::SessionBroken),
                }
                Ok(())
            }),
            b"issues" => {
                for raw in elements(json.raw()?) {
                    if let Some(issue) = issue(&Object::of(raw), out) {
                        out.give_issue(issue);
                    }
                }
                Ok(())
            }
            _ => json.skip(),
        });
        walked.and_then(|()| json.end()).map_err(|error| rejection(error, frame))
    }
}
