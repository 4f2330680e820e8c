//! What an operand of a removal may name: names and patterns, slash by slash.
//!
//! A pattern is read a little wider than the shell reads it: a set `[…]` stands for any one character, and one whose end
//! shells may see in another place for whatever stands there, with all that follows it in the name.

use crate::shell::Word;
use std::borrow::Cow;

/// An operand that the line shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operand<'a> {
    pub(super) start: Start,
    pub(super) names: Vec<Name<'a>>,
}

/// Where an operand starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// At `/`.
    Top,
    /// In the home directory.
    Home,
    /// Where the program runs.
    Here,
}

/// One component of a path, or what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name<'a> {
    Plain(Cow<'a, str>),
    Pattern(Vec<Part>),
}

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Literal(char),
    /// Any one character: `?`, `[…]`.
    One,
    /// Any number of characters: `*`.
    Run,
}

/// How names are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matching {
    /// `.GIT` is `.git`.
    pub(super) folds_case: bool,
    /// Wildcards match names that start with a dot.
    pub(super) dots: bool,
}

impl<'a> Operand<'a> {
    /// Reads a word; `None` when the shell decides what it is.
    pub(super) fn read(word: &'a Word) -> Option<Self> {
        let flags = word.flags;
        if flags.dynamic || flags.brace || flags.expanded || word.raw.contains("$'") && word.value.is_none() {
            return None;
        }
        if let Some(value) = &word.value {
            let names = value.split('/').map(|name| Name::Plain(name.into())).collect();
            let start = if value.starts_with('/') { Start::Top } else { Start::Here };
            return Some(Operand { start, names });
        }
        let (start, rest) = match (flags.tilde, &*word.raw) {
            // Another user's home, or another directory that the shell knows.
            (true, raw) => {
                let rest = raw.strip_prefix('~')?;
                if !(rest.is_empty() || rest.starts_with('/')) {
                    return None;
                }
                (Start::Home, rest)
            }
            (false, raw) => (Start::Here, raw),
        };
        let names = read_names(rest);
        let is_top = start == Start::Here && names.len() > 1 && names[0] == Name::Plain("".into());
        Some(Operand { start: if is_top { Start::Top } else { start }, names })
    }

    /// The components of the path that it names from `base`, with `.` and `..` taken by their letters.
    pub(super) fn below<'b>(&'b self, base: &[&'b str]) -> Vec<Name<'b>> {
        let mut path: Vec<Name<'b>> = base.iter().map(|name| Name::Plain((*name).into())).collect();
        for name in &self.names {
            match name {
                Name::Plain(name) if name.is_empty() || name == "." => {}
                Name::Plain(name) if name == ".." => drop(path.pop()),
                Name::Plain(name) => path.push(Name::Plain(Cow::Borrowed(name))),
                Name::Pattern(parts) => path.push(Name::Pattern(parts.clone())),
            }
        }
        path
    }
}

impl Name<'_> {
    /// Whether it may be that name.
    pub(super) fn may_be(&self, name: &str, matching: Matching) -> bool {
        let same = |a: char, b: char| a == b || matching.folds_case && a.to_lowercase().eq(b.to_lowercase());
        match self {
            Name::Plain(own) if matching.folds_case => own.to_lowercase() == name.to_lowercase(),
            Name::Plain(own) => own == name,
            Name::Pattern(parts) => {
                let hidden = name.starts_with('.') && parts.first() != Some(&Part::Literal('.'));
                (!hidden || matching.dots) && may_match(parts, name, same)
            }
        }
    }

    /// Whether it takes whatever there is: a pattern with a `*` and nothing beside it but wildcards and dots.
    pub(super) fn sweeps(&self) -> bool {
        let Name::Pattern(parts) = self else { return false };
        parts.contains(&Part::Run)
            && parts.iter().all(|part| matches!(part, Part::Run | Part::One | Part::Literal('.')))
    }

    /// For people.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        let part = |part: &Part| match part {
            Part::Literal(c) => *c,
            Part::One => '?',
            Part::Run => '*',
        };
        match self {
            Name::Plain(name) => Cow::Borrowed(name),
            Name::Pattern(parts) => parts.iter().map(part).collect(),
        }
    }
}

/// Matches a name from the left; at a mismatch the last `*` takes one more character.
fn may_match(parts: &[Part], name: &str, same: impl Fn(char, char) -> bool) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut part, mut at, mut run) = (0, 0, None);
    while at < name.len() {
        match parts.get(part) {
            Some(Part::Run) => {
                run = Some((part, at));
                part += 1;
                continue;
            }
            Some(Part::One) => {}
            Some(Part::Literal(c)) if same(*c, name[at]) => {}
            _ => {
                let Some((last, taken)) = run else { return false };
                run = Some((last, taken + 1));
                (part, at) = (last + 1, taken + 1);
                continue;
            }
        }
        part += 1;
        at += 1;
    }
    parts[part..].iter().all(|part| *part == Part::Run)
}

