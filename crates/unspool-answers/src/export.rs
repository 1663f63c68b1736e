//! A session in a format other tools open.

use crate::asked::{Asked, Param, Sort, word};
use crate::call::{Call, Seen};
use crate::error::ApiError;
use crate::graph::{self, Drawn};
use crate::parts;
use crate::reply::Reply;
use std::io::{self, Write};
use unspool_link::Corpus;
use unspool_model::{Flow, Outcome};
use unspool_view::document::write_document;
use unspool_view::draw::svg::{SvgOptions, svg};
use unspool_view::draw::{Picture, Theme, TimelinePicture, timeline_svg};
use unspool_view::export::graph_json::{GraphsDoc, Of, graph_doc};
use unspool_view::export::{
    Format, View, causality, chrome, csv, d2, dot, graphml, markdown, mermaid, otlp, pattern, speedscope,
    subtasks, thoughtflow,
};
use unspool_view::flow_json::{CountsDoc, FlowDoc, session_doc};
use unspool_view::graph::{Graph, GroupBy, Level, Pattern};
use unspool_view::layout::TimelineOptions;
use unspool_view::tree_json::{TreesDoc, tree_doc};
use unspool_view::workflow::{Grouping, ProcessDoc};

const THEMES: [(Theme, &str); 3] = [(Theme::Auto, "auto"), (Theme::Light, "light"), (Theme::Dark, "dark")];

pub(crate) const EXPORT: &[Param] = &[
    Param::new("format", Sort::Text, "what to write; `/api/v1/schema` lists the formats (json if not given)"),
    Param::new("view", Sort::Text, "what to show: flow, graph, workflow or timeline, as the format can"),
    Param::new("theme", Sort::Text, "SVG: auto (the usual), light or dark"),
    Param::new("drill_down", Sort::Flag, "D2: a board for each box, opened by a click on it"),
    Param::new("level", Sort::Text, "graphs: what a node is: step (the usual), model-call, agent or run"),
    Param::new(
        "group_by",
        Sort::Text,
        "graphs: what the boxes are: agent (the usual; in D2, run), run or nothing",
    ),
    Param::new("agent", Sort::Texts, "graphs: only agents whose type, name or id contains this"),
    Param::new("kind", Sort::Texts, "graphs: only steps of this kind"),
    Param::new("tool", Sort::Texts, "graphs: only calls of this tool"),
    Param::new("after", Sort::Text, "graphs: only what began later"),
    Param::new("before", Sort::Text, "graphs: only what began earlier"),
    Param::new("status", Sort::Text, "graphs: only steps that ended so: error, ok or pending"),
    Param::new("edge", Sort::Texts, "graphs: only edges of this kind"),
    Param::new("min_confidence", Sort::Share, "graphs: only edges believed at least this much, from 0 to 1"),
    Param::new(
        "sequential",
        Sort::Flag,
        "graphs: guess that conversations close to each other belong together",
    ),
    Param::new("full", Sort::Flag, "graphs: system and hook steps and injected messages, too"),
    Param::new("where", Sort::Text, "graphs: only steps for which a query holds"),
    Param::new("run", Sort::Texts, "graphs and ThoughtFlow: only this run: its number from 1, or its id"),
    Param::new("project", Sort::Flag, "a process: of all sessions of the same working directory"),
    Param::new("min_share", Sort::Share, "a process: what at least this share of its runs have, from 0 to 1"),
];

/// What is written.
struct Choice {
    format: Format,
    view: View,
    theme: Theme,
    drill_down: bool,
    /// Boxes are runs.
    lanes: bool,
    /// What the graph is of.
    of: Of,
    /// The graph, where the view is one.
    graph: Option<Graph>,
    /// The pattern, where the view is one.
    pattern: Option<Pattern>,
    /// Runs that were chosen, by their place; none for all.
    runs: Vec<usize>,
    /// The processes, where they are written as they are.
    processes: Option<ProcessDoc>,
}

pub(crate) fn export(seen: &Seen, call: &Call) -> Result<Reply, ApiError> {
    let choice = choose(seen, &call.asked)?;
    let ending = choice.format.endings().first().copied().unwrap_or("");
    let name = format!("{}{ending}", seen.snapshot.flow.session.id.show('x'));
    let own = seen.clone();
    let media = media(choice.format);
    Ok(Reply::written(media, move |out| write(&own, &choice, out)).named(name))
}

