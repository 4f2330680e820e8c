//! What a program that copies, moves or links brings, and where to, by its words.
//!
//! Nothing is certain about whether a target is a directory but where the words say so; elsewhere both are looked at.

use super::Context;
use super::place::{Place, place_of, resolve};
use crate::program::{Operands, Program, keeps_first};
use crate::removal::may_find;
use crate::shell::Word;
use palisade_policy::AbsPath;

/// What one program brings.
#[derive(Debug)]
pub(super) struct Copied {
    /// Where it brings them; `None` where that is not known.
    pub(super) targets: Option<Vec<AbsPath>>,
    pub(super) sources: Vec<Source>,
    /// Whether it brings more than the sources.
    pub(super) is_open: bool,
    /// Whether every target is a directory, in which the sources keep their names.
    pub(super) is_within: bool,
}

/// Something that is brought.
#[derive(Debug)]
pub(super) enum Source {
    /// A file as it is: a link stays one.
    Itself {
        /// Where it is.
        path: AbsPath,
        /// Whether what is in it comes to the target, whatever that is.
        is_contents: bool,
    },
    /// What a wildcard finds.
    Found(Word),
    /// A new link with that text.
    Link(Box<str>),
}

/// How the programs take their words.
struct Manner<'p> {
    words: &'p [Word],
    /// Whether what it brings as it is may be a link.
    keeps: bool,
    /// Whether it makes links whose text is read where they lie.
    links: bool,
    /// Whether it makes links to what the words name.
    refers: bool,
    /// Whether the target is never a directory that something is brought into.
    renames: bool,
    /// Whether the directories in front of a name come along.
    with_parents: bool,
}

impl Copied {
    /// `None` for a program that brings no link, as far as its words say. Of more than `most` sources none is looked at.
    pub(super) fn of(program: &Program, most: usize, context: &Context<'_>) -> Option<Self> {
        let manner = Manner::of(program)?;
        let (operands, target) = manner.operands();
        let here = Word::literal(".");
        let (sources, target, is_named) = match (target, operands.split_last()) {
            (Some(named), _) => (&operands[..], named, true),
            (None, Some((only, []))) if manner.links => (std::slice::from_ref(only), (&here, None), true),
            (None, Some((last, sources))) => (sources, (*last, None), false),
            (None, None) => return None,
        };
        let text = target.1.or(target.0.value.as_deref()).unwrap_or(&target.0.raw);
        let are_several = sources.iter().filter(|word| word.value.is_some()).count() > 1;
        let is_directory = text.ends_with('/') || matches!(text.rsplit('/').next(), Some("." | ".."));
        let is_within = !manner.renames && (is_named || are_several || is_directory);
        let mut copied = Copied {
            targets: targets(place_of(target.0, target.1, program, context), context),
            sources: Vec::new(),
            is_open: program.operands == Operands::More || sources.len() > most || manner.with_parents,
            is_within,
        };
        copied.is_within &= copied.targets.is_some();
        if !copied.is_open {
            sources.iter().for_each(|word| copied.add(word, &manner, program, context));
        }
        Some(copied)
    }

    /// Links anywhere, to anywhere.
    pub(super) fn anything() -> Self {
        Copied { targets: None, sources: Vec::new(), is_open: true, is_within: false }
    }

    fn add(&mut self, word: &Word, manner: &Manner<'_>, program: &Program, context: &Context<'_>) {
        if let Some(text) = word.value.as_deref().filter(|_| manner.links) {
            self.sources.push(Source::Link(text.into()));
        }
        let place = place_of(word, None, program, context);
        let refers = manner.refers || (manner.links && word.value.is_none());
        match place {
            Place::Paths(paths) => self.sources.extend(paths.into_iter().flat_map(|path| {
                let link = refers.then(|| Source::Link(String::from_utf8_lossy(path.as_bytes()).into()));
                let is_contents = word.raw.ends_with(['.', '/']);
                [link, manner.keeps.then_some(Source::Itself { path, is_contents })].into_iter().flatten()
            })),
            Place::Wildcard(_) if !refers => self.sources.push(Source::Found(word.clone())),
            _ => self.is_open |= manner.keeps || refers,
        }
    }
}

impl Source {
    /// Whether it may be called so where it keeps its name.
    pub(super) fn may_be_called(&self, name: &[u8]) -> bool {
        match self {
            Source::Itself { path, .. } => path.file_name() == Some(name),
            Source::Found(word) => may_find(word, &String::from_utf8_lossy(name)),
            Source::Link(text) => {
                let text = text.trim_end_matches('/');
                text.rsplit('/').next().unwrap_or(text).as_bytes() == name
            }
        }
    }

