//! Upstreams over TLS, in the version of HTTP they offer.

use crate::client::{Proxied, ask, command, connect, request};
use crate::upstream::noise;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

/// Agrees to speak another protocol, and then says everything again.
fn parrot(mut request: hyper::Request<Incoming>) -> hyper::Response<Full<Bytes>> {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let (mut from, mut to) = tokio::io::split(TokioIo::new(upgrade.await.unwrap()));
        tokio::io::copy(&mut from, &mut to).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let mut answer = hyper::Response::new(Full::default());
    *answer.status_mut() = hyper::StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert("upgrade", "websocket".parse().unwrap());
    answer.headers_mut().insert("connection", "upgrade".parse().unwrap());
    answer
}

/// More than a client that does not read takes, wherever it is on its way.
const LARGE: usize = 16 << 20;

/// Says in which version it was asked, for which host, and what it was sent.
async fn echo(request: hyper::Request<Incoming>) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    if request.headers().contains_key("upgrade") {
        return Ok(parrot(request));
    }
    let said = request.headers().get("host").and_then(|host| host.to_str().ok()).map(ToString::to_string);
    let host = request.uri().authority().map(ToString::to_string).or(said).unwrap_or_default();
    let asked = format!("{:?} {} {host} ", request.version(), request.uri().path_and_query().unwrap());
    if request.uri().path() == "/large" {
        return Ok(hyper::Response::new(Full::from(vec![b'x'; LARGE])));
    }
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
                                .with_upgrades()
                                .await,
                        );
                    }
                });
            }
        });
    });
    port.recv().unwrap()
}

/// A proxy that trusts the upstream on this port.
fn trusting(folder: &Path, port: u16) -> Proxied {
    let mut trusting = command(folder, &[format!("api=https://localhost:{port}")]);
    let authority = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/tls/authority.pem");
    trusting.env("SSL_CERT_FILE", authority);
    Proxied::start(trusting)
}

/// HTTP/2 is not offered for what has to be spoken over a connection of its own.
#[test]
fn a_socket_is_carried_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let proxied = trusting(folder.path(), upstream(&["h2", "http/1.1"]));
    let mut client = connect(&proxied.address);
    let head = "GET /api/v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n") {
        let mut one = [0];
        client.read_exact(&mut one).unwrap();
        heard.extend(one);
    }
    assert!(heard.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&heard));
    let words = noise(1 << 20);
    let mut to = client.try_clone().unwrap();
    let sent = words.clone();
    let sending = std::thread::spawn(move || {
        to.write_all(sent.as_bytes()).unwrap();
        to.shutdown(Shutdown::Write).unwrap();
    });
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    assert!(heard == words.as_bytes(), "{} of {}", heard.len(), words.len());
    sending.join().unwrap();
}

#[test]
fn an_upstream_is_spoken_to_as_it_likes() {
    for (protocols, version) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let port = upstream(protocols);
        let folder = tempfile::tempdir().unwrap();
        let proxied = trusting(folder.path(), port);
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

/// All answers share a connection in HTTP/2.
#[test]
fn clients_that_do_not_read_slow_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let proxied = trusting(folder.path(), upstream(&["h2"]));
    let mut slow: Vec<_> = (0..24).map(|_| connect(&proxied.address)).collect();
    for client in &mut slow {
        client.write_all(&request("GET", "/api/large", "", b"")).unwrap();
        client.read_exact(&mut [0; 100]).unwrap();
    }
    for _ in 0..8 {
        let answer = ask(&proxied.address, "GET", "/api/x", "", b"");
        assert!(answer.text().starts_with("HTTP/2.0 /x "), "{}", answer.text());
    }
    for client in &mut slow {
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).unwrap();
        assert!(heard.len() > LARGE - 100, "{} of {LARGE}", heard.len());
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
