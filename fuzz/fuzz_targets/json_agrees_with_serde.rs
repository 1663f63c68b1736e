//! What `serde_json` accepts, our reader accepts; what ours refuses, `serde_json` refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unspool_formats::Json;

fuzz_target!(|bytes: &[u8]| {
    let mut json = Json::new(bytes);
    let ours = json.skip().and_then(|()| json.end()).is_ok();
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    assert!(ours || !theirs);
    if theirs && let Ok(Some(text)) = Json::new(bytes).string() {
        let expected: Result<String, _> = serde_json::from_slice(bytes);
        if let Ok(expected) = expected {
            assert_eq!(text.decode(), expected);
        }
    }
});
