//! The reader's state: where it stands, what it has found, and the few moves that everything else is made of.
//!
//! It goes over the text once, from left to right, and never back: that is why reading is linear. It stays
//! within `end`, which is the line's end or that of the backquotes or here-document it is in.

use super::data::Facts;
use super::here_document::Pending;
use super::second::Spelled;
use super::{Command, Connector, DEEPEST, Line, MOST_COMMANDS, Place, Reason, Scope, Shell};
#[cfg(test)]
use std::ops::Range;

pub(super) type Result<T> = std::result::Result<T, Reason>;

/// Reads one line.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) shell: Shell,
    pub(super) line: Line,
    /// For each command of the line, where its assignments and words stand, as written.
    pub(super) spelled: Vec<Spelled>,
    /// The scope that is being read, and how the command in it that is next follows.
    pub(super) scope: usize,
    /// How the command that is being read follows: what is nested in its words runs when it does.
    pub(super) following: Connector,
    /// Where the last redirection started.
    pub(super) last_redirection: Option<usize>,
    /// How many here-documents have been read in full.
    pub(super) here_documents_read: usize,
    /// Whether it is in the body of a here-document.
    pub(super) in_document: bool,
    /// Here-documents whose bodies are still to come.
    pub(super) pending: Vec<Pending>,
    /// How many substitutions the reader is in.
    pub(super) substitutions: usize,
    pub(super) facts: Facts,
    pub(super) brace_words: usize,
    /// How many things that nest it is in.
    pub(super) depth: usize,
    /// What the reader has gone over, for the law that it leaves nothing out.
    #[cfg(test)]
    pub(super) covered: Vec<Range<usize>>,
}

