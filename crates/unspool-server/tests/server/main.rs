//! The server from outside: requests over a socket, answers, and what is kept of them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod asking;
mod damage;
mod guard;
mod hooks;
mod links;
mod listening;
mod lists;
mod looking;
mod nonsense;
mod otlp;
mod overload;
mod page;
mod report;
mod running;
mod searching;
mod thoughtflow;
mod upload;
mod usage;
mod waiting;