fn media(format: Format) -> &'static str {
    match format {
        Format::Svg => "image/svg+xml",
        Format::D2 | Format::Dot | Format::Mermaid => "text/plain; charset=utf-8",
        Format::GraphMl => "application/xml",
        Format::Csv | Format::CsvEdges => "text/csv; charset=utf-8",
        Format::Otlp => "application/x-protobuf",
        Format::Markdown => "text/markdown; charset=utf-8",
        _ => "application/json",
    }
}

fn choose(seen: &Seen, asked: &Asked) -> Result<Choice, ApiError> {
    let format = asked.one_of("format", Format::ALL, Format::name)?.unwrap_or(Format::Json);
    let view = asked.one_of("view", format.views(), View::name)?;
    let view = view.or(format.views().first().copied()).unwrap_or(View::Flow);
    let drawn = match view {
        View::Graph => Drawn::Dag,
        View::Workflow => Drawn::Workflow,
        View::Process => Drawn::Process,
        View::Flow | View::Timeline if format == Format::ThoughtFlow => Drawn::Runs,
        View::Flow | View::Timeline => Drawn::Nothing,
    };
    graph::check_chosen(asked, drawn)?;
    for (name, of) in [("theme", Format::Svg), ("drill_down", Format::D2)] {
        if asked.text(name).is_some() && format != of {
            let message = format!("`{name}` is for {}, not for {}", of.name(), format.name());
            return Err(ApiError::bad_request("bad_parameter", message).with_hint("leave it out"));
        }
    }
    let usual = if format == Format::D2 { GroupBy::Run } else { GroupBy::default() };
    let mut looked = graph::view(seen, asked, usual)?;
    if format == Format::Causality {
        if asked.text("level").is_some() && looked.level != Level::ModelCall {
            let error = ApiError::bad_request("bad_parameter", "the nodes of causality-json are model calls");
            return Err(error.with_hint("leave `level` out, or ask for graph-json"));
        }
        looked.level = Level::ModelCall;
    }
    let grouping = if format == Format::Pattern { Grouping::Parent } else { Grouping::Path };
    let (flow, batch) = (&seen.snapshot.flow, &seen.snapshot.corpus.batch);
    let pattern =
        (view == View::Workflow).then(|| graph::pattern_of(seen, asked, &looked, grouping)).transpose()?;
    let graph = match (view, &pattern) {
        (View::Graph, _) => Some(graph::chosen(seen, asked, &looked)?),
        (View::Process, _) => Some(graph::process(seen, asked)?),
        (_, pattern) => pattern.as_ref().map(|pattern| pattern.graph(flow, batch)),
    };
    Ok(Choice {
        format,
        view,
        theme: word(asked, "theme", &THEMES)?.unwrap_or_default(),
        drill_down: asked.flag("drill_down")?,
        lanes: view == View::Graph && looked.group_by == GroupBy::Run,
        of: match view {
            View::Workflow => Of::Workflow,
            View::Process => Of::Process,
            _ => Of::Flow(looked.level),
        },
        graph,
        pattern,
        runs: asked.all("run").map(|run| parts::run(seen, run)).collect::<Result<_, _>>()?,
        processes: (view == View::Process)
            .then(|| graph::processes(seen, asked).map(|gathered| gathered.processes.doc()))
            .transpose()?,
    })
}

/// What became of the records that tell of a session.
fn own_counts(corpus: &Corpus, flow: &Flow) -> CountsDoc {
    let session = (0..corpus.len()).find(|n| corpus.session_id(*n) == flow.session.id);
    let records = session.map(|n| corpus.records_of(n)).unwrap_or_default();
    let mut counts = CountsDoc { records: records.len() as u64, stored: 0, duplicate: 0, rejected: 0 };
    for record in records.iter().filter_map(|n| corpus.batch.records.get(*n as usize)) {
        match record.outcome {
            Outcome::Stored => counts.stored += 1,
            Outcome::Duplicate => counts.duplicate += 1,
            Outcome::Rejected => counts.rejected += 1,
        }
    }
    counts
}

