//! Text to a query.
//!
//! In: what was typed. Out: a query, or the place that was not understood. Never here: a panic, or more depth than
//! [`MAX_DEPTH`].

use super::amount::{Amount, MOMENT, Moment, expected};
use super::ast::{Choice, Compare, Query, Value, is_keyword};
use super::error::{QueryError, nearest, nearest_field};
use super::fields::{ChoiceField, FIELDS, Field, KIND_ALIASES, Sort, TextField, field, spelled};

/// How deep conditions may lie in each other (`max_query_depth`).
pub const MAX_DEPTH: usize = 64;

/// How long a query may be, in bytes (`max_query_bytes`).
pub const MAX_BYTES: usize = 64 * 1024;

impl Query {
    /// Reads a query; an empty one selects everything.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        if text.len() > MAX_BYTES {
            let message = format!("the query is longer than {MAX_BYTES} bytes (max_query_bytes)");
            return Err(QueryError::new(0..0, message));
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        parser.skip_space();
        if parser.rest().is_empty() {
            return Ok(Query::Everything);
        }
        let query = parser.any()?;
        if parser.rest().starts_with(')') {
            let at = parser.at..parser.at + 1;
            return Err(QueryError::new(at, "`)` closes nothing").hint("remove it, or put a `(` before"));
        }
        Ok(query)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// Whether a character ends a word.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '"')
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    /// The bytes up to the first character that ends it.
    fn until(&self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or("")
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let word = self.until(ends_word);
        let is_next = word.eq_ignore_ascii_case(keyword);
        if is_next {
            self.at += word.len();
            self.skip_space();
        }
        is_next
    }

    /// Goes one level deeper for as long as `inner` takes.
    fn deeper(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Query, QueryError>,
    ) -> Result<Query, QueryError> {
        if self.depth >= MAX_DEPTH {
            let message =
                format!("conditions lie more than {MAX_DEPTH} deep in each other (max_query_depth)");
            return Err(QueryError::new(self.at..self.at, message));
        }
        self.depth += 1;
        let query = inner(self);
        self.depth -= 1;
        query
    }

    /// `all { "or" all }`
    fn any(&mut self) -> Result<Query, QueryError> {
        let mut parts = vec![self.all()?];
        while self.eat_keyword("or") {
            parts.push(self.all()?);
        }
        Ok(joined(parts, Query::Any))
    }

    /// `one { [ "and" ] one }`
    fn all(&mut self) -> Result<Query, QueryError> {
        let mut parts = vec![self.one()?];
        loop {
            let is_end = self.rest().is_empty() || self.rest().starts_with(')');
            if !self.eat_keyword("and") && (is_end || self.until(ends_word).eq_ignore_ascii_case("or")) {
                return Ok(joined(parts, Query::All));
            }
            parts.push(self.one()?);
        }
    }

    /// `( "not" | "-" ) one | "(" any ")" | condition`, and the space behind it.
    fn one(&mut self) -> Result<Query, QueryError> {
        let query = if self.eat_keyword("not") || self.eat("-") {
            if self.rest().starts_with(char::is_whitespace) {
                let message = "`-` must stand right before what it negates";
                return Err(
                    QueryError::new(self.at - 1..self.at, message).hint("to look for a `-`, type \"-\"")
                );
            }
            self.deeper(|parser| Ok(Query::Not(Box::new(parser.one()?))))?
        } else if self.rest().starts_with('(') {
            self.group()?
        } else {
            self.condition()?
        };
        self.skip_space();
        Ok(query)
    }

    fn group(&mut self) -> Result<Query, QueryError> {
        let open = self.at;
        self.at += 1;
        self.skip_space();
        let query = self.deeper(Parser::any)?;
        if !self.eat(")") {
            return Err(QueryError::new(open..open + 1, "`(` is not closed")
                .hint("put a `)` behind its last condition"));
        }
        Ok(query)
    }

