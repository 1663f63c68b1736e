//! From what the user typed to a corpus: configuration, places, session ids.

use crate::args::Args;
use crate::error::CliError;
use crate::figures::minute;
use crate::progress;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use unspool_engine::live::Retention;
use unspool_engine::{DATA_ENDINGS, Found, Natives, Progress, discover, looks_like_data, read, usual_places};
use unspool_formats::Detail;
use unspool_link::{Corpus, Table};
use unspool_model::{Flow, Timestamp};
use unspool_server::RedactRules;
use unspool_view::Prices;
use unspool_view::flow_json::CountsDoc;
use unspool_view::labels::{agent_has, agent_name};

/// Everything read and linked, and the sessions that were asked for.
pub(crate) struct Loaded {
    pub(crate) corpus: Corpus,
    pub(crate) sessions: Vec<usize>,
    pub(crate) natives: Natives,
    pub(crate) prices: Prices,
    pub(crate) redact: RedactRules,
}

/// Settings from the configuration file over the built-in tables.
pub(crate) struct Settings {
    pub(crate) table: Table,
    pub(crate) prices: Prices,
    /// What a server keeps for how long.
    pub(crate) retention: Retention,
    /// What is masked besides what looks like a secret, where secrets are.
    pub(crate) redact: RedactRules,
    /// The moment "running" is judged by.
    pub(crate) as_of: Timestamp,
}

pub(crate) fn settings(args: &Args) -> Result<Settings, CliError> {
    let (table, prices) = (Table::default(), Prices::default());
    let as_of = args.as_of.unwrap_or_else(now);
    let Some(path) = config_path(args) else {
        let (retention, redact) = (Retention::default(), RedactRules::default());
        return Ok(Settings { table, prices, retention, redact, as_of });
    };
    let error = |why: String| CliError::Config { path: path.display().to_string(), why: one_line(&why) };
    let text = std::fs::read_to_string(&path).map_err(|why| error(why.to_string()))?;
    let table = table.with(&text).map_err(|why| error(why.to_string()))?;
    let prices = prices.with(&text).map_err(error)?;
    let retention = crate::retention::parse(&text).map_err(error)?;
    let redact = crate::redaction::parse(&text).map_err(error)?;
    Ok(Settings { table, prices, retention, redact, as_of })
}

/// Settings of linking that belong to a data folder.
pub(crate) const RULES_FILE: &str = "rules.toml";

/// A table with the rules of a data folder over it, if it has any.
pub(crate) fn with_rules_of(folder: &Path, table: Table) -> Result<Table, CliError> {
    let path = folder.join(RULES_FILE);
    if path.is_file() { read_rules(&path, table) } else { Ok(table) }
}

/// A table with the rules of a file over it. Only what linking goes by may stand there.
pub(crate) fn read_rules(path: &Path, table: Table) -> Result<Table, CliError> {
    let error = |why: String| CliError::Config { path: path.display().to_string(), why: one_line(&why) };
    let text = std::fs::read_to_string(path).map_err(|why| error(why.to_string()))?;
    let all: toml::Table = toml::from_str(&text).map_err(|why| error(why.to_string()))?;
    if let Some(name) = ["price", "retention", "redact"].into_iter().find(|name| all.contains_key(*name)) {
        return Err(error(format!("`{name}` is no rule of linking; it belongs into the configuration")));
    }
    table.with(&text).map_err(|why| error(why.to_string()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The file named on the command line or in the environment must exist; the usual one may.
fn config_path(args: &Args) -> Option<PathBuf> {
    if let Some(path) = &args.config {
        return Some(path.clone());
    }
    if let Some(path) = std::env::var_os("UNSPOOL_CONFIG").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".config")))?;
    let path = folder.join("unspool").join("config.toml");
    path.is_file().then_some(path)
}

impl Loaded {
    /// The flows that were asked for, oldest first.
    pub(crate) fn flows(&self) -> impl Iterator<Item = Flow> {
        self.sessions.iter().map(|session| self.corpus.flow(*session))
    }

    /// Whether an agent of these sessions is meant by a part of its type, name or id; the rest is a typing error.
    pub(crate) fn check_agent(&self, wanted: &str) -> Result<(), CliError> {
        let batch = &self.corpus.batch;
        let mut candidates = BTreeSet::new();
        for flow in self.flows() {
            for agent in &flow.agents {
                if agent_has(&batch.text, agent, wanted) {
                    return Ok(());
                }
                if !agent.internal {
                    let (label, name) = (agent_name(batch, agent), batch.text.get(agent.name));
                    candidates.insert(format!("{label}  {name}").trim_end().to_string());
                }
            }
        }
        Err(CliError::NoSuchAgent { wanted: wanted.into(), candidates: candidates.into_iter().collect() })
    }

