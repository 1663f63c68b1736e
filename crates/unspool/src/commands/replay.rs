//! `unspool replay`: recorded requests, sent again.

use super::mock::speed;
use super::serve::CERTIFICATES;
use crate::args::Args;
use crate::error::CliError;
use crate::figures::{count, plural};
use crate::output::print_document;
use crate::recorded::RecordedArgs;
use crate::table::{Cell, Column, cell, write_table};
use crate::term::plain;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::Instant;
use unspool_formats::{Said, WholeExchange};
use unspool_replay::{Outcome, Sender, Target, Verdict, only_asks};
use unspool_server::shown;

#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    recorded: RecordedArgs,

    /// Where to send the requests; the recorded path is added.
    #[arg(long, value_name = "URL")]
    upstream: String,

    /// Send another machine what was recorded. It may cost money.
    #[arg(long)]
    yes: bool,

    /// Keep the time between requests, so many times as fast as it was (default: one after the other, without waiting).
    #[arg(long, value_name = "N", value_parser = speed)]
    speed: Option<f64>,

    /// Send requests when they were sent, even if others are under way.
    #[arg(long)]
    parallel: bool,

    /// Also send what changes something: uploads, what is made, what is deleted.
    #[arg(long)]
    all: bool,

    /// A header for every request, such as `x-api-key: …`; may be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(http::HeaderName, http::HeaderValue)>,

    /// As JSON.
    #[arg(long)]
    json: bool,
}

fn header(text: &str) -> Result<(http::HeaderName, http::HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write it as `NAME: VALUE`")?;
    let name = name.trim().parse().map_err(|_| format!("`{}` is no name of a header", name.trim()))?;
    let mut value: http::HeaderValue = value.trim().parse().map_err(|_| "its value cannot be sent")?;
    value.set_sensitive(true);
    Ok((name, value))
}