    /// A field with its value, or words.
    fn condition(&mut self) -> Result<Query, QueryError> {
        let start = self.at;
        let name = self.until(|c| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        let behind = self.text.get(start + name.len()..).unwrap_or("");
        let is_field = behind.starts_with([':', '~', '<', '>', '=']) || behind.starts_with("!=");
        if !name.is_empty() && is_field {
            let Some(field) = field(name) else { return Err(self.unknown_field(name)) };
            self.at += name.len();
            return self.field(field, start);
        }
        if self.rest().starts_with('"') {
            return Ok(Query::Words(self.quoted()?));
        }
        let word = self.until(ends_word);
        if word.is_empty() || is_keyword(word) {
            let found = if word.is_empty() { String::new() } else { format!(", not `{word}`") };
            let message = format!("expected a condition such as `tool:Bash` or a word{found}");
            let error = QueryError::new(start..start + word.len(), message);
            let hint = format!("to look for the word, type \"{word}\"");
            return Err(if word.is_empty() { error } else { error.hint(hint) });
        }
        self.at += word.len();
        Ok(Query::Words(Value::typed(word)))
    }

    fn unknown_field(&self, name: &str) -> QueryError {
        let at = self.at..self.at + name.len();
        let typed = self.until(ends_word);
        let error = QueryError::new(at, format!("there is no field `{name}`"));
        error.hint(match nearest_field(name) {
            Some(near) => format!("did you mean `{near}`? To look for the words, type \"{typed}\""),
            None => {
                let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
                format!("to look for the words, type \"{typed}\"; fields are {}", names.join(", "))
            }
        })
    }

    fn field(&mut self, field: &'static Field, start: usize) -> Result<Query, QueryError> {
        let sign_at = self.at;
        let wrong_sign = |parser: &Parser<'_>, wanted: &str| {
            let at = sign_at..parser.at.max(sign_at + 1);
            let message = format!("expected {wanted} behind `{}`", field.name);
            Err(QueryError::new(at, message).hint(format!("for example {}", field.example)))
        };
        if let Sort::Number(number) = field.sort {
            self.eat(":");
            let signs = Compare::ALL.iter().find(|(_, sign)| self.eat(sign));
            let compare = match signs {
                Some((compare, _)) => *compare,
                None if self.at > sign_at => Compare::Equal,
                None => return wrong_sign(self, "one of < <= > >= = !="),
            };
            let (at, text) = self.bare(field)?;
            let amount = Amount::parse(text, number.unit());
            let wrong =
                || QueryError::new(at..at + text.len(), format!("expected {}", expected(number.unit())));
            return Ok(Query::Number(number, compare, amount.ok_or_else(wrong)?));
        }
        let inside = self.eat("~");
        if !inside && !self.eat(":") && !self.eat("=") {
            return wrong_sign(self, "`:`");
        }
        match field.sort {
            Sort::Text(text) => {
                let values = self.values(field)?;
                Ok(Query::Text { field: text, inside: inside || text.is_prose(), values })
            }
            _ if inside => wrong_sign(self, "`:`"),
            Sort::Payload if self.rest().starts_with('"') => Ok(Query::Payload(self.quoted()?)),
            Sort::Payload => Ok(Query::Payload(Value::typed(self.bare(field)?.1))),
            Sort::Choice(choice) => self.choices(field, choice),
            Sort::Time(time) => {
                let (at, text) = self.bare(field)?;
                let wrong = || QueryError::new(at..at + text.len(), format!("expected {MOMENT}"));
                Ok(Query::Time(time, Moment::parse(text).ok_or_else(wrong)?))
            }
            Sort::Relation(relation) => {
                let inner = self.deeper(|parser| parser.operand(field, start))?;
                Ok(Query::Related(relation, Box::new(inner)))
            }
            Sort::Number(_) => wrong_sign(self, "a comparison"),
        }
    }

