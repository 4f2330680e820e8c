//! Simple commands: assignments, words and redirections, and the definitions of functions, which begin alike.

use super::reader::{Reader, Result, ends_word, is_blank, is_name, name_length};
use super::word::{Kind, is_assignment};
use super::{Assignment, Connector, Place, Reason, Redirection, RedirectionOperator, Shell, Word, WordFlags};

/// Commands whose arguments the shell reads like assignments, subscripts included.
const DECLARING: [&str; 7] = ["declare", "typeset", "local", "export", "readonly", "alias", "eval"];

impl<'a> Reader<'a> {
    pub(super) fn simple_command(&mut self, connector: Connector) -> Result<()> {
        let command = self.open_command(connector)?;
        loop {
            self.skip_blanks()?;
            let start = self.at;
            if self.is_redirection() {
                self.redirection(command)?;
            } else if !self.is_word() {
                break;
            } else if self.command_mut(command).words.is_empty() && is_assignment(self.rest()) {
                self.assignment(command)?;
            } else {
                if self.starts_function(command) {
                    return self.function();
                }
                self.argument(command)?;
            }
            if self.last_redirection != Some(start) {
                self.spelled[command].words.push(start..self.at);
            }
            self.command_mut(command).span.end = self.at;
        }
        self.end_simple(command)
    }

    fn end_simple(&mut self, command: usize) -> Result<()> {
        let found = &self.line.commands[command];
        if found.words.is_empty() && found.assignments.is_empty() && found.redirections.is_empty() {
            return Err(Reason::Syntax);
        }
        self.facts.note(found, self.shell)
    }

