//! Text made fit to be shown to a person: the one escaping of everything that was written by somebody else.
//!
//! Paths, settings, host names and lines of a command's output reach terminals, logs and messages. In any
//! of them a character can forge a line, move the cursor, turn the reading direction round or hide itself,
//! so that what a person reads is not what is there. Such a character is shown by its code, all others as
//! they are.
//!
//! It deliberately does not neutralise markup: whoever renders a text into a tagged block sees to its tags.

use std::fmt::{self, Write};

/// Shows a text with every character escaped that controls something or that nobody can see: control
/// characters, line and paragraph separators, direction marks, zero-width characters, invisible fillers.
///
/// Backslashes are left alone, so showing what was shown changes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Printable<'a>(
    /// The text.
    pub &'a str,
);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.0, &[])
    }
}

/// The same in double quotes, with quotes and backslashes escaped too: the text ends where it seems to end.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a>(
    /// The text.
    pub &'a str,
);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        write_escaped(f, self.0, &['"', '\\'])?;
        f.write_char('"')
    }
}

/// Writes `text` as [`Printable`] does, and escapes the characters of `also` as well.
pub(crate) fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str, also: &[char]) -> fmt::Result {
    for c in text.chars() {
        if is_unseen(c) || also.contains(&c) {
            write!(f, "{}", c.escape_default())?;
        } else {
            f.write_char(c)?;
        }
    }
    Ok(())
}

/// Whether `c` steers how a text is shown, or may be shown as nothing (Unicode's
/// `Default_Ignorable_Code_Point`, which holds the direction marks, and the anchors of annotations).
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cannot_be_seen_is_shown_by_its_code() {
        for (text, shown) in [
            ("plain é 漢字 ไทย נב", "plain é 漢字 ไทย נב"),
            ("e\u{301}", "e\u{301}"),
            ("a\nb\tc\x1b[2J\u{85}", r"a\nb\tc\u{1b}[2J\u{85}"),
            ("a\u{2028}b\u{2029}c", r"a\u{2028}b\u{2029}c"),
            ("\u{202e}txt\u{2066}\u{200f}\u{61c}", r"\u{202e}txt\u{2066}\u{200f}\u{61c}"),
            ("a\u{200b}b\u{feff}c\u{ad}d\u{3164}", r"a\u{200b}b\u{feff}c\u{ad}d\u{3164}"),
            ("a\u{e0041}\u{fe0f}", r"a\u{e0041}\u{fe0f}"),
            (r#"a\nb "c""#, r#"a\nb "c""#),
        ] {
            assert_eq!(Printable(text).to_string(), shown, "{text:?}");
        }
    }

    #[test]
    fn a_quoted_text_ends_where_it_seems_to_end() {
        assert_eq!(Quoted("x\" in /etc/y\n\\").to_string(), r#""x\" in /etc/y\n\\""#);
    }

    /// A text whose skeleton is empty is one that Unicode's tables let a program show as nothing.
    #[test]
    fn every_character_that_unicode_lets_vanish_is_escaped() {
        let vanishes = |c: &char| unicode_security::skeleton(c.encode_utf8(&mut [0; 4])).next().is_none();
        let missed: Vec<char> = ('\0'..=char::MAX).filter(vanishes).filter(|c| !is_unseen(*c)).collect();
        assert_eq!(missed, [] as [char; 0]);
    }

    proptest! {
        #[test]
        fn showing_what_was_shown_changes_nothing(text in any::<String>()) {
            let once = Printable(&text).to_string();
            prop_assert_eq!(Printable(&once).to_string(), once.clone());
            prop_assert!(!once.contains(is_unseen));
        }
    }
}
