//! What the user may type. The comments are the help text.

use crate::commands::export::ExportArgs;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use unspool_model::Timestamp;

/// See how work really happens inside AI agents.
///
/// Unspool reads what agents leave behind (Claude Code transcripts, hook events, recorded LLM traffic) and rebuilds
/// one causal picture: who started whom, what each sub-agent cost, what failed, and why each link is believed.
///
/// Without a command it lists your newest sessions.
#[derive(Parser)]
#[command(
    name = "unspool",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  unspool                        your newest sessions
  unspool show 3f2a              the tree of one session, by the start of its id
  unspool stats --by agent       where tokens and money went
  unspool demo                   made-up sessions in a page, one of them going on"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Without a command: the newest sessions as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Configuration file (default: `$UNSPOOL_CONFIG`, else unspool/config.toml in your configuration folder).
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Judge what is still running as of this moment (RFC 3339) instead of now, so that output can be repeated.
    ///
    /// All records are read, later ones too.
    #[arg(long, global = true, value_name = "TIME", value_parser = moment)]
    pub(crate) as_of: Option<Timestamp>,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// A moment as typed.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .ok_or_else(|| "write it like 2026-01-18T19:55:26Z or 2026-01-18T20:55:26+01:00".into())
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List sessions, newest last.
    #[command(after_help = "\
Examples:
  unspool ls                     sessions in the usual places
  unspool ls ~/logs run.jsonl    sessions in these files and folders
  cat run.jsonl | unspool ls -   sessions on standard input
  unspool ls --json | jq .       for programs")]
    Ls(ListArgs),
    /// Show one session as a tree: agents nested, tool calls, times, tokens, cost, errors.
    #[command(after_help = "\
Examples:
  unspool show 3f2a              a session by the start of its id
  unspool show run.jsonl         a file
  unspool show 3f2a --errors     only what failed, and what led there
  unspool show 3f2a --depth 0    only the main agent, sub-agents as one line each
  unspool show 3f2a --agent Explore   only agents whose type, name or id matches
  unspool show 3f2a --errors --json   the same choice, for programs")]
    Show(ShowArgs),
    /// Add up steps, errors, tokens, cost and time.
    #[command(after_help = "\
Examples:
  unspool stats                  everything in the usual places
  unspool stats --by tool        per tool
  unspool stats --by day PATH    per day, for a folder
  unspool stats --json           all tables at once, for programs")]
    Stats(StatsArgs),
    /// Say why: the evidence for a link, the rivals, how a number was counted.
    #[command(after_help = "\
Examples:
  unspool explain 3f2a a9f8e7d6          why this agent hangs where it hangs
  unspool explain 3f2a toolu_01ABC       one tool call and its links
  unspool explain 3f2a msg_01XYZ         how this call's tokens were counted")]
    Explain(ExplainArgs),
    /// Draw what led to what: steps, model calls, agents or runs, one line each.
    #[command(after_help = "\
Examples:
  unspool graph 3f2a             a session by the start of its id
  unspool graph 3f2a --level agent     who started whom
  unspool graph 3f2a --level model-call    how results led from one model call to the next
  unspool graph 3f2a --where 'is:error'    what failed, and how one led to the other
  unspool graph 3f2a --workflow  the pattern behind the steps
  unspool graph 3f2a --workflow --agent Explore   that of some agents
  unspool export 3f2a -o graph.svg     the same as a picture")]
    Graph(Box<crate::commands::graph::DrawArgs>),
    /// Draw what happened when: a bar per step, agents below each other.
    #[command(after_help = "\
Examples:
  unspool timeline 3f2a          a session by the start of its id
  unspool timeline run.jsonl     a file
  unspool export 3f2a --view timeline -o time.svg    the same as a picture")]
    Timeline(crate::commands::timeline::TimelineArgs),
    /// Show why it took so long: the critical path, what time was spent on, what a faster tool would save.
    #[command(after_help = "\
Examples:
  unspool path 3f2a              a session by the start of its id
  unspool path run.jsonl --run 2       the second run of a file
  unspool path 3f2a --agent Explore    an agent and everything it started
  unspool path 3f2a --what-if tool:Bash=0.5    were Bash twice as fast
  unspool path 3f2a --what-if human=0  were nobody waited for")]
    Path(crate::commands::PathArgs),
    /// Look for waste and trouble: retry storms, repeated calls, circles, slow steps, unused agents; and for task templates.
    #[command(after_help = "\
