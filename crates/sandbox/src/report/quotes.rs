//! Finds what stands in quotes in a line: in the quotes of every language, and quoted for a shell.
//!
//! GNU's programs quote a name for a shell where it has characters of a kind (`'a'$'\n''b'`, `'a'\''b'`), and in the
//! language's own quotes otherwise. Others write a name in quotes as it is, an apostrophe in it included. Which of
//! the texts is a path is not decided here.
//!
//! Whoever wrote the line may have written nothing but quotes: no more than [`MOST_TRIED`] are looked at.

use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// How many opening quotes of one line are looked at, each at the cost of one pass over the line.
const MOST_TRIED: usize = 32;

/// One text in quotes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quoted<'a> {
    /// Where it stands, its quotes included.
    pub(super) at: Range<usize>,
    /// The text, quotes of a shell undone.
    pub(super) text: Cow<'a, [u8]>,
}

/// An opening quote, and those that may close it.
type Quotes = (&'static str, &'static [&'static str]);

const QUOTES: &[Quotes] = &[
    ("'", &["'"]),
    ("\"", &["\""]),
    ("`", &["`", "'"]),
    ("‘", &["’"]),
    ("“", &["”"]),
    ("„", &["“", "”"]),
    ("”", &["”"]),
    ("«", &["»"]),
    ("»", &["«"]),
    ("「", &["」"]),
];

/// What stands in quotes in `line`, in its order. Quotes around `error` are those of a whole message: what stands in
/// quotes inside them counts.
pub(super) fn quoted<'a>(line: &'a [u8], error: &Range<usize>) -> Vec<Quoted<'a>> {
    let mut found = Vec::new();
    let (mut at, mut tried) = (0, 0);
    while at < line.len() && tried < MOST_TRIED {
        let Some(quotes) = opening(line, at) else {
            at += 1;
            continue;
        };
        tried += 1;
        at = match read(line, at, quotes) {
            Some(quoted) if !quoted.at.contains(&error.start) => {
                let end = quoted.at.end;
                found.push(quoted);
                end
            }
            _ => at + quotes.0.len(),
        };
    }
    found
}

/// The quote that opens at `at`. An ASCII one opens at the start of a word only, so that `can't` has none.
fn opening(line: &[u8], at: usize) -> Option<Quotes> {
    let (before, rest) = line.split_at(at);
    if !matches!(rest.first()?, b'\'' | b'"' | b'`' | 0xc2 | 0xe2 | 0xe3) {
        return None;
    }
    let quotes = *QUOTES.iter().find(|(open, _)| rest.starts_with(open.as_bytes()))?;
    (!rest[0].is_ascii() || starts_word(before)).then_some(quotes)
}

/// Whether a word starts behind `before`; the `b` of Python's `b'…'` is part of its quotes.
fn starts_word(before: &[u8]) -> bool {
    let is_start = |before: &[u8]| before.last().is_none_or(|&b| !b.is_ascii() || b" (=:[,{".contains(&b));
    is_start(before) || before.strip_suffix(b"b").is_some_and(is_start)
}

fn read<'a>(line: &'a [u8], at: usize, (open, closers): Quotes) -> Option<Quoted<'a>> {
    let start = at + open.len();
    let inside = &line[start..];
    let ends = closers.iter().filter_map(|close| Some((end_of(inside, close)?, close.len())));
    let (end, close) = ends.min()?;
    let behind = start + end + close;
    if open == "'" && is_more_of_word(&line[behind..]) {
        return Some(shell_word(line, at));
    }
    let text = trim(&inside[..end]);
    let text = if open.is_ascii() { text } else { without_quotes(text) };
    Some(Quoted { at: at..behind, text: Cow::Borrowed(text) })
}

