//! Recorded exchanges of sessions or files, wherever they are kept.
//!
//! In: what the user named. Out: the exchanges whole, in the order they were sent. A path is read; an id is looked for in the data folder, or asked of the
//! server that has it, and then in the usual places.

use crate::args::{Args, Places};
use crate::commands::{data_folder, opening, options, settle};
use crate::error::CliError;
use crate::figures::plural;
use crate::load::load;
use crate::natives::Bytes;
use crate::server::{RunningServer, encoded};
use serde_json::Value;
use std::path::{Path, PathBuf};
use unspool_engine::live::{Engine, OpenError, Snapshot};
use unspool_formats::{Detail, WholeExchange};
use unspool_link::Corpus;
use unspool_model::Witness;
use unspool_replay::Recordings;
use unspool_view::search::NativeBytes;

/// What holds the exchanges.
#[derive(clap::Args)]
pub(crate) struct RecordedArgs {
    /// Session ids or unique starts of them, or files or folders of recorded traffic.
    #[arg(value_name = "SESSION|PATH", required = true)]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// Where sessions are kept, if no server has them (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Ask the server here (default: the data folder, or `$UNSPOOL_SERVER`, else 127.0.0.1:4680 if a server has it).
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,
}

/// What the data folder has.
enum InFolder {
    Found(Vec<WholeExchange>),
    /// Sessions, but none of that name.
    Missing {
        folder: PathBuf,
        sessions: u64,
    },
    NoFolder,
}

impl RecordedArgs {
    /// How the user named them.
    pub(crate) fn shown(&self) -> String {
        let names: Vec<String> = self.targets.iter().map(|target| target.display().to_string()).collect();
        names.join(", ")
    }

    /// The exchanges.
    pub(crate) fn read(&self, args: &Args, in_order: bool) -> Result<Recordings, CliError> {
        let mut exchanges = Vec::new();
        for target in &self.targets {
            exchanges.extend(self.exchanges(args, target)?);
        }
        let recordings = Recordings::new(exchanges, in_order);
        if recordings.exchanges().is_empty() {
            let why = format!("{} has no recorded requests", self.shown());
            let hint = "recorded traffic is what `unspool proxy` keeps, or what docs/traffic.md lists".into();
            return Err(CliError::Data { why, hint: Some(hint) });
        }
        Ok(recordings)
    }

    fn exchanges(&self, args: &Args, target: &PathBuf) -> Result<Vec<WholeExchange>, CliError> {
        let name = target.display().to_string();
        let is_path = std::fs::symlink_metadata(target).is_ok() || name == "-" || name.contains('/');
        if is_path || !self.places.look_in.is_empty() {
            return self.in_files(args, target);
        }
        if self.server.is_some() {
            return in_server(&RunningServer::named(self.server.as_deref()), &name);
        }
        match self.in_folder(args, &name)? {
            InFolder::Found(exchanges) => Ok(exchanges),
            InFolder::NoFolder => self.in_files(args, target),
            InFolder::Missing { folder, sessions } => {
                self.in_files(args, target).map_err(|error| self.missing(error, &name, &folder, sessions))
            }
        }
    }

    fn in_files(&self, args: &Args, target: &PathBuf) -> Result<Vec<WholeExchange>, CliError> {
        let loaded = load(args, std::slice::from_ref(target), &self.places.look_in, Detail::Full)?;
        let mut bytes = Bytes::new(&loaded.natives, &loaded.corpus.batch);
        Ok(loaded.sessions.iter().flat_map(|session| whole(&loaded.corpus, *session, &mut bytes)).collect())
    }

    fn in_folder(&self, args: &Args, name: &str) -> Result<InFolder, CliError> {
        let folder = data_folder(self.data_dir.as_deref())?;
        let engine = match Engine::open_existing(options(args, &folder, "replay")?) {
            Ok(engine) => engine,
            Err(error) if error.is_held() => {
                return in_server(&RunningServer::named(None), name).map(InFolder::Found);
            }
            // The usual folder need not be there; one that was named is meant.
            Err(OpenError::Nothing { .. }) if self.data_dir.is_none() => return Ok(InFolder::NoFolder),
            Err(error) => return Err(opening(&error)),
        };
        settle(&engine)?;
        let (found, sessions) = (snapshot(&engine, name), engine.health().sessions);
        engine.close();
        Ok(match found? {
            Some(found) => InFolder::Found(whole(&found.corpus, found.session, &mut found.natives())),
            None => InFolder::Missing { folder, sessions },
        })
    }

    /// What is said when the usual places have no such session either.
    fn missing(&self, error: CliError, name: &str, folder: &Path, sessions: u64) -> CliError {
        if !matches!(error, CliError::NothingFound(_) | CliError::NoSuchSession(_)) {
            return error;
        }
        let count = plural(sessions, "session");
        let flag = self.data_dir.as_ref().map(|folder| format!(" --data-dir {}", folder.display()));
        CliError::Data {
            why: format!(
                "no session matches `{name}`, neither of the {count} in {} nor in the usual places",
                folder.display()
            ),
            hint: Some(format!(
                "an id, a unique start of one, or a path works; `unspool serve{}` shows what is in that folder",
                flag.unwrap_or_default()
            )),
        }
    }
}

fn snapshot(engine: &Engine, name: &str) -> Result<Option<std::sync::Arc<Snapshot>>, CliError> {
    let failed = |why: String| CliError::Data { why, hint: None };
    let found = engine.sessions_named(name).map_err(|error| failed(error.to_string()))?;
    match found.as_slice() {
        [] => Ok(None),
        [(id, _)] => engine.snapshot(*id).map_err(|error| failed(error.to_string())),
        _ => Err(CliError::AmbiguousSession {
            prefix: name.into(),
            candidates: found.into_iter().map(|(_, id)| id).collect(),
        }),
    }
}

/// The exchanges among the records of a session.
fn whole(corpus: &Corpus, session: usize, bytes: &mut impl NativeBytes) -> Vec<WholeExchange> {
    let batch = &corpus.batch;
    let mut exchanges = Vec::new();
    for record in corpus.records_of(session) {
        let stream = batch.streams.get(batch.records[record as usize].stream as usize);
        if stream.is_some_and(|stream| stream.witness == Witness::Wire) {
            exchanges.extend(bytes.bytes(record).and_then(WholeExchange::read));
        }
    }
    exchanges
}

fn in_server(server: &RunningServer, name: &str) -> Result<Vec<WholeExchange>, CliError> {
    let place = format!("/api/v1/sessions/{}", encoded(&server.session(name)?));
    let session = server.document(&place)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut records: Vec<String> = Vec::new();
    for step in list(&session["steps"]) {
        let wire = list(&step["witnesses"]).into_iter().filter(|one| one["format"] == "inference-log");
        records.extend(wire.filter_map(|one| one["record_id"].as_str().map(String::from)));
    }
    records.sort_unstable();
    records.dedup();
    let mut exchanges = Vec::with_capacity(records.len());
    for record in records {
        exchanges.extend(WholeExchange::read(&server.bytes(&format!("{place}/records/{record}"))?));
    }
    Ok(exchanges)
}
