//! From what the user typed to a corpus: configuration, places, session ids.

use crate::args::Args;
use crate::error::CliError;
use crate::progress;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use unspool_engine::{Found, Natives, Progress, discover, read, usual_places};
use unspool_formats::Detail;
use unspool_link::{Corpus, Table};
use unspool_model::{Id, Timestamp};
use unspool_view::Prices;

/// Everything read and linked.
pub(crate) struct Loaded {
    pub(crate) corpus: Corpus,
    pub(crate) natives: Natives,
    pub(crate) prices: Prices,
}

/// Settings from the configuration file over the built-in tables.
pub(crate) struct Settings {
    pub(crate) table: Table,
    pub(crate) prices: Prices,
}

pub(crate) fn settings(args: &Args) -> Result<Settings, CliError> {
    let (table, prices) = (Table::default(), Prices::default());
    let Some(path) = config_path(args) else { return Ok(Settings { table, prices }) };
    let error = |why: String| CliError::Config { path: path.display().to_string(), why: one_line(&why) };
    let text = std::fs::read_to_string(&path).map_err(|why| error(why.to_string()))?;
    let table = table.with(&text).map_err(|why| error(why.to_string()))?;
    let prices = prices.with(&text).map_err(error)?;
    Ok(Settings { table, prices })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The file named on the command line or in the environment must exist; the usual one may.
fn config_path(args: &Args) -> Option<PathBuf> {
    if let Some(path) = &args.config {
        return Some(path.clone());
    }
    if let Some(path) = std::env::var_os("UNSPOOL_CONFIG") {
        return Some(path.into());
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".config")))?;
    let path = folder.join("unspool").join("config.toml");
    path.is_file().then_some(path)
}

/// Reads the paths, or the usual places when none are given.
pub(crate) fn load(args: &Args, paths: &[PathBuf], detail: Detail) -> Result<Loaded, CliError> {
    let settings = settings(args)?;
    let places = if paths.is_empty() { usual_places() } else { paths.to_vec() };
    if places.is_empty() {
        return Err(CliError::NothingFound("there are no sessions in the usual places".into()));
    }
    read_found(&discover(&places), settings, detail, &places)
}

fn read_found(
    found: &Found,
    settings: Settings,
    detail: Detail,
    places: &[PathBuf],
) -> Result<Loaded, CliError> {
    let shown = places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if found.sources.is_empty() {
        if let Some((path, why)) = found.unreadable.first() {
            return Err(CliError::Unreadable { path: path.clone(), why: why.clone() });
        }
        return Err(CliError::NothingFound(format!("no .json or .jsonl files in {shown}")));
    }
    for (path, why) in &found.unreadable {
        crate::term::note(&format!("cannot read {path}: {why}"));
    }
    let progress = Progress::default();
    let total = found.sources.iter().map(|source| source.bytes).sum();
    let reading = progress::watch(total, &progress, || read(found, detail, &progress));
    if reading.recognised == 0 {
        let unreadable = reading.batch.issues.iter().find(|i| i.code == unspool_model::Code::UnreadableFile);
        if let Some(issue) = unreadable {
            let detail = reading.batch.text.get(issue.detail);
            let (path, why) = detail.rsplit_once(": ").unwrap_or((detail, ""));
            return Err(CliError::Unreadable { path: path.into(), why: why.into() });
        }
        let all_empty = found.sources.iter().all(|source| source.bytes == 0 && source.path.is_some());
        return Err(if all_empty {
            CliError::NothingFound(format!("{shown} is empty"))
        } else {
            CliError::NotRecognised(shown)
        });
    }
    let corpus = Corpus::new(reading.batch, settings.table, now());
    Ok(Loaded { corpus, natives: reading.natives, prices: settings.prices })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Reads what a target names, and says which sessions are meant: all of a path's, or the one with that id.
pub(crate) fn load_target(
    args: &Args,
    target: &str,
    places: &[PathBuf],
    detail: Detail,
) -> Result<(Loaded, Vec<usize>), CliError> {
    let path = Path::new(target);
    if target == "-" || path.exists() {
        let loaded = load(args, &[path.to_path_buf()], detail)?;
        let all = (0..loaded.corpus.len()).collect();
        return Ok((loaded, all));
    }
    if target.contains(['/', '\\']) || path.extension().is_some() {
        return Err(CliError::Unreadable { path: target.into(), why: "no such file or folder".into() });
    }
    let places = if places.is_empty() { usual_places() } else { places.to_vec() };
    if places.is_empty() {
        return Err(CliError::NothingFound(format!(
            "`{target}` is no path, and there are no sessions in the usual places"
        )));
    }
    let all = discover(&places);
    let near = narrow(&all, target);
    let loaded = read_found(near.as_ref().unwrap_or(&all), settings(args)?, detail, &places)?;
    let session = find_session(&loaded.corpus, target)?;
    Ok((loaded, vec![session]))
}

/// The project folders that hold a file named like the session. A session's family lies in one project.
fn narrow(all: &Found, prefix: &str) -> Option<Found> {
    let folder_of = |name: &str| name.rsplit_once('/').map(|(folder, _)| folder.to_string());
    let file_of = |name: &str| name.rsplit('/').next().unwrap_or(name).to_string();
    let folders: Vec<String> = all
        .sources
        .iter()
        .filter(|source| file_of(&source.name).starts_with(prefix))
        .filter_map(|source| folder_of(&source.name))
        .collect();
    if folders.is_empty() {
        return None;
    }
    let inside = |name: &str| folders.iter().any(|folder| name.starts_with(&format!("{folder}/")));
    let sources = all.sources.iter().filter(|source| inside(&source.name)).cloned().collect();
    Some(Found { sources, ..Found::default() })
}

/// The one session whose id, or native id, starts like this.
pub(crate) fn find_session(corpus: &Corpus, prefix: &str) -> Result<usize, CliError> {
    let mut found = Vec::new();
    for session in 0..corpus.len() {
        let (_, natives) = corpus.outline(session);
        let own = natives.first().map(|native| Id::of(&[b"session", native.as_bytes()]).show('x'));
        if natives.iter().any(|native| native == &prefix) {
            return Ok(session);
        }
        if natives.iter().any(|native| native.starts_with(prefix))
            || own.is_some_and(|id| id.starts_with(prefix))
        {
            found.push((session, natives.first().copied().unwrap_or_default()));
        }
    }
    match found.as_slice() {
        [] => Err(CliError::NoSuchSession(prefix.into())),
        [(session, _)] => Ok(*session),
        several => Err(CliError::AmbiguousSession {
            prefix: prefix.into(),
            count: several.len(),
            examples: several.iter().take(4).map(|(_, id)| *id).collect::<Vec<_>>().join(", "),
        }),
    }
}
