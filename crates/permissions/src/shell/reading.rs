//! What a shell line holds, once it is read: every simple command at any depth, and where it runs.
//!
//! This module is vocabulary. It does not read, it does not look inside wrappers such
//! as `env` or `xargs`, and it knows no rules.

use std::ops::Range;
use std::sync::Arc;

/// The commands of one line, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Every simple command at any depth.
    pub commands: Vec<Command>,
    /// The execution environments that they run in. The first is the line's own; each other one's parent stands
    /// before it.
    pub scopes: Vec<Scope>,
    /// Names of the functions that the line defines: where one is called, no program of that name need run.
    pub functions: Vec<Box<str>>,
}

/// One execution environment: what a `cd` or an assignment changes stays in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The index of the scope around it; `None` for the line's own.
    pub parent: Option<usize>,
    /// What it is.
    pub place: Place,
}

/// Where commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the shell itself.
    Top,
    /// In `( … )`.
    Subshell,
    /// In one member of a pipeline of two or more.
    Pipe,
    /// In `$( … )` or backquotes, here-documents included.
    Substitution,
    /// In `<( … )` or `>( … )`.
    ProcessSubstitution,
    /// Before a `&`.
    Background,
    /// In the body of a function: when, how often and with which arguments it runs is not known. A `cd` in there
    /// changes the caller's directory.
    Function,
}

/// How a command follows the one before it in its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connector {
    /// The first of the line, or after `;`, a line break or `&`: it runs however the one before it ended. (The first
    /// of a nested scope follows as what holds it does: in `a && (b)` the connector of `b` is [`And`](Self::And).)
    Sequence,
    /// After `&&`: only when what stands before it succeeded.
    And,
    /// After `||`: only when what stands before it failed.
    Or,
    /// The first of a branch, a loop's body or a condition: whether and how often it runs is not known.
    Branch,
}

/// One simple command: `A=1 git push > log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The assignments before the words.
    pub assignments: Vec<Assignment>,
    /// The program's name and its arguments; none for a bare assignment or redirection, and for the redirections of
    /// a compound command.
    pub words: Vec<Word>,
    /// In their order.
    pub redirections: Vec<Redirection>,
    /// The index of the scope that it runs in.
    pub scope: usize,
    /// How it follows the one before it.
    pub connector: Connector,
    /// Where in the line it stands, in bytes; nowhere, `0..0`, where the line was not read.
    pub span: Range<usize>,
}

/// One assignment before a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable, without a subscript.
    pub name: Box<str>,
    /// `+=` rather than `=`.
    pub appends: bool,
    /// What it is set to.
    pub value: Word,
}

/// One word as written, and what is certain about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As written.
    pub raw: Arc<str>,
    /// The one argument that the shell will make of it, where that is certain. Most words stand for themselves: then it
    /// is the same text in the same place.
    pub value: Option<Arc<str>>,
    /// What else is known.
    pub flags: WordFlags,
}

impl Word {
    /// A word that stands for just that text.
    pub(crate) fn literal(text: &str) -> Self {
        let raw: Arc<str> = text.into();
        Word { value: Some(raw.clone()), raw, flags: WordFlags::default() }
    }
}

/// What a word holds. A word with a [`value`](Word::value) has none of the first four.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordFlags {
    /// An unquoted `*`, `?` or `[`: it may become any number of file names.
    pub glob: bool,
    /// An unquoted `{a,b}` or `{1..3}` that was not expanded.
    pub brace: bool,
    /// It starts with an unquoted `~`.
    pub tilde: bool,
    /// A variable, a substitution or arithmetic.
    pub dynamic: bool,
    /// Some of it is quoted.
    pub quoted: bool,
    /// A variable or substitution outside quotes: it may become no argument at all, or several.
    pub splits: bool,
    /// It is one of the words that braces were expanded to.
    pub expanded: bool,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The descriptor in front of the operator.
    pub descriptor: Option<u32>,
    /// What it does.
    pub operator: RedirectionOperator,
    /// The file, descriptor, delimiter or text after the operator.
    pub target: Word,
    /// The text of a here-document that was read: as written, and its value where nothing in it is expanded.
    pub body: Option<Word>,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectionOperator {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|`
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `&>`
    WriteBoth,
    /// `&>>`
    AppendBoth,
    /// `<&` or `>&` with a descriptor or `-`.
    Duplicate,
    /// `<<` or `<<-`
    HereDocument,
    /// `<<<`
    HereString,
}

impl RedirectionOperator {
    /// Whether it opens its target for writing, and so makes or changes a file.
    pub fn writes(self) -> bool {
        use RedirectionOperator::*;
        matches!(self, Write | Clobber | Append | ReadWrite | WriteBoth | AppendBoth)
    }

    /// Whether it opens its target for reading.
    pub fn reads(self) -> bool {
        use RedirectionOperator::*;
        matches!(self, Read | ReadWrite)
    }
}
