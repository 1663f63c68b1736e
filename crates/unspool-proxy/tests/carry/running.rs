//! A proxy in this process, an upstream that answers as a test tells it to, and a recorder that keeps what it is given.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use unspool_proxy::{Failure, Masks, Options, Proxy, Recorder, Response, Room, Routes, Seen, Sent, Upstream};
use unspool_testkit::PATIENCE;

/// Keeps everything it is given, and so never gives room back.
#[derive(Default)]
pub(crate) struct Keeper(pub(crate) Mutex<Vec<Seen>>);

impl Recorder for Keeper {
    fn take(&self, seen: Seen) {
        self.0.lock().unwrap().push(seen);
    }
}

impl Keeper {
    /// So many exchanges that are over, in the order in which they ended.
    pub(crate) fn all_over(&self, count: usize) -> Vec<(Arc<Sent>, Option<Response>, Option<Failure>)> {
        let deadline = Instant::now() + PATIENCE;
        let is_over = |seen: &&Seen| matches!(seen, Seen::Ended(..));
        while self.0.lock().unwrap().iter().filter(is_over).count() < count {
            assert!(Instant::now() < deadline, "{:?}", self.0.lock().unwrap());
            std::thread::sleep(Duration::from_millis(2));
        }
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        let over = all.into_iter().filter_map(|seen| match seen {
            Seen::Ended(sent, response, failure) => Some((sent, response.map(|response| *response), failure)),
            Seen::Sent(_) => None,
        });
        over.collect()
    }

    /// The last exchange that is over.
    pub(crate) fn last_over(&self) -> Seen {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut all = self.0.lock().unwrap();
            if let Some(at) = all.iter().rposition(|seen| matches!(seen, Seen::Ended(..))) {
                return all.remove(at);
            }
            drop(all);
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Answers every connection with what `answer` writes after the head of a request.
pub(crate) fn upstream(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                if stream.read(&mut head).is_ok_and(|n| n > 0) {
                    answer(&mut stream);
                }
            });
        }
    });
    address
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) room: Arc<Room>,
    pub(crate) keeper: Arc<Keeper>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(upstream: SocketAddr, room: &Arc<Room>, set: impl FnOnce(&mut Options)) -> Running {
        let keeper = Arc::new(Keeper::default());
        let routes = Routes::new(vec![Upstream::parse(&format!("api=http://{upstream}")).unwrap()]).unwrap();
        let recorder: Arc<dyn Recorder> = Arc::clone(&keeper) as Arc<_>;
        let mut options = Options::new(routes, Masks::new([1; 32], Vec::new()), Arc::clone(room), recorder);
        set(&mut options);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (told, address) = channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                told.send(listener.local_addr().unwrap()).unwrap();
                Proxy::new(&options).unwrap().serve(listener, async { drop(stopped.await) }).await;
            });
        });
        Running {
            address: address.recv().unwrap(),
            room: Arc::clone(room),
            keeper,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn get(&self) -> String {
        self.get_at("/x", "")
    }

    /// With some headers, a line each.
    pub(crate) fn get_at(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n").unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8(answer).unwrap()
    }

    pub(crate) fn stop(mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

pub(crate) fn whole(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// Waits until the other side closes.
pub(crate) fn wait_for_end(stream: &mut TcpStream, ended: &Sender<()>) {
    while stream.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
    // Whoever waited for it may be gone.
    let _ = ended.send(());
}

pub(crate) fn ended() -> (Mutex<Sender<()>>, Receiver<()>) {
    let (sender, receiver) = channel();
    (Mutex::new(sender), receiver)
}
