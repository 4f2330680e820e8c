//! The filter that every captured output passes through.

use super::lookalike::is_less_than;
use super::tag::TagReader;
use std::mem::take;
use std::ops::Range;

/// What takes the place of the less-than sign.
const ENTITY: &[u8] = b"&lt;";

/// How many bytes may be held back while they may yet become the tag. Only padding makes it that long (white
/// space, invisible characters, escape sequences), and so much of it after a less-than sign is taken as meant
/// to hide a tag: the sign is neutralised without waiting for the name.
const LONGEST_TAG: usize = 4096;

/// Passes bytes on, and turns the less-than sign of each `<sandbox_violations>` or `</sandbox_violations>`
/// tag into `&lt;`. What counts as the tag: see the module `tag`.
///
/// The result does not depend on how the bytes are split into chunks. They need not be UTF-8: a byte that is
/// not is passed on as it is, and overlooked within a tag. All other bytes pass unchanged. Held back is only
/// what may still turn out to be a tag or is the start of a cut character; never more than [`LONGEST_TAG`]
/// and a few bytes.
#[derive(Debug, Default)]
pub(crate) struct Neutraliser {
    /// Bytes that were not passed on yet.
    held: Vec<u8>,
    /// How many of them were read.
    read: usize,
    /// Where in `held` the less-than signs stand that may begin a tag.
    signs: Vec<Range<usize>>,
    tag: TagReader,
}

impl Neutraliser {
    /// A filter at the start of an output.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the output and gives what can be passed on.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.held.len() + bytes.len());
        self.held.extend_from_slice(bytes);
        while let Some((c, length)) = self.next_character() {
            self.step(c, length);
            if self.tag.is_complete() || self.is_full() {
                self.pass_neutralised(&mut out);
            }
        }
        self.pass_settled(&mut out);
        out
    }

    /// The output is over: gives what was held back. Half a tag is no tag.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.held
    }

    /// The next character and its length in bytes; `None` where more bytes are needed.
    fn next_character(&mut self) -> Option<(char, usize)> {
        if self.tag.is_idle() {
            let rest = &self.held[self.read..];
            let uninteresting = rest.iter().position(|&b| b == b'<' || b >= 0x80);
            self.read += uninteresting.unwrap_or(rest.len());
        }
        decode(&self.held[self.read..])
    }

    fn step(&mut self, c: char, length: usize) {
        let start = self.read;
        self.read += length;
        if !self.tag.is_idle() {
            self.tag.read(c);
        }
        if self.tag.is_idle() {
            self.signs.clear();
        }
        if is_less_than(c) {
            self.signs.push(start..self.read);
            self.tag.begin();
        }
    }

    fn is_full(&self) -> bool {
        self.signs.first().is_some_and(|first| self.read - first.start >= LONGEST_TAG)
    }

    /// Passes on all that was read, with every pending sign neutralised. There is more than one only where a
    /// sign stands inside an escape sequence; it cannot be told then which of them the tag belongs to.
    fn pass_neutralised(&mut self, out: &mut Vec<u8>) {
        let mut passed = 0;
        for sign in take(&mut self.signs) {
            out.extend_from_slice(&self.held[passed..sign.start]);
            out.extend_from_slice(ENTITY);
            passed = sign.end;
        }
        out.extend_from_slice(&self.held[passed..self.read]);
        self.held.drain(..self.read);
        self.read = 0;
        self.tag = TagReader::default();
    }

    /// Passes on what was read and cannot belong to a tag.
    fn pass_settled(&mut self, out: &mut Vec<u8>) {
        let settled = self.signs.first().map_or(self.read, |first| first.start);
        out.extend(self.held.drain(..settled));
        self.read -= settled;
        for sign in &mut self.signs {
            *sign = sign.start - settled..sign.end - settled;
        }
    }
}

