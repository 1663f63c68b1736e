//! Upstreams over TLS, in the version of HTTP they offer.

use crate::client::{Answer, Proxied, ask, command, connect, kept, request, send};
use crate::upstream::{chunk, noise};
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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

type Said = Either<Full<Bytes>, Frames>;

/// A body of these frames, whose end is not known before the last of them was asked for.
struct Frames(VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// Answers whose end comes behind their last byte: as trailers, or by itself.
fn late(request: &hyper::Request<Incoming>) -> Option<hyper::Response<Said>> {
    let (length, last) = match request.uri().path() {
        "/trailers" => {
            (None, Frame::trailers([("x-sum".parse().unwrap(), "42".parse().unwrap())].into_iter().collect()))
        }
        "/late" => (Some("5"), Frame::data(Bytes::new())),
        "/overloaded" => (None, Frame::data(Bytes::new())),
        _ => return None,
    };
    let frames = VecDeque::from([Frame::data(Bytes::from_static(b"words")), last]);
    let mut answer = hyper::Response::new(Either::Right(Frames(frames)));
    if request.uri().path() == "/overloaded" {
        *answer.status_mut() = hyper::StatusCode::from_u16(529).unwrap();
    }
    if let Some(length) = length {
        answer.headers_mut().insert("content-length", length.parse().unwrap());
    }
    Some(answer)
}

async fn answer(request: hyper::Request<Incoming>) -> Result<hyper::Response<Said>, Infallible> {
    match late(&request) {
        Some(answer) => Ok(answer),
        None => echo(request).await.map(|answer| answer.map(Either::Left)),
    }
}

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

fn acceptor(protocols: &[&str]) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/localhost.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, said: &[u8]) -> Vec<u8> {
    let length = u8::try_from(said.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], said].concat()
}

/// An upstream that says in HTTP/2 that ten bytes come, says five, and ends the stream without an error; its port.
fn short() -> u16 {
    let acceptor = acceptor(&["h2"]);
    let (told, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap().port()).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            stream.read_exact(&mut [0; 24]).await.unwrap();
            stream.write_all(&frame(4, 0, 0, b"")).await.unwrap();
            let mut head = [0; 9];
            // Until the request has come: HEADERS.
            while head[3] != 1 {
                stream.read_exact(&mut head).await.unwrap();
                let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
                stream.read_exact(&mut vec![0; length]).await.unwrap();
            }
            // `:status: 200` and `content-length: 10`, as HPACK has them.
            let answer =
                [frame(1, 4, 1, b"\x88\x0f\x0d\x0210"), frame(0, 0, 1, b"words"), frame(3, 0, 1, &[0; 4])];
            stream.write_all(&answer.concat()).await.unwrap();
            stream.flush().await.unwrap();
            while stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {}
        });
    });
    port.recv().unwrap()
}

/// An upstream that speaks these protocols; its port.
fn upstream(protocols: &[&str]) -> u16 {
    counted(protocols).0
}

/// The same, and how many connections were made to it.
fn counted(protocols: &[&str]) -> (u16, Arc<AtomicUsize>) {
    let connections = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&connections);
    let acceptor = acceptor(protocols);
    let (told, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap().port()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let is_two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let stream = TokioIo::new(stream);
                    if is_two {
                        let two = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        drop(two.serve_connection(stream, service_fn(answer)).await);
                    } else {
                        drop(
                            hyper::server::conn::http1::Builder::new()
                                .serve_connection(stream, service_fn(answer))
                                .with_upgrades()
                                .await,
                        );
                    }
                });
            }
        });
    });
    (port.recv().unwrap(), connections)
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
        // A body without a length goes on as one, in whichever way that is said.
        let head = "GET /api/v1/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = send(&proxied.address, &[head.as_bytes(), &chunk(b"words"), b"0\r\n\r\n"].concat());
        assert_eq!(Answer::read(&answer).text(), format!("{version} /v1/x localhost:{port} words"));
    }
}

/// Each thread that carries has a connection in HTTP/2, and all its requests share it; in HTTP/1.1 each has its own.
#[test]
fn requests_that_come_together_make_no_more_connections_than_they_use() {
    const CLIENTS: usize = 20;
    const MAX_CARRIERS: usize = 4;
    for (protocols, version) in [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1")] {
        let (port, connections) = counted(protocols);
        let folder = tempfile::tempdir().unwrap();
        let proxied = trusting(folder.path(), port);
        let together = Barrier::new(CLIENTS);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    together.wait();
                    let answer = ask(&proxied.address, "POST", "/api/v1/x", "", b"words");
                    assert_eq!(answer.text(), format!("{version} /v1/x localhost:{port} words"));
                });
            }
        });
        let most = if version == "HTTP/2.0" { MAX_CARRIERS } else { CLIENTS };
        assert!(connections.load(Ordering::Relaxed) <= most, "{version}: {connections:?}");
    }
}

/// What an upstream says in HTTP/2 is said in HTTP/1.1: no words where there were none, and whole where it was whole.
#[test]
fn what_came_whole_in_http_2_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let proxied = trusting(folder.path(), upstream(&["h2"]));
    for path in ["/api/trailers", "/api/late", "/api/overloaded"] {
        let answer = ask(&proxied.address, "GET", path, "TE: trailers\r\n", b"");
        assert!(answer.whole && answer.text() == "words", "{path}: {answer:?}");
        let first = if path == "/api/overloaded" { "HTTP/1.1 529 " } else { "HTTP/1.1 200 OK" };
        assert_eq!(answer.head[0], first);
    }
    proxied.settled(3);
    proxied.interrupt();
    let kept = kept(folder.path()).replace("\\\"", "\"");
    assert!(kept.contains("\"trailers\":[[\"x-sum\",\"42\"]]") && !kept.contains("\"cut\""), "{kept}");
}

#[test]
fn what_ends_before_its_length_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let proxied = trusting(folder.path(), short());
    let answer = ask(&proxied.address, "GET", "/api/x", "", b"");
    assert_eq!((answer.whole, answer.text().as_str()), (false, "words"));
    proxied.settled(1);
    proxied.interrupt();
    let kept = kept(folder.path()).replace("\\\"", "\"");
    assert!(kept.contains("\"cut\":\"upstream\"") && kept.contains("5 bytes before its"), "{kept}");
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
