//! One component of a path pattern: read from the text, and written anew for `globset`, which is left nothing to interpret.
//!
//! A set that shells and gitignore read differently takes what any of them takes, and where they do not even agree on
//! where it ends it is refused. What a path is compared with is for others.

use crate::PathPatternError;
use std::collections::BTreeSet;
use std::str::Chars;

/// The characters that a backslash may stand before, all that mean something somewhere in a pattern.
const ESCAPABLE: &str = r"*?[]{}\!^-";
/// For `globset`: one character of one byte, but no `/`, which lies between `.` and `0`.
const ASCII: &str = "[\u{1}-.0-\u{7f}]";
/// For `globset`: one character of several bytes, or one byte that is no character.
const BEYOND_ASCII: &str =
    "\0[!\0-\u{7f}]{,[!\0-\u{7f}],[!\0-\u{7f}][!\0-\u{7f}],[!\0-\u{7f}][!\0-\u{7f}][!\0-\u{7f}]}";

/// One component of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Component {
    /// `**`: any number of components.
    AnyDepth,
    /// One name.
    Name(Vec<Part>),
    /// The same, with a set in it, or a name that is just this text: sets alone do not match themselves.
    NameOrText(Vec<Part>, Box<str>),
}

/// A part of a component's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// A character that stands for itself.
    Literal(char),
    /// `?`.
    One,
    /// `*`.
    Run,
    /// `[…]`: one of these.
    OneOf(BTreeSet<char>),
    /// `[!…]`: one character other than these, which are all ASCII.
    NoneOf(BTreeSet<char>),
}

impl Component {
    /// Reads one component of a text with wildcards.
    pub(crate) fn read(text: &str) -> Result<Self, PathPatternError> {
        if text == "**" {
            return Ok(Component::AnyDepth);
        }
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let part = match c {
                '*' => Part::Run,
                '?' => Part::One,
                '[' => read_set(&mut rest)?,
                '\\' => Part::Literal(read_escaped(&mut rest)?),
                c => Part::Literal(c),
            };
            if part == Part::Run && parts.last() == Some(&Part::Run) {
                return refuse("** has to stand alone between slashes; write **/*.env for \"at any depth\"");
            }
            parts.push(part);
        }
        match as_name(&parts).as_deref() {
            Some(".") => refuse("\".\" spelled with wildcards; leave it out"),
            Some("..") => {
                refuse("\"..\" together with wildcards; write the path that is meant without \"..\"")
            }
            _ if has_set(text) => Ok(Component::NameOrText(parts, text.into())),
            _ => Ok(Component::Name(parts)),
        }
    }

    /// The one name that the component matches, where it has no wildcards.
    pub(crate) fn as_name(&self) -> Option<String> {
        if let Component::Name(parts) = self { as_name(parts) } else { None }
    }

    /// What every name that it matches starts with; empty where that is not known.
    pub(crate) fn start(&self) -> String {
        match self {
            Component::AnyDepth => String::new(),
            Component::Name(parts) => literal_run(parts.iter()),
            Component::NameOrText(_, text) => {
                text.split(['*', '?', '[', '\\']).next().unwrap_or_default().into()
            }
        }
    }

    /// What it ends with, likewise.
    pub(crate) fn end(&self) -> String {
        match self {
            Component::Name(parts) => literal_run(parts.iter().rev()).chars().rev().collect(),
            Component::NameOrText(_, text) if !text.contains('\\') => {
                text.rsplit(['*', '?', ']']).next().unwrap_or_default().into()
            }
            Component::AnyDepth | Component::NameOrText(..) => String::new(),
        }
    }

    pub(crate) fn wildcards(&self) -> usize {
        match self {
            Component::AnyDepth => 1,
            Component::Name(parts) | Component::NameOrText(parts, _) => {
                parts.iter().map(Part::wildcards).sum()
            }
        }
    }

    pub(crate) fn spell(&self, out: &mut String) {
        match self {
            Component::AnyDepth => out.push_str("**"),
            Component::Name(parts) => parts.iter().for_each(|part| part.spell(out)),
            Component::NameOrText(parts, text) => {
                out.push('{');
                parts.iter().for_each(|part| part.spell(out));
                out.push(',');
                text.chars().for_each(|c| spell_literal(c, out));
                out.push('}');
            }
        }
    }
}

fn as_name(parts: &[Part]) -> Option<String> {
    parts.iter().map(Part::as_literal).collect()
}

/// Whether a bracket in a text that was read opens a set. One that stands in a set does so behind another.
fn has_set(text: &str) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '[' => return true,
            '\\' => _ = rest.next(),
            _ => {}
        }
    }
    false
}

impl Part {
    fn as_literal(&self) -> Option<char> {
        if let Part::Literal(c) = self { Some(*c) } else { None }
    }

    /// How many of [`MOST_WILDCARDS`](super::MOST_WILDCARDS) this is, by what it costs to match.
    fn wildcards(&self) -> usize {
        match self {
            Part::Literal(_) => 0,
            Part::One | Part::Run | Part::NoneOf(_) => 1,
            Part::OneOf(members) => members.iter().filter(|c| !c.is_ascii()).count().max(1),
        }
    }

