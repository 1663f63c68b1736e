//! The list of endpoints, for programs and for people.

use super::endpoint::{Call, Endpoint};
use super::endpoints::ENDPOINTS;
use super::links::{self, LinkKeptDoc, LinkWantedDoc};
use super::live::{ChangeDoc, ResetDoc};
use crate::error::ApiError;
use crate::ingest::upload::UploadDoc;
use crate::ingest::{WAYS_IN, WayIn};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::fmt::Write as _;
use unspool_answers::{Answer, ErrorDoc, Param, Reply, Sort};
use unspool_view::screen;
use utoipa::openapi::path::{OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{
    ContentBuilder, HttpMethod, InfoBuilder, OpenApiBuilder, PathItem, PathsBuilder, Ref, Required, Response,
    ResponseBuilder, ResponsesBuilder,
};

/// What a session that ended is made into.
pub(crate) const ARTIFACT: &str = "/thoughtflow/{file}";
const ABOUT_ARTIFACT: &str = "A ThoughtFlow session as SESSION.json or SESSION.d2";

pub(crate) fn words(_: &Call) -> Result<Reply, ApiError> {
    Ok(Reply::json(screen::words()))
}

pub(crate) fn openapi(_: &Call) -> Result<Reply, ApiError> {
    description().map(Reply::json)
}

/// The description of everything.
fn description() -> Result<Value, ApiError> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = SchemaGenerator::new(settings);
    let error = reference(generator.subschema_for::<ErrorDoc<'static>>().as_value());
    // What is told beside answers: events of the live stream, and receipts of files.
    generator.subschema_for::<ChangeDoc>();
    generator.subschema_for::<ResetDoc>();
    generator.subschema_for::<UploadDoc>();
    let mut paths = PathsBuilder::new();
    for endpoint in ENDPOINTS.iter() {
        let operation = operation(endpoint, &mut generator, error.as_ref());
        paths = paths.path(endpoint.path, PathItem::new(HttpMethod::Get, operation));
    }
    for (path, item) in link_paths(&mut generator, error.as_ref()) {
        paths = paths.path(path, item);
    }
    for way in WAYS_IN {
        // OTLP is refused in words of its own.
        let error = error.as_ref().filter(|_| !way.is_otlp());
        let operation = beside(way.path, way.about, error).request_body(Some(body_of(way)));
        let operation =
            way.params.iter().fold(operation, |operation, param| operation.parameter(query_part(*param)));
        paths = paths.path(way.path, PathItem::new(HttpMethod::Post, operation));
    }
    let artifact = beside(ARTIFACT, ABOUT_ARTIFACT, error.as_ref());
    paths = paths.path(ARTIFACT, PathItem::new(HttpMethod::Get, artifact));
    let info = InfoBuilder::new()
        .title("Unspool")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("What agents did, and what led to what."));
    let document = OpenApiBuilder::new().info(info).paths(paths).build();
    let failed = |error: serde_json::Error| {
        ApiError::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "not_json", error.to_string())
    };
    let mut document = serde_json::to_value(document).map_err(failed)?;
    // The schemas are those of the documents themselves, written by the library that describes them elsewhere, too.
    document["components"]["schemas"] = Value::Object(generator.take_definitions(true));
    Ok(document)
}

/// An answer that says what went wrong, in the form of all errors where that is known.
fn refusal(about: &str, error: Option<&Ref>) -> Response {
    let told = ResponseBuilder::new().description(about);
    let document = |error: &Ref| ContentBuilder::new().schema(Some(error.clone())).build();
    let content = error.map(|error| ("application/json", document(error)));
    content.into_iter().fold(told, |told, (media, document)| told.content(media, document)).build()
}

/// What other modules answer.
fn beside(path: &str, about: &str, error: Option<&Ref>) -> OperationBuilder {
    let good = ResponseBuilder::new().description("What was sent is on the disk, or what was asked for");
    let failed = "Nothing of it was kept: the disk is full, or the server ends (503, `Retry-After`)";
    let responses = ResponsesBuilder::new()
        .response("200", good)
        .response("4XX", refusal("Nothing of it was kept", error))
        .response("5XX", refusal(failed, error));
    with_path_parts(OperationBuilder::new().summary(Some(about)), path).responses(responses)
}

