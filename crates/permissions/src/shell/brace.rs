//! Braces: `{a,b}` and `{1..3}`, expanded as text before anything else happens to a word.
//!
//! Only groups side by side are expanded, to at most [`MOST`] words; whatever is nested, unbalanced, padded, stepped
//! or empty is left to the shell and the word has no certain value.

/// The most words that one word is expanded to.
const MOST: usize = 64;

/// What braces make of a word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Braces {
    /// They stand for themselves.
    Literal,
    /// The spellings of the words that it becomes.
    Words(Vec<String>),
    /// They may be expanded; to what is not known.
    Unsure,
}

/// Whether braces in `raw` may be expanded, whatever else is in it.
pub(super) fn scan(raw: &str) -> Braces {
    if raw.contains(',') || raw.contains("..") { Braces::Unsure } else { Braces::Literal }
}

/// Expands the braces of a word in which nothing but quotes and braces is special.
pub(super) fn expand(raw: &str) -> Braces {
    if scan(raw) == Braces::Literal {
        return Braces::Literal;
    }
    let Some(pieces) = pieces(raw) else { return Braces::Unsure };
    let mut words = vec![String::new()];
    for piece in pieces {
        let Some(choices) = choices(piece) else { return Braces::Unsure };
        if words.len() * choices.len() > MOST {
            return Braces::Unsure;
        }
        let combine = |word: &String| choices.iter().map(|choice| word.clone() + choice).collect::<Vec<_>>();
        words = words.iter().flat_map(combine).collect();
    }
    if words.iter().any(String::is_empty) { Braces::Unsure } else { Braces::Words(words) }
}

/// Text between groups and the insides of groups, in turn; `None` where braces are nested or unbalanced.
fn pieces(raw: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, byte) in Unquoted::of(raw) {
        match (byte, inside) {
            (b'{', false) => pieces.push(Piece::Text(&raw[start..at])),
            (b'}', true) => pieces.push(Piece::Group(&raw[start..at])),
            (b'{' | b'}', _) => return None,
            _ => continue,
        }
        (start, inside) = (at + 1, !inside);
    }
    pieces.push(Piece::Text(&raw[start..]));
    (!inside).then_some(pieces)
}

#[derive(Debug, Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Group(&'a str),
}

fn choices(piece: Piece<'_>) -> Option<Vec<String>> {
    let group = match piece {
        Piece::Text(text) => return Some(vec![text.into()]),
        Piece::Group(group) => group,
    };
    let commas: Vec<usize> =
        Unquoted::of(group).filter(|(_, byte)| *byte == b',').map(|(at, _)| at).collect();
    if commas.is_empty() {
        return if group.contains("..") { sequence(group) } else { Some(vec![format!("{{{group}}}")]) };
    }
    let starts = std::iter::once(0).chain(commas.iter().map(|at| at + 1));
    let ends = commas.iter().copied().chain([group.len()]);
    Some(starts.zip(ends).map(|(start, end)| group[start..end].into()).collect())
}

/// `1..3` or `a..c`.
fn sequence(group: &str) -> Option<Vec<String>> {
    let (first, last) = group.split_once("..")?;
    if let ([first], [last]) = (first.as_bytes(), last.as_bytes())
        && first.is_ascii_lowercase()
        && last.is_ascii_lowercase()
    {
        return steps(i64::from(*first), i64::from(*last))
            .map(|step| u8::try_from(step).ok().map(|byte| char::from(byte).to_string()))
            .collect();
    }
    let (first, last) = (plain_number(first)?, plain_number(last)?);
    if first.abs_diff(last) >= MOST as u64 {
        return None;
    }
    Some(steps(first, last).map(|step| step.to_string()).collect())
}

fn steps(first: i64, last: i64) -> Box<dyn Iterator<Item = i64>> {
    if first <= last { Box::new(first..=last) } else { Box::new((last..=first).rev()) }
}

/// A number without a leading zero, which would pad.
fn plain_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let padded = digits.len() > 1 && digits.starts_with('0') || text == "-0";
    let plain = !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain && !padded { text.parse().ok() } else { None }
}

/// The bytes of a word outside its quotes.
struct Unquoted<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Unquoted<'a> {
    fn of(text: &'a str) -> Self {
        Unquoted { bytes: text.as_bytes(), at: 0 }
    }

    fn skip_quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            match *byte {
                byte if byte == quote => return,
                b'\\' if quote == b'"' => self.at += 1,
                _ => {}
            }
        }
    }
}

impl Iterator for Unquoted<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match *self.bytes.get(self.at)? {
                quote @ (b'\'' | b'"') => self.skip_quoted(quote),
                b'\\' => self.at += 2,
                byte => {
                    self.at += 1;
                    return Some((self.at - 1, byte));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Braces {
        Braces::Words(text.split(' ').map(String::from).collect())
    }

    #[test]
    fn expansion() {
        for (raw, made) in [
            ("{a}", Braces::Literal),
            ("{}", Braces::Literal),
            ("HEAD@{1}", Braces::Literal),
            ("a{b", Braces::Literal),
            ("{rm,-rf,x}", words("rm -rf x")),
            ("src/{a,b}/t", words("src/a/t src/b/t")),
            ("{a,b}{c,d}", words("ac ad bc bd")),
            ("{1..3}", words("1 2 3")),
            ("{3..1}", words("3 2 1")),
            ("{-1..1}", words("-1 0 1")),
            ("{a..c}", words("a b c")),
            ("{'a,b',\"c\"}", words("'a,b' \"c\"")),
            (r"{a\,b,c}", words(r"a\,b c")),
            ("{x}{a,b}", words("{x}a {x}b")),
            ("{a,}", Braces::Unsure),
            ("{a,}b", words("ab b")),
            ("{a,{b,c}}", Braces::Unsure),
            ("{a,b", Braces::Unsure),
            ("a,b}", Braces::Unsure),
            ("{01..10}", Braces::Unsure),
            ("{1..9..2}", Braces::Unsure),
            ("{1..1000}", Braces::Unsure),
            ("{a..Z}", Braces::Unsure),
            ("{foo..bar}", Braces::Unsure),
            ("{1..9}{1..9}", Braces::Unsure),
        ] {
            assert_eq!(expand(raw), made, "{raw}");
        }
    }
}