/// How much had been found at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    commands: usize,
    scopes: usize,
    numbers: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, shell: Shell) -> Self {
        Reader {
            text,
            at: 0,
            end: text.len(),
            shell,
            line: Line { scopes: vec![Scope { parent: None, place: Place::Top }], ..Line::default() },
            spelled: Vec::new(),
            scope: 0,
            following: Connector::Sequence,
            last_redirection: None,
            here_documents_read: 0,
            in_document: false,
            pending: Vec::new(),
            substitutions: 0,
            facts: Facts::default(),
            brace_words: 0,
            depth: 0,
            #[cfg(test)]
            covered: Vec::new(),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.text.as_bytes().get(at).copied() } else { None }
    }

    /// What is still to be read.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    /// What was read since `start`. The reader stops between characters only: all that it looks for is ASCII.
    pub(super) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    pub(super) fn is_at(&self, text: &str) -> bool {
        self.rest().as_bytes().starts_with(text.as_bytes())
    }

    /// Goes over `text` if it stands here.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let there = self.is_at(text);
        if there {
            self.advance(text.len());
        }
        there
    }

    pub(super) fn expect(&mut self, text: &str, otherwise: Reason) -> Result<()> {
        if self.take(text) {
            Ok(())
        } else {
            Err(if self.peek().is_none() { Reason::Unclosed } else { otherwise })
        }
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        #[cfg(test)]
        self.covered.push(self.at..self.at + bytes);
        self.at += bytes;
    }

    /// Goes over the bytes that `is_part` holds of, and gives them back.
    pub(super) fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.advance(length);
        &rest[..length]
    }

    /// Goes over blanks, and over line breaks behind a backslash where they cannot join anything.
    pub(super) fn skip_blanks(&mut self) -> Result<()> {
        loop {
            let blanks = self.take_while(is_blank).len();
            if !self.is_at("\\\n") {
                return Ok(());
            }
            let after = self.peek_at(2);
            if blanks == 0 || matches!(after, None | Some(b'#' | b'\\')) {
                return Err(Reason::Continuation);
            }
            self.advance(2);
            if after.is_some_and(|byte| !is_blank(byte)) {
                return Ok(());
            }
        }
    }

    /// Goes over blanks, a comment, and nothing else.
    pub(super) fn skip_blanks_and_comment(&mut self) -> Result<()> {
        self.skip_blanks()?;
        if self.peek() == Some(b'#') {
            if self.shell == Shell::OldBash && self.substitutions > 0 {
                return Err(Reason::OtherShell);
            }
            self.take_while(|byte| byte != b'\n');
        }
        Ok(())
    }

    /// Goes over blanks, comments and line breaks, with the here-documents that begin at these.
    pub(super) fn skip_breaks(&mut self) -> Result<()> {
        loop {
            self.skip_blanks_and_comment()?;
            if !self.take("\n") {
                return Ok(());
            }
            self.here_documents()?;
            self.facts.reads_differently |= self.facts.changes_reading;
        }
    }

    /// Reads with the end of the part at `end`.
    pub(super) fn within<T>(&mut self, end: usize, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.end, end);
        let found = read(self)?;
        self.end = outer;
        Ok(found)
    }

    /// Reads something nested.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(Reason::TooDeep);
        }
        self.depth += 1;
        let found = read(self)?;
        self.depth -= 1;
        Ok(found)
    }

    /// Reads what runs in a scope of its own.
    pub(super) fn scoped<T>(&mut self, place: Place, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let numbers = self.facts.numbers();
        let inner = self.line.scopes.len();
        self.line.scopes.push(Scope { parent: Some(self.scope), place });
        let outer = std::mem::replace(&mut self.scope, inner);
        let found = read(self)?;
        self.scope = outer;
        self.facts.forget(numbers);
        Ok(found)
    }

    /// Reads what may run never, once or many times.
    pub(super) fn branch<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let numbers = self.facts.numbers();
        let found = read(self)?;
        self.facts.forget(numbers);
        Ok(found)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            commands: self.line.commands.len(),
            scopes: self.line.scopes.len(),
            numbers: self.facts.numbers(),
        }
    }

    /// Puts all that was found since `mark` into a scope of its own: a `|` or `&` stands behind what it changes.
    pub(super) fn enclose(&mut self, mark: Mark, place: Place) {
        let (outer, inner) = (self.scope, mark.scopes);
        let moved = |scope: usize| if scope == outer { inner } else { scope + 1 };
        for scope in &mut self.line.scopes[inner..] {
            scope.parent = scope.parent.map(moved);
        }
        for command in &mut self.line.commands[mark.commands..] {
            command.scope = moved(command.scope);
        }
        self.line.scopes.insert(inner, Scope { parent: Some(outer), place });
        self.facts.forget(mark.numbers);
    }

    /// Makes room for a command, before what is nested in its words. Gives its index.
    pub(super) fn open_command(&mut self, connector: Connector) -> Result<usize> {
        if self.line.commands.len() == MOST_COMMANDS {
            return Err(Reason::TooManyCommands);
        }
        if self.facts.reads_differently {
            return Err(Reason::ChangesReading);
        }
        self.line.commands.push(Command {
            assignments: Vec::new(),
            words: Vec::new(),
            redirections: Vec::new(),
            scope: self.scope,
            connector,
            span: self.at..self.at,
        });
        self.spelled.push(Spelled { words: Vec::new(), in_document: self.in_document });
        Ok(self.line.commands.len() - 1)
    }

    pub(super) fn command_mut(&mut self, index: usize) -> &mut Command {
        &mut self.line.commands[index]
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Whether an unquoted word ends before this byte.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of the variable's name at the start of `text`; 0 where there is none.
pub(super) fn name_length(text: &str) -> usize {
    if text.as_bytes().first().is_none_or(u8::is_ascii_digit) {
        return 0;
    }
    text.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(text.len())
}

/// Whether all of `text` is a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes of `text` that a reading did not go over.
    fn left_out(text: &str) -> Option<Vec<usize>> {
        let mut reader = Reader::new(text, Shell::Bash);
        reader.read_line().ok()?;
        let mut covered = vec![false; text.len()];
        reader.covered.iter().for_each(|range| covered[range.clone()].fill(true));
        Some((0..text.len()).filter(|at| !covered[*at]).collect())
    }

    #[test]
    fn every_byte_is_in_a_word_an_operator_or_an_opaque_span() {
        for text in [
            "a=1 git push 'x y' >log 2>&1 # z",
            "if a; then b; fi && { c; } | (d) & f() { g; }",
            "cat <<E\n$(x) \\$ it's\nE\ncat <<-'E' \\\n -n\n\tx\n\tE\n",
            "echo \"a $(b `c` ${d%%x}) e\" $((1 + (2))) $'\\x41' <(z) {1..3}",
            "case x in (a|b) c;; *) d;& e) esac; for i in 1 2; do [[ ! ( a == b ) && -f c ]]; done",
        ] {
            assert_eq!(left_out(text), Some(vec![]), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_left_out(text in "([a-z]{1,3}|if |then |fi|do |done|[ ;&|()<>'\"$`{}\\n]|\\$\\(|\\)|<<E|\\nE\\n){0,24}") {
            if let Some(left_out) = left_out(&text) {
                prop_assert_eq!(left_out, Vec::<usize>::new());
            }
        }
    }
}
