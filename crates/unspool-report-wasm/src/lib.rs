//! What the page of a report calls: memory for what it hands over, opening, and asking.
//!
//! In: the bytes of a report, then questions as addresses. Out: a status; the answer lies in memory, behind two lines that say its media type
//! and the name of its file. Never here: what an answer is.

#![expect(unsafe_code, reason = "a page calls by fixed names and shares memory by address")]
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only a page calls"))]

use std::cell::RefCell;
use unspool_model::Timestamp;
use unspool_report::Opened;

thread_local! {
    /// What the page handed over last.
    static GIVEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OPENED: RefCell<Option<Opened>> = const { RefCell::new(None) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for so many bytes; the page writes them there before it calls `open` or `ask`.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    GIVEN.with_borrow_mut(|given| {
        *given = vec![0; bytes];
        given.as_mut_ptr()
    })
}

/// Opens the report that was handed over: 200, or 500 with a sentence as the answer.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> u32 {
    let bytes = GIVEN.take();
    match Opened::read(bytes) {
        Ok(opened) => {
            OPENED.set(Some(opened));
            200
        }
        Err(error) => {
            ANSWER.set(format!("text/plain\n\n{error}").into_bytes());
            500
        }
    }
}

/// Answers the address that was handed over; the status of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn ask(now_ms: f64) -> u32 {
    let address = GIVEN.take();
    let address = String::from_utf8_lossy(&address);
    #[expect(clippy::cast_possible_truncation, reason = "a moment in milliseconds is a whole number")]
    let now = Timestamp::from_ms(now_ms as i64);
    OPENED.with_borrow(|opened| {
        let Some(opened) = opened else { return 503 };
        let told = opened.ask(&address, now);
        let mut answer = format!("{}\n{}\n", told.media, told.file.unwrap_or_default()).into_bytes();
        answer.extend_from_slice(&told.body);
        ANSWER.set(answer);
        u32::from(told.status)
    })
}

/// Where the answer lies.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(Vec::as_ptr)
}

/// How long it is.
#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    ANSWER.with_borrow(Vec::len)
}
