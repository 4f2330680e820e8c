//! What is wrong with settings so that nothing may run on them, and where.
//!
//! Each message is one line and starts with the place; text from a file stands in it quoted, escaped and cut.

use crate::{MAX_BYTES, MAX_DEPTH};
use palisade_policy::{AbsPath, PathError};
use std::fmt;
use std::io;
use std::sync::Arc;

/// A line and a column of a settings text, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line. A CR, a LF and both in a row end one, as in editors.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A position in a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, or the name of the option that holds the text.
    pub file: Arc<str>,
    /// Where in it.
    pub position: Position,
}

/// Why no policy could be made. Nothing may run then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that was asked for by name is not there.
    #[error("{file}: there is no such file")]
    Missing {
        /// The file.
        file: Arc<str>,
    },
    /// The file, or the directory it lies in, is a symbolic link that leads nowhere.
    #[error(
        "{file}: is behind a symbolic link that leads nowhere; restore what it leads to, or remove the link"
    )]
    DanglingLink {
        /// The file.
        file: Arc<str>,
    },
    /// Symbolic links that lead in a circle.
    #[error("{file}: is behind symbolic links that lead in a circle")]
    LinkLoop {
        /// The file.
        file: Arc<str>,
    },
    /// Something else than a regular file stands there.
    #[error("{file}: is {kind}, where a regular file is expected")]
    NotAFile {
        /// The file.
        file: Arc<str>,
        /// What it is.
        kind: &'static str,
    },
    /// The file is larger than [`MAX_BYTES`].
    #[error(
        "{file}: is larger than {MAX_BYTES} bytes; take out what is not needed, or split it among the files of several layers"
    )]
    TooLarge {
        /// The file.
        file: Arc<str>,
    },
    /// The file cannot be opened or read for another reason.
    #[error("{file}: cannot be read: {source}")]
    Unreadable {
        /// The file.
        file: Arc<str>,
        /// What the system says.
        source: io::Error,
    },
    /// An administrator's file, or something on the way to it, belongs to somebody else than root.
    #[error(
        "{file}: {}belongs to user {owner}, who could change what an administrator says; give it to root, or remove it",
        if_other(on_the_way, file)
    )]
    NotRoots {
        /// The file.
        file: Arc<str>,
        /// It, or the directory or link on the way to it.
        on_the_way: AbsPath,
        /// Whose it is.
        owner: u32,
    },
    /// An administrator's file, or a directory on the way to it, can be written by others than its owner.
    #[error(
        "{file}: {}can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)",
        if_other(on_the_way, file)
    )]
    WritableByOthers {
        /// The file.
        file: Arc<str>,
        /// It, or the directory on the way to it.
        on_the_way: AbsPath,
    },
    /// The text is not UTF-8.
    #[error("{place}: expected UTF-8 text; save the file in that encoding")]
    NotUtf8 {
        /// The first byte that is none.
        place: Place,
    },
    /// Lists and objects within each other, deeper than [`MAX_DEPTH`].
    #[error("{place}: is nested deeper than {MAX_DEPTH} lists and objects")]
    TooDeep {
        /// The first list or object that is too deep.
        place: Place,
    },
    /// The text is not JSON5.
    #[error("{place}: {expected}")]
    Syntax {
        /// Where reading ended.
        place: Place,
        /// What should stand there.
        expected: Box<str>,
    },
    /// One object holds a key twice.
    #[error("{place}: the key {key} stands here again, after line {first}; keep one of the two")]
    DuplicateKey {
        /// The second of them.
        place: Place,
        /// The key, quoted.
        key: Box<str>,
        /// The line of the first.
        first: u32,
    },
    /// A value of the wrong type.
    #[error("{place}: {key}: expected {expected}, found {found}")]
    WrongType {
        /// The value.
        place: Place,
        /// Its key, such as `sandbox.enabled`; `settings` for the whole text.
        key: Box<str>,
        /// What should stand there.
        expected: &'static str,
        /// What does.
        found: Box<str>,
    },
    /// A path, host or variable that cannot be read.
    #[error("{place}: {key}: {text}: {reason}")]
    BadEntry {
        /// The entry.
        place: Place,
        /// The list that holds it.
        key: Box<str>,
        /// The entry as written, quoted.
        text: Box<str>,
        /// What is wrong with it.
        reason: Box<str>,
    },
    /// A write rule that no mount can stand for, so that every command is refused. Only a check takes that for an error:
    /// another file may switch file isolation off.
    #[error("{place}: {key}: every command is refused while this stands: {text} {reason}")]
    NoMount {
        /// The rule.
        place: Place,
        /// The list that holds it.
        key: Box<str>,
        /// The rule as written, quoted.
        text: Box<str>,
        /// Why no mount can stand for it.
        reason: Box<str>,
    },
    /// A key that is not known, but was plainly meant for one whose loss would leave something open.
    #[error("{place}: {key}: is not a key, so it {lost}; write {meant}")]
    Misspelt {
        /// The key.
        place: Place,
        /// Its full name.
        key: Box<str>,
        /// What comes of that, such as `denies nothing`.
        lost: &'static str,
        /// The full name of the key that was meant.
        meant: Box<str>,
    },
    /// A variable that should name a directory does not.
    #[error("the variable {name} {reason}; unset it, or give it the full path of a directory")]
    BadVariable {
        /// The variable, such as `HOME`.
        name: &'static str,
        /// What is wrong with its value.
        reason: PathError,
    },
    /// The system's user database, which knows the home directory, cannot be read.
    #[error("the home directory in the user database: {source}")]
    UserDatabase {
        /// What the system says.
        source: io::Error,
    },
    /// A path or host given as an option that cannot be read.
    #[error("{option} {text}: {reason}")]
    BadFlag {
        /// The option's name, such as `--deny-read`.
        option: &'static str,
        /// The value, quoted.
        text: Box<str>,
        /// What is wrong with it.
        reason: Box<str>,
    },
}