    fn spell(&self, out: &mut String) {
        match self {
            Part::Literal(c) => spell_literal(*c, out),
            Part::Run => out.push('*'),
            Part::One => out.push_str(&format!("{{{ASCII},{BEYOND_ASCII}}}")),
            Part::OneOf(members) => spell_one_of(members, out),
            Part::NoneOf(members) => {
                out.push('{');
                // In braces of their own, which compile to one set of bytes; matching is much slower
                // otherwise.
                spell_one_of(&ascii_but(members), out);
                out.push_str(&format!(",{BEYOND_ASCII}}}"));
            }
        }
    }
}

/// The characters that stand before the first wildcard.
fn literal_run<'a>(parts: impl Iterator<Item = &'a Part>) -> String {
    parts.map_while(Part::as_literal).collect()
}

fn spell_literal(c: char, out: &mut String) {
    out.push(if c.is_ascii() { '\\' } else { '\0' });
    out.push(c);
}

fn spell_one_of(members: &BTreeSet<char>, out: &mut String) {
    for (index, member) in members.iter().enumerate() {
        out.push(if index == 0 { '{' } else { ',' });
        spell_literal(*member, out);
    }
    out.push('}');
}

fn ascii_but(members: &BTreeSet<char>) -> BTreeSet<char> {
    ('\u{1}'..='\u{7f}').filter(|c| *c != '/' && !members.contains(c)).collect()
}

/// Reads what stands behind a `[`, its `]` included.
fn read_set(rest: &mut Chars<'_>) -> Result<Part, PathPatternError> {
    let is_negated = next_if(rest, "!^").is_some();
    let mut members = BTreeSet::new();
    let mut is_first = true;
    while let Some(low) = read_member(rest, is_first)? {
        is_first = false;
        match read_end_of_range(rest)? {
            None => _ = members.insert(low),
            // Most often a name in brackets, as in `[user-id]`. To a shell such a range is empty, to gitignore it is its
            // first character: a set takes that one, and a set that leaves out does not.
            Some(high) if low > high => members.extend((!is_negated).then_some(low)),
            Some(high) if !high.is_ascii() => {
                return refuse_set("a range beyond ASCII; list the characters one by one");
            }
            Some(high) => members.extend((low..=high).filter(|c| *c != '/')),
        }
    }
    match members.first() {
        _ if is_negated && !members.iter().all(char::is_ascii) => {
            refuse_set("a character beyond ASCII among those that a set leaves out")
        }
        Some(only) if !is_negated && members.len() == 1 => Ok(Part::Literal(*only)),
        _ if is_negated => Ok(Part::NoneOf(members)),
        _ => Ok(Part::OneOf(members)),
    }
}

/// One character of a set, `None` at the set's end.
fn read_member(rest: &mut Chars<'_>, is_first: bool) -> Result<Option<char>, PathPatternError> {
    match rest.next() {
        None => refuse("[ without ]; write \\[ for a bracket itself"),
        Some(']') if !is_first => Ok(None),
        Some('\\') => read_escaped(rest).map(Some),
        Some('[') if opens_class(rest) => {
            refuse_set("a named class such as [:alpha:]; list the characters instead")
        }
        Some(c) => Ok(Some(c)),
    }
}

/// Whether a `[` in a set, with `rest` behind it, may open a named class: what would end that follows somewhere. Else,
/// as in `[[...slug]]`, the bracket is one of the set.
fn opens_class(rest: &Chars<'_>) -> bool {
    let behind = rest.as_str();
    [":]", ".]", "=]"].iter().any(|end| behind.starts_with(&end[..1]) && behind[1..].contains(end))
}

/// The other end, where a `-` makes a range of what was read; a `-` before the `]` stands for itself.
fn read_end_of_range(rest: &mut Chars<'_>) -> Result<Option<char>, PathPatternError> {
    let mut ahead = rest.clone();
    if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
        return Ok(None);
    }
    rest.next();
    read_member(rest, true)
}

fn read_escaped(rest: &mut Chars<'_>) -> Result<char, PathPatternError> {
    match next_if(rest, ESCAPABLE) {
        Some(c) => Ok(c),
        None => refuse("a backslash before a character that needs none; write \\\\ for a backslash itself"),
    }
}

/// The next character, taken only where it is one of `these`.
fn next_if(rest: &mut Chars<'_>, these: &str) -> Option<char> {
    let next = rest.clone().next().filter(|c| these.contains(*c))?;
    rest.next();
    Some(next)
}

/// Refuses a set that may be no more than a name in brackets.
fn refuse_set<T>(why: &str) -> Result<T, PathPatternError> {
    refuse(&format!("{why} (the brackets of a name are written \\[ and \\])"))
}

fn refuse<T>(why: &str) -> Result<T, PathPatternError> {
    Err(PathPatternError::Wildcard(why.into()))
}