fn write(seen: &Seen, choice: &Choice, out: &mut dyn Write) -> io::Result<()> {
    let mut out = out;
    let (flow, corpus) = (&seen.snapshot.flow, &seen.snapshot.corpus);
    let (batch, prices) = (&corpus.batch, &seen.prices);
    let session = flow.session.id.show('x');
    let empty = Graph::default();
    let graph = choice.graph.as_ref().unwrap_or(&empty);
    match (choice.format, choice.view) {
        (Format::Json, View::Flow) => {
            let sessions = vec![session_doc(flow, batch, prices)];
            write_document(&mut out, &FlowDoc::new(own_counts(corpus, flow), sessions, Vec::new()))?;
        }
        (Format::Json, View::Timeline) | (Format::TreeJson, _) => {
            write_document(&mut out, &TreesDoc::new(vec![tree_doc(flow, batch)]))?;
        }
        (Format::Json, View::Process) => {
            if let Some(processes) = &choice.processes {
                write_document(&mut out, processes)?;
            }
        }
        (Format::Json | Format::GraphJson, _) => {
            let none = Flow::default();
            let flow = if choice.view == View::Process { &none } else { flow };
            write_document(&mut out, &GraphsDoc::new(vec![graph_doc(flow, batch, graph, choice.of)]))?;
        }
        (Format::Csv, _) => {
            csv::node_head(&mut out)?;
            csv::nodes(&mut out, &session, flow, batch, graph)?;
        }
        (Format::CsvEdges, _) => {
            csv::edge_head(&mut out)?;
            csv::edges(&mut out, &session, graph)?;
        }
        (Format::D2, _) => {
            let boards = d2::Boards { drill_down: choice.drill_down, chained: choice.lanes };
            d2::write(&mut out, graph, boards)?;
        }
        (Format::Dot, _) => dot::write(&mut out, graph)?,
        (Format::Mermaid, _) => mermaid::write(&mut out, graph)?,
        (Format::GraphMl, _) => graphml::write(&mut out, graph)?,
        (Format::Svg, View::Timeline) => {
            let (picture, _) = TimelinePicture::of(flow, batch, false);
            out.write_all(timeline_svg(&picture, choice.theme, &TimelineOptions::default()).as_bytes())?;
        }
        (Format::Svg, _) => {
            let options = SvgOptions { theme: choice.theme, ..SvgOptions::default() };
            out.write_all(svg(&Picture::of(graph), &options, None).as_bytes())?;
        }
        (Format::Chrome, _) => {
            let mut traces = chrome::Traces::default();
            traces.add(flow, batch);
            write_document(&mut out, &traces.finish())?;
        }
        (Format::Speedscope, _) => {
            let mut profiles = speedscope::Sessions::default();
            profiles.add(flow, batch);
            write_document(&mut out, &profiles.finish())?;
        }
        (Format::Otlp, _) => out.write_all(&otlp::encode(&otlp::spans(flow, batch)))?,
        (Format::OtlpJson, _) => {
            let spans = vec![otlp::traces_doc(&otlp::spans(flow, batch))];
            write_document(&mut out, &otlp::TracesDoc::new(spans))?;
        }
        (Format::ThoughtFlow, _) if choice.runs.is_empty() => {
            write_document(&mut out, &thoughtflow::thoughtflow(flow, batch, &mut seen.snapshot.natives()))?;
        }
        (Format::ThoughtFlow, _) => {
            let natives = &mut seen.snapshot.natives();
            write_document(&mut out, &thoughtflow::thoughtflow_of_runs(flow, batch, natives, &choice.runs))?;
        }
        (Format::Causality, _) => {
            let mut document = causality::CausalityDoc::default();
            document.add(flow, batch, graph);
            write_document(&mut out, &document)?;
        }
        (Format::Pattern, _) => {
            let found =
                choice.pattern.iter().map(|found| pattern::workflow_doc(session.clone(), &found.workflow));
            write_document(&mut out, &pattern::WorkflowsDoc::new(found.collect::<Vec<_>>()))?;
        }
        (Format::SubTasks, _) => {
            let found = subtasks::conversations(flow, batch, prices);
            write_document(&mut out, &subtasks::ConversationsDoc::new(found))?;
        }
        (Format::Markdown, _) => markdown::write(&mut out, flow, batch, prices)?,
    }
    Ok(())
}
