//! `sed`: a script of it may read and write other files and run commands, so it is read.
//!
//! The reading follows GNU and BSD sed where they agree. Where they may not, such as a delimiter in brackets,
//! the script is not read. Nothing stands in a label, a file name or a text that some sed takes for a command: what GNU
//! sed lets end at a blank ends at one here.

use super::Reads;
use crate::shell::Word;
use std::iter::Peekable;
use std::str::Chars;

/// What a `sed` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// Whether it changes its files in place.
    pub(crate) in_place: bool,
    /// The indices of the words that are files.
    pub(crate) files: Vec<usize>,
    /// The files that `r` and `R` read.
    pub(crate) reads: Vec<String>,
    /// The files that `w`, `W` and the flag `w` write.
    pub(crate) writes: Vec<String>,
    /// What `e` runs.
    pub(crate) runs: Vec<String>,
    /// Whether it runs what it finds in its files: `e` alone, and the flag `e`.
    pub(crate) runs_data: bool,
}

impl Script {
    /// Whether all it does is to edit and print what its words name.
    pub(crate) fn only_edits(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.runs.is_empty() && !self.runs_data
    }
}

/// What a `sed` reads, when it only prints.
pub(super) fn reads(words: &[Word]) -> Option<Reads> {
    let script = scan(words)?;
    (!script.in_place && script.only_edits()).then_some(Reads { files: script.files, ..Reads::default() })
}

/// Reads the words of a `sed` and its script; `None` where either cannot be told for certain.
pub(crate) fn scan(words: &[Word]) -> Option<Script> {
    let mut script = Script::default();
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
    if pieces.is_empty() && script.in_place && may_be_suffix(words, &operands) {
        return None;
    }
    script.files = operands.split_off(usize::from(pieces.is_empty()));
    read_script(text, &mut script)?;
    Some(script)
}

/// Whether what looks like the script may be a suffix, which BSD's `-i` takes from the next word, and the first file a
/// script that does more than edit.
fn may_be_suffix(words: &[Word], operands: &[usize]) -> bool {
    let takes_next = |word: &Word| {
        word.value.as_deref().is_some_and(|v| v.starts_with('-') && !v.starts_with("--") && v.ends_with('i'))
    };
    let Some(file) = operands.get(1).and_then(|at| words[*at].value.as_deref()) else { return false };
    let mut script = Script::default();
    let is_read = read_script(file, &mut script).is_some();
    words.iter().any(takes_next)
        && ((is_read && !script.only_edits())
            || file.contains(|c: char| c.is_whitespace() || "[{;".contains(c)))
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

fn read_script(text: &str, script: &mut Script) -> Option<()> {
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || *c == ';' || *c == '}').is_some() {}
        if rest.peek().is_none() {
            return Some(());
        }
        skip_addresses(&mut rest)?;
        read_command(&mut rest, script)?;
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

fn read_command(rest: &mut Peekable<Chars<'_>>, script: &mut Script) -> Option<()> {
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
            read_flags(rest, script)
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
        'b' | 't' | 'T' | ':' => {
            while rest.next_if_eq(&' ').is_some() {}
            while rest.next_if(|c| !c.is_whitespace() && !matches!(c, ';' | '}')).is_some() {}
            end(rest)
        }
        'r' | 'R' => {
            script.reads.push(line(rest));
            Some(())
        }
        'w' | 'W' => {
            script.writes.push(line(rest));
            Some(())
        }
        'e' => {
            match line(rest) {
                code if code.is_empty() => script.runs_data = true,
                code => script.runs.push(code),
            }
            Some(())
        }
        '#' => {
            while rest.next_if(|c| *c != '\n').is_some() {}
            Some(())
        }
        _ => None,
    }
}

/// The flags of `s`, of which `e` runs what comes of it and `w` writes it.
fn read_flags(rest: &mut Peekable<Chars<'_>>, script: &mut Script) -> Option<()> {
    while let Some(flag) = rest.next_if(|c| c.is_ascii_digit() || "gpiImMew".contains(*c)) {
        script.runs_data |= flag == 'e';
        if flag == 'w' {
            script.writes.push(line(rest));
            return Some(());
        }
    }
    end(rest)
}

/// What stands up to the end of the line, without the blanks in front.
fn line(rest: &mut Peekable<Chars<'_>>) -> String {
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    std::iter::from_fn(|| rest.next_if(|c| *c != '\n')).collect()
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
