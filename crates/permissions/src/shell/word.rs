//! Words: where one ends, what is nested in it, and which one argument it is certain to become.
//!
//! The value is put together while the end is looked for, so that both come from one reading. A value is given
//! only for text whose meaning depends on nothing but itself: no variable, no file name pattern, no home.

use super::brace::{self, Braces};
use super::reader::{Reader, Result, ends_word, name_length};
use super::{DEEPEST, Place, Reason, Shell, Word, WordFlags};

/// Where a word stands, which decides what the shell does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An argument: braces, then `~`, then file name patterns.
    Argument,
    /// One of the words that braces made: they are not looked at again.
    Expanded,
    /// The value of an assignment: `~` after `:` as well, neither braces nor patterns.
    Value,
    /// The target of a redirection.
    Target,
    /// An operand of `case` or `[[`.
    Single,
}

/// A word that is being read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    value: String,
    flags: WordFlags,
    /// How many unquoted `{` stand in it.
    braces: usize,
}

impl Draft {
    /// Notes that something in it is known only when the line runs.
    pub(super) fn run_time(&mut self, quoted: bool) {
        self.flags.dynamic = true;
        self.flags.splits |= !quoted;
    }

    pub(super) fn quote(&mut self) {
        self.flags.quoted = true;
    }

    pub(super) fn push(&mut self, text: &str) {
        self.value.push_str(text);
    }

    pub(super) fn into_word(self, raw: &str) -> Word {
        let flags = self.flags;
        let uncertain = flags.glob || flags.brace || flags.tilde || flags.dynamic;
        match uncertain {
            true => Word { raw: raw.into(), value: None, flags },
            false if self.value == raw => Word { flags, ..Word::literal(raw) },
            false => Word { raw: raw.into(), value: Some(self.value.into()), flags },
        }
    }
}

/// Whether `text` starts with `name=` or `name+=`.
pub(super) fn is_assignment(text: &str) -> bool {
    let name = name_length(text);
    let behind = text.as_bytes().get(name..).unwrap_or(&[]);
    name > 0 && (behind.starts_with(b"=") || behind.starts_with(b"+="))
}

/// When braces in one line have made so many words, further ones are left to the shell.
const MOST_BRACE_WORDS: usize = 2_000;

impl<'a> Reader<'a> {
    /// Reads an argument, which braces may turn into several.
    pub(super) fn word(&mut self, kind: Kind) -> Result<Vec<Word>> {
        let start = self.at;
        let mut draft = self.spell(kind)?;
        let raw = self.since(start);
        if draft.braces > 0 && kind == Kind::Argument {
            match self.expand(raw, &draft) {
                Braces::Literal => {}
                Braces::Words(words) => return words.iter().map(|word| self.expanded(word)).collect(),
                Braces::Unsure => draft.flags.brace = true,
            }
        }
        Ok(vec![draft.into_word(raw)])
    }

    /// Reads a word that stays one.
    pub(super) fn single_word(&mut self, kind: Kind) -> Result<Word> {
        let start = self.at;
        let mut draft = self.spell(kind)?;
        let raw = self.since(start);
        draft.flags.brace = draft.braces > 0 && kind == Kind::Target && raw.contains([',', '.']);
        Ok(draft.into_word(raw))
    }

    fn expand(&mut self, raw: &str, draft: &Draft) -> Braces {
        let special = draft.flags.dynamic || is_assignment(raw) || raw.contains('$');
        if special || self.shell == Shell::Sh || self.brace_words >= MOST_BRACE_WORDS {
            return brace::scan(raw);
        }
        let braces = brace::expand(raw);
        if let Braces::Words(words) = &braces {
            self.brace_words += words.len();
        }
        braces
    }

    /// A word that braces made, by its own spelling.
    fn expanded(&self, raw: &str) -> Result<Word> {
        let mut reader = Reader::new(raw, self.shell);
        let mut word = reader.single_word(Kind::Expanded)?;
        word.flags.expanded = true;
        if reader.peek().is_some() { Err(Reason::Syntax) } else { Ok(word) }
    }

