//! How a command ended: the exit code that a tool's result states, wherever its agent writes it.
//!
//! In: a result. Out: the code, if one is stated; any but 0 is an error, also where the agent calls the call a success.

use crate::object::Object;
use memchr::memmem;
use std::borrow::Cow;

/// Whether a stated code tells of a failure.
pub(crate) fn failed(code: Option<i64>) -> bool {
    code.is_some_and(|code| code != 0)
}

/// The code among the fields of a result, or of what it says about itself.
pub(crate) fn of_object(result: &Object<'_>) -> Option<i64> {
    let own = |object: &Object<'_>| {
        let number = ["exit_code", "exitCode", "exit"].iter().find_map(|key| object.int(key));
        number.or_else(|| last_number(&object.text("exit_status")))
    };
    own(result).or_else(|| own(&result.object("metadata"))).or_else(|| own(&result.object("metrics")))
}

/// The code in a text that is an object.
pub(crate) fn of_json(text: &str) -> Option<i64> {
    let is_object = text.trim_start().starts_with('{');
    is_object.then(|| of_object(&Object::of(text.as_bytes()))).flatten()
}

/// The code in the lines that a shell tool puts before the output, or in a text that is an object.
pub(crate) fn in_head(text: &str) -> Option<i64> {
    const LINE: &[u8] = b"Process exited with code ";
    if text.starts_with('{') {
        return of_json(text);
    }
    let head = &text.as_bytes()[..text.len().min(HEAD_BYTES)];
    let found = memmem::find(head, LINE).map(|at| at + LINE.len());
    let start = found.or_else(|| head.starts_with(b"Exit code: ").then_some(11))?;
    let digits = &head[start..];
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
    std::str::from_utf8(&digits[..len]).ok()?.parse().ok()
}

/// How far the lines before an output reach.
const HEAD_BYTES: usize = 400;

/// The code in the lines that a shell tool puts behind the output.
pub(crate) fn in_tail(output: &str) -> Option<i64> {
    const TRAILERS: [&str; 5] =
        ["Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    if let Some(line) = last.strip_prefix('<').and_then(|line| line.strip_suffix('>')) {
        return line.split_once(" completed with exit code ")?.1.trim().parse().ok();
    }
    let mut trailers =
        output.lines().rev().take_while(|line| TRAILERS.iter().any(|start| line.starts_with(start)));
    trailers.find_map(|line| line.strip_prefix("Exit Code: "))?.trim().parse().ok()
}

/// `exit status: 2` or `2`; a signal is a failure without a number.
fn last_number(status: &str) -> Option<i64> {
    let word = status.rsplit(' ').next().filter(|word| !word.is_empty())?;
    Some(word.parse().unwrap_or(-1))
}

/// What a failed command printed, without what its tool wrote around it; all of it where it printed nothing.
pub(crate) fn complaint(text: &str) -> Cow<'_, str> {
    if text.starts_with('{') {
        let result = Object::of(text.as_bytes());
        let printed = ["error", "stderr", "output"].iter().map(|key| result.text(key).trim().to_string());
        return printed.into_iter().find(|printed| !printed.is_empty()).map_or(text.into(), Cow::Owned);
    }
    let printed =
        text.split_once("Output:\n").filter(|(head, _)| head.len() < HEAD_BYTES && failed(in_head(head)));
    printed.map(|(_, printed)| printed.trim()).filter(|printed| !printed.is_empty()).unwrap_or(text).into()
}

#[cfg(test)]
mod tests {
    use super::{complaint, in_head, in_tail, of_object};
    use crate::object::Object;

    #[test]
    fn what_a_failed_command_printed() {
        let head = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\n";
        assert_eq!(complaint(&format!("{head}Output:\nno such file\n")), "no such file");
        assert_eq!(complaint(&format!("{head}Output:\n")), format!("{head}Output:\n"));
        assert_eq!(complaint(r#"{"output":"bad\n","metadata":{"exit_code":1}}"#), "bad");
        assert_eq!(complaint(r#"{"output":"half","exit_code":1,"error":"killed"}"#), "killed");
        assert_eq!(complaint("plain"), "plain");
    }

    #[test]
    fn codes_before_the_output() {
        assert_eq!(in_head("Chunk ID: 1\nProcess exited with code 2\nOutput:"), Some(2));
        assert_eq!(in_head("Exit code: 127\nWall time: 0"), Some(127));
        assert_eq!(in_head(r#"{"output":"","metadata":{"exit_code":1}}"#), Some(1));
        assert_eq!(in_head("Process exited with code 0"), Some(0));
        assert_eq!(in_head("it says code 3"), None);
    }

    #[test]
    fn codes_behind_the_output() {
        assert_eq!(in_tail("Output: (empty)\nExit Code: 1\nProcess Group PGID: 7"), Some(1));
        assert_eq!(
            in_tail(
                "Command: x\nOutput: bad\nError: (none)\nExit Code: 2\nSignal: 0\nBackground PIDs: (none)"
            ),
            Some(2)
        );
        assert_eq!(in_tail("Output: fine\nProcess Group PGID: 7"), None);
        assert_eq!(in_tail("Exit Code: 1\nOutput: a log that was read\nProcess Group PGID: 7"), None);
        assert_eq!(in_tail("Output: x\nExit Code: (none)"), None);
        assert_eq!(in_tail("gone\n<shellId: 0 completed with exit code 1>"), Some(1));
        assert_eq!(in_tail("<shellId: 0 completed with exit code 1>\nand more"), None);
    }

    #[test]
    fn codes_among_fields() {
        let code = |text: &str| of_object(&Object::of(text.as_bytes()));
        assert_eq!(code(r#"{"exit_code":2}"#), Some(2));
        assert_eq!(code(r#"{"stdout":"","exitCode":0}"#), Some(0));
        assert_eq!(code(r#"{"output":"x","metadata":{"exit":1}}"#), Some(1));
        assert_eq!(code(r#"{"metrics":{"commandTimeout":30000,"exit_code":1}}"#), Some(1));
        assert_eq!(code(r#"{"exit_status":"exit status: 0"}"#), Some(0));
        assert_eq!(code(r#"{"exit_status":"signal: killed"}"#), Some(-1));
        assert_eq!(code(r#"{"exit":"stage left"}"#), None);
        assert_eq!(code(r#"{"output":"x"}"#), None);
    }
}