/// `text` without the quotes that it stands in: translators put theirs around those of a program, `« ‘/x’ »`.
fn without_quotes(text: &[u8]) -> &[u8] {
    let inner = |(open, closers): &Quotes| {
        let text = text.strip_prefix(open.as_bytes())?;
        closers.iter().find_map(|close| text.strip_suffix(close.as_bytes()))
    };
    QUOTES.iter().find_map(inner).unwrap_or(text)
}

/// Where `close` ends a text: not in the middle of a word, as in `it's`.
fn end_of(inside: &[u8], close: &str) -> Option<usize> {
    let is_end = |end: &usize| !inside.get(end + close.len()).is_some_and(u8::is_ascii_alphanumeric);
    memmem::find_iter(inside, close).find(is_end)
}

/// `text` without the spaces that French has within its quotes.
fn trim(text: &[u8]) -> &[u8] {
    ["\u{a0}", "\u{202f}"].iter().fold(text, |text, space| {
        let text = text.strip_prefix(space.as_bytes()).unwrap_or(text);
        text.strip_suffix(space.as_bytes()).unwrap_or(text)
    })
}

fn is_more_of_word(rest: &[u8]) -> bool {
    rest.starts_with(b"$'") || rest.starts_with(br"\'")
}

/// The word of a shell that begins at `at`, up to where it ends or is no such word any more.
fn shell_word(line: &[u8], mut at: usize) -> Quoted<'_> {
    let start = at;
    let mut text = Vec::new();
    while let Some((piece, len)) = shell_piece(&line[at..]) {
        text.extend_from_slice(&piece);
        at += len;
    }
    Quoted { at: start..at, text: text.into() }
}

/// One piece of a word, `'…'`, `$'…'` or `\'`, and its length with its quotes.
fn shell_piece(rest: &[u8]) -> Option<(Cow<'_, [u8]>, usize)> {
    if rest.starts_with(br"\'") {
        return Some((Cow::Borrowed(b"'"), 2));
    }
    if let Some(inside) = rest.strip_prefix(b"$'") {
        let end = end_of_escaped(inside)?;
        return Some((unescaped(&inside[..end]), end + 3));
    }
    let inside = rest.strip_prefix(b"'")?;
    let end = end_of(inside, "'")?;
    Some((Cow::Borrowed(&inside[..end]), end + 2))
}

