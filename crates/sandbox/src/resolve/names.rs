//! Hard links: other names of files that rules are about.
//!
//! A mount covers a name. A denied or protected file that has a second name, which an earlier command may have made,
//! can be read or written by that: nothing but refusing to start keeps the rule. Where all names of a file are seen
//! below read-denied paths, they are all hidden, and nothing is wrong.

use crate::error::Error;
use palisade_policy::{AbsPath, Access, Effect, FileSets, Node, Origin};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use walkdir::WalkDir;

/// How many entries of one denied directory are looked at. It happens at the start of each command.
const MOST_ENTRIES: usize = 5_000;

/// How many entries are looked at where a file with several names was among the first ones: the others may all be
/// hidden with it.
const MOST_SEARCHED: usize = 1_000_000;

/// How many files an error names.
const MOST_NAMED: usize = 4;

/// How often files are looked for that have a name that is not hidden, as long as there are some: others link, rename
/// and remove files while they are counted, as `git` and `cargo` do.
const MOST_LOOKS: usize = 3;

/// A file, whatever its names: its device and its number there.
type FileId = (u64, u64);

/// Names, each with the rule that covers it.
type Names = BTreeMap<AbsPath, String>;

/// A path that a read deny hides.
#[derive(Debug)]
pub(super) struct Denied<'a> {
    pub(super) path: &'a AbsPath,
    pub(super) node: Node,
    pub(super) origin: &'a Origin,
}

/// Protected files that have other names.
#[derive(Debug, Default)]
pub(super) struct Linked(Names);

impl Linked {
    /// Looks at a protected file.
    pub(super) fn look_at(&mut self, path: &AbsPath, origin: &Origin) {
        if path.as_path().symlink_metadata().is_ok_and(|metadata| has_more(&metadata)) {
            self.0.insert(path.clone(), origin.to_string());
        }
    }

    /// Looks at the files in a protected directory.
    pub(super) fn look_into(&mut self, directory: &AbsPath, origin: &Origin) {
        let entries = std::fs::read_dir(directory.as_path()).into_iter().flatten().flatten();
        for entry in entries {
            if let Ok(path) = AbsPath::try_from(entry.path().as_path()) {
                self.look_at(&path, origin);
            }
        }
    }

    /// Refuses where one of these files, or one that is `denied`, has a name that no rule covers. Names the directories
    /// that hold too much to be looked through.
    pub(super) fn refuse<'a>(
        self,
        denied: &'a [Denied<'a>],
        files: &FileSets,
    ) -> Result<Vec<&'a Denied<'a>>, Error> {
        let Look { open, cut_off } = Look::at(denied, files);
        let open = still_open(open, || Look::at(denied, files).open);
        let all: Names = open.into_values().flatten().chain(self.0).collect();
        all.first_key_value().map_or(Ok(cut_off), |(_, rule)| Err(refusal(rule, &all)))
    }
}

/// The files that every look finds open.
fn still_open(
    mut open: BTreeMap<FileId, Names>,
    mut look_again: impl FnMut() -> BTreeMap<FileId, Names>,
) -> BTreeMap<FileId, Names> {
    for _ in 1..MOST_LOOKS {
        if open.is_empty() {
            break;
        }
        let again = look_again();
        open.retain(|id, _| again.contains_key(id));
    }
    open
}

/// One look at everything that is denied.
struct Look<'a> {
    /// The files of which not all names were seen below denied paths: those names that were.
    open: BTreeMap<FileId, Names>,
    /// The directories that hold too much.
    cut_off: Vec<&'a Denied<'a>>,
}

impl<'a> Look<'a> {
    fn at(denied: &'a [Denied<'a>], files: &FileSets) -> Self {
        let mut seen = Seen::default();
        let is_cut_off = |one: &&Denied<'_>| !seen.look_through(one, files, MOST_ENTRIES);
        let cut_off: Vec<_> = denied.iter().filter(is_cut_off).collect();
        for one in &cut_off {
            if seen.open().next().is_some() {
                seen.only_known = true;
                seen.look_through(one, files, MOST_SEARCHED);
            }
        }
        Look { open: seen.open().map(|(id, file)| (*id, file.names.clone())).collect(), cut_off }
    }
}

/// The files with several names that were seen.
#[derive(Default)]
struct Seen {
    files: BTreeMap<FileId, SeenFile>,
    /// Whether files that were not seen before do not matter.
    only_known: bool,
}

struct SeenFile {
    /// The names that were seen, all hidden.
    names: Names,
    /// How many there are.
    links: u64,
}

