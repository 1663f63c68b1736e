//! `unspool export`: sessions in a format other tools open, or native bytes.

mod choice;

use crate::args::{Args, Places};
use crate::asked::Asked;
use crate::error::CliError;
use crate::graph_args::{GraphArgs, chosen_graph, chosen_pattern, named, share};
use crate::load::{Loaded, load, settings};
use crate::natives::Bytes;
use crate::output::write_to;
use choice::Choice;
use std::io::Write;
use std::path::{Path, PathBuf};
use unspool_formats::Detail;
use unspool_model::{Flow, Id};
use unspool_view::document::{Each, write_document};
use unspool_view::draw::svg::{SvgOptions, svg};
use unspool_view::draw::{Picture, Theme, TimelinePicture, timeline_svg};
use unspool_view::export::graph_json::{GraphsDoc, Of, graph_doc};
use unspool_view::export::{
    Format, View, causality, chrome, csv, d2, dot, graphml, join, markdown, mermaid, name_lanes, otlp,
    pattern, speedscope, subtasks, thoughtflow,
};
use unspool_view::flow_json::{FlowDoc, issue_doc, session_doc};
use unspool_view::graph::{Graph, GroupBy, Pattern, from_process};
use unspool_view::layout::TimelineOptions;
use unspool_view::tree_json::{TreesDoc, tree_doc};
use unspool_view::workflow::{Grouping, Kind, Process, Processes};

#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    paths: Vec<PathBuf>,
    #[command(flatten)]
    places: Places,
    /// What to write (default: as the ending of FILE says, else json).
    #[arg(long, value_name = "FORMAT", value_parser = named(Format::ALL, Format::name, Format::about))]
    format: Option<Format>,
    /// Write to this file; it is replaced only when everything went well.
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to show of a session (default: what fits the format).
    #[arg(long, value_name = "VIEW", value_parser = named(&View::ALL, View::name, View::about))]
    view: Option<View>,
    /// SVG: colours (default: as the reader's system prefers).
    #[arg(long, value_name = "THEME", value_parser = named(&THEMES, theme_name, theme_about))]
    theme: Option<Theme>,
    /// Process: only nodes and transitions that at least this share of the runs have, from 0 to 1 (default: all).
    #[arg(long, value_name = "N", value_parser = share)]
    min_share: Option<f64>,
    /// D2: a board for each box, opened by a click on it.
    #[arg(long)]
    drill_down: bool,
    #[command(flatten)]
    graph: GraphArgs,
    /// Write the bytes of these records, exactly, instead.
    #[arg(long, value_name = "RECORD_ID", num_args = 1..)]
    native: Vec<String>,
}

const THEMES: [Theme; 3] = [Theme::Auto, Theme::Light, Theme::Dark];

fn theme_name(theme: Theme) -> &'static str {
    match theme {
        Theme::Auto => "auto",
        Theme::Light => "light",
        Theme::Dark => "dark",
    }
}

fn theme_about(theme: Theme) -> &'static str {
    match theme {
        Theme::Auto => "as the reader's system prefers",
        Theme::Light => "dark on light",
        Theme::Dark => "light on dark",
    }
}

pub(crate) fn run(args: &Args, export: &ExportArgs) -> Result<(), CliError> {
    let now = settings(args)?.as_of;
    let choice = choice::check(export, now)?;
    // A path behind `--native ID…` is a path: ids have a shape of their own.
    let is_id = |text: &&String| Id::parse(text, 'r').is_some();
    let natives: Vec<&String> = export.native.iter().filter(is_id).collect();
    let more = export.native.iter().filter(|text| !is_id(text));
    let paths: Vec<PathBuf> = export.paths.iter().cloned().chain(more.map(PathBuf::from)).collect();
    let loaded = load(args, &paths, &export.places.look_in, Detail::Full)?;
    export.graph.check_agents(&loaded)?;
    if export.native.is_empty() {
        let asked = choice.query.as_ref().map(|query| Asked::new(&loaded, query, now));
        let drawing = Drawing { loaded: &loaded, choice: &choice, asked };
        return write_to(export.output.as_deref(), |mut out| write(&drawing, &mut out));
    }
    let bad = export.native.iter().find(|text| !is_id(text) && *text != "-" && !Path::new(text).exists());
    if let Some(bad) = bad {
        return Err(CliError::NoSuchRecord(bad.clone()));
    }
    write_to(export.output.as_deref(), |mut out| native(&loaded, &natives, &mut out))
}

/// What is drawn, and how.
struct Drawing<'a> {
    loaded: &'a Loaded,
    choice: &'a Choice,
    asked: Option<Asked<'a>>,
}

