//! `sed`: a script of it may write files and run commands, so it is read.
//!
//! The reading follows GNU and BSD sed where they agree. Where they may not, such as a delimiter in brackets,
//! the script counts as one that does more than print.

use super::Reads;
use crate::shell::Word;
use std::iter::Peekable;
use std::str::Chars;

/// What a `sed` is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    /// Whether it changes its files in place.
    pub(crate) in_place: bool,
    /// The indices of the words that are files.
    pub(crate) files: Vec<usize>,
}

/// What a `sed` reads, when it only prints.
pub(super) fn reads(words: &[Word]) -> Option<Reads> {
    let script = scan(words)?;
    (!script.in_place).then_some(Reads { files: script.files, ..Reads::default() })
}

/// Reads the words of a `sed` whose script neither writes nor runs anything; `None` for any other.
pub(crate) fn scan(words: &[Word]) -> Option<Script> {
    let mut script = Script { in_place: false, files: Vec::new() };
    let mut pieces: Vec<&str> = Vec::new();
    let mut operands = Vec::new();
    let mut only_operands = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let value = word.value.as_deref()?;
        match value {
            _ if only_operands => operands.push(at),
            "--" => only_operands = true,
            "-e" | "--expression" => {
                at += 1;
                pieces.push(words.get(at)?.value.as_deref()?);
            }
            "--quiet" | "--silent" | "--regexp-extended" | "--posix" | "--separate" | "--unbuffered"
            | "--null-data" | "--debug" | "--sandbox" => {}
            "--in-place" => script.in_place = true,
            _ if value.starts_with("--") => pieces.push(value.strip_prefix("--expression=")?),
            _ if value.len() > 1 && value.starts_with('-') => read_letters(value, &mut script, &mut pieces)?,
            _ => operands.push(at),
        }
        at += 1;
    }
    let joined;
    let text = if pieces.is_empty() {
        words[*operands.first()?].value.as_deref()?
    } else {
        joined = pieces.join("\n");
        &joined
    };
    script.files = operands.split_off(usize::from(pieces.is_empty()));
    only_prints(text).then_some(script)
}

/// Reads short options that stand together, such as `-ne 's/a/b/'`'s first word or `-i.bak`.
fn read_letters<'a>(value: &'a str, script: &mut Script, pieces: &mut Vec<&'a str>) -> Option<()> {
    for (at, letter) in value.char_indices().skip(1) {
        match letter {
            'n' | 'E' | 'r' | 's' | 'u' | 'z' => {}
            'e' if at + 1 < value.len() => {
                pieces.push(&value[at + 1..]);
                return Some(());
            }
            // What follows is a suffix. One with a slash or a star would put the copy elsewhere.
            'i' if value[at + 1..].chars().all(|c| c.is_ascii_alphanumeric() || ".~_-".contains(c)) => {
                script.in_place = true;
                return Some(());
            }
            _ => return None,
        }
    }
    Some(())
}

/// Whether a script has only commands that edit and print.
fn only_prints(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || *c == ';' || *c == '}').is_some() {}
        if rest.peek().is_none() {
            return true;
        }
        if skip_addresses(&mut rest).and_then(|()| skip_command(&mut rest)).is_none() {
            return false;
        }
    }
}

fn skip_addresses(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    loop {
        match *rest.peek()? {
            '0'..='9' | '$' | ',' | '~' | '+' | '!' | ' ' => _ = rest.next(),
            '/' => {
                rest.next();
                skip_delimited(rest, '/')?;
                while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            _ => return Some(()),
        }
    }
}

fn skip_command(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    match rest.next()? {
        '{' => Some(()),
        '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' => end(rest),
        'l' | 'q' | 'Q' => {
            while rest.next_if(|c| c.is_ascii_digit() || *c == ' ').is_some() {}
            end(rest)
        }
        's' => {
            let delimiter = rest.next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n'))?;
            skip_delimited(rest, delimiter)?;
            skip_delimited(rest, delimiter)?;
            while rest.next_if(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I')).is_some() {}
            end(rest)
        }
        'y' => {
            let delimiter = rest.next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n'))?;
            skip_delimited(rest, delimiter)?;
            skip_delimited(rest, delimiter)?;
            end(rest)
        }
        'a' | 'i' | 'c' => {
            skip_text(rest);
            Some(())
        }
        'b' | 't' | ':' => {
            while rest.next_if(|c| !matches!(c, '\n' | ';' | '}')).is_some() {}
            Some(())
        }
        '#' => {
            while rest.next_if(|c| *c != '\n').is_some() {}
            Some(())
        }
        _ => None,
    }
}

/// A command ends at a separator, or it is another one than it seems.
fn end(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    while rest.next_if_eq(&' ').is_some() {}
    matches!(rest.peek(), None | Some(';' | '\n' | '}')).then_some(())
}

/// Skips to behind the next `delimiter`. Where brackets are open at it, versions of sed differ.
fn skip_delimited(rest: &mut Peekable<Chars<'_>>, delimiter: char) -> Option<()> {
    let mut in_brackets = false;
    while let Some(c) = rest.next() {
        match c {
            c if c == delimiter => return (!in_brackets).then_some(()),
            '\\' => _ = rest.next()?,
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
    }
    None
}

/// Skips the text of `a`, `i` or `c`: to the end of a line that no backslash continues.
fn skip_text(rest: &mut Peekable<Chars<'_>>) {
    while let Some(c) = rest.next() {
        match c {
            '\\' => _ = rest.next(),
            '\n' => return,
            _ => {}
        }
    }
}
