//! The rules that would let a line through: what is offered to be remembered.
//!
//! Each rule covers the command that it is offered for and nothing that a person would not expect from
//! reading it. An interpreter or a wrapper is offered with exactly its words, since its name says nothing
//! about what it runs.

use super::Reason;
use super::breadth::is_interpreter;
use super::place::Place;
use super::spelling::Spellings;
use crate::program::{Program, Role};
use crate::{CommandPattern, spell_path};

/// A part of a line that nothing lets through.
pub(super) enum Part<'p> {
    Command(&'p Program, &'p Spellings),
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

/// The rules that would let every part through; none where no rule can.
pub(super) fn of_line(parts: &[Part<'_>], reason: &Reason<'_>) -> Vec<Box<str>> {
    let no_rule_helps = matches!(reason, Reason::Unreadable(_) | Reason::TooLong | Reason::Plan);
    if no_rule_helps || parts.is_empty() {
        return Vec::new();
    }
    let mut rules: Vec<Box<str>> = Vec::new();
    for part in parts {
        let Some(rule) = of_part(part) else { return Vec::new() };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.len() > MOST { Vec::new() } else { rules }
}

fn of_part(part: &Part<'_>) -> Option<Box<str>> {
    match part {
        Part::Command(program, spellings) => of_command(program, spellings),
        Part::Write(Place::Paths(paths)) => match &paths[..] {
            [path] => spell_path(path).map(|text| format!("Edit({})", text.trim_end_matches("/**")).into()),
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
    let whole = format!("{}{}", spellings.assignments, spellings.raw);
    let pattern = prefix.map_or(whole.clone(), |prefix| format!("{prefix} *"));
    let parsed = CommandPattern::parse(&pattern).ok()?;
    // A word with a star of its own would make a wider pattern of an exact one.
    let is_same = matches!(parsed, CommandPattern::Prefix(_))
        || (matches!(parsed, CommandPattern::Exact(_)) && parsed.covers(&whole));
    is_same.then(|| format!("Bash({pattern})").into())
}

fn is_command_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b':')
}
