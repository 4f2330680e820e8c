//! `[[ … ]]`: tests of strings, files and numbers, joined by `&&`, `||`, `!` and parentheses.
//!
//! Refused: line breaks, `-v` and `-R` (they evaluate a subscript), numeric tests of anything that may be more than a
//! number, and regular expressions with parentheses or bars that hold anything but letters, digits and what is special
//! to them alone.

use super::data::{is_arithmetic, is_number};
use super::reader::{Reader, Result, ends_word, is_blank};
use super::word::Kind;
use super::{Reason, Shell, Word};

impl Reader<'_> {
    pub(super) fn conditional(&mut self) -> Result<()> {
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        self.advance(2);
        self.expression()?;
        self.expect("]]", Reason::Conditional)
    }

    /// Terms joined by `&&` and `||`. Leaves the reader behind the blanks that follow.
    fn expression(&mut self) -> Result<()> {
        loop {
            self.term()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(());
            }
        }
    }

    fn term(&mut self) -> Result<()> {
        self.operator_blanks()?;
        match self.operator() {
            "!" => {
                self.advance(1);
                self.deeper(Self::term)
            }
            "]]" => Err(Reason::Conditional),
            "" if self.peek() == Some(b'(') => {
                self.advance(1);
                self.deeper(Self::expression)?;
                self.expect(")", Reason::Conditional)?;
                self.operator_blanks()
            }
            test if is_unary(test) => {
                self.advance(2);
                self.operand_word().map(|_| ())
            }
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Result<()> {
        let left = self.operand_word()?;
        let operator = match self.peek() {
            Some(b'<') => "<",
            Some(b'>') => ">",
            _ => self.operator(),
        };
        match operator {
            "]]" | "" => return Ok(()),
            "==" | "=" | "!=" | "=~" | "<" | ">" | "-nt" | "-ot" | "-ef" => {}
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                self.advance(3);
                let right = self.operand_word()?;
                self.evaluate(&left)?;
                return self.evaluate(&right);
            }
            _ => return Err(Reason::Conditional),
        }
        let is_expression = operator == "=~" && self.shell == Shell::Bash;
        self.advance(operator.len());
        if is_expression {
            self.operator_blanks()?;
            let length = grouping(self.rest());
            if length > 0 {
                self.advance(length);
                return self.operator_blanks();
            }
        }
        self.operand_word().map(|_| ())
    }

    /// An operand with blanks around it.
    fn operand_word(&mut self) -> Result<Word> {
        self.operator_blanks()?;
        if self.operator() == "]]" || self.peek().is_some_and(ends_word) {
            return Err(Reason::Conditional);
        }
        let word = self.single_word(Kind::Single)?;
        match self.peek() {
            Some(b' ' | b'\t') => self.operator_blanks()?,
            Some(b')' | b'&' | b'|') => {}
            None => return Err(Reason::Unclosed),
            _ => return Err(Reason::Conditional),
        }
        Ok(word)
    }

    fn operator_blanks(&mut self) -> Result<()> {
        self.take_while(is_blank);
        if matches!(self.peek(), Some(b'\n' | b'#')) || self.is_at("\\\n") {
            Err(Reason::Conditional)
        } else {
            Ok(())
        }
    }

    /// The plain word here, such as an operator is; empty at a parenthesis.
    fn operator(&self) -> &str {
        let rest = self.rest();
        let length = rest.bytes().position(ends_word).unwrap_or(rest.len());
        rest.get(..length).unwrap_or("")
    }

    /// An operand of a numeric test is an arithmetic expression.
    fn evaluate(&mut self, word: &Word) -> Result<()> {
        let raw = word.raw.trim_matches('"');
        let counts = matches!(raw, "$#" | "$?" | "$$");
        if counts || is_arithmetic(raw) || word.value.as_deref().is_some_and(is_number) {
            return Ok(());
        }
        match raw.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}')) {
            Some(name) if super::reader::is_name(name) => self.facts.evaluate(name),
            _ => Err(Reason::ArithmeticOnData),
        }
    }
}

/// The length of a regular expression with groups or bars, where it is a word in which nothing is special to the shell
/// but these. Between `=~` and a blank they are part of the word, and each parenthesis is closed in it.
fn grouping(text: &str) -> usize {
    let text = &text[..text.find([' ', '\t']).unwrap_or(0)];
    let mut open = 0_usize;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'(' => open += 1,
            b')' if open == 0 => return 0,
            b')' => open -= 1,
            b'|' | b'+' | b'*' | b'{' | b'}' | b'?' | b'.' | b'^' | b'[' | b']' | b'-' | b'_' | b'/'
            | b':' | b',' | b'@' | b'=' => {}
            b'\\' if bytes.next().is_some_and(|escaped| escaped.is_ascii_punctuation()) => {}
            // The end of what it is compared with, not a variable.
            b'$' if !matches!(bytes.clone().next(), Some(b')' | b'|') | None) => return 0,
            b'$' => {}
            byte if byte.is_ascii_alphanumeric() => {}
            _ => return 0,
        }
    }
    if open == 0 && text.contains(['(', '|']) { text.len() } else { 0 }
}

fn is_unary(word: &str) -> bool {
    matches!(word.as_bytes(), [b'-', letter] if b"abcdefghknprstuwxzGLNOS".contains(letter))
}