fn end_of_escaped(inside: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match inside.get(at)? {
            b'\'' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// `text` with the escapes of `$'…'`, which are Python's as well, undone. What is no escape stays as it is.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, others @ ..] = rest {
        let escape = (*first == b'\\').then(|| escape(others)).flatten();
        let len = escape.map_or(0, |(c, bytes, len)| {
            match bytes {
                true => out.push(c as u8),
                false => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            len
        });
        if len == 0 {
            out.push(*first);
        }
        rest = &others[len..];
    }
    out.into()
}

/// What the escape behind a backslash stands for, whether that is a byte, and how long the escape is.
fn escape(text: &[u8]) -> Option<(char, bool, usize)> {
    let byte = |b: u8| Some((char::from(b), true, 1));
    let number = |from: usize, most: usize, radix: u32| {
        let digits = text[from..].iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
        let text = std::str::from_utf8(&text[from..from + digits]).ok()?;
        Some((u32::from_str_radix(text, radix).ok()?, from + digits))
    };
    match text.first()? {
        b'a' => byte(7),
        b'b' => byte(8),
        b't' => byte(b'\t'),
        b'n' => byte(b'\n'),
        b'v' => byte(11),
        b'f' => byte(12),
        b'r' => byte(b'\r'),
        b'e' => byte(27),
        b'\\' | b'\'' | b'"' => byte(text[0]),
        b'0'..=b'7' => number(0, 3, 8).map(|(n, len)| (char::from(n as u8), true, len)),
        b'x' => number(1, 2, 16).map(|(n, len)| (char::from(n as u8), true, len)),
        b'u' => number(1, 4, 16).and_then(|(n, len)| Some((char::from_u32(n)?, false, len))),
        b'U' => number(1, 8, 16).and_then(|(n, len)| Some((char::from_u32(n)?, false, len))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        let end = line.len()..line.len();
        quoted(line.as_bytes(), &end).iter().map(|quoted| quoted.text.escape_ascii().to_string()).collect()
    }

    #[test]
    fn every_kind_of_quotes() {
        for (line, found) in [
            ("touch: cannot touch '/o/a b': E", &["/o/a b"][..]),
            (r#"touch: cannot touch "/o/it's": E"#, &[r"/o/it\'s"]),
            ("Error: unlink '/o/it's'", &[r"/o/it\'s"]),
            ("make: `/o/n' and `/o/m`", &["/o/n", "/o/m"]),
            ("mkdir: ‘/o/n’: E", &["/o/n"]),
            ("mkdir: das Verzeichnis „/o/n“ kann nicht", &["/o/n"]),
            ("mkdir: katalogu „/o/n”: E", &["/o/n"]),
            ("mkdir: kan inte skapa katalog ”/o/n”: E", &["/o/n"]),
            ("mkdir: «/o/n»: E", &["/o/n"]),
            ("mkdir: »/o/n«: E", &["/o/n"]),
            ("mkdir: «\u{a0}/o/n\u{a0}»: E", &["/o/n"]),
            ("mkdir: «\u{202f}/o/n\u{202f}»: E", &["/o/n"]),
            ("xargs: «\u{a0}‘/o/n’\u{a0}»: E", &["/o/n"]),
            ("touch: \"'n'\": E", &[r"\'n\'"]),
            ("mkdir: 無法建立「/o/n」目錄: E", &["/o/n"]),
            ("無法'/o/n'に", &["/o/n"]),
            ("mv: 'a' to \"b\"", &["a", "b"]),
            ("PosixPath('/o/n')", &["/o/n"]),
            (r"OSError: b'/o/n'", &["/o/n"]),
            // None.
            ("can't create /o/n: isn't", &[]),
            ("cannot touch '/o/n", &[]),
            ("", &[]),
        ] {
            assert_eq!(texts(line), found, "{line}");
        }
    }

    #[test]
    fn words_of_a_shell() {
        for (line, found) in [
            (r"touch: '/o/n'$'\n''l': E", r"/o/n\nl"),
            (r"touch: '/o/'$'\377\303\251': E", r"/o/\xff\xc3\xa9"),
            (r"touch: ''$'\001''a': E", r"\x01a"),
            (r"touch: '/o/it'\''s'\''': E", r"/o/it\'s\'"),
            (r"touch: '/o/'$'\'\\': E", r"/o/\'\\"),
            // Cut off in the middle.
            (r"touch: 'a'$'\n", "a"),
            (r"touch: 'a'\'", r"a\'"),
        ] {
            assert_eq!(texts(line), [found], "{line}");
        }
    }

    #[test]
    fn escapes_are_undone_and_what_is_none_stays() {
        for (text, undone) in [
            (r"\xff\n\'\\\t", &b"\xff\n'\\\t"[..]),
            (r"\u00e9\U0001f600", "é\u{1f600}".as_bytes()),
            (r"\101\0", b"A\0"),
            (r"\q\x\u\ud800\", br"\q\x\u\ud800\"),
            ("plain", b"plain"),
        ] {
            assert_eq!(unescaped(text.as_bytes()), undone, "{text}");
        }
    }

    #[test]
    fn quotes_around_the_error_hide_nothing() {
        let line = br#"error "EROFS: E, mkdir '/o/n'"."#;
        let found = quoted(line, &(14..15));
        assert_eq!(found.iter().map(|quoted| &*quoted.text).collect::<Vec<_>>(), [b"/o/n"]);
    }

    #[test]
    fn a_line_of_quotes_costs_a_bounded_number_of_passes() {
        let line = "“".repeat(1 << 20) + "'/o/n'";
        assert_eq!(texts(&line), [""; 0]);
    }
}
