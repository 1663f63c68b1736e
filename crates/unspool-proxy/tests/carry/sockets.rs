//! Connections that no longer speak HTTP: everything goes both ways as it came, and so does every end.

use crate::running::{Running, ended, upstream, wait_for_end};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use unspool_proxy::{Cut, Response, Room, Seen, Sent, Way, Went};
use unspool_testkit::PATIENCE;

const ASKED: &str = "GET /x/y?z=1 HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-KEY: abc\r\nAuthorization: Bearer sk-1\r\n\r\n";
const AGREED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nX-Mine: Y\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n";

fn start(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Running {
    Running::start(upstream(answer), &Room::new(1 << 20, 1 << 20), |_| {})
}

fn open(running: &Running) -> TcpStream {
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(ASKED.as_bytes()).unwrap();
    assert_eq!(head(&mut client), AGREED, "as the upstream said it");
    client
}

/// Reads the head of an answer and no more.
fn head(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut one = [0];
        client.read_exact(&mut one).unwrap();
        head.extend(one);
    }
    String::from_utf8(head).unwrap()
}

fn over(running: &Running) -> (Arc<Sent>, Response) {
    let Seen::Ended(sent, Some(response), _) = running.keeper.last_over() else { unreachable!() };
    (sent, *response)
}

/// Bytes that look like nothing.
fn noise(mut state: u64, bytes: usize) -> Vec<u8> {
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(bytes).collect()
}

#[test]
fn bytes_go_both_ways_at_a_time_as_they_came() {
    const BYTES: usize = 3 << 20;
    let (up, down) = (noise(1, BYTES), noise(2, BYTES));
    let (sent, expected) = (down.clone(), up.clone());
    let running = start(move |stream| {
        // What comes right behind the head is not part of it.
        let (first, rest) = sent.split_at(7);
        stream.write_all(&[AGREED.as_bytes(), first].concat()).unwrap();
        let mut to = stream.try_clone().unwrap();
        let rest = rest.to_vec();
        let sending = std::thread::spawn(move || to.write_all(&rest).unwrap());
        let mut heard = vec![0; BYTES];
        stream.read_exact(&mut heard).unwrap();
        assert!(heard == expected);
        sending.join().unwrap();
        stream.write_all(b"all came").unwrap();
    });
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    // Whoever is sure of the answer need not wait for it.
    client.write_all(&[ASKED.as_bytes(), &up[..9]].concat()).unwrap();
    assert_eq!(head(&mut client), AGREED);
    let mut to = client.try_clone().unwrap();
    let sending = std::thread::spawn(move || to.write_all(&up[9..]).unwrap());
    let mut heard = vec![0; BYTES];
    client.read_exact(&mut heard).unwrap();
    assert!(heard == down);
    sending.join().unwrap();
    let mut last = Vec::new();
    client.read_to_end(&mut last).unwrap();
    assert_eq!(last, b"all came");
    drop(client);
    let (_, response) = over(&running);
    let bytes = |went: [Went; 2]| went.map(|went| went.bytes);
    let all = [BYTES as u64, BYTES as u64 + 8];
    assert_eq!(bytes(*response.socket.unwrap()), all);
    assert_eq!(bytes(Way::ALL.map(|way| running.room.sockets.went(way))), all);
    assert_eq!((running.room.sockets.opened(), running.room.sockets.open()), (1, 0));
}

#[test]
fn the_upstream_is_asked_as_the_client_asked_and_nobody_keeps_the_key() {
    let (told, heard) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        told.lock().unwrap().send(head(&mut stream)).unwrap();
        stream.write_all(AGREED.as_bytes()).unwrap();
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    let mut client = open(&running);
    client.read_to_end(&mut Vec::new()).unwrap();
    drop(client);
    let asked = heard.recv_timeout(PATIENCE).unwrap();
    let mut lines: Vec<&str> = asked.trim_end().split("\r\n").collect();
    assert_eq!(lines.remove(0), "GET /x/y?z=1 HTTP/1.1");
    lines.sort_unstable();
    let host = format!("Host: {address}");
    assert_eq!(
        lines,
        [
            "Authorization: Bearer sk-1",
            "Connection: Upgrade",
            &host,
            "Sec-WebSocket-KEY: abc",
            "Sec-WebSocket-Version: 13",
            "Upgrade: WebSocket"
        ]
    );
    let (sent, response) = over(&running);
    assert_eq!((response.status.unwrap().as_u16(), response.cut), (101, None));
    let kept = sent.headers.iter().find(|(name, _)| name == "authorization").unwrap();
    assert!(kept.1.to_str().unwrap().starts_with("masked:"), "{kept:?}");
    assert!(response.headers.iter().any(|(name, value)| name == "x-mine" && value == "Y"));
}

