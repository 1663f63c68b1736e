//! The manual of the query language, written from the table that the parser reads by.
//!
//! In: the table of fields. Out: `docs/query.md`. Never here: a field that the parser does not know.

use super::ast::Choice;
use super::fields::{ChoiceField, FIELDS, Field, KIND_ALIASES, MARKS, Sort, TextField};
use super::parse::{MAX_BYTES, MAX_DEPTH};
use std::fmt::Write as _;

const HEAD: &str = r#"# The query language

A query says which steps are meant: `unspool query 'tool:Bash is:error under:agent:Explore'`. The grammar is the same
wherever a query may be given. This page is generated from the table the parser reads by (`cargo xtask docs`).

Conditions side by side must all hold. A word alone is looked for, whatever its case, in what a step is called, in its first
words, its intent and its error. An empty query means every step.

| to find | type |
|---|---|
| failed shell commands | `tool:Bash is:error` |
| what `Explore` agents and those below them did | `under:agent:Explore` |
| slow or expensive steps | `duration>1m or cost>0.50` |
| edits after which the tests failed | `tool:Edit,Write followed-by:(tool:Bash is:error test)` |
| agents that were started by a call that failed | `kind:agent_start spawned-by:is:error`, or `spawned-by:is:error` for their steps |
| links that are guessed, and not well | `is:inferred confidence<0.8` |
| everything that a result led to | `caused-by:id:toolu_01ABC` |
| words in messages, tool inputs or results | `text:"connection refused"` |
| where a client had its conversation shortened | `request:compaction` |
| the last two hours without the client's own work | `since:2h -is:internal -is:meta` |

## Grammar

```ebnf
query     = [ any ] ;
any       = all { "or" all } ;
all       = one { [ "and" ] one } ;
one       = ( "not" | "-" ) one | group | condition ;
group     = "(" any ")" ;
condition = text | choice | number | time | payload | relation | word | quoted ;
text      = field ( ":" | "=" | "~" ) value { "," value } ;
choice    = field ( ":" | "=" ) value { "," value } ;
number    = field [ ":" ] ( "<" | "<=" | ">" | ">=" | "=" | "!=" ) amount
          | field ":" amount ;
time      = field ( ":" | "=" ) moment ;
payload   = field ( ":" | "=" ) ( word | quoted ) ;
relation  = field ( ":" | "=" ) ( group | text | choice | number | time | payload | relation ) ;
value     = quoted | ? letters other than white space, "(", ")", '"' and "," ? ;
word      = ? letters other than white space, "(", ")" and '"', that are no keyword and begin no condition ? ;
quoted    = '"' { ? any letter ? | '\"' | "\\" } '"' ;
amount    = ? digits with "." and a unit: ms s m h d (also 1m30s) for times, k M G for counts, % for shares ? ;
moment    = ? 2026-01-18 | 2026-01-18T19:55 | RFC 3339 | a time for "so long ago" ; UTC where no zone is given ? ;
```

- Keywords (`and`, `or`, `not`) and names may be written in any case; to look for such a word, put it in quotes. `or` binds less than
  what stands side by side.
- `*` stands for any letters, `?` for one; in quotes they are letters. Names are compared as a whole (`tool:Bash` is not `BashOutput`),
  ids by their start (four letters at least); `~` looks anywhere inside (`model~opus`). Several values with commas: one of them.
- What is unknown is in no comparison: a step without a duration is neither in `duration<1s` nor in `duration>=1s`, but is in
  `-duration>=1s`.
- A day, minute or second is as long as it is: `after:2026-01-18` begins with the 19th, `since:2026-01-18` with the 18th.
- The shell has its own use for `*`, `>`, `(` and `"`: put the whole query in single quotes.
"#;

/// The page.
pub fn manual() -> String {
    let mut out = HEAD.to_string();
    let _ = writeln!(
        out,
        "- At most {MAX_DEPTH} conditions deep in each other (`max_query_depth`), at most {MAX_BYTES} bytes (`max_query_bytes`)."
    );
    table(&mut out, "Texts", "`:` the whole, `~` anywhere inside.", |sort| {
        matches!(sort, Sort::Text(field) if !field.is_prose()) || sort == Sort::Choice(ChoiceField::Kind)
    });
    table(&mut out, "Words in sentences", "Anywhere inside, whatever the case.", |sort| {
        matches!(sort, Sort::Text(field) if field.is_prose()) || sort == Sort::Payload
    });
    table(&mut out, "Numbers", "Compared with `<`, `<=`, `>`, `>=`, `=`, `!=`.", |sort| {
        matches!(sort, Sort::Number(_))
    });
    table(&mut out, "Times", "When the step began.", |sort| matches!(sort, Sort::Time(_)));
    table(
        &mut out,
        "Structure",
        "Behind the colon stands a condition with a field, or anything in parentheses; \"such a step\" is one for which it holds.",
        |sort| matches!(sort, Sort::Relation(_)),
    );
    table(&mut out, "Marks and edges", "One of a fixed list.", |sort| {
        matches!(
            sort,
            Sort::Choice(ChoiceField::Is | ChoiceField::Request | ChoiceField::Edge | ChoiceField::Rule)
        )
    });
    let _ = write!(out, "\n### Marks\n\n| `is:` | meaning |\n|---|---|\n");
    for (_, name, meaning) in MARKS {
        let _ = writeln!(out, "| `{name}` | {meaning} |");
    }
    let names = |field: ChoiceField| {
        let names = Choice::all(field).into_iter().map(|choice| format!("`{}`", choice.name()));
        names.collect::<Vec<_>>().join(", ")
    };
    let short = KIND_ALIASES.iter().map(|(alias, kind)| format!("`{alias}` for `{}`", kind.name()));
    let short = short.collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "\n`kind:` {}; also {short}.", names(ChoiceField::Kind));
    let _ = write!(
        out,
        "\n### Requests\n\nOf [recorded traffic](traffic.md).\n\n| `request:` | meaning |\n|---|---|\n"
    );
    for choice in Choice::all(ChoiceField::Request) {
        let about = if let Choice::Request(request) = choice { request.about() } else { "" };
        let _ = writeln!(out, "| `{}` | {about} |", choice.name());
    }
    let _ = writeln!(out, "\n`edge:` {}.", names(ChoiceField::Edge));
    let _ = writeln!(out, "\n`rule:` the rules of [linking.md](linking.md).");
    out
}

fn table(out: &mut String, heading: &str, about: &str, belongs: impl Fn(Sort) -> bool) {
    let _ =
        write!(out, "\n## {heading}\n\n{about}\n\n| field | also | meaning | example |\n|---|---|---|---|\n");
    for field in FIELDS.iter().filter(|field| belongs(field.sort)) {
        let also = field.aliases.iter().map(|alias| format!("`{alias}`")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "| `{}` | {also} | {} | `{}` |", field.name, meaning(field), field.example);
    }
}

fn meaning(field: &Field) -> String {
    match field.sort {
        Sort::Text(TextField::Id) => format!("{}, from 0", field.meaning),
        _ => field.meaning.to_string(),
    }
}
