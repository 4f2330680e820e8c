//! The little of Scheme that a profile is written in: lists, symbols, strings and comments, read and quoted.
//!
//! It deliberately reads only the subset that this crate writes and refuses everything else, so that no text
//! can mean one thing to the judge and another to Seatbelt. Nesting is limited.

use std::iter::Peekable;
use std::slice::Iter;

/// No rule that this crate writes nests deeper than four lists.
const DEEPEST: usize = 8;

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expression {
    List(Vec<Expression>),
    Symbol(String),
    Text(Vec<u8>),
}

/// Why the text of a profile cannot be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the profile: {problem}")]
pub struct ReadError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

/// `bytes` as a string: the only way by which text that is not this crate's own comes into a profile.
///
/// Everything but printable ASCII is written as `\xHH`, so a string never spans lines and never holds a byte
/// whose meaning depends on an encoding.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte.into()]),
            b' '..=b'~' => out.push(byte.into()),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// The expressions of `text`, each with the line that it starts on.
pub(crate) fn read(text: &str) -> Result<Vec<(usize, Expression)>, ReadError> {
    let mut reader = Reader { rest: text.as_bytes().iter().peekable(), line: 1 };
    let mut all = Vec::new();
    while reader.skip_blank() {
        all.push((reader.line, reader.expression(0)?));
    }
    Ok(all)
}

struct Reader<'a> {
    rest: Peekable<Iter<'a, u8>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.rest.next().copied();
        self.line += usize::from(byte == Some(b'\n'));
        byte
    }

    /// Skips blanks and comments; whether anything follows.
    fn skip_blank(&mut self) -> bool {
        while let Some(&&byte) = self.rest.peek() {
            match byte {
                b' ' | b'\n' => _ = self.next(),
                b';' => while self.next().is_some_and(|byte| byte != b'\n') {},
                _ => return true,
            }
        }
        false
    }

    fn expression(&mut self, depth: usize) -> Result<Expression, ReadError> {
        match self.next() {
            Some(b'(') if depth < DEEPEST => self.list(depth + 1),
            Some(b'(') => Err(self.error("lists nest too deeply")),
            Some(b'"') => self.text(),
            Some(byte) if is_of_symbol(byte) => Ok(self.symbol(byte)),
            _ => Err(self.error("neither a list, a string nor a symbol")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Expression, ReadError> {
        let mut items = Vec::new();
        while self.skip_blank() {
            if self.rest.next_if(|&&byte| byte == b')').is_some() {
                return Ok(Expression::List(items));
            }
            items.push(self.expression(depth)?);
        }
        Err(self.error("a list without its end"))
    }

    fn symbol(&mut self, first: u8) -> Expression {
        let mut name = String::from(char::from(first));
        while let Some(&byte) = self.rest.next_if(|&&byte| is_of_symbol(byte)) {
            name.push(byte.into());
        }
        Expression::Symbol(name)
    }

    fn text(&mut self) -> Result<Expression, ReadError> {
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                Some(b'"') => return Ok(Expression::Text(bytes)),
                Some(b'\\') => bytes.push(self.escaped()?),
                Some(byte @ b' '..=b'~') => bytes.push(byte),
                Some(_) => return Err(self.error("a string with a byte that is not printable")),
                None => return Err(self.error("a string without its end")),
            }
        }
    }

    fn escaped(&mut self) -> Result<u8, ReadError> {
        match self.next() {
            Some(byte @ (b'"' | b'\\')) => Ok(byte),
            Some(b'x') => self.hex_digit().and_then(|high| Ok(high << 4 | self.hex_digit()?)),
            _ => Err(self.error("an escape other than \\\", \\\\ and \\xHH")),
        }
    }

    fn hex_digit(&mut self) -> Result<u8, ReadError> {
        match self.next() {
            Some(byte @ b'0'..=b'9') => Ok(byte - b'0'),
            Some(byte @ b'a'..=b'f') => Ok(byte - b'a' + 10),
            _ => Err(self.error("\\x without two hexadecimal digits")),
        }
    }

    fn error(&self, problem: &str) -> ReadError {
        ReadError { line: self.line, problem: problem.into() }
    }
}

fn is_of_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"*-_".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        match read(text) {
            Ok(all) => format!("{:?}", all.into_iter().map(|(_, one)| one).collect::<Vec<_>>()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn grammar() {
        assert_eq!(shown(" ; nothing\n"), "[]");
        assert_eq!(shown("a-*(b\n(2))"), r#"[Symbol("a-*"), List([Symbol("b"), List([Symbol("2")])])]"#);
        assert_eq!(shown(r#""a;)\"\\\x0a""#), format!("[Text({:?})]", b"a;)\"\\\n"));
    }

    #[test]
    fn refusals() {
        for (text, problem) in [
            (")", "line 1 of the profile: neither"),
            ("\n#\"a\"", "line 2 of the profile: neither"),
            ("'a", "neither"),
            ("(a", "without its end"),
            ("(((((((((", "too deeply"),
            ("\"a", "without its end"),
            ("\"a\nb\"", "not printable"),
            ("\"é\"", "not printable"),
            (r#""\n""#, "an escape other than"),
            (r#""\x0""#, "two hexadecimal digits"),
            (r#""\xAA""#, "two hexadecimal digits"),
        ] {
            assert!(shown(text).contains(problem), "{text}: {}", shown(text));
        }
    }

    proptest! {
        /// Law 5: the reader gives back what the writer wrote, for every byte string.
        #[test]
        fn what_is_quoted_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let text = quoted(&bytes);
            prop_assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{}", text);
            prop_assert_eq!(read(&text), Ok(vec![(1, Expression::Text(bytes))]));
        }

        #[test]
        fn reading_is_total(text in "[()\"\\\\;# \nax0-]{0,40}") {
            let _ = read(&text);
        }
    }
}
