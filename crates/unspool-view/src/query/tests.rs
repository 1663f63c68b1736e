//! The language as a whole: what is understood, what is refused and where, and that answers are what a slow reading gives.

use super::amount::{Amount, Moment, Precision};
use super::ast::{Choice, Compare};
use super::fields::{ChoiceField, FIELDS, Field, NumberField, Relation, Sort, TextField, TimeField};
use super::{MAX_DEPTH, Query, Value};
use proptest::prelude::*;
use unspool_model::Timestamp;

fn canonical(text: &str) -> String {
    match Query::parse(text) {
        Ok(query) => query.to_string(),
        Err(error) => panic!("{text}: {error:?}"),
    }
}

#[test]
fn what_is_typed_is_understood() {
    for (typed, meant) in [
        ("", ""),
        ("  tool:Bash   is:error ", "tool:Bash is:error"),
        ("tool:Bash AND is:error", "tool:Bash is:error"),
        ("a or b c", "a or (b c)"),
        ("(a or b) c", "(a or b) c"),
        ("not is:error", "-is:error"),
        ("-(a b)", "-(a b)"),
        ("under:agent:Explore", "under:agent:Explore"),
        ("under:spawned-by:tool:Task", "under:spawned-by:tool:Task"),
        ("followed-by:(tool:Bash is:error)", "followed-by:(tool:Bash is:error)"),
        ("under:(word)", "under:(word)"),
        ("type:tool,user", "kind:tool_call,user_message"),
        ("took:>5s", "duration>5s"),
        ("duration:5s", "duration=5s"),
        ("cost>$0.10", "cost>0.1"),
        ("confidence<80%", "confidence<0.8"),
        ("model~opus,\"so nnet\"", "model~opus,\"so nnet\""),
        ("\"and\" \"say \\\"hi\\\"\"", "\"and\" \"say \\\"hi\\\"\""),
        ("Tool=Bash", "tool:Bash"),
        ("spawned_by:is:error", "spawned-by:is:error"),
        ("tool:\"a*\"", "tool:\"a*\""),
        ("tool:a*", "tool:a*"),
        ("since:2026-01-18T19:55Z", "since:2026-01-18T19:55"),
        ("a-b", "a-b"),
        ("preview~x", "preview:x"),
    ] {
        assert_eq!(canonical(typed), meant, "{typed}");
        assert_eq!(canonical(meant), meant);
    }
}

/// The query with a line below it that points, and what is said.
fn refused(text: &str) -> String {
    let Err(error) = Query::parse(text) else { panic!("{text} is understood") };
    let marks = "^".repeat(text[error.at.clone()].chars().count().max(1));
    let hint = error.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
    format!("{text}\n{}{marks} {}{hint}", " ".repeat(error.column(text)), error.message)
}

#[test]
fn errors_point_at_the_character_and_say_what_was_expected() {
    for expected in [
        "tol:Bash\n^^^ there is no field `tol`\ndid you mean `tool`? To look for the words, type \"tol:Bash\"",
        "is:eror x\n   ^^^^ `is:` knows no `eror`\ndid you mean `error`?",
        "duration>5\n         ^ expected a time with its unit, such as 250ms, 5s, 1m30s, 2h or 1d",
        "duration>\n         ^ expected a time with its unit, such as 250ms, 5s, 1m30s, 2h or 1d behind `duration`\nfor example duration>5s",
        "tool>5\n    ^ expected `:` behind `tool`\nfor example tool:mcp__*",
        "(a b\n^ `(` is not closed\nput a `)` behind its last condition",
        "a) b\n ^ `)` closes nothing\nremove it, or put a `(` before",
        "ü \"x\n  ^ the quote is not closed\nput a `\"` behind the words",
        "a or\n    ^ expected a condition such as `tool:Bash` or a word",
        "or a\n^^ expected a condition such as `tool:Bash` or a word, not `or`\nto look for the word, type \"or\"",
        "under:Explore\n      ^^^^^^^ expected a condition behind `under:`\nunder:agent:Explore, under:tool:Explore, or under:(Explore) for the word",
        "after:yesterday\n      ^^^^^^^^^ expected a moment, such as 2026-01-18, 2026-01-18T19:55, 2026-01-18T19:55:26Z, or 2h for two hours ago",
        "a - b\n  ^ `-` must stand right before what it negates\nto look for a `-`, type \"-\"",
        "tool:\n     ^ expected a word or \"words in quotes\" behind `tool`\nfor example tool:mcp__*",
    ] {
        let query = expected.lines().next().unwrap();
        assert_eq!(refused(query), expected);
    }
}