    /// What became of the records.
    pub(crate) fn counts(&self) -> CountsDoc {
        let counts = self.corpus.counts();
        CountsDoc {
            records: counts.records,
            stored: counts.stored,
            duplicate: counts.duplicate,
            rejected: counts.rejected,
        }
    }
}

/// Reads what the user named: paths, or else sessions by id in `places`; without any name, the usual places.
pub(crate) fn load(
    args: &Args,
    wanted: &[PathBuf],
    places: &[PathBuf],
    detail: Detail,
) -> Result<Loaded, CliError> {
    let settings = settings(args)?;
    let is_path = |path: &PathBuf| {
        path.as_os_str() == "-" || std::fs::symlink_metadata(path).is_ok() || !may_be_id(path)
    };
    let by_id = !wanted.is_empty() && !wanted.iter().any(is_path);
    let here = if by_id || wanted.is_empty() { places } else { wanted };
    let here = if here.is_empty() { usual_places() } else { here.to_vec() };
    if here.is_empty() {
        let what =
            wanted.first().map(|name| format!("`{}` is no path, and ", name.display())).unwrap_or_default();
        return Err(CliError::NothingFound(format!("{what}there are no sessions in the usual places")));
    }
    let shown = here.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let mut loaded = read_found(&discover(&here), settings, detail, &shown)?;
    if by_id {
        let names = wanted.iter().map(|name| name.to_string_lossy());
        loaded.sessions = names.map(|name| find_session(&loaded.corpus, &name)).collect::<Result<_, _>>()?;
        loaded.sessions.sort_unstable();
        loaded.sessions.dedup();
    }
    Ok(loaded)
}

/// Whether a name that is no file may be a session's id: ids hold no slashes and do not end like data files.
fn may_be_id(path: &Path) -> bool {
    let text = path.to_string_lossy();
    !text.contains(['/', '\\']) && !looks_like_data(path)
}

/// Reads what was found; `shown` is how the user named it.
pub(crate) fn read_found(
    found: &Found,
    settings: Settings,
    detail: Detail,
    shown: &str,
) -> Result<Loaded, CliError> {
    if found.sources.is_empty() {
        if let Some((path, why)) = found.unreadable.first() {
            return Err(CliError::Unreadable { path: path.clone(), why: why.clone() });
        }
        return Err(CliError::NothingFound(no_data_in(shown)));
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
            let several = found.sources.len() > 1;
            let files = if several { format!(" ({} files)", found.sources.len()) } else { String::new() };
            CliError::NotRecognised(format!("{shown}{files}"))
        });
    }
    let corpus = Corpus::new(reading.batch, settings.table, settings.as_of);
    if corpus.counts().stored == 0 {
        let why = corpus.reading_issues();
        let why = why.first().map_or(String::new(), |issue| format!(": {}", issue.code.name()));
        return Err(CliError::NotRecognised(format!("{shown} (no record of it could be read{why})")));
    }
    let sessions = (0..corpus.len()).collect();
    let Settings { prices, redact, .. } = settings;
    Ok(Loaded { corpus, sessions, natives: reading.natives, prices, redact })
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The one session whose id, or native id, starts like this.
pub(crate) fn find_session(corpus: &Corpus, prefix: &str) -> Result<usize, CliError> {
    let mut found = Vec::new();
    for session in 0..corpus.len() {
        let (started, natives) = corpus.outline(session);
        if natives.iter().any(|native| native == &prefix) {
            return Ok(session);
        }
        let own = corpus.session_id(session).show('x');
        if own.starts_with(prefix) || natives.iter().any(|native| native.starts_with(prefix)) {
            let known = natives.iter().find(|native| native.starts_with(prefix)).or(natives.first());
            let at = minute(started.is_some().then(|| started.to_string()).as_deref());
            found.push((session, format!("{}  {at}", known.copied().unwrap_or(own.as_str()))));
        }
    }
    match found.as_slice() {
        [] => Err(CliError::NoSuchSession(prefix.into())),
        [(session, _)] => Ok(*session),
        _ => Err(CliError::AmbiguousSession {
            prefix: prefix.into(),
            candidates: found.into_iter().map(|(_, line)| line).collect(),
        }),
    }
}

/// Says that nothing in a place looks like data, and what would.
pub(crate) fn no_data_in(place: &str) -> String {
    format!("no data files (.{}; packed or not) in {place}", DATA_ENDINGS.join(", ."))
}
