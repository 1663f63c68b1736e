//! A report that is open: its sessions, and the answers to what is asked about them.
//!
//! In: addresses as the server knows them. Out: the answers the server gives. What needs a server is refused, and said.

use crate::container::{Container, Cover, NotAReport, Stream};
use http::StatusCode;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use unspool_answers::{
    ApiError, Asked, Call, DIFF, Layouts, Neighbours, QUERY, Records, Reply, SESSION_ENDPOINTS, Seen,
    Sessions, Snapshot, Wanted,
};
use unspool_formats::{Decoder, Detail, FORMATS, Sniff};
use unspool_link::Corpus;
use unspool_model::{Batch, Flow, RecordIx, Timestamp};
use unspool_view::Prices;
use unspool_view::screen;
use unspool_view::search::NativeBytes;

/// A report that is open.
pub struct Opened {
    cover: Cover,
    corpus: Arc<Corpus>,
    prices: Arc<Prices>,
    records: Arc<Kept>,
    sessions: Vec<Session>,
    layouts: Arc<Layouts>,
}

/// A session of the report, linked when it is first asked for.
struct Session {
    id: String,
    place: usize,
    flow: OnceLock<Arc<Flow>>,
}

/// An answer.
pub struct Told {
    /// Of HTTP.
    pub status: u16,
    /// Its media type.
    pub media: &'static str,
    /// The name of the file it is to be kept as.
    pub file: Option<String>,
    /// The answer.
    pub body: Vec<u8>,
}

/// The list of a report's sessions, in the shape of the server's.
#[derive(Serialize)]
struct ListDoc<'a> {
    sessions: &'a [Box<RawValue>],
    next_cursor: Option<String>,
    matching: usize,
    complete: bool,
}

/// The bytes of records, in memory.
struct Kept {
    streams: Vec<Stream>,
    /// For each stream of the corpus, its place among these.
    place: Vec<usize>,
    corpus: Arc<Corpus>,
}

impl Records for Kept {
    fn natives(&self) -> Box<dyn NativeBytes + '_> {
        Box::new(Reading(self))
    }
}

/// A report knows nothing of other sessions of a project.
struct Alone;

impl Sessions for Alone {
    fn of_project(&self, _: &str, _: usize) -> Result<Neighbours, ApiError> {
        Ok(Neighbours { others: Vec::new(), left_out: 0 })
    }
}

struct Reading<'a>(&'a Kept);

impl NativeBytes for Reading<'_> {
    fn bytes(&mut self, record: RecordIx) -> Option<&[u8]> {
        let Reading(kept) = self;
        let record = kept.corpus.batch.records.get(record as usize)?;
        let stream = kept.streams.get(*kept.place.get(record.stream as usize)?)?;
        let start = usize::try_from(record.offset).ok()?;
        stream.bytes.get(start..start.checked_add(record.len as usize)?)
    }

    fn readable(&mut self, record: RecordIx) -> Option<Cow<'_, str>> {
        self.bytes(record).map(unspool_formats::readable)
    }
}

/// Reads a source; none when its format is not known here.
pub(crate) fn decode(stream: &Stream) -> Option<Batch> {
    let format = FORMATS.iter().copied().find(|format| format.descriptor().id == stream.format)?;
    let mut batch = Batch::default();
    let sniff = Sniff { score: 100, framing: stream.framing };
    let mut decoder = Decoder::new(&mut batch, format, sniff, &stream.name, Detail::Full);
    decoder.push(&stream.bytes);
    decoder.finish();
    if let Some(only) = &stream.only {
        let is_kept = |ordinal: u32| only.binary_search(&ordinal).is_ok();
        let kept = (0..).zip(&batch.records).filter(|(_, record)| is_kept(record.ordinal));
        let kept: Vec<RecordIx> = kept.map(|(n, _)| n).collect();
        batch = batch.pick(&kept);
    }
    let shown = batch.text.intern(&stream.shown);
    batch.streams.iter_mut().for_each(|row| row.name = shown);
    Some(batch)
}

impl Opened {
    /// Opens what a report carries.
    pub fn read(bytes: Vec<u8>) -> Result<Opened, NotAReport> {
        let container = Container::read(&bytes)?;
        drop(bytes);
        Opened::new(container)
    }

    /// Reads and links the records of a report.
    pub fn new(container: Container) -> Result<Opened, NotAReport> {
        let Container { cover, streams } = container;
        let (mut batch, mut place) = (Batch::default(), Vec::new());
        for (n, stream) in streams.iter().enumerate() {
            let format = || NotAReport(format!("the format {} is not known here", stream.format));
            let read = decode(stream).ok_or_else(format)?;
            place.resize(place.len() + read.streams.len(), n);
            batch.append(read);
        }
        let prices = Arc::new(cover.prices.clone());
        let as_of = cover.as_of_ns.map_or(Timestamp::NONE, Timestamp::from_ns);
        let corpus = Arc::new(Corpus::new(batch, cover.table.clone(), as_of));
        let ids: Vec<String> = (0..corpus.len()).map(|n| corpus.session_id(n).show('x')).collect();
        let session = |id: &String| {
            let place = ids.iter().position(|known| known == id);
            let place = place.ok_or_else(|| NotAReport(format!("there is no session {id} in it")))?;
            Ok(Session { id: id.clone(), place, flow: OnceLock::new() })
        };
        let sessions = cover.sessions.iter().map(session).collect::<Result<_, _>>()?;
        let records = Arc::new(Kept { streams, place, corpus: Arc::clone(&corpus) });
        Ok(Opened { cover, corpus, prices, records, sessions, layouts: Arc::default() })
    }

