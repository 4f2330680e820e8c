//! A settings text as a tree in which every key and value knows its position.
//!
//! The json5 crate parses. It has no limit on nesting and would overflow the stack, so the visitors here count
//! depth and stop it; it takes the last of two equal keys, so they are looked for afterwards. What a key means is
//! for other modules.

use crate::starts::Starts;
use crate::{Error, Place, Position};
use json5::ErrorCode;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// How deep lists and objects may lie within each other.
pub const MAX_DEPTH: usize = 64;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Position,
}

#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Field>),
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) node: Node,
}

impl Node {
    /// Reads the text of `file`. There are several errors where several keys stand twice.
    pub(crate) fn parse(file: &Arc<str>, text: &str) -> Result<Node, Vec<Error>> {
        let node = Self::parse_tree(file, text).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        check_keys(file, &node, &mut errors);
        if errors.is_empty() { Ok(node) } else { Err(errors) }
    }

    fn parse_tree(file: &Arc<str>, text: &str) -> Result<Node, Error> {
        let place = |position| Place { file: file.clone(), position };
        let mut walk = Walk { starts: Starts::new(text), depth: 0, too_deep: None };
        let mut deserializer = json5::Deserializer::from_str(text);
        let read = NodeSeed(&mut walk).deserialize(&mut deserializer);
        if let Some(position) = walk.too_deep {
            return Err(Error::TooDeep { place: place(position) });
        }
        let syntax = |error: json5::Error| {
            let found = error.position().filter(|_| !is_end_of_text(&error));
            let position =
                found.map_or_else(|| Position::behind(text), |found| Position::in_text(text, found));
            Error::Syntax { place: place(position), expected: expectation(&error).into() }
        };
        let node = read.map_err(syntax)?;
        expect_end(&mut deserializer).map_err(syntax)?;
        Ok(node)
    }

    /// Whether it is a list or an object.
    pub(crate) fn holds_keys(&self) -> bool {
        matches!(self.value, Value::List(_) | Value::Object(_))
    }

    /// What stands there, for a message.
    pub(crate) fn describe(&self) -> Box<str> {
        match &self.value {
            Value::Null => "null".into(),
            Value::Bool(value) => value.to_string().into(),
            Value::Number(value) if value.is_nan() => "NaN, which is no number".into(),
            Value::Number(value) if value.is_infinite() => "a number beyond all bounds".into(),
            Value::Number(value) => format!("the number {value}").into(),
            Value::Text(text) => format!("the string {}", crate::error::quoted(text)).into(),
            Value::List(_) => "a list".into(),
            Value::Object(_) => "an object".into(),
        }
    }
}

/// What goes along with the json5 crate's reading.
struct Walk<'a> {
    starts: Starts<'a>,
    depth: usize,
    too_deep: Option<Position>,
}

