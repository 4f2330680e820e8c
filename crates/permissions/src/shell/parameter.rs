//! `${…}`: a variable, its length, or its text with a piece taken off, replaced or put in its place.
//!
//! Refused: what runs code or names another variable (`${x@P}`, `${!x}`), what assigns (`${x:=y}`), subscripts and
//! offsets that are more than a number or a variable that holds one for certain, and operands with quotes or anything
//! nested but a plain `$name`.

use super::reader::{Reader, Result, is_name_byte, name_length};
use super::word::Draft;
use super::{Reason, Shell};

impl Reader<'_> {
    pub(super) fn parameter(&mut self, draft: &mut Draft, quoted: bool) -> Result<()> {
        draft.run_time(quoted);
        self.advance(2);
        if self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            self.advance(1);
            self.variable()?;
        } else {
            self.variable()?;
            self.operation()?;
        }
        self.expect("}", Reason::Parameter)
    }

    /// A name with an optional plain subscript, a number, or a special parameter.
    fn variable(&mut self) -> Result<()> {
        let name = name_length(self.rest());
        match self.peek() {
            _ if name > 0 => {
                self.advance(name);
                self.subscript()
            }
            Some(b'0'..=b'9') => {
                self.take_while(|byte| byte.is_ascii_digit());
                Ok(())
            }
            Some(b'@' | b'*' | b'#' | b'?' | b'$') => {
                self.advance(1);
                Ok(())
            }
            None => Err(Reason::Unclosed),
            _ => Err(Reason::Parameter),
        }
    }

    fn subscript(&mut self) -> Result<()> {
        if self.peek() != Some(b'[') {
            return Ok(());
        }
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        self.advance(1);
        if !self.take("@") && !self.take("*") {
            self.number(Reason::Subscript)?;
        }
        self.expect("]", Reason::Subscript)
    }

    fn operation(&mut self) -> Result<()> {
        let of_any_shell = [":-", ":+", ":?", "-", "+", "?", "##", "#", "%%", "%"];
        if of_any_shell.iter().any(|operator| self.take(operator)) {
            return self.operand();
        }
        let since = [("//", Shell::OldBash), ("/", Shell::OldBash), ("^^", Shell::Bash), ("^", Shell::Bash)];
        let since = since.into_iter().chain([(",,", Shell::Bash), (",", Shell::Bash), (":", Shell::OldBash)]);
        for (operator, first) in since {
            if self.take(operator) {
                let known = self.shell == Shell::Bash || self.shell == first;
                return match operator {
                    _ if !known => Err(Reason::OtherShell),
                    ":" => self.offsets(),
                    _ => self.operand(),
                };
            }
        }
        Ok(())
    }

    /// `1`, `0:3`, ` -1`, `$n:1`.
    fn offsets(&mut self) -> Result<()> {
        self.take(" ");
        self.number(Reason::Parameter)?;
        if self.take(":") { self.number(Reason::Parameter) } else { Ok(()) }
    }

    /// Arithmetic that is one number, or one variable that holds a number.
    fn number(&mut self, otherwise: Reason) -> Result<()> {
        self.take("-");
        if !self.take_while(|byte| byte.is_ascii_digit()).is_empty() {
            return Ok(());
        }
        self.take("$");
        let name = name_length(self.rest());
        if name == 0 {
            return Err(otherwise);
        }
        let start = self.at;
        self.advance(name);
        let name = self.since(start);
        self.facts.evaluate(name).map_err(|_| otherwise)
    }

    /// Text up to the brace.
    fn operand(&mut self) -> Result<()> {
        loop {
            self.take_while(|byte| !b"\"'\\$`{}()<>&|;~\n".contains(&byte));
            if self.peek() != Some(b'$') {
                return Ok(()); // At the brace, or at what the caller refuses.
            }
            self.advance(1);
            let name = name_length(self.rest());
            if name == 0 {
                return Err(Reason::Parameter);
            }
            self.take_while(is_name_byte);
        }
    }
}
