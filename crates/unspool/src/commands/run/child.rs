//! The command: its variables, its signals, its end.

use crate::error::CliError;
use std::ffi::OsString;
use std::process::{ExitCode, ExitStatus};
use tokio::process::Command;

/// Runs a command to its end and gives its exit code. It has our input, output and terminal.
pub(super) async fn run(command: &[OsString], variables: &[(&str, String)]) -> Result<ExitCode, CliError> {
    let (program, words) = command.split_first().ok_or_else(|| CliError::Usage {
        why: "there is no command".into(),
        hint: "write it behind `--`: unspool run -- claude",
    })?;
    let mut prepared = Command::new(program);
    prepared.args(words).envs(variables.iter().map(|(name, value)| (*name, value)));
    let mut signals = Signals::listen()?;
    let mut child = prepared
        .spawn()
        .map_err(|error| CliError::NotStarted { program: program.to_string_lossy().into(), why: error })?;
    let process = child.id();
    loop {
        tokio::select! {
            status = child.wait() => return Ok(code(status?)),
            sent = signals.next() => signals.pass_on(sent, process),
        }
    }
}

/// The code of a command that ended; of one that a signal ended, what shells say.
fn code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(unix)]
use unix::Signals;

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, Signal};
    use std::io::IsTerminal;
    use std::task::Poll;
    use tokio::signal::unix::SignalKind;

    /// Signals that end a process, and whether a terminal sends them, too.
    const ENDING: [(Signal, bool); 4] =
        [(Signal::TERM, false), (Signal::HUP, true), (Signal::INT, true), (Signal::QUIT, true)];

    /// Signals meant for us, which are for the command; what the terminal sends, it has got already.
    pub(super) struct Signals {
        heard: Vec<(Signal, tokio::signal::unix::Signal)>,
        has_terminal: bool,
    }

    impl Signals {
        /// From here on no signal ends us while the command goes on. What our caller had us ignore (`nohup` does) is ignored by the command, too, as long as
        /// nobody listens to it here.
        pub(super) fn listen() -> std::io::Result<Self> {
            let ignored = ignored();
            let is_heard = |signal: Signal| ignored & (1 << (signal.as_raw() - 1)) == 0;
            let heard = ENDING.into_iter().filter(|(signal, _)| is_heard(*signal)).map(|(signal, _)| {
                let kind = SignalKind::from_raw(signal.as_raw());
                tokio::signal::unix::signal(kind).map(|stream| (signal, stream))
            });
            Ok(Self { heard: heard.collect::<Result<_, _>>()?, has_terminal: std::io::stdin().is_terminal() })
        }

        /// The next one that came.
        pub(super) async fn next(&mut self) -> Signal {
            std::future::poll_fn(|context| {
                for (signal, stream) in &mut self.heard {
                    if stream.poll_recv(context).is_ready() {
                        return Poll::Ready(*signal);
                    }
                }
                Poll::Pending
            })
            .await
        }

        pub(super) fn pass_on(&self, sent: Signal, process: Option<u32>) {
            let by_terminal = ENDING.iter().any(|&(signal, by_terminal)| signal == sent && by_terminal);
            let process = process.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            if let Some(process) = process.filter(|_| !(by_terminal && self.has_terminal)) {
                // It may have ended meanwhile.
                let _ = rustix::process::kill_process(process, sent);
            }
        }
    }

    /// The signals that this process ignores, a bit each; none where the system does not say.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }

    /// It was sent to the command, too.
    fn pass_on(&self, (): (), _: Option<u32>) {}
}
