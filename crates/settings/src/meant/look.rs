//! How a name looks to a person: without what shows nothing, and with the letters of ASCII that others pass for.
//!
//! A name that a person takes for a key and this program does not is a rule that gets lost without a word. What names
//! mean in other scripts is of no interest: all keys are ASCII.

use palisade_policy::Printable;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::skeleton;

/// The first `most` letters of `name` as they look. Takes a time that grows with the name.
pub(crate) fn look(name: &str, most: usize) -> Cow<'_, str> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control());
    if is_plain && name.len() <= most {
        return name.into();
    }
    let is_seen = |c: &char| !shows_nothing(*c) && !is_combining_mark(*c);
    name.nfkd().filter(is_seen).flat_map(letters).take(most).collect()
}

/// Whether a character is shown as nothing, or as a blank that is none: what [`Printable`] escapes, the marks of some
/// scripts that only say how what follows is to be shown (the rest of Unicode's category `Cf`), the empty pattern of
/// Braille and other empty signs.
fn shows_nothing(c: char) -> bool {
    let is_escaped = || {
        let mut text = [0; 4];
        let text: &str = c.encode_utf8(&mut text);
        Printable(text).to_string() != text
    };
    matches!(
        c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{2800}'
            | '\u{fff9}'..='\u{fffc}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{16fe4}' | '\u{1d159}' | '\u{1da7f}'..='\u{1da80}'
    ) || (!c.is_ascii_graphic() && c != ' ' && is_escaped())
}

/// What a letter passes for, if that is ASCII; else the letter. Nothing for one that shows nothing: a zero-width space, a
/// mark of direction.
fn letters(c: char) -> impl Iterator<Item = char> {
    let mut text = [0; 4];
    let looks: Vec<char> = if c.is_ascii() { vec![c] } else { skeleton(c.encode_utf8(&mut text)).collect() };
    if looks.iter().all(char::is_ascii) { looks } else { vec![c] }.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_look_like() {
        for (name, looks) in [
            ("denyRead", "denyRead"),
            ("sandb\u{43e}x", "sandbox"),
            ("\u{feff}a\u{ad}b\u{200b}\u{200e}\u{2060}\u{e0041}\u{3164}", "ab"),
            ("a\u{0}b\u{7f}\u{9b}", "ab"),
            ("\u{fff9}a\u{fffa}b\u{fffb}\u{fffc}c", "abc"),
            ("\u{2800}a\u{600}b\u{6dd}\u{70f}c\u{110bd}\u{13430}", "abc"),
            ("a\u{e0001}b\u{1d173}c\u{fff0}\u{206a}", "abc"),
            ("e\u{301}é", "ee"),
            ("ｓ𝐬ſⓢ", "ssss"),
            ("a․b\u{a0}c\u{3000}", "a.b c "),
            ("中ж", "中ж"),
            ("", ""),
        ] {
            assert_eq!(look(name, 40), looks, "{name}");
        }
        assert_eq!(look("abc", 2), "ab");
        assert_eq!(look(&format!("{}ab", "\u{200b}".repeat(100_000)), 2), "ab");
    }
}
