//! Where chunks are cut changes nothing, down to the JSON (I4).
#![no_main]

use libfuzzer_sys::fuzz_target;
use unspool_formats::{Decoder, Detail, best};
use unspool_link::{Corpus, Table};
use unspool_model::{Batch, Timestamp};
use unspool_view::Prices;
use unspool_view::flow_json::session_doc;

fn export(bytes: &[u8], chunk: usize) -> Option<Vec<String>> {
    let (format, sniff) = best("s1.jsonl", bytes)?;
    let mut batch = Batch::default();
    let mut decoder = Decoder::new(&mut batch, format, sniff, "s1.jsonl", Detail::Full);
    for piece in bytes.chunks(chunk) {
        decoder.push(piece);
    }
    decoder.finish();
    let corpus = Corpus::new(batch, Table::default(), Timestamp::NONE);
    let prices = Prices::default();
    let docs = corpus.flows().map(|flow| session_doc(&flow, &corpus.batch, &prices));
    Some(docs.map(|doc| serde_json::to_string(&doc).unwrap()).collect())
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        let chunk = usize::from(*first).max(1);
        assert_eq!(export(rest, chunk), export(rest, usize::MAX));
    }
});
