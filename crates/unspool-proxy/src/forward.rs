//! One request: to its upstream and back.

use crate::gathered::Flushes;
use crate::headers::{asks_upgrade, clean, clean_request};
use crate::refusal::Refusal;
use crate::seen::{Body, Failure, Sent, Watch};
use crate::serve::Shared;
use crate::tee::{Ending, RequestTee, ResponseTee};
use crate::upstream::{self, Unanswered, causes};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, Version};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

pub(crate) type Answer = Response<Either<ResponseTee, Full<Bytes>>>;

/// Says on later answers that something was not recorded.
const LOST: HeaderName = HeaderName::from_static("x-unspool-recording");

pub(crate) async fn carry(shared: Arc<Shared>, request: Request<Incoming>, flushes: Flushes) -> Answer {
    let mut answer = match forward(&shared, request, flushes).await {
        Ok(answer) => answer.map(Either::Left),
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
    request: Request<Incoming>,
    flushes: Flushes,
) -> Result<Response<ResponseTee>, Refusal> {
    let began = Instant::now();
    let asked = request.uri().path_and_query().map_or("", |path| path.as_str()).to_string();
    let route = shared.routes.find(&asked).ok_or_else(|| Refusal::no_route(&shared.routes, &asked))?;
    if asks_upgrade(request.headers()) {
        return Err(Refusal::upgrade());
    }
    let sent = Sent {
        exchange: shared.next_exchange(),
        upstream: route.upstream.name.clone(),
        received: SystemTime::now(),
        method: request.method().clone(),
        path: shared.masks.path(route.rest),
        headers: shared.masks.headers(request.headers()),
        body: Body::empty(&shared.room),
    };
    let watch = Watch::new(sent, began, Arc::clone(&shared.room), Arc::clone(&shared.recorder));
    let watch = Arc::new(watch);
    let mut ending = Ending::new(Arc::clone(&watch), Arc::clone(&shared.stopping));
    let (mut parts, body) = request.into_parts();
    parts.uri = route.uri;
    parts.version = Version::HTTP_11;
    clean_request(&mut parts.headers);
    let body = RequestTee::new(body, Arc::clone(&watch));
    let request = Request::from_parts(parts, body.clone());
    let answer = match answer(shared, &watch, request).await {
        Ok(answer) => answer,
        Err(failure) => {
            body.drain().await;
            let refusal = Refusal::failed(&route.upstream.name, &failure);
            ending.end(None, Some(failure));
            return Err(refusal);
        }
    };
    let (mut parts, body) = answer.into_parts();
    ending.answered(parts.status, shared.masks.headers(&parts.headers));
    parts.version = Version::HTTP_11;
    clean(&mut parts.headers);
    Ok(Response::from_parts(parts, ResponseTee::new(body, ending, shared.silence, flushes)))
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
