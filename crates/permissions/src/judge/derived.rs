//! Files that a program writes beside those that its words name, under names that it makes out of them: the copy that
//! `sed -i.bak` keeps, what `gunzip` unpacks.
//!
//! For all of its questions this over-matches: each written file counts as having such a copy, by each suffix that the
//! words may give. A line can name many of both, and each copy is a place to look at, so what is too much to look at is
//! not known.

use super::Context;
use super::access::Touch;
use super::place::{Place, place_of};
use crate::program::Program;
use crate::shell::Word;
use palisade_policy::{AbsPath, Access};

/// Programs that take the ending from the name of a file when they unpack it.
const UNPACKERS: &[&str] =
    &["bunzip2", "bzip2", "gunzip", "gzip", "lzma", "uncompress", "unlzma", "unxz", "unzstd", "xz", "zstd"];
/// The endings.
const ENDINGS: &[&[u8]] =
    &[b".gz", b"-gz", b".z", b"-z", b"_z", b".Z", b".bz2", b".bz", b".xz", b".lzma", b".zst"];

/// More suffixes than these are not told apart: the program takes the last.
const MOST_SUFFIXES: usize = 8;
/// Of more copies than these of one program, nobody looks at each.
const MOST_COPIES: usize = 1_000;

/// What `program` writes beside `written`, the files that its words name.
pub(super) fn derived(program: &Program, written: &[Touch], context: &Context<'_>) -> Vec<Touch> {
    let name = program.name.as_deref().unwrap_or_default();
    let suffixes = suffixes(name, program);
    let unpacks = UNPACKERS.contains(&name);
    if suffixes.is_empty() && !unpacks {
        return Vec::new();
    }
    let (mut found, mut left) = (Vec::new(), MOST_COPIES);
    for touch in written.iter().filter(|touch| touch.access == Access::Write) {
        let Place::Paths(paths) = &touch.place else { continue };
        let count = paths.len() * (suffixes.len() + usize::from(unpacks));
        if count > left {
            found.push(Touch::new(Access::Write, Place::Unknown, &touch.text, context));
            break;
        }
        left -= count;
        let mut add = |place| found.push(Touch::new(Access::Write, place, &touch.text, context));
        for suffix in &suffixes {
            let copies = paths.iter().flat_map(|path| copies(path, suffix.as_deref(), program, context));
            copies.for_each(&mut add);
        }
        let unpacked: Vec<AbsPath> = paths.iter().filter(|_| unpacks).flat_map(unpacked).collect();
        if !unpacked.is_empty() {
            add(Place::Paths(unpacked));
        }
    }
    found
}

/// What the options of a program have it put behind the names of copies that it keeps; `None` for one that is not
/// certain, and instead of very many.
fn suffixes<'p>(name: &str, program: &'p Program) -> Vec<Option<&'p str>> {
    let (letter, long) = match name {
        "sed" => ('i', "--i"),
        "cp" | "install" | "ln" | "mv" | "rsync" | "gzip" | "gunzip" | "xz" | "unxz" => ('S', "--su"),
        _ => return Vec::new(),
    };
    let mut found: Vec<Option<&str>> = Vec::new();
    for (at, word) in program.words.iter().enumerate().skip(1) {
        let next = || program.words.get(at + 1).map(|next| next.value.as_deref());
        // A wildcard that finds nothing stays what it is.
        let value = word.value.as_deref().unwrap_or(&word.raw);
        let given = match value.strip_prefix('-') {
            Some(option) if option.starts_with('-') => match value.split_once('=') {
                Some((option, given)) if option.starts_with(long) => Some(given),
                None if value.starts_with(long) => Some(""),
                _ => None,
            },
            Some(letters) => letters.split_once(letter).map(|(_, given)| given),
            None => None,
        };
        let suffix = match given {
            // `sed` takes it from the same word only.
            Some("") if letter == 'S' => next(),
            Some("") | None => None,
            Some(given) => Some(Some(given)),
        };
        found.extend(suffix.filter(|suffix| !found.contains(suffix)));
        if found.len() > MOST_SUFFIXES {
            return vec![None];
        }
    }
    found
}

/// The places of the copies of `path`. A star stands for its name, and a slash leads elsewhere.
fn copies(path: &AbsPath, suffix: Option<&str>, program: &Program, context: &Context<'_>) -> Vec<Place> {
    let (Some(suffix), Some(name)) = (suffix, path.file_name()) else { return vec![Place::Unknown] };
    let name = String::from_utf8_lossy(name);
    let copy = match suffix.contains('*') {
        true => suffix.replace('*', &name),
        false => format!("{name}{suffix}"),
    };
    let beside = path.parent().and_then(|directory| directory.join(&copy).ok());
    let mut places: Vec<Place> = beside.map(|path| Place::Paths(vec![path])).into_iter().collect();
    if copy.contains('/') {
        places.push(place_of(&Word::literal(&copy), None, program, context));
    }
    places
}

/// The path without the ending of a packed file.
fn unpacked(path: &AbsPath) -> Option<AbsPath> {
    let bytes = path.as_bytes();
    let ending = ENDINGS.iter().find(|ending| bytes.ends_with(ending))?;
    AbsPath::new(&bytes[..bytes.len() - ending.len()]).ok()
}
