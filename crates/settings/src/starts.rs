//! Where the keys and values of a JSON5 text stand. The json5 crate tells the position of an error but not of
//! a value, so this walks beside it, over the same text and in the same order.
//!
//! It is no parser: it knows blanks, comments, strings and punctuation, all else is a word, and it never fails.
//! On any text that the json5 crate has read so far, both have seen the same keys and values.

use crate::Position;
use json5::char::{is_json5_line_terminator, is_json5_whitespace};
use std::str::Chars;

/// The positions of the keys and values of a text: the next one that begins, each time it is asked.
pub(crate) struct Starts<'a> {
    rest: Chars<'a>,
    at: Position,
}

impl<'a> Starts<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Starts { rest: text.chars(), at: Position::START }
    }

    /// Where the next key or value begins; at the end of the text, that end.
    pub(crate) fn next(&mut self) -> Position {
        loop {
            let start = self.at;
            match self.bump() {
                None | Some('{' | '[') => return start,
                Some('}' | ']' | ',' | ':') => {}
                Some('/') => self.skip_comment(),
                Some(quote @ ('"' | '\'')) => {
                    self.skip_string(quote);
                    return start;
                }
                Some(c) if is_json5_whitespace(c) => {}
                Some(_) => {
                    self.skip_word();
                    return start;
                }
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.at = self.at.after(c, self.peek());
        Some(c)
    }

    fn skip_comment(&mut self) {
        match self.bump() {
            Some('/') => while self.bump().is_some_and(|c| !is_json5_line_terminator(c)) {},
            Some('*') => {
                while self.bump().is_some_and(|c| c != '*' || self.peek() != Some('/')) {}
                self.bump();
            }
            _ => {}
        }
    }

    fn skip_string(&mut self, quote: char) {
        while let Some(c) = self.bump() {
            if c == quote {
                return;
            }
            if c == '\\' {
                self.bump();
            }
        }
    }

    fn skip_word(&mut self) {
        let in_word = |c: char| !is_json5_whitespace(c) && !"{}[],:/\"'".contains(c);
        while self.peek().is_some_and(in_word) {
            self.bump();
        }
    }
}
