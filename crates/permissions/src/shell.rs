//! Reading a shell line as the shell will run it: every simple command at any depth, or the reason why not.
//!
//! The line is written by whoever would like it to pass for something else. So the reader is strict: it reads a
//! well-trodden part of the shell's language in full and answers [`Reading::Unreadable`] to all else. It asks no
//! question of the machine, takes time linear in the line's length, and has limits for length, depth and number.
//!
//! What runs must be what was read: [`Shell::Bash`] stands for `bash --norc --noprofile -c LINE` of version 4 or
//! newer, without a terminal, with `BASHOPTS`, `SHELLOPTS`, `BASH_ENV`, `ENV`, `PS4`, `IFS` and exported functions
//! removed from its environment.
//!
//! # What is unreadable, and what is for the judge
//!
//! Unreadable is what the *language* hides: text whose parts are uncertain, arithmetic over a variable that may hold
//! more than a number, a subscript in the argument of a built-in command that evaluates it, and, before a line
//! break, commands that change how the next line is read. What a *command* does is the judge's to know: `eval`,
//! `source`, `trap`, `alias` and a shell that is handed a script are listed like any other command, and so are
//! calls of functions that the line defines ([`Line::functions`]). A word whose value depends on a variable is
//! readable and has no [`value`](Word::value).

mod alike;
mod arithmetic;
mod brace;
mod conditional;
mod data;
mod gate;
mod grammar;
mod here_document;
mod parameter;
mod quoted;
mod reader;
mod reading;
mod reason;
mod rough;
mod second;
mod simple;
mod word;

pub use alike::is_alike;
pub use reading::{
    Assignment, Command, Connector, Line, Place, Redirection, RedirectionOperator, Scope, Word, WordFlags,
};
pub use reason::Reason;

pub(crate) use data::{is_tame_shell_option, stores_count};

use reader::Reader;

/// The most bytes of a line that is read.
pub const LONGEST: usize = 64 * 1024;

/// How deep quotes, substitutions and compound commands may be nested.
pub const DEEPEST: usize = 24;

/// The most commands of a line that is read.
pub const MOST_COMMANDS: usize = 2_000;

/// The shell that will run a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    /// bash 4 or newer.
    Bash,
    /// bash below version 4, as macOS has it.
    OldBash,
    /// `/bin/sh`, whatever it is.
    Sh,
}

/// What reading a line came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// All that it runs is known.
    Read(Line),
    /// It may run other commands than those that were seen.
    Unreadable {
        /// Why.
        reason: Reason,
        /// What was seen, and what a rough look finds: too much rather than too little. It may feed a denial or
        /// a question, never an approval.
        partial: Line,
    },
}

impl Reading {
    /// The commands that were seen, all of them or not.
    pub fn line(&self) -> &Line {
        match self {
            Reading::Read(line) | Reading::Unreadable { partial: line, .. } => line,
        }
    }

    /// Why it is not read in full.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Reading::Read(_) => None,
            Reading::Unreadable { reason, .. } => Some(*reason),
        }
    }
}

/// Reads a line as `shell` will. Never panics; a limit that is hit is a [`Reason`].
pub fn read(line: &str, shell: Shell) -> Reading {
    let mut reader = Reader::new(line, shell);
    let outcome = gate::check(line).and_then(|()| reader.read_line()).and_then(|()| second::check(&reader));
    let Err(reason) = outcome else { return Reading::Read(reader.line) };
    let mut partial = reader.line;
    partial.commands.retain(|command| !is_empty(command));
    partial.commands.extend(rough::commands(line));
    Reading::Unreadable { reason, partial }
}

/// Reads a line that may not be UTF-8.
pub fn read_bytes(line: &[u8], shell: Shell) -> Reading {
    match str::from_utf8(line) {
        Ok(line) => read(line, shell),
        Err(_) => {
            let mut partial = read(&String::from_utf8_lossy(line), shell).line().clone();
            // Places in the text that was looked at are none in the line.
            partial.commands.iter_mut().for_each(|command| command.span = 0..0);
            Reading::Unreadable { reason: Reason::Encoding, partial }
        }
    }
}

/// A command that the reader made room for but did not get to.
fn is_empty(command: &Command) -> bool {
    command.words.is_empty() && command.assignments.is_empty() && command.redirections.is_empty()
}
