//! A rough look at a line that was not read: what might be a command in it, whatever the quotes say.
//!
//! It may feed denials and questions, never an approval: it lists too much rather than too little, takes any
//! operator for one even inside quotes, and gives words with their quotes taken away. It is linear and nests nothing,
//! so that no limit of the reader hides a command from a denial.

use super::word::is_assignment;
use super::{Assignment, Command, Connector, Redirection, RedirectionOperator, Word, WordFlags};
use std::collections::HashSet;
use std::sync::Arc;

/// Lists what might be commands.
pub(super) fn commands(line: &str) -> Vec<Command> {
    // Shells drop a NUL, and join lines at a backslash.
    let joined = line.replace('\0', "").replace("\\\n", "");
    let mut seen = HashSet::new();
    joined
        .split(['\n', ';', '&', '|', '(', ')', '`'])
        .flat_map(with_bodies)
        .map(str::trim)
        .filter(|part| !part.is_empty() && seen.insert(*part))
        .filter_map(command)
        .collect()
}

/// More words than these, behind which a command may start, are not looked behind.
const MOST_BODIES: usize = 8;

/// A part, and what follows each word in it behind which a command may start: `coproc NAME { COMMAND`.
fn with_bodies(part: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let behind = part.split_inclusive(char::is_whitespace).filter_map(move |word| {
        at += word.len();
        matches!(word.trim_end(), "{" | "then" | "do" | "else" | "!" | "time").then(|| &part[at..])
    });
    std::iter::once(part).chain(behind.take(MOST_BODIES))
}

fn command(part: &str) -> Option<Command> {
    let mut command = Command {
        assignments: Vec::new(),
        words: Vec::new(),
        redirections: Vec::new(),
        scope: 0,
        connector: Connector::Branch,
        span: 0..0,
    };
    let mut operator = None;
    for text in part.split(|c: char| c.is_whitespace() || c.is_control() && c != '\0') {
        add(&mut command, text, &mut operator);
    }
    let empty = command.words.is_empty() && command.assignments.is_empty() && command.redirections.is_empty();
    (!empty).then_some(command)
}

/// Adds a piece between blanks: words and redirections, which need no blanks around them.
fn add(command: &mut Command, text: &str, operator: &mut Option<RedirectionOperator>) {
    let mut rest = text;
    while !rest.is_empty() {
        let word = &rest[..rest.find(['<', '>']).unwrap_or(rest.len())];
        rest = &rest[word.len()..];
        if !word.is_empty() {
            add_word(command, word, operator.take());
        }
        let symbols = &rest[..rest.find(|c| !matches!(c, '<' | '>')).unwrap_or(rest.len())];
        rest = &rest[symbols.len()..];
        match symbols {
            "" => {}
            _ if symbols.contains('>') => *operator = Some(RedirectionOperator::Write),
            _ => *operator = Some(RedirectionOperator::Read),
        }
    }
}

fn add_word(command: &mut Command, raw: &str, operator: Option<RedirectionOperator>) {
    if let Some(operator) = operator {
        command.redirections.push(Redirection { descriptor: None, operator, target: word(raw), body: None });
    } else if command.words.is_empty() && is_assignment(raw) {
        let (name, value) = raw.split_once('=').unwrap_or((raw, ""));
        let (appends, name) = (name.ends_with('+'), name.trim_end_matches('+').into());
        command.assignments.push(Assignment { name, appends, value: word(value) });
    } else if !(command.words.is_empty() && is_keyword(raw)) {
        command.words.push(word(raw));
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "!" | "{" | "}" | "coproc" | "function") || super::grammar::Keyword::of(word).is_some()
}

fn word(raw: &str) -> Word {
    let mut flags = WordFlags { tilde: raw.starts_with('~'), ..WordFlags::default() };
    for byte in raw.bytes() {
        match byte {
            b'*' | b'?' | b'[' => flags.glob = true,
            b'{' => flags.brace = true,
            b'$' => (flags.dynamic, flags.splits) = (true, true),
            b'\'' | b'"' | b'\\' => flags.quoted = true,
            _ => {}
        }
    }
    let certain = !(flags.glob || flags.brace || flags.tilde || flags.dynamic);
    match certain {
        true if flags.quoted => Word { raw: raw.into(), value: Some(bare(raw)), flags },
        true => Word { flags, ..Word::literal(raw) },
        false => Word { raw: raw.into(), value: None, flags },
    }
}

fn bare(raw: &str) -> Arc<str> {
    raw.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect::<String>().into()
}
