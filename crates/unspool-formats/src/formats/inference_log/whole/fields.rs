//! Fields of an exchange as values of its own: texts, bodies, numbers, paths, headers.

use crate::json::{Json, Kind, Malformed};

/// A string.
pub(super) fn text(json: &mut Json<'_>) -> Result<Option<String>, Malformed> {
    Ok(json.string()?.map(|text| text.decode().into_owned()))
}

/// A body: JSON as it stands, or what a string holds.
pub(super) fn bytes(json: &mut Json<'_>) -> Result<Option<Vec<u8>>, Malformed> {
    Ok(match json.kind()? {
        Kind::Null => {
            json.skip()?;
            None
        }
        Kind::String => text(json)?.map(String::into_bytes),
        _ => Some(json.raw()?.to_vec()),
    })
}

pub(super) fn status(json: &mut Json<'_>) -> Result<Option<u16>, Malformed> {
    Ok(json.integer()?.and_then(|status| u16::try_from(status).ok()))
}

pub(super) fn number(raw: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(raw).ok()?.trim_matches('"');
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Path and query of an address.
pub(super) fn path_of(address: &str) -> String {
    let rest = match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => address,
    };
    if rest.starts_with('/') { rest.into() } else { format!("/{rest}") }
}

/// Headers as an object, pairs, or objects of name and value.
pub(super) fn headers(json: &mut Json<'_>) -> Result<Vec<(String, String)>, Malformed> {
    let mut all = Vec::new();
    match json.kind()? {
        Kind::Object => json.object(|json, key| {
            let name = String::from_utf8_lossy(key).into_owned();
            values(json, |value| all.push((name.clone(), value)))
        })?,
        Kind::Array => json.array(|json| {
            let (mut name, mut value) = (None, None);
            match json.kind()? {
                Kind::Object => json.object(|json, key| {
                    match key {
                        b"name" => name = text(json)?,
                        b"value" => value = text(json)?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                Kind::Array => {
                    let mut slots = [&mut name, &mut value].into_iter();
                    values(json, |text| {
                        if let Some(slot) = slots.next() {
                            *slot = Some(text);
                        }
                    })?;
                }
                _ => json.skip()?,
            }
            all.extend(name.zip(value));
            Ok(())
        })?,
        _ => json.skip()?,
    }
    Ok(all)
}

/// The string here, or each of a list.
fn values(json: &mut Json<'_>, mut take: impl FnMut(String)) -> Result<(), Malformed> {
    if json.kind()? == Kind::Array {
        return json.array(|json| {
            text(json)?.into_iter().for_each(&mut take);
            Ok(())
        });
    }
    text(json)?.into_iter().for_each(take);
    Ok(())
}
