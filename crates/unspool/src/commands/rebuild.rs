//! `unspool rebuild`: everything derived, made again from the records.

use super::serve::{data_folder, opening};
use crate::args::Args;
use crate::error::CliError;
use crate::figures::count;
use crate::load::{now, settings, with_rules_of};
use crate::term::note;
use clap::Args as ClapArgs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unspool_engine::live::{Engine, Options};
use unspool_server::remake_artifacts;

/// How often it is looked whether something is in the way.
const GLANCE: Duration = Duration::from_millis(200);

#[derive(ClapArgs)]
pub(crate) struct RebuildArgs {
    /// Where everything is kept (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, rebuild: &RebuildArgs) -> Result<(), CliError> {
    let options = options(args, rebuild.data_dir.as_deref(), "rebuild")?;
    let engine = Engine::rebuild(options).map_err(|error| opening(&error))?;
    settle(&engine)?;
    remake_artifacts(&engine).map_err(|why| CliError::Data { why, hint: None })?;
    engine.rebuilt();
    engine.notices().iter().for_each(|line| note(line));
    let (health, records) = (engine.health(), engine.log_size().records);
    engine.close();
    writeln!(
        anstream::stdout().lock(),
        "{} sessions with {} steps were made again from {} records",
        count(health.sessions),
        count(health.steps_visible),
        count(records)
    )?;
    Ok(())
}

/// The engine's options for work on a folder that no server uses.
pub(super) fn options(args: &Args, folder: Option<&Path>, command: &str) -> Result<Options, CliError> {
    let settings = settings(args)?;
    let folder = data_folder(folder)?;
    let mut options = Options::new(&folder, now);
    options.holder = format!("unspool {command}, process {}", std::process::id());
    (options.table, options.prices) = (with_rules_of(&folder, settings.table)?, settings.prices.into());
    Ok(options)
}

/// Waits until everything is derived, or something is in the way.
pub(crate) fn settle(engine: &Engine) -> Result<(), CliError> {
    while !engine.settle_within(GLANCE) {
        if let Some(why) = engine.broken() {
            engine.close();
            let hint = Some("run it again when that is mended: it goes on where it was".into());
            return Err(CliError::Data { why, hint });
        }
    }
    Ok(())
}
