//! Limits and times of the proxy.

use crate::running::{Running, ended, upstream, wait_for_end, whole};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use unspool_proxy::{Cut, Loss, Room, Routes, Seen, Upstream};
use unspool_testkit::PATIENCE;

#[test]
fn an_upstream_that_says_nothing_is_given_up() {
    let (told, heard) = ended();
    let address = upstream(move |stream| wait_for_end(stream, &told.lock().unwrap()));
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |options| {
        options.silence = Duration::from_millis(100);
    });
    let answer = running.get();
    assert!(answer.starts_with("HTTP/1.1 504 ") && answer.contains("upstream_timeout"), "{answer}");
    heard.recv_timeout(PATIENCE).unwrap();
    let Seen::Ended(_, response, failure) = running.keeper.last_over() else { unreachable!() };
    assert!(response.is_none());
    assert_eq!(failure.unwrap().sort, "timeout");
}

/// It takes the connection and never says who it is.
#[test]
fn an_upstream_that_does_not_shake_hands_is_unreachable() {
    let (told, heard) = ended();
    let address = upstream(move |stream| wait_for_end(stream, &told.lock().unwrap()));
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |options| {
        let secure = Upstream::parse(&format!("api=https://{address}")).unwrap();
        options.routes = Routes::new(vec![secure]).unwrap();
        options.connect = Duration::from_millis(100);
    });
    let answer = running.get();
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("upstream_unreachable"), "{answer}");
    assert!(answer.contains("no connection was made within 100ms"), "{answer}");
    heard.recv_timeout(PATIENCE).unwrap();
}

/// Those that come together wait for the connection of the first, but not for each other, one after the other.
#[test]
fn a_connection_that_never_comes_to_be_holds_up_nobody_for_long() {
    const CONNECT: Duration = Duration::from_secs(3);
    let address = upstream(|stream| while stream.read(&mut [0; 64]).is_ok_and(|n| n > 0) {});
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |options| {
        let secure = Upstream::parse(&format!("api=https://{address}")).unwrap();
        options.routes = Routes::new(vec![secure]).unwrap();
        options.connect = CONNECT;
    });
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| assert!(running.get().starts_with("HTTP/1.1 502 ")));
        }
    });
    assert!(began.elapsed() < CONNECT * 5, "six on each thread, of which there are four at most");
}

#[test]
fn the_usual_times_are_those_promised() {
    let address = upstream(|_| {});
    let running = Running::start(address, &Room::new(1, 1), |options| {
        assert_eq!((options.connect.as_secs(), options.silence.as_secs()), (10, 600));
    });
    running.stop();
}

#[test]
fn an_answer_that_stops_is_given_up() {
    let (told, heard) = ended();
    let address = upstream(move |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
        wait_for_end(stream, &told.lock().unwrap());
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |options| {
        options.silence = Duration::from_millis(100);
    });
    assert!(running.get().ends_with("\r\n\r\nhalf"));
    heard.recv_timeout(PATIENCE).unwrap();
    let Seen::Ended(_, response, failure) = running.keeper.last_over() else { unreachable!() };
    let response = response.unwrap();
    assert_eq!((response.cut, failure.unwrap().sort), (Some(Cut::Silence), "timeout"));
    assert_eq!(response.body.bytes, b"half");
}

/// Pieces come for longer than the silence that is allowed, one after the other.
#[test]
fn a_slow_drip_is_no_silence() {
    let address = upstream(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n").unwrap();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b"x").unwrap();
        }
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |options| {
        options.silence = Duration::from_millis(300);
    });
    assert!(running.get().ends_with(&"x".repeat(20)));
    let Seen::Ended(_, response, failure) = running.keeper.last_over() else { unreachable!() };
    assert_eq!((response.unwrap().cut, failure), (None, None));
}

#[test]
fn when_there_is_no_room_traffic_goes_on_and_losses_are_counted() {
    const MOST: u64 = 20_000;
    let body = "a".repeat(3000);
    let sent = whole(&body);
    let address = upstream(move |stream| drop(stream.write_all(&sent)));
    let running = Running::start(address, &Room::new(MOST, 1 << 20), |_| {});
    let answers: Vec<String> = (0..20).map(|_| running.get()).collect();
    assert!(answers.iter().all(|answer| answer.ends_with(&body)), "every answer is whole");
    let lost = running.room.lost(Loss::NoRoom);
    assert!(lost >= 15 && running.room.held() <= MOST, "{lost} {}", running.room.held());
    assert_eq!(running.room.lost_in_all(), lost);
    assert!(!answers[0].contains("x-unspool-recording"));
    assert!(
        answers[19].contains(&format!("x-unspool-recording: lost {lost}\r\n")),
        "{}",
        &answers[19][..200]
    );
    // When there is room again, it is used.
    running.keeper.0.lock().unwrap().clear();
    running.get();
    assert_eq!(running.room.lost(Loss::NoRoom), lost);
    drop(running.keeper.last_over());
}