    /// Whether a word starts here.
    fn is_word(&self) -> bool {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'#') => false,
            Some(b'<' | b'>') => self.peek_at(1) == Some(b'('),
            _ => true,
        }
    }

    fn argument(&mut self, command: usize) -> Result<()> {
        self.check_subscript(command)?;
        if self.command_mut(command).words.is_empty()
            && self.command_mut(command).span.start != self.at
            && self.keyword().is_some()
        {
            return Err(Reason::Keyword);
        }
        let words = self.word(Kind::Argument)?;
        if self.peek() == Some(b'(') {
            let is_array = words.last().is_some_and(|word| word.raw.ends_with('='));
            return Err(if is_array && self.declares(command) { Reason::Array } else { Reason::Syntax });
        }
        self.command_mut(command).words.extend(words);
        Ok(())
    }

    /// `a[…` where an assignment may stand swallows blanks up to the `]`.
    fn check_subscript(&mut self, command: usize) -> Result<()> {
        let rest = self.rest();
        let name = name_length(rest);
        if name == 0 || rest.as_bytes().get(name) != Some(&b'[') {
            return Ok(());
        }
        if self.line.commands[command].words.is_empty() || self.declares(command) {
            return Err(Reason::Subscript);
        }
        Ok(())
    }

    /// Whether the arguments of a command may be read like assignments.
    fn declares(&self, command: usize) -> bool {
        let first = self.line.commands[command].words.first();
        first.is_some_and(|word| word.value.as_deref().is_none_or(|value| DECLARING.contains(&value)))
    }

    fn assignment(&mut self, command: usize) -> Result<()> {
        let rest = self.rest();
        let name = &rest[..name_length(rest)];
        self.advance(name.len());
        let appends = self.take("+");
        if appends && self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        self.expect("=", Reason::Syntax)?;
        let value = if self.peek() == Some(b'(') { self.array()? } else { self.value()? };
        self.command_mut(command).assignments.push(Assignment { name: name.into(), appends, value });
        Ok(())
    }

    /// What follows the `=`; nothing at all is the empty text.
    fn value(&mut self) -> Result<Word> {
        if self.is_word() || self.peek() == Some(b'#') {
            return self.single_word(Kind::Value);
        }
        match self.peek() {
            Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => Err(Reason::ProcessSubstitution),
            _ => Ok(Word::literal("")),
        }
    }

    fn array(&mut self) -> Result<Word> {
        if self.shell == Shell::Sh {
            return Err(Reason::OtherShell);
        }
        let start = self.at;
        self.expect("(", Reason::Array)?;
        loop {
            self.skip_breaks()?;
            match self.peek() {
                Some(b')') => break,
                Some(b'[') => return Err(Reason::Array),
                None => return Err(Reason::Unclosed),
                _ => {}
            }
            self.word(Kind::Argument)?;
        }
        self.advance(1);
        if self.is_word() || self.peek() == Some(b'(') || self.peek() == Some(b'#') {
            return Err(Reason::Array);
        }
        let raw = self.since(start).into();
        Ok(Word { raw, value: None, flags: WordFlags { dynamic: true, ..WordFlags::default() } })
    }

    /// Whether the first word here is a name with parentheses behind it.
    fn starts_function(&self, command: usize) -> bool {
        let command = &self.line.commands[command];
        if command.span.start != self.at {
            return false;
        }
        let rest = self.rest();
        let word = &rest[..rest.bytes().position(ends_word).unwrap_or(rest.len())];
        let plain = !word.is_empty() && !word.contains(['$', '`', '"', '\'', '\\', '=']);
        plain && rest[word.len()..].trim_start_matches([' ', '\t']).starts_with('(')
    }

    /// `name() { … }` or `name() ( … )`.
    fn function(&mut self) -> Result<()> {
        let Some(command) = self.line.commands.pop() else { return Err(Reason::Syntax) };
        self.spelled.pop();
        let rest = self.rest();
        let name = &rest[..rest.find([' ', '\t', '(']).unwrap_or(rest.len())];
        if !is_function_name(name, self.shell) {
            return Err(Reason::FunctionDefinition);
        }
        self.advance(name.len());
        self.take_while(is_blank);
        self.expect("(", Reason::FunctionDefinition)?;
        self.take_while(is_blank);
        self.expect(")", Reason::FunctionDefinition)?;
        self.skip_breaks()?;
        if !matches!(self.peek(), Some(b'{' | b'(')) || self.is_at("((") {
            return Err(Reason::FunctionDefinition);
        }
        self.line.functions.push(name.into());
        self.scoped(Place::Function, |reader| reader.command(command.connector))
    }

    /// Whether a redirection starts here, its descriptor included.
    pub(super) fn is_redirection(&self) -> bool {
        let rest = self.rest().as_bytes();
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        match rest.get(digits..).unwrap_or(&[]) {
            [b'<' | b'>', b'(', ..] => digits > 0, // An error, which reading the operator finds.
            [b'<' | b'>', ..] => true,
            [b'&', b'>', ..] => digits == 0,
            _ => false,
        }
    }

    /// Reads redirections as long as there are any.
    pub(super) fn redirections(&mut self, command: usize) -> Result<()> {
        while self.is_redirection() {
            self.redirection(command)?;
            self.skip_blanks()?;
        }
        Ok(())
    }

    fn redirection(&mut self, command: usize) -> Result<()> {
        let start = self.at;
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let descriptor = match digits {
            "" => None,
            _ if digits.len() > 4 => return Err(Reason::Redirection),
            _ => digits.parse().ok(),
        };
        let operator = self.redirection_operator()?;
        let strips = operator == RedirectionOperator::HereDocument && self.take("-");
        let target = match operator {
            RedirectionOperator::Duplicate => self.descriptor()?,
            RedirectionOperator::HereDocument => self.delimiter(command, strips)?,
            _ => self.target()?,
        };
        self.command_mut(command).redirections.push(Redirection { descriptor, operator, target, body: None });
        self.last_redirection = Some(start);
        Ok(())
    }

    fn redirection_operator(&mut self) -> Result<RedirectionOperator> {
        use RedirectionOperator::*;
        let operators = [
            ("&>>", AppendBoth),
            ("&>", WriteBoth),
            ("<<<", HereString),
            ("<<", HereDocument),
            ("<>", ReadWrite),
            ("<&", Duplicate),
            (">&", Duplicate),
            (">>", Append),
            (">|", Clobber),
            ("<", Read),
            (">", Write),
        ];
        for (text, operator) in operators {
            if self.take(text) {
                let newer = match self.shell {
                    Shell::Bash => false,
                    Shell::OldBash => operator == AppendBoth,
                    Shell::Sh => matches!(operator, AppendBoth | WriteBoth | HereString),
                };
                return if newer { Err(Reason::OtherShell) } else { Ok(operator) };
            }
        }
        Err(Reason::Redirection)
    }

    /// The file or text after the operator.
    fn target(&mut self) -> Result<Word> {
        let touches = self.peek();
        self.skip_blanks()?;
        if !self.is_word() || matches!(touches, Some(b'<' | b'>')) {
            return Err(Reason::Redirection);
        }
        let target = self.single_word(Kind::Target)?;
        let digits = target.raw.bytes().all(|byte| byte.is_ascii_digit());
        if digits && matches!(self.peek(), Some(b'<' | b'>')) || self.peek() == Some(b'(') {
            return Err(Reason::Redirection);
        }
        Ok(target)
    }

    /// A descriptor or `-`, right behind `>&` or `<&`.
    fn descriptor(&mut self) -> Result<Word> {
        let start = self.at;
        if !self.take("-") {
            self.take_while(|byte| byte.is_ascii_digit());
        }
        let raw = self.since(start);
        let ends = !matches!(self.peek(), Some(b'<' | b'>' | b'(')) && !self.is_word();
        if raw.is_empty() || !ends || self.peek() == Some(b'#') {
            return Err(Reason::Redirection);
        }
        Ok(Word::literal(raw))
    }
}

fn is_function_name(name: &str, shell: Shell) -> bool {
    let extra = |byte: u8| shell != Shell::Sh && matches!(byte, b'-' | b'.' | b':');
    let first = name.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    first
        && (is_name(name) || name.bytes().all(|byte| super::reader::is_name_byte(byte) || extra(byte)))
        && super::grammar::Keyword::of(name).is_none()
}
