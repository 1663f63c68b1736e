//! One request: to its upstream and back.

use crate::gathered::Flushes;
use crate::headers::{GoesOn, asks_upgrade, clean_answer, clean_request};
use crate::names::Names;
use crate::reading::Reading;
use crate::refusal::Refusal;
use crate::seen::{Body, Cut, Failure, Sent, Watch};
use crate::serve::Shared;
use crate::socket::{Next, Socket};
use crate::tee::{Ending, RequestTee, ResponseTee};
use crate::upstream::{self, Unanswered, causes, is_out_of_files};
use bytes::Bytes;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version, response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::upgrade;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

pub(crate) type Answer = Response<Either<ResponseTee, Full<Bytes>>>;

/// Says on later answers that something was not recorded.
const LOST: HeaderName = HeaderName::from_static("x-unspool-recording");

/// `next` is set when the connection of the client is to speak another protocol after the answer.
pub(crate) async fn carry(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    flushes: Flushes,
    next: Next,
) -> Answer {
    let mut answer = match forward(&shared, request, flushes, &next).await {
        Ok(answer) => answer,
        Err(refusal) => refusal.answer().map(Either::Right),
    };
    let lost = shared.room.lost_in_all();
    if lost > 0
        && let Ok(said) = HeaderValue::try_from(format!("lost {lost}"))
    {
        answer.headers_mut().insert(LOST, said);
    }
    answer
}

async fn forward(
    shared: &Arc<Shared>,
    mut request: Request<Incoming>,
    flushes: Flushes,
    next: &Next,
) -> Result<Answer, Refusal> {
    let began = Instant::now();
    if let Some(names) = &shared.names {
        check(names, &request)?;
    }
    let asked = request.uri().path_and_query().map_or("", |path| path.as_str()).to_string();
    let route = shared.routes.find(&asked).ok_or_else(|| Refusal::no_route(&shared.routes, &asked))?;
    let client = asks_upgrade(request.headers()).then(|| upgrade::on(&mut request));
    let secrets = shared.masks.secrets(request.headers(), route.rest);
    let sent = Sent {
        exchange: shared.next_exchange(),
        upstream: route.upstream.name.clone(),
        received: SystemTime::now(),
        method: request.method().clone(),
        path: shared.masks.path(route.rest, &secrets),
        headers: shared.masks.headers(request.headers(), &secrets),
        body: Body::empty(&shared.room),
        socket: None,
        run: route.run.map(Arc::from),
        secrets,
    };
    let watch = Arc::new(Watch::new(sent, began, shared));
    let mut ending = Ending::new(Arc::clone(&watch), Arc::clone(&shared.stopping));
    let (mut parts, body) = request.into_parts();
    parts.uri = route.uri;
    parts.version = Version::HTTP_11;
    // In HTTP/2, which only comes with encryption, the host is no header.
    let upgrade = client.is_some();
    let host = upgrade || parts.uri.scheme_str() == Some("http");
    clean_request(&mut parts.headers, GoesOn { upgrade, host });
    let is_head = parts.method == Method::HEAD;
    let body = RequestTee::new(body, Arc::clone(&watch));
    let request = Request::from_parts(parts, body.clone());
    let mut answer = match answer(shared, &watch, request).await {
        Ok(answer) => answer,
        Err(failure) => {
            // What is read of it from here on is not what the upstream failed for.
            if let Some(why) = watch.clients_fault() {
                ending.end(Some(Cut::Client), None);
                return Err(Refusal::broken_request(why));
            }
            body.drain().await;
            let refusal = Refusal::failed(&route.upstream.name, &failure);
            ending.end(None, Some(failure));
            return Err(refusal);
        }
    };
    let upstream = upgrade::on(&mut answer);
    let (mut parts, body) = answer.into_parts();
    ending.answered(parts.status, &parts.headers);
    parts.version = Version::HTTP_11;
    if let Some(client) = client.filter(|_| parts.status == StatusCode::SWITCHING_PROTOCOLS) {
        let reading = Reading::new(watch.handshake(), &parts.headers, Arc::clone(shared));
        next.set(Socket { client, upstream, ending, reading, shared: Arc::clone(shared) });
        clean_answer(&mut parts.headers, true);
        return Ok(Response::from_parts(parts, Either::Right(Full::default())));
    }
    clean_answer(&mut parts.headers, false);
    name_status(&mut parts);
    if is_head || matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        // There is no body, and nobody asks for its end.
        ending.end(None, None);
    }
    let body = ResponseTee::new(body, ending, shared.silence, flushes);
    Ok(Response::from_parts(parts, Either::Left(body)))
}

/// A status that came without words and has no usual ones goes on without: nobody said any.
fn name_status(parts: &mut response::Parts) {
    if parts.status.canonical_reason().is_none() && parts.extensions.get::<ReasonPhrase>().is_none() {
        parts.extensions.insert(ReasonPhrase::from_static(b""));
    }
}

/// Whether a request is meant for us, and sent by a program or a page of this machine.
fn check<B>(names: &Names, request: &Request<B>) -> Result<(), Refusal> {
    let said = |name: HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = request.uri().authority().map(Authority::as_str).or_else(|| said(HOST));
    if let Some(host) = host.filter(|host| !names.is_called(host)) {
        return Err(Refusal::foreign_host(host));
    }
    match said(ORIGIN).filter(|origin| !names.is_near(origin)) {
        Some(origin) => Err(Refusal::foreign_origin(origin)),
        None => Ok(()),
    }
}

/// Waits for the head of the answer, as long as the client is still sending or the upstream was not silent for too long.
async fn answer(
    shared: &Shared,
    watch: &Watch,
    request: Request<RequestTee>,
) -> Result<Response<upstream::Answer>, Failure> {
    let mut answer = std::pin::pin!(shared.upstreams.request(request));
    loop {
        let until = watch.client_spoke() + shared.silence;
        match tokio::time::timeout_at(until.into(), answer.as_mut()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => {
                let (sort, error) = match error {
                    Unanswered::Unreachable(error) if is_out_of_files(&*error) => ("out_of_files", error),
                    Unanswered::Unreachable(error) => ("unreachable", error),
                    Unanswered::Broken(error) => ("broken", error),
                };
                return Err(Failure { sort, message: causes(&*error), at: watch.began.elapsed() });
            }
            Err(_) if watch.client_spoke() + shared.silence > until => {}
            Err(_) => {
                let message = format!("nothing came for {} s", shared.silence.as_secs());
                return Err(Failure { sort: "timeout", message, at: watch.began.elapsed() });
            }
        }
    }
}