    /// Where a link with that text in `directory` leads; `None` where nobody looks.
    pub(super) fn led(text: &str, directory: &AbsPath, context: &Context<'_>) -> Option<Vec<AbsPath>> {
        let start = if text.starts_with('/') { &AbsPath::root() } else { directory };
        resolve(start, text, context)
    }
}

impl<'p> Manner<'p> {
    fn of(program: &'p Program) -> Option<Self> {
        let words = program.words.get(1..)?;
        let has = |letters: &[char], long: &[&str]| words.iter().any(|word| has(word, letters, long));
        let given = |letters: &[char], long: &[&str]| {
            words.iter().any(|word| word.value.is_some() && self::has(word, letters, long))
        };
        let renames = given(&['T'], &["--no-t"]);
        let plain = Manner { words, keeps: true, links: false, refers: false, renames, with_parents: false };
        let name = program.name.as_deref()?;
        Some(match name.strip_prefix('g').filter(|name| ["cp", "ln", "mv"].contains(name)).unwrap_or(name) {
            "mv" => plain,
            "link" => Manner { renames: true, ..plain },
            "rsync" => Manner { renames: false, with_parents: given(&['R'], &["--rel"]), ..plain },
            // Without `-s` it gives a link another name; with `-r` the text is read from where it runs.
            "ln" => Manner { links: has(&['s'], &["--s"]), refers: has(&['r'], &["--r"]), ..plain },
            "cp" => {
                let refers = has(&['s'], &["--s"]);
                let keeps = has(&['r', 'R', 'a', 'd', 'P', 'l'], &["--a", "--n", "--p", "--r", "--l"]);
                let with_parents = given(&[], &["--par"]);
                (keeps || refers).then_some(Manner { keeps, refers, with_parents, ..plain })?
            }
            "mount" | "bindfs" => Manner { keeps: false, refers: true, renames: true, ..plain },
            "git" => {
                let at = words.iter().position(|word| word.value.as_deref() == Some("mv"))?;
                Manner { words: &words[at + 1..], renames: false, ..plain }
            }
            _ => return None,
        })
    }

    /// The operands, and the target where an option names it: the word, and the part of it.
    #[allow(clippy::type_complexity)]
    fn operands(&self) -> (Vec<&'p Word>, Option<(&'p Word, Option<&'p str>)>) {
        let (mut operands, mut target, mut at) = (Vec::new(), None, 0);
        while let Some(word) = self.words.get(at) {
            at += 1;
            let text = word.value.as_deref().unwrap_or_default();
            match text.strip_prefix('-') {
                Some("-") => {
                    operands.extend(&self.words[at..]);
                    break;
                }
                Some(long) if long.starts_with("-t") => {
                    let attached = long.split_once('=').map(|(_, value)| (word, Some(value)));
                    at += usize::from(attached.is_none());
                    target = attached.or(self.words.get(at - 1).map(|next| (next, None)));
                }
                Some(long) if long.starts_with('-') => {
                    at += usize::from(long.starts_with("-su") && !long.contains('='));
                }
                Some(letters) if !letters.is_empty() => {
                    let value = letters.find(['t', 'S']).map(|at| (&letters[at..=at], &letters[at + 1..]));
                    let next = value.is_some_and(|(_, value)| value.is_empty());
                    at += usize::from(next);
                    if let Some(("t", value)) = value {
                        let apart = || self.words.get(at - 1).map(|next| (next, None));
                        target = if next { apart() } else { Some((word, Some(value))) };
                    }
                }
                _ => operands.push(word),
            }
        }
        (operands, target)
    }
}

/// Whether a word is one of those options, or may be.
fn has(word: &Word, letters: &[char], long: &[&str]) -> bool {
    match word.value.as_deref() {
        // A wildcard that may turn out to be an option.
        None => !keeps_first(word),
        Some(text) if text.starts_with("--") => long.iter().any(|start| text.starts_with(start)),
        Some(text) => text.starts_with('-') && text.contains(letters),
    }
}

/// The paths of a target, also as links have them.
fn targets(place: Place, context: &Context<'_>) -> Option<Vec<AbsPath>> {
    let Place::Paths(paths) = place else { return None };
    let mut targets: Vec<AbsPath> = paths.iter().map(context.follow).chain(paths.iter().cloned()).collect();
    targets.sort();
    targets.dedup();
    Some(targets)
}
