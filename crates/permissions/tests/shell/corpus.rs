//! Lines of our own, each with what the reader is to make of it.
//!
//! `corpus.txt` has one line each: `o` for an ordinary line of a developer's day or `h` for one that somebody made to
//! be misread, a tab, the names of its commands (or `!` where it is not to be read), a tab, and the line, with `\n`,
//! `\t`, `\\` and `\u{…}` for what cannot stand in such a file.

use palisade_permissions::shell::{Reading, Shell, read};

/// One line of the corpus.
pub(crate) struct Entry {
    pub(crate) ordinary: bool,
    pub(crate) names: String,
    pub(crate) line: String,
}

/// The corpus.
pub(crate) fn entries() -> Vec<Entry> {
    include_str!("corpus.txt").lines().filter(|line| !line.starts_with('#')).map(entry).collect()
}

fn entry(line: &str) -> Entry {
    let mut fields = line.splitn(3, '\t');
    let mut field = || fields.next().unwrap_or_else(|| panic!("three fields: {line:?}"));
    Entry { ordinary: field() == "o", names: field().into(), line: unescape(field()) }
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('t')) => plain.push('\t'),
            ('\\', Some('u')) => plain.extend(code(chars.by_ref())),
            ('\\', Some('\\')) => plain.push('\\'),
            ('\\', other) => panic!("an escape that is not known: {other:?} in {text}"),
            (c, _) => plain.push(c),
        }
    }
    plain
}

fn code(chars: impl Iterator<Item = char>) -> Option<char> {
    let digits: String = chars.skip(1).take_while(|c| *c != '}').collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}

/// The names of a line's commands; `$` for one that is not known, `=` for a bare assignment, `>` for a redirection.
fn names(line: &str) -> String {
    match read(line, Shell::Bash) {
        Reading::Unreadable { .. } => "!".into(),
        Reading::Read(line) => line.commands.iter().map(name).collect::<Vec<_>>().join(" "),
    }
}

fn name(command: &palisade_permissions::shell::Command) -> &str {
    match command.words.first() {
        Some(word) => word.value.as_deref().unwrap_or("$"),
        None if command.assignments.is_empty() => ">",
        None => "=",
    }
}

#[test]
fn every_line_is_read_as_expected() {
    let wrong: Vec<String> = entries()
        .iter()
        .filter(|entry| names(&entry.line) != entry.names)
        .map(|entry| format!("{:?}: {:?} rather than {:?}", entry.line, names(&entry.line), entry.names))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ordinary_lines_are_read() {
    let entries = entries();
    let ordinary: Vec<_> = entries.iter().filter(|entry| entry.ordinary).collect();
    let read = ordinary.iter().filter(|entry| entry.names != "!").count();
    assert!(ordinary.len() >= 300 && entries.len() >= 1_000, "{} of {}", ordinary.len(), entries.len());
    assert!(read * 100 >= ordinary.len() * 99, "{read} of {} ordinary lines are read", ordinary.len());
}
