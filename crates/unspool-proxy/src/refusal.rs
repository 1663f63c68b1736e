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

    pub(crate) fn foreign_host(host: &str) -> Refusal {
        Refusal {
            status: StatusCode::FORBIDDEN,
            code: "foreign_host",
            message: format!("this proxy is not called `{host}`"),
            hint: "use localhost or the address; `--allow-host NAME` allows another name".into(),
        }
    }

    pub(crate) fn foreign_origin(origin: &str) -> Refusal {
        Refusal {
            status: StatusCode::FORBIDDEN,
            code: "foreign_origin",
            message: format!("the page at `{origin}` is not one of this machine"),
            hint: "pages of other sites are not carried; programs leave `Origin` out".into(),
        }
    }

    pub(crate) fn broken_request(why: &str) -> Refusal {
        Refusal {
            status: StatusCode::BAD_REQUEST,
            code: "broken_request",
            message: format!("the request has no end: {why}"),
            hint: "the client broke off or wrote no HTTP; the API is not to blame".into(),
        }
    }

    pub(crate) fn failed(upstream: &str, failure: &Failure) -> Refusal {
        let (status, code) = match failure.sort {
            "timeout" => (StatusCode::GATEWAY_TIMEOUT, "upstream_timeout"),
            "unreachable" => (StatusCode::BAD_GATEWAY, "upstream_unreachable"),
            "out_of_files" => (StatusCode::SERVICE_UNAVAILABLE, "too_many_open_files"),
            _ => (StatusCode::BAD_GATEWAY, "upstream_broken"),
        };
        let (message, hint) = if failure.sort == "out_of_files" {
            (
                format!(
                    "{upstream} was not asked, the proxy may open no more connections: {}",
                    failure.message
                ),
                "try again, or start it where it may open more (`ulimit -n`)",
            )
        } else {
            (
                format!("{upstream} did not answer: {}", failure.message),
                "the API gave no answer; try again, or look at --upstream",
            )
        };
        Refusal { status, code, message, hint: hint.into() }
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
