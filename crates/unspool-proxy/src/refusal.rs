//! What is answered where no upstream answers: a status, a code, a sentence, and what can be done.

use crate::routes::Routes;
use crate::seen::Failure;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::json;

pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Refusal {
    pub(crate) fn no_route(routes: &Routes, path: &str) -> Refusal {
        let names: Vec<String> = routes.all().iter().map(|one| format!("/{}/", one.name)).collect();
        let known: Vec<String> =
            routes.all().iter().map(|one| format!("{} ({})", one.name, one.url)).collect();
        let first = path.split('?').next().unwrap_or_default();
        Refusal {
            status: StatusCode::NOT_FOUND,
            code: "unknown_upstream",
            message: format!("`{first}` leads to no upstream; there are {}", known.join(", ")),
            hint: format!("begin the path with {}", names.join(" or ")),
        }
    }

    pub(crate) fn upgrade() -> Refusal {
        Refusal {
            status: StatusCode::NOT_IMPLEMENTED,
            code: "no_upgrade",
            message: "this proxy carries HTTP only, no WebSockets and other protocols".into(),
            hint: "use the HTTP interface of the API, or its own address for this".into(),
        }
    }

    pub(crate) fn failed(upstream: &str, failure: &Failure) -> Refusal {
        let (status, code) = match failure.sort {
            "timeout" => (StatusCode::GATEWAY_TIMEOUT, "upstream_timeout"),
            "unreachable" => (StatusCode::BAD_GATEWAY, "upstream_unreachable"),
            _ => (StatusCode::BAD_GATEWAY, "upstream_broken"),
        };
        Refusal {
            status,
            code,
            message: format!("{upstream} did not answer: {}", failure.message),
            hint: "the API gave no answer; try again, or look at --upstream".into(),
        }
    }

    pub(crate) fn answer(&self) -> Response<Full<Bytes>> {
        let Refusal { status, code, message, hint } = self;
        let doc = json!({"error": {"code": code, "message": message, "hint": hint}}).to_string();
        let mut response = Response::new(Full::from(doc));
        *response.status_mut() = *status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
