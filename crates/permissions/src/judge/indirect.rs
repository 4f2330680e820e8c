//! Commands that may change which program runs, or run code that the line does not show. Inside the sandbox,
//! too, they need the approval that they would need outside of it.

use super::naming::sets;
use crate::program::{Program, Programs, Reason, builtin};
use crate::shell::{Word, is_tame_shell_option};
use crate::variables::{is_safe, is_special};

/// What about a line keeps it from running without approval inside the sandbox; `None` when nothing does.
pub(super) fn indirect(programs: &Programs) -> Option<&'static str> {
    // What a program does with its words is the sandbox's business.
    let mut uncertain = programs.uncertain.iter().filter(|uncertain| uncertain.reason != Reason::ForeignCode);
    let certain = uncertain.next().map(|uncertain| said(uncertain.reason));
    certain.or_else(|| programs.list.iter().find_map(of_program))
}

/// Whether a command gives a name of a program another meaning, so that what runs later is not what it is called.
pub(super) fn rebinds(program: &Program) -> bool {
    let Some((_, words)) = program.words.split_first() else { return false };
    match program.name.as_deref() {
        Some("alias") => words.iter().any(|word| word.value.as_deref().is_none_or(|v| v.contains('='))),
        Some("hash") => words.iter().any(|word| word.value.is_none() || option_has(word, 'p')),
        Some("enable") => words.iter().any(|word| word.value.is_none() || option_has(word, 'f')),
        _ => sets(program, false, |name| {
            name.starts_with("BASH_") && name != "BASH_REMATCH" || matches!(name, "ENV" | "PS0" | "PS4")
        }),
    }
}

/// Whether a builtin sets or unsets a variable of the shell, or one that programs know, so that what runs later may be
/// another program than it is called.
pub(super) fn sets_special(program: &Program) -> bool {
    sets(program, true, |name| is_special(name) && !is_safe(name))
}

fn said(reason: Reason) -> &'static str {
    match reason {
        Reason::CodeFromInput | Reason::CodeInLine => "a shell that reads its code from standard input",
        Reason::SourcedFile => "a file that is run inside the shell itself",
        Reason::Function => "a function that the line defines",
        Reason::DynamicName => "a name that is put together while the line runs",
        Reason::DynamicCode
        | Reason::ForeignCode
        | Reason::UnreadableCode
        | Reason::OtherLanguage
        | Reason::TooDeep => "code that could not be read",
        Reason::UnknownOption | Reason::DynamicOption => "a wrapper with words that are not certain",
    }
}

fn of_program(program: &Program) -> Option<&'static str> {
    if program.words.is_empty() {
        let special = program.assignments.iter().any(|set| is_special(&set.name));
        return special.then_some("a variable of the shell");
    }
    if !program.assignments.is_empty() && !only_parts_input(program) {
        return Some("a variable in front of a command");
    }
    let words = &program.words[1..];
    match program.name.as_deref()? {
        "eval" => Some("eval"),
        "source" | "." => Some("a file that is run inside the shell itself"),
        "alias" | "unalias" => Some("alias"),
        "export" => Some("export"),
        "readonly" => Some("readonly"),
        "trap" => Some("trap"),
        "enable" => Some("enable"),
        "shopt" if !words.iter().all(is_tame_shell_option) => Some("shopt"),
        "bind" | "complete" | "compgen" | "compopt" => Some("a hook of the shell"),
        "declare" | "typeset" | "local" if declares_export(words) => Some("declare -x"),
        "mapfile" | "readarray" if has_callback(program) => Some("a hook of the shell"),
        _ if sets_special(program) => Some("a variable of the shell"),
        "hash" if words.iter().any(|word| option_has(word, 'p')) => Some("hash -p"),
        "set" if sets_options(words) => Some("set"),
        "make" | "gmake" | "bmake" | "remake" if words.iter().any(sets_variable) => {
            Some("make with a variable")
        }
        _ => None,
    }
}

/// `IFS= read -r LINE`: the builtin runs nothing, and the variable says no more than how it parts what it reads.
fn only_parts_input(program: &Program) -> bool {
    program.words[0].value.as_deref() == Some("read")
        && program.assignments.iter().all(|set| &*set.name == "IFS")
}

/// `-x` in any spelling of `declare`'s options, or an option that is not certain.
fn declares_export(words: &[Word]) -> bool {
    words.iter().any(|word| {
        option_has(word, 'x') || option_has(word, 'n') || (word.value.is_none() && !word.raw.contains('='))
    })
}

fn option_has(word: &Word, letter: char) -> bool {
    word.value.as_deref().is_some_and(|value| {
        value.starts_with(['-', '+']) && !value.starts_with("--") && value.contains(letter)
    })
}

fn has_callback(program: &Program) -> bool {
    let letters = program.name.as_deref().and_then(builtin::letters_of).unwrap_or_default();
    let options = builtin::options(&program.words, letters);
    options.is_ok_and(|options| options.given.iter().any(|(letter, _)| *letter == 'C'))
}

/// Whether a command only steers the shell that runs the line: where it goes on, how strict it is.
pub(super) fn only_steers(program: &Program) -> bool {
    let Some((_, words)) = program.words.split_first() else { return false };
    let is_number = |word: &Word| matches!(word.raw.trim_matches('"'), "$!" | "$?");
    let are_certain = words.iter().all(|word| word.value.is_some() || is_number(word));
    // With a path in front it is a file that is called so.
    let is_builtin = program.words[0].value.as_deref() == program.name.as_deref();
    let is_option = |word: &Word| matches!(word.value.as_deref(), Some(v) if v.starts_with(['-', '+']) || v == "pipefail");
    are_certain
        && is_builtin
        && match program.name.as_deref() {
            Some("break" | "continue" | "exit" | "return" | "shift") => true,
            Some("wait") => !sets(program, true, |_| true),
            Some("set") => !words.is_empty() && words.iter().all(is_option) && !sets_options(words),
            _ => false,
        }
}

/// `set -a`, `set -k`, and `set -o` with anything but what only makes a script stricter.
fn sets_options(words: &[Word]) -> bool {
    let values: Option<Vec<&str>> = words.iter().map(|word| word.value.as_deref()).collect();
    let Some(values) = values else { return true };
    let mut rest = values.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--" | "-" => return false,
            word if !word.starts_with(['-', '+']) => return false,
            word => {
                let is_strict = |letter: char| "euxvnfCo".contains(letter);
                if !word.chars().skip(1).all(is_strict) {
                    return true;
                }
                let is_named = word.contains('o');
                if is_named
                    && !rest.next().is_none_or(|name| {
                        matches!(
                            *name,
                            "pipefail"
                                | "errexit"
                                | "nounset"
                                | "xtrace"
                                | "noglob"
                                | "noclobber"
                                | "noexec"
                                | "verbose"
                        )
                    })
                {
                    return true;
                }
            }
        }
    }
    false
}

/// `CC=clang`, `--eval=…`, or a word that may turn out to be one.
fn sets_variable(word: &Word) -> bool {
    match word.value.as_deref() {
        Some(value) if value.starts_with('-') => {
            ["--ev", "-E", "--environment-overrides", "-e"].iter().any(|option| value.starts_with(option))
        }
        Some(value) => value.contains('='),
        None => !word.raw.starts_with('-') || word.raw.contains('='),
    }
}
