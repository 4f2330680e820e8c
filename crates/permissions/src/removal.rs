//! Removals that a person is asked about whatever the mode, the rules and the sandbox say.
//!
//! Two kinds. A *critical* one takes away what nobody can give back: the root of the workspace or a directory above
//! it, the home directory, `/` or a directory directly in it, anything of a `.git` directory, everything in one of these by a wildcard, or
//! something that the shell or another program decides on. The other kind only lies *outside* of the directories that are
//! worked in; whether that asks depends on the mode, and is for the judge.
//!
//! The attacker writes the line, in any spelling, and may have made links before. What is certain about an operand is
//! compared with the places, by its letters and as the kernel finds it: through every link but one that is removed
//! itself. What is not certain is critical, and so are a way through `/proc` and an operand that is too long to look at.
//! It is told where links lead, and which the line brings before, and looks at no file, so it does not know links that a
//! wildcard finds, nor that a directory holds a repository. Other ways to lose a file (`truncate`, `shred`, `dd`, `git clean`, `>`, an interpreter) are no removals here.

mod operand;
mod remover;

use crate::program::{Directory, Program, Programs};
use crate::shell::Word;
use operand::{Matching, Name, Operand, Start};
use palisade_policy::AbsPath;
use remover::{Removed, removed};
use std::fmt;

/// The places that removals are judged by.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// The root of the workspace.
    pub root: &'a AbsPath,
    /// The home directory.
    pub home: Option<&'a AbsPath>,
    /// The directories to work in besides the root.
    pub directories: &'a [AbsPath],
    /// Whether the file system takes `.GIT` for `.git`.
    pub folds_case: bool,
    /// Where a path leads once every link in it is followed.
    pub follow: &'a dyn Fn(&AbsPath) -> AbsPath,
    /// Where else it may lead once the program of that index runs, by links that the line brings.
    pub brought: &'a dyn Fn(usize, &AbsPath) -> Brought,
}

/// Where a path may lead by links that a line brings before it uses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brought {
    /// By those that are known.
    pub paths: Vec<AbsPath>,
    /// Whether there may be one that leads anywhere.
    pub anywhere: bool,
}

/// The removals among `programs` that are critical or outside; those that are neither are not listed.
pub fn removals(programs: &Programs, places: &Places<'_>) -> Vec<Removal> {
    let roots = Roots::of(places);
    let judge = Judge::new(programs, places, &roots);
    let mut left = MOST_OPERANDS;
    let of_one = |(index, program): (usize, _)| {
        let removed = removed(program)?;
        left = left.saturating_sub(removed.operands.len());
        Some(judge.removals(index, program, &removed, left == 0))
    };
    programs.list.iter().enumerate().filter_map(of_one).flatten().collect()
}

/// Of more operands in one line than these, nobody looks at each.
const MOST_OPERANDS: usize = 8_000;
/// An operand that may lead to more places than these is looked at by nobody.
const MOST_PLACES: usize = 64;
/// An operand with more steps up than these is looked at by nobody, nor one that has more directories taken with it.
const MOST_STEPS: usize = 32;

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
    /// It names more than anybody looks at: very many operands, or a very long one.
    Long,
    /// The operand may lead through a link that the line itself brings from where nobody knows: `mv $X a; rm a/b`.
    Brought,
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
            Critical::Long => "it names more to remove than anybody looks at",
            Critical::Brought => "it removes through a link that the line may have brought, from anywhere",
            Critical::Kernel => "it removes through a link of the kernel's, which may lead anywhere",
        })
    }
}

/// The names that a path is made of.
type Names<'a> = Vec<std::borrow::Cow<'a, str>>;

/// Names that stand directly in `/private` on macOS and are linked from `/`.
const PRIVATE: [&str; 4] = ["etc", "var", "tmp", "home"];

/// The places as they are written and as the kernel has them.
struct Roots {
    roots: Vec<AbsPath>,
    homes: Vec<AbsPath>,
    directories: Vec<AbsPath>,
}

