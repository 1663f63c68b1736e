//! What stands behind the `?` of an address, read by the list of what an endpoint knows.

use crate::error::ApiError;
use axum::extract::Query;
use axum::http::Uri;
use std::str::FromStr;
use unspool_model::Timestamp;

/// Something that can be asked for behind the `?`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) sort: Sort,
}

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Text,
    /// May be repeated.
    Texts,
    Whole,
    Share,
    /// A number that may have a part behind the point.
    Amount,
    Flag,
    Moment,
}

impl Param {
    pub(crate) const fn new(name: &'static str, sort: Sort, about: &'static str) -> Param {
        Param { name, about, sort }
    }
}

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pairs: Vec<(String, String)>,
}

impl Asked {
    /// Refuses what is not known, and what is said twice where once is meant.
    pub(crate) fn read(uri: &Uri, known: &[Param]) -> Result<Asked, ApiError> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| ApiError::bad_request("bad_parameter", error.to_string()))?
            .0;
        for (n, (name, _)) in pairs.iter().enumerate() {
            let Some(param) = known.iter().find(|param| param.name == name) else {
                let names: Vec<&str> = known.iter().map(|param| param.name).collect();
                let hint = if names.is_empty() {
                    "this path has no parameters".into()
                } else {
                    format!("known here: {}", names.join(", "))
                };
                let message = format!("`{name}` is no parameter of this path");
                return Err(ApiError::bad_request("unknown_parameter", message).with_hint(hint));
            };
            if param.sort != Sort::Texts && pairs[..n].iter().any(|(before, _)| before == name) {
                let message = format!("`{name}` is given twice");
                return Err(ApiError::bad_request("bad_parameter", message).with_hint("give it once"));
            }
        }
        Ok(Asked { pairs })
    }

    /// A text, as it is; an empty one is none.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter().filter(|(known, value)| known == name && !value.is_empty());
        pairs.next().map(|(_, value)| value.as_str())
    }

    /// All of them, without empty ones.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(known, value)| known == name && !value.is_empty());
        pairs.map(|(_, value)| value.as_str())
    }

    /// All of them as owned text.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).map(String::from).collect()
    }

    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, ApiError> {
        let read = |text: &str| text.parse().map_err(|_| bad(name, text, "write a whole number"));
        self.text(name).map(read).transpose()
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1" | "") => Ok(true),
            Some(other) => Err(bad(name, other, "true or false")),
        }
    }

    pub(crate) fn moment(&self, name: &str) -> Result<Option<Timestamp>, ApiError> {
        let read = |text: &str| {
            Timestamp::parse(text).ok_or_else(|| bad(name, text, "write a moment like 2026-01-31T12:00:00Z"))
        };
        self.text(name).map(read).transpose()
    }

    /// One of some things, by name.
    pub(crate) fn one_of<T: Copy>(
        &self,
        name: &str,
        all: &[T],
        shown: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, ApiError> {
        self.text(name).map(|text| named(name, text, all, &shown)).transpose()
    }

    /// Some of some things, by name.
    pub(crate) fn some_of<T: Copy>(
        &self,
        name: &str,
        all: &[T],
        shown: impl Fn(T) -> &'static str,
    ) -> Result<Vec<T>, ApiError> {
        self.all(name).map(|text| named(name, text, all, &shown)).collect()
    }
}

fn named<T: Copy>(
    name: &str,
    text: &str,
    all: &[T],
    shown: &impl Fn(T) -> &'static str,
) -> Result<T, ApiError> {
    let found = all.iter().copied().find(|one| shown(*one) == text);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| shown(*one)).collect();
        bad(name, text, &format!("one of {}", names.join(", ")))
    })
}

/// A value that cannot be.
pub(crate) fn bad(name: &str, value: &str, hint: &str) -> ApiError {
    ApiError::bad_request("bad_parameter", format!("`{name}` cannot be `{value}`")).with_hint(hint)
}
