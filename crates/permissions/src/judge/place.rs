//! Where the words of a command lead: the paths that one word may name.
//!
//! No kernel opens a path that is longer than [`AbsPath::LONGEST`], and rules and links would take long to look at. What
//! names one counts as not known.

use super::Context;
use crate::program::{Directory, Globs, Program};
use crate::shell::Word;
use palisade_policy::AbsPath;

/// What one word may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// One of these paths.
    Paths(Vec<AbsPath>),
    /// Whatever a wildcard finds: paths with their wildcards as written.
    Wildcard(Vec<AbsPath>),
    /// Whatever lies in these directories, at any depth.
    Below {
        /// The directories.
        paths: Vec<AbsPath>,
        /// Whether names that start with a dot are among it.
        hidden: bool,
    },
    /// It is only known once the line runs.
    Unknown,
}

impl Place {
    /// The place, unless a path of it is longer than what is looked at.
    pub(super) fn if_short(self) -> Self {
        match &self {
            Place::Paths(paths) | Place::Wildcard(paths) | Place::Below { paths, .. }
                if paths.iter().any(AbsPath::is_too_long) =>
            {
                Place::Unknown
            }
            _ => self,
        }
    }

    /// The place where wildcards find what `globs` says: with a name for each that they find then.
    pub(super) fn with(self, globs: Globs) -> Self {
        match self {
            Place::Wildcard(paths) if globs != Globs::default() => {
                let found: Option<Vec<Vec<AbsPath>>> =
                    paths.iter().map(|path| loosened(path, globs)).collect();
                found.map_or(Place::Unknown, |found| Place::Wildcard(found.concat()))
            }
            _ => self,
        }
    }
}

/// What a path with wildcards may be where they find names with a dot in front, or in another case.
fn loosened(path: &AbsPath, globs: Globs) -> Option<Vec<AbsPath>> {
    /// With more names that may start with a dot nobody looks at all of them.
    const MOST: usize = 64;
    let mut found = vec![AbsPath::root()];
    for name in path.components() {
        let is_wild = name.iter().any(|byte| b"*?[".contains(byte));
        let name = if is_wild && globs.folds_case { in_any_case(name) } else { name.to_vec() };
        let dotted = (globs.dots && name.first().is_some_and(|byte| b"*?[".contains(byte)))
            .then(|| [b".", name.as_slice()].concat());
        let names = std::iter::once(name).chain(dotted);
        found = names
            .flat_map(|name| found.iter().filter_map(move |path| path.join(&name).ok()).collect::<Vec<_>>())
            .collect();
        if found.len() > MOST {
            return None;
        }
    }
    Some(found)
}

fn in_any_case(name: &[u8]) -> Vec<u8> {
    let letter = |byte: &u8| match byte.is_ascii_alphabetic() {
        true => vec![b'[', byte.to_ascii_lowercase(), byte.to_ascii_uppercase(), b']'],
        false => vec![*byte],
    };
    name.iter().flat_map(letter).collect()
}

/// Where `word`, or the part `text` of its value, leads when `program` uses it as a path.
pub(super) fn place_of(word: &Word, text: Option<&str>, program: &Program, context: &Context<'_>) -> Place {
    match (text.or(word.value.as_deref()), home_relative(word)) {
        (Some(text), _) => {
            from_directories(text, &program.directory, context).map_or(Place::Unknown, Place::Paths)
        }
        (None, Some(rest)) => match context.home.map(|home| home.join(rest)) {
            Some(Ok(path)) if !path.is_too_long() => Place::Paths(vec![path]),
            _ => Place::Unknown,
        },
        (None, None) => wildcard(word, program, context).unwrap_or(Place::Unknown),
    }
}

/// Whether a word spells a path below the home directory in a way whose value is certain: `~/x`, `$HOME/x`.
pub(crate) fn is_home_spelled(word: &Word) -> bool {
    home_relative(word).is_some()
}

/// What follows the home directory in `~/x`, `$HOME/x`, `"${HOME}"/x`, without a slash in front.
fn home_relative(word: &Word) -> Option<String> {
    if word.value.is_some() || word.flags.glob || word.flags.brace {
        return None;
    }
    let plain = word.raw.replace('"', "");
    let starts_quoted = word.raw.starts_with('"');
    let rest = match plain.strip_prefix('~').filter(|_| !starts_quoted) {
        Some(rest) => rest,
        None => plain.strip_prefix("$HOME").or_else(|| plain.strip_prefix("${HOME}"))?,
    };
    let has_special = rest.contains(['$', '`', '\\', '\'', '*', '?', '[', '{']);
    (!has_special && (rest.is_empty() || rest.starts_with('/')))
        .then(|| rest.trim_start_matches('/').to_owned())
}

