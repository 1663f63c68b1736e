//! `unspool export`: the flow or the timeline tree as JSON, or native bytes.

use crate::args::{Args, ExportArgs, ExportFormat};
use crate::error::CliError;
use crate::load::{Loaded, load};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use unspool_formats::Detail;
use unspool_model::Id;
use unspool_view::document::{Each, write_document};
use unspool_view::flow_json::{FlowDoc, issue_doc, session_doc};
use unspool_view::tree_json::{TreesDoc, tree_doc};

pub(crate) fn run(args: &Args, export: &ExportArgs) -> Result<(), CliError> {
    // A path behind `--native ID…` is a path: ids have a shape of their own.
    let is_id = |text: &&String| Id::parse(text, 'r').is_some();
    let natives: Vec<&String> = export.native.iter().filter(is_id).collect();
    let more = export.native.iter().filter(|text| !is_id(text));
    let paths: Vec<PathBuf> = export.paths.iter().cloned().chain(more.map(PathBuf::from)).collect();
    let loaded = load(args, &paths, &[], Detail::Full)?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    if export.native.is_empty() {
        match export.format {
            ExportFormat::Json => flow(&loaded, &mut out)?,
            ExportFormat::TreeJson => tree(&loaded, &mut out)?,
        }
    } else {
        if let Some(bad) =
            export.native.iter().find(|text| !is_id(text) && *text != "-" && !Path::new(text).exists())
        {
            return Err(CliError::NoSuchRecord(bad.clone()));
        }
        native(&loaded, &natives, &mut out)?;
    }
    out.flush()?;
    Ok(())
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
