//! How one character reads to somebody lenient: to a language model, to a parser that normalises first, to a
//! program that strips what cannot be seen.
//!
//! Compatibility forms (`ｓ`, `𝐬`, `ⅵ`) are read by Unicode's own decomposition, lookalikes of other scripts
//! (`ѕ`, `ο`) by the confusables table of Unicode's security rules. What a character means in its own
//! language is of no interest here.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::skeleton;

/// Whether `c` is a less-than sign, becomes one when normalised, or passes for one to the eye.
///
/// A table rather than a look-up, since it is asked for every character of every output. A test holds it to
/// be no smaller than what Unicode's tables say.
pub(super) fn is_less_than(c: char) -> bool {
    matches!(
        c,
        '<' | '«'
            | '˂'
            | 'ᐸ'
            | 'ᑄ'
            | 'ᑅ'
            | 'ᔌ'
            | 'ᚲ'
            | '‹'
            | '≪'
            | '≮'
            | '⋖'
            | '⋘'
            | '\u{2329}'
            | '❬'
            | '❮'
            | '❰'
            | '⟨'
            | '⟪'
            | '⦑'
            | '⦓'
            | '⦕'
            | '⧼'
            | '⩹'
            | '⩻'
            | '⪡'
            | '⪣'
            | '⪥'
            | 'Ⲵ'
            | 'ⲵ'
            | 'ⵦ'
            | '〈'
            | '《'
            | '︽'
            | '︿'
            | '﹤'
            | '＜'
            | '𐌭'
            | '𖫬'
            | '𝈶'
    )
}

/// Whether `c` shows nothing of itself, so that a text reads the same without it: controls, zero-width and
/// direction marks, variation selectors, accents, fillers, and what stands for undecodable bytes.
pub(super) fn is_unseen(c: char) -> bool {
    c.is_control()
        || is_combining_mark(c)
        || matches!(c, '\u{2800}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffd}')
        || u32::from(c) & 0xfffe == 0xfffe
        || is_ignorable(c)
}

/// Whether Unicode says that a program which does not know `c` shows nothing for it. The skeleton of a text
/// leaves exactly these out.
fn is_ignorable(c: char) -> bool {
    !c.is_ascii() && skeleton(c.encode_utf8(&mut [0; 4])).next().is_none()
}

/// What `c` may be read as, in lower case and without accents; one character may be read as several (`㎱`).
pub(super) fn readings(c: char) -> [String; 3] {
    let normal = lower(c.nfkd());
    let alike = lower(skeleton(c.encode_utf8(&mut [0; 4])));
    let both = lower(skeleton(&normal));
    [normal, alike, both]
}

fn lower(text: impl Iterator<Item = char>) -> String {
    text.flat_map(char::to_lowercase).filter(|c| !is_combining_mark(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_less_than_sign_of_the_tables_of_unicode_is_known() {
        let reads_as_one = |c: &char| readings(*c).iter().any(|reading| reading.contains('<'));
        let missing: String =
            ('\u{80}'..=char::MAX).filter(reads_as_one).filter(|c| !is_less_than(*c)).collect();
        assert_eq!(missing, "");
    }

    #[test]
    fn readings_of_lookalikes() {
        for (c, reading) in [
            ('S', "s"),
            ('I', "i"),
            ('I', "l"),
            ('1', "l"),
            ('0', "o"),
            ('ｓ', "s"),
            ('𝐬', "s"),
            ('Ⓢ', "s"),
            ('ſ', "s"),
            ('ѕ', "s"),
            ('Ѕ', "s"),
            ('а', "a"),
            ('Α', "a"),
            ('ä', "a"),
            ('İ', "i"),
            ('ı', "i"),
            ('ν', "v"),
            ('ⅵ', "vi"),
            ('㎱', "ns"),
            ('㏈', "db"),
            ('＿', "_"),
            ('‐', "-"),
            ('–', "-"),
            ('／', "/"),
            ('∕', "/"),
        ] {
            assert!(readings(c).iter().any(|r| r == reading), "{c} reads as {:?}", readings(c));
        }
    }

    #[test]
    fn what_cannot_be_seen() {
        for c in ['\0', '\u{8}', '\u{7f}', '\u{9b}', '\u{ad}', '\u{200b}', '\u{200d}', '\u{202e}', '\u{2066}']
            .into_iter()
            .chain(['\u{feff}', '\u{fe0f}', '\u{e0041}', '\u{3164}', '\u{301}', '\u{fffd}', '\u{1fffe}'])
        {
            assert!(is_unseen(c), "U+{:04X}", u32::from(c));
        }
        for c in ['a', ' ', '<', 'é', '中', '\u{1f600}'] {
            assert!(!is_unseen(c), "{c}");
        }
    }
}