pub(crate) fn run(args: &Args, wanted: &ReplayArgs) -> Result<ExitCode, CliError> {
    let target = target(wanted)?;
    let recordings = wanted.recorded.read(args, false)?;
    let exchanges = recordings.exchanges();
    let sent = exchanges.iter().filter(|exchange| wanted.sends(exchange)).count();
    if !target.is_here() && !wanted.yes {
        let requests = plural(sent as u64, "request");
        return Err(CliError::Usage {
            why: format!("{requests} would be sent to {}, which may cost money", shown(&wanted.upstream)),
            hint: "say --yes if that is meant",
        });
    }
    let sender = Sender::new(target).map_err(|error| CliError::Data {
        why: format!("nothing can be sent over https: {error}"),
        hint: Some(CERTIFICATES.into()),
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcomes = runtime.block_on(send(sender, exchanges, wanted));
    let differ = outcomes.iter().filter(|outcome| !is_same(&outcome.verdict)).count();
    if wanted.json {
        print_document(&document(exchanges, &outcomes))?;
    } else {
        table(exchanges, &outcomes)?;
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl ReplayArgs {
    /// Whether a request is sent again.
    fn sends(&self, exchange: &WholeExchange) -> bool {
        self.all || only_asks(exchange)
    }
}

fn is_same(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Equal | Verdict::NothingRecorded | Verdict::NotSent)
}

fn target(wanted: &ReplayArgs) -> Result<Target, CliError> {
    let bad = || CliError::Usage {
        why: format!("`{}` is no address to send to", shown(&wanted.upstream)),
        hint: "write it like https://api.anthropic.com or http://127.0.0.1:4691",
    };
    let upstream: http::Uri = wanted.upstream.parse().map_err(|_| bad())?;
    if !matches!(upstream.scheme_str(), Some("http" | "https")) || upstream.host().is_none() {
        return Err(bad());
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut headers = http::HeaderMap::new();
    headers.extend(wanted.headers.iter().cloned());
    let (anthropic_key, openai_key) = (set("ANTHROPIC_API_KEY"), set("OPENAI_API_KEY"));
    Ok(Target { upstream, headers, anthropic_key, openai_key })
}

/// Sends the requests, and gives what became of each, in order.
async fn send(sender: Sender, exchanges: &[WholeExchange], wanted: &ReplayArgs) -> Vec<Outcome> {
    let began = Instant::now();
    let first =
        exchanges.iter().map(|exchange| exchange.sent).find(|sent| sent.is_some()).unwrap_or_default();
    let speed = wanted.speed.or(wanted.parallel.then_some(1.0));
    let mut outcomes = Vec::new();
    for exchange in exchanges {
        if !wanted.sends(exchange) {
            outcomes.push(Sending::Over(Box::new(unsent(Verdict::NotSent))));
            continue;
        }
        if let (Some(speed), Some(after_ms)) = (speed, exchange.sent.ms_since(first)) {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a session")]
            let seconds = after_ms.max(0) as f64 / 1e3 / speed;
            tokio::time::sleep_until(began + Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
        }
        if wanted.parallel {
            let (sender, exchange) = (sender.clone(), exchange.clone());
            outcomes.push(Sending::UnderWay(tokio::spawn(async move { sender.send(&exchange).await })));
        } else {
            outcomes.push(Sending::Over(Box::new(sender.send(exchange).await)));
        }
    }
    let mut all = Vec::with_capacity(outcomes.len());
    for one in outcomes {
        all.push(match one {
            Sending::Over(outcome) => *outcome,
            Sending::UnderWay(task) => {
                task.await.unwrap_or_else(|error| unsent(Verdict::NoAnswer(error.to_string())))
            }
        });
    }
    all
}

/// A request that was sent, or is being sent.
enum Sending {
    Over(Box<Outcome>),
    UnderWay(tokio::task::JoinHandle<Outcome>),
}

/// What became of a request that nothing is known of but this.
fn unsent(verdict: Verdict) -> Outcome {
    Outcome { status: None, first_ms: 0.0, took_ms: 0.0, said: Said::default(), verdict }
}

fn words(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Equal => ("equal", ""),
        Verdict::Different(why) => ("different", why),
        Verdict::NothingRecorded => ("nothing recorded", ""),
        Verdict::NoAnswer(why) => ("no answer", why),
        Verdict::NotSent => ("not sent", "it changes something; --all sends it"),
    }
}

fn table(exchanges: &[WholeExchange], outcomes: &[Outcome]) -> Result<(), CliError> {
    let columns = [
        Column::number("#"),
        Column::text("path"),
        Column::text("model"),
        Column::number("status"),
        Column::number("first"),
        Column::number("time"),
        Column::number("in"),
        Column::number("out"),
        Column::rest("answer", 20),
    ];
    let rows = exchanges.iter().zip(outcomes).enumerate().map(|(n, (exchange, outcome))| {
        let tokens = |pick: fn(&unspool_model::Usage) -> u64| {
            cell(outcome.said.usage.as_ref().map(|usage| count(pick(usage))).unwrap_or_default())
        };
        let is_sent = outcome.verdict != Verdict::NotSent;
        let took = |ms: f64| cell(if is_sent { format!("{ms:.0} ms") } else { String::new() });
        let (verdict, why) = words(&outcome.verdict);
        let path = exchange.path.as_deref().unwrap_or_default().split('?').next().unwrap_or_default();
        let row: Vec<Cell> = vec![
            cell((n + 1).to_string()),
            cell(plain(&place(exchange, path))),
            cell(plain(&outcome.said.model)),
            cell(outcome.status.map(|status| status.to_string()).unwrap_or_default()),
            took(outcome.first_ms),
            took(outcome.took_ms),
            tokens(|usage| usage.input + usage.cache_read + usage.cache_write),
            tokens(|usage| usage.output + usage.reasoning),
            cell(plain(&if why.is_empty() { verdict.to_string() } else { format!("{verdict}: {why}") })),
        ];
        row
    });
    let mut out = anstream::stdout().lock();
    write_table(&mut out, &columns, &rows.collect::<Vec<_>>())?;
    let of = |pick: fn(&Verdict) -> bool| outcomes.iter().filter(|one| pick(&one.verdict)).count();
    writeln!(
        out,
        "\n{}: {} equal, {} different, {} without an answer, {} not sent",
        plural(outcomes.len() as u64, "request"),
        of(|one| *one == Verdict::Equal),
        of(|one| matches!(one, Verdict::Different(_))),
        of(|one| matches!(one, Verdict::NoAnswer(_))),
        of(|one| *one == Verdict::NotSent),
    )?;
    Ok(())
}

/// A path, behind its method where that is not the one of model calls.
fn place(exchange: &WholeExchange, path: &str) -> String {
    match exchange.method() {
        "POST" => path.into(),
        method => format!("{method} {path}"),
    }
}

fn document(exchanges: &[WholeExchange], outcomes: &[Outcome]) -> Value {
    let rows = exchanges.iter().zip(outcomes).map(|(exchange, outcome)| {
        let (verdict, why) = words(&outcome.verdict);
        let tokens = outcome.said.usage.map(|usage| {
            json!({
                "input": usage.input, "cache_read": usage.cache_read, "cache_write": usage.cache_write,
                "output": usage.output, "reasoning": usage.reasoning,
            })
        });
        json!({
            "exchange": exchange.id, "method": exchange.method(), "path": exchange.path, "model": outcome.said.model, "status": outcome.status,
            "first_ms": outcome.first_ms, "took_ms": outcome.took_ms, "tokens": tokens, "answer": verdict,
            "why": (!why.is_empty()).then_some(why),
        })
    });
    json!({"requests": rows.collect::<Vec<Value>>()})
}