impl Walk<'_> {
    /// Runs `read` one level deeper, or fails where that is too deep.
    fn descend<T, E: serde::de::Error>(
        &mut self,
        at: Position,
        read: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.depth == MAX_DEPTH {
            self.too_deep = Some(at);
            return Err(E::custom("too deep"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
}

struct NodeSeed<'w, 'a>(&'w mut Walk<'a>);

impl<'de> DeserializeSeed<'de> for NodeSeed<'_, '_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let at = self.0.starts.next();
        let value = deserializer.deserialize_any(ValueVisitor { walk: self.0, at })?;
        Ok(Node { value, at })
    }
}

struct ValueVisitor<'w, 'a> {
    walk: &'w mut Walk<'a>,
    at: Position,
}

impl<'de> Visitor<'de> for ValueVisitor<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    // Numbers serve messages only, so a rounded one will do.
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        self.walk.descend(self.at, |walk| {
            let mut nodes = Vec::new();
            while let Some(node) = list.next_element_seed(NodeSeed(walk))? {
                nodes.push(node);
            }
            Ok(Value::List(nodes))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        self.walk.descend(self.at, |walk| {
            let mut fields = Vec::new();
            while let Some(key) = object.next_key::<String>()? {
                let at = walk.starts.next();
                let node = object.next_value_seed(NodeSeed(walk))?;
                fields.push(Field { key, at, node });
            }
            Ok(Value::Object(fields))
        })
    }
}

/// Nothing may follow the value but blanks and comments.
///
/// The json5 crate looks for this only where it takes no seed. So it is asked for one more list, which must fail
/// for want of text; the list's visitor refuses, so that a list there is no better than anything else.
fn expect_end(deserializer: &mut json5::Deserializer<'_>) -> Result<(), json5::Error> {
    struct Refusal;
    impl<'de> Visitor<'de> for Refusal {
        type Value = std::convert::Infallible;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("nothing")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(A::Error::custom("nothing was expected"))
        }
    }
    let Err(error) = deserializer.deserialize_seq(Refusal);
    match (error.code(), error.position()) {
        (Some(ErrorCode::EofParsingArray), _) => Ok(()),
        (Some(ErrorCode::EofParsingComment | ErrorCode::ExpectedComment), _) | (_, None) => Err(error),
        (_, Some(position)) => Err(json5::Error::new_at(position, ErrorCode::TrailingCharacters)),
    }
}

