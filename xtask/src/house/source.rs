//! Rules about source files, read as text.
//!
//! The reading is shallow: comments, the content of literals and what is compiled for tests alone are
//! blanked, and the rest is searched. It can be fooled by whoever wants to (a macro, an alias); it is meant
//! for those who forget.

use super::crates::{CRATES, Io};
use crate::cargo::root;
use crate::failure::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Longer files are missing a noun.
const MOST_LINES: usize = 600;

/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[(
    "tests/attempt/attempt.rs",
    "most of it is the list of system calls to make; it is one file so that it can be handed to the compiler alone",
)];

/// Words by which code reaches the world outside. Paths are looked for after `std::`, names anywhere.
const IO_MODULES: &[&str] = &["env", "fs", "process", "thread"];
const IO_NAMES: &[&str] = &[
    "TcpListener",
    "TcpStream",
    "ToSocketAddrs",
    "UdpSocket",
    "UnixDatagram",
    "UnixListener",
    "UnixStream",
    "libc",
    "nix",
    "rustix",
    "tokio",
];

/// Macros that stand for code that is not there, or that were left behind.
const PLACEHOLDERS: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// One source file.
pub(super) struct Source {
    /// Relative to the top of the workspace.
    pub(super) path: PathBuf,
    text: String,
}

impl Source {
    /// The text without comments, and with empty literals; the lines stay where they are.
    pub(super) fn code(&self) -> String {
        blank_comments_and_literals(&self.text)
    }

    /// The code without what is compiled for tests alone.
    fn product_code(&self) -> String {
        let is_test = |part: &std::ffi::OsStr| {
            ["tests", "tests.rs", "benches", "examples"].iter().any(|name| part == *name)
        };
        if self.path.components().any(|component| is_test(component.as_os_str())) {
            return String::new();
        }
        blank_tests(&self.code())
    }
}

/// Every source file of the workspace.
pub(super) fn all() -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in ["crates", "tests", "xtask", "fuzz"] {
        if root().join(folder).is_dir() {
            collect(Path::new(folder), &mut sources)?;
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(sources)
}

/// Files that do not open with `//!`.
pub(super) fn openings(sources: &[Source]) -> Vec<String> {
    let silent = sources.iter().filter(|source| !source.text.starts_with("//! "));
    silent
        .map(|source| format!("{}: does not open by saying what it is for (`//! …`)", source.path.display()))
        .collect()
}

/// Uses of I/O in crates, or parts of crates, that must have none.
pub(super) fn purity(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| must_be_pure(&source.path)) {
        let code = source.product_code();
        for word in uses_of_io(&code) {
            complaints.push(format!("{}: uses {word}, but must do no I/O", source.path.display()));
        }
    }
    complaints
}

/// Code that is not there.
pub(super) fn placeholders(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let code = source.code();
        for word in PLACEHOLDERS.iter().filter(|word| words_at(&code, word).next().is_some()) {
            complaints.push(format!("{}: has {word}", source.path.display()));
        }
    }
    complaints
}

/// Files that are too long, and exceptions that are not needed any more.
pub(super) fn lengths(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let lines = source.text.lines().count();
        let is_excepted = LONG_FILES.iter().any(|(path, _)| source.path == Path::new(path));
        if (lines > MOST_LINES) != is_excepted {
            let what = if is_excepted { "is excepted from" } else { "is longer than" };
            complaints.push(format!("{}: {what} {MOST_LINES} lines, and has {lines}", source.path.display()));
        }
    }
    complaints
}

fn collect(folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let entries = fs::read_dir(root().join(folder)).cannot(format_args!("list {}", folder.display()))?;
    for entry in entries {
        let entry = entry.cannot(format_args!("list {}", folder.display()))?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            if entry.file_name() != "target" {
                collect(&path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(entry.path()).cannot(format_args!("read {}", path.display()))?;
            sources.push(Source { path, text });
        }
    }
    Ok(())
}

fn must_be_pure(path: &Path) -> bool {
    let Some(row) = CRATES.iter().find(|row| path.starts_with(Path::new(row.folder).join("src"))) else {
        return false;
    };
    match row.io {
        Io::Nowhere => true,
        Io::Anywhere => false,
        Io::InModules(modules) => modules.iter().all(|module| {
            let folder = Path::new(row.folder).join("src").join(module);
            !path.starts_with(&folder) && path != folder.with_extension("rs")
        }),
    }
}

fn uses_of_io(code: &str) -> Vec<String> {
    let mut uses: Vec<String> = Vec::new();
    // What a program was compiled for is no question to the environment.
    let code = &code.replace("std::env::consts", "");
    for at in words_at(code, "std::") {
        let modules = first_names(&code[at + "std::".len()..]);
        uses.extend(
            modules.iter().filter(|name| IO_MODULES.contains(name)).map(|name| format!("std::{name}")),
        );
    }
    let names = IO_NAMES.iter().filter(|name| words_at(code, name).next().is_some());
    uses.extend(names.map(|name| (*name).to_owned()));
    uses.dedup();
    uses
}

/// The names that a path goes on with: one, or several in braces.
fn first_names(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![leading_name(path)];
    };
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut expects_name = true;
    for (at, character) in group.char_indices() {
        match character {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => expects_name = true,
            _ if expects_name && is_word(character) => {
                names.push(leading_name(&group[at..]));
                expects_name = false;
            }
            _ => {}
        }
    }
    names
}