impl Seen {
    /// `false` when there is more than is looked at.
    fn look_through(&mut self, denied: &Denied<'_>, files: &FileSets, most: usize) -> bool {
        if denied.node == Node::File {
            self.add(denied.path, denied, denied.path.as_path().symlink_metadata().ok());
            return true;
        }
        let mut entries = WalkDir::new(denied.path.as_path()).min_depth(1).into_iter();
        for _ in 0..most {
            let Some(entry) = entries.next() else { return true };
            // What cannot be looked into is not the command's to look into either.
            let Ok(entry) = entry else { continue };
            let Ok(at) = AbsPath::try_from(entry.path()) else { continue };
            if files.judge(Access::Read, &at).effect == Effect::Allow {
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
            } else if entry.file_type().is_file() {
                self.add(&at, denied, entry.metadata().ok());
            }
        }
        entries.next().is_none()
    }

    fn add(&mut self, path: &AbsPath, denied: &Denied<'_>, metadata: Option<Metadata>) {
        let Some(metadata) = metadata.filter(has_more) else { return };
        let id = (metadata.dev(), metadata.ino());
        if self.only_known && !self.files.contains_key(&id) {
            return;
        }
        let new = SeenFile { names: Names::new(), links: metadata.nlink() };
        self.files.entry(id).or_insert(new).names.insert(path.clone(), denied.origin.to_string());
    }

    fn open(&self) -> impl Iterator<Item = (&FileId, &SeenFile)> {
        self.files.iter().filter(|(_, file)| (file.names.len() as u64) < file.links)
    }
}

fn has_more(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.nlink() > 1
}

/// Names some files, and each rule but `rule` once: where it first counts.
fn refusal(rule: &str, names: &Names) -> Error {
    let (mut named, mut last) = (String::new(), rule);
    for (path, by) in names.iter().take(MOST_NAMED) {
        let comma = if named.is_empty() { "" } else { ", " };
        let by_another = if by == last { String::new() } else { format!(" (by {by})") };
        named.push_str(&format!("{comma}{path}{by_another}"));
        last = by;
    }
    if names.len() > MOST_NAMED {
        named.push_str(&format!(" and {} more", names.len() - MOST_NAMED));
    }
    let is_hidden = |rule: &String| !rule.starts_with("built-in ");
    let or_else = if names.values().any(is_hidden) {
        "; where they are to stay, hide every name of the file, open what holds it (allowRead), or hide less"
    } else {
        ""
    };
    Error::Unenforceable {
        rule: rule.to_owned(),
        reason: format!(
            "a file with a second name (a hard link) can be reached by that: {named}; find the other names with \
             find -samefile, and remove them or replace the file by a copy{or_else}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_a_rule_once_and_some_of_many_files() {
        let names = |rules: &[&str]| -> Names {
            let named = rules.iter().enumerate();
            named
                .map(|(at, rule)| (AbsPath::new(format!("/h/{at}")).expect("absolute"), rule.to_string()))
                .collect()
        };
        let said = refusal("deny \"/h\"", &names(&["deny \"/h\""; 13])).to_string();
        assert_eq!(said.matches("deny").count(), 1, "{said}");
        assert!(said.contains(": /h/0, /h/1, /h/10, /h/11 and 9 more; "), "{said}");
        let said = refusal("a", &names(&["a", "b", "b", "a"])).to_string();
        assert!(
            said.contains(": /h/0, /h/1 (by b), /h/2, /h/3 (by a); ") && said.contains("or hide less"),
            "{said}"
        );
        let said = refusal("built-in x", &names(&["built-in x"])).to_string();
        assert!(!said.contains("hide"), "nothing hides it: {said}");
    }

    #[test]
    fn a_file_is_open_that_every_look_finds_so() {
        let found = |ids: &[u64]| -> BTreeMap<FileId, Names> {
            ids.iter().map(|id| ((0, *id), Names::new())).collect()
        };
        for (looks, open) in [
            ([&[1, 2][..], &[1, 2], &[2, 3]], &[2][..]),
            ([&[1], &[2], &[1]], &[]),
            ([&[], &[1], &[1]], &[]),
            ([&[1, 2], &[2, 1], &[1, 2]], &[1, 2]),
        ] {
            let mut again = looks[1..].iter().map(|ids| found(ids));
            let still = still_open(found(looks[0]), || again.next().expect("no more looks than that"));
            assert_eq!(still, found(open), "{looks:?}");
        }
    }
}
