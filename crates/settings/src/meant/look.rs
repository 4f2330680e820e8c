//! How a name looks to a person: without what shows nothing, and with the letters of ASCII that others pass for.
//!
//! A name that a person takes for a key and this program does not is a rule that gets lost without a word. What names
//! mean in other scripts is of no interest: all keys are ASCII.

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
    name.nfkd().filter(|c| !c.is_control() && !is_combining_mark(*c)).flat_map(letters).take(most).collect()
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
