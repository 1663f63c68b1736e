//! `unspool export`: sessions in a format other tools open, or native bytes.

mod choice;

use crate::args::Args;
use crate::asked::Asked;
use crate::error::CliError;
use crate::graph_args::{GraphArgs, chosen_graph, named};
use crate::load::{Loaded, load, settings};
use crate::output::write_to;
use choice::Choice;
use std::io::Write;
use std::path::{Path, PathBuf};
use unspool_formats::Detail;
use unspool_model::{Flow, Id};
use unspool_view::document::{Each, write_document};
use unspool_view::draw::svg::{SvgOptions, svg};
use unspool_view::draw::{Picture, Theme, TimelinePicture, timeline_svg};
use unspool_view::export::graph_json::{GraphsDoc, graph_doc};
use unspool_view::export::{
    Format, View, causality, chrome, csv, d2, dot, graphml, join, markdown, mermaid, name_lanes, otlp,
    pattern, speedscope, subtasks, thoughtflow,
};
use unspool_view::flow_json::{FlowDoc, issue_doc, session_doc};
use unspool_view::graph::{Graph, GroupBy, from_workflow};
use unspool_view::labels::session_title;
use unspool_view::layout::TimelineOptions;
use unspool_view::tree_json::{TreesDoc, tree_doc};
use unspool_view::workflow::{Grouping, Options, Workflow, items, workflow};

#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Files, folders or `-`, or session ids (default: the usual places).
    paths: Vec<PathBuf>,
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
    let choice = choice::check(export)?;
    // A path behind `--native ID…` is a path: ids have a shape of their own.
    let is_id = |text: &&String| Id::parse(text, 'r').is_some();
    let natives: Vec<&String> = export.native.iter().filter(is_id).collect();
    let more = export.native.iter().filter(|text| !is_id(text));
    let paths: Vec<PathBuf> = export.paths.iter().cloned().chain(more.map(PathBuf::from)).collect();
    let loaded = load(args, &paths, &[], Detail::Full)?;
    if export.native.is_empty() {
        let now = settings(args)?.as_of;
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
    let (loaded, choice) = (drawing.loaded, drawing.choice);
    match (choice.format, choice.view) {
        (Format::Json, View::Flow) => flow(loaded, out),
        (Format::Json | Format::TreeJson, View::Timeline) => tree(loaded, out),
        (Format::Json | Format::GraphJson, _) => graph_json(drawing, out),
        (Format::Csv, _) => {
            csv::node_head(out)?;
            for flow in loaded.flows() {
                csv::nodes(out, &flow, &loaded.corpus.batch, &drawing.of(&flow))?;
            }
            Ok(())
        }
        (Format::CsvEdges, _) => {
            csv::edge_head(out)?;
            for flow in loaded.flows() {
                csv::edges(out, &flow, &drawing.of(&flow))?;
            }
            Ok(())
        }
        (Format::D2, _) => {
            let chained = choice.lanes && loaded.sessions.len() == 1;
            let boards = d2::Boards { drill_down: choice.drill_down, chained };
            Ok(d2::write(out, &drawing.of_all(), boards)?)
        }
        (Format::Dot, _) => Ok(dot::write(out, &drawing.of_all())?),
        (Format::Mermaid, _) => Ok(mermaid::write(out, &drawing.of_all())?),
        (Format::GraphMl, _) => Ok(graphml::write(out, &drawing.of_all())?),
        (Format::Svg, _) => drawing.svg(out),
        (Format::TreeJson, _) => tree(loaded, out),
        (Format::Chrome, _) => {
            let mut traces = chrome::Traces::default();
            loaded.flows().for_each(|flow| traces.add(&flow, &loaded.corpus.batch));
            Ok(write_document(out, &traces.finish())?)
        }
        (Format::Speedscope, _) => {
            let mut profiles = speedscope::Sessions::default();
            loaded.flows().for_each(|flow| profiles.add(&flow, &loaded.corpus.batch));
            Ok(write_document(out, &profiles.finish())?)
        }
        (Format::Otlp, _) => {
            for flow in loaded.flows() {
                out.write_all(&otlp::encode(&otlp::spans(&flow, &loaded.corpus.batch)))?;
            }
            Ok(())
        }
        (Format::OtlpJson, _) => {
            let batch = &loaded.corpus.batch;
            let sessions = Each(|| loaded.flows().map(|flow| otlp::traces_doc(&otlp::spans(&flow, batch))));
            Ok(write_document(out, &otlp::TracesDoc::new(sessions))?)
        }
        (Format::ThoughtFlow, _) => {
            let [session] = loaded.sessions.as_slice() else {
                return Err(too_many("a ThoughtFlow", loaded.sessions.len()));
            };
            let flow = loaded.corpus.flow(*session);
            Ok(write_document(out, &thoughtflow::thoughtflow(&flow, &loaded.corpus.batch))?)
        }
        (Format::Causality, _) => {
            let mut document = causality::CausalityDoc::default();
            for flow in loaded.flows() {
                document.add(&flow, &loaded.corpus.batch, &drawing.of(&flow));
            }
            Ok(write_document(out, &document)?)
        }
        (Format::Pattern, _) => {
            let found = Each(|| {
                loaded.flows().map(|flow| {
                    pattern::workflow_doc(
                        flow.session.id.show('x'),
                        &pattern_of(loaded, &flow, Grouping::Parent),
                    )
                })
            });
            Ok(write_document(out, &pattern::WorkflowsDoc::new(found))?)
        }
        (Format::SubTasks, _) => {
            let (batch, prices) = (&loaded.corpus.batch, &loaded.prices);
            let found =
                Each(|| loaded.flows().flat_map(|flow| subtasks::conversations(&flow, batch, prices)));
            Ok(write_document(out, &subtasks::ConversationsDoc::new(found))?)
        }
        (Format::Markdown, _) => {
            for flow in loaded.flows() {
                markdown::write(out, &flow, &loaded.corpus.batch, &loaded.prices)?;
            }
            Ok(())
        }
    }
}

