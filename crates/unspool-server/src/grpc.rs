//! OTLP over gRPC. Messages are taken as the bytes they are, so that what is kept is what was sent.

use crate::app::App;
use crate::error::RETRY_AFTER_S;
use crate::ingest::keep;
use crate::ingest::otlp::{Signal, partial, reply};
use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use bytes::{Buf, BufMut, Bytes};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
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
                let mut grpc = Grpc::new(RawCodec)
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

fn answer(counted: &Counted) -> Vec<u8> {
    let (rejected, message) = partial(counted);
    reply(rejected, &message)
}

fn status(refused: &Refused) -> Status {
    let code = match refused {
        Refused::Unknown { .. } => Code::InvalidArgument,
        Refused::Busy { .. } => Code::ResourceExhausted,
        Refused::Stopping | Refused::Log(_) => Code::Unavailable,
    };
    let mut metadata = MetadataMap::new();
    if code != Code::InvalidArgument {
        metadata.insert("retry-after", MetadataValue::from(RETRY_AFTER_S));
    }
    Status::with_metadata(code, refused.to_string(), metadata)
}

/// Bytes as they are.
#[derive(Clone, Copy, Default)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = RawCodec;
    type Decoder = RawCodec;

    fn encoder(&mut self) -> RawCodec {
        RawCodec
    }

    fn decoder(&mut self) -> RawCodec {
        RawCodec
    }
}

impl Encoder for RawCodec {
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
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
