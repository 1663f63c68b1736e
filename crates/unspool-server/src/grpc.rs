//! OTLP over gRPC. Messages are taken as the bytes they are, so that what is kept is what was sent.

use crate::app::App;
use crate::body::Room;
use crate::error::{ApiError, RETRY_AFTER_S};
use crate::ingest::keep;
use crate::ingest::otlp::{Signal, partial, reply};
use crate::refusals::Refusal;
use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::routing::post;
use bytes::{Buf, BufMut, Bytes};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio_stream::StreamExt as _;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::server::{Grpc, UnaryService};
use tonic::{Code, Response, Status};
use unspool_engine::live::{Counted, Refused};

/// The gRPC methods.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let method = |signal: Signal| {
        let app = Arc::clone(app);
        post(move |request: Request| {
            let export = Export { app: Arc::clone(&app), signal };
            async move {
                let limit = export.app.limits.unpacked_bytes;
                let is_packed = request.headers().contains_key("grpc-encoding");
                let request = match counted(&export.app, request) {
                    Ok(request) => request,
                    Err(status) => return status.into_http(),
                };
                let unpacking = is_packed.then(|| Unpacking::of(&export.app));
                let mut grpc = Grpc::new(RawCodec { unpacking })
                    .accept_compressed(CompressionEncoding::Gzip)
                    .accept_compressed(CompressionEncoding::Zstd)
                    .apply_max_message_size_config(Some(limit), None);
                grpc.unary(export, request).await
            }
        })
    };
    Router::new()
        .route("/opentelemetry.proto.collector.trace.v1.TraceService/Export", method(Signal::Traces))
        .route("/opentelemetry.proto.collector.logs.v1.LogsService/Export", method(Signal::Logs))
        .fallback(|| async {
            Status::unimplemented("OTLP traces and logs are taken").into_http::<axum::body::Body>()
        })
}

struct Export {
    app: Arc<App>,
    signal: Signal,
}

impl UnaryService<Bytes> for Export {
    type Response = Vec<u8>;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Vec<u8>>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let (app, name) = (Arc::clone(&self.app), self.signal.name(false));
        let bytes: Vec<u8> = request.into_inner().into();
        Box::pin(async move {
            if bytes.is_empty() {
                return Ok(Response::new(answer(&Counted::default())));
            }
            match keep(app, "otlp-grpc", name, bytes).await {
                Ok(taken) => Ok(Response::new(answer(&taken.counted))),
                Err(refused) => Err(status(&refused)),
            }
        })
    }
}

/// The request, with a body that counts what is read of it.
fn counted(app: &Arc<App>, request: Request) -> Result<Request, Status> {
    let mut room = Room::of(app);
    let (head, body) = request.into_parts();
    room.expect(app, body.size_hint().lower()).map_err(|error| busy(app, &error))?;
    let app = Arc::clone(app);
    let read = body.into_data_stream().map(move |data| {
        let data = data?;
        room.take(&app, data.len()).map_err(|error| busy(&app, &error))?;
        Ok::<Bytes, Box<dyn Error + Send + Sync>>(data)
    });
    Ok(Request::from_parts(head, Body::from_stream(read)))
}

fn busy(app: &App, error: &ApiError) -> Status {
    app.refusals.count(Refusal(error.code));
    again_later(Code::ResourceExhausted, error.message.clone())
}

fn again_later(code: Code, message: String) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert("retry-after", MetadataValue::from(RETRY_AFTER_S));
    Status::with_metadata(code, message, metadata)
}

fn answer(counted: &Counted) -> Vec<u8> {
    let (rejected, message) = partial(counted);
    reply(rejected, &message)
}

fn status(refused: &Refused) -> Status {
    let message = refused.to_string();
    match refused {
        Refused::Unknown { .. } => Status::invalid_argument(message),
        Refused::Busy { .. } => again_later(Code::ResourceExhausted, message),
        Refused::Stopping | Refused::Log(_) => again_later(Code::Unavailable, message),
    }
}

/// Bytes as they are.
struct RawCodec {
    /// Counts what a packed message holds.
    unpacking: Option<Unpacking>,
}

struct Unpacking {
    app: Arc<App>,
    room: Room,
}

impl Unpacking {
    fn of(app: &Arc<App>) -> Unpacking {
        Unpacking { app: Arc::clone(app), room: Room::of(app) }
    }
}

impl Codec for RawCodec {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = RawEncoder;
    type Decoder = RawCodec;

    fn encoder(&mut self) -> RawEncoder {
        RawEncoder
    }

    fn decoder(&mut self) -> RawCodec {
        RawCodec { unpacking: self.unpacking.take() }
    }
}

struct RawEncoder;

impl Encoder for RawEncoder {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(&item);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        if let Some(Unpacking { app, room }) = &mut self.unpacking {
            room.take(app, from.remaining()).map_err(|error| busy(app, &error))?;
        }
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
