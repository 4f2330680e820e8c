//! Removals that a person is asked about whatever the mode, the rules and the sandbox say.
//!
//! Two kinds. A *critical* one takes away what nobody can give back: the root of the workspace or a directory above
//! it, the home directory, `/` or a directory directly in it, anything of a `.git` directory, everything in one of these by a wildcard, or
//! something that the shell or another program decides on. The other kind only lies *outside* of the directories that are
//! worked in; whether that asks depends on the mode, and is for the judge.
//!
//! The attacker writes the line, in any spelling. What is certain about an operand is compared with the places; what is
//! not certain is critical, and so is a way through `/proc`. It does not look at files, so it does not know links, nor that a directory holds a
//! repository. Other ways to lose a file (`truncate`, `shred`, `dd`, `git clean`, `>`, an interpreter) are no removals here.

mod operand;
mod remover;

use crate::program::{Directory, Program, Programs};
use crate::shell::Word;
use operand::{Matching, Name, Operand, Start};
use palisade_policy::AbsPath;
use remover::{Removed, removed};
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

/// The removals among `programs` that are critical or outside; those that are neither are not listed.
pub fn removals(programs: &Programs, places: &Places<'_>) -> Vec<Removal> {
    let judge = Judge::new(programs, places);
    let of_one = |(index, program): (usize, _)| {
        removed(program).map(|removed| judge.removals(index, program, &removed)).unwrap_or_default()
    };
    programs.list.iter().enumerate().flat_map(of_one).collect()
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
    /// The operand leads through a link of the kernel's: `/proc/self/root/usr`, `/proc/self/cwd/`, `/dev/fd/3/x`.
    Kernel,
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
            Critical::Kernel => "it removes through a link of the kernel's, which may lead anywhere",
        })
    }
}

/// The names that a path is made of.
type Names<'a> = Vec<std::borrow::Cow<'a, str>>;

/// Names that stand directly in `/private` on macOS and are linked from `/`.
const PRIVATE: [&str; 4] = ["etc", "var", "tmp", "home"];

struct Judge<'a> {
    root: Names<'a>,
    home: Option<Names<'a>>,
    /// Whether `~` is that directory.
    knows_home: bool,
    directories: Vec<Names<'a>>,
    matching: Matching,
}

impl<'a> Judge<'a> {
    fn new(programs: &Programs, places: &Places<'a>) -> Self {
        let matching = Matching { folds_case: places.folds_case, dots: programs.list.iter().any(shows_dots) };
        Judge {
            root: names(places.root),
            home: places.home.map(names),
            knows_home: places.home.is_some() && !programs.changes_home,
            directories: places.directories.iter().map(names).collect(),
            matching,
        }
    }

    fn removals(&self, index: usize, program: &Program, removed: &Removed<'_>) -> Vec<Removal> {
        if removed.elsewhere {
            let what = program.name.clone().unwrap_or_else(|| program.words[0].raw.clone());
            return vec![Removal { program: index, what, kind: RemovalKind::Critical(Critical::Elsewhere) }];
        }
        let kind = |word: &&Word| {
            let above = removed.parents.then(|| self.with_parents(word, &program.directory)).flatten();
            above.or_else(|| self.operand(word, &program.directory))
        };
        let removal =
            |word: &&Word| Some(Removal { program: index, what: word.raw.clone(), kind: kind(word)? });
        removed.operands.iter().filter_map(removal).collect()
    }

    /// `rmdir -p a/b` removes `a` as well.
    fn with_parents(&self, word: &Word, directory: &Directory) -> Option<RemovalKind> {
        let mut operand = Operand::read(word)?;
        while operand.names.len() > 1 {
            operand.names.pop();
            let is_empty = operand.names.iter().all(|name| *name == Name::Plain("".into()));
            if let Some(kind) = self.judge(&operand, directory).filter(|_| !is_empty) {
                return Some(kind);
            }
        }
        None
    }

    fn operand(&self, word: &Word, directory: &Directory) -> Option<RemovalKind> {
        match Operand::read(word) {
            None => Some(RemovalKind::Critical(Critical::Shell)),
            // No file has that name.
            Some(_) if word.value.as_deref() == Some("") => None,
            Some(operand) => self.judge(&operand, directory),
        }
    }

    fn judge(&self, operand: &Operand<'_>, directory: &Directory) -> Option<RemovalKind> {
        let bases = match operand.start {
            Start::Top => vec![Vec::new()],
            Start::Home => match &self.home {
                Some(home) if self.knows_home => vec![home.clone()],
                _ => return Some(RemovalKind::Critical(Critical::Home)),
            },
            Start::Here => match directory.known() {
                Some(paths) => paths.iter().map(names).collect(),
                None => return Some(RemovalKind::Critical(Critical::Directory)),
            },
        };
        let mut outside = None;
        for base in bases {
            let base: Vec<&str> = base.iter().map(|name| &**name).collect();
            let whole = operand.below(&base);
            let path = without_private(&whole);
            if let Some(critical) = self.critical(path) {
                return Some(RemovalKind::Critical(critical));
            }
            if outside.is_none() && !self.is_inside(path) {
                outside = shown(&whole).map(RemovalKind::Outside);
            }
        }
        outside
    }

