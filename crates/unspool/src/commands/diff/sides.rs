//! From what the user typed to the two things that are compared.

use crate::args::Args;
use crate::error::CliError;
use crate::load::{Loaded, find_session, load};
use std::path::{Path, PathBuf};
use unspool_formats::Detail;
use unspool_model::{Flow, Sym};
use unspool_view::diff::{Part, Side};
use unspool_view::query_json::agent_label;

/// A session or file as typed, and perhaps a part of it.
pub(super) struct Wanted {
    session: String,
    part: Option<String>,
    typed: String,
}

impl Wanted {
    /// A `:` divides the session from its part, unless all of it is a file.
    pub(super) fn new(typed: &str) -> Wanted {
        let whole = || Wanted { session: typed.into(), part: None, typed: typed.into() };
        if Path::new(typed).exists() {
            return whole();
        }
        match typed.rsplit_once(':') {
            Some((session, part)) if !part.is_empty() && !part.contains(['/', '\\']) => {
                Wanted { session: session.into(), part: Some(part.into()), typed: typed.into() }
            }
            _ => whole(),
        }
    }

    fn is_path(&self) -> bool {
        let path = Path::new(&self.session);
        path.exists() || self.session.contains(['/', '\\']) || unspool_engine::looks_like_data(path)
    }
}

/// Both sides with what they were read from.
pub(super) struct Both {
    loaded_a: Loaded,
    /// None when both come from the same reading.
    loaded_b: Option<Loaded>,
    a: (Flow, Part),
    b: (Flow, Part),
}

impl Both {
    pub(super) fn sides(&self) -> (Side<'_>, Side<'_>) {
        (side_of(&self.loaded_a, &self.a), side_of(self.loaded_b.as_ref().unwrap_or(&self.loaded_a), &self.b))
    }
}

fn side_of<'a>(loaded: &'a Loaded, (flow, part): &'a (Flow, Part)) -> Side<'a> {
    Side { flow, batch: &loaded.corpus.batch, prices: &loaded.prices, part: *part }
}

/// Reads both. Sessions by id are read together; every file is read by itself, because copies of records count once.
pub(super) fn load_both(args: &Args, a: &Wanted, b: &Wanted, places: &[PathBuf]) -> Result<Both, CliError> {
    let of_first = b.session.is_empty();
    if of_first || !a.is_path() && !b.is_path() {
        let mut names = vec![PathBuf::from(&a.session)];
        names.extend((!of_first).then(|| PathBuf::from(&b.session)));
        let loaded = load(args, &names, places, Detail::Full)?;
        let second = if of_first { a } else { b };
        let part_a = pick(&loaded, a, &a.session)?;
        let part_b = pick(
            &loaded,
            &Wanted { typed: b.typed.clone(), part: b.part.clone(), session: second.session.clone() },
            &second.session,
        )?;
        return Ok(Both { loaded_a: loaded, loaded_b: None, a: part_a, b: part_b });
    }
    let read = |wanted: &Wanted| load(args, &[PathBuf::from(&wanted.session)], places, Detail::Full);
    let (loaded_a, loaded_b) = (read(a)?, read(b)?);
    let (part_a, part_b) = (pick(&loaded_a, a, &a.session)?, pick(&loaded_b, b, &b.session)?);
    Ok(Both { loaded_a, loaded_b: Some(loaded_b), a: part_a, b: part_b })
}

/// The session and its part.
fn pick(loaded: &Loaded, wanted: &Wanted, session: &str) -> Result<(Flow, Part), CliError> {
    let flow = if wanted.is_path() {
        match loaded.sessions.as_slice() {
            [] => return Err(CliError::NothingFound(format!("{session} holds no session"))),
            [only] => loaded.corpus.flow(*only),
            several => {
                let names = several
                    .iter()
                    .map(|n| loaded.corpus.outline(*n).1.first().copied().unwrap_or("").to_string());
                return Err(CliError::NotOneSession { path: session.into(), candidates: names.collect() });
            }
        }
    } else {
        loaded.corpus.flow(find_session(&loaded.corpus, session)?)
    };
    let part = match &wanted.part {
        None => Part::Whole,
        Some(text) => part(loaded, &flow, text).map_err(|candidates| match candidates.as_slice() {
            [] => CliError::NoSuchPart {
                what: "run or agent",
                session: session.into(),
                wanted: text.clone(),
                candidates: parts(loaded, &flow),
            },
            _ => CliError::AmbiguousThing { wanted: text.clone(), candidates },
        })?,
    };
    Ok((flow, part))
}

/// A run by its position from 1 or an id, or an agent by an id, its type or its name; else what may have been meant.
fn part(loaded: &Loaded, flow: &Flow, wanted: &str) -> Result<Part, Vec<String>> {
    let text = |sym: Sym| loaded.corpus.batch.text.get(sym);
    let position = wanted.parse::<usize>().ok().filter(|n| (1..=flow.runs.len()).contains(n));
    if let Some(n) = position {
        return Ok(Part::Run(n - 1));
    }
    let starts = |id: &str| !id.is_empty() && id.starts_with(wanted);
    let runs = flow
        .runs
        .iter()
        .enumerate()
        .filter(|(_, run)| starts(text(run.native_id)) || starts(&run.id.show('u')));
    let agents = flow.agents.iter().enumerate();
    let agents = agents.filter(|(_, agent)| {
        starts(text(agent.native_id))
            || starts(&agent.id.show('a'))
            || [agent_label(agent, &loaded.corpus.batch).as_str(), text(agent.name)].contains(&wanted)
    });
    let run_names = runs.map(|(n, run)| (Part::Run(n), format!("{}  run {}", run.id.show('u'), n + 1)));
    let agent_names = agents.map(|(n, agent)| {
        let label = agent_label(agent, &loaded.corpus.batch);
        (Part::Agent(n), format!("{}  agent {label}", text(agent.native_id)))
    });
    let found: Vec<(Part, String)> = run_names.chain(agent_names).collect();
    match found.as_slice() {
        [(only, _)] => Ok(*only),
        _ => Err(found.into_iter().map(|(_, name)| name).collect()),
    }
}

/// Everything that may stand behind the `:`.
fn parts(loaded: &Loaded, flow: &Flow) -> Vec<String> {
    let text = |sym: Sym| loaded.corpus.batch.text.get(sym);
    let runs = flow.runs.iter().enumerate().map(|(n, run)| {
        let said = flow.steps.get(run.trigger as usize).map(|step| text(step.preview)).unwrap_or_default();
        format!("{}  run: {}", n + 1, crate::term::cut(said, 50))
    });
    let agents = flow.agents.iter().filter(|agent| !agent.main);
    let agents = agents.map(|agent| {
        format!("{}  agent {}", text(agent.native_id), agent_label(agent, &loaded.corpus.batch))
    });
    runs.chain(agents).collect()
}