/// Whoever sends so many keys may say any of them anywhere, and not everything can be looked through for all.
#[test]
fn what_has_more_secrets_than_can_be_looked_for_is_carried_and_not_recorded() {
    let sent = whole("key-00001a, you said");
    let address = upstream(move |stream| drop(stream.write_all(&sent)));
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    let keys = |count: usize| (0..count).map(|n| format!("key=key-{n:05}a")).collect::<Vec<_>>().join("&");
    let long = format!("Authorization: Bearer {}\r\n", "a1".repeat(40_000));
    for (keys, header) in [(keys(65), ""), (keys(4000), ""), (String::new(), long.as_str())] {
        let answer = running.get_at(&format!("/x?{keys}"), header);
        assert!(answer.ends_with("key-00001a, you said"), "{answer}");
    }
    assert_eq!((running.room.lost(Loss::ManySecrets), running.room.lost(Loss::LongSecrets)), (2, 1));
    assert!(running.keeper.0.lock().unwrap().is_empty(), "nothing of it is handed over");
    let answer = running.get_at(&format!("/x?{}", keys(64)), "");
    assert!(answer.ends_with("key-00001a, you said") && answer.contains("x-unspool-recording: lost 3"));
    assert_eq!(running.room.lost_in_all(), 3);
    let Seen::Ended(sent, _, _) = running.keeper.last_over() else { unreachable!() };
    assert!(!sent.path.contains("00001a"), "{}", sent.path);
}

#[test]
fn secrets_take_room_as_everything_does_that_is_held() {
    let sent = whole("ok");
    let address = upstream(move |stream| drop(stream.write_all(&sent)));
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    let held = |header: &str| {
        running.get_at("/x", header);
        let over = running.keeper.last_over();
        running.keeper.0.lock().unwrap().clear();
        let held = running.room.held();
        drop(over);
        held
    };
    // It is written in several ways, since it may be escaped.
    let key = "a1=".repeat(1000);
    let (with, without) = (held(&format!("X-Api-Key: {key}\r\n")), held(""));
    assert!(with - without > 2 * key.len() as u64, "{with} {without}");
}

#[test]
fn of_a_body_that_is_too_large_the_beginning_is_held() {
    let sent = whole(&"b".repeat(100_000));
    let address = upstream(move |stream| drop(stream.write_all(&sent)));
    let running = Running::start(address, &Room::new(1 << 20, 50_000), |_| {});
    assert!(running.get().ends_with("bbb"));
    let Seen::Ended(_, response, _) = running.keeper.last_over() else { unreachable!() };
    let body = response.unwrap().body;
    assert_eq!(body.bytes.len() as u64 + body.left_out, 100_000);
    assert!(body.bytes.len() <= 50_000 && body.left_out > 0);
    assert_eq!(running.room.lost(Loss::TooLarge), 1);
}

#[test]
fn what_does_not_end_in_time_is_cut_when_the_proxy_ends() {
    let (told, heard) = ended();
    let address = upstream(move |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").unwrap();
        wait_for_end(stream, &told.lock().unwrap());
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |options| {
        options.drain = Duration::from_millis(100);
    });
    let mut client = TcpStream::connect(running.address).unwrap();
    client.write_all(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 20]).unwrap();
    let keeper = Arc::clone(&running.keeper);
    running.stop();
    heard.recv_timeout(PATIENCE).unwrap();
    let Seen::Ended(_, response, _) = keeper.last_over() else { unreachable!() };
    assert_eq!(response.unwrap().cut, Some(Cut::Stopped));
}

#[test]
fn a_connection_that_the_upstream_has_closed_is_not_used_again() {
    let (told, heard) = ended();
    let address = upstream(move |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere").unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
        let _ = told.lock().unwrap().send(());
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    for _ in 0..20 {
        let answer = running.get();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("here"), "{answer}");
        heard.recv_timeout(PATIENCE).unwrap();
    }
}

/// A client that sends everything before it reads, and an upstream that answers while it reads.
#[test]
fn a_request_goes_on_while_nobody_reads_its_answer() {
    const BYTES: usize = 24 << 20;
    let address = upstream(|stream| {
        let mut answering = stream.try_clone().unwrap();
        let answering = std::thread::spawn(move || {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\nConnection: close\r\n\r\n");
            answering.write_all(head.as_bytes()).unwrap();
            answering.write_all(&vec![b'a'; BYTES]).unwrap();
        });
        while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}
        answering.join().unwrap();
    });
    let running = Running::start(address, &Room::new(1 << 20, 1 << 20), |_| {});
    let mut client = TcpStream::connect(running.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.set_write_timeout(Some(PATIENCE)).unwrap();
    let head = format!("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: {BYTES}\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    client.write_all(&vec![b'q'; BYTES]).unwrap();
    let mut answer = vec![0; BYTES];
    client.read_exact(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(b"aaaa"));
}