/// What may be sent: an object where it is JSON, bytes where it is not, files in a form.
fn body_of(way: &WayIn) -> RequestBody {
    let bytes = || {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).build()
    };
    let required = if way.needs_body { Required::True } else { Required::False };
    let body = RequestBodyBuilder::new().required(Some(required));
    let body = way.media.iter().fold(body, |body, media| {
        let schema = match *media {
            "application/json" => ObjectBuilder::new().schema_type(Type::Object).build(),
            "multipart/form-data" => ObjectBuilder::new().property("file", bytes()).required("file").build(),
            _ => bytes(),
        };
        body.content(*media, ContentBuilder::new().schema(Some(schema)).build())
    });
    body.build()
}

fn operation(endpoint: &Endpoint, generator: &mut SchemaGenerator, error: Option<&Ref>) -> OperationBuilder {
    let operation = OperationBuilder::new().operation_id(Some(operation_id(endpoint.path)));
    let mut operation = with_path_parts(operation.summary(Some(endpoint.about)), endpoint.path);
    for param in endpoint.params {
        operation = operation.parameter(query_part(*param));
    }
    let content = match endpoint.answer {
        Answer::Document(schema) => {
            let schema = reference(schema(generator).as_value());
            ("application/json", ContentBuilder::new().schema(schema).build())
        }
        Answer::Media(media) => (media.split(';').next().unwrap_or(media), ContentBuilder::new().build()),
    };
    let good = ResponseBuilder::new().description(endpoint.about).content(content.0, content.1);
    let same = ResponseBuilder::new().description("The same as before (`If-None-Match`)");
    let responses = ResponsesBuilder::new()
        .response("200", good)
        .response("304", same)
        .response("4XX", refusal("What went wrong", error))
        .response("5XX", refusal("Why it could not be worked out", error));
    operation.responses(responses)
}

/// What somebody may say about a link.
const SAID: [(HttpMethod, &str, &str); 2] = [
    (
        HttpMethod::Post,
        links::SAY,
        "Confirm, deny or add a link between two steps or agents, or take back what was said",
    ),
    (HttpMethod::Delete, links::TAKE_BACK, "Take back what was said about a link; `who` may say who does"),
];

fn link_paths(generator: &mut SchemaGenerator, error: Option<&Ref>) -> Vec<(&'static str, PathItem)> {
    let kept = reference(generator.subschema_for::<LinkKeptDoc>().as_value());
    let wanted = reference(generator.subschema_for::<LinkWantedDoc>().as_value());
    let document = |schema: Option<Ref>| ContentBuilder::new().schema(schema).build();
    let answer = |about: &str| {
        ResponseBuilder::new().description(about).content("application/json", document(kept.clone()))
    };
    let of = |(method, path, about): (HttpMethod, &'static str, &str)| {
        let responses = ResponsesBuilder::new()
            .response("200", answer("It is kept and shown"))
            .response("202", answer("It is kept, and shown in a moment"))
            .response("4XX", refusal("Why nothing was kept", error))
            .response("5XX", refusal("Why it could not be kept; 503 when the disk is full", error));
        let verb = if method == HttpMethod::Post { "say" } else { "take_back" };
        let named = OperationBuilder::new().operation_id(Some(format!("{verb}_{}", operation_id(path))));
        let mut operation = with_path_parts(named.summary(Some(about)), path).responses(responses);
        if method == HttpMethod::Post {
            let body = RequestBodyBuilder::new().content("application/json", document(wanted.clone()));
            operation = operation.request_body(Some(body.required(Some(Required::True)).build()));
        } else {
            let who = Param::new("who", Sort::Text, "who takes it back; nobody in particular if not given");
            operation = operation.parameter(query_part(who));
        }
        (path, PathItem::new(method, operation))
    };
    SAID.into_iter().map(of).collect()
}

/// Something that may stand behind the `?`.
fn query_part(param: Param) -> ParameterBuilder {
    ParameterBuilder::new()
        .name(param.name)
        .description(Some(param.about))
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .schema(Some(schema_of(param)))
}

