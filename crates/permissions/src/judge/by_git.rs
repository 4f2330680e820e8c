//! The files that git shows, puts back, moves or removes, as far as its words name them: `git blame FILE`,
//! `git show REVISION:FILE`, `git diff -- '*.pem'`, `git grep TEXT`.
//!
//! For deny and ask rules, so this over-matches. What `git diff`, `git log -p` and `git show` show when no file is named
//! is not looked at: those are the changes of all files that are kept in git, every day's work, and what must not be
//! read has no place there.

use super::Context;
use super::access::Touch;
use super::place::{Place, anywhere, place_of};
use crate::program::Program;
use crate::shell::Word;
use palisade_policy::Access;

const SHOWING: &[&str] = &[
    "am",
    "annotate",
    "apply",
    "archive",
    "blame",
    "cat-file",
    "config",
    "diff",
    "difftool",
    "format-patch",
    "grep",
    "hash-object",
    "interpret-trailers",
    "log",
    "show",
    "whatchanged",
];
const CHANGING: &[&str] = &["checkout", "clean", "mv", "restore", "rm"];

/// What git touches by its words; what it shows only where `reads` asks for it.
pub(super) fn touched_by_git(program: &Program, reads: bool, context: &Context<'_>) -> Vec<Touch> {
    let mut found = Vec::new();
    if let Some((_, words)) = behind(program, CHANGING) {
        let is_operand = |word: &&Word| word.value.as_deref().is_some_and(|value| !value.starts_with('-'));
        let operands = words.iter().filter(is_operand);
        let touch = |word: &Word| {
            Touch::new(Access::Write, place_of(word, None, program, context), &word.raw, context)
        };
        found.extend(operands.map(touch));
    }
    if let Some((command, words)) = behind(program, SHOWING).filter(|_| reads) {
        let mut add = |text: &str, raw: &str| {
            let places = named(text, program, context).into_iter();
            found.extend(places.map(|place| Touch::new(Access::Read, place, raw, context)));
        };
        for word in words {
            let Some(text) = word.value.as_deref() else { continue };
            parts(text).for_each(|part| add(part, &word.raw));
        }
        if command == "grep" {
            searched(words).iter().for_each(|text| add(text, text));
        }
    }
    found
}

/// The command, if it is one of these, and the words behind it.
fn behind<'p>(program: &'p Program, commands: &[&str]) -> Option<(&'p str, &'p [Word])> {
    let mut words = program.words.iter().enumerate().skip(1);
    words.find_map(|(at, word)| {
        let command = word.value.as_deref().filter(|value| commands.contains(value))?;
        Some((command, &program.words[at + 1..]))
    })
}

/// The parts of a word that may be a file: of an option, what its letters or a `=` may have behind them.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let whole = (!text.starts_with('-')).then_some(text);
    let assigned = text.split_once('=').filter(|_| text.starts_with('-')).map(|(_, value)| value);
    whole
        .into_iter()
        .chain(assigned)
        .chain(super::access::behind_letters(text))
        .filter(|text| !text.is_empty())
}

/// What `git grep` searches: all below what stands behind `--`, or all from where it runs. Other words may be revisions,
/// and what they name is all files as they were.
fn searched(words: &[Word]) -> Vec<String> {
    let limits = words.iter().skip_while(|word| word.value.as_deref() != Some("--")).skip(1);
    let limits: Vec<&str> = limits.map(|word| word.value.as_deref().unwrap_or("*")).collect();
    let below = limits.iter().filter(|limit| !is_exclusion(limit)).map(|limit| format!("{limit}/*"));
    let below: Vec<String> = below.collect();
    // A pattern has been looked at as one.
    if below.is_empty() {
        vec!["*".into()]
    } else {
        below.into_iter().filter(|text| !is_pattern(text.trim_end_matches("/*"))).collect()
    }
}

/// The places that a word may name: a file, a file of a revision, or what a pattern of git's finds.
fn named(text: &str, program: &Program, context: &Context<'_>) -> Vec<Place> {
    if is_exclusion(text) {
        return Vec::new();
    }
    let magic = text.strip_prefix(":(").and_then(|rest| rest.split_once(')'));
    let from_top = magic.is_some_and(|(magic, _)| magic.contains("top")) || text.starts_with(":/");
    let is_loose = magic.is_some_and(|(magic, _)| magic.contains("icase") || magic.contains("attr"));
    let path = match magic {
        Some((_, path)) => path,
        None => match text.strip_prefix(":/") {
            Some(path) => path.trim_start_matches(':'),
            None => text.rsplit_once(':').map_or(text, |(_, path)| path),
        },
    };
    let of_revision = magic.is_none() && text.contains(':');
    let mut starts = vec![String::new()];
    starts.extend(directories(program));
    if from_top || of_revision {
        starts.push(format!("{}/", context.root));
    }
    let place = |start: String| {
        let text = format!("{start}{path}");
        let has_wildcard = is_loose || is_pattern(path);
        let text = if is_loose { format!("{start}*") } else { text };
        match has_wildcard {
            true => anywhere(&text, program, context),
            false => place_of(&Word::literal(&text), None, program, context),
        }
    };
    // Most words of that kind are revisions.
    starts.into_iter().map(place).filter(|place| *place != Place::Unknown).collect()
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '\\'])
}

/// `:!FILE`, `:^FILE`, `:(exclude)FILE`: a file that is left out.
fn is_exclusion(text: &str) -> bool {
    text.starts_with(":!")
        || text.starts_with(":^")
        || text
            .strip_prefix(":(")
            .is_some_and(|rest| rest.split(')').next().is_some_and(|magic| magic.contains("exclude")))
}

/// Where `-C` has git go first.
fn directories(program: &Program) -> Option<String> {
    let words = program.words.windows(2);
    let named = words.filter(|pair| pair[0].value.as_deref() == Some("-C"));
    let path: String = named.filter_map(|pair| Some(format!("{}/", pair[1].value.as_deref()?))).collect();
    (!path.is_empty()).then_some(path)
}