Examples:
  unspool findings 3f2a          a session by the start of its id
  unspool findings PATH          all sessions in a file or folder
  unspool findings --only slow_step,re_read PATH
  unspool findings --json PATH   for programs, with the steps of each")]
    Findings(crate::commands::FindingsArgs),
    /// Follow failures: the first cause of each, what it touched, and whether it was retried, worked around, or ended something.
    #[command(after_help = "\
Examples:
  unspool failures 3f2a          what failed in a session
  unspool failures PATH -n 0     all failures of all sessions in a file or folder
  unspool failures 3f2a --json   for programs, with every cause, receiver and touched step
  unspool explain 3f2a STEP      one failed step, with its evidence")]
    Failures(crate::commands::FailuresArgs),
    /// Count: the shape of the graph, degrees and slack of steps, lifetimes and errors of agents, time of runs.
    #[command(after_help = "\
Examples:
  unspool metrics 3f2a           the graph of a session in short
  unspool metrics 3f2a --by node       the steps that held it up, with slack and what they lead to
  unspool metrics PATH --by agent-type lifetimes, errors and tools by type of agent
  unspool metrics 3f2a --json    everything, for programs")]
    Metrics(crate::commands::MetricsArgs),
    /// Find the process behind many runs: what they share, how often it fails, variants, the common path and who leaves it.
    #[command(after_help = "\
Examples:
  unspool process                all runs in the usual places
  unspool process PATH -n 0      every node, transition and variant of a folder
  unspool process PATH --run u3f2a     how this run differs from the common path
  unspool process PATH --draw --min-share 0.2    what a fifth of the runs do, as a graph
  unspool export PATH --view process -o process.svg    the same as a picture
  unspool process PATH --json    for programs")]
    Process(crate::commands::ProcessArgs),
    /// Find steps by what they are and how they stand to each other.
    #[command(after_help = "\
Examples:
  unspool query 'tool:Bash is:error'             failed commands in all your sessions
  unspool query 'under:agent:Explore tokens>10k' 3f2a    in one session
  unspool query 'tool:Edit followed-by:(tool:Bash is:error)' PATH
  unspool query 'text:\"connection refused\"'    words in messages, tool inputs and results
  unspool query --count 'is:retry since:7d'      how many, per session

Exits with 0 when a step is found, with 1 when none is, with 2 when the query is not understood.
docs/query.md has the whole language.")]
    Query(super::commands::query::QueryArgs),
    /// Compare two sessions, runs or agents: where they part, what was added, removed and changed.
    #[command(after_help = "\
Examples:
  unspool diff 3f2a 9c41         two sessions
  unspool diff 3f2a:1 3f2a:2     two runs of a session, by position or id
  unspool diff 3f2a:a9f8 :a7c1   two agents of a session, each with all below it
  unspool diff old.jsonl new.jsonl --stat    sums only
  unspool diff 3f2a 9c41 --json  everything, for programs")]
    Diff(super::commands::diff::DiffArgs),
    /// Write sessions in a format other tools open, or give a record's native bytes back.
    #[command(after_help = "\
Examples:
  unspool export 3f2a -o flow.json                 everything, as JSON
  unspool export 3f2a -o run.d2                    a diagram with a lane per run; the ending says which format
  unspool export 3f2a --format dot --level agent   who started whom
  unspool export 3f2a --view workflow -o flow.mmd  the pattern behind the steps
  unspool export 3f2a --format csv --status error  a table of what failed
  unspool export --as-of 2026-01-18T20:00:00Z PATH    the same bytes on any day
  unspool export --native r0123… PATH    the record's bytes, exactly")]
    Export(ExportArgs),
    /// Write sessions as one HTML file with the page inside, to be opened anywhere without a server or network.
    #[command(after_help = "\
