//! Upstreams over TLS, in the version of HTTP they offer.

use crate::client::{Proxied, ask, command};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Says in which version it was asked, for which host, and what it was sent.
async fn echo(request: hyper::Request<Incoming>) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let said = request.headers().get("host").and_then(|host| host.to_str().ok()).map(ToString::to_string);
    let host = request.uri().authority().map(ToString::to_string).or(said).unwrap_or_default();
    let asked = format!("{:?} {} {host} ", request.version(), request.uri().path_and_query().unwrap());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Ok(hyper::Response::new(Full::from([asked.as_bytes(), &body].concat())))
}

/// An upstream that speaks these protocols; its port.
fn upstream(protocols: &[&str]) -> u16 {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/localhost.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let (told, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap().port()).unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let is_two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let stream = TokioIo::new(stream);
                    if is_two {
                        let two = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        drop(two.serve_connection(stream, service_fn(echo)).await);
                    } else {
                        drop(
                            hyper::server::conn::http1::Builder::new()
                                .serve_connection(stream, service_fn(echo))
                                .await,
                        );
                    }
                });
            }
        });
    });
    port.recv().unwrap()
}

#[test]
fn an_upstream_is_spoken_to_as_it_likes() {
    for (protocols, version) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let port = upstream(protocols);
        let folder = tempfile::tempdir().unwrap();
        let mut trusting = command(folder.path(), &[format!("api=https://localhost:{port}")]);
        trusting.env(
            "SSL_CERT_FILE",
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/tls/authority.pem"),
        );
        let proxied = Proxied::start(trusting);
        for _ in 0..3 {
            let answer =
                ask(&proxied.address, "POST", "/api/v1/x?a=%2F", "Connection: keep-alive\r\n", b"words");
            assert_eq!(
                answer.text(),
                format!("{version} /v1/x?a=%2F localhost:{port} words"),
                "{protocols:?}"
            );
        }
    }
}

#[test]
fn an_upstream_that_nobody_vouches_for_is_not_spoken_to() {
    let port = upstream(&["h2"]);
    let folder = tempfile::tempdir().unwrap();
    let proxied = Proxied::start(command(folder.path(), &[format!("api=https://localhost:{port}")]));
    let answer = ask(&proxied.address, "GET", "/api/x", "", b"");
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("certificate"), "{}", answer.text());
}
