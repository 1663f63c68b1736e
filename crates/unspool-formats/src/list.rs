//! A list of records in one JSON array, as people keep lines that a program wrote one by one.

use crate::format::Rejected;
use crate::json::{Json, Malformed};
use crate::sink::Sink;
use unspool_model::Code;

/// Whether a text is a list of objects. It may be cut at its end.
pub(crate) fn is_list(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start().strip_prefix(b"[").unwrap_or_default();
    rest.trim_ascii_start().first() == Some(&b'{')
}

/// The first elements of a list; the last of them may be cut.
pub(crate) fn elements(list: &[u8], most: usize) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let _ = Json::new(list).array(|json| {
        if found.len() == most {
            return Err(Malformed { at: 0, ended: false });
        }
        let _ = json.kind()?;
        let rest = json.rest();
        found.push(json.raw().unwrap_or(rest));
        Ok(())
    });
    found
}

/// Reads every element of a list as a record of its own. One that cannot be read does not cost the others. `read` takes an
/// element for what it is, so that lists in lists are not walked into.
pub(crate) fn read_each(
    list: &[u8],
    out: &mut Sink<'_>,
    mut read: impl FnMut(&[u8], &mut Sink<'_>) -> Result<(), Rejected>,
) -> Result<(), Rejected> {
    let mut json = Json::new(list);
    json.array(|json| {
        let element = json.raw()?;
        out.part(element);
        if let Err(rejected) = read(element, out) {
            out.reject_part(rejected.code);
        }
        Ok(())
    })
    .and_then(|()| json.end())
    .map_err(|error| Rejected { code: Code::NotJson, ended: error.ended })
}
