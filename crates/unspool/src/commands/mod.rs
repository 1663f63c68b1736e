//! One file per command.

mod db;
mod demo;
pub(crate) mod diff;
mod doctor;
mod explain;
pub(crate) mod export;
mod failures;
mod findings;
pub(crate) mod graph;
mod home;
pub(crate) mod hook;
mod hooks;
mod inspect;
mod link;
mod ls;
mod metrics;
mod mock;
mod otel_env;
mod path;
mod process;
mod proxy;
pub(crate) mod query;
mod rebuild;
mod relink;
mod replay;
mod report;
mod run;
mod serve;
mod show;
mod stats;
pub(crate) mod timeline;
mod token;
mod usage;

pub(crate) use db::DbArgs;
pub(crate) use failures::FailuresArgs;
pub(crate) use findings::FindingsArgs;
pub(crate) use hook::HookArgs;
pub(crate) use hooks::HooksArgs;
pub(crate) use link::LinkArgs;
pub(crate) use metrics::MetricsArgs;
pub(crate) use mock::MockArgs;
pub(crate) use otel_env::OtelEnvArgs;
pub(crate) use path::PathArgs;
pub(crate) use process::ProcessArgs;
pub(crate) use proxy::ProxyArgs;
pub(crate) use rebuild::RebuildArgs;
pub(crate) use rebuild::settle;
pub(crate) use relink::RelinkArgs;
pub(crate) use replay::ReplayArgs;
pub(crate) use report::ReportArgs;
pub(crate) use run::RunArgs;
pub(crate) use serve::{ServeArgs, data_folder, opening, options};
pub(crate) use token::TokenArgs;
pub(crate) use usage::UsageArgs;

use crate::args::{Args, Color, Command};
use crate::error::CliError;
use std::process::ExitCode;

pub(crate) fn run(args: &Args) -> Result<ExitCode, CliError> {
    match args.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let done: Result<(), CliError> = match &args.command {
        // What finds nothing says so by its exit code.
        Some(Command::Query(query)) => return query::run(args, query),
        Some(Command::Diff(diff)) => return diff::run(args, diff),
        None => home::run(args),
        Some(Command::Ls(ls)) => ls::run(args, ls),
        Some(Command::Show(show)) => show::run(args, show),
        Some(Command::Stats(stats)) => stats::run(args, stats),
        Some(Command::Explain(explain)) => explain::run(args, explain),
        Some(Command::Path(path)) => path::run(args, path),
        Some(Command::Findings(findings)) => findings::run(args, findings),
        Some(Command::Failures(failures)) => failures::run(args, failures),
        Some(Command::Metrics(metrics)) => metrics::run(args, metrics),
        Some(Command::Process(process)) => process::run(args, process),
        Some(Command::Graph(graph)) => graph::run(args, graph),
        Some(Command::Timeline(timeline)) => timeline::run(args, timeline),
        Some(Command::Export(export)) => export::run(args, export),
        Some(Command::Report(report)) => report::run(args, report),
        Some(Command::Inspect(inspect)) => inspect::run(args, inspect),
        Some(Command::Doctor(doctor)) => doctor::run(args, doctor),
        Some(Command::Serve(serve)) => serve::run(args, serve),
        Some(Command::Proxy(proxy)) => proxy::run(args, proxy),
        Some(Command::OtelEnv(asked)) => otel_env::run(asked),
        Some(Command::Token(token)) => token::run(token),
        Some(Command::Hooks(hooks)) => hooks::run(hooks),
        Some(Command::Hook(hook)) => {
            hook::run(hook);
            Ok(())
        }
        Some(Command::Db(db)) => return db::run(args, db),
        Some(Command::Usage(wanted)) => usage::run(args, wanted),
        Some(Command::Run(wanted)) => return run::run(args, wanted),
        Some(Command::Mock(mock)) => mock::run(args, mock),
        Some(Command::Replay(replay)) => return replay::run(args, replay),
        Some(Command::Rebuild(rebuild)) => rebuild::run(args, rebuild),
        Some(Command::Relink(relink)) => relink::run(args, relink),
        Some(Command::Link(link)) => link::run(link),
        Some(Command::Demo(demo)) => demo::run(args, demo),
    };
    done.map(|()| ExitCode::SUCCESS)
}
