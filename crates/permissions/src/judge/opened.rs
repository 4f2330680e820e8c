//! Files that a program opens though they are no operands of it: those in a script of `sed`, behind an option, or in a
//! form of `curl`.
//!
//! For deny and ask rules, so what may be such a file counts as one.

use super::Context;
use super::access::Touch;
use super::place::{Place, place_of};
use crate::program::Program;
use crate::read_only;
use crate::shell::Word;
use palisade_policy::Access;

/// Options of programs that otherwise read no file, whose value is a file that they read.
const INPUTS: &[(&str, &[&str])] = &[
    ("xargs", &["-a", "--arg-file"]),
    ("gxargs", &["-a", "--arg-file"]),
    ("parallel", &["-a", "--arg-file", "::::"]),
    ("date", &["-f", "--file", "-r", "--reference"]),
    ("gdate", &["-f", "--file", "-r", "--reference"]),
    ("pgrep", &["-F", "--pidfile"]),
    ("pkill", &["-F", "--pidfile"]),
    ("hostname", &["-F", "--file"]),
    ("dig", &["-f"]),
    ("gcc", &["-include", "-imacros"]),
    ("clang", &["-include", "-imacros"]),
    ("mail", &["-a", "-A"]),
    ("nmap", &["-iL"]),
    ("bc", &["-f", "--file"]),
    ("dc", &["-f", "--file"]),
    ("git", &["-F", "--file", "-t", "--template", "--pathspec-from-file"]),
    ("gh", &["-F", "--body-file", "--notes-file"]),
    ("psql", &["-f", "--file"]),
    ("docker", &["--env-file"]),
    ("node", &["--env-file", "--env-file-if-exists"]),
];

/// What `program` opens besides its operands.
pub(super) fn opened(program: &Program, reads: bool, context: &Context<'_>) -> Vec<Touch> {
    let name = program.name.as_deref().unwrap_or_default();
    let touch = |access, word: &Word, text: &str| {
        Touch::new(access, place_of(word, Some(text), program, context), text, context)
    };
    let read = |(word, text): (&Word, String)| touch(Access::Read, word, &text);
    match name {
        "sed" | "gsed" => of_script(program, reads, touch),
        _ if !reads => Vec::new(),
        "man" => program.words.iter().skip(1).filter_map(path_in).map(read).collect(),
        "curl" => program.words.iter().flat_map(|word| of_form(word)).map(read).collect(),
        "jq" | "gojq" if program.words.iter().skip(1).any(read_only::loads_module) => {
            vec![Touch::new(Access::Read, Place::Unknown, "import", context)]
        }
        _ => match INPUTS.iter().find(|(known, _)| *known == name) {
            Some((_, options)) => behind_options(program, options).map(read).collect(),
            None => Vec::new(),
        },
    }
}

fn of_script(program: &Program, reads: bool, touch: impl Fn(Access, &Word, &str) -> Touch) -> Vec<Touch> {
    let Some(script) = read_only::scan(&program.words) else { return Vec::new() };
    let stands_for_input = |path: &&String| path.starts_with("/dev/std");
    let word = crate::program::literal("");
    let of = |access, paths: &[String]| -> Vec<Touch> {
        paths.iter().filter(|path| !stands_for_input(path)).map(|path| touch(access, &word, path)).collect()
    };
    let mut found = of(Access::Write, &script.writes);
    if reads {
        found.extend(of(Access::Read, &script.reads));
    }
    found
}

/// A word with a slash.
fn path_in(word: &Word) -> Option<(&Word, String)> {
    let text = word.value.as_deref()?;
    (text.contains('/') && !text.starts_with('-')).then(|| (word, text.to_owned()))
}

/// `-F name=<FILE`, `-F name=@FILE;type=x`, `-F @FILE,FILE`, `file:///FILE`.
fn of_form(word: &Word) -> Vec<(&Word, String)> {
    let Some(text) = word.value.as_deref() else { return Vec::new() };
    let of_url = text.find("file:").map(|at| &text[at + 5..]);
    let of_url =
        of_url.map(|path| format!("/{}", path.trim_start_matches("//localhost").trim_start_matches('/')));
    let parts = text.split_once(['<', '@']).map(|(_, files)| files.split([';', ',', '<', '@']));
    let named = parts.into_iter().flatten().filter(|part| !part.is_empty());
    named.map(|part| part.trim_matches('"').to_owned()).chain(of_url).map(|text| (word, text)).collect()
}

/// What stands behind one of `options`, in the same word or the next.
fn behind_options<'p>(
    program: &'p Program,
    options: &'static [&'static str],
) -> impl Iterator<Item = (&'p Word, String)> {
    let words = &program.words;
    let is_next = move |at: usize| {
        words[at - 1]
            .value
            .as_deref()
            .is_some_and(|before| options.iter().any(|option| ends_with(before, option)))
    };
    (1..words.len()).filter_map(move |at| {
        let word = &words[at];
        let text = word.value.as_deref().unwrap_or(&word.raw);
        let attached = options.iter().find_map(|option| match option.len() {
            2 => text.split_once(&option[1..]).filter(|_| is_bundle(text)).map(|(_, value)| value),
            _ => text.strip_prefix(option)?.strip_prefix('='),
        });
        let attached = attached.filter(|value| !value.is_empty());
        attached.or((at > 1 && is_next(at)).then_some(text)).map(|text| (word, text.to_owned()))
    })
}

fn is_bundle(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--")
}

/// Whether a word is that option, or letters that end with it, or an abbreviation of it.
fn ends_with(word: &str, option: &str) -> bool {
    let is_abbreviated = || word.len() > 3 && word.starts_with("--") && option.starts_with(word);
    word == option
        || is_abbreviated()
        || (option.len() == 2 && is_bundle(word) && word.ends_with(&option[1..]))
}
