//! `unspool hooks`: Claude Code tells Unspool what it does, or no longer.

mod settings;
mod text;

use super::hook::USUAL_SERVER;
use super::serve::data_folder;
use crate::error::CliError;
use crate::output::{print_document, write_to};
use clap::Subcommand;
use serde::Serialize;
use settings::{NEW_EVENTS, OLD_EVENTS, Settings};
use similar::TextDiff;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use unspool_engine::HookSpool;

#[derive(clap::Args)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add the hooks to Claude Code's settings; those of others stay.
    Install(InstallArgs),
    /// Take the hooks out of Claude Code's settings; those of others stay.
    Uninstall(UninstallArgs),
    /// Say which events are sent, and what waits for a server.
    Status(StatusArgs),
}

#[derive(clap::Args)]
struct Place {
    /// The settings of this project (.claude/settings.json below it) instead of your own.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// The project's settings that are yours alone (.claude/settings.local.json).
    #[arg(long, requires = "project")]
    local: bool,
}

#[derive(clap::Args)]
struct InstallArgs {
    #[command(flatten)]
    place: Place,

    /// Only events that versions of Claude Code before 2.1 know, which pass over settings with any other.
    #[arg(long)]
    minimal: bool,

    /// Where the server listens, if not where it usually does.
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,

    /// Where events wait when there is no server, if not in your data folder.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args)]
struct UninstallArgs {
    #[command(flatten)]
    place: Place,

    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args)]
struct StatusArgs {
    #[command(flatten)]
    place: Place,

    /// Where events wait when there is no server, if not in your data folder.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// How hooks stand.
#[derive(Serialize)]
struct StatusDoc {
    settings: String,
    installed: bool,
    commands: Vec<String>,
    events: Vec<String>,
    /// Bytes of events that wait for a server.
    waiting_bytes: u64,
    /// Events that were dropped because `max_spool_bytes` waited.
    dropped: u64,
}

pub(crate) fn run(hooks: &HooksArgs) -> Result<(), CliError> {
    match &hooks.action {
        Action::Install(install) => {
            let events: Vec<&str> = if install.minimal {
                OLD_EVENTS.to_vec()
            } else {
                OLD_EVENTS.iter().chain(NEW_EVENTS).copied().collect()
            };
            let command = command(install)?;
            change(&install.place, install.dry_run, false, |settings| settings.install(&command, &events))
        }
        Action::Uninstall(uninstall) => {
            let path = settings_path(&uninstall.place)?;
            let before = backups(&path);
            let is_own = is_made_by_install(&path, &before);
            change(&uninstall.place, uninstall.dry_run, is_own, |settings| {
                // Where nothing else was changed since, every byte is as it was.
                match before.into_iter().find(|before| settings.was_installed_in(before)) {
                    Some(before) => Settings::read(&before).map(|before| *settings = before),
                    None => settings.uninstall(),
                }
            })
        }
        Action::Status(status) => tell(status),
    }
}

/// What Claude Code is to run: this very program.
fn command(install: &InstallArgs) -> Result<String, CliError> {
    let program = std::env::current_exe()?;
    let mut words = vec![quoted(&program.display().to_string()), "hook".into()];
    if let Some(server) = install.server.as_ref().filter(|server| *server != USUAL_SERVER) {
        words.extend(["--server".into(), quoted(server)]);
    }
    if let Some(folder) = &install.data_dir {
        words.extend(["--data-dir".into(), quoted(&std::path::absolute(folder)?.display().to_string())]);
    }
    Ok(words.join(" "))
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':');
    if word.chars().all(plain) { word.into() } else { format!("\"{word}\"") }
}

/// The settings file of a place.
fn settings_path(place: &Place) -> Result<PathBuf, CliError> {
    if let Some(project) = &place.project {
        let name = if place.local { "settings.local.json" } else { "settings.json" };
        return Ok(project.join(".claude").join(name));
    }
    let named = std::env::var("CLAUDE_CONFIG_DIR").ok();
    let named = named.and_then(|folders| folders.split(',').next().map(|one| PathBuf::from(one.trim())));
    let folder = named.filter(|folder| !folder.as_os_str().is_empty());
    let home = || std::env::home_dir().map(|home| home.join(".claude"));
    folder.or_else(home).map(|folder| folder.join("settings.json")).ok_or_else(|| CliError::Usage {
        why: "there is no home folder".into(),
        hint: "set CLAUDE_CONFIG_DIR, or name a project with --project",
    })
}

/// The text of the file, if there is one.
fn read(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::Unreadable { path: path.display().to_string(), why: error.to_string() }),
    }
}

fn parsed(path: &Path, text: &str) -> Result<Settings, CliError> {
    Settings::read(text).map_err(|why| not_understood(path, &why))
}