Examples:
  unspool report 3f2a            a session by the start of its id, as unspool-report.html
  unspool report run.jsonl -o run.html     everything in a file
  unspool report 3f2a -o run.html --redact what looks like a key, token or password is masked")]
    Report(crate::commands::ReportArgs),
    /// Say what a file is: format scores, versions, record types, issues.
    #[command(after_help = "\
Examples:
  unspool inspect run.jsonl
  unspool inspect --json run.jsonl
  tail -n 500 run.jsonl | unspool inspect -    from standard input")]
    Inspect(InspectArgs),
    /// Look for drift: unlinked spawns and agents, unknown types, tools and models.
    #[command(after_help = "\
Examples:
  unspool doctor                 the usual places
  unspool doctor PATH --json")]
    Doctor(DoctorArgs),
    /// Receive, keep, link and show everything: OTLP, hooks, uploads and the sessions on this machine.
    #[command(after_help = "\
Examples:
  unspool serve                  on http://127.0.0.1:4680, data in your data folder
  unspool serve --listen 127.0.0.1:0 --data-dir ./data     on a free port, data here")]
    Serve(crate::commands::ServeArgs),
    /// Stand between a client and an LLM API, change nothing, and show what is said as it is.
    #[command(after_help = "\
Examples:
  unspool proxy                  Anthropic and OpenAI, by /anthropic and /openai on http://127.0.0.1:4690
  ANTHROPIC_BASE_URL=http://127.0.0.1:4690/anthropic claude
  unspool proxy --upstream local=http://127.0.0.1:8000     any other API, by /local or without")]
    Proxy(crate::commands::ProxyArgs),
    /// Make, list and revoke the tokens by which other machines come in.
    #[command(after_help = "\
Examples:
  unspool token create --scope ingest --name laptop
  unspool token ls
  unspool token revoke 3f2a9c41")]
    Token(crate::commands::TokenArgs),
    /// Let Claude Code tell the server what it does, as it does it.
    #[command(after_help = "\
Examples:
  unspool hooks install --dry-run    what would change in your settings
  unspool hooks install          for all your sessions, with a backup of the settings
  unspool hooks install --project . --local    for this project, for you alone
  unspool hooks status           which events are sent, and what waits for a server
  unspool hooks uninstall")]
    Hooks(crate::commands::HooksArgs),
    /// Print the variables by which an agent or a program sends its telemetry to the server.
    #[command(after_help = "\
Examples:
  eval \"$(unspool otel-env)\"      for Claude Code, in this shell
  unspool otel-env codex         the lines for Codex's configuration file
  unspool otel-env python --grpc --content     for a program, over gRPC, with what was said
  unspool otel-env node --json   for programs")]
    OtelEnv(crate::commands::OtelEnvArgs),
    /// Send one hook event from standard input; this is what the hooks run.
    Hook(crate::commands::HookArgs),
    /// Look after what the server keeps: how much, whether it is sound, less of it, all of it elsewhere.
    #[command(after_help = "\
Examples:
  unspool db stats               how much there is, by source
  unspool db check               read everything; what is not as it should be
  unspool db prune --older-than 30d --dry-run    what would go
  unspool db compact             give the room of deleted records back
  unspool db export -o all.zst   all records in one file
  unspool db import all.zst --data-dir DIR     add those that are not there yet

The server has to be stopped meanwhile. prune, compact and import change what is kept.")]
    Db(crate::commands::DbArgs),
    /// Add up tokens as limits of APIs do: by key, in windows of five hours, by model.
    #[command(after_help = "\
Examples:
  unspool usage                  what the server keeps, of the last 7 days
  unspool usage --hours 24 PATH  windows of a day, of files or folders
  unspool usage --json           for programs")]
    Usage(crate::commands::UsageArgs),
    /// Run a command and record what it says to LLM APIs, without changing anything else.
    #[command(after_help = "\
Examples:
  unspool run -- claude          Claude Code as always; its session and what it cost at the end
  unspool run -- python agent.py any program that honours ANTHROPIC_BASE_URL or OPENAI_BASE_URL
  unspool run --upstream openai=http://127.0.0.1:11434 -- python agent.py    with a model of this machine

Exits as the command does.")]
    Run(crate::commands::RunArgs),
    /// Answer as an LLM API did: recorded answers of a session or a file, in the time they took then.
    #[command(after_help = "\
