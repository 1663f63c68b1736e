//! Both ends of a `WebSocket`, by another implementation than the one that is tested.

#![expect(clippy::unwrap_used, reason = "a test fails where a socket does")]

use crate::PATIENCE;
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use tungstenite::{Message, WebSocket};

/// One end of a socket.
pub type Socket = WebSocket<TcpStream>;

/// An API that speaks over one socket; where it is.
pub fn api(speak: impl FnOnce(Socket) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        speak(tungstenite::accept(stream).unwrap());
    });
    address
}

/// Opens a socket with these headers beside the usual ones.
pub fn open(address: &str, path: &str, headers: &[(&str, &str)]) -> Socket {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let usual = [
        ("Host", "localhost"),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let mut request = tungstenite::http::Request::builder().uri(format!("ws://{address}{path}"));
    for (name, value) in usual.iter().chain(headers) {
        request = request.header(*name, *value);
    }
    tungstenite::client(request.body(()).unwrap(), stream).unwrap().0
}

/// Sends a message.
pub fn say(socket: &mut Socket, message: &Value) {
    socket.send(Message::text(message.to_string())).unwrap();
}

/// The next message that is text.
pub fn hear(socket: &mut Socket) -> Value {
    loop {
        let message = socket.read().unwrap();
        if message.is_text() {
            return serde_json::from_str(message.to_text().unwrap()).unwrap();
        }
    }
}

/// Closes it and waits for the other end to do so.
pub fn close(mut socket: Socket) {
    drop(socket.close(None));
    while socket.read().is_ok() {}
}