/// Reads a word as written, with quotes, into components.
fn read_names(raw: &str) -> Vec<Name<'static>> {
    let mut names = Vec::new();
    let mut parts = Vec::new();
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '/' => names.push(name(std::mem::take(&mut parts))),
            '\'' | '"' => rest = read_quoted(c, rest, &mut parts, &mut names),
            '\\' => {
                let escaped = rest.chars().next().unwrap_or('\\');
                rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
                parts.push(Part::Literal(escaped));
            }
            '*' => parts.push(Part::Run),
            '?' => parts.push(Part::One),
            '[' => {
                let (part, behind) = read_set(rest);
                parts.push(part);
                rest = behind;
            }
            c => parts.push(Part::Literal(c)),
        }
    }
    names.push(name(parts));
    names
}

/// Reads text between quotes and gives what follows it.
fn read_quoted<'a>(
    quote: char,
    text: &'a str,
    parts: &mut Vec<Part>,
    names: &mut Vec<Name<'static>>,
) -> &'a str {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c == quote => break,
            '/' => names.push(name(std::mem::take(parts))),
            '\\' if quote == '"' => {
                let ahead = rest.clone().next();
                let escaped = ahead.filter(|next| matches!(next, '"' | '\\' | '$' | '`'));
                parts.push(Part::Literal(escaped.unwrap_or('\\')));
                rest = if escaped.is_some() { rest.as_str()[1..].chars() } else { rest };
            }
            c => parts.push(Part::Literal(c)),
        }
    }
    rest.as_str()
}

/// What a `[` before `text` stands for, and what follows it. A set may hold classes, which have a `]` of their own, but
/// never a slash.
fn read_set(text: &str) -> (Part, &str) {
    let name = &text[..text.find('/').unwrap_or(text.len())];
    let mut rest = name.strip_prefix(['!', '^']).unwrap_or(name);
    rest = rest.strip_prefix(']').unwrap_or(rest);
    while let Some(at) = rest.find([']', '[', '\\', '\'', '"']) {
        let (found, behind) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = match (found, behind.chars().next()) {
            (b']', _) => return (Part::One, &text[name.len() - behind.len()..]),
            (b'[', Some(mark @ (':' | '=' | '.'))) => {
                let Some(end) = behind[1..].find(&format!("{mark}]")) else { return open(text, name) };
                &behind[1 + end + 2..]
            }
            (b'[', _) => behind,
            _ => return open(text, name),
        };
    }
    (Part::Literal('['), text)
}

/// What stands for the rest of a name that is not read further.
fn open<'a>(text: &'a str, name: &str) -> (Part, &'a str) {
    (Part::Run, &text[name.len()..])
}

fn name(parts: Vec<Part>) -> Name<'static> {
    let literal = |part: &Part| if let Part::Literal(c) = part { Some(*c) } else { None };
    match parts.iter().map(literal).collect::<Option<String>>() {
        Some(text) => Name::Plain(text.into()),
        None => Name::Pattern(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Shell, read};

    fn check(pattern: &str, name: &str, may: bool) {
        let reading = read(&format!("rm {pattern}"), Shell::Bash);
        let operand = Operand::read(&reading.line().commands[0].words[1]).expect("the line shows it");
        let matching = Matching { folds_case: false, dots: false };
        assert_eq!(operand.names.last().expect("a name").may_be(name, matching), may, "{pattern} {name}");
    }

    #[test]
    fn patterns() {
        check("*", "src", true);
        check("*", ".git", false);
        check(".*", ".git", true);
        check(".g*", ".git", true);
        check(".g?t", ".git", true);
        check(".[a-h]it", ".git", true);
        check("?git", ".git", false);
        check("*.o", "src", false);
        check("*.o", "a.o.o", true);
        check("'*'", "src", false);
        check("'.g'*", ".git", true);
        check(r"\.g*", ".git", true);
        check("a/.g*", ".git", true);
        check("[*", "[a", true);
        check("[]a]*", "b", true);
        for class in
            ["[[:alpha:]]", "[![:space:]]", "[a[:digit:]-]", "[[=i=]]", "[[.i.]]", "[!!]", "[]x]", r"[\]x]"]
        {
            check(&format!("{class}*"), "proj", true);
            check(&format!("*{class}"), "proj", true);
            check(&format!(".g{class}t"), ".git", true);
            check(&format!("{class}it"), ".git", false);
        }
        check("[[:alpha]*", "proj", true);
        check("['a]'b]*", "proj", true);
        check("[[:alpha:]*", "proj", false);
        check("x[[:alpha:]]*", "proj", false);
        check("a*b*c", "aXbYc", true);
        check("a*b*c", "aXbY", false);
    }
}