impl Roots {
    fn of(places: &Places<'_>) -> Self {
        let both = |path: &AbsPath| {
            let real = (places.follow)(path);
            if real == *path { vec![real] } else { vec![path.clone(), real] }
        };
        Roots {
            roots: both(places.root),
            homes: places.home.map(both).unwrap_or_default(),
            directories: places.directories.iter().flat_map(both).collect(),
        }
    }
}

struct Judge<'a> {
    roots: Vec<Names<'a>>,
    homes: Vec<Names<'a>>,
    /// What `~` is, while that is certain.
    home: Option<&'a AbsPath>,
    directories: Vec<Names<'a>>,
    matching: Matching,
    follow: &'a dyn Fn(&AbsPath) -> AbsPath,
    brought: &'a dyn Fn(usize, &AbsPath) -> Brought,
}

impl<'a> Judge<'a> {
    fn new(programs: &Programs, places: &Places<'a>, roots: &'a Roots) -> Self {
        let globs = programs.globs;
        let matching = Matching { folds_case: places.folds_case || globs.folds_case, dots: globs.dots };
        Judge {
            roots: roots.roots.iter().map(names).collect(),
            homes: roots.homes.iter().map(names).collect(),
            home: places.home.filter(|_| !programs.changes_home),
            directories: roots.directories.iter().map(names).collect(),
            matching,
            follow: places.follow,
            brought: places.brought,
        }
    }

    fn removals(
        &self,
        index: usize,
        program: &Program,
        removed: &Removed<'_>,
        are_too_many: bool,
    ) -> Vec<Removal> {
        let whole = match (removed.elsewhere, are_too_many) {
            (true, _) => Some(Critical::Elsewhere),
            (false, true) => Some(Critical::Long),
            (false, false) => None,
        };
        if let Some(critical) = whole {
            let what = program.name.clone().unwrap_or_else(|| (*program.words[0].raw).into());
            return vec![Removal { program: index, what, kind: RemovalKind::Critical(critical) }];
        }
        let kind = |word: &&Word| {
            let above = removed.parents.then(|| self.with_parents(word, index, &program.directory)).flatten();
            above.or_else(|| self.operand(word, removed.through, index, &program.directory))
        };
        let removal =
            |word: &&Word| Some(Removal { program: index, what: (*word.raw).into(), kind: kind(word)? });
        removed.operands.iter().filter_map(removal).collect()
    }

    /// `rmdir -p a/b` removes `a` as well.
    fn with_parents(&self, word: &Word, program: usize, directory: &Directory) -> Option<RemovalKind> {
        let mut operand = Operand::read(word)?;
        if operand.names.len() > MOST_STEPS {
            return Some(RemovalKind::Critical(Critical::Long));
        }
        while operand.names.len() > 1 {
            operand.names.pop();
            let is_empty = operand.names.iter().all(|name| *name == Name::Plain("".into()));
            if let Some(kind) = self.judge(&operand, program, directory).filter(|_| !is_empty) {
                return Some(kind);
            }
        }
        None
    }

    fn operand(
        &self,
        word: &Word,
        through: bool,
        program: usize,
        directory: &Directory,
    ) -> Option<RemovalKind> {
        if word.raw.len() > AbsPath::LONGEST {
            return Some(RemovalKind::Critical(Critical::Long));
        }
        match Operand::read(word) {
            None => Some(RemovalKind::Critical(Critical::Shell)),
            // No file has that name.
            Some(_) if word.value.as_deref() == Some("") => None,
            Some(mut operand) => {
                // As a slash behind a link, which has what it leads to removed.
                operand.names.extend(through.then_some(Name::Plain("".into())));
                self.judge(&operand, program, directory)
            }
        }
    }

