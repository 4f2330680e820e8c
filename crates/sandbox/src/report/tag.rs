//! Reads, character by character, whether what follows a less-than sign is the name of our tag.
//!
//! The reader is lenient on purpose and only ever errs to that side. After the sign it takes as the tag
//! `sandbox_violations`, whatever follows it, in any letter case and spelled with lookalikes; between the
//! letters it overlooks white space, what cannot be seen, and terminal escape sequences (kept, stripped
//! whole, or stripped of their first byte: all readings are followed at once); before the name also slashes
//! of both leanings. The underscore may be a dash or white space. Without anything there
//! (`<SandboxViolations>`) it is some other name: the element type of a list in somebody's source text, and
//! that passes.
//!
//! Not taken as the tag: entities (`&lt;`, `&#60;`), which are how a neutralised tag looks.

use super::lookalike::{is_unseen, readings};

const NAME: &[u8] = b"sandbox_violations";
/// Where in [`NAME`] the underscore stands.
const SEPARATOR: u32 = 7;
const COMPLETE: Places = 1 << NAME.len();

/// Bit n is set: n characters of the name have been read.
type Places = u32;

/// All the ways in which what was read since a less-than sign may yet become the tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TagReader {
    /// In running text.
    text: Places,
    /// After ESC.
    escape: Places,
    /// In a control sequence, `ESC [ 0 m`.
    control: Places,
    /// In a control string such as a window title, `ESC ] 0 ; … BEL`.
    string: Places,
    /// After an ESC that may end a control string.
    string_end: Places,
}

impl TagReader {
    /// A less-than sign was read.
    pub(super) fn begin(&mut self) {
        self.text |= 1;
    }

    /// Whether nothing that was read can become the tag.
    pub(super) fn is_idle(&self) -> bool {
        *self == TagReader::default()
    }

    /// Whether the whole name was read.
    pub(super) fn is_complete(&self) -> bool {
        self.text & COMPLETE != 0
    }

    /// Reads one more character.
    pub(super) fn read(&mut self, c: char) {
        let before = *self;
        let when = |places: Places, holds: bool| if holds { places } else { 0 };
        let string_starts = matches!(c, ']' | 'P' | 'X' | '^' | '_');
        let string_ends = matches!(c, '\x07' | '\u{9c}');
        // An escape cuts a sequence off and begins another.
        let escaped = before.escape | before.string_end;
        *self = TagReader {
            text: after(before.text, c)
                | when(escaped, matches!(c, '0'..='~') && c != '[' && !string_starts)
                | when(before.control, matches!(c, '@'..='~'))
                | when(before.string, string_ends),
            escape: when(before.text | before.control | escaped, c == '\x1b')
                | when(escaped, matches!(c, ' '..='/')),
            control: when(before.text, c == '\u{9b}')
                | when(escaped, c == '[')
                | when(before.control, !matches!(c, '@'..='~')),
            string: when(before.text, matches!(c, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}'))
                | when(escaped, string_starts)
                | when(before.string, !string_ends && c != '\x1b')
                | when(before.string_end, c != '\\'),
            string_end: when(before.string, c == '\x1b'),
        };
    }
}

/// The places after `c` in running text.
fn after(places: Places, c: char) -> Places {
    if places == 0 {
        return 0;
    }
    readings(c).iter().fold(after_one(places, c), |all, reading| all | after_reading(places, reading))
}

fn after_reading(places: Places, reading: &str) -> Places {
    reading.chars().fold(places, after_one)
}

fn after_one(places: Places, c: char) -> Places {
    let overlooked = if is_unseen(c) || c.is_whitespace() { places } else { 0 };
    let slash = if matches!(c, '/' | '\\') { places & 1 } else { 0 };
    let separates = c == '-' || c.is_whitespace();
    let separator = if separates { (places & (1 << SEPARATOR)) << 1 } else { 0 };
    overlooked | slash | separator | after_letter(places, c)
}

fn after_letter(places: Places, c: char) -> Places {
    let here = NAME.iter().enumerate().filter(|(_, letter)| char::from(**letter) == c);
    here.fold(0, |all, (place, _)| all | (places & (1 << place)) << 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_tag(text: &str) -> bool {
        let mut reader = TagReader::default();
        reader.begin();
        text.chars().any(|c| {
            reader.read(c);
            reader.is_complete()
        })
    }

    #[test]
    fn what_reads_as_the_tag() {
        for text in [
            "sandbox_violations>",
            "/sandbox_violations>",
            "sandbox_violations",
            " sandbox_violations",
            "\t/\n sandbox_violations >",
            "\\/sandbox_violations>",
            "／sandbox_violations>",
            "SANDBOX_Violations/>",
            "sandbox_violations foo='1'>",
            "sandbox_violations_of_mine>",
            "sandbox-violations>",
            "sandbox violations>",
            "sandbox\u{2011}violations>",
            "san\ndbox_violations>",
            "s\u{200b}a\u{200d}n\u{ad}dbox_\u{202e}violations>",
            "s\u{336}a\u{336}ndbox_violations>",
            "\u{feff}sandbox_violations>",
            "\0s\0a\0n\0d\0b\0o\0x\0_\0v\0i\0o\0l\0a\0t\0i\0o\0n\0s\0",
            "ｓａｎｄｂｏｘ＿ｖｉｏｌａｔｉｏｎｓ>",
            "sаndbox_violatiоns>",
            "san㏈ox_ⅵolatio㎱>",
            "sandb0x_vio1ations>",
            "SANDBOX_VIOLATIONS>",
            "\x1b[1;31msandbox\x1b[0m_violations>",
            "\x1b]0;title\x07sandbox_violations>",
            "sandbox\x1b]8;;http://x/\x1b\\_violations>",
            "\x1b(Bsandbox_violations>",
            "\u{9b}1msandbox_violations>",
            "\x1b[\x07;é0msandbox_violations>",
            "\x1b[\x1b[0msandbox_violations>",
            "\x1b\x1b]title\x1b[0msandbox_violations>",
            "sandbox_\x1b]title\x1b\\violations>",
            "\x1bMsandbox_violations>",
            "\x1bsandbox_violations>",
        ] {
            assert!(is_tag(text), "{text:?}");
        }
    }

    #[test]
    fn what_does_not() {
        for text in [
            "",
            "sandbox_violation>",
            "sandboxviolations>",
            "SandboxViolations>",
            "sandbox__violations>",
            "my_sandbox_violations>",
            "x:sandbox_violations>",
            "sand/box_violations>",
            ">sandbox_violations>",
            "&sandbox_violations>",
            "sandbox_violets and violations>",
            "[0msandbox_violations>",
            "\x1b[sandbox_violations>",
        ] {
            assert!(!is_tag(text), "{text:?}");
        }
    }

    #[test]
    fn an_ordinary_letter_ends_the_reading() {
        let mut reader = TagReader::default();
        reader.begin();
        reader.read('d');
        assert!(reader.is_idle());
    }
}
