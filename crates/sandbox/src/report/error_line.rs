//! Finds the texts in an error line that may be the path which the error is about.
//!
//! Error lines follow no grammar. These shapes are understood, in this order:
//!
//! | shape | who writes it |
//! |---|---|
//! | `… 'PATH' …` in quotes of any kind | coreutils, git, Python, node, Rust |
//! | `…: ERROR: PATH`, `ERROR @ … - PATH`, `ERROR PATH` | zsh, Ruby, node |
//! | `PROGRAM: … PATH: ERROR`, `… PATH (ERROR)`, `VERB PATH: ERROR`, `FROM -> TO: ERROR` | shells, coreutils, Go, Java |
//! | the line before, when the line is the error alone | Cargo, and other chains of causes |
//!
//! In whatever language the words around it are, a path that starts at `/` is found, and a relative one where it
//! stands in quotes or alone between colons. Of two paths the one where something comes to be goes first: it is the
//! one that is written.
//!
//! Whether a text really is a path is not decided here: whoever asks holds it against the rules.

use super::quotes::{Quoted, quoted, unescaped};
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// How many texts of one line are held against the rules.
const MOST_PATHS: usize = 8;
/// How many parts of a line, colons between them, are looked at ahead of an error.
const MOST_PARTS: usize = 4;
/// The longest text of a line that is passed on, in bytes.
const LONGEST_TEXT: usize = 1024;

/// One error line, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ErrorLine<'a> {
    /// The line for a person to read, with the line before where that is where the path stands.
    pub(super) text: String,
    /// What may be the path, the likeliest first. Not empty texts.
    pub(super) paths: Vec<Cow<'a, [u8]>>,
}

impl<'a> ErrorLine<'a> {
    /// Reads `line`, whose error stands at `error`; `before` is the line before it.
    pub(super) fn new(line: &'a [u8], error: Range<usize>, before: &'a [u8]) -> Self {
        if !is_alone(line, &error) {
            return ErrorLine { text: shown(line), paths: named(line, error) };
        }
        let mut paths = named(before, before.len()..before.len());
        paths.retain(|path| path.starts_with(b"/"));
        ErrorLine { text: format!("{}: {}", shown(before), shown(line)), paths }
    }
}

/// Whether `line` says nothing but the error: numbers and dots ahead of it, no path behind it.
fn is_alone(line: &[u8], error: &Range<usize>) -> bool {
    let tail = &line[error.end..];
    let is_number = |b: &u8| b.is_ascii_digit() || b": ".contains(b);
    line[..error.start].iter().all(is_number)
        && !tail.starts_with(b": ")
        && !tail.contains(&b'"')
        && !tail.contains(&b'\'')
}

fn shown(line: &[u8]) -> String {
    let end = line.len().min(LONGEST_TEXT);
    String::from_utf8_lossy(&line[..end]).into_owned()
}

fn named(line: &[u8], error: Range<usize>) -> Vec<Cow<'_, [u8]>> {
    // Rust's own words for a result that was not looked at; what is quoted there is code.
    if memmem::find(line, b"called `Result::").is_some() {
        return Vec::new();
    }
    let (head, tail) = (&line[..error.start], &line[error.end..]);
    let mut paths = in_quotes(line, &error);
    // Beside a quoted text only what is plainly a path is one more candidate.
    let only_plain = !paths.is_empty();
    let bare = behind(tail).into_iter().chain(ahead(head));
    let bare = bare.filter(|path| !only_plain || path.starts_with(b"/"));
    paths.extend(bare.map(Cow::Borrowed));
    paths.retain(|path| !path.is_empty());
    paths.truncate(MOST_PATHS);
    paths
}

/// What stands in quotes. Words such as the `open` of `function "open" failed` go last.
fn in_quotes<'a>(line: &'a [u8], error: &Range<usize>) -> Vec<Cow<'a, [u8]>> {
    let mut found = quoted(line, error);
    for first in 0..found.len().saturating_sub(1) {
        if leads_to(line, error, &found[first], &found[first + 1]) {
            found.swap(first, first + 1);
        }
    }
    let is_python = memmem::find(line, b"[Errno ").is_some();
    let mut texts: Vec<_> = found.into_iter().map(|quoted| quoted.text).collect();
    if is_python {
        texts.iter_mut().for_each(|text| *text = unescaped(text).into_owned().into());
    }
    texts.sort_by_key(|text| is_lead_in(text));
    texts
}

/// Whether something goes from the first text to the second, as in `cannot move 'a' to 'b'` and
/// `rename 'a' -> 'b'`. `cannot create link 'a' to 'b'` makes the first.
fn leads_to(line: &[u8], error: &Range<usize>, first: &Quoted<'_>, second: &Quoted<'_>) -> bool {
    match line.get(first.at.end..second.at.start) {
        Some(b" to ") => memmem::find(&line[..first.at.start], b" link ").is_none(),
        Some(b" -> ") => first.at.start >= error.end,
        _ => false,
    }
}

