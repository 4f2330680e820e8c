//! Which variables the shell's own commands set or unset, by their words: a name among the operands, behind an option,
//! or where `printf` stores how much it has printed.
//!
//! What assignments and arithmetic set is not looked at here, nor that `cd` keeps `PWD`.

use crate::program::Program;
use crate::program::builtin::{self, Text};
use crate::shell::{Word, stores_count};

/// Whether a command may set or unset a variable of which `is` holds. A name that is not certain counts as one of them
/// if `open` says so.
pub(super) fn sets(program: &Program, open: bool, is: fn(&str) -> bool) -> bool {
    let name = program.name.as_deref().unwrap_or_default();
    // With a path in front it is another program.
    if program.words.first().and_then(|word| word.value.as_deref()) != Some(name) {
        return false;
    }
    let Some(letters) = builtin::letters_of(name) else { return false };
    if matches!(name, "compgen" | "complete" | "hash") {
        return false;
    }
    let Ok(options) = builtin::options(&program.words, letters) else { return open };
    let by_option = |letter: char| {
        let mut given = options.given.iter().filter(|(given, _)| *given == letter);
        given.any(|(_, text)| match text {
            Text::Word(word) => names(word, open, is),
            Text::Attached(text) => is(bare(text)),
            Text::Nothing => false,
        })
    };
    let operands = &program.words[options.end..];
    match name {
        "wait" => by_option('p'),
        "printf" => by_option('v') || counts_into(operands, open, is),
        "getopts" => operands.get(1).is_some_and(|word| names(word, open, is)),
        _ => by_option('a') || operands.iter().any(|word| names(word, open, is)),
    }
}

/// The name in `NAME=VALUE`, `NAME+=VALUE`, `NAME[SUBSCRIPT]`.
fn bare(text: &str) -> &str {
    text.split(['=', '[', '+']).next().unwrap_or_default()
}

fn names(word: &Word, open: bool, is: fn(&str) -> bool) -> bool {
    match word.value.as_deref() {
        Some(value) => is(bare(value)),
        None => word.raw.trim_start_matches('"').split_once('=').map_or(open, |(name, _)| is(bare(name))),
    }
}

/// `printf '%n' NAME`. Where the format is not certain, any operand may be the name.
fn counts_into(operands: &[Word], open: bool, is: fn(&str) -> bool) -> bool {
    let Some((format, rest)) = operands.split_first() else { return false };
    match format.value.as_deref() {
        Some(format) => stores_count(format) && rest.iter().any(|word| names(word, open, is)),
        None => {
            let open = open && !format.raw.contains('%');
            rest.iter().any(|word| names(word, open, is))
        }
    }
}