    fn judge(&self, operand: &Operand<'_>, program: usize, directory: &Directory) -> Option<RemovalKind> {
        let top = [AbsPath::root()];
        let bases = match operand.start {
            Start::Top => &top[..],
            Start::Home => match self.home {
                Some(home) => std::slice::from_ref(home),
                None => return Some(RemovalKind::Critical(Critical::Home)),
            },
            Start::Here => match directory.known() {
                Some(paths) => paths,
                None => return Some(RemovalKind::Critical(Critical::Directory)),
            },
        };
        let (mut outside, mut anywhere) = (None, false);
        for base in bases {
            let Some(led) = self.led(operand, program, base) else {
                return Some(RemovalKind::Critical(Critical::Long));
            };
            anywhere |= led.anywhere;
            let base = names(base);
            let written = operand.below(&base.iter().map(|name| &**name).collect::<Vec<_>>());
            for whole in led.whole().chain([written]) {
                let path = without_private(&whole);
                if let Some(critical) = self.critical(path) {
                    return Some(RemovalKind::Critical(critical));
                }
                if outside.is_none() && !self.is_inside(path) {
                    outside = shown(&whole).map(RemovalKind::Outside);
                }
            }
        }
        if anywhere { Some(RemovalKind::Critical(Critical::Brought)) } else { outside }
    }

    /// Where the kernel may find an operand from `base`. `None` where that would take long.
    fn led<'b>(&self, operand: &'b Operand<'_>, program: usize, base: &AbsPath) -> Option<Led<'b>> {
        let is_step = |name: &&Name<'_>| matches!(name, Name::Plain(name) if name == "..");
        if operand.names.iter().filter(is_step).count() > MOST_STEPS {
            return None;
        }
        let mut led = Led { paths: vec![base.clone()], open: Vec::new(), anywhere: false };
        let mut down = String::new();
        for (index, name) in operand.names.iter().enumerate() {
            let is_end = index + 1 == operand.names.len();
            match name {
                Name::Plain(name) if name.is_empty() || name == "." => {}
                Name::Plain(name) if name == ".." => {
                    if led.open.pop().is_none() {
                        self.go(&mut led, &down, program)?;
                        let above = led.paths.iter().map(|at| at.parent().unwrap_or_else(AbsPath::root));
                        led.paths = above.collect();
                        down.clear();
                    }
                }
                Name::Plain(name) if led.open.is_empty() && !is_end => {
                    down.push_str(name);
                    down.push('/');
                }
                name => led.open.push(name),
            }
        }
        self.go(&mut led, &down, program)?;
        Some(led)
    }

    /// Goes down from where an operand has led so far.
    fn go(&self, led: &mut Led<'_>, down: &str, program: usize) -> Option<()> {
        let mut paths = Vec::new();
        for at in &led.paths {
            let path = at.join(down).ok()?;
            let brought = (self.brought)(program, &path);
            led.anywhere |= brought.anywhere;
            paths.push((self.follow)(&path));
            paths.extend(brought.paths);
        }
        paths.sort();
        paths.dedup();
        led.paths = paths;
        (led.paths.len() <= MOST_PLACES).then_some(())
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
            _ if self.roots.iter().any(covers) => Some(Critical::Root),
            _ if self.homes.iter().any(covers) => Some(Critical::Home),
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
        self.roots.iter().chain(&self.directories).any(below)
    }
}

/// Whether a wildcard may find something of that name.
pub(crate) fn may_find(word: &Word, name: &str) -> bool {
    let matching = Matching { folds_case: true, dots: true };
    let operand = Operand::read(word);
    operand.is_none_or(|operand| operand.names.last().is_none_or(|last| last.may_be(name, matching)))
}

/// Where the kernel may find an operand.
struct Led<'a> {
    /// Up to its first wildcard, every link followed but one that it ends in.
    paths: Vec<AbsPath>,
    /// The names from there on.
    open: Vec<&'a Name<'a>>,
    /// Whether it may be anywhere.
    anywhere: bool,
}

impl Led<'_> {
    fn whole(&self) -> impl Iterator<Item = Vec<Name<'_>>> {
        self.paths.iter().map(|path| {
            let real = path.components().map(|name| Name::Plain(String::from_utf8_lossy(name)));
            real.chain(self.open.iter().map(|name| (*name).clone())).collect()
        })
    }
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