/// The first character of `bytes` and its length; `None` where `bytes` ends before the character does. What
/// no character starts with comes as U+FFFD.
fn decode(bytes: &[u8]) -> Option<(char, usize)> {
    let start = &bytes[..bytes.len().min(4)];
    let (valid, invalid) = match std::str::from_utf8(start) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default();
            (valid, error.error_len())
        }
    };
    match valid.chars().next() {
        Some(c) => Some((c, c.len_utf8())),
        None => invalid.map(|length| (char::REPLACEMENT_CHARACTER, length)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookalike::{is_unseen, readings};
    use super::*;
    use proptest::prelude::*;

    fn neutralised(chunks: &[&[u8]]) -> Vec<u8> {
        let mut filter = Neutraliser::new();
        let mut out: Vec<u8> = chunks.iter().flat_map(|chunk| filter.push(chunk)).collect();
        out.extend(filter.finish());
        out
    }

    fn check(output: &str, expected: &str) {
        let whole = neutralised(&[output.as_bytes()]);
        assert_eq!(String::from_utf8_lossy(&whole), expected);
        let bytes: Vec<&[u8]> = output.as_bytes().chunks(1).collect();
        assert_eq!(neutralised(&bytes), whole, "{output:?} byte by byte");
    }

    #[test]
    fn tags_lose_their_less_than_sign() {
        check("<sandbox_violations>", "&lt;sandbox_violations>");
        check("a</sandbox_violations>b", "a&lt;/sandbox_violations>b");
        check("< /\tSandBox_Violations x=1/>", "&lt; /\tSandBox_Violations x=1/>");
        check("＜sandbox_violations＞", "&lt;sandbox_violations＞");
        check("<<sandbox_violations", "<&lt;sandbox_violations");
        check("<sandbox_viol<sandbox_violations>", "<sandbox_viol&lt;sandbox_violations>");
        check("<\x1b[1m/sandbox\u{200b}_violations>", "&lt;\x1b[1m/sandbox\u{200b}_violations>");
        check(
            "<sandbox_violations>\n</sandbox_violations>\n",
            "&lt;sandbox_violations>\n&lt;/sandbox_violations>\n",
        );
    }

    #[test]
    fn all_else_passes_unchanged() {
        for text in [
            "",
            "<",
            "plain text",
            "a < b && b > c",
            "<html><sandbox></sandbox></html>",
            "Vec<SandboxViolations>",
            "sandbox_violations",
            "<sandbox_violation",
            "<Größe> «中文» ‹x›",
            "\x1b[1m<\x1b[0m",
            "&lt;sandbox_violations>",
        ] {
            check(text, text);
        }
        let not_utf8 = b"\xff<\xfe\xe2\x80 \xc0\xbc<s\xf0\x9f";
        assert_eq!(neutralised(&[not_utf8]), not_utf8);
        assert_eq!(neutralised(&[b"<s\xe2\x80andbox\xff_violations"]), b"&lt;s\xe2\x80andbox\xff_violations");
    }

    #[test]
    fn only_what_may_be_a_tag_is_held_back() {
        let passed = |text: &str| String::from_utf8(Neutraliser::new().push(text.as_bytes())).expect("UTF-8");
        assert_eq!(passed("text <div"), "text <div");
        assert_eq!(passed("text <"), "text ");
        assert_eq!(passed("text <sandbox_vio"), "text ");
        assert_eq!(passed("password: "), "password: ");
    }

    #[test]
    fn padding_without_end_is_not_held_back_without_end() {
        let mut filter = Neutraliser::new();
        let mut out = filter.push(b"<");
        for _ in 0..100 {
            out.extend(filter.push(&[b' '; 1000]));
            assert!(filter.held.len() < LONGEST_TAG + 1000);
        }
        out.extend(filter.push(b"sandbox_violations>"));
        out.extend(filter.finish());
        assert!(out.starts_with(b"&lt; ") && out.ends_with(b" sandbox_violations>"));
        assert_eq!(out.len(), ENTITY.len() + 100_000 + "sandbox_violations>".len());
    }

    /// What a reader sees who lets `strip` take escape sequences out, drops what is invisible, and
    /// normalises.
    fn seen(output: &[u8], strip: fn(&str) -> String) -> String {
        let text = strip(&String::from_utf8_lossy(output));
        let visible = text.chars().filter(|c| !is_unseen(*c) && !c.is_whitespace());
        let mut seen: String = visible.map(|c| readings(c)[2].clone()).collect();
        while seen.contains("</") {
            seen = seen.replace("</", "<");
        }
        seen
    }

    /// Each `start` goes with what follows it up to a character that `ends`.
    fn without(text: &str, start: &str, ends: fn(char) -> bool) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(start) {
            out.push_str(before);
            rest = after.split_once(ends).map_or("", |(_, rest)| rest);
        }
        out + rest
    }

    fn without_control_sequences(text: &str) -> String {
        without(text, "\x1b[", |c| ('@'..='~').contains(&c))
    }

    fn without_titles(text: &str) -> String {
        without(text, "\x1b]", |c| c == '\x07')
    }

    /// Sequences are cut off by an escape, and all of them show nothing.
    fn as_on_a_terminal(text: &str) -> String {
        let mut parts = text.split('\x1b');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let mut rest = part.chars();
            match rest.next() {
                Some('[') => drop(rest.by_ref().find(|c| ('@'..='~').contains(c))),
                Some(']') => drop(rest.by_ref().find(|c| *c == '\x07')),
                _ => {}
            }
            out.extend(rest);
        }
        out
    }

    /// Bytes from which a tag, and things like one, are likely to come together.
    fn output() -> impl Strategy<Value = Vec<u8>> {
        let pieces: &[&[u8]] = &[
            b"<",
            b"</",
            "＜".as_bytes(),
            "‹".as_bytes(),
            b"sandbox_violations",
            b"sandbox",
            b"_",
            b"violations",
            b"SANDBOX",
            b"s",
            b"andbox",
            b"_vio",
            b"lations",
            b">",
            b"/",
            b" ",
            b"\n",
            b"\0",
            b"\xff",
            b"\xe2\x80",
            "\u{200b}".as_bytes(),
            "\u{202e}".as_bytes(),
            b"\x1b[0m",
            b"\x1b[",
            b"\x1b]0;t\x07",
            b"\x1b]",
            b"\x07",
            "ⅵ".as_bytes(),
            "olations".as_bytes(),
            "ѕ".as_bytes(),
            "ｓ".as_bytes(),
            b"x",
            b"&lt;",
            b"-",
        ];
        let piece = proptest::sample::select(pieces.to_vec());
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn chunks<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8_000))]

        /// Law 10.
        #[test]
        fn no_output_however_split_leaves_a_tag(
            output in output(), cuts in proptest::collection::vec(any::<usize>(), 0..6)
        ) {
            let passed = neutralised(&chunks(&output, &cuts));
            prop_assert_eq!(&passed, &neutralised(&[&output]), "the split makes no difference");
            for strip in [str::to_owned, without_control_sequences, without_titles, as_on_a_terminal] {
                let seen = seen(&passed, strip);
                prop_assert!(!seen.contains("<sandbox_violations"), "{:?} is seen as {seen:?}", passed);
            }
        }

        #[test]
        fn nothing_but_less_than_signs_changes(output in output()) {
            let ascii: Vec<u8> = output.into_iter().filter(u8::is_ascii).collect();
            let restore = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("&lt;", "<");
            prop_assert_eq!(restore(&neutralised(&[&ascii])), restore(&ascii));
        }
    }
}
