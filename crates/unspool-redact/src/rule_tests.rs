//! What rules of a user's own mask, and that JSON stays JSON.

use super::{Masker, Room, Rules};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn masked(rules: &[(&str, &str)], text: &str) -> (String, Vec<(String, u64)>) {
    let mut masker = Masker::with_rules(Rules::new(rules.iter().copied()).unwrap());
    let masked = masker.mask(text.as_bytes(), Room::Any).unwrap_or_else(|| text.into());
    let counts = masker.counts().map(|(name, count)| (name.to_string(), count)).collect();
    (String::from_utf8(masked).unwrap(), counts)
}

const CUSTOMER: (&str, &str) = ("customer", r"\bCUST-\d+");

#[test]
fn what_fits_is_masked_wherever_it_stands() {
    for (text, expected) in [
        (
            r#"{"a":"CUST-12 and CUST-12","b":["CUST-3"]}"#,
            r#"{"a":"[redacted:1] and [redacted:1]","b":["[redacted:2]"]}"#,
        ),
        (
            r#"{"CUST-12":{"a":"line\nCUST-3\"\u00e9"}}"#,
            r#"{"[redacted:1]":{"a":"line\n[redacted:2]\"\u00e9"}}"#,
        ),
        (r#"{"a":"{\"b\":\"CUST-12\"}"}"#, r#"{"a":"{\"b\":\"[redacted:1]\"}"}"#),
        (r#"{"a":"\u0043UST-\u0031"}"#, r#"{"a":"[redacted:1]"}"#),
        (
            "data: {\"a\":\"CUST-12\"}\n\nevent: CUST-3\n",
            "data: {\"a\":\"[redacted:1]\"}\n\nevent: [redacted:2]\n",
        ),
        (
            "{\n  \"a\": \"CUST-12\"\n}\n{\"b\":\"CUST-3\"}\n",
            "{\n  \"a\": \"[redacted:1]\"\n}\n{\"b\":\"[redacted:2]\"}\n",
        ),
        ("Of CUST-12, \"CUST-3\"", "Of [redacted:1], \"[redacted:2]\""),
        (r#"{"a":"cut off CUST-12"#, r#"{"a":"cut off [redacted:1]"#),
        (
            "broken {\"a\":\"CUST-12\",}\n{\"b\":\"CUST-3\"}",
            "broken {\"a\":\"[redacted:1]\",}\n{\"b\":\"[redacted:2]\"}",
        ),
    ] {
        let count = expected.matches("[redacted:").count() as u64;
        assert_eq!(masked(&[CUSTOMER], text), (expected.to_string(), vec![("customer".to_string(), count)]));
    }
}

#[test]
fn the_first_group_is_the_secret_if_there_is_one() {
    let rule = [("pin", r#"(?i)pin[": ]+(\d{4})"#)];
    assert_eq!(masked(&rule, r#"{"a":"My PIN: 1234"}"#).0, r#"{"a":"My PIN: [redacted:1]"}"#);
    assert_eq!(masked(&rule, r#"{"a":"{\"pin\": \"1234\"}"}"#).0, r#"{"a":"{\"pin\": \"[redacted:1]\"}"}"#);
}

#[test]
fn numbers_are_masked_and_json_stays_json() {
    let rule = [("card", r"\d{6,}")];
    assert_eq!(
        masked(&rule, r#"{"card":4111111111,"n":-12,"x":[1e5]}"#).0,
        r#"{"card":"[redacted:1]","n":-12,"x":[1e5]}"#
    );
    let same = Masker::with_rules(Rules::new([("digit", r"\d")]).unwrap())
        .mask(br#"{"a":1,"b":12,"c":"3"}"#, Room::Same);
    assert_eq!(String::from_utf8(same.unwrap()).unwrap(), r#"{"a":0,"b":"","c":"*"}"#);
}

#[test]
fn rules_and_kinds_stand_side_by_side_and_tags_are_not_masked_again() {
    let key = format!("sk-ant-{}", "a1B2c3D4e5".repeat(4));
    let rules = [CUSTOMER, ("digit", r"\d"), ("word", "redacted")];
    let (once, counts) = masked(&rules, &format!("{{\"a\":\"CUST-12 7 {}\"}}", "x"));
    assert_eq!(once, r#"{"a":"[redacted:1] [redacted:2] x"}"#);
    assert_eq!(counts, [("customer".to_string(), 1), ("digit".to_string(), 1)]);
    assert_eq!(masked(&rules, &once).0, once);
    let (both, counts) = masked(&[CUSTOMER], &format!("CUST-12 {key}"));
    assert_eq!((both.as_str(), counts.len()), ("[redacted:1] [redacted:2]", 2));
}

#[test]
fn where_rules_overlap_nothing_of_either_is_left() {
    let rules = [("one", "abc"), ("two", "bcde"), ("three", "cd")];
    assert_eq!(masked(&rules, "xabcdex").0, "x[redacted:1][redacted:2]x");
}

#[test]
fn rules_that_cannot_work_are_refused_by_name() {
    let why = |rules: &[(&str, &str)]| Rules::new(rules.iter().copied()).unwrap_err().to_string();
    assert_eq!(why(&[("open", "(a")]), "the rule `open` has a pattern that cannot be read: unclosed group");
    assert!(why(&[("back", r"(a)\1")]).contains("`back`"));
    assert!(why(&[("none", "a*")]).contains("`none` also fits where nothing is"));
    assert!(why(&[("big", r"\w{1000}{1000}")]).contains("max_redact_rule_bytes"));
    assert!(why(&[("a", "a"), ("a", "b")]).contains("`a` has the name of another one"));
    assert!(why(&[("openai-key", "a")]).contains("has the name of another one"));
    assert!(why(&[("my rule", "a")]).contains("name without spaces"));
    assert!(Rules::new([]).unwrap().is_empty());
}

#[test]
fn long_and_broken_texts_take_time_in_proportion() {
    let rules = Rules::new([CUSTOMER]).unwrap();
    let mut masker = Masker::with_rules(rules);
    for text in [
        "[1,\n".repeat(200_000) + "}",
        "\\\"".repeat(400_000),
        format!("{{\"a\":\"{}\"}}", "CUST-1 \\n".repeat(50_000)),
    ] {
        let began = text.len();
        let masked = masker.mask(text.as_bytes(), Room::Same);
        assert!(masked.is_none_or(|masked| masked.len() == began));
    }
}

/// Values with every sort of character in their strings.
fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-e0-3 \"\\\\/\n\t\u{e9}\u{1F600}]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| json!(f64::from(number) / 8.0)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    text.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-e\"\\\\\u{e9}]{0,3}", inner.clone(), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            // JSON in a string, as arguments of calls are.
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

/// Patterns that go for everything JSON is written with.
fn patterns() -> impl Strategy<Value = Vec<&'static str>> {
    let some = vec![
        r"\d",
        r"\d+",
        r"[a-z]+",
        r".",
        r".+",
        r"(?s).+",
        r"\w\W",
        r#"""#,
        r#"["\\]+"#,
        r"\\",
        r"n",
        r"u0*",
        r"e9",
        r"[^a]",
        r"a(b|.)c?",
        r"(?i)E",
        r"é",
        r"\s+",
        r"\bd",
        r"[{}\[\],:]",
        r"^.",
        r".$",
        r"t(r)?u",
        r"null",
        r"-",
        r"[\x00-\x1f]",
        r"redacted",
        r"\]",
    ];
    proptest::collection::vec(proptest::sample::select(some), 1..4)
}

/// The same JSON with some of its characters written as escapes.
fn escaped(text: &str, which: u32) -> String {
    let mut inside = false;
    let mut before = ' ';
    let mut out = String::new();
    for (n, c) in (0_u32..).zip(text.chars()) {
        let is_plain = inside && before != '\\' && c != '"' && c != '\\';
        if is_plain && (n ^ which).is_multiple_of(3) && !(before == 'u' || c.is_ascii_hexdigit()) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        if c == '"' && before != '\\' {
            inside = !inside;
        }
        before = if before == '\\' && c == '\\' { ' ' } else { c };
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn json_stays_json(value in values(), patterns in patterns(), which in any::<u32>(), pretty in any::<bool>()) {
        let names: Vec<String> = (0..patterns.len()).map(|n| format!("rule-{n}")).collect();
        let rules = Rules::new(names.iter().map(String::as_str).zip(patterns.iter().copied())).unwrap();
        // A value that is no object or list is text as any other.
        let value = json!({"v": value});
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let text = escaped(&text, which);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value, "the test writes JSON");
        for room in [Room::Any, Room::Same] {
            let mut masker = Masker::with_rules(rules.clone());
            let one = masker.mask(text.as_bytes(), room).unwrap_or_else(|| text.clone().into());
            prop_assert!(serde_json::from_slice::<Value>(&one).is_ok(), "{}\n{}", text, String::from_utf8_lossy(&one));
            prop_assert!(room == Room::Any || one.len() == text.len());
            // Lines of JSON, one of them broken; an event stream.
            let line = value.to_string();
            for (before, after) in [("{\"x\":}\n", "\n{\"y\":1}\n"), ("data: ", "\n\n")] {
                let many = masker.mask(format!("{before}{line}{after}").as_bytes(), room);
                let many = many.unwrap_or_else(|| format!("{before}{line}{after}").into());
                let many = String::from_utf8(many).unwrap();
                let open = many.find("{\"").unwrap();
                let second = if before == "data: " { many[open..].lines().next() } else { many.lines().nth(1) };
                prop_assert!(serde_json::from_str::<Value>(second.unwrap()).is_ok(), "{}\n{}", line, many);
            }
        }
    }

    #[test]
    fn any_bytes_keep_their_length(bytes in any::<Vec<u8>>(), patterns in patterns()) {
        let names: Vec<String> = (0..patterns.len()).map(|n| format!("rule-{n}")).collect();
        let rules = Rules::new(names.iter().map(String::as_str).zip(patterns.iter().copied())).unwrap();
        let masked = Masker::with_rules(rules).mask(&bytes, Room::Same);
        prop_assert!(masked.is_none_or(|masked| masked.len() == bytes.len()));
    }
}