    /// What stands behind a relation: a condition with a field, or anything in parentheses.
    fn operand(&mut self, relation: &Field, start: usize) -> Result<Query, QueryError> {
        if self.rest().starts_with('(') {
            return self.group();
        }
        let at = self.at;
        let word = self.until(ends_word);
        if !word.is_empty()
            && let query @ (Query::Text { .. }
            | Query::Choice(..)
            | Query::Number(..)
            | Query::Time(..)
            | Query::Payload(_)
            | Query::Related(..)) = self.condition()?
        {
            return Ok(query);
        }
        let typed = self.text.get(start..at).unwrap_or("");
        let message = format!("expected a condition behind `{typed}`");
        let hint = match word {
            "" => format!("for example {}", relation.example),
            word => format!("{typed}agent:{word}, {typed}tool:{word}, or {typed}({word}) for the word"),
        };
        Err(QueryError::new(at..at + word.len(), message).hint(hint))
    }

    /// A value that is never quoted, and where it stands.
    fn bare(&mut self, field: &Field) -> Result<(usize, &'a str), QueryError> {
        let at = self.at;
        let text = self.until(ends_word);
        if text.is_empty() {
            return Err(missing(at, field));
        }
        self.at += text.len();
        Ok((at, text))
    }

    /// `value { "," value }`
    fn values(&mut self, field: &Field) -> Result<Vec<Value>, QueryError> {
        let mut values = vec![self.value(field)?];
        while self.eat(",") {
            values.push(self.value(field)?);
        }
        Ok(values)
    }

    fn value(&mut self, field: &Field) -> Result<Value, QueryError> {
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let text = self.until(|c| ends_word(c) || c == ',');
        if text.is_empty() {
            return Err(missing(self.at, field));
        }
        self.at += text.len();
        Ok(Value::typed(text))
    }

    fn quoted(&mut self) -> Result<Value, QueryError> {
        let start = self.at;
        let mut text = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at = start + at + 1;
                    if text.is_empty() {
                        return Err(QueryError::new(start..self.at, "expected words between the quotes"));
                    }
                    return Ok(Value::quoted(&text));
                }
                '\\' => match letters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    Some((_, other)) => text.extend(['\\', other]),
                    None => text.push('\\'),
                },
                letter => text.push(letter),
            }
        }
        Err(QueryError::new(start..start + 1, "the quote is not closed").hint("put a `\"` behind the words"))
    }

    fn choices(&mut self, field: &Field, choice: ChoiceField) -> Result<Query, QueryError> {
        let mut choices = Vec::new();
        loop {
            let at = self.at;
            let value = self.value(field)?;
            choices.push(found_choice(choice, value.text()).ok_or_else(|| {
                let names: Vec<&str> = Choice::all(choice).into_iter().map(Choice::name).collect();
                let near = nearest(value.text(), names.iter().copied());
                let message = format!("`{}:` knows no `{}`", field.name, value.text());
                QueryError::new(at..self.at, message).hint(match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("expected one of {}", names.join(", ")),
                })
            })?);
            if !self.eat(",") {
                return Ok(Query::Choice(choice, choices));
            }
        }
    }
}

/// The value of a list that is written so.
fn found_choice(field: ChoiceField, typed: &str) -> Option<Choice> {
    let typed = spelled(typed);
    let alias = KIND_ALIASES.iter().find(|(name, _)| field == ChoiceField::Kind && *name == typed);
    let mut all = Choice::all(field).into_iter();
    all.find(|choice| spelled(choice.name()) == typed).or(alias.map(|(_, kind)| Choice::Kind(*kind)))
}

fn missing(at: usize, field: &Field) -> QueryError {
    let what = match field.sort {
        Sort::Text(TextField::Id | TextField::Session | TextField::Run) => "an id",
        Sort::Text(_) | Sort::Payload => "a word or \"words in quotes\"",
        Sort::Choice(_) => "one of its words",
        Sort::Number(number) => expected(number.unit()),
        Sort::Time(_) => MOMENT,
        Sort::Relation(_) => "a condition",
    };
    let error = QueryError::new(at..at, format!("expected {what} behind `{}`", field.name));
    error.hint(format!("for example {}", field.example))
}

/// The only part, or all of them joined.
fn joined(mut parts: Vec<Query>, join: impl Fn(Vec<Query>) -> Query) -> Query {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            join(parts)
        }
        None => Query::Everything,
    }
}
