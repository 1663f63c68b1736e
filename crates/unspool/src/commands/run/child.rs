//! The command: its variables, its signals, its end.

use crate::error::CliError;
use std::ffi::OsString;
use std::process::{ExitCode, ExitStatus};
use tokio::process::{Child, Command};

/// Runs a command to its end and gives its exit code. It has our input, output and terminal.
pub(super) async fn run(command: &[OsString], variables: &[(&str, String)]) -> Result<ExitCode, CliError> {
    let (program, words) = command.split_first().ok_or_else(|| CliError::Usage {
        why: "there is no command".into(),
        hint: "write it behind `--`: unspool run -- claude",
    })?;
    let mut prepared = Command::new(program);
    prepared.args(words).envs(variables.iter().map(|(name, value)| (*name, value)));
    let child = prepared.spawn().map_err(|error| CliError::Data {
        why: format!("cannot start {}: {error}", program.to_string_lossy()),
        hint: Some("check its name and that it can be run".into()),
    })?;
    Ok(code(wait(child).await?))
}

/// The code of a command that ended; of one that a signal ended, what shells say.
fn code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Waits for the end. Signals meant for us are for the command; what the terminal sends, it has got already.
#[cfg(unix)]
async fn wait(mut child: Child) -> std::io::Result<ExitStatus> {
    use rustix::process::Signal;
    use std::io::IsTerminal;
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let by_terminal = std::io::stdin().is_terminal();
    let process = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    loop {
        let (sent, from_terminal) = tokio::select! {
            status = child.wait() => return status,
            _ = terminate.recv() => (Signal::TERM, false),
            _ = hang_up.recv() => (Signal::HUP, by_terminal),
            _ = interrupt.recv() => (Signal::INT, by_terminal),
            _ = quit.recv() => (Signal::QUIT, by_terminal),
        };
        if let Some(process) = process.filter(|_| !from_terminal) {
            // It may have ended meanwhile.
            let _ = rustix::process::kill_process(process, sent);
        }
    }
}

#[cfg(not(unix))]
async fn wait(mut child: Child) -> std::io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = child.wait() => return status,
            // It was sent to the command, too.
            _ = tokio::signal::ctrl_c() => {}
        }
    }
}