    /// The sessions, linked.
    pub fn flows(&self) -> impl Iterator<Item = &Arc<Flow>> {
        self.sessions.iter().map(|session| self.flow(session))
    }

    /// All its records.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// What models cost.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Takes the report apart again, with a line of a list for each session.
    pub fn into_container(self, lines: Vec<Box<RawValue>>) -> Container {
        let Opened { cover, records, .. } = self;
        let streams =
            Arc::try_unwrap(records).map_or_else(|shared| shared.streams.clone(), |kept| kept.streams);
        Container { cover: Cover { lines, ..cover }, streams }
    }

    fn flow<'a>(&'a self, session: &'a Session) -> &'a Arc<Flow> {
        session.flow.get_or_init(|| Arc::new(self.corpus.flow(session.place)))
    }

    /// Answers an address: its path, and what stands behind the `?`.
    pub fn ask(&self, address: &str, now: Timestamp) -> Told {
        let told = self.answer(address, now).and_then(|reply| {
            let Reply { media, file, write } = reply;
            let mut body = Vec::new();
            let failed = |error: std::io::Error| {
                ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "not_written", error.to_string())
                    .with_hint("open the report again")
            };
            write(&mut body).map_err(failed)?;
            Ok(Told { status: 200, media, file, body })
        });
        told.unwrap_or_else(|error| Told {
            status: error.status.as_u16(),
            media: "application/json",
            file: None,
            body: serde_json::to_vec(&error.doc()).unwrap_or_default(),
        })
    }

    fn answer(&self, address: &str, now: Timestamp) -> Result<Reply, ApiError> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        match path {
            "/api/v1/schema" => {
                Asked::read(query, &[])?;
                return Ok(Reply::json(screen::words()));
            }
            "/api/v1/sessions" => {
                Asked::read(query, &[])?;
                return Ok(self.list());
            }
            "/api/v1/query" => {
                let asked = Asked::read(query, QUERY)?;
                return unspool_answers::query(&asked, || Ok(self.wanted(&asked, now)));
            }
            "/api/v1/diff" => {
                let asked = Asked::read(query, DIFF)?;
                return unspool_answers::diff(&asked, |id| Ok(self.seen(self.find(id)?.0, now)));
            }
            _ => {}
        }
        if let Some(parts) = parts("/api/v1/sessions/{id}/line", path) {
            let call = Call { asked: Asked::read(query, &[])?, path: parts };
            let (_, n) = self.find(call.part("id"))?;
            let line = self.cover.lines.get(n).ok_or_else(|| ApiError::not_found("line", call.part("id")))?;
            return Ok(Reply::ready("application/json", line.get()));
        }
        let found = SESSION_ENDPOINTS.iter().find_map(|one| Some((one, parts(one.path, path)?)));
        let Some((endpoint, path)) = found else { return Err(needs_server(path)) };
        let call = Call { asked: Asked::read(query, endpoint.params)?, path };
        let (session, _) = self.find(call.part("id"))?;
        (endpoint.ask)(&self.seen(session, now), &call)
    }

    fn list(&self) -> Reply {
        let (sessions, matching) = (&self.cover.lines, self.cover.lines.len());
        let list = ListDoc { sessions, next_cursor: None, matching, complete: true };
        Reply::ready("application/json", serde_json::to_vec(&list).unwrap_or_default())
    }

    fn wanted<'a>(&'a self, asked: &'a Asked, now: Timestamp) -> Wanted<'a, ApiError> {
        let named = asked.texts("session");
        if named.is_empty() {
            let all = self.sessions.iter().map(move |session| Ok(self.seen(session, now)));
            return (Box::new(all), 0);
        }
        let named = named.into_iter().map(move |id| Ok(self.seen(self.find(&id)?.0, now)));
        (Box::new(named), 0)
    }

    /// The session of that id, or of that native id, and its place.
    fn find(&self, id: &str) -> Result<(&Session, usize), ApiError> {
        let named = |session: &Session| self.corpus.outline(session.place).1.contains(&id);
        let place = self.sessions.iter().position(|session| session.id == id);
        let place = place.or_else(|| self.sessions.iter().position(named));
        let found = place.and_then(|n| Some((self.sessions.get(n)?, n)));
        found.ok_or_else(|| {
            ApiError::not_found("session", id).with_hint("this report holds the sessions of its list only")
        })
    }

    fn seen(&self, session: &Session, now: Timestamp) -> Seen {
        Seen {
            snapshot: Snapshot {
                corpus: Arc::clone(&self.corpus),
                flow: Arc::clone(self.flow(session)),
                records: Arc::clone(&self.records) as Arc<dyn Records>,
            },
            sessions: Arc::new(Alone),
            layouts: Arc::clone(&self.layouts),
            prices: Arc::clone(&self.prices),
            now,
        }
    }
}

/// What stands in the places of a path's `{names}`; none when it is another path.
fn parts(known: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (mut known, mut path) = (known.split('/'), path.split('/'));
    let mut parts = Vec::new();
    loop {
        match (known.next(), path.next()) {
            (None, None) => return Some(parts),
            (Some(known), Some(part)) => {
                match known.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(_) if part.is_empty() => return None,
                    Some(name) => {
                        let value = percent_decode_str(part).decode_utf8_lossy().into_owned();
                        parts.push((name.to_string(), value));
                    }
                    None if known == part => {}
                    None => return None,
                }
            }
            _ => return None,
        }
    }
}

fn needs_server(path: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_in_report", format!("a report cannot answer {path}"))
        .with_hint("`unspool serve` can")
}
