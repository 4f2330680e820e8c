//! `$'…'`: escapes that mean the same byte in every bash and locale are decoded, all others refused.

use super::reader::{Reader, Result};
use super::word::Draft;
use super::{Reason, Shell};

impl Reader<'_> {
    pub(super) fn dollar_quoted(&mut self, draft: &mut Draft) -> Result<()> {
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        draft.quote();
        self.advance(2);
        loop {
            let text = self.take_while(|byte| byte != b'\'' && byte != b'\\');
            draft.push(text);
            match self.peek() {
                None => return Err(Reason::Unclosed),
                Some(b'\'') => break,
                Some(_) => self.escape(draft)?,
            }
        }
        self.advance(1);
        Ok(())
    }

    fn escape(&mut self, draft: &mut Draft) -> Result<()> {
        let Some(letter) = self.peek_at(1) else { return Err(Reason::Unclosed) };
        self.advance(1);
        let decoded = match letter {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'a' => '\u{7}',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'v' => '\u{b}',
            b'e' | b'E' => '\u{1b}',
            b'\\' | b'\'' | b'"' | b'?' => char::from(letter),
            b'x' => return self.numeric_escape(draft, 1, 2, 16),
            b'0'..=b'7' => return self.numeric_escape(draft, 0, 3, 8),
            _ => return Err(Reason::QuotedEscape),
        };
        self.advance(1);
        draft.push(decoded.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    /// A character by its number, of `digits` at most, `before` bytes on.
    fn numeric_escape(&mut self, draft: &mut Draft, before: usize, digits: usize, radix: u32) -> Result<()> {
        self.advance(before);
        let rest = self.rest().as_bytes();
        let length = rest.iter().take(digits).take_while(|byte| char::from(**byte).is_digit(radix)).count();
        let text = self.rest().get(..length).unwrap_or("");
        self.advance(length);
        match u8::from_str_radix(text, radix) {
            Ok(number @ 1..=0x7f) => {
                draft.push(char::from(number).encode_utf8(&mut [0; 4]));
                Ok(())
            }
            _ => Err(Reason::QuotedEscape),
        }
    }
}
