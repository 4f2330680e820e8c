//! The gate before the reader: characters and sizes that are refused wherever they stand in a line.
//!
//! What passes is UTF-8 text of bounded length that looks to a person as it does to the shell. The gate knows
//! nothing of quotes: an invisible character is refused inside them too.

use super::{LONGEST, Reason};

/// Refuses what no part of a line may hold.
pub(super) fn check(line: &str) -> Result<(), Reason> {
    if line.len() > LONGEST {
        return Err(Reason::TooLong);
    }
    line.chars().filter(|c| !matches!(c, ' '..='~')).try_for_each(check_character)
}

fn check_character(c: char) -> Result<(), Reason> {
    match c {
        '\t' | '\n' => Ok(()),
        '\0' => Err(Reason::Nul),
        c if c.is_control() => Err(Reason::ControlCharacter),
        c if is_invisible(c) => Err(Reason::InvisibleCharacter),
        _ => Ok(()),
    }
}

/// Blanks beyond the two of the shell, and characters without a shape of their own.
fn is_invisible(c: char) -> bool {
    let (shapeless, fillers) = ('\u{200B}'..='\u{200F}', '\u{FFF0}'..='\u{FFFB}');
    c.is_whitespace() && c != ' '
        || shapeless.contains(&c)
        || fillers.contains(&c)
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{202A}'..='\u{202E}' | '\u{2028}'..='\u{2029}'
            | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters() {
        for (text, answer) in [
            ("ls -la\tx\ny ~", Ok(())),
            ("echo é 修复 🎉 ｒ；", Ok(())),
            ("a\0b", Err(Reason::Nul)),
            ("ls\r", Err(Reason::ControlCharacter)),
            ("\u{1b}[0m", Err(Reason::ControlCharacter)),
            ("rm\u{0b}x", Err(Reason::ControlCharacter)),
            ("a\u{85}b", Err(Reason::ControlCharacter)),
            ("a\u{7f}b", Err(Reason::ControlCharacter)),
            ("rm\u{a0}-rf", Err(Reason::InvisibleCharacter)),
            ("'\u{2028}'", Err(Reason::InvisibleCharacter)),
            ("\u{feff}ls", Err(Reason::InvisibleCharacter)),
            ("a\u{202e}b", Err(Reason::InvisibleCharacter)),
            ("a\u{200b}b", Err(Reason::InvisibleCharacter)),
            ("a\u{e0041}b", Err(Reason::InvisibleCharacter)),
            ("a\u{3000}b", Err(Reason::InvisibleCharacter)),
        ] {
            assert_eq!(check(text), answer, "{text:?}");
        }
    }

    #[test]
    fn length() {
        assert_eq!(check(&"a".repeat(LONGEST)), Ok(()));
        assert_eq!(check(&"a".repeat(LONGEST + 1)), Err(Reason::TooLong));
    }
}
