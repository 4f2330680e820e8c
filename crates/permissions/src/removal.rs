//! Removals that a person is asked about whatever the mode, the rules and the sandbox say.
//!
//! Two kinds. A *critical* one takes away what nobody can give back: the root of the workspace or a directory above
//! it, the home directory, `/` or a directory directly in it, anything of a `.git` directory, everything in one of these by a wildcard, or
//! something that the shell or another program decides on. The other kind only lies *outside* of the directories that are
//! worked in; whether that asks depends on the mode, and is for the judge.
//!
//! The attacker writes the line, in any spelling. What is certain about an operand is compared with the places; what is
//! not certain is critical. It does not look at files, so it does not know links, nor that a directory holds a
//! repository. Other ways to lose a file (`truncate`, `shred`, `dd`, `git clean`, `>`, an interpreter) are no removals here.

use palisade_policy::AbsPath;
use std::fmt;

/// The places that removals are judged by. All are without links, as the kernel has them.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The root of the workspace.
    pub root: &'a AbsPath,
    /// The home directory.
    pub home: Option<&'a AbsPath>,
    /// The directories to work in besides the root.
    pub directories: &'a [AbsPath],
    /// Whether the file system takes `.GIT` for `.git`.
    pub folds_case: bool,
}

/// A removal that a person is to be asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The index of the program in [`Programs::list`](crate::program::Programs::list).
    pub program: usize,
    /// What is removed, as written; the program's name when its operands do not stand in the line.
    pub what: Box<str>,
    /// Of which kind.
    pub kind: RemovalKind,
}

/// The two kinds of removals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovalKind {
    /// Asks in every mode.
    Critical(Critical),
    /// Neither in the root nor in an additional directory: the path, with its wildcards as written. Asks when the
    /// command runs without the sandbox, in every mode but `bypassPermissions`.
    Outside(AbsPath),
}

/// Why a removal is critical.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Critical {
    /// The whole file system.
    FileSystem,
    /// A directory directly in `/`, or one of macOS's in `/private`.
    TopLevel,
    /// The home directory or one above it.
    Home,
    /// The root of the workspace or a directory above it.
    Root,
    /// A `.git` directory or something in one.
    Git,
    /// Everything in a directory of the kinds above, or in an additional directory or one above it.
    Everything,
    /// The shell decides what the operand is: a variable, a substitution, `~user`, braces.
    Shell,
    /// Another program decides what is removed.
    Elsewhere,
    /// The operand is relative to a directory that is not known.
    Directory,
}

/// For people.
impl fmt::Display for Critical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Critical::FileSystem => "it removes the whole file system",
            Critical::TopLevel => "it removes a directory at the top of the file system",
            Critical::Home => "it removes the home directory or one above it",
            Critical::Root => "it removes the root of the workspace or a directory above it",
            Critical::Git => "it removes something of a git directory",
            Critical::Everything => "it removes everything in a directory to be kept",
            Critical::Shell => "the shell decides what it removes",
            Critical::Elsewhere => "another program decides what it removes",
            Critical::Directory => "it is not known in which directory it removes",
        })
    }
}
