//! The programs that a line runs: each command of it, and whatever stands behind wrappers (`env`, `timeout`,
//! `find -exec`, `sh -c`, …), level by level, with the directory that it runs in.
//!
//! The attacker writes the line, and may write any wrapper in it, in any spelling that the wrapper itself takes.
//! A wrapper is therefore looked through only by the grammar of its own options. Where that grammar does not know a
//! word, or a word has no certain value, nothing is guessed for an allow rule: what follows is listed as
//! [`Reach::Guessed`], every later word as a possible program, for deny and ask rules to meet.
//!
//! What it does not do: it runs nothing and looks at no file. A copied or renamed program, a link, a script, a
//! Makefile, and runners that bring code of their own (`npx`, `make`, `docker exec`, `ssh HOST`, `python -c`, `mise exec`)
//! stay what they are: one program with arguments. It knows no rules.
//!
//! A line may name more programs than anybody looks at: the first few thousand are listed, and the rest is said to be
//! missing.

mod behind;
pub(crate) mod builtin;
mod change;
mod codes;
mod directory;
mod globs;
mod groups;
mod launchers;
mod options;
mod runners;
mod special;
mod split_string;
mod table;
mod track;
mod valued;
mod walk;
pub(crate) mod words;

pub use directory::Directory;
pub(crate) use globs::Globs;
pub(crate) use valued::{Value, Valued};
pub use words::Words;
pub(crate) use words::{holes, keeps_first, open_name};

use crate::shell::{Assignment, Reading, Redirection, Shell};
use palisade_policy::AbsPath;
use std::fmt;
use std::sync::Arc;

/// What is known when a line starts.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The shell that runs it.
    pub shell: Shell,
    /// The directory that it starts in; `None` when that is not known.
    pub directory: Option<&'a AbsPath>,
    /// The home directory, as `HOME` has it.
    pub home: Option<&'a AbsPath>,
    /// Whether the file system takes `RM` for `rm`.
    pub folds_case: bool,
}

/// Lists what a line runs. `text` is the line that `reading` was made from: whether a `cd` succeeded is known only
/// where nothing but `&&` stands behind it.
///
/// Total, and linear in the length of the line. Of a line that could not be read in full it lists what was seen.
pub fn programs(text: &str, reading: &Reading, start: &Start<'_>) -> Programs {
    walk::Walk::new(start).finish(text, reading.line())
}

/// One program that a line runs, or one command of it that runs none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its own name and its arguments, without the wrappers in front of it. For the outermost level they are as in
    /// the line. Empty for a bare assignment or redirection, which runs no program.
    pub words: Words,
    /// The base name, whatever path, quoting or backslash it was written with; lower case where file names fold. `None` when it
    /// is not certain, or when there are no words.
    pub name: Option<Box<str>>,
    /// The variables set just for it, in front of it or by the wrapper around it. What wrappers further out set
    /// holds for it too: [`Programs::assignments`] has them all.
    pub assignments: Vec<Assignment>,
    /// How it was found.
    pub reach: Reach,
    /// Whether it is itself a wrapper.
    pub role: Role,
    /// The index in [`Programs::list`] of the program that runs it, which stands before it.
    pub outer: Option<usize>,
    /// The index in [`Line::commands`](crate::shell::Line) of the command it came from, in the line that was asked about: for nested
    /// code, the command that runs the code.
    pub command: usize,
    /// Whether its words are all that it is given.
    pub operands: Operands,
    /// The text in its words that stands for what comes from elsewhere; empty where that follows its words.
    pub(crate) replaced: Option<Box<str>>,
    /// Where relative paths among its words start.
    pub directory: Directory,
    /// Those of its own command, shared by the levels of one command, and relative to where the outermost of these
    /// runs. Those of a command around nested code are with that command's program.
    pub redirections: Arc<[Redirection]>,
}

/// How a program was found. Ordered: behind two wrappers the greater holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// It is a command of the line.
    Direct,
    /// Behind wrappers that change nothing about what it does (`timeout`, `nice`, bare `xargs`): allow rules look
    /// through them too.
    BehindPlain,
    /// Behind others (`env`, `sudo`, `find -exec`), which only deny and ask rules look through.
    BehindOther,
    /// A command of code that a program of the line is given as text (`sh -c`, `eval`, `watch`).
    InCode,
    /// Perhaps none at all: a word after something that could not be read, or a part of a line or code that was looked
    /// at only roughly. Only for deny and ask rules.
    Guessed,
}

