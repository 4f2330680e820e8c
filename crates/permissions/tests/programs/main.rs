//! What a line runs, level by level: a table of lines, each with the programs that are found and how.
#![forbid(unsafe_code)]

mod directories;
mod found;
mod laws;

use palisade_permissions::program::{Operands, Program, Programs, Reach, Role, Start, programs};
use palisade_permissions::shell::{Shell, read};
use palisade_policy::AbsPath;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("absolute")
}

fn programs_of(line: &str) -> Programs {
    let (directory, home) = (path("/w/proj"), path("/home/u"));
    let start =
        Start { shell: Shell::Bash, directory: Some(&directory), home: Some(&home), folds_case: false };
    programs(line, &read(line, Shell::Bash), &start)
}

/// One program in a line of text: how it was found, its words, and what else is to be said of it.
fn shown(program: &Program) -> String {
    let reach = match program.reach {
        Reach::Direct => "",
        Reach::BehindPlain => "plain ",
        Reach::BehindOther => "other ",
        Reach::InCode => "code ",
        Reach::Guessed => "guess ",
    };
    let text =
        |word: &palisade_permissions::shell::Word| word.value.as_deref().unwrap_or(&word.raw).to_owned();
    let words: Vec<_> = program.words.iter().map(text).collect();
    let role = match program.role {
        Role::Last => "",
        Role::Plain => " | plain",
        Role::Other => " | other",
    };
    let more = if program.operands == Operands::More { " | more" } else { "" };
    format!("{reach}{}{role}{more}", words.join(" "))
}
