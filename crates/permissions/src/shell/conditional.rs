//! `[[ … ]]`: tests of strings, files and numbers, joined by `&&`, `||`, `!` and parentheses.
//!
//! Refused: line breaks, `-v` and `-R` (they evaluate a subscript), numeric tests of anything that may be more than a
//! number, and regular expressions with parentheses or bars.

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
        self.advance(operator.len());
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

fn is_unary(word: &str) -> bool {
    matches!(word.as_bytes(), [b'-', letter] if b"abcdefghknprstuwxzGLNOS".contains(letter))
}
