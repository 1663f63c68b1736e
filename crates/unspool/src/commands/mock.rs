//! `unspool mock`: recorded answers as an API.

use super::serve::ended;
use crate::args::Args;
use crate::error::CliError;
use crate::figures::plural;
use crate::recorded::RecordedArgs;
use crate::term::{note, plain};
use std::io::Write;
use std::net::SocketAddr;
use unspool_formats::{WholeAnswer, WholeExchange};
use unspool_replay::{Mock, Pace, Recordings};

#[derive(clap::Args)]
pub(crate) struct MockArgs {
    #[command(flatten)]
    recorded: RecordedArgs,

    /// Where to listen.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4691")]
    listen: String,

    /// So many times as fast as it was.
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed)]
    speed: f64,

    /// Answer at once.
    #[arg(long, conflicts_with = "speed")]
    instant: bool,

    /// A request that was not recorded is answered by the next answer that was.
    #[arg(long)]
    in_order: bool,

    /// Listen beyond this machine: whoever reaches it can read what was recorded.
    #[arg(long)]
    allow_network: bool,
}

/// A speed as typed.
pub(crate) fn speed(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('x').parse().ok();
    number
        .filter(|n| n.is_finite() && *n > 0.0)
        .ok_or_else(|| "write a number above 0, such as 10 or 0.5".into())
}

pub(crate) fn run(args: &Args, wanted: &MockArgs) -> Result<(), CliError> {
    let recordings = wanted.recorded.read(args, wanted.in_order)?;
    tell_gaps(&recordings);
    let pace = if wanted.instant { Pace::Instant } else { Pace::Times(wanted.speed) };
    let count = plural(recordings.exchanges().len() as u64, "exchange");
    let mock = Mock::new(recordings, pace, |missed| note(&plain(missed)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let cannot = |why: String| CliError::Data {
            why: format!("cannot listen on {}: {why}", wanted.listen),
            hint: Some("choose another address with --listen".into()),
        };
        let listener = tokio::net::TcpListener::bind(&wanted.listen).await;
        let listener = listener.map_err(|error| cannot(error.to_string()))?;
        let address: SocketAddr = listener.local_addr()?;
        if !address.ip().is_loopback() && !wanted.allow_network {
            return Err(CliError::Usage {
                why: format!("{address} can be reached from other machines"),
                hint: "listen on 127.0.0.1, or let everybody in with --allow-network",
            });
        }
        let ended = ended();
        let recorded = plain(&wanted.recorded.shown());
        let said = format!(
            "{count} of {recorded} on http://{address}\n  export ANTHROPIC_BASE_URL=http://{address}\n  export \
             OPENAI_BASE_URL=http://{address}/v1\n"
        );
        // At once, so that whoever waits for the first line only has read all of it.
        anstream::stdout().lock().write_all(said.as_bytes())?;
        Ok(mock.serve(listener, ended).await?)
    })
}

/// Says what of the recordings cannot be given as it was.
fn tell_gaps(recordings: &Recordings) {
    let answers = || recordings.exchanges().iter().map(|exchange| exchange.answer.as_ref());
    let is_some = |count: usize, what: &str| {
        if count > 0 {
            note(&format!("{} {what}", plural(count as u64, "exchange")));
        }
    };
    is_some(answers().filter(Option::is_none).count(), "without an answer: 502 is given");
    let untimed = answers().flatten().filter(|answer| !answer.has_times && answer.arrived.len() == 1).count();
    is_some(untimed, "whose log does not say when pieces came: all of it comes when the answer had ended");
    let together = recordings.exchanges().iter().filter(|one| is_put_together(one)).count();
    is_some(together, "that were streamed and whose log has the answer in one piece: it is given so");
    let cut = answers().flatten().filter(|answer| answer.left_out_bytes > 0).count();
    is_some(cut, "whose answer was not recorded to its end: it breaks off there");
}

/// Whether a stream was asked for and the log has only what it came to.
fn is_put_together(exchange: &WholeExchange) -> bool {
    let request: serde_json::Value = serde_json::from_slice(&exchange.body).unwrap_or_default();
    let is_whole = |answer: &WholeAnswer| {
        answer.status.is_none_or(|status| status == 200) && answer.body.trim_ascii_start().starts_with(b"{")
    };
    request["stream"] == true && exchange.answer.as_ref().is_some_and(is_whole)
}
