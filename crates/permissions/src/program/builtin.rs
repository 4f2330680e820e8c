//! The options of the shell's own commands, read as bash reads them: letters bundled, values attached or apart, an end
//! at `--` or at the first word that is no option.
//!
//! A value may be uncertain, which is for the caller to judge. A word that may turn out to be an option is where the
//! reading stops.

use crate::program::words::keeps_first;
use crate::shell::Word;

/// The options of one command, and where its operands start.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub(crate) given: Vec<(char, Text<'a>)>,
    pub(crate) end: usize,
}

/// What an option is given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text<'a> {
    Nothing,
    /// The rest of its own word.
    Attached(&'a str),
    Word(&'a Word),
}

/// The letters of a builtin that names variables or runs code, each with `:` behind it where it takes a value.
pub(crate) fn letters_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "read" => "ersEa:d:i:n:N:p:t:u:",
        "mapfile" | "readarray" => "d:n:O:s:tu:C:c:",
        "compgen" | "complete" => "abcdefgjkoprsuvDEIo:A:G:W:P:S:X:F:C:V:",
        "unset" => "fvn",
        "wait" => "fnp:",
        "printf" => "v:",
        "hash" => "ldrtp:",
        "declare" | "typeset" | "local" | "export" | "readonly" => "acfFgiIlnprtuxA",
        "getopts" => "",
        _ => return None,
    })
}

/// Whether a word is no option, whatever the rest of it turns out to be.
fn is_operand(word: &Word) -> bool {
    let starts_as_text =
        |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || "_/.,%: ".contains(c));
    let is_number = matches!(word.raw.trim_matches('"'), "$!" | "$?" | "$$" | "$#");
    keeps_first(word) || is_number || word.raw.strip_prefix('"').is_some_and(starts_as_text)
}

/// Reads the options behind the name of a builtin; the index of a word that may be any option where they cannot be
/// told.
pub(crate) fn options<'a>(words: &'a [Word], letters: &str) -> Result<Options<'a>, usize> {
    let mut options = Options { given: Vec::new(), end: 1 };
    while let Some(word) = words.get(options.end) {
        let Some(text) = word.value.as_deref() else {
            return if is_operand(word) { Ok(options) } else { Err(options.end) };
        };
        let Some(bundle) = text.strip_prefix(['-', '+']).filter(|bundle| !bundle.is_empty()) else { break };
        options.end += 1;
        if text == "--" {
            break;
        }
        for (at, letter) in bundle.char_indices() {
            let takes_value = letters.split_once(letter).is_some_and(|(_, behind)| behind.starts_with(':'));
            let rest = &bundle[at + letter.len_utf8()..];
            let value = match (takes_value, rest) {
                (false, _) => Text::Nothing,
                (true, "") => {
                    options.end += 1;
                    words.get(options.end - 1).map_or(Text::Nothing, Text::Word)
                }
                (true, rest) => Text::Attached(rest),
            };
            options.given.push((letter, value));
            if takes_value {
                break;
            }
        }
    }
    options.end = options.end.min(words.len());
    Ok(options)
}