    fn spell(&mut self, kind: Kind) -> Result<Draft> {
        let start = self.at;
        let mut draft = Draft::default();
        self.process_substitution(kind, &mut draft)?;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => self.single_quoted(&mut draft)?,
                b'"' => self.double_quoted(&mut draft)?,
                b'\\' => self.escaped(&mut draft)?,
                b'`' => self.backquoted(&mut draft, false)?,
                b'$' => self.dollar(&mut draft, false)?,
                b'(' if self.follows_pattern(start) => return Err(Reason::ExtendedPattern),
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => return Err(Reason::ProcessSubstitution),
                byte if ends_word(byte) => break,
                byte => self.unquoted(byte, start, kind, &mut draft),
            }
        }
        self.check_end(start)?;
        if draft.braces > DEEPEST { Err(Reason::TooDeep) } else { Ok(draft) }
    }

    fn check_end(&mut self, start: usize) -> Result<()> {
        let raw = self.since(start);
        let names_descriptor = raw.starts_with('{') && raw.ends_with('}');
        match self.peek() {
            _ if raw.is_empty() => Err(Reason::Syntax),
            Some(b'<' | b'>') if names_descriptor => Err(Reason::Redirection),
            _ if !self.pending.is_empty() && raw.contains('\n') => Err(Reason::HereDocument),
            _ => Ok(()),
        }
    }

    fn follows_pattern(&self, start: usize) -> bool {
        self.at > start && matches!(self.text.as_bytes()[self.at - 1], b'?' | b'*' | b'+' | b'@' | b'!')
    }

    /// Goes over an unquoted byte that stands for itself or for file names, and the plain text behind it.
    fn unquoted(&mut self, byte: u8, start: usize, kind: Kind, draft: &mut Draft) {
        let patterns = !matches!(kind, Kind::Value);
        match byte {
            b'*' | b'?' => draft.flags.glob |= patterns,
            b'[' => draft.flags.glob |= patterns && !self.is_lone_bracket(start),
            b'{' => draft.braces += 1,
            b'~' => self.tilde(start, kind, draft),
            _ => {}
        }
        let from = self.at;
        if is_special(byte) {
            self.advance(1);
        }
        self.take_while(|byte| !is_special(byte));
        draft.push(self.since(from));
    }

    fn is_lone_bracket(&self, start: usize) -> bool {
        self.at == start && self.peek_at(1).is_none_or(ends_word)
    }

    fn tilde(&self, start: usize, kind: Kind, draft: &mut Draft) {
        let raw = self.since(start);
        let assigns = kind == Kind::Value || is_assignment(raw);
        if raw.is_empty() {
            draft.flags.tilde = true;
        } else if assigns && raw.ends_with([':', '=']) {
            draft.flags.dynamic = true;
        }
    }

    fn escaped(&mut self, draft: &mut Draft) -> Result<()> {
        match self.rest().chars().nth(1) {
            None => Err(Reason::TrailingBackslash),
            Some('\n') => Err(Reason::Continuation),
            Some(c) => {
                draft.flags.quoted = true;
                draft.value.push(c);
                self.advance(1 + c.len_utf8());
                Ok(())
            }
        }
    }

    fn single_quoted(&mut self, draft: &mut Draft) -> Result<()> {
        let text = self.rest().get(1..).unwrap_or("");
        let length = text.find('\'').ok_or(Reason::Unclosed)?;
        draft.flags.quoted = true;
        draft.push(&text[..length]);
        self.advance(length + 2);
        Ok(())
    }

    fn double_quoted(&mut self, draft: &mut Draft) -> Result<()> {
        draft.flags.quoted = true;
        self.advance(1);
        self.deeper(|reader| {
            loop {
                let text = reader.take_while(|byte| !matches!(byte, b'"' | b'\\' | b'`' | b'$'));
                draft.push(text);
                match reader.peek() {
                    None => return Err(Reason::Unclosed),
                    Some(b'"') => return Ok(()),
                    Some(_) => reader.in_double_quotes(draft, b"$`\"\\")?,
                }
            }
        })?;
        self.advance(1);
        Ok(())
    }

    /// Reads what is special in double quotes and in here-documents; `escapes` are what a backslash quotes there.
    pub(super) fn in_double_quotes(&mut self, draft: &mut Draft, escapes: &[u8]) -> Result<()> {
        match self.peek() {
            Some(b'`') => self.backquoted(draft, true),
            Some(b'$') => self.dollar(draft, true),
            _ => match self.peek_at(1) {
                None => Err(Reason::Unclosed),
                Some(b'\n') => Err(Reason::Continuation),
                Some(byte) => {
                    let length = if escapes.contains(&byte) { 2 } else { 1 };
                    draft.push(self.rest().get(length - 1..length.max(1)).unwrap_or("\\"));
                    self.advance(length);
                    Ok(())
                }
            },
        }
    }

    /// Reads what a `$` begins.
    fn dollar(&mut self, draft: &mut Draft, quoted: bool) -> Result<()> {
        let next = self.peek_at(1);
        match next {
            Some(b'(') if self.peek_at(2) == Some(b'(') => self.arithmetic_expansion(draft),
            Some(b'(') => self.substitution(draft, quoted),
            Some(b'{') => self.parameter(draft, quoted),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                self.advance(1);
                self.take_while(super::reader::is_name_byte);
                draft.run_time(quoted);
                Ok(())
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                self.advance(2);
                draft.run_time(quoted);
                Ok(())
            }
            Some(b'\'') if !quoted => self.dollar_quoted(draft),
            Some(b'"') if !quoted => Err(Reason::TranslatedString),
            _ if self.is_plain_dollar(next, quoted) => {
                self.advance(1);
                draft.push("$");
                Ok(())
            }
            _ => Err(Reason::LoneDollar),
        }
    }

    /// A `$` that stands for itself, as at the end of a regular expression.
    fn is_plain_dollar(&self, next: Option<u8>, quoted: bool) -> bool {
        match next {
            None => !quoted && self.at + 1 == self.text.len(),
            Some(b' ' | b'\n' | b'|' | b'/' | b'.' | b',' | b'%' | b';' | b':') if quoted => true,
            Some(b'"') => quoted,
            Some(b' ' | b'\n' | b';' | b'|') => !quoted,
            _ => false,
        }
    }

    /// `$( … )`.
    fn substitution(&mut self, draft: &mut Draft, quoted: bool) -> Result<()> {
        draft.run_time(quoted);
        self.advance(2);
        self.nested(Place::Substitution)
    }

    fn process_substitution(&mut self, kind: Kind, draft: &mut Draft) -> Result<()> {
        if !self.is_at("<(") && !self.is_at(">(") {
            return Ok(());
        }
        let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
        let apart = before.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
        if !apart || !matches!(kind, Kind::Argument | Kind::Target) {
            return Err(Reason::ProcessSubstitution);
        }
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        draft.flags.dynamic = true;
        self.advance(2);
        self.nested(Place::ProcessSubstitution)?;
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') => Ok(()),
            _ => Err(Reason::ProcessSubstitution),
        }
    }

    /// Commands up to a `)`.
    fn nested(&mut self, place: Place) -> Result<()> {
        if !self.pending.is_empty() {
            return Err(Reason::HereDocument);
        }
        let (start, first, documents) = (self.at, self.line.commands.len(), self.here_documents_read);
        self.commands_of(place)?;
        if self.here_documents_read > documents {
            self.check_lone_command(first, start)?;
        }
        self.expect(")", Reason::Syntax)
    }

    /// A list in a scope of its own. Its first command follows as the command does whose word it is in.
    fn commands_of(&mut self, place: Place) -> Result<()> {
        let connector = self.following;
        self.substitutions += 1;
        self.deeper(|reader| reader.scoped(place, |reader| reader.list(connector)))?;
        self.substitutions -= 1;
        self.following = connector;
        Ok(())
    }

    /// bash prints a substitution and reads its own print, and the print joins commands around a here-document:
    /// nothing but the one simple command may stand between `start` and here.
    fn check_lone_command(&self, first: usize, start: usize) -> Result<()> {
        let [command] = &self.line.commands[first..] else { return Err(Reason::HereDocument) };
        let place = self.line.scopes[command.scope].place;
        let before = &self.text[start..command.span.start];
        let nested = matches!(place, Place::Substitution | Place::ProcessSubstitution);
        if nested && before.trim().is_empty() { Ok(()) } else { Err(Reason::HereDocument) }
    }

    /// `` ` … ` ``, with nothing in it that the shell would have to unescape first.
    fn backquoted(&mut self, draft: &mut Draft, quoted: bool) -> Result<()> {
        draft.run_time(quoted);
        if !self.pending.is_empty() {
            return Err(Reason::HereDocument);
        }
        let body = self.rest().get(1..).unwrap_or("");
        let length = body.find('`').ok_or(Reason::Unclosed)?;
        let body = &body[..length];
        if body.contains('\\') || body.contains("<<") || body.contains("$(") {
            return Err(Reason::Backquote);
        }
        self.advance(1);
        let end = self.at + length;
        self.within(end, |reader| {
            reader.commands_of(Place::Substitution)?;
            if reader.peek().is_some() { Err(Reason::Syntax) } else { Ok(()) }
        })?;
        self.advance(1);
        Ok(())
    }
}

/// Whether an unquoted byte must be looked at on its own.
fn is_special(byte: u8) -> bool {
    ends_word(byte) || matches!(byte, b'\'' | b'"' | b'\\' | b'`' | b'$' | b'*' | b'?' | b'[' | b'{' | b'~')
}
