//! What stands behind one program's name: the table's rows applied to its words.
//!
//! The answer is made from the words alone. Nothing here knows how deep it is or reads code.

use super::options::{Given, Options, Stop};
use super::table::{ANY_LONG, Before, Behind, DIGITS, Effect, LONE_DASH, Place, ROWS, Row};
use super::{Reason, Role, Words, launchers, runners, special, split_string};
use crate::shell::{Assignment, Word};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What one program does with its words.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) role: Role,
    pub(super) inner: Vec<Inner>,
    pub(super) uncertain: Option<Reason>,
    /// Whether it can run others at all.
    pub(super) is_wrapper: bool,
}

/// Something that a program runs.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) what: What,
    pub(super) assignments: Vec<Assignment>,
    pub(super) enters: Enters,
    /// Whether it is given more than its words say, and the text in its words that is replaced by that.
    pub(super) more: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) enum What {
    /// A program and its arguments.
    Words(Words),
    /// Code for a shell.
    Code(Code),
    /// Words of which any may be the name of a program, or code.
    Guess(Words),
}

/// Code for a shell.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) text: String,
    /// Whether the text is what the shell is given, with no expansion left in it.
    pub(super) certain: bool,
    pub(super) language: Language,
}

/// Which shell reads the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// The shell that runs the line, in its own process.
    Own,
    Bash,
    /// `/bin/sh`, whatever that is.
    Posix,
    /// One whose language is not read here.
    Other,
}

/// The directory that a wrapper's command runs in.
#[derive(Debug, Clone)]
pub(super) enum Enters {
    Nothing,
    Directory(Box<str>),
    Unknown,
}

/// Looks behind the program of that base name.
pub(super) fn look(name: &str, words: &Words) -> Found {
    let found = special::look(name, words).or_else(|| BY_NAME.get(name).map(|row| behind(row, words)));
    match found {
        Some(found) => Found { is_wrapper: true, ..found },
        None => {
            launchers::look(name, words).or_else(|| runners::look(name, words)).unwrap_or_else(Found::nothing)
        }
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, &'static Row>> =
    LazyLock::new(|| ROWS.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row))).collect());

impl Found {
    /// It runs nothing else.
    pub(super) fn nothing() -> Self {
        Found { role: Role::Last, inner: Vec::new(), uncertain: None, is_wrapper: false }
    }

    /// It runs others, and prefix rules say too little about it.
    pub(super) fn other(inner: Vec<Inner>) -> Self {
        Found { role: Role::Other, inner, ..Found::nothing() }
    }

    /// It runs something that its words do not show.
    pub(super) fn hidden(reason: Reason) -> Self {
        Found { role: Role::Other, uncertain: Some(reason), ..Found::nothing() }
    }

    /// As it is, but whatever it runs is given more than its words say.
    pub(super) fn with_more(mut self) -> Self {
        for inner in &mut self.inner {
            inner.more.get_or_insert_default();
        }
        self
    }

    /// From the word of that index on, its words could not be read.
    pub(super) fn guessed(words: &Words, stop: &Stop) -> Self {
        let inner = vec![Inner::guess(words.from(stop.at))];
        Found { role: Role::Other, inner, uncertain: Some(stop.reason), ..Found::nothing() }
    }
}

impl Inner {
    pub(super) fn new(what: What) -> Self {
        Inner { what, assignments: Vec::new(), enters: Enters::Nothing, more: None }
    }

    pub(super) fn words(words: Words) -> Self {
        Inner::new(What::Words(words))
    }

    pub(super) fn guess(words: Words) -> Self {
        Inner { enters: Enters::Unknown, ..Inner::new(What::Guess(words)) }
    }

    /// The words joined as code.
    pub(super) fn code(words: &[Word], language: Language) -> Self {
        let text = text_of_code(words);
        let certain = words.iter().all(|word| word.value.is_some());
        Inner::new(What::Code(Code { text, certain, language }))
    }

    /// Text that is certain, as code.
    pub(super) fn text(text: &str, language: Language) -> Self {
        Inner::new(What::Code(Code { text: text.to_owned(), certain: true, language }))
    }
}

/// The words joined as the text that a shell is given.
pub(super) fn text_of_code(words: &[Word]) -> String {
    words.iter().map(as_code).collect::<Vec<_>>().join(" ")
}

