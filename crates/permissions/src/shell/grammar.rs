//! Lists, pipelines and compound commands.
//!
//! A keyword is one only where a command may start, and only written plainly. What bash takes for a keyword in
//! some versions or positions only is refused.

use super::reader::{Reader, Result, ends_word, is_name};
use super::word::Kind;
use super::{Assignment, Connector, Place, Reason, Shell, Word, WordFlags};

/// What may stand where a command starts, other than a simple command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// `if`, `while`, `until`, `for`, `case`, `{`, `[[`
    If,
    While,
    For,
    Case,
    Brace,
    Conditional,
    Not,
    Time,
    /// One that ends a list: `then`, `do`, `done`, `}`, …
    Closes,
    /// `select`, `coproc`, `function`
    Unread,
}

impl Keyword {
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "if" => Self::If,
            "while" | "until" => Self::While,
            "for" => Self::For,
            "case" => Self::Case,
            "{" => Self::Brace,
            "[[" => Self::Conditional,
            "!" => Self::Not,
            "time" => Self::Time,
            "then" | "do" | "done" | "elif" | "else" | "fi" | "esac" | "}" => Self::Closes,
            "select" | "coproc" | "function" | "in" | "]]" => Self::Unread,
            _ => return None,
        })
    }
}

impl<'a> Reader<'a> {
    /// Reads the whole text.
    pub(super) fn read_line(&mut self) -> Result<()> {
        self.list(Connector::Sequence)?;
        if self.peek().is_some() {
            return Err(Reason::Syntax);
        }
        self.facts.finish()
    }

    /// Reads a list up to what closes it, and says how many of its parts it read.
    pub(super) fn list(&mut self, first: Connector) -> Result<usize> {
        let mut parts = 0;
        let mut connector = first;
        loop {
            self.skip_breaks()?;
            if self.is_list_over() {
                return self.no_body_is_due(parts);
            }
            let separated = self.and_or(connector)?;
            parts += 1;
            connector = Connector::Sequence;
            self.skip_blanks_and_comment()?;
            match self.peek() {
                Some(b';') if !self.is_at(";;") && !self.is_at(";&") => self.advance(1),
                None | Some(b'\n') => {}
                _ if separated => {}
                _ => return self.no_body_is_due(parts),
            }
        }
    }

    /// A here-document that was announced in a list has its body there too.
    fn no_body_is_due(&self, parts: usize) -> Result<usize> {
        if self.pending.is_empty() { Ok(parts) } else { Err(Reason::HereDocument) }
    }

    /// A list that must not be empty.
    fn body(&mut self, first: Connector) -> Result<()> {
        if self.branch(|reader| reader.list(first))? == 0 { Err(Reason::Syntax) } else { Ok(()) }
    }

    fn is_list_over(&self) -> bool {
        matches!(self.peek(), None | Some(b')'))
            || self.is_at(";;")
            || self.is_at(";&")
            || self.keyword() == Some(Keyword::Closes)
    }