#[test]
fn an_upstream_that_says_no_is_heard() {
    let said = "HTTP/1.1 426 Upgrade Required\r\nX-Why: Because\r\nContent-Length: 4\r\n\r\nhttp";
    let running = start(move |stream| stream.write_all(said.as_bytes()).unwrap());
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(ASKED.as_bytes()).unwrap();
    let mut heard = head(&mut client).into_bytes();
    let mut body = [0; 4];
    client.read_exact(&mut body).unwrap();
    heard.extend(body);
    assert_eq!(String::from_utf8(heard).unwrap(), said);
    let (_, response) = over(&running);
    assert_eq!((response.status.unwrap().as_u16(), &response.socket), (426, &None));
    assert_eq!((response.body.bytes.as_slice(), running.room.sockets.opened()), (&b"http"[..], 0));
}

#[test]
fn a_client_that_has_ended_still_hears() {
    let running = start(|stream| {
        stream.write_all(AGREED.as_bytes()).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"enough");
        stream.write_all(b"then this").unwrap();
    });
    let mut client = open(&running);
    client.write_all(b"enough").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"then this");
    assert_eq!(over(&running).1.cut, None);
}

/// A connection that is closed with something unread breaks off.
#[test]
fn who_breaks_off_is_known_to_the_other() {
    let (told, heard) = ended();
    let running = start(move |stream| {
        stream.write_all(&[AGREED.as_bytes(), b"unread"].concat()).unwrap();
        wait_for_end(stream, &told.lock().unwrap());
    });
    let client = open(&running);
    client.peek(&mut [0]).unwrap();
    drop(client);
    heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!(over(&running).1.cut, Some(Cut::Client));

    let running = start(|stream| {
        stream.write_all(&[AGREED.as_bytes(), b"half"].concat()).unwrap();
        stream.peek(&mut [0]).unwrap();
    });
    let mut client = open(&running);
    let mut half = [0; 4];
    client.read_exact(&mut half).unwrap();
    assert_eq!(&half, b"half");
    client.write_all(b"unread").unwrap();
    assert_eq!(client.read(&mut half).unwrap_or(0), 0, "nothing comes behind it");
    assert_eq!(over(&running).1.cut, Some(Cut::Upstream));
}

#[test]
fn a_socket_over_which_nothing_goes_is_closed() {
    let (told, heard) = ended();
    let answer = move |stream: &mut TcpStream| {
        stream.write_all(AGREED.as_bytes()).unwrap();
        wait_for_end(stream, &told.lock().unwrap());
    };
    let running = Running::start(upstream(answer), &Room::new(1 << 20, 1 << 20), |options| {
        options.idle = Duration::from_millis(300);
    });
    let mut client = open(&running);
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(20));
        client.write_all(b"x").unwrap();
    }
    assert_eq!(running.room.sockets.open(), 1, "what goes now and then is not nothing");
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!(over(&running).1.cut, Some(Cut::Silence));
}

#[test]
fn a_quiet_socket_does_not_keep_the_proxy_from_ending() {
    let (told, heard) = ended();
    let running = start(move |stream| {
        stream.write_all(AGREED.as_bytes()).unwrap();
        wait_for_end(stream, &told.lock().unwrap());
    });
    let _client = open(&running);
    let (keeper, began) = (Arc::clone(&running.keeper), std::time::Instant::now());
    running.stop();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    heard.recv_timeout(PATIENCE).unwrap();
    let Seen::Ended(_, response, _) = keeper.last_over() else { unreachable!() };
    assert_eq!(response.unwrap().cut, Some(Cut::Stopped));
}