#[test]
fn depth_is_limited_by_name() {
    let fits = format!("{}a{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
    assert!(Query::parse(&fits).is_ok());
    for deep in
        ["(".repeat(100_000), "-".repeat(60_000) + "a", "under:".repeat(10_000), "not ".repeat(16_000)]
    {
        let error = Query::parse(&deep).unwrap_err().message;
        assert!(error.contains("max_query_depth") || error.contains("max_query_bytes"), "{error}");
    }
}

#[test]
fn every_example_of_the_table_is_understood() {
    for Field { name, example, aliases, .. } in FIELDS {
        let shown = canonical(example);
        assert!(shown.contains(name), "{name}: {shown}");
        for alias in *aliases {
            assert!(super::fields::field(alias).is_some_and(|field| field.name == *name));
        }
    }
    let page = super::manual();
    for Field { name, .. } in FIELDS {
        assert!(page.contains(&format!("\n| `{name}` |")), "{name}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-zA-Z0-9_./@#]{1,8}".prop_map(|text| Value::typed(&text)),
        "[a-z]{0,3}[*?][a-z*]{0,3}".prop_map(|text| Value::typed(&text)),
        "[\\PC ]{1,8}".prop_map(|text| Value::quoted(&text)),
        "(and|OR|not|-x|a,b|x\\\\|\"|tool:x)".prop_map(|text| Value::quoted(&text)),
    ]
}

fn field_of<T: Copy + std::fmt::Debug + 'static>(pick: fn(Sort) -> Option<T>) -> impl Strategy<Value = T> {
    prop::sample::select(FIELDS.iter().filter_map(|field| pick(field.sort)).collect::<Vec<T>>())
}

fn conditions() -> impl Strategy<Value = Query> {
    let texts: fn(Sort) -> Option<TextField> =
        |sort| if let Sort::Text(field) = sort { Some(field) } else { None };
    let choices: fn(Sort) -> Option<ChoiceField> =
        |sort| if let Sort::Choice(field) = sort { Some(field) } else { None };
    let numbers: fn(Sort) -> Option<NumberField> =
        |sort| if let Sort::Number(field) = sort { Some(field) } else { None };
    let times: fn(Sort) -> Option<TimeField> =
        |sort| if let Sort::Time(field) = sort { Some(field) } else { None };
    let precise = prop::sample::select(vec![
        (Precision::Day, 86_400_000_i64),
        (Precision::Minute, 60_000),
        (Precision::Second, 1_000),
        (Precision::Instant, 1),
    ]);
    let moments = prop_oneof![
        (precise, 0_i64..4_000_000_000_000)
            .prop_map(|((precision, ms), at)| Moment::At(Timestamp::from_ms(at / ms * ms), precision)),
        any::<u32>().prop_map(|ms| Moment::Ago(ms.into())),
    ];
    let compares = prop::sample::select(Compare::ALL.map(|(compare, _)| compare).to_vec());
    prop_oneof![
        values().prop_map(Query::Words),
        values().prop_map(Query::Payload),
        (field_of(texts), any::<bool>(), prop::collection::vec(values(), 1..3)).prop_map(
            |(field, inside, values)| Query::Text { field, inside: inside || field.is_prose(), values }
        ),
        (field_of(choices), any::<prop::sample::Index>()).prop_map(|(field, index)| {
            let all = Choice::all(field);
            Query::Choice(field, vec![all[index.index(all.len())]])
        }),
        (field_of(numbers), compares, any::<u64>().prop_map(Amount))
            .prop_map(|(field, compare, amount)| Query::Number(field, compare, amount)),
        (field_of(times), moments).prop_map(|(field, moment)| Query::Time(field, moment)),
    ]
}

pub(super) fn queries() -> impl Strategy<Value = Query> {
    let relations: fn(Sort) -> Option<Relation> =
        |sort| if let Sort::Relation(relation) = sort { Some(relation) } else { None };
    conditions().prop_recursive(6, 24, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Query::All),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Query::Any),
            inner.clone().prop_map(|query| Query::Not(Box::new(query))),
            (field_of(relations), inner)
                .prop_map(|(relation, query)| Query::Related(relation, Box::new(query))),
        ]
    })
}

proptest! {
    #[test]
    fn a_query_as_text_is_the_same_query(query in queries()) {
        let text = query.to_string();
        prop_assert_eq!(Query::parse(&text), Ok(query), "{}", text);
    }

    #[test]
    fn any_text_is_understood_or_refused_at_a_place_in_it(
        text in prop_oneof!["\\PC{0,40}", "[a-z :(),\"\\\\<>=~!.0-9*-]{0,60}", "((under|is|tool|not|or|-|\\(|\\)|:|\"|duration|>|5s| ){0,20})"]
    ) {
        match Query::parse(&text) {
            Ok(query) => {
                let shown = query.to_string();
                prop_assert_eq!(Query::parse(&shown), Ok(query), "{}", shown);
            }
            Err(error) => prop_assert!(text.get(error.at.clone()).is_some(), "{error:?}"),
        }
    }
}
