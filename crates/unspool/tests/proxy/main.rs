//! The real proxy between a client and an API of our own making: nothing is changed, and everything is recorded.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may stop")]

mod carrying;
mod client;
mod faults;
mod linking;
mod recording;
mod secrets;
mod secure;
mod sockets;
mod upstream;
