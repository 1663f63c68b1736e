//! What tokens cost: a table kept as data, with dates. A model without a price is unpriced, never guessed.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use unspool_model::{Timestamp, Usage};

/// Money in trillionths of a dollar, so that sums are exact and do not depend on their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Money(u64);

impl Money {
    /// In dollars.
    #[expect(clippy::cast_precision_loss, reason = "shown, never summed")]
    pub fn dollars(self) -> f64 {
        // Rounded to a billionth, so that the shortest decimal is shown.
        (self.0 as f64 / 1e3).round() / 1e9
    }

    /// The sum; stops at the largest value rather than wrapping.
    #[must_use]
    pub fn plus(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }

    /// One of so many equal parts.
    #[must_use]
    pub fn share(self, parts: u32) -> Money {
        Money(self.0 / u64::from(parts.max(1)))
    }

    /// From trillionths of a dollar.
    pub fn from_picodollars(picodollars: u64) -> Money {
        Money(picodollars)
    }

    /// Trillionths of a dollar.
    pub fn picodollars(self) -> u64 {
        self.0
    }
}

/// The price table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prices {
    list: Vec<Price>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Price {
    /// From a user's file, which overrides what is built in.
    of_user: bool,
    models: Vec<String>,
    #[serde(with = "as_number")]
    from: Timestamp,
    /// Trillionths of a dollar per token.
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_long: u64,
}

/// A moment as a number, for tables that are kept as they are.
mod as_number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use unspool_model::Timestamp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(super) fn serialize<S: Serializer>(moment: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        moment.ns().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let ns: Option<i64> = Option::deserialize(from)?;
        Ok(ns.map_or(Timestamp::NONE, Timestamp::from_ns))
    }
}

/// The `[[price]]` entries of a file that may hold other settings too.
#[derive(Deserialize)]
struct RawTable {
    #[serde(default)]
    price: Vec<RawPrice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    models: Vec<String>,
    from: String,
    input: String,
    output: String,
    cache_read: String,
    cache_write: String,
    cache_write_long: Option<String>,
}

const BUILT_IN: &str = include_str!("prices.toml");

impl Default for Prices {
    fn default() -> Self {
        // A test reads the built-in table, so the fallback is never met.
        Prices { list: Vec::new() }.with(BUILT_IN).unwrap_or(Prices { list: Vec::new() })
    }
}

impl Prices {
    /// This table with the entries of a TOML text before its own.
    pub fn with(mut self, text: &str) -> Result<Prices, String> {
        let raw: RawTable = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut list = raw.price.iter().map(Price::read).collect::<Result<Vec<_>, _>>()?;
        // Entries over an empty table are the built-in ones.
        let of_user = !self.list.is_empty();
        for price in &mut list {
            price.of_user = of_user;
        }
        list.append(&mut self.list);
        Ok(Prices { list })
    }

    /// The prices of one model, to be asked for many calls.
    pub fn of_model(&self, model: &str) -> ModelPrices<'_> {
        let model = dashed(model);
        let model = bare(&model);
        let named =
            self.list.iter().filter(|price| price.models.iter().any(|name| is_release_of(name, model)));
        let mut list: Vec<&Price> = named.collect();
        if list.iter().any(|price| price.of_user) {
            list.retain(|price| price.of_user);
        }
        ModelPrices { list }
    }
}

/// What one model cost at different times.
#[derive(Clone, Debug)]
pub struct ModelPrices<'p> {
    list: Vec<&'p Price>,
}

impl ModelPrices<'_> {
    /// What a call cost; `None` when the model had no price then.
    pub fn cost(&self, at: Timestamp, usage: &Usage) -> Option<Money> {
        Some(self.costs(at, usage)?.into_iter().fold(Money::default(), Money::plus))
    }

    /// The same, for each bucket in the order of [`Usage::buckets`].
    pub fn costs(&self, at: Timestamp, usage: &Usage) -> Option<[Money; 5]> {
        let held = self.list.iter().filter(|price| !at.is_some() || price.from <= at);
        let price = held.max_by_key(|price| price.from)?;
        let long = usage.cache_write_long.min(usage.cache_write);
        let of = |n: u64, each: u64| Money(n.saturating_mul(each));
        let written = of(usage.cache_write - long, price.cache_write).plus(of(long, price.cache_write_long));
        Some([
            of(usage.input, price.input),
            of(usage.cache_read, price.cache_read),
            written,
            of(usage.output, price.output),
            of(usage.reasoning, price.output),
        ])
    }

    /// Whether the model has a price at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A model's name without its provider, region and version of the API.
fn bare(model: &str) -> &str {
    let model = model.rsplit(['.', '/']).next().unwrap_or(model);
    let model = model.split(['@', '[', ':']).next().unwrap_or(model);
    model.strip_suffix("-v1").unwrap_or(model)
}