    fn critical(&self, path: &[Name<'_>]) -> Option<Critical> {
        if path.iter().any(|name| name.may_be(".git", self.matching)) {
            return Some(Critical::Git);
        }
        if self.is_kernels(path) {
            return Some(Critical::Kernel);
        }
        let sweeping = path.iter().rev().take_while(|name| name.sweeps()).count();
        let swept = (1..=sweeping).map(|count| &path[..path.len() - count]);
        let is_kept =
            |directory: &[Name<'_>]| self.kept(directory).is_some() || self.holds_directory(directory);
        self.kept(path).or_else(|| swept.into_iter().any(is_kept).then_some(Critical::Everything))
    }

    /// Whether a path may lead through the links that the kernel keeps of what a process has open.
    fn is_kernels(&self, path: &[Name<'_>]) -> bool {
        let may_start = |names: &[&str]| {
            path.len() > names.len()
                && names.iter().zip(path).all(|(name, own)| own.may_be(name, self.matching))
        };
        may_start(&["proc"]) || may_start(&["dev", "fd"])
    }

    /// Whether a path may be one that is to be kept as a whole.
    fn kept(&self, path: &[Name<'_>]) -> Option<Critical> {
        let covers = |names: &Names<'_>| self.may_cover(path, names);
        let is_private = |path: &[Name<'_>]| {
            path[0].may_be("private", self.matching)
                && PRIVATE.iter().any(|name| path[1].may_be(name, self.matching))
        };
        match path.len() {
            0 => Some(Critical::FileSystem),
            _ if covers(&self.root) => Some(Critical::Root),
            _ if self.home.as_ref().is_some_and(covers) => Some(Critical::Home),
            1 => Some(Critical::TopLevel),
            2 if is_private(path) => Some(Critical::TopLevel),
            _ => None,
        }
    }

    fn holds_directory(&self, path: &[Name<'_>]) -> bool {
        self.directories.iter().any(|directory| self.may_cover(path, directory))
    }

    /// Whether a path may be that one or a directory above it.
    fn may_cover(&self, path: &[Name<'_>], other: &Names<'_>) -> bool {
        path.len() <= other.len()
            && path.iter().zip(other).all(|(name, other)| name.may_be(other, self.matching))
    }

    /// Whether a path is certainly the root, an additional directory, or below one.
    fn is_inside(&self, path: &[Name<'_>]) -> bool {
        let is = |name: &Name<'_>, other: &str| {
            matches!(name, Name::Plain(_)) && name.may_be(other, self.matching)
        };
        let below = |place: &Names<'_>| {
            place.len() <= path.len() && path.iter().zip(place).all(|(name, other)| is(name, other))
        };
        below(&self.root) || self.directories.iter().any(below)
    }
}

/// Whether a program may have made wildcards match names that start with a dot.
fn shows_dots(program: &Program) -> bool {
    let names_it = |word: &Word| {
        let text = word.value.as_deref().unwrap_or(&word.raw);
        word.value.is_none()
            || text.contains("dotglob")
            || text.to_lowercase().replace('_', "").contains("globdots")
    };
    matches!(program.name.as_deref(), Some("shopt" | "setopt" | "set" | "bash" | "zsh"))
        && program.words.iter().skip(1).any(names_it)
}

fn names(path: &AbsPath) -> Names<'_> {
    let names: Names<'_> = path.components().map(String::from_utf8_lossy).collect();
    let is_private = names.len() > 1 && names[0] == "private" && PRIVATE.contains(&&*names[1]);
    names.into_iter().skip(usize::from(is_private)).collect()
}

/// The other spelling of a path in macOS's `/private`, which is the one that places are compared in.
fn without_private<'a, 'b>(path: &'b [Name<'a>]) -> &'b [Name<'a>] {
    match path {
        [Name::Plain(first), below @ ..] if first == "private" => match below {
            [Name::Plain(name), ..] if PRIVATE.contains(&&**name) => below,
            _ => path,
        },
        _ => path,
    }
}

/// The path for people; names in it that are open are shown with their wildcards.
fn shown(path: &[Name<'_>]) -> Option<AbsPath> {
    let text: Vec<_> = path.iter().map(Name::shown).collect();
    AbsPath::new(format!("/{}", text.join("/"))).ok()
}