/// The path behind the error: `: PATH` without spaces or absolute, ` PATH` and `(PATH)` absolute, or
/// ` @ CALL - PATH (CLASS)`.
fn behind(tail: &[u8]) -> Option<&[u8]> {
    if let Some(call) = memmem::find(tail, b"(/") {
        let path = &tail[call + 1..];
        return Some(memchr::memchr(b')', path).map_or(path, |end| &path[..end]));
    }
    let path = match (tail.strip_prefix(b": "), tail.strip_prefix(b" @ ")) {
        (Some(path), _) => path,
        (_, Some(call)) => &call[memmem::find(call, b" - ")? + 3..],
        _ => tail.strip_prefix(b" ").filter(|path| path.starts_with(b"/"))?,
    };
    let path = memmem::find(path, b" (").map_or(path, |end| &path[..end]);
    (path.starts_with(b"/") || !path.contains(&b' ')).then_some(path)
}

/// The paths ahead of the error, in the parts of the line that colons end.
fn ahead(head: &[u8]) -> Vec<&[u8]> {
    let parts = parts(head);
    let is_relative = parts.first().is_some_and(|last| absolute(last).is_empty());
    let relative = if is_relative { relative(&parts) } else { Vec::new() };
    let is_program = |n: usize, part: &[u8]| n > 0 && part.starts_with(b"/") && head.starts_with(part);
    let others = parts.iter().enumerate().filter(|(n, part)| !is_program(*n, part));
    relative.into_iter().chain(others.flat_map(|(_, part)| absolute(part))).collect()
}

/// The parts of `head`, the last first.
fn parts(head: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = trim_end(head, b" :(");
    while parts.len() < MOST_PARTS && !rest.is_empty() {
        let colon = memmem::rfind(rest, b": ").map(|at| (at, 2));
        let wide = memmem::rfind(rest, "：".as_bytes()).map(|at| (at, "：".len()));
        let (at, len) = colon.max(wide).unwrap_or((0, 0));
        parts.push(trim_end(&rest[at + len..], " :\u{a0}".as_bytes()));
        rest = &rest[..at];
    }
    parts
}

/// The paths in `part` that start at `/`, the last first: `FROM -> TO`, `rename FROM TO`. One path may have spaces.
fn absolute(part: &[u8]) -> Vec<&[u8]> {
    let is_start = |at: &usize| *at == 0 || b" (=".contains(&part[at - 1]);
    let mut end = part.len();
    let mut found = Vec::new();
    for start in memchr::memrchr_iter(b'/', part).filter(is_start).take(MOST_PATHS) {
        found.push(without_words_behind(&part[start..end]));
        end = start.saturating_sub(1);
    }
    found
}

/// `path` without what a program says after it.
fn without_words_behind(path: &[u8]) -> &[u8] {
    const WORDS: &[&str] =
        &[" for writing", " for reading", " for output", " failed", " not accessible", ", error", " ->", ")"];
    let path = trim_end(path, b" ");
    WORDS.iter().find_map(|words| path.strip_suffix(words.as_bytes())).unwrap_or(path)
}

/// The relative names ahead of the error: the last part, and the one before it when the last is but words.
fn relative<'a>(parts: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let last = parts.first().map_or((&b""[..], false), |last| without_lead_in(last));
    let previous = parts.get(1).map(|previous| without_lead_in(previous).0);
    let ((name, is_led), is_relative) = (last, |name: &&[u8]| is_name(name) && !name.starts_with(b"/"));
    let is_phrase = is_led && is_lead_in(name);
    let is_named = !is_phrase && (previous.is_some() || is_led || name.contains(&b'/'));
    let name = is_named.then_some(name);
    let previous = previous.filter(|previous| is_phrase || previous.contains(&b'/'));
    name.into_iter().chain(previous).filter(is_relative).collect()
}

/// Whether `text` may be a name: no `[Errno 30]`, `(null)`, `EROFS`, `OSError`.
fn is_name(text: &[u8]) -> bool {
    let is_code = matches!(text, b"EROFS" | b"EACCES" | b"EPERM" | b"EBUSY");
    let is_class = !text.contains(&b'/') && (text.ends_with(b"Error") || text.ends_with(b"Exception"));
    !text.starts_with(b"[") && !text.starts_with(b"(") && !text.ends_with(b"\"") && !is_code && !is_class
}

/// Words that stand between a program's name and a path, as in `cannot create directory x`.
#[rustfmt::skip]
const LEAD_IN: &[&str] = &[
    "access", "can't", "cannot", "change", "chdir", "chmod", "command", "config", "could",
    "couldn't", "create", "creating", "directory", "execute", "fail", "failed", "file", "for",
    "input", "link", "lock", "lstat", "mkdir", "not", "old", "on", "open", "opendir", "opening",
    "output", "perl", "read", "reading", "regular", "remove", "rename", "rmdir", "run", "script",
    "stat", "stream", "temporary", "the", "to", "touch", "truncate", "unable", "unlink", "write",
    "writing",
];

fn is_lead_in(word: &[u8]) -> bool {
    LEAD_IN.iter().any(|lead| lead.as_bytes().eq_ignore_ascii_case(word))
}

/// `text` without the words of [`LEAD_IN`] at its start, of which at least the last word stays; and whether
/// there were any.
fn without_lead_in(text: &[u8]) -> (&[u8], bool) {
    let mut rest = text;
    while let Some(space) = memchr::memchr(b' ', rest) {
        if !is_lead_in(&rest[..space]) {
            break;
        }
        rest = &rest[space + 1..];
    }
    (without_words_behind(rest), rest.len() < text.len())
}

fn trim_end<'a>(text: &'a [u8], set: &[u8]) -> &'a [u8] {
    let end = text.iter().rposition(|b| !set.contains(b)).map_or(0, |last| last + 1);
    &text[..end]
}