/// What a word puts into code that it is part of: its value, or what it is before expansion.
fn as_code(word: &Word) -> Cow<'_, str> {
    match &word.value {
        Some(value) => Cow::Borrowed(value),
        None => without_double_quotes(&word.raw),
    }
}

/// The text between double quotes, with the backslashes away that those take away.
fn without_double_quotes(raw: &str) -> Cow<'_, str> {
    let Some(inner) = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Cow::Borrowed(raw);
    };
    let mut text = String::new();
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        let escaped =
            (c == '\\').then(|| rest.next_if(|next| matches!(next, '"' | '\\' | '`' | '$'))).flatten();
        text.push(escaped.unwrap_or(c));
    }
    text.into()
}

fn behind(row: &Row, words: &Words) -> Found {
    let guessed = |stop: Stop| match row.behind {
        Behind::WordsAndMore => Found::guessed(words, &stop).with_more(),
        _ => Found::guessed(words, &stop),
    };
    let options = match read_options(row, words) {
        Ok(options) => options,
        Err(stop) => return guessed(stop),
    };
    if let Some(at) = options.given.iter().position(|given| row.effect(given) == Some(Effect::Split)) {
        return split_string(row, words, &options.given[..=at]);
    }
    let mut inner = codes(row, &options);
    if row.has(&options, Effect::Ends) {
        return if inner.is_empty() { Found::nothing() } else { Found::other(inner) };
    }
    let (assignments, start) = match before(row, words, &options) {
        Ok(before) => before,
        Err(stop) => return guessed(stop),
    };
    let mut uncertain = None;
    match command(row, words, &options, start) {
        Some(found) => inner.push(Inner { assignments, enters: enters(row, &options), ..found }),
        None if row.behind == Behind::WordsOrShell => uncertain = Some(Reason::CodeFromInput),
        None if inner.is_empty() => return Found::nothing(),
        None => {}
    }
    let is_plain = row.plain && uncertain.is_none() && is_plain(row, &options);
    Found { role: if is_plain { Role::Plain } else { Role::Other }, inner, uncertain, ..Found::nothing() }
}

/// Bare `xargs` is plain, with any option it is not.
fn is_plain(row: &Row, options: &Options<'_>) -> bool {
    let bare = options.given.is_empty() || row.behind != Behind::WordsAndMore;
    bare && !row.has(options, Effect::Acts)
}

impl Row {
    fn effect(&self, given: &Given<'_>) -> Option<Effect> {
        self.effects.iter().find(|(name, _)| *name == given.name).map(|(_, effect)| *effect)
    }

    fn has(&self, options: &Options<'_>, effect: Effect) -> bool {
        options.given.iter().any(|given| self.effect(given) == Some(effect))
    }
}

/// The options of a row, with what `getopt` has no words for.
fn read_options<'a>(row: &Row, words: &'a Words) -> Result<Options<'a>, Stop> {
    let is = |names: &[&str]| names.contains(&row.names[0]);
    row.options.read(words, 1, |text| {
        is(&ANY_LONG) && text.len() > 2 && text.starts_with("--")
            || is(&DIGITS) && is_dashed_number(text)
            || is(&LONE_DASH) && text == "-"
    })
}

/// `-5`, `--5`, `-+5`.
fn is_dashed_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').map(|rest| rest.strip_prefix(['-', '+']).unwrap_or(rest));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Options whose value is code.
fn codes(row: &Row, options: &Options<'_>) -> Vec<Inner> {
    let code = |given: &Given<'_>| {
        let value = given.value?;
        match row.effect(given)? {
            Effect::Pipe => Some(Inner::text(value.strip_prefix(['|', '!'])?, Language::Posix)),
            _ => None,
        }
    };
    options.given.iter().filter_map(code).collect()
}

fn enters(row: &Row, options: &Options<'_>) -> Enters {
    if row.place == Place::Elsewhere || row.has(options, Effect::Elsewhere) {
        return Enters::Unknown;
    }
    let last = options.given.iter().rfind(|given| row.effect(given) == Some(Effect::Directory));
    last.map_or(Enters::Nothing, |given| Enters::Directory(given.value.unwrap_or_default().into()))
}

