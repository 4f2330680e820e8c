//! What one command does to the shell's working directory, as far as its words say.

use crate::shell::{Command, Line, Place, Word};
use palisade_policy::AbsPath;

/// What a command does to the directory of the shell that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    Stays,
    /// It goes to that directory, or fails.
    To(Box<str>),
    /// To one where the shell has been before (`popd`).
    Back,
    /// Anywhere.
    Lost,
    /// Nothing runs after it.
    Ends,
}

/// What a line may have changed about how `cd` finds its directory.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    /// The home directory, while it is certain.
    pub(super) home: Option<AbsPath>,
    /// Whether `cd name` may go elsewhere than to that name.
    pub(super) searches: bool,
}

impl Ground {
    /// What it is once `line` has had its say.
    pub(super) fn after(&self, line: &Line) -> Self {
        let home = if mentions(line, |text| text == "HOME" || text.contains("HOME=")) {
            None
        } else {
            self.home.clone()
        };
        let searches =
            self.searches || mentions(line, |text| text.contains("CDPATH") || text.contains("cdable_vars"));
        Ground { home, searches }
    }
}

/// Whether a variable or a word of the line is one of those. What is put together while the line runs is not seen: that takes a command
/// which is not read in full anyway.
fn mentions(line: &Line, is: impl Fn(&str) -> bool) -> bool {
    let in_word = |word: &Word| is(word.value.as_deref().unwrap_or(&word.raw));
    line.commands.iter().any(|command| {
        command.assignments.iter().any(|assignment| is(&assignment.name)) || command.words.iter().any(in_word)
    })
}

/// What each command of a line does to the directory.
pub(super) fn changes(line: &Line, ground: &Ground) -> Vec<Change> {
    let mut changes: Vec<_> = line.commands.iter().map(|command| change(command, ground)).collect();
    if !line.functions.is_empty() {
        let in_function = functions_scopes(line);
        let moves = |(command, change): (&Command, &Change)| {
            in_function.get(command.scope) == Some(&true) && !matches!(change, Change::Stays | Change::Ends)
        };
        let call = if line.commands.iter().zip(&changes).any(moves) { Change::Lost } else { Change::Stays };
        for (command, change) in line.commands.iter().zip(&mut changes) {
            let name = command.words.first().and_then(|word| word.value.as_deref());
            if name.is_some_and(|name| line.functions.iter().any(|function| **function == *name)) {
                // It may not be defined yet, and then be what its name says.
                *change =
                    if matches!(change, Change::Stays | Change::Ends) { call.clone() } else { Change::Lost };
            }
        }
    }
    changes
}

/// Which scopes are part of a function's body.
fn functions_scopes(line: &Line) -> Vec<bool> {
    let mut inside: Vec<bool> = Vec::with_capacity(line.scopes.len());
    for scope in &line.scopes {
        let outer = scope.parent.and_then(|parent| inside.get(parent).copied()).unwrap_or(false);
        inside.push(outer || scope.place == Place::Function);
    }
    inside
}

fn change(command: &Command, ground: &Ground) -> Change {
    let words = without_prefixes(&command.words);
    let Some(first) = words.first() else { return Change::Stays };
    let Some(name) = first.value.as_deref() else { return Change::Lost };
    match name {
        "cd" | "chdir" => cd(&words[1..], ground),
        "pushd" => pushd(&words[1..], ground),
        "popd" => Change::Back,
        "exit" if words.len() < 3 && command.redirections.is_empty() => Change::Ends,
        "source" | "." => Change::Lost,
        "eval" if !words[1..].iter().all(is_harmless) => Change::Lost,
        // With an option that is not known here it may still be `cd`.
        "command" | "builtin" | "noglob" | "nocorrect" | "time" if words.len() > 1 => Change::Lost,
        _ => Change::Stays,
    }
}

/// The words behind those that run a command in the shell itself.
fn without_prefixes(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let [first, behind @ ..] = rest {
        let is_prefix = match first.value.as_deref() {
            Some("noglob" | "nocorrect" | "-") => true,
            Some("command" | "builtin" | "time") => !behind
                .first()
                .is_some_and(|word| word.value.as_deref().is_none_or(|text| text.starts_with('-'))),
            _ => false,
        };
        let options = matches!(behind.first().and_then(|word| word.value.as_deref()), Some("-p" | "--"));
        match (is_prefix, first.value.as_deref(), options) {
            (true, _, _) => rest = behind,
            (false, Some("command" | "builtin" | "time"), true) => rest = &behind[1..],
            (false, Some("command"), _) if looks_up(behind) => return &[],
            _ => return rest,
        }
    }
    rest
}

/// `command -v name` runs nothing.
fn looks_up(words: &[Word]) -> bool {
    matches!(words.first().and_then(|word| word.value.as_deref()), Some("-v" | "-V"))
}

/// Code for `eval` in which no other command than those that its letters name can hide.
fn is_harmless(word: &Word) -> bool {
    let Some(text) = word.value.as_deref() else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_=:,/;&|\n".contains(c);
    let moves = ["cd", "pushd", "popd", "eval", "source", "chdir", "exit"];
    text.chars().all(is_plain) && !moves.iter().any(|name| text.contains(name))
}

fn cd(words: &[Word], ground: &Ground) -> Change {
    let mut rest = words;
    while let [first, behind @ ..] = rest {
        match first.value.as_deref() {
            Some("--") => {
                rest = behind;
                break;
            }
            Some("-") => return Change::Lost,
            Some(text) if text.starts_with('-') && text[1..].chars().all(|c| "LPe@".contains(c)) => {
                rest = behind
            }
            _ => break,
        }
    }
    match rest {
        [] => ground.home.as_ref().map_or(Change::Lost, to),
        [word] => to_word(word, ground),
        _ => Change::Lost,
    }
}

fn pushd(words: &[Word], ground: &Ground) -> Change {
    match words {
        [] => Change::Back,
        [word] if word.value.as_deref().is_some_and(|text| text.starts_with(['-', '+'])) => Change::Back,
        [word] => to_word(word, ground),
        _ => Change::Lost,
    }
}

fn to(path: &AbsPath) -> Change {
    str::from_utf8(path.as_bytes()).map_or(Change::Lost, |path| Change::To(path.into()))
}

fn to_word(word: &Word, ground: &Ground) -> Change {
    match (word.value.as_deref(), expand_home(word, ground.home.as_ref())) {
        (Some(text), _) if text.starts_with('-') => Change::Lost,
        (Some(""), _) => Change::Stays,
        (Some(text), _) if ground.searches && !text.starts_with(['/', '.']) => Change::Lost,
        (Some(text), _) => Change::To(text.into()),
        (None, Some(path)) => to(&path),
        (None, None) => Change::Lost,
    }
}

/// The path that `~` or `~/…` stands for, where nothing else in the word is open.
fn expand_home(word: &Word, home: Option<&AbsPath>) -> Option<AbsPath> {
    let rest = word.raw.strip_prefix('~')?;
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%,=:".contains(c);
    let certain = word.flags.tilde && !word.flags.glob && !word.flags.dynamic && rest.chars().all(is_plain);
    match (certain, rest.strip_prefix('/')) {
        (true, Some(below)) => home?.join(below).ok(),
        (true, None) if rest.is_empty() => home.cloned(),
        _ => None,
    }
}