fn leading_name(text: &str) -> &str {
    let end = text.find(|character| !is_word(character)).unwrap_or(text.len());
    &text[..end]
}

/// Where `word` stands in `code` as a word of its own.
fn words_at<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let goes_on = word.ends_with(is_word) && after.is_some_and(is_word);
        !before.is_some_and(is_word) && !goes_on
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Blanks every item that has the attribute `#[cfg(test)]`, to the end of its braces or its semicolon.
fn blank_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..at]);
        rest = &rest[at + item_length(&rest[at..])..];
    }
    out + rest
}

fn item_length(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in item.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

fn blank_comments_and_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match opaque_length(rest, out.chars().next_back()) {
            0 => {
                out.push(character);
                character.len_utf8()
            }
            length => {
                out.extend(rest[..length].chars().filter(|character| *character == '\n'));
                out.push(' ');
                length
            }
        };
        rest = &rest[length..];
    }
    out
}

/// How many bytes a comment or a literal takes at the start of `text`; 0 where neither starts.
fn opaque_length(text: &str, before: Option<char>) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment_length(text);
    }
    if text.starts_with('"') {
        return quoted_length(text, '"');
    }
    if text.starts_with('\'') {
        return character_length(text);
    }
    if text.starts_with('r') && !before.is_some_and(|before| is_word(before) && !"bc".contains(before)) {
        return raw_length(text);
    }
    0
}

fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    text.len()
}

/// A character literal, unless it is a lifetime.
fn character_length(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    let (first, second) = (characters.next(), characters.next());
    if first == Some('\\') || second == Some('\'') { quoted_length(text, '\'') } else { 0 }
}

fn raw_length(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|character| *character == '#').count();
    let Some(content) = text[1 + hashes..].strip_prefix('"') else { return 0 };
    let end = format!("\"{}", "#".repeat(hashes));
    content.find(&end).map_or(text.len(), |at| 1 + hashes + 1 + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        for (text, code) in [
            ("a // todo!()\nb", "a  \nb"),
            ("a /* x /* y */ z */ b", "a   b"),
            (r#"f("todo!() \" // x") + 1"#, "f( ) + 1"),
            (r##"f(r#"a "b" c"#, br"x\")"##, "f( , b )"),
            (r"f('\'', 'x', '\u{41}') as &'static str", "f( ,  ,  ) as &'static str"),
            ("for x in 0..1 {}", "for x in 0..1 {}"),
            ("\"a\nb\" c", "\n  c"),
        ] {
            assert_eq!(blank_comments_and_literals(text), code, "{text}");
        }
    }

    #[test]
    fn io_is_seen_however_it_is_named() {
        for (code, uses) in [
            ("use std::fs;", vec!["std::fs"]),
            ("use std::{fmt, fs::File, env};", vec!["std::fs", "std::env"]),
            ("use std::{collections::{BTreeMap, fs}, fmt};", vec![]),
            ("std::process::abort()", vec!["std::process"]),
            ("use std::net::{IpAddr, TcpStream};", vec!["TcpStream"]),
            ("use tokio::fs;", vec!["tokio"]),
            ("std::env::consts::ARCH", vec![]),
            ("mystd::fs(); unix(); Phoenix;", vec![]),
            ("use std::os::unix::ffi::OsStrExt;", vec![]),
        ] {
            assert_eq!(uses_of_io(code), uses, "{code}");
        }
    }

    #[test]
    fn purity_is_asked_of_product_code_in_pure_places() {
        let reads = "//! Reads.\nfn f() { std::fs::read(p) }\n";
        let tests = "//! Pure.\n#[cfg(test)]\nmod tests { fn f() { std::fs::read(p) } }\nfn g() {}\n";
        for (path, text, breaches) in [
            ("crates/policy/src/path.rs", reads, 1),
            ("crates/policy/src/path.rs", tests, 0),
            ("crates/policy/tests/laws.rs", reads, 0),
            ("crates/bwrap/src/mounts.rs", reads, 1),
            ("crates/bwrap/src/linux.rs", reads, 0),
            ("crates/bwrap/src/linux/launch.rs", reads, 0),
            ("crates/bwrap/src/filter.rs", reads, 1),
            ("crates/bwrap/src/filter/program.rs", reads, 0),
            ("crates/settings/src/load.rs", reads, 0),
        ] {
            assert_eq!(purity(&[source(path, text)]).len(), breaches, "{path}: {text}");
        }
    }

    #[test]
    fn each_rule_about_files_can_be_broken() {
        assert_eq!(openings(&[source("a.rs", "use x;\n")]).len(), 1);
        assert_eq!(placeholders(&[source("a.rs", "fn f() { todo!() }")]).len(), 1);
        assert_eq!(placeholders(&[source("a.rs", "fn f() { not_todo!() } // dbg!")]).len(), 0);
        assert_eq!(lengths(&[source("a.rs", &"\n".repeat(MOST_LINES + 1))]).len(), 1);
        assert_eq!(lengths(&[source("a.rs", &"\n".repeat(MOST_LINES))]).len(), 0);
    }
}