fn write(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let loaded = drawing.loaded;
    match drawing.choice.format {
        Format::Json | Format::TreeJson | Format::GraphJson => json(drawing, out),
        Format::Csv | Format::CsvEdges => table(drawing, out),
        Format::D2 | Format::Dot | Format::Mermaid | Format::GraphMl => diagram(drawing, out),
        Format::Svg => drawing.svg(out),
        Format::Chrome | Format::Speedscope => trace(drawing, out),
        Format::Otlp | Format::OtlpJson => spans(drawing, out),
        Format::Causality | Format::Pattern | Format::SubTasks => seed_shaped(drawing, out),
        Format::ThoughtFlow => {
            let [session] = loaded.sessions.as_slice() else {
                return Err(too_many("a ThoughtFlow", loaded.sessions.len()));
            };
            let flow = loaded.corpus.flow(*session);
            let batch = &loaded.corpus.batch;
            let mut natives = Bytes::new(&loaded.natives, batch);
            Ok(write_document(out, &thoughtflow::thoughtflow(&flow, batch, &mut natives))?)
        }
        Format::Markdown => {
            for flow in loaded.flows() {
                markdown::write(out, &flow, &loaded.corpus.batch, &loaded.prices)?;
            }
            Ok(())
        }
    }
}

/// Sessions are written one by one, so that memory holds one flow at a time.
fn json(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let loaded = drawing.loaded;
    let batch = &loaded.corpus.batch;
    match (drawing.choice.format, drawing.choice.view) {
        (Format::Json, View::Flow) => {
            let sessions = Each(|| loaded.flows().map(|flow| session_doc(&flow, batch, &loaded.prices)));
            let issues = loaded.corpus.loose_issues().iter().map(|issue| issue_doc(issue, batch)).collect();
            Ok(write_document(out, &FlowDoc::new(loaded.counts(), sessions, issues))?)
        }
        (Format::TreeJson, _) | (_, View::Timeline) => {
            let trees = Each(|| loaded.flows().map(|flow| tree_doc(&flow, batch)));
            Ok(write_document(out, &TreesDoc::new(trees))?)
        }
        (Format::Json, View::Process) => Ok(write_document(out, &processes(loaded).doc())?),
        (_, View::Process) => {
            let (flow, processes) = (Flow::default(), drawing.processes());
            let docs: Vec<_> =
                processes.iter().map(|(_, graph)| graph_doc(&flow, batch, graph, Of::Process)).collect();
            Ok(write_document(out, &GraphsDoc::new(docs))?)
        }
        (_, view) => {
            let level = Of::Flow(drawing.choice.graph.level);
            let of = if view == View::Workflow { Of::Workflow } else { level };
            let graphs = Each(|| loaded.flows().map(|flow| graph_doc(&flow, batch, &drawing.of(&flow), of)));
            Ok(write_document(out, &GraphsDoc::new(graphs))?)
        }
    }
}

fn table(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let batch = &drawing.loaded.corpus.batch;
    let is_of_edges = drawing.choice.format == Format::CsvEdges;
    if is_of_edges {
        csv::edge_head(out)?;
    } else {
        csv::node_head(out)?;
    }
    let mut write = |session: &str, flow: &Flow, graph: &Graph| {
        if is_of_edges {
            csv::edges(out, session, graph)
        } else {
            csv::nodes(out, session, flow, batch, graph)
        }
    };
    if drawing.choice.view == View::Process {
        let flow = Flow::default();
        return Ok(drawing.processes().iter().try_for_each(|(name, graph)| write(name, &flow, graph))?);
    }
    for flow in drawing.loaded.flows() {
        write(&flow.session.id.show('x'), &flow, &drawing.of(&flow))?;
    }
    Ok(())
}

fn diagram(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let (graph, choice) = (drawing.of_all(), drawing.choice);
    match choice.format {
        Format::Dot => Ok(dot::write(out, &graph)?),
        Format::Mermaid => Ok(mermaid::write(out, &graph)?),
        Format::GraphMl => Ok(graphml::write(out, &graph)?),
        _ => {
            let chained = choice.lanes && drawing.loaded.sessions.len() == 1;
            Ok(d2::write(out, &graph, d2::Boards { drill_down: choice.drill_down, chained })?)
        }
    }
}

fn trace(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let (flows, batch) = (drawing.loaded.flows(), &drawing.loaded.corpus.batch);
    if drawing.choice.format == Format::Chrome {
        let mut traces = chrome::Traces::default();
        flows.for_each(|flow| traces.add(&flow, batch));
        return Ok(write_document(out, &traces.finish())?);
    }
    let mut profiles = speedscope::Sessions::default();
    flows.for_each(|flow| profiles.add(&flow, batch));
    Ok(write_document(out, &profiles.finish())?)
}

fn spans(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let (loaded, batch) = (drawing.loaded, &drawing.loaded.corpus.batch);
    if drawing.choice.format == Format::OtlpJson {
        let sessions = Each(|| loaded.flows().map(|flow| otlp::traces_doc(&otlp::spans(&flow, batch))));
        return Ok(write_document(out, &otlp::TracesDoc::new(sessions))?);
    }
    for flow in loaded.flows() {
        out.write_all(&otlp::encode(&otlp::spans(&flow, batch)))?;
    }
    Ok(())
}