    /// The word here, if it is written plainly to its end.
    fn plain_word(&self) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(ends_word).unwrap_or(rest.len());
        rest.get(..length).unwrap_or("")
    }

    pub(super) fn keyword(&self) -> Option<Keyword> {
        // No keyword is longer than `coproc`, and most words are told by their first letter.
        match self.peek() {
            Some(b'{' | b'}' | b'!' | b'[' | b']' | b'a'..=b'w') => Keyword::of(self.plain_word()),
            _ => None,
        }
    }

    /// Goes over one particular keyword.
    fn take_keyword(&mut self, word: &str) -> Result<()> {
        if self.peek().is_none() {
            return Err(Reason::Unclosed);
        }
        if self.plain_word() != word {
            return Err(Reason::Syntax);
        }
        self.advance(word.len());
        Ok(())
    }

    /// Reads pipelines joined by `&&` and `||`, and says whether a `&` followed.
    fn and_or(&mut self, first: Connector) -> Result<bool> {
        let mark = self.mark();
        self.pipeline(first)?;
        self.branch(Self::and_or_rest)?;
        if self.peek() != Some(b'&') {
            return Ok(false);
        }
        self.advance(1);
        self.enclose(mark, Place::Background);
        Ok(true)
    }

    fn and_or_rest(&mut self) -> Result<()> {
        loop {
            self.skip_blanks()?;
            let connector = if self.take("&&") {
                Connector::And
            } else if self.take("||") {
                Connector::Or
            } else {
                return Ok(());
            };
            self.skip_breaks()?;
            self.pipeline(connector)?;
        }
    }

    fn pipeline(&mut self, first: Connector) -> Result<()> {
        self.prefix()?;
        let mark = self.mark();
        self.command(first)?;
        self.skip_blanks()?;
        if !self.is_pipe() {
            return Ok(());
        }
        self.enclose(mark, Place::Pipe);
        while self.is_pipe() {
            self.advance(1);
            if self.take("&") && self.shell != Shell::Bash {
                return Err(Reason::OtherShell);
            }
            self.skip_breaks()?;
            self.scoped(Place::Pipe, |reader| reader.command(Connector::Sequence))?;
            self.skip_blanks()?;
        }
        Ok(())
    }

    fn is_pipe(&self) -> bool {
        self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|')
    }

    /// `!` or `time` before a pipeline, the latter with its option.
    fn prefix(&mut self) -> Result<()> {
        let word = match self.keyword() {
            Some(Keyword::Not) => "!",
            Some(Keyword::Time) if self.shell == Shell::Sh => return Err(Reason::OtherShell),
            Some(Keyword::Time) if self.substitutions > 0 => return Err(Reason::Prefix),
            Some(Keyword::Time) => "time",
            _ => return Ok(()),
        };
        self.advance(word.len());
        self.blanks_of_prefix()?;
        if word == "time" && self.shell == Shell::Bash && self.plain_word() == "-p" {
            self.advance("-p".len());
            self.blanks_of_prefix()?;
        }
        match self.peek() {
            None | Some(b'-' | b'\n' | b'#' | b';' | b'&' | b'|' | b')') => Err(Reason::Prefix),
            _ if matches!(self.keyword(), Some(Keyword::Not | Keyword::Time)) => Err(Reason::Prefix),
            _ => Ok(()),
        }
    }

    /// The blanks behind a word of a prefix.
    fn blanks_of_prefix(&mut self) -> Result<()> {
        match self.peek() {
            Some(byte) if super::reader::is_blank(byte) => self.skip_blanks(),
            _ => Err(Reason::Prefix),
        }
    }

    pub(super) fn command(&mut self, connector: Connector) -> Result<()> {
        self.following = connector;
        if self.peek() == Some(b'(') {
            return self.deeper(|reader| reader.parenthesis(connector));
        }
        let Some(keyword) = self.keyword() else { return self.simple_command(connector) };
        self.deeper(|reader| match keyword {
            Keyword::If => reader.if_command(),
            Keyword::While => reader.while_command(),
            Keyword::For => reader.for_command(connector),
            Keyword::Case => reader.case_command(),
            Keyword::Brace => reader.group(connector),
            Keyword::Conditional => reader.conditional(),
            Keyword::Not | Keyword::Time => Err(Reason::Prefix),
            Keyword::Closes => Err(Reason::Syntax),
            Keyword::Unread => Err(Reason::Keyword),
        })?;
        self.end_compound(connector)
    }

    fn parenthesis(&mut self, connector: Connector) -> Result<()> {
        if self.is_at("((") {
            self.arithmetic_command()?
        } else {
            self.subshell(connector)?
        }
        self.end_compound(connector)
    }

    fn subshell(&mut self, connector: Connector) -> Result<()> {
        self.expect("(", Reason::Syntax)?;
        self.scoped(Place::Subshell, |reader| reader.body(connector))?;
        self.expect(")", Reason::Syntax)
    }

    fn group(&mut self, connector: Connector) -> Result<()> {
        self.take_keyword("{")?;
        if !matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
            return Err(Reason::Syntax);
        }
        if self.list(connector)? == 0 {
            return Err(Reason::Syntax);
        }
        self.take_keyword("}")
    }

    /// After a compound command only redirections and what ends a command may stand.
    fn end_compound(&mut self, connector: Connector) -> Result<()> {
        self.skip_blanks()?;
        if self.is_redirection() {
            let command = self.open_command(connector)?;
            self.redirections(command)?;
            self.command_mut(command).span.end = self.at;
        }
        match self.peek() {
            None | Some(b';' | b'&' | b'|' | b')' | b'\n' | b'#') => Ok(()),
            _ => Err(Reason::Syntax),
        }
    }

    fn if_command(&mut self) -> Result<()> {
        self.take_keyword("if")?;
        loop {
            self.body(Connector::Branch)?;
            self.take_keyword("then")?;
            self.body(Connector::Branch)?;
            match self.plain_word() {
                "elif" => self.take_keyword("elif")?,
                "else" => {
                    self.take_keyword("else")?;
                    self.body(Connector::Branch)?;
                    return self.take_keyword("fi");
                }
                _ => return self.take_keyword("fi"),
            }
        }
    }

    fn while_command(&mut self) -> Result<()> {
        self.advance("while".len()); // `until` is as long.
        self.body(Connector::Branch)?;
        self.loop_body()
    }

    fn loop_body(&mut self) -> Result<()> {
        self.take_keyword("do")?;
        self.body(Connector::Branch)?;
        self.take_keyword("done")
    }

    /// `for name in word…; do …; done`. The name is an assignment, of no certain value, and stands as one.
    fn for_command(&mut self, connector: Connector) -> Result<()> {
        self.take_keyword("for")?;
        self.skip_blanks()?;
        if self.is_at("((") {
            self.for_arithmetic()?;
            return self.loop_body();
        }
        let name = self.plain_word();
        if !is_name(name) {
            return Err(Reason::Syntax);
        }
        let command = self.open_command(connector)?;
        let start = self.at;
        self.advance(name.len());
        self.skip_blanks()?;
        let numeric = if self.plain_word() == "in" { self.for_words()? } else { false };
        self.command_mut(command).span.end = self.at;
        let value = Word {
            raw: self.since(start).into(),
            value: None,
            flags: WordFlags { dynamic: true, ..WordFlags::default() },
        };
        self.command_mut(command).assignments.push(Assignment { name: name.into(), appends: false, value });
        self.facts.assign(name, numeric)?;
        self.take(";");
        self.skip_breaks()?;
        self.loop_body()
    }

    /// The words after `in`; whether all of them are numbers.
    fn for_words(&mut self) -> Result<bool> {
        self.take_keyword("in")?;
        let (mut numeric, mut is_empty) = (true, true);
        loop {
            self.skip_blanks()?;
            match self.peek() {
                Some(b';' | b'\n') => return Ok(numeric && !is_empty),
                None => return Err(Reason::Unclosed),
                Some(b'#') => return Err(Reason::Syntax),
                _ => {}
            }
            let words = self.word(Kind::Argument)?;
            is_empty = false;
            numeric &= words.iter().all(|word| word.value.as_deref().is_some_and(super::data::is_number));
        }
    }

    fn case_command(&mut self) -> Result<()> {
        if self.shell == Shell::OldBash && self.substitutions > 0 {
            return Err(Reason::OtherShell);
        }
        self.take_keyword("case")?;
        self.skip_blanks()?;
        self.word(Kind::Single)?;
        self.skip_breaks()?;
        self.take_keyword("in")?;
        loop {
            self.skip_breaks()?;
            if self.plain_word() == "esac" {
                return self.take_keyword("esac");
            }
            self.case_patterns()?;
            self.branch(|reader| reader.list(Connector::Branch))?;
            if !self.case_end()? {
                return self.take_keyword("esac");
            }
        }
    }

    fn case_patterns(&mut self) -> Result<()> {
        self.take("(");
        loop {
            self.skip_blanks()?;
            if self.plain_word() == "esac" {
                return Err(Reason::Keyword);
            }
            self.word(Kind::Single)?;
            self.skip_blanks()?;
            if !self.take("|") {
                return self.expect(")", Reason::Syntax);
            }
        }
    }

    /// `;;`, `;&` or `;;&`; whether one stands here.
    fn case_end(&mut self) -> Result<bool> {
        let falls_through = self.take(";;&") || self.take(";&");
        if falls_through && self.shell != Shell::Bash {
            return Err(Reason::OtherShell);
        }
        Ok(falls_through || self.take(";;"))
    }
}