/// What a program does with the rest of its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It runs no other program that its words name.
    Last,
    /// A wrapper that changes nothing about the program behind it, all of which was read.
    Plain,
    /// It runs other programs or code, or may (`find -exec`, `watch`, `sudo`), or deletes what it finds (`find -delete`). A prefix rule
    /// for its name says too little to allow that; an exact rule may.
    Other,
}

/// Whether a program's words are all that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operands {
    /// They are.
    Complete,
    /// More come from elsewhere: from standard input (`xargs`), from a search (`find -exec`), or they were cut off.
    More,
}

/// Everything that a line runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// In the order of the text; the levels of one command from the outside in.
    pub list: Vec<Program>,
    /// What could not be looked into. Where there is any, more may run than the list says.
    pub uncertain: Vec<Uncertain>,
    /// Whether there are more than are listed.
    pub is_cut: bool,
    /// Whether the line may change `HOME`, so that nobody knows what `~` stands for in it.
    pub changes_home: bool,
    /// What the line may have changed about what wildcards find.
    pub(crate) globs: Globs,
}

/// Something that a line runs and that does not stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uncertain {
    /// The index in [`Programs::list`] of the program concerned.
    pub program: usize,
    /// Why.
    pub reason: Reason,
}

/// Why a program could not be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Its name is put together while the line runs.
    DynamicName,
    /// The line defines a function of that name: what runs depends on where it is called.
    Function,
    /// It is given code that is put together while the line runs.
    DynamicCode,
    /// It is given code that could not be read in full.
    UnreadableCode,
    /// It reads its code from standard input, and what that is does not stand in the line.
    CodeFromInput,
    /// It reads its code from a here-document or a here-string, which is looked into.
    CodeInLine,
    /// It runs a file in the shell itself (`source`, `.`).
    SourcedFile,
    /// A wrapper was given an option that is not known here.
    UnknownOption,
    /// A wrapper was given words that are put together while the line runs.
    DynamicOption,
    /// It is given code of a language that is not read here, or a setting from elsewhere, and may run others.
    ForeignCode,
    /// A shell is meant whose language is not read here (fish, csh).
    OtherLanguage,
    /// It is wrapped more often than is looked through.
    TooDeep,
}

impl Program {
    /// Whether nothing of it stands in the line: its name and all that it is given come from elsewhere.
    pub(crate) fn is_all_from_elsewhere(&self) -> bool {
        self.words.len() == 1 && *self.words[0].raw == *walk::FROM_ELSEWHERE && self.name.is_none()
    }

    /// Whether only its first words are listed, since it is one of very many that may run.
    pub(crate) fn is_cut(&self) -> bool {
        self.reach == Reach::Guessed
            && self.operands == Operands::More
            && self.words.len() >= walk::GUESSED_WORDS
    }
}

impl Programs {
    /// Every variable that is set for one program by the line, from the inside out.
    pub fn assignments(&self, program: usize) -> impl Iterator<Item = &Assignment> {
        self.outwards(program).flat_map(|level| level.assignments.iter())
    }

    /// One program, the one that runs it, and so on outwards.
    pub fn outwards(&self, program: usize) -> impl Iterator<Item = &Program> {
        let outer = |program: &&Program| self.list.get(program.outer?);
        std::iter::successors(self.list.get(program), outer)
    }

    /// The programs that came from one command of the line, from the outside in, those of nested code included.
    pub fn of_command(&self, command: usize) -> impl Iterator<Item = (usize, &Program)> {
        let start = self.list.partition_point(|program| program.command < command);
        let of_it = move |(_, program): &(usize, &Program)| program.command == command;
        self.list.iter().enumerate().skip(start).take_while(of_it)
    }
}

/// For people.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::DynamicName => "the name of a program is put together while the line runs",
            Reason::Function => "it calls a function that the line defines",
            Reason::DynamicCode => "it runs code that is put together while the line runs",
            Reason::UnreadableCode => "it runs code that could not be read in full",
            Reason::CodeFromInput | Reason::CodeInLine => "a shell reads its code from standard input",
            Reason::SourcedFile => "it runs a file inside the shell itself",
            Reason::UnknownOption => "it gives a wrapper an option that is not known here",
            Reason::DynamicOption => "it gives a wrapper words that are put together while the line runs",
            Reason::ForeignCode => "it is given code that runs other programs",
            Reason::OtherLanguage => "it runs code for a shell whose language is not read here",
            Reason::TooDeep => "it wraps a program more often than is looked through",
        })
    }
}