fn schema_of(param: Param) -> Schema {
    let of = |sort: Type| ObjectBuilder::new().schema_type(sort).build();
    match param.sort {
        Sort::Text => Schema::Object(of(Type::String)),
        Sort::Moment => Schema::Object(
            ObjectBuilder::new().schema_type(Type::String).description(Some("a moment, RFC 3339")).build(),
        ),
        Sort::Texts => Schema::Array(ArrayBuilder::new().items(of(Type::String)).build()),
        Sort::Whole => Schema::Object(of(Type::Integer)),
        Sort::Share | Sort::Amount => Schema::Object(of(Type::Number)),
        Sort::Flag => Schema::Object(of(Type::Boolean)),
    }
}

/// What a schema refers to.
fn reference(schema: &Value) -> Option<Ref> {
    schema.get("$ref").and_then(Value::as_str).map(Ref::new)
}

/// The names in `{}` as parameters.
fn with_path_parts(operation: OperationBuilder, path: &str) -> OperationBuilder {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.fold(operation, |operation, name| {
        operation.parameter(
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(ObjectBuilder::new().schema_type(Type::String))),
        )
    })
}

/// A name that is unique because paths are.
fn operation_id(path: &str) -> String {
    let parts = path.trim_start_matches("/api").trim_start_matches("/v1").split(['/', '.']);
    let named = parts.filter(|part| !part.is_empty()).map(|part| match part.strip_prefix('{') {
        Some(part) => format!("by_{}", part.trim_end_matches('}')),
        None => part.to_string(),
    });
    named.collect::<Vec<_>>().join("_")
}

/// A page that needs nothing from elsewhere.
pub(crate) fn page(_: &Call) -> Result<Reply, ApiError> {
    let mut html = String::from(HEAD);
    for endpoint in ENDPOINTS.iter() {
        let path = escaped(endpoint.path);
        let _ = write!(html, "<section><h2><code>GET {path}</code></h2><p>{}</p>", marked(endpoint.about));
        if !endpoint.params.is_empty() {
            html.push_str("<table>");
            for param in endpoint.params {
                let (name, about) = (escaped(param.name), marked(param.about));
                let _ = write!(html, "<tr><td><code>{name}</code></td><td>{about}</td></tr>");
            }
            html.push_str("</table>");
        }
        let example = escaped(&format!("{}{}", endpoint.path, endpoint.example));
        let _ = writeln!(html, "<pre>curl -s 'http://127.0.0.1:4680{example}'</pre></section>");
    }
    let said = SAID.iter().map(|(method, path, about)| (method, *path, *about));
    let sent = WAYS_IN.iter().map(|way| (&HttpMethod::Post, way.path, way.about));
    for (method, path, about) in said.chain(sent).chain([(&HttpMethod::Get, ARTIFACT, ABOUT_ARTIFACT)]) {
        let method = match method {
            HttpMethod::Get => "GET",
            HttpMethod::Delete => "DELETE",
            _ => "POST",
        };
        let (path, about) = (escaped(path), marked(about));
        let _ = writeln!(html, "<section><h2><code>{method} {path}</code></h2><p>{about}</p></section>");
    }
    html.push_str("</body></html>\n");
    Ok(Reply::ready("text/html; charset=utf-8", html))
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Unspool API</title>\n\
<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n\
:root{color-scheme:light dark}\n\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\n\
section{border-top:1px solid #8886;padding:.5rem 0}\nh2{font-size:1rem}\n\
td{vertical-align:top;padding:.1rem 1rem .1rem 0}\npre{overflow-x:auto;background:#8882;padding:.5rem}\n\
</style></head>\n<body><h1>Unspool API</h1>\n\
<p>Everything can be asked without a token on this machine. Answers are JSON unless said otherwise; errors have one form: \
<code>{\"error\": {\"code\", \"message\", \"hint\"}}</code>. <code>ETag</code> and <code>If-None-Match</code> save what did not change. \
<a href=\"openapi.json\">openapi.json</a> has the same for programs.</p>\n";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Words in backticks as code.
fn marked(text: &str) -> String {
    let parts = escaped(text);
    let parts = parts.split('`').enumerate();
    let shown =
        parts.map(|(n, part)| if n % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() });
    shown.collect::<Vec<_>>().concat()
}
