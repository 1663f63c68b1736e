//! Any text is a query or is refused at a place in it; a query as text is the same query.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unspool_view::query::Query;

fuzz_target!(|text: &str| {
    match Query::parse(text) {
        Ok(query) => assert_eq!(Query::parse(&query.to_string()), Ok(query)),
        Err(error) => assert!(text.get(error.at).is_some()),
    }
});