/// The paths that `text` names, from each directory that the program may run in.
fn from_directories(text: &str, directory: &Directory, context: &Context<'_>) -> Option<Vec<AbsPath>> {
    if text.starts_with('/') {
        return resolve(&AbsPath::root(), text, context);
    }
    let mut paths = Vec::new();
    for start in directory.known()? {
        paths.extend(resolve(start, text, context)?);
    }
    Some(paths)
}

/// The path `text` from `start`: by its letters, and where it goes up, also as the kernel goes up from where
/// links lead.
pub(super) fn resolve(start: &AbsPath, text: &str, context: &Context<'_>) -> Option<Vec<AbsPath>> {
    /// More steps up than these are looked at by nobody.
    const MOST_STEPS_UP: usize = 64;
    let join = |from: &AbsPath, text: &str| from.join(text).ok().filter(|path| !path.is_too_long());
    let path = join(start, text)?;
    let steps = text.split('/').filter(|name| *name == "..").count();
    if steps > MOST_STEPS_UP {
        return None;
    }
    let (mut physical, mut rest) = (start.clone(), text);
    for _ in 0..steps {
        let (down, behind) = split_at_step_up(rest)?;
        let above = (context.follow)(&join(&physical, down)?);
        physical = above.parent().unwrap_or_else(AbsPath::root);
        rest = behind;
    }
    let physical = join(&physical, rest)?;
    Some(if physical == path { vec![path] } else { vec![path, physical] })
}

/// What stands in front of the first `..`, and behind it. Neither starts with a slash.
fn split_at_step_up(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for name in text.split('/') {
        if name == ".." {
            return Some((text[..at].trim_start_matches('/'), text[at + 2..].trim_start_matches('/')));
        }
        at += name.len() + 1;
    }
    None
}

fn wildcard(word: &Word, program: &Program, context: &Context<'_>) -> Option<Place> {
    let flags = word.flags;
    let is_plain = flags.glob && !flags.dynamic && !flags.brace && !flags.tilde && !flags.quoted;
    if !is_plain || word.raw.contains('\\') || word.raw.split('/').any(|name| name == "..") {
        return None;
    }
    from_directories(&word.raw, &program.directory, context).map(Place::Wildcard)
}

/// What a pattern of git or of a searcher finds, whose wildcards stand for dots and slashes as well: at any depth below
/// the part that has none.
pub(super) fn anywhere(pattern: &str, program: &Program, context: &Context<'_>) -> Place {
    const WILD: &[char] = &['*', '?', '[', ']', '\\', '{', '}'];
    let (start, names) = match pattern.find(WILD) {
        Some(at) => pattern.split_at(pattern[..at].rfind('/').map_or(0, |slash| slash + 1)),
        None => pattern.split_at(pattern.rfind('/').map_or(0, |slash| slash + 1)),
    };
    let mut found = Vec::new();
    for name in alternatives(names) {
        // However much a wildcard stands for, the name ends as it does.
        let name = name.trim_end_matches('/');
        let last = name.rsplit('/').next().unwrap_or(name);
        let end = last.rfind(WILD).map_or(last, |at| &last[at + 1..]);
        let names = if last.contains(WILD) {
            [format!("*{end}"), format!(".*{end}")]
        } else {
            [last.into(), last.into()]
        };
        for name in names {
            let text = format!("{start}**/{name}");
            let Some(paths) = from_directories(&text, &program.directory, context) else {
                return Place::Unknown;
            };
            found.extend(paths);
        }
    }
    Place::Wildcard(found)
}

/// What a pattern with one list in braces stands for; the pattern itself where there are none, or more.
fn alternatives(pattern: &str) -> Vec<String> {
    let parts = pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (list, after))) if !list.contains('{') && !after.contains(['{', '}']) => {
            list.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        _ => vec![pattern.to_owned()],
    }
}

/// Whether something that the wildcards of `found` find may be covered by a rule that reads `rule`, both
/// as paths with their wildcards as written. Names that start with a dot are not found by a wildcard.
pub(super) fn may_meet(found: &AbsPath, rule: &AbsPath) -> bool {
    let found: Vec<&[u8]> = found.components().collect();
    let rule: Vec<&[u8]> = rule.components().collect();
    meets(&found, &rule)
}

