//! Arithmetic: `$((…))`, `((…))` and `for ((…;…;…))`.
//!
//! Only names, numbers, operators, parentheses, `$name` and `${name}` are read. The shell evaluates what a name
//! *holds*, subscripts with substitutions included, so a name is read only where the line itself is certain to
//! have made it a number. A name that may decide which program runs is not set here.

use super::reader::{Reader, Result, is_blank, is_name_byte, name_length};
use super::word::Draft;
use super::{DEEPEST, Reason, Shell};
use crate::variables::is_special;

impl Reader<'_> {
    /// `$((…))`.
    pub(super) fn arithmetic_expansion(&mut self, draft: &mut Draft) -> Result<()> {
        draft.run_time(true);
        self.advance(3);
        if !self.arithmetic(b')')? {
            return Err(Reason::Arithmetic);
        }
        self.expect("))", Reason::Arithmetic)
    }

    /// `((…))` as a command.
    pub(super) fn arithmetic_command(&mut self) -> Result<()> {
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        self.advance(2);
        if !self.arithmetic(b')')? {
            return Err(Reason::Arithmetic);
        }
        self.expect("))", Reason::Arithmetic)
    }

    /// `((start; condition; step))` and what may stand before `do`.
    pub(super) fn for_arithmetic(&mut self) -> Result<()> {
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        self.advance(2);
        self.arithmetic(b';')?;
        self.expect(";", Reason::Arithmetic)?;
        self.branch(|reader| reader.arithmetic(b';'))?;
        self.expect(";", Reason::Arithmetic)?;
        self.branch(|reader| reader.arithmetic(b')'))?;
        self.expect("))", Reason::Arithmetic)?;
        self.skip_blanks()?;
        self.take(";");
        self.skip_breaks()
    }

    /// Reads an expression up to `end` outside parentheses, and says whether there was one.
    fn arithmetic(&mut self, end: u8) -> Result<bool> {
        let mut open = 0;
        let mut starts = true;
        // `a$x` becomes the name of another variable.
        let mut behind_operand = false;
        loop {
            self.take_while(is_blank);
            match self.peek() {
                None => return Err(Reason::Unclosed),
                Some(byte) if byte == end && open == 0 => return Ok(!starts),
                Some(b'(') if open + self.depth >= DEEPEST => return Err(Reason::TooDeep),
                Some(b'(') => open += 1,
                Some(b')') if open > 0 => open -= 1,
                Some(b',') if open == 0 => {
                    self.advance(1);
                    (starts, behind_operand) = (true, false);
                    continue;
                }
                Some(byte) if b"+-*/%<>=!&|^~?:".contains(&byte) => {}
                Some(_) if behind_operand => return Err(Reason::Arithmetic),
                Some(_) => {
                    self.operand_of(starts)?;
                    (starts, behind_operand) = (false, true);
                    continue;
                }
            }
            self.advance(1);
            (starts, behind_operand) = (false, false);
        }
    }

    /// A number or a variable. At the start of an expression it may be what is assigned to.
    fn operand_of(&mut self, starts: bool) -> Result<()> {
        if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.take_while(is_name_byte);
            return Ok(());
        }
        let dollar = self.take("$");
        if dollar && (self.take("#") || self.take("?") || self.take("$")) {
            return Ok(());
        }
        let braced = dollar && self.take("{");
        let name = self.rest().get(..name_length(self.rest())).unwrap_or("");
        if name.is_empty() {
            return Err(Reason::Arithmetic);
        }
        self.advance(name.len());
        if braced {
            self.expect("}", Reason::Arithmetic)?;
        }
        if starts && !dollar && self.is_assigned() {
            // `((PATH=1))` is no assignment to whoever looks at the commands of the line.
            if is_special(name) {
                return Err(Reason::Arithmetic);
            }
            self.facts.assign(name, true)
        } else {
            self.facts.evaluate(name)
        }
    }

    fn is_assigned(&mut self) -> bool {
        self.take_while(is_blank);
        self.peek() == Some(b'=') && self.peek_at(1) != Some(b'=')
    }
}
