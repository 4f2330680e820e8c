//! Here-documents: delimiters, and bodies, which begin at the next line break.
//!
//! The end of a body is looked for line by line, before anything in it is read, as shells do.

use super::reader::{Reader, Result, ends_word};
use super::word::Draft;
use super::{Reason, Shell, Word, WordFlags};
use std::sync::Arc;

/// A here-document whose body is still to come.
#[derive(Debug)]
pub(super) struct Pending {
    delimiter: Box<str>,
    /// Nothing in the body is expanded.
    quoted: bool,
    /// `<<-`: tabs at the start of its lines do not count.
    strips: bool,
    /// The command that it belongs to.
    command: usize,
    /// Which of the command's redirections it is.
    redirection: usize,
}

impl Reader<'_> {
    /// Reads the word after `<<` and notes that a body is due.
    pub(super) fn delimiter(&mut self, command: usize, strips: bool) -> Result<Word> {
        if self.shell == Shell::OldBash && self.substitutions > 0 {
            return Err(Reason::OtherShell);
        }
        self.skip_blanks()?;
        let start = self.at;
        let delimiter: Box<str> = self.delimiter_text()?.into();
        if delimiter.is_empty() || self.peek().is_some_and(|byte| !ends_word(byte) || byte == b'(') {
            return Err(Reason::HereDocument);
        }
        let raw = self.since(start);
        let quoted = *raw != *delimiter;
        let redirection = self.line.commands[command].redirections.len();
        self.pending.push(Pending { delimiter: delimiter.clone(), quoted, strips, command, redirection });
        let flags = WordFlags { quoted, ..WordFlags::default() };
        Ok(Word { raw: raw.into(), value: Some((*delimiter).into()), flags })
    }

    /// A plain word, a wholly quoted one, or a plain one behind a backslash.
    fn delimiter_text(&mut self) -> Result<&str> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        match self.peek() {
            Some(quote @ (b'\'' | b'"')) => {
                self.advance(1);
                let text = self.take_while(|byte| plain(byte) || byte == b' ');
                let closes = self.peek() == Some(quote);
                self.advance(usize::from(closes));
                if closes { Ok(text) } else { Err(Reason::HereDocument) }
            }
            Some(b'\\') => {
                self.advance(1);
                Ok(self.take_while(plain))
            }
            _ => Ok(self.take_while(plain)),
        }
    }

    /// Reads the bodies that are due at the line break just read.
    pub(super) fn here_documents(&mut self) -> Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.here_document(&pending)?;
        }
        Ok(())
    }

    fn here_document(&mut self, pending: &Pending) -> Result<()> {
        let (body, ending) = self.find_end(pending)?;
        let start = self.at;
        let mut draft = Draft::default();
        if pending.quoted {
            draft.push(self.rest().get(..body).unwrap_or_default());
            self.advance(body);
        } else {
            self.expanded_body(body, pending.command, &mut draft)?;
        }
        let text = draft.into_word(self.since(start));
        let text = if pending.strips { without_tabs(&text) } else { text };
        if let Some(one) = self.line.commands[pending.command].redirections.get_mut(pending.redirection) {
            one.body = Some(text);
        }
        self.advance(ending);
        self.here_documents_read += 1;
        Ok(())
    }

    /// The lengths of the body and of its last line, the delimiter's.
    fn find_end(&self, pending: &Pending) -> Result<(usize, usize)> {
        let mut body = 0;
        for line in self.rest().split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let text = if pending.strips { text.trim_start_matches('\t') } else { text };
            if *text == *pending.delimiter {
                return Ok((body, line.len()));
            }
            let looks_alike = self.substitutions > 0 && text.starts_with(&*pending.delimiter);
            if looks_alike || (!pending.quoted && text.ends_with('\\')) {
                return Err(Reason::HereDocument);
            }
            body += line.len();
        }
        Err(Reason::HereDocument)
    }

    /// Reads a body in which variables and substitutions are expanded.
    fn expanded_body(&mut self, length: usize, command: usize, draft: &mut Draft) -> Result<()> {
        let scope = self.line.commands[command].scope;
        let outer = std::mem::replace(&mut self.scope, scope);
        let commands = self.line.commands.len();
        let was_in_document = std::mem::replace(&mut self.in_document, true);
        self.within(self.at + length, |reader| {
            loop {
                draft.push(reader.take_while(|byte| !matches!(byte, b'\\' | b'`' | b'$')));
                if reader.peek().is_none() {
                    return Ok(());
                }
                reader.in_double_quotes(draft, b"$`\\")?;
            }
        })?;
        (self.scope, self.in_document) = (outer, was_in_document);
        // What is nested in the body runs with its command, before the commands that stand between them.
        let nested = self.line.commands.len() > commands;
        if nested && command + 1 != commands { Err(Reason::HereDocument) } else { Ok(()) }
    }
}

/// The text of `<<-`: without the tabs that its lines start with.
fn without_tabs(text: &Word) -> Word {
    let strip = |text: &str| -> Arc<str> {
        text.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect::<String>().into()
    };
    Word { raw: strip(&text.raw), value: text.value.as_deref().map(strip), flags: text.flags }
}
