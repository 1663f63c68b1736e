//! `unspool usage`: tokens by key, window and model, as limits of APIs count them.

use super::rebuild::settle;
use super::serve::{data_folder, opening, options};
use crate::args::{Args, Places};
use crate::error::CliError;
use crate::figures::{NOT_STATED, count, minute, money, plural};
use crate::load::{load, now};
use crate::output::print_document;
use crate::server::{RunningServer, encoded};
use crate::table::{Cell, Column, cell, write_table};
use crate::term::{note, plain};
use serde_json::Value;
use std::path::PathBuf;
use unspool_engine::live::Engine;
use unspool_formats::Detail;
use unspool_model::Timestamp;
use unspool_server::{UsageAsked, usage};
use unspool_view::limits::{USUAL_WINDOW_HOURS, counted_calls, windows};

#[derive(clap::Args)]
pub(crate) struct UsageArgs {
    /// Files, folders or `-`, or session ids (default: what the server keeps).
    paths: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// Only calls from this moment on (RFC 3339); what the server keeps is else looked at for the last 7 days.
    #[arg(long, value_name = "TIME", value_parser = crate::args::moment)]
    since: Option<Timestamp>,
    /// Hours of a window.
    #[arg(long, value_name = "N", default_value_t = USUAL_WINDOW_HOURS, value_parser = clap::value_parser!(u32).range(1..=8760))]
    hours: u32,
    /// Where sessions are kept, if no server has them (default: `$UNSPOOL_DATA_DIR`, else unspool in your data folder).
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Ask the server here (default: the data folder, or `$UNSPOOL_SERVER`, else 127.0.0.1:4680 if a server has it).
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, wanted: &UsageArgs) -> Result<(), CliError> {
    let document = if !wanted.paths.is_empty() || !wanted.places.look_in.is_empty() {
        in_files(args, wanted)?
    } else if wanted.server.is_some() {
        in_server(wanted)?
    } else {
        in_folder(args, wanted)?
    };
    if wanted.json { print_document(&document) } else { table(&document) }
}

fn in_files(args: &Args, wanted: &UsageArgs) -> Result<Value, CliError> {
    let loaded = load(args, &wanted.paths, &wanted.places.look_in, Detail::Numbers)?;
    let mut calls = Vec::new();
    for flow in loaded.flows() {
        calls.extend(counted_calls(&flow, &loaded.corpus.batch, &loaded.prices));
    }
    calls.retain(|call| wanted.since.is_none_or(|since| !call.at.is_some() || call.at >= since));
    let mut document = windows(calls, wanted.hours, args.as_of.unwrap_or_else(now));
    document.looked_into = loaded.sessions.len() as u64;
    Ok(serde_json::to_value(document)?)
}

fn in_folder(args: &Args, wanted: &UsageArgs) -> Result<Value, CliError> {
    let folder = data_folder(wanted.data_dir.as_deref())?;
    let engine = match Engine::open_existing(options(args, &folder, "usage")?) {
        Ok(engine) => engine,
        Err(error) if error.is_held() => return in_server(wanted),
        Err(error) => return Err(opening(&error)),
    };
    settle(&engine)?;
    let asked = UsageAsked { since: wanted.since, hours: Some(wanted.hours) };
    let document = usage(&engine, asked);
    engine.close();
    let document = document.map_err(|error| CliError::Data { why: error.to_string(), hint: None })?;
    Ok(serde_json::to_value(document)?)
}

fn in_server(wanted: &UsageArgs) -> Result<Value, CliError> {
    let since =
        wanted.since.map(|since| format!("&since={}", encoded(&since.to_string()))).unwrap_or_default();
    let server = RunningServer::named(wanted.server.as_deref());
    server.document(&format!("/api/v1/usage?hours={}{since}", wanted.hours))
}

/// A line per window and model.
fn table(document: &Value) -> Result<(), CliError> {
    let columns = [
        Column::text("window"),
        Column::text("key"),
        Column::rest("model", 12),
        Column::number("calls"),
        Column::number("input"),
        Column::number("cache read"),
        Column::number("cache write"),
        Column::number("output"),
        Column::number("cost"),
    ];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for window in document["windows"].as_array().into_iter().flatten() {
        let open = if window["open"] == true { " …" } else { "" };
        let start = minute(window["started_at"].as_str());
        let key = window["key"].as_str().map_or(NOT_STATED, |key| key.trim_start_matches("masked:"));
        for model in window["models"].as_array().into_iter().flatten() {
            let tokens =
                |name: &str| cell(model["usage"][name].as_u64().map_or_else(|| NOT_STATED.into(), count));
            let written = model["usage"]["output"].as_u64().zip(model["usage"]["reasoning"].as_u64());
            let unpriced = model["unpriced_calls"].as_u64().unwrap_or(0);
            rows.push(vec![
                cell(format!("{start}{open}")),
                cell(plain(key)),
                cell(plain(model["model"].as_str().unwrap_or(NOT_STATED))),
                cell(count(model["calls"].as_u64().unwrap_or(0))),
                tokens("input"),
                tokens("cache_read"),
                tokens("cache_write"),
                cell(written.map_or_else(|| NOT_STATED.into(), |(output, thought)| count(output + thought))),
                cell(
                    model["cost_usd"]
                        .as_f64()
                        .map_or_else(|| NOT_STATED.into(), |cost| money(cost, unpriced)),
                ),
            ]);
        }
    }
    write_table(&mut anstream::stdout().lock(), &columns, &rows)?;
    for (name, what) in [
        ("calls_without_time", "of no known time: in no window"),
        ("not_looked_into", "older and not looked into (`max_usage_sessions`)"),
    ] {
        let noun = if name == "calls_without_time" { "call" } else { "session" };
        if let Some(number) = document[name].as_u64().filter(|number| *number > 0) {
            note(&format!("{} {what}", plural(number, noun)));
        }
    }
    Ok(())
}