fn not_understood(path: &Path, why: &str) -> CliError {
    CliError::Data {
        why: format!("{}: {why}", path.display()),
        hint: Some(
            "nothing was changed; Claude Code does not read such a file either, so mend it first".into(),
        ),
    }
}

/// Whether there was no file before hooks were installed: each time it was changed it had some. A link is somebody's own.
fn is_made_by_install(path: &Path, before: &[String]) -> bool {
    let has_hooks =
        |text: &String| Settings::read(text).is_ok_and(|settings| !settings.installed().is_empty());
    before.iter().all(has_hooks) && fs::symlink_metadata(path).is_ok_and(|file| file.is_file())
}

/// Changes settings. A file that is our own goes when nothing is left in it.
fn change(
    place: &Place,
    dry_run: bool,
    is_own: bool,
    edit: impl FnOnce(&mut Settings) -> Result<(), String>,
) -> Result<(), CliError> {
    let path = settings_path(place)?;
    let found = read(&path)?;
    let old = found.as_deref().unwrap_or_default();
    let mut settings = parsed(&path, old)?;
    let same = settings.text().to_string();
    edit(&mut settings).map_err(|why| not_understood(&path, &why))?;
    let goes = is_own && settings.is_empty() && !old.is_empty();
    let new = if goes { "" } else { settings.text() };
    if settings.text() == same {
        writeln!(anstream::stdout().lock(), "{} needs no change", path.display())?;
        return Ok(());
    }
    // Done before it is told: who reads only the first line still gets all of it.
    let backup = match dry_run {
        true => None,
        false if goes => Some(remove_settings(&path)?),
        false => write_settings(&path, found.is_some(), new)?,
    };
    let shown = path.display().to_string();
    let mut out = anstream::stdout().lock();
    write!(out, "{}", TextDiff::from_lines(old, new).unified_diff().header(&shown, &shown))?;
    if dry_run {
        writeln!(out, "nothing was written")?;
        return Ok(());
    }
    if let Some(backup) = backup {
        writeln!(out, "the file as it was: {}", backup.display())?;
    }
    if goes {
        writeln!(out, "removed {shown}, in which there was nothing else")?;
    } else {
        writeln!(out, "wrote {shown}; sessions that begin from now on use it")?;
    }
    Ok(())
}

/// Removes settings, and says where the file is as it was.
fn remove_settings(path: &Path) -> Result<PathBuf, CliError> {
    let backup = backup_path(path);
    fs::rename(path, &backup).map_err(|error| unwritable(path, &error))?;
    Ok(backup)
}

/// Writes settings, and says where the file is as it was, if there was one.
fn write_settings(path: &Path, is_there: bool, text: &str) -> Result<Option<PathBuf>, CliError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let backup = is_there.then(|| backup_path(path));
    if let Some(backup) = &backup {
        fs::copy(path, backup).map_err(|error| unwritable(backup, &error))?;
    }
    write_to(Some(path), |file| Ok(file.write_all(text.as_bytes())?))?;
    Ok(backup)
}

fn unwritable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::Unwritable { path: path.display().to_string(), why: error.to_string() }
}

/// The file as it was before each change, the last first.
fn backups(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (1..).map(|n: u32| path.with_file_name(format!("{name}.before-unspool-{n}")));
    let mut found: Vec<String> = numbered.map_while(|path| fs::read_to_string(path).ok()).collect();
    found.reverse();
    found
}

/// A name beside the file that is free.
fn backup_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = |n: u32| path.with_file_name(format!("{name}.before-unspool-{n}"));
    (1..=u32::MAX).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| numbered(0))
}

fn tell(status: &StatusArgs) -> Result<(), CliError> {
    let path = settings_path(&status.place)?;
    let text = read(&path)?.unwrap_or_default();
    let installed = parsed(&path, &text)?.installed();
    let mut commands: Vec<String> = installed.iter().map(|(_, command)| command.clone()).collect();
    commands.sort();
    commands.dedup();
    let waiting = HookSpool::of(&data_folder(status.data_dir.as_deref())?).standing();
    let document = StatusDoc {
        settings: path.display().to_string(),
        installed: !installed.is_empty(),
        commands,
        events: installed.into_iter().map(|(event, _)| event).collect(),
        waiting_bytes: waiting.bytes,
        dropped: waiting.dropped,
    };
    if status.json {
        return print_document(&document);
    }
    let mut out = anstream::stdout().lock();
    if document.installed {
        writeln!(out, "{} sends {}", document.settings, document.events.join(", "))?;
        document.commands.iter().try_for_each(|command| writeln!(out, "  by {command}"))?;
    } else {
        writeln!(out, "{} sends nothing; `unspool hooks install` changes that", document.settings)?;
    }
    writeln!(out, "{} bytes of events wait for a server", document.waiting_bytes)?;
    if document.dropped > 0 {
        writeln!(out, "max_spool_bytes: {} events were dropped", document.dropped)?;
    }
    Ok(())
}