Examples:
  unspool mock 3f2a              a session by the start of its id, on http://127.0.0.1:4691
  unspool mock traffic.jsonl --speed 10    ten times as fast
  unspool mock 3f2a --instant --in-order   at once, and what was not recorded by the next answer that was")]
    Mock(crate::commands::MockArgs),
    /// Send the recorded requests of a session or a file again, and compare the answers.
    #[command(after_help = "\
Examples:
  unspool replay 3f2a --upstream http://127.0.0.1:4691    to a mock, or anything else on this machine
  unspool replay 3f2a --upstream https://api.anthropic.com --yes    with $ANTHROPIC_API_KEY; costs money
  unspool replay traffic.jsonl --upstream URL --parallel --speed 2  as they were sent, twice as fast

Exits with 0 when every answer says what it said then, with 1 when one does not.")]
    Replay(crate::commands::ReplayArgs),
    /// Throw away everything the server derived and make it again from the records.
    #[command(after_help = "\
Examples:
  unspool rebuild                the server's usual folder; stop the server first
  unspool rebuild --data-dir DIR another one")]
    Rebuild(crate::commands::RebuildArgs),
    /// Link everything stored again, and say what is different.
    #[command(after_help = "\
Examples:
  unspool relink --dry-run       what would be different; stop the server first
  unspool relink --rules FILE --dry-run   the same with other windows
  unspool relink --rules FILE    with them from now on")]
    Relink(crate::commands::RelinkArgs),
    /// Say that a link is right, wrong or missing. A running server keeps it.
    #[command(after_help = "\
Examples:
  unspool link 3f2a toolu_01ABC a9f8e7d6 --confirm   this call started that agent
  unspool link 3f2a toolu_01ABC a9f8e7d6 --deny      it did not
  unspool link 3f2a toolu_01ABC toolu_02DEF --add data    what one wrote, the other read
  unspool link 3f2a toolu_01ABC toolu_02DEF --remove      take back what was said")]
    Link(crate::commands::LinkArgs),
    /// Start a server with made-up sessions: nested agents, failures, waste, and one that goes on as you look.
    #[command(after_help = "\
Examples:
  unspool demo                   on http://127.0.0.1:4680 or the next free port, until Ctrl-C
  unspool demo --show            one of the sessions, as a tree in the terminal
  unspool demo --write DIR       write their files, to try other commands on")]
    Demo(DemoArgs),
}

/// Where sessions that are named by an id are looked for.
#[derive(clap::Args)]
pub(crate) struct Places {
    /// Look for sessions here instead of in the usual places.
    #[arg(long = "in", value_name = "PATH")]
    pub(crate) look_in: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
    /// How many; 0 for all.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0)]
    pub(crate) limit: usize,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// A session id or a unique start of one, or a file or folder.
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: PathBuf,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Only agents whose type or name contains this or whose id begins with it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) agent: Option<String>,
    /// Open sub-agents down to this depth; deeper ones are one line.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Only steps that failed and the steps above them.
    #[arg(long)]
    pub(crate) errors: bool,
    /// Everything: system and hook steps, injected messages, lines uncut.
    #[arg(long)]
    pub(crate) full: bool,
    /// As JSON: system and hook steps too; `--agent`, `--depth` and `--errors` choose, sums stay those of the whole.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct StatsArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
    /// What to add up by.
    #[arg(long, value_name = "WHAT", default_value = "session")]
    pub(crate) by: By,
    /// As JSON: all tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Session,
    Agent,
    Tool,
    Model,
    Day,
}

#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    /// A session id or a unique start of one, or a file or folder.
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: PathBuf,
    /// A step, agent or edge: any id of it, or `FROM..TO` for an edge between two steps.
    #[arg(value_name = "STEP|AGENT|EDGE")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) places: Places,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    /// The file, or `-` for standard input.
    pub(crate) file: PathBuf,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Where to listen (default: 127.0.0.1:4680, or the next port that is free).
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Show one of the sessions in the terminal instead.
    #[arg(long, conflicts_with = "listen")]
    pub(crate) show: bool,
    /// Write the files of all sessions into this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "show"])]
    pub(crate) write: Option<PathBuf>,
}
