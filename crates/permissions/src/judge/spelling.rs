//! The texts of one command that patterns are compared with.
//!
//! An allow must cover a text that means the command exactly: its words as written, or their values where no
//! value holds a blank, so that `"npm run" x` is not taken for `npm run x`. A deny or an ask covers more: the
//! base name of the program, the values whatever they hold, and the command without options in front of its
//! first word; in each, a word without a certain value may be anything.

use crate::command_pattern::{HOLE, HOLE_TEXT};
use crate::program::{self, Program};
use crate::read_only::is_in_system_directory;
use crate::shell::Word;
use std::borrow::Cow;

/// The texts of one command.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    /// The words as written.
    pub(super) raw: String,
    /// What stands in front of `raw` in the line: variables that are set for it, with a blank behind each.
    pub(super) assignments: String,
    /// The texts that an allow may cover.
    pub(super) exact: Vec<String>,
    /// The texts that a deny or an ask covers: some with holes.
    pub(super) broad: Vec<String>,
    /// Whether most of the words were left out, for a hole. What may be covered then counts as covered: no limit makes
    /// a question of a denial.
    pub(super) is_cut: bool,
}

/// More words than these, counted for each of the programs of a line anew, and those that have many are cut.
const MOST_WORDS: usize = 40_000;
/// What is left of a program that is cut.
const WORDS_LEFT: usize = 32;

/// The texts of every program, in a time that does not grow with the square of the line.
pub(super) fn spell(programs: &[Program]) -> Vec<Spellings> {
    let words: usize = programs.iter().map(|program| program.words.len()).sum();
    let has_too_many =
        |program: &Program| program.is_cut() || (words > MOST_WORDS && program.words.len() > WORDS_LEFT);
    let mut spelled: Vec<Spellings> = Vec::with_capacity(programs.len());
    for program in programs {
        let mut next = if has_too_many(program) { Spellings::cut(program) } else { Spellings::of(program) };
        // One that is spelled as the one before it meets the same rules.
        let is_same = |last: &Spellings| last.raw == next.raw && last.assignments == next.assignments;
        if next.is_cut && spelled.last().is_some_and(|last| last.is_cut && is_same(last)) {
            next.broad.clear();
        }
        spelled.push(next);
    }
    spelled
}

impl Spellings {
    pub(super) fn of(program: &Program) -> Self {
        let raw = join(program.words.iter().map(|word| squeeze(&word.raw)));
        let assignments: String = program
            .assignments
            .iter()
            .map(|set| {
                format!("{}{}={} ", set.name, if set.appends { "+" } else { "" }, squeeze(&set.value.raw))
            })
            .collect();
        let mut spellings = Spellings { raw, assignments, ..Spellings::default() };
        spellings.add_exact(program);
        spellings.add_broad(program);
        spellings
    }

    fn cut(program: &Program) -> Self {
        let left = Program { words: program.words.part(0..WORDS_LEFT), ..program.clone() };
        let mut spellings = Spellings { exact: Vec::new(), is_cut: true, ..Self::of(&left) };
        for text in &mut spellings.broad {
            text.push(' ');
            text.push(HOLE);
        }
        spellings.raw.push_str(" …");
        spellings
    }

    /// What is shown of the command.
    pub(super) fn shown(&self) -> Box<str> {
        format!("{}{}", self.assignments, self.raw).trim_end().into()
    }

    fn add_exact(&mut self, program: &Program) {
        let Some((first, rest)) = program.words.split_first() else { return };
        let Some(path) = first.value.as_deref().filter(|path| is_plain(path)) else {
            self.exact.push(self.raw.clone());
            return;
        };
        let values = join(rest.iter().map(|word| {
            word.value.as_deref().filter(|v| is_plain(v)).map_or_else(|| squeeze(&word.raw), Cow::Borrowed)
        }));
        let with = |name: &str| if values.is_empty() { name.to_owned() } else { format!("{name} {values}") };
        if let Some(name) =
            program.name.as_deref().filter(|name| *name != path && is_in_system_directory(path))
        {
            self.exact.push(with(name));
        }
        self.exact.push(with(path));
        if self.exact.last() != Some(&self.raw) {
            self.exact.push(self.raw.clone());
        }
    }

    fn add_broad(&mut self, program: &Program) {
        let Some((first, rest)) = program.words.split_first() else {
            self.push_broad(self.assignments.trim_end().to_owned());
            return;
        };
        let first = holes(first, program);
        let open = || first.rsplit('/').next().unwrap_or(&first).to_lowercase().into();
        let name: Box<str> = program.name.clone().unwrap_or_else(open);
        let values: Vec<Cow<'_, str>> = rest.iter().map(|word| holes(word, program)).collect();
        let text = |name, skipped: usize| {
            join(std::iter::once(name).chain(values[skipped..].iter().map(|value| &**value)))
        };
        self.push_broad(text(&*name, 0));
        if *first != *name {
            self.push_broad(text(&*first, 0));
        }
        for skipped in leading_options(&name, &values) {
            self.push_broad(text(&*name, skipped));
        }
        if program.replaced.as_deref() == Some("") {
            // More words follow.
            for text in self.broad.clone() {
                self.push_broad(format!("{text} {HOLE}"));
            }
        }
        if !self.broad.contains(&self.raw) {
            self.broad.push(self.raw.clone());
        }
        if !self.assignments.is_empty() {
            self.push_broad(format!("{}{}", self.assignments, self.raw));
        }
    }

    fn push_broad(&mut self, text: String) {
        if !self.broad.contains(&text) {
            self.broad.push(text);
        }
    }
}

/// How many of the words behind a program's name may be options of the program as a whole, with and without a
/// value of their own.
fn leading_options(name: &str, values: &[Cow<'_, str>]) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut at = 0;
    while values.get(at).is_some_and(|word| word.starts_with('-') && word.len() > 1) {
        let takes_value = match name {
            "git" => matches!(
                &*values[at],
                "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--super-prefix"
            ),
            _ => !values[at].contains('=') && values.get(at + 1).is_some_and(|next| !next.starts_with('-')),
        };
        at += 1;
        if takes_value {
            // For most programs it is not known whether the option takes a value: both ways count.
            if name != "git" {
                counts.push(at);
            }
            at += 1;
        }
        if counts.len() > 8 {
            break;
        }
    }
    if at > 0 {
        counts.push(at.min(values.len()));
    }
    counts
}

/// The value of a word of `program`, with a hole for what is not certain.
fn holes<'w>(word: &'w Word, program: &Program) -> Cow<'w, str> {
    let text = match program::holes(word) {
        Cow::Borrowed(text) => squeeze(text),
        Cow::Owned(text) => squeeze(&text).into_owned().into(),
    };
    match program.replaced.as_deref() {
        Some(mark) if !mark.is_empty() && text.contains(mark) => text.replace(mark, HOLE_TEXT).into(),
        _ => text,
    }
}

/// Whether a value stands for itself in a text of words with blanks between.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && !value.contains(char::is_whitespace)
}

/// Blanks in a row made one, as in the patterns.
pub(super) fn squeeze(text: &str) -> Cow<'_, str> {
    let has_runs = text.as_bytes().windows(2).any(|pair| pair == b"  ") || text.contains('\t');
    if !has_runs {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c == '\t' { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out.into()
}

fn join<S: AsRef<str>>(words: impl Iterator<Item = S>) -> String {
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word.as_ref());
    }
    out
}