impl Error {
    /// Where in a settings text the fault is, when it is in one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Error::NotUtf8 { place }
            | Error::TooDeep { place }
            | Error::Syntax { place, .. }
            | Error::DuplicateKey { place, .. }
            | Error::WrongType { place, .. }
            | Error::BadEntry { place, .. }
            | Error::NoMount { place, .. }
            | Error::Misspelt { place, .. } => Some(place),
            Error::Missing { .. }
            | Error::DanglingLink { .. }
            | Error::LinkLoop { .. }
            | Error::NotAFile { .. }
            | Error::TooLarge { .. }
            | Error::Unreadable { .. }
            | Error::NotRoots { .. }
            | Error::WritableByOthers { .. }
            | Error::BadFlag { .. }
            | Error::BadVariable { .. }
            | Error::UserDatabase { .. } => None,
        }
    }
}

/// A path and a blank behind it, where it is another one than the file's.
fn if_other(path: &AbsPath, file: &str) -> String {
    let path = path.to_string();
    if path == file { String::new() } else { path + " " }
}

/// `text` in quotes, without control characters, and cut when it is long.
pub(crate) fn quoted(text: &str) -> Box<str> {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]).into(),
        None => format!("{text:?}").into(),
    }
}

/// A key for a message: as it is when it is a short word, else [`quoted`].
pub(crate) fn shown_key(key: &str) -> Box<str> {
    const LONG: usize = 40;
    let is_word = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_word && key.len() <= LONG { key.into() } else { quoted(key) }
}

impl Position {
    /// The start of a text.
    pub(crate) const START: Position = Position { line: 1, column: 1 };

    /// The position behind `c`, which stands in front of `next`.
    pub(crate) fn after(self, c: char, next: Option<char>) -> Self {
        match c {
            '\r' if next == Some('\n') => self,
            '\r' | '\n' => Position { line: self.line + 1, column: 1 },
            _ => Position { column: self.column + 1, ..self },
        }
    }

    /// Where that many bytes of `text` end.
    pub(crate) fn behind(text: &str) -> Self {
        let mut chars = text.chars().peekable();
        let mut at = Self::START;
        while let Some(c) = chars.next() {
            at = at.after(c, chars.peek().copied());
        }
        at
    }

    /// Where the json5 crate's `found` is in `text`. To that crate U+2028 and U+2029 end a line, too.
    pub(crate) fn in_text(text: &str, found: json5::Position) -> Self {
        let mut chars = text.chars().peekable();
        let (mut at, mut theirs) = (Self::START, (0, 0));
        while theirs < (found.line, found.column) {
            let Some(c) = chars.next() else { break };
            let next = chars.peek().copied();
            at = at.after(c, next);
            theirs = match c {
                '\r' if next == Some('\n') => theirs,
                '\r' | '\n' | '\u{2028}' | '\u{2029}' => (theirs.0 + 1, 0),
                _ => (theirs.0, theirs.1 + 1),
            };
        }
        at
    }
}

/// `FILE:LINE:COLUMN`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.position.line, self.position.column)
    }
}