/// The assignments that stand before the command, and where it starts.
fn before(row: &Row, words: &Words, options: &Options<'_>) -> Result<(Vec<Assignment>, usize), Stop> {
    let mut assignments = Vec::new();
    let by_option = options.given.iter().filter(|given| row.effect(given) == Some(Effect::Assigns));
    assignments.extend(by_option.filter_map(|given| assignment_of(given.value?)));
    let mut start = options.end;
    match row.before {
        Before::Nothing => {}
        Before::Assignments => {
            // A path is a command to sudo, whatever is in it.
            let is_command = |word: &Word| {
                row.names[0] == "sudo" && word.value.as_deref().unwrap_or(&word.raw).starts_with('/')
            };
            while let Some(assignment) = words.get(start).filter(|w| !is_command(w)).and_then(read_assignment)
            {
                assignments.push(assignment);
                start += 1;
            }
        }
        Before::Operand if row.has(options, Effect::NoOperand) => {}
        Before::Operand => start += 1,
        Before::Number => {
            let is_number = |word: &Word| word.value.as_deref().is_none_or(|v| v.parse::<u32>().is_ok());
            start += usize::from(words.get(start).is_some_and(is_number));
        }
    }
    match words.iter().take(start + 1).skip(options.end).position(is_uncertain) {
        Some(at) => Err(Stop { at: options.end + at, reason: Reason::DynamicOption }),
        None => Ok((assignments, start)),
    }
}

/// Whether a word between the options and the command may be any number of words, or the command's name is open.
fn is_uncertain(word: &Word) -> bool {
    word.value.is_none() && read_assignment(word).is_none()
}

/// A word that is surely one assignment: `A=1`, `A="$X/b"`.
pub(super) fn read_assignment(word: &Word) -> Option<Assignment> {
    match &word.value {
        Some(value) => assignment_of(value),
        None => {
            let (name, value) = word.raw.split_once('=')?;
            let inner = value.strip_prefix('"')?.strip_suffix('"')?;
            let is_one = is_name(name) && !inner.contains(['"', '\\', '`', '(', '@', '*']);
            let value = Word { raw: value.into(), value: None, flags: word.flags };
            is_one.then(|| Assignment { name: name.into(), appends: false, value })
        }
    }
}

fn assignment_of(text: &str) -> Option<Assignment> {
    let (name, value) = text.split_once('=')?;
    Some(Assignment { name: name.into(), appends: false, value: Word::literal(value) })
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn command(row: &Row, words: &Words, options: &Options<'_>, start: usize) -> Option<Inner> {
    if start >= words.len() {
        return None;
    }
    let command = words.from(start);
    let is_code = row.has(options, Effect::AsCode)
        || (row.behind == Behind::Code && !row.has(options, Effect::AsWords));
    let found = match is_code {
        true => Inner::code(&command, Language::Posix),
        false => Inner::words(command),
    };
    let replaced = options.given.iter().find(|given| matches!(given.name, "I" | "i" | "J" | "replace"));
    let mark = replaced.map_or("", |given| given.value.filter(|mark| !mark.is_empty()).unwrap_or("{}"));
    let more = (row.behind == Behind::WordsAndMore).then(|| mark.into());
    Some(Inner { more, ..found })
}

/// More words behind a text are not copied for it: each such option would copy them again.
const MOST_BEHIND_TEXT: usize = 1_000;

/// `env -S TEXT`: the words of the text stand in the option's place, and are options of `env` again. `given` ends with
/// that option.
fn split_string(row: &Row, words: &Words, given: &[Given<'_>]) -> Found {
    let Some(Given { value: Some(text), next, .. }) = given.last() else { return Found::nothing() };
    let rest = words.from(*next);
    let guessed = |reason| {
        // Whatever it parts them by and takes away from them.
        let plain = text.replace(['"', '\'', '\\'], "");
        let parts: Words = plain.split_whitespace().map(Word::literal).collect::<Vec<_>>().into();
        let inner = vec![Inner::guess(parts), Inner::guess(rest.clone())];
        Found { inner, ..Found::hidden(reason) }
    };
    let Some(split) = split_string::split(text) else { return guessed(Reason::UnknownOption) };
    if rest.len() > MOST_BEHIND_TEXT {
        return guessed(Reason::TooDeep);
    }
    let all = words.iter().take(1).cloned().chain(split).chain(rest.iter().cloned()).collect::<Vec<_>>();
    let before = Options { given: given.to_vec(), end: *next };
    Found::other(vec![Inner { enters: enters(row, &before), ..Inner::words(all.into()) }])
}
