//! The made-up LLM API as a program, until it is ended.
//!
//! In: an address (default: a free port of this machine). Out: one line with the address, then answers.

use std::io::Write;
use std::process::ExitCode;
use unspool_testkit::model::{Model, Script};

fn main() -> ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let model = match Model::start(&address) {
        Ok(model) => model,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{address}: {error}");
            return ExitCode::from(1);
        }
    };
    let names: Vec<&str> = Script::all().iter().map(|script| script.name.as_str()).collect();
    let mut out = std::io::stdout();
    let _ = writeln!(out, "made-up model on http://{}; scripts: {}", model.address(), names.join(", "));
    let _ = out.flush();
    loop {
        std::thread::park();
    }
}
