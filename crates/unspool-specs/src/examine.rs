//! From an example to its drawings: inputs to bytes, bytes to records, records to flows, flows to text.
//!
//! In: an example. Out: its drawings, the same whichever way the files were read. Never here: the file system.

use crate::draw::{Show, draw, draw_view};
use crate::spec::{Example, Spec, Stated};
use crate::transcript::{Known, time};
use crate::{bytes, hooks, traffic, transcript};
use std::collections::HashSet;
use unspool_formats::{Decoder, Detail, SNIFF_BYTES, claim};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Edge, EdgeKind, Flow, Timestamp};

/// The drawings of all examples of a specification, in the order they are stated.
pub fn drawings(spec: &Spec) -> Result<Vec<String>, String> {
    Ok(spec.examples.iter().map(examine).collect::<Result<Vec<_>, _>>()?.concat())
}

/// The drawings of one example. Order of files and size of chunks must not change them; if they do, that is an error. So is order that
/// speaks against a cause.
pub fn examine(example: &Example) -> Result<Vec<String>, String> {
    let options = Options::read(&example.options)?;
    let mut files = files(example)?;
    let corpus = link(&files, usize::MAX, &options);
    let drawings = stated_drawings(example, &corpus, &options)?;
    for flow in corpus.flows() {
        if let Some((first, next)) = order_against_a_cause(&flow) {
            let drawing = draw(&corpus, options.show);
            return Err(format!("step {next} caused step {first} and is said to follow it:\n{drawing}"));
        }
    }
    files.reverse();
    for chunk in [1, 7] {
        let again = stated_drawings(example, &link(&files, chunk, &options), &options)?;
        if let Some((drawing, again)) = drawings.iter().zip(&again).find(|(drawing, again)| drawing != again)
        {
            let differs = crate::diff(drawing, again);
            return Err(format!(
                "files in reverse order and chunks of {chunk} bytes give another drawing:\n{differs}"
            ));
        }
    }
    Ok(drawings)
}

/// The drawing of recorded traffic as our own proxy keeps it: all exchanges in one file, or `apart`, each request and each whole exchange in a file
/// of its own. `None` when the example holds anything else.
pub fn draw_own(example: &Example, apart: bool) -> Result<Option<String>, String> {
    let options = Options::read(&example.options)?;
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (n, input) in example.inputs.iter().enumerate() {
        if input.notation != "log" {
            return Ok(None);
        }
        let exchanges = traffic::own(&format!("{n}"), &input.text)?;
        if !apart {
            let lines = exchanges.iter().map(|exchange| exchange.to_string() + "\n");
            files.push((input.path.clone(), lines.collect::<String>().into_bytes()));
            continue;
        }
        for (line, mut exchange) in exchanges.into_iter().enumerate() {
            files.push((format!("{n}/{line}/over"), exchange.to_string().into_bytes()));
            if let Some(fields) = exchange.as_object_mut() {
                fields.remove("response");
                fields.remove("error");
            }
            files.push((format!("{n}/{line}/sent"), exchange.to_string().into_bytes()));
        }
    }
    let drawn = draw(&link(&files, usize::MAX, &options), options.show);
    // How many records there are is another matter.
    Ok(drawn.rsplit_once("records ").map(|(drawn, _)| drawn.to_string()))
}

fn stated_drawings(example: &Example, corpus: &Corpus, options: &Options) -> Result<Vec<String>, String> {
    let one = |stated: &Stated| match stated.view.as_str() {
        "flow" => Ok(draw(corpus, options.show)),
        view => draw_view(corpus, view),
    };
    example.stated.iter().map(one).collect()
}

/// What the options block sets.
struct Options {
    table: Table,
    as_of: Timestamp,
    show: Show,
}

impl Options {
    fn read(text: &str) -> Result<Options, String> {
        let mut options = Options { table: Table::default(), as_of: Timestamp::NONE, show: Show::default() };
        let mut toml = String::new();
        for line in text.lines() {
            if let Some(at) = line.strip_prefix("as_of:") {
                let at = time(at.trim()).and_then(|at| Timestamp::parse(&at));
                options.as_of = at.ok_or_else(|| format!("no time: {line}"))?;
            } else if let Some(what) = line.strip_prefix("show:") {
                options.show = Show::read(what)?;
            } else {
                toml.push_str(line);
                toml.push('\n');
            }
        }
        options.table = options.table.with(&toml).map_err(|error| error.to_string())?;
        Ok(options)
    }
}

/// The files of an example by path; blocks of one path follow each other in one file.
fn files(example: &Example) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut known = Known::new();
    for input in &example.inputs {
        let content = match input.notation.as_str() {
            "cc" => transcript::expand(&input.path, &input.text, &mut known)?,
            "hooks" => hooks::expand(&input.path, &input.text)?,
            "log" => traffic::expand(&input.path, &input.text)?,
            "bytes" => bytes::bytes(&input.text)?,
            _ => input.text.clone().into_bytes(),
        };
        match files.iter_mut().find(|(path, _)| *path == input.path) {
            Some((_, bytes)) => bytes.extend(content),
            None => files.push((input.path.clone(), content)),
        }
    }
    Ok(files)
}

/// Two steps of which an edge of order says that one came first, and an exact edge that the other caused it.
fn order_against_a_cause(flow: &Flow) -> Option<(u32, u32)> {
    let is_order = |edge: &&Edge| edge.kind == EdgeKind::Sequence;
    let order: HashSet<(u32, u32)> =
        flow.edges.iter().filter(is_order).map(|edge| (edge.from, edge.to)).collect();
    let causes = flow.edges.iter().filter(|edge| !is_order(edge) && !edge.rule.inferred());
    causes.map(|edge| (edge.to, edge.from)).find(|pair| order.contains(pair))
}

fn link(files: &[(String, Vec<u8>)], chunk: usize, options: &Options) -> Corpus {
    let mut batch = Batch::default();
    for (name, bytes) in files {
        let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
        let Some((format, sniff)) = claim(&mut batch, name, head) else { continue };
        let mut decoder = Decoder::new(&mut batch, format, sniff, name, Detail::Full);
        for piece in bytes.chunks(chunk.min(bytes.len().max(1))) {
            decoder.push(piece);
        }
        decoder.finish();
    }
    Corpus::new(batch, options.table.clone(), options.as_of)
}