/// Documents in the shapes that other projects gave to the same answers.
fn seed_shaped(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let loaded = drawing.loaded;
    let (batch, prices) = (&loaded.corpus.batch, &loaded.prices);
    match drawing.choice.format {
        Format::Causality => {
            let mut document = causality::CausalityDoc::default();
            for flow in loaded.flows() {
                document.add(&flow, batch, &drawing.of(&flow));
            }
            Ok(write_document(out, &document)?)
        }
        Format::Pattern => {
            let one = |flow: Flow| {
                let found = drawing.pattern(&flow, Grouping::Parent);
                pattern::workflow_doc(flow.session.id.show('x'), &found.workflow)
            };
            Ok(write_document(out, &pattern::WorkflowsDoc::new(Each(|| loaded.flows().map(one))))?)
        }
        _ => {
            let found =
                Each(|| loaded.flows().flat_map(|flow| subtasks::conversations(&flow, batch, prices)));
            Ok(write_document(out, &subtasks::ConversationsDoc::new(found))?)
        }
    }
}

/// The processes behind the runs of all sessions.
fn processes(loaded: &Loaded) -> Processes {
    let mut processes = Processes::default();
    loaded.flows().for_each(|flow| processes.add(&flow, &loaded.corpus.batch, &loaded.prices));
    processes
}

impl Drawing<'_> {
    /// A session's graph, as chosen.
    fn of(&self, flow: &Flow) -> Graph {
        let (loaded, choice) = (self.loaded, self.choice);
        if choice.view == View::Workflow {
            return self.pattern(flow, Grouping::Path).graph(flow, &loaded.corpus.batch);
        }
        let mut graph = chosen_graph(loaded, flow, &choice.graph, self.asked.as_ref());
        if choice.graph.group_by == GroupBy::Run {
            name_lanes(flow, &mut graph);
        }
        graph
    }

    fn pattern(&self, flow: &Flow, grouping: Grouping) -> Pattern {
        chosen_pattern(self.loaded, flow, &self.choice.graph, grouping, self.asked.as_ref())
    }

    /// What runs are of, and the graph of the process behind them.
    fn processes(&self) -> Vec<(String, Graph)> {
        let least = self.choice.min_share;
        let drawn = |(kind, process): (Kind, Process)| {
            let title = kind.title();
            let graph = from_process(&title, &process, least);
            (title, graph)
        };
        processes(self.loaded).finish().into_iter().map(drawn).collect()
    }

    /// The graphs of all sessions, or of all processes, as one.
    fn of_all(&self) -> Graph {
        if self.choice.view == View::Process {
            return join(self.processes(), "processes");
        }
        let named = |flow: Flow| (flow.session.id.show('x'), self.of(&flow));
        join(self.loaded.flows().map(named).collect(), "sessions")
    }

    /// The picture of one session, a page has room for no more; or of all processes.
    fn svg(&self, out: &mut impl Write) -> Result<(), CliError> {
        let (theme, batch) = (self.choice.theme, &self.loaded.corpus.batch);
        let options = SvgOptions { theme, ..SvgOptions::default() };
        if self.choice.view == View::Process {
            return Ok(out.write_all(svg(&Picture::of(&self.of_all()), &options, None).as_bytes())?);
        }
        let [session] = self.loaded.sessions.as_slice() else {
            return Err(too_many("an SVG", self.loaded.sessions.len()));
        };
        let flow = self.loaded.corpus.flow(*session);
        let text = if self.choice.view == View::Timeline {
            let (picture, _) = TimelinePicture::of(&flow, batch, false);
            timeline_svg(&picture, theme, &TimelineOptions::default())
        } else {
            svg(&Picture::of(&self.of(&flow)), &options, None)
        };
        Ok(out.write_all(text.as_bytes())?)
    }
}

fn too_many(what: &str, count: usize) -> CliError {
    CliError::Usage {
        why: format!("{what} file holds one session, and there are {count}"),
        hint: "name one session by its id; `unspool ls` lists them",
    }
}

/// One record: its bytes and nothing else. Several: one per line.
fn native(loaded: &Loaded, ids: &[&String], out: &mut impl Write) -> Result<(), CliError> {
    let batch = &loaded.corpus.batch;
    let mut reader = loaded.natives.reader(batch);
    for (n, text) in ids.iter().enumerate() {
        let id = Id::parse(text, 'r').ok_or_else(|| CliError::NoSuchRecord((*text).clone()))?;
        let record = loaded.corpus.find_record(id).ok_or_else(|| CliError::NoSuchRecord((*text).clone()))?;
        if n > 0 {
            out.write_all(b"\n")?;
        }
        out.write_all(reader.bytes(&batch.records[record as usize])?)?;
    }
    Ok(())
}
