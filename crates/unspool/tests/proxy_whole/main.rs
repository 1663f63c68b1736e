//! The proxy and what is around it as processes of their own, against a made-up LLM API: what a client gets, what is kept, what is given again.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may stop")]

mod again;
mod carried;
mod process;
mod run;