/// No object of the tree may hold a key twice.
fn check_keys(file: &Arc<str>, node: &Node, errors: &mut Vec<Error>) {
    match &node.value {
        Value::List(nodes) => nodes.iter().for_each(|node| check_keys(file, node, errors)),
        Value::Object(fields) => {
            let mut first = HashMap::with_capacity(fields.len());
            for field in fields {
                let earlier = *first.entry(field.key.as_str()).or_insert(field.at);
                if earlier != field.at {
                    let place = Place { file: file.clone(), position: field.at };
                    let key = crate::error::quoted(&field.key);
                    errors.push(Error::DuplicateKey { place, key, first: earlier.line });
                }
                check_keys(file, &field.node, errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// Whether the text ends too early. The position is then that of the list or object which does not end.
fn is_end_of_text(error: &json5::Error) -> bool {
    use ErrorCode::*;
    matches!(
        error.code(),
        Some(
            EofParsingArray
                | EofParsingBool
                | EofParsingComment
                | EofParsingEscapeSequence
                | EofParsingIdentifier
                | EofParsingNull
                | EofParsingNumber
                | EofParsingObject
                | EofParsingString
                | EofParsingValue
        )
    )
}

/// What should stand where the json5 crate stopped.
fn expectation(error: &json5::Error) -> String {
    use ErrorCode::*;
    let Some(code) = error.code() else { return custom_expectation(error) };
    let expected = match code {
        EofParsingValue => "a value, such as {}, but the text ends",
        EofParsingArray => "\"]\" or another entry, but the text ends",
        EofParsingObject => "\"}\" or another key, but the text ends",
        EofParsingString => "the quote that ends the string, but the text ends",
        EofParsingComment => "the rest of a comment, but the text ends",
        EofParsingIdentifier
        | EofParsingBool
        | EofParsingNull
        | EofParsingNumber
        | EofParsingEscapeSequence => "more, but the text ends",
        ExpectedComma | ExpectedClosingBracket | ExpectedClosingBrace => "a comma or the closing bracket",
        ExpectedColon => "\":\" after the key",
        ExpectedIdentifier | InvalidKey => "a key, best in double quotes",
        ExpectedComment => "a comment, since a \"/\" stands outside a string",
        InvalidEscapeSequence => "an escape sequence that JSON5 has",
        LeadingZero => "a number without a zero in front",
        LineTerminatorInString => "the quote that ends the string, before the end of the line",
        OverflowParsingNumber => "a smaller number",
        TrailingCharacters => "the end of the text, since the value before is complete",
        _ => "a value: true, false, null, a number, a string in quotes, a list or an object",
    };
    format!("expected {expected}")
}

/// For errors without a code the crate only has a text, with the position at its end.
fn custom_expectation(error: &json5::Error) -> String {
    let text = error.to_string();
    if text.contains("unpaired surrogate") {
        return "expected both halves of a pair behind \\u, since one of them alone is no character".into();
    }
    let position = error.position().map_or(String::new(), |position| format!(" at {position}"));
    format!("expected a valid value: {}", text.strip_suffix(&position).unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::fmt::Write;

    /// Every key and value of `node` must begin in `text` where it says, with a character of its kind.
    fn check_positions(text: &str, node: &Node) {
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        let begins_with = |at: Position, allowed: &dyn Fn(char) -> bool| {
            let line = lines.split('\n').nth(at.line as usize - 1).expect("a line of the text");
            let c = line.chars().nth(at.column as usize - 1).expect("a column of the line");
            assert!(allowed(c), "{c:?} at {at:?} of {text:?}");
        };
        match &node.value {
            Value::Null => begins_with(node.at, &|c| c == 'n'),
            Value::Bool(value) => begins_with(node.at, &|c| c == if *value { 't' } else { 'f' }),
            Value::Number(_) => begins_with(node.at, &|c| "+-.0123456789IN".contains(c)),
            Value::Text(_) => begins_with(node.at, &|c| c == '"' || c == '\''),
            Value::List(nodes) => {
                begins_with(node.at, &|c| c == '[');
                nodes.iter().for_each(|node| check_positions(text, node));
            }
            Value::Object(fields) => {
                begins_with(node.at, &|c| c == '{');
                for field in fields {
                    begins_with(field.at, &|c| "\"'\\".contains(c) || field.key.starts_with(c));
                    check_positions(text, &field.node);
                }
            }
        }
    }

    fn as_json(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(nodes) => nodes.iter().map(as_json).collect(),
            Value::Object(fields) => {
                fields.iter().map(|field| (field.key.clone(), as_json(&field.node))).collect()
            }
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<f32>().prop_map(|number| f64::from(number).into()),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::hash_map("[a-z]{1,3}|\\PC{0,5}", inner, 0..5)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Writes `value` with something blank from `blanks` before and after each token.
    fn write(out: &mut String, value: &serde_json::Value, blanks: &mut dyn Iterator<Item = &'static str>) {
        let mut blank = |out: &mut String| out.push_str(blanks.next().unwrap_or_default());
        blank(out);
        match value {
            serde_json::Value::Array(values) => {
                out.push('[');
                for value in values {
                    write(out, value, blanks);
                    out.push(',');
                }
                out.push(']');
            }
            serde_json::Value::Object(fields) => {
                out.push('{');
                for (key, value) in fields {
                    let key = serde_json::Value::from(key.as_str());
                    write(out, &key, blanks);
                    out.push(':');
                    write(out, value, blanks);
                    out.push(',');
                }
                out.push('}');
            }
            other => write!(out, "{other}").expect("a string"),
        }
        out.push_str(blanks.next().unwrap_or_default());
    }

    proptest! {
        #[test]
        fn reads_what_was_written_and_knows_where(
            value in json(),
            blanks in prop::collection::vec(
                select(&["", " ", "\n", "\r\n", "\r", "\u{2028}", "/* { \" */", "// [ '\n", "/***/", "\u{a0}", "\t/**/\n "][..]), 0..60),
        ) {
            let mut text = String::new();
            write(&mut text, &value, &mut blanks.into_iter());
            let node = Node::parse(&"test".into(), &text).expect("JSON is JSON5");
            check_positions(&text, &node);
            prop_assert_eq!(as_json(&node), value, "{}", text);
        }

        #[test]
        fn whatever_is_read_knows_where(text in "[\\[{][\\[\\]{},:\"'/*\\\\ \na0-2x.eE+-]{0,14}[\\]}]") {
            if let Ok(node) = Node::parse(&"test".into(), &text) {
                check_positions(&text, &node);
            }
        }
    }
}
