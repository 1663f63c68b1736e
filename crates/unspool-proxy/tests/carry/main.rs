//! The proxy with an upstream and a recorder that do what a test wants.

#![expect(clippy::unwrap_used, reason = "tests may stop")]

mod calls;
mod limits;
mod requests;
mod running;
mod sockets;