/// Sessions are written one by one, so that memory holds one flow at a time.
fn flow(loaded: &Loaded, out: &mut impl Write) -> Result<(), CliError> {
    let batch = &loaded.corpus.batch;
    let sessions = Each(|| loaded.flows().map(|flow| session_doc(&flow, batch, &loaded.prices)));
    let issues = loaded.corpus.loose_issues().iter().map(|issue| issue_doc(issue, batch)).collect();
    Ok(write_document(out, &FlowDoc::new(loaded.counts(), sessions, issues))?)
}

fn tree(loaded: &Loaded, out: &mut impl Write) -> Result<(), CliError> {
    let trees = Each(|| loaded.flows().map(|flow| tree_doc(&flow, &loaded.corpus.batch)));
    Ok(write_document(out, &TreesDoc::new(trees))?)
}

fn graph_json(drawing: &Drawing<'_>, out: &mut impl Write) -> Result<(), CliError> {
    let choice = drawing.choice;
    let level = (choice.view != View::Workflow).then(|| choice.graph.level.name());
    let graphs = Each(|| drawing.loaded.flows().map(|flow| graph_doc(&flow, &drawing.of(&flow), level)));
    Ok(write_document(out, &GraphsDoc::new(graphs))?)
}

impl Drawing<'_> {
    /// A session's graph, as chosen.
    fn of(&self, flow: &Flow) -> Graph {
        let (loaded, choice) = (self.loaded, self.choice);
        let batch = &loaded.corpus.batch;
        if choice.view == View::Workflow {
            return from_workflow(&session_title(flow, batch), &pattern_of(loaded, flow, Grouping::Path));
        }
        let mut graph = chosen_graph(loaded, flow, &choice.graph, self.asked.as_ref());
        if choice.graph.group_by == GroupBy::Run {
            name_lanes(flow, &mut graph);
        }
        graph
    }

    /// The graphs of all sessions as one.
    fn of_all(&self) -> Graph {
        let named = |flow: Flow| (flow.session.id.show('x'), self.of(&flow));
        join(self.loaded.flows().map(named).collect())
    }

    /// The picture of one session: a page has room for no more.
    fn svg(&self, out: &mut impl Write) -> Result<(), CliError> {
        let [session] = self.loaded.sessions.as_slice() else {
            return Err(too_many("an SVG", self.loaded.sessions.len()));
        };
        let flow = self.loaded.corpus.flow(*session);
        let (theme, batch) = (self.choice.theme, &self.loaded.corpus.batch);
        let text = if self.choice.view == View::Timeline {
            let (picture, _) = TimelinePicture::of(&flow, batch);
            timeline_svg(&picture, theme, &TimelineOptions::default())
        } else {
            svg(&Picture::of(&self.of(&flow)), &SvgOptions { theme, ..SvgOptions::default() }, None)
        };
        Ok(out.write_all(text.as_bytes())?)
    }
}

fn pattern_of(loaded: &Loaded, flow: &Flow, grouping: Grouping) -> Workflow {
    let items = items(flow, &loaded.corpus.batch, &loaded.prices, None);
    workflow(&items, &Options { grouping, ..Options::default() })
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
