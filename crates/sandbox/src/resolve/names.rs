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
const MOST_NAMED: usize = 20;

/// What was found of other names.
#[derive(Debug, Default)]
pub(super) struct Linked {
    protected: BTreeMap<AbsPath, String>,
    hidden: BTreeMap<(u64, u64), Hidden>,
}

/// A file with several names that a rule hides.
#[derive(Debug)]
struct Hidden {
    /// The names that were seen, all hidden.
    names: BTreeMap<AbsPath, String>,
    /// How many there are.
    links: u64,
}

impl Hidden {
    /// Whether there is a name that was not seen.
    fn has_open_name(&self) -> bool {
        (self.names.len() as u64) < self.links
    }

    /// Others may have removed names while they were counted.
    fn is_so_still(&self) -> bool {
        let found =
            self.names.keys().filter_map(|path| path.as_path().symlink_metadata().ok()).collect::<Vec<_>>();
        found.iter().any(|metadata| (found.len() as u64) < metadata.nlink())
    }
}

impl Linked {
    /// Looks at a protected file.
    pub(super) fn protected(&mut self, path: &AbsPath, origin: &Origin) {
        let has_more = |metadata: Metadata| metadata.is_file() && metadata.nlink() > 1;
        if path.as_path().symlink_metadata().is_ok_and(has_more) {
            self.protected.insert(path.clone(), origin.to_string());
        }
    }

    /// Looks at the files in a protected directory.
    pub(super) fn scripts(&mut self, directory: &AbsPath, origin: &Origin) {
        let entries = std::fs::read_dir(directory.as_path()).into_iter().flatten().flatten();
        for entry in entries {
            if let Ok(path) = AbsPath::try_from(entry.path().as_path()) {
                self.protected(&path, origin);
            }
        }
    }

    /// Looks through what a read deny hides, and says whether it was all.
    pub(super) fn hidden(&mut self, path: &AbsPath, node: Node, origin: &Origin, files: &FileSets) -> bool {
        if node == Node::File {
            self.add_hidden(path, origin, path.as_path().symlink_metadata().ok());
            return true;
        }
        self.walk(path, origin, files, MOST_ENTRIES, Linked::add_hidden)
    }

    /// Looks on in a directory that was not looked through, for further names of files that were found.
    pub(super) fn further_names(&mut self, path: &AbsPath, origin: &Origin, files: &FileSets) {
        if self.hidden.values().any(Hidden::has_open_name) {
            self.walk(path, origin, files, MOST_SEARCHED, Linked::add_further_name);
        }
    }

    fn walk(
        &mut self,
        path: &AbsPath,
        origin: &Origin,
        files: &FileSets,
        most: usize,
        add: impl Fn(&mut Self, &AbsPath, &Origin, Option<Metadata>),
    ) -> bool {
        let mut entries = WalkDir::new(path.as_path()).min_depth(1).into_iter();
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
                add(self, &at, origin, entry.metadata().ok());
            }
        }
        entries.next().is_none()
    }

    fn add_further_name(&mut self, path: &AbsPath, origin: &Origin, metadata: Option<Metadata>) {
        let is_known = |found: &Metadata| self.hidden.contains_key(&(found.dev(), found.ino()));
        if metadata.as_ref().is_some_and(is_known) {
            self.add_hidden(path, origin, metadata);
        }
    }

    fn add_hidden(&mut self, path: &AbsPath, origin: &Origin, metadata: Option<Metadata>) {
        let Some(metadata) = metadata.filter(|metadata| metadata.is_file() && metadata.nlink() > 1) else {
            return;
        };
        let identity = (metadata.dev(), metadata.ino());
        let hidden = self
            .hidden
            .entry(identity)
            .or_insert_with(|| Hidden { names: BTreeMap::new(), links: metadata.nlink() });
        hidden.names.insert(path.clone(), origin.to_string());
    }

    /// Refuses where a file has a name that no rule covers.
    pub(super) fn refuse(self) -> Result<(), Error> {
        let hidden = self
            .hidden
            .into_values()
            .filter(|hidden| hidden.has_open_name() && hidden.is_so_still())
            .flat_map(|hidden| hidden.names);
        let all: BTreeMap<AbsPath, String> = hidden.chain(self.protected).collect();
        let Some((_, rule)) = all.first_key_value() else { return Ok(()) };
        let mut named: Vec<String> =
            all.iter().take(MOST_NAMED).map(|(path, rule)| format!("{path} ({rule})")).collect();
        if all.len() > MOST_NAMED {
            named.push(format!("{} more", all.len() - MOST_NAMED));
        }
        Err(Error::Unenforceable {
            rule: rule.clone(),
            reason: format!(
                "a file with a second name (a hard link) can be reached by that: {}; find the other names with \
                 find -samefile, and remove them or replace the file by a copy",
                named.join(", ")
            ),
        })
    }
}
