//! Names that are no names: some frameworks call an agent by its id.
//!
//! In: a name. Out: what people can read of it. Never here: ids that are keys; those are kept whole.

use std::borrow::Cow;

/// How much of an id is shown.
const SHOWN_DIGITS: usize = 8;

/// A name without the ids in it; `None` when it is nothing else.
pub(crate) fn readable(name: Cow<'_, str>) -> Option<Cow<'_, str>> {
    if find_id(&name).is_none() {
        return Some(name);
    }
    let mut left = String::new();
    let mut rest = name.as_ref();
    while let Some((start, end)) = find_id(rest) {
        left.push_str(rest[..start].trim_end_matches(['_', '-', '.', ':', '/', '(', ' ']));
        rest = rest[end..].trim_start_matches([')']);
    }
    left.push_str(rest);
    let left = left.trim_matches(['_', '-', '.', ':', '/', ' ']);
    left.contains(char::is_alphabetic).then(|| left.to_string().into())
}

/// A name with its ids shortened.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    let Some((start, end)) = find_id(name) else { return name.into() };
    format!("{}{}…{}", &name[..start], &name[start..start + SHOWN_DIGITS], shortened(&name[end..])).into()
}

/// Where the first id lies: a UUID, or as many digits without dashes.
fn find_id(name: &str) -> Option<(usize, usize)> {
    const LENGTHS: [usize; 2] = [36, 32];
    let bytes = name.as_bytes();
    if bytes.len() < LENGTHS[1] {
        return None;
    }
    (0..=bytes.len() - LENGTHS[1]).find_map(|start| {
        let is_word = start > 0 && bytes[start - 1].is_ascii_alphanumeric();
        let len = LENGTHS.into_iter().find(|len| bytes.get(start..start + len).is_some_and(is_id))?;
        let goes_on = bytes.get(start + len).is_some_and(u8::is_ascii_alphanumeric);
        (!is_word && !goes_on).then_some((start, start + len))
    })
}

fn is_id(bytes: &[u8]) -> bool {
    let is_dash = |at: usize| bytes.len() == 36 && matches!(at, 8 | 13 | 18 | 23);
    bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| if is_dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests {
    use super::{Cow, readable, shortened};

    const ID: &str = "11111111-2222-4333-8444-55555555555f";

    #[test]
    fn what_is_left_of_a_name() {
        let left = |name: &str| readable(name.to_string().into()).map(Cow::into_owned);
        assert_eq!(left("weather"), Some("weather".into()));
        assert_eq!(left(ID), None);
        assert_eq!(left("0123456789abcdef0123456789abcdef"), None);
        assert_eq!(left(&format!("assistant_{ID}/{ID}")), Some("assistant".into()));
        assert_eq!(left(&format!("Weather Bot({ID})")), Some("Weather Bot".into()));
        assert_eq!(
            left("ä-deadbeef, which is short enough to stay"),
            Some("ä-deadbeef, which is short enough to stay".into())
        );
    }

    #[test]
    fn ids_are_shown_by_their_first_digits() {
        assert_eq!(shortened(&format!("invoke_agent {ID}")), "invoke_agent 11111111…");
        assert_eq!(shortened(&format!("{ID}/{ID} ü")), "11111111…/11111111… ü");
        assert_eq!(shortened("plain"), "plain");
    }
}
