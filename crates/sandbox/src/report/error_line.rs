//! Finds the texts in an error line that may be the path which the error is about.
//!
//! Error lines follow no grammar. These shapes are understood, in this order:
//!
//! | shape | who writes it |
//! |---|---|
//! | `… 'PATH' …` in quotes of any kind | coreutils, git, Python, node, Rust |
//! | `…: ERROR: PATH`, `ERROR @ … - PATH` | zsh, Ruby |
//! | `PROGRAM: … PATH: ERROR`, `… PATH (ERROR)`, `VERB PATH: ERROR` | shells, coreutils, Go, Java |
//! | the line before, when the line is the error alone | Cargo, and other chains of causes |
//!
//! Whether a text really is a path is not decided here: whoever asks holds it against the rules.

use std::ops::Range;

/// One error line, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ErrorLine<'a> {
    /// The line for a person to read, with the line before where that is where the path stands.
    pub(super) text: String,
    /// What may be the path, the likeliest first. Not empty texts.
    pub(super) paths: Vec<&'a [u8]>,
}

impl<'a> ErrorLine<'a> {
    /// Reads `line`, whose error stands at `error`; `before` is the line before it.
    pub(super) fn new(line: &'a [u8], error: Range<usize>, before: &'a [u8]) -> Self {
        let (head, tail) = (&line[..error.start], &line[error.end..]);
        if !head.iter().all(|b| b.is_ascii_digit() || b": ".contains(b)) || tail.starts_with(b": ") {
            return ErrorLine { text: lossy(line), paths: named(line, head, tail) };
        }
        let paths = named(before, before, b"").into_iter().filter(|path| path.starts_with(b"/"));
        ErrorLine { text: format!("{}: {}", lossy(before), lossy(line)), paths: paths.collect() }
    }
}

fn lossy(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn named<'a>(line: &'a [u8], head: &'a [u8], tail: &'a [u8]) -> Vec<&'a [u8]> {
    let mut paths = quoted(line);
    let bare = behind(tail).into_iter().chain(ahead(head));
    // Beside a quoted text only what is plainly a path is one more candidate.
    let only_plain = !paths.is_empty();
    paths.extend(bare.filter(|path| !only_plain || path.starts_with(b"/")));
    paths.retain(|path| !path.is_empty());
    paths
}

/// What stands in quotes. An opening quote stands at the start of a word, so that `can't` has none.
fn quoted(line: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let starts_word = at == 0 || b" (=:[,".contains(&line[at - 1]);
        let inside = starts_word.then(|| quoted_at(&line[at..])).flatten();
        at += inside.map_or(1, |inside| inside.len() + 2);
        found.extend(inside);
    }
    found
}

/// The text in the quotes that `text` begins with.
fn quoted_at(text: &[u8]) -> Option<&[u8]> {
    const QUOTES: &[(&str, &str)] =
        &[("'", "'"), ("\"", "\""), ("`", "`"), ("`", "'"), ("‘", "’"), ("“", "”")];
    QUOTES.iter().find_map(|(open, close)| {
        let inside = text.strip_prefix(open.as_bytes())?;
        let mut ends =
            inside.windows(close.len()).enumerate().filter(|(_, window)| *window == close.as_bytes());
        let ends_word = |end: usize| !inside.get(end + close.len()).is_some_and(u8::is_ascii_alphanumeric);
        ends.find(|(end, _)| ends_word(*end)).map(|(end, _)| &inside[..end])
    })
}

/// The path behind the error: `: PATH` without spaces or absolute, or ` @ CALL - PATH (CLASS)`.
fn behind(tail: &[u8]) -> Option<&[u8]> {
    let path = match tail.strip_prefix(b": ") {
        Some(path) => path,
        None => after(tail.strip_prefix(b" @ ")?, b" - ")?,
    };
    let path = find(path, b" (").map_or(path, |end| &path[..end]);
    (path.starts_with(b"/") || !path.contains(&b' ')).then_some(path)
}

/// The path ahead of the error: the last part that a colon ends, without the words that lead up to it.
fn ahead(head: &[u8]) -> Vec<&[u8]> {
    let head = trim_end(head, b" :(");
    let (first, last) = match rfind(head, b": ") {
        Some(colon) => (&head[..colon], &head[colon + 2..]),
        None => (&b""[..], head),
    };
    let (name, is_led) = without_lead_in(last);
    let is_phrase = is_led && is_lead_in(name);
    let mut paths = Vec::new();
    paths.extend(find(last, b" /").map(|space| &last[space + 1..]));
    if !is_phrase && !name.starts_with(b"[") && (!first.is_empty() || is_led || name.contains(&b'/')) {
        paths.push(name);
    }
    let previous = rfind(first, b": ").map_or(first, |colon| &first[colon + 2..]);
    if is_phrase || previous.contains(&b'/') {
        paths.push(without_lead_in(previous).0);
    }
    paths
}

/// Words that stand between a program's name and a path, as in `cannot create directory x`.
const LEAD_IN: &[&str] = &[
    "access",
    "can't",
    "cannot",
    "chdir",
    "chmod",
    "config",
    "could",
    "couldn't",
    "create",
    "creating",
    "directory",
    "fail",
    "failed",
    "file",
    "link",
    "lock",
    "lstat",
    "mkdir",
    "not",
    "old",
    "on",
    "open",
    "opendir",
    "opening",
    "output",
    "read",
    "reading",
    "regular",
    "remove",
    "rename",
    "rmdir",
    "stat",
    "temporary",
    "the",
    "to",
    "touch",
    "truncate",
    "unable",
    "unlink",
    "write",
    "writing",
];

fn is_lead_in(word: &[u8]) -> bool {
    LEAD_IN.iter().any(|lead| lead.as_bytes().eq_ignore_ascii_case(word))
}

/// `text` without the words of [`LEAD_IN`] at its start, of which at least the last word stays; and whether
/// there were any.
fn without_lead_in(text: &[u8]) -> (&[u8], bool) {
    let mut rest = text;
    while let Some(space) = find(rest, b" ") {
        if !is_lead_in(&rest[..space]) {
            break;
        }
        rest = &rest[space + 1..];
    }
    let rest_len = rest.len();
    (rest.strip_suffix(b" failed").unwrap_or(rest), rest_len < text.len())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn rfind(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|window| window == part)
}

fn after<'a>(text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    find(text, part).map(|at| &text[at + part.len()..])
}

fn trim_end<'a>(text: &'a [u8], set: &[u8]) -> &'a [u8] {
    let end = text.iter().rposition(|b| !set.contains(b)).map_or(0, |last| last + 1);
    &text[..end]
}
