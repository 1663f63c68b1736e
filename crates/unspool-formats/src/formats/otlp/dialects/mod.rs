//! One file per dialect: which attributes are its own, what role they state, and which facts they hold.
//!
//! The order is the precedence of roles and facts: what states something outright comes before what merely implies it.
//! `docs/otel.md` has the table.

mod agentmark;
mod claude_code;
mod gen_ai;
mod langfuse;
mod mastra;
mod openinference;
mod openllmetry;
mod pydantic_ai;
mod unspool;
mod vercel;

use super::reading::{Reading, SpanRole};
use super::span::{Origin, Span};

pub(crate) use gen_ai::tokens as gen_ai_tokens;

/// One dialect.
pub(crate) struct Dialect {
    pub(crate) name: &'static str,
    /// Whether a span may speak it; cheap.
    pub(crate) speaks: fn(&Span<'_>, &Origin<'_>) -> bool,
    /// The role it states.
    pub(crate) role: fn(&Span<'_>, &Origin<'_>) -> Option<SpanRole>,
    /// Sets what is not known yet.
    pub(crate) facts: for<'a> fn(&Span<'a>, &mut Reading<'a>),
}

pub(crate) static DIALECTS: &[Dialect] = &[
    unspool::DIALECT,
    langfuse::OVERRIDE,
    openinference::DIALECT,
    mastra::DIALECT,
    claude_code::DIALECT,
    agentmark::DIALECT,
    pydantic_ai::DIALECT,
    vercel::DIALECT,
    gen_ai::DIALECT,
    openllmetry::DIALECT,
    langfuse::REST,
];

/// The name behind the first of these beginnings of a span's name.
fn after<'s>(name: &'s str, beginnings: &[&str]) -> Option<&'s str> {
    beginnings
        .iter()
        .find_map(|start| name.strip_prefix(start))
        .map(str::trim)
        .filter(|rest| !rest.is_empty())
}
