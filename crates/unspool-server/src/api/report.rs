//! A session as one HTML file.

use super::endpoint::Call;
use crate::error::ApiError;
use crate::report::report as make;
use axum::http::StatusCode;
use unspool_answers::{Param, Reply, Sort};
use unspool_engine::live::Snapshot;
use unspool_report::{Asked, MakeError, Whole};

pub(crate) const REPORT: &[Param] =
    &[Param::new("redact", Sort::Flag, "mask what looks like a key, token or password")];

pub(crate) fn report(snapshot: &Snapshot, call: &Call) -> Result<Reply, ApiError> {
    let mut whole =
        |shown: &str| Some(Whole { name: snapshot.read_name(shown).into(), bytes: snapshot.stream(shown)? });
    let asked = Asked {
        corpus: &snapshot.corpus,
        sessions: &[snapshot.session],
        prices: &call.app.engine.options().prices,
        redact: call.asked.flag("redact")?.then_some(&call.app.redact_rules),
        whole: &mut whole,
    };
    let made = make(asked).map_err(|error| failed(&error))?;
    let name = format!("{}.html", snapshot.flow.session.id.show('x'));
    Ok(Reply::ready("text/html; charset=utf-8", made.html).named(name))
}

fn failed(error: &MakeError) -> ApiError {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    ApiError::new(status, "no_report", error.to_string())
        .with_hint("`unspool db check` reads everything that is kept")
}
