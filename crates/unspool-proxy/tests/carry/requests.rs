//! Requests that have no end.

use crate::running::{Running, upstream};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use unspool_proxy::{Cut, Room, Seen};
use unspool_testkit::PATIENCE;

/// What a client is told that ends its side of the connection behind this.
fn told(running: &Running, said: &str) -> String {
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(said.as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    drop(client.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_request_that_breaks_off_is_the_clients_doing() {
    let address = upstream(|stream| while stream.read(&mut [0; 64]).is_ok_and(|n| n > 0) {});
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    for (headers, body, kept) in [
        ("Content-Length: 1000", "abc", "abc"),
        ("Transfer-Encoding: chunked", "3\r\nabc\r\n", "abc"),
        ("Transfer-Encoding: chunked", "3\r\nabc\r\nzz\r\n", "abc"),
    ] {
        let said = format!("POST /x HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n{body}");
        let answer = told(&running, &said);
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("broken_request"), "{answer}");
        let Seen::Ended(sent, response, failure) = running.keeper.last_over() else { unreachable!() };
        let response = response.unwrap();
        assert_eq!((response.cut, response.status, failure), (Some(Cut::Client), None, None), "{body}");
        assert_eq!(sent.body.bytes, kept.as_bytes());
    }
}

/// The upstream answers before it has the request, and its answer ends with it.
#[test]
fn an_early_answer_that_ends_with_the_request_is_cut_by_the_client() {
    let address = upstream(|stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
        while stream.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let said = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    client.write_all(said).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"half") {
        let mut piece = [0; 64];
        let n = client.read(&mut piece).unwrap();
        assert!(n > 0);
        answer.extend_from_slice(&piece[..n]);
    }
    client.write_all(b"zz\r\n").unwrap();
    drop(client.read_to_end(&mut answer));
    let Seen::Ended(_, response, failure) = running.keeper.last_over() else { unreachable!() };
    assert_eq!((response.unwrap().cut, failure), (Some(Cut::Client), None));
}
