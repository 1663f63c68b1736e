//! What stands behind the `?` of an address, read by the list of what an endpoint knows.

use crate::error::ApiError;
use std::str::FromStr;
use unspool_model::Timestamp;

/// Something that can be asked for behind the `?`.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// What it is called.
    pub name: &'static str,
    /// In one line.
    pub about: &'static str,
    /// What its value must be.
    pub sort: Sort,
}

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// As it is.
    Text,
    /// May be repeated.
    Texts,
    /// A whole number.
    Whole,
    /// From 0 to 1.
    Share,
    /// A number that may have a part behind the point.
    Amount,
    /// `true` or `false`.
    Flag,
    /// RFC 3339.
    Moment,
}

impl Param {
    /// By its name.
    pub const fn new(name: &'static str, sort: Sort, about: &'static str) -> Param {
        Param { name, about, sort }
    }
}

/// What was asked for.
#[derive(Debug, Default)]
pub struct Asked {
    pairs: Vec<(String, String)>,
}

impl Asked {
    /// Refuses what is not known, and what is said twice where once is meant.
    pub fn read(query: &str, known: &[Param]) -> Result<Asked, ApiError> {
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
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
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter().filter(|(known, value)| known == name && !value.is_empty());
        pairs.next().map(|(_, value)| value.as_str())
    }

    /// All of them, without empty ones.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(known, value)| known == name && !value.is_empty());
        pairs.map(|(_, value)| value.as_str())
    }

    /// All of them as owned text.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).map(String::from).collect()
    }

    /// A whole number.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, ApiError> {
        let read = |text: &str| text.parse().map_err(|_| bad(name, text, "write a whole number"));
        self.text(name).map(read).transpose()
    }

    /// Whether it is so; a name alone says yes.
    pub fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1" | "") => Ok(true),
            Some(other) => Err(bad(name, other, "true or false")),
        }
    }

    /// A moment.
    pub fn moment(&self, name: &str) -> Result<Option<Timestamp>, ApiError> {
        let read = |text: &str| {
            Timestamp::parse(text).ok_or_else(|| bad(name, text, "write a moment like 2026-01-31T12:00:00Z"))
        };
        self.text(name).map(read).transpose()
    }

    /// One of some things, by name.
    pub fn one_of<T: Copy>(
        &self,
        name: &str,
        all: &[T],
        shown: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, ApiError> {
        self.text(name).map(|text| named(name, text, all, &shown)).transpose()
    }

    /// Some of some things, by name.
    pub fn some_of<T: Copy>(
        &self,
        name: &str,
        all: &[T],
        shown: impl Fn(T) -> &'static str,
    ) -> Result<Vec<T>, ApiError> {
        self.all(name).map(|text| named(name, text, all, &shown)).collect()
    }
}

/// One of some words, and what it stands for.
pub fn word<T: Copy>(asked: &Asked, name: &str, all: &[(T, &'static str)]) -> Result<Option<T>, ApiError> {
    Ok(asked.one_of(name, all, |(_, word)| word)?.map(|(value, _)| value))
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
pub fn bad(name: &str, value: &str, hint: &str) -> ApiError {
    ApiError::bad_request("bad_parameter", format!("`{name}` cannot be `{value}`")).with_hint(hint)
}
