//! What is wrong with settings so that nothing may run on them, and where.
//!
//! Each message is one line and starts with the place; text from a file stands in it quoted, escaped and cut.

use crate::{MAX_BYTES, MAX_DEPTH};
use palisade_policy::AbsPath;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A line and a column of a settings text, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line. A CR, a LF, both in a row, U+2028 and U+2029 end one.
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
    #[error("{file}: is larger than {MAX_BYTES} bytes")]
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
        "{file}: {on_the_way} belongs to user {owner}, who could change what an administrator says; give it to root, or remove it"
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
        "{file}: {on_the_way} can be written by others than its owner, who could change what an administrator says; take that from them (chmod go-w)"
    )]
    WritableByOthers {
        /// The file.
        file: Arc<str>,
        /// It, or the directory on the way to it.
        on_the_way: AbsPath,
    },
    /// The text is not UTF-8.
    #[error("{place}: expected UTF-8 text")]
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
    /// A key that is not known but was plainly meant to close something.
    #[error("{place}: {key}: is not a key, so it denies nothing; write {meant}")]
    MisspeltDeny {
        /// The key.
        place: Place,
        /// Its full name.
        key: Box<str>,
        /// The full name of the key that was meant.
        meant: Box<str>,
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
            | Error::MisspeltDeny { place, .. } => Some(place),
            Error::Missing { .. }
            | Error::DanglingLink { .. }
            | Error::LinkLoop { .. }
            | Error::NotAFile { .. }
            | Error::TooLarge { .. }
            | Error::Unreadable { .. }
            | Error::NotRoots { .. }
            | Error::WritableByOthers { .. }
            | Error::BadFlag { .. } => None,
        }
    }
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

impl From<json5::Position> for Position {
    fn from(position: json5::Position) -> Self {
        let from_one = |zero_based: usize| u32::try_from(zero_based + 1).unwrap_or(u32::MAX);
        Position { line: from_one(position.line), column: from_one(position.column) }
    }
}

/// `FILE:LINE:COLUMN`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.position.line, self.position.column)
    }
}
