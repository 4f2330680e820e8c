//! The rules that would let a line through: what is offered to be remembered.
//!
//! Each rule covers the command that it is offered for and nothing that a person would not expect from
//! reading it, and none is offered that the others make needless. An interpreter or a wrapper is offered with
//! exactly its words, since its name says nothing about what it runs; so is a command that asks because of the
//! files that it names, since any other file may be one that matters more.

use super::Reason;
use super::breadth::is_interpreter;
use super::place::Place;
use super::spelling::Spellings;
use crate::program::{Program, Role};
use crate::{CommandPattern, spell_path};

/// A part of a line that nothing lets through.
pub(super) enum Part<'p> {
    /// One that its name says enough about.
    Command(&'p Program, &'p Spellings),
    /// One to be let through with just these words.
    Exact(&'p Spellings),
    Write(&'p Place),
}

/// More rules than these are not offered for one line: nobody would read them.
const MOST: usize = 5;

/// Programs of which the second word says what they do.
const WITH_COMMANDS: &[&str] = &[
    "apt",
    "aws",
    "az",
    "brew",
    "cargo",
    "docker",
    "dotnet",
    "gcloud",
    "gh",
    "git",
    "go",
    "helm",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Whether a rule could let through what asks for that reason.
pub(super) fn may_help(reason: &Reason<'_>) -> bool {
    !matches!(reason, Reason::Unreadable(_) | Reason::TooLong | Reason::Plan)
}

/// The rules that would let every part of `line` through; none where no rule can.
pub(super) fn of_line(line: &str, parts: &[Part<'_>]) -> Vec<Box<str>> {
    if parts.is_empty() {
        return Vec::new();
    }
    let mut rules: Vec<Box<str>> = Vec::new();
    for part in parts {
        let Some(rule) = of_part(part) else { return Vec::new() };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    // A rule that is the whole line covers what is nested in it, too.
    let whole = format!("Bash({line})");
    if rules.iter().any(|rule| **rule == *whole) {
        return vec![whole.into()];
    }
    let all = rules.clone();
    rules.retain(|rule| !all.iter().any(|other| other != rule && makes_needless(other, rule)));
    if rules.len() > MOST { Vec::new() } else { rules }
}

/// Whether the one rule covers whatever the other covers.
fn makes_needless(wide: &str, narrow: &str) -> bool {
    if let (Some(above), Some(path)) = (path_of(wide), path_of(narrow)) {
        return path.strip_prefix(above).is_some_and(|below| below.starts_with('/'));
    }
    let pattern = |rule: &str| CommandPattern::parse(rule.strip_prefix("Bash(")?.strip_suffix(')')?).ok();
    match (pattern(wide), pattern(narrow)) {
        (Some(wide @ CommandPattern::Prefix(_)), Some(CommandPattern::Exact(words))) => wide.covers(&words),
        _ => false,
    }
}

/// The path that a rule lets write, as written.
fn path_of(rule: &str) -> Option<&str> {
    rule.strip_prefix("Edit(")?.strip_suffix(')')
}

fn of_part(part: &Part<'_>) -> Option<Box<str>> {
    match part {
        Part::Command(program, spellings) => of_command(program, spellings),
        Part::Exact(spellings) => exactly(spellings),
        Part::Write(Place::Paths(paths)) => match &paths[..] {
            // Not everything there is.
            [path] if !path.is_root() => {
                spell_path(path).map(|text| format!("Edit({})", text.trim_end_matches("/**")).into())
            }
            _ => None,
        },
        Part::Write(_) => None,
    }
}

fn of_command(program: &Program, spellings: &Spellings) -> Option<Box<str>> {
    let text = spellings.exact.first()?;
    let name = program.name.as_deref()?;
    let mut words = text.split(' ');
    let first = words.next()?;
    let second = words.next().filter(|word| is_command_name(word));
    let prefix = match second {
        _ if program.role != Role::Last || is_interpreter(name) || !spellings.assignments.is_empty() => None,
        Some(second) if WITH_COMMANDS.contains(&name) => Some(format!("{first} {second}")),
        None if WITH_COMMANDS.contains(&name) => None,
        _ => Some(first.to_owned()),
    };
    match prefix {
        Some(prefix) => {
            let pattern = format!("{prefix} *");
            let is_prefix = matches!(CommandPattern::parse(&pattern), Ok(CommandPattern::Prefix(_)));
            is_prefix.then(|| format!("Bash({pattern})").into())
        }
        None => exactly(spellings),
    }
}

/// The command with just its words; none where a word with a star of its own would make a wider pattern of it.
fn exactly(spellings: &Spellings) -> Option<Box<str>> {
    let whole = format!("{}{}", spellings.assignments, spellings.raw);
    let is_exact =
        matches!(CommandPattern::parse(&whole), Ok(CommandPattern::Exact(words)) if *words == *whole);
    is_exact.then(|| format!("Bash({whole})").into())
}

fn is_command_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b':')
}