/// Whether something in the directory `directory`, at any depth, may be covered by a rule that reads `rule`.
/// Names that start with a dot are only looked for when they are written there, or `hidden` ones are found too.
pub(super) fn may_lie_below(directory: &AbsPath, rule: &AbsPath, hidden: bool) -> bool {
    let rule: Vec<&[u8]> = rule.components().collect();
    let mut reached = vec![false; rule.len() + 1];
    reached[0] = true;
    pass_any_depth(&rule, &mut reached);
    for name in directory.components() {
        for at in (0..rule.len()).rev() {
            let stays = reached[at] && rule[at] == b"**";
            reached[at + 1] |= reached[at] && !stays && names_meet(name, rule[at]);
            reached[at] = stays;
        }
        pass_any_depth(&rule, &mut reached);
    }
    let is_found = |rest: &[&[u8]]| hidden || !rest.iter().any(|name| name.starts_with(b"."));
    (0..=rule.len()).any(|at| reached[at] && is_found(&rule[at..]))
}

fn meets(found: &[&[u8]], rule: &[&[u8]]) -> bool {
    let mut reached = vec![false; rule.len() + 1];
    reached[0] = true;
    pass_any_depth(rule, &mut reached);
    for name in found {
        // The rule covers what is below what it names.
        if reached[rule.len()] {
            return true;
        }
        if *name == b"**" {
            let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
            reached[first..].fill(true);
            reached[rule.len()] = false;
            continue;
        }
        for at in (0..rule.len()).rev() {
            let stays = reached[at] && rule[at] == b"**";
            reached[at + 1] |= reached[at] && !stays && names_meet(name, rule[at]);
            reached[at] = stays;
        }
        pass_any_depth(rule, &mut reached);
    }
    reached[rule.len()]
}

fn pass_any_depth(rule: &[&[u8]], reached: &mut [bool]) {
    for (at, name) in rule.iter().enumerate() {
        reached[at + 1] |= reached[at] && *name == b"**";
    }
}

/// Whether a name with wildcards may be that of a protected file.
pub(super) fn may_name_protected(name: &[u8]) -> bool {
    crate::protected::FILES.iter().any(|known| names_meet(name, known.as_bytes()))
}

/// Whether two names with wildcards have a name in common, or one could be told apart only by reading sets.
fn names_meet(found: &[u8], pattern: &[u8]) -> bool {
    let starts_wild = found.first().is_some_and(|c| b"*?[".contains(c));
    if starts_wild && pattern.first() == Some(&b'.') {
        return false;
    }
    let found = loosen(found, "\0");
    let pattern = loosen(pattern, "*");
    crate::command_pattern::may_meet(&pattern, &found)
}

/// A name with each of its wildcards written as `any`. A set may hold a `]` of its own, so that it ends at the
/// last one at the latest.
fn loosen(name: &[u8], any: &str) -> String {
    let name = String::from_utf8_lossy(name);
    let open = |text: &str| text.replace(['*', '?', '[', '\\'], any);
    match (name.find('['), name.rfind(']')) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{any}{}", open(&name[..start]), open(&name[end + 1..]))
        }
        _ => open(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_meet_rules() {
        for (found, rule, expected) in [
            ("/w/*.ts", "/w/**/.env", false),
            ("/w/*", "/w/**/.env", false),
            ("/w/.e*", "/w/**/.env", true),
            ("/w/.*", "/w/**/.env", true),
            ("/w/*.pem", "/w/**/*.pem", true),
            ("/w/k?y", "/w/key", true),
            ("/w/[ab]/x", "/w/a", true),
            ("/w/*/x", "/w/a", true),
            ("/w/*/x", "/v", false),
            ("/w/*", "/w/a/b", false),
            ("/home/*/.ssh", "/home/u/.ssh", true),
            ("/w/**/*v", "/w/a/b/.env", false),
            ("/w/**/.*v", "/w/a/b/.env", true),
            ("/w/**/.*v", "/w/**/.env", true),
            ("/w/**/.*.rs", "/w/**/.env", false),
            ("/w/**/.*", "/w/secret/**", true),
            ("/w/src/**/*", "/w/secret/**", false),
        ] {
            let path = |text: &str| AbsPath::new(text).expect("a path of a test");
            assert_eq!(may_meet(&path(found), &path(rule)), expected, "{found} and {rule}");
        }
    }
}