/// Whether a model is the named one: exactly, or with a release date or `-latest` behind it.
fn is_release_of(name: &str, model: &str) -> bool {
    match model.strip_prefix(name) {
        Some("" | "-latest") => true,
        Some(rest) => {
            rest.strip_prefix('-').is_some_and(|d| d.len() == 8 && d.bytes().all(|b| b.is_ascii_digit()))
        }
        None => false,
    }
}

/// Some clients write a version's point as it is, the API writes a dash: `4.5` and `4-5` are one.
fn dashed(name: &str) -> Cow<'_, str> {
    if !name.contains('.') {
        return Cow::Borrowed(name);
    }
    let bytes = name.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let dash = |(at, c): (usize, char)| {
        if c == '.' && at > 0 && is_digit(at - 1) && is_digit(at + 1) { '-' } else { c }
    };
    name.char_indices().map(dash).collect()
}

impl Price {
    fn read(raw: &RawPrice) -> Result<Price, String> {
        let from =
            Timestamp::parse(&format!("{}T00:00:00Z", raw.from)).ok_or(format!("no date: {}", raw.from))?;
        Ok(Price {
            of_user: false,
            models: raw.models.iter().map(|name| dashed(name).into_owned()).collect(),
            from,
            input: per_token(&raw.input)?,
            output: per_token(&raw.output)?,
            cache_read: per_token(&raw.cache_read)?,
            cache_write: per_token(&raw.cache_write)?,
            cache_write_long: per_token(raw.cache_write_long.as_ref().unwrap_or(&raw.cache_write))?,
        })
    }
}

/// Dollars per million tokens as text, to trillionths of a dollar per token.
fn per_token(text: &str) -> Result<u64, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let bad = || format!("no price: {text}");
    if fraction.len() > 6 {
        return Err(bad());
    }
    format!("{whole}{fraction:0<6}").parse().map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Prices, bare, dashed, is_release_of, per_token};
    use unspool_model::{Timestamp, Usage};

    #[test]
    fn built_in_prices_read() {
        assert!(
            Prices { list: Vec::new() }
                .with(BUILT_IN)
                .unwrap()
                .of_model("claude-haiku-4-5-20251001")
                .list
                .len()
                == 1
        );
    }

    fn matches(name: &str, model: &str) -> bool {
        is_release_of(&dashed(name), bare(&dashed(model)))
    }

    #[test]
    fn names_match_whole() {
        assert!(matches("claude-sonnet-4", "claude-sonnet-4-20250514"));
        assert!(!matches("claude-sonnet-4", "claude-sonnet-4-5-20250929"));
        assert!(matches("claude-opus-4-6", "us.anthropic.claude-opus-4-6-v1:0"));
        assert!(matches("claude-opus-4-6", "claude-opus-4-6[1m]"));
        assert!(!matches("claude-opus-5", "claude-opus-5-5"));
        assert!(matches("claude-haiku-4-5", "claude-haiku-4.5"));
        assert!(matches("gpt-5.5", "openai/gpt-5.5"));
    }

    #[test]
    fn money_is_exact() {
        assert_eq!(per_token("0.25"), Ok(250_000));
        assert!(per_token("x").is_err());
        let usage =
            Usage { input: 1_000_000, cache_write: 10, cache_write_long: 4, output: 3, ..Usage::default() };
        let cost = Prices::default().of_model("claude-haiku-4-5").cost(Timestamp::NONE, &usage).unwrap();
        assert_eq!(cost.picodollars(), 1_000_000_000_000 + 6 * 1_250_000 + 4 * 2_000_000 + 3 * 5_000_000);
        assert!(Prices::default().of_model("somebody-elses").is_empty());
    }

    #[test]
    fn a_users_price_overrides() {
        let text = "[[price]]\nmodels = [\"claude-haiku-4-5\"]\nfrom = \"2020-01-01\"\ninput = \"7\"\noutput = \"0\"\n\
                    cache_read = \"0\"\ncache_write = \"0\"";
        let usage = Usage { input: 1, ..Usage::default() };
        let cost =
            Prices::default().with(text).unwrap().of_model("claude-haiku-4-5").cost(Timestamp::NONE, &usage);
        assert_eq!(cost.map(super::Money::picodollars), Some(7_000_000));
    }

    #[test]
    fn a_price_holds_from_its_day_on() {
        let usage = Usage { input: 1, ..Usage::default() };
        let before = Timestamp::parse("2020-01-01T00:00:00Z").unwrap();
        assert_eq!(Prices::default().of_model("claude-haiku-4-5").cost(before, &usage), None);
    }
}
