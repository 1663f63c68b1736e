//! The formats there are, what each can show, and how files of it end.

/// What an export shows of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Everything that is known.
    Flow,
    /// Steps, model calls, agents or runs and what led to what.
    Graph,
    /// The pattern: steps of one name are one node.
    Workflow,
    /// What happened when.
    Timeline,
    /// The process behind the runs of all sessions.
    Process,
}

impl View {
    /// All views.
    pub const ALL: [View; 5] = [View::Flow, View::Graph, View::Workflow, View::Timeline, View::Process];

    /// The word used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            View::Flow => "flow",
            View::Graph => "graph",
            View::Workflow => "workflow",
            View::Timeline => "timeline",
            View::Process => "process",
        }
    }

    /// One line about it.
    pub fn about(self) -> &'static str {
        match self {
            View::Flow => "everything that is known",
            View::Graph => "what led to what, at a level",
            View::Workflow => "the pattern: steps of one name are one node",
            View::Timeline => "what happened when",
            View::Process => "the process behind the runs of all sessions",
        }
    }
}

macro_rules! formats {
    ($($variant:ident $name:literal $about:literal [$($ending:literal)*] [$($view:ident)*];)*) => {
        /// A format to write.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Format { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Format] = &[$(Format::$variant,)*];

            /// The word used on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Format::$variant => $name,)* }
            }

            /// One line about it.
            pub fn about(self) -> &'static str {
                match self { $(Format::$variant => $about,)* }
            }

            /// How files of it end.
            pub fn endings(self) -> &'static [&'static str] {
                match self { $(Format::$variant => &[$($ending,)*],)* }
            }

            /// What it can show; the first is shown unless something else is asked for.
            pub fn views(self) -> &'static [View] {
                match self { $(Format::$variant => &[$(View::$view,)*],)* }
            }
        }
    };
}

formats! {
    Json "json" "the complete flow, schema unspool.flow/1" [".json"] [Flow Graph Workflow Timeline Process];
    TreeJson "tree-json" "the timeline tree with its indexes, schema unspool.tree/1" [".tree.json"] [Timeline];
    GraphJson "graph-json" "a graph, schema unspool.graph/1" [".graph.json"] [Graph Workflow Process];
    Svg "svg" "a picture of one session" [".svg"] [Graph Workflow Timeline Process];
    D2 "d2" "a D2 diagram" [".d2"] [Graph Workflow Process];
    Dot "dot" "a Graphviz graph" [".dot" ".gv"] [Graph Workflow Process];
    Mermaid "mermaid" "a Mermaid flowchart" [".mmd" ".mermaid"] [Graph Workflow Process];
    GraphMl "graphml" "a GraphML graph with typed keys" [".graphml"] [Graph Workflow Process];
    Csv "csv" "a table of the steps, or whatever the nodes are" [".csv"] [Graph Workflow Process];
    CsvEdges "csv-edges" "a table of the edges" [".edges.csv"] [Graph Workflow Process];
    Chrome "chrome-trace" "a trace for Perfetto and chrome://tracing" [".trace.json"] [Timeline];
    Speedscope "speedscope" "a profile for speedscope" [".speedscope.json"] [Timeline];
    Otlp "otlp" "OpenTelemetry spans, protobuf" [".otlp" ".pb" ".binpb"] [Flow];
    OtlpJson "otlp-json" "OpenTelemetry spans, JSON" [".otlp.json"] [Flow];
    ThoughtFlow "thoughtflow" "one session as consolidated ThoughtFlow JSON" [".thoughtflow.json"] [Flow];
    Causality "causality-json" "workflow_graph: model calls, tool results, spawns" [".causality.json"] [Graph];
    Pattern "workflow-json" "WorkflowNode and WorkflowEdge with span ids" [".workflow.json"] [Workflow];
    SubTasks "subtasks-json" "conversations, their messages and sub-tasks" [".subtasks.json"] [Flow];
    Markdown "markdown" "a report" [".md"] [Flow];
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The format files of this name are in: the one with the longest ending that fits.
    pub fn of_file(name: &str) -> Option<Format> {
        let name = name.to_lowercase();
        let fits = |format: &Format| {
            let fitting = format.endings().iter().filter(|ending| name.ends_with(**ending));
            fitting.map(|ending| ending.len()).max()
        };
        Format::ALL.iter().copied().filter(|format| fits(format).is_some()).max_by_key(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn the_longest_ending_tells() {
        assert_eq!(Format::of_file("a/b.json"), Some(Format::Json));
        assert_eq!(Format::of_file("a/b.Tree.JSON"), Some(Format::TreeJson));
        assert_eq!(Format::of_file("b.txt"), None);
    }

    #[test]
    fn no_two_formats_share_a_name_or_an_ending() {
        let mut words: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        words.extend(Format::ALL.iter().flat_map(|format| format.endings()));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
