//! What exists now that a wildcard of a read list matches.
//!
//! Links are not followed, ignore files hide nothing, and a directory that cannot be looked into counts as a
//! match of a deny: what is in it is then hidden as a whole.

use crate::error::Error;
use palisade_policy::{AbsPath, FileRule};
use walkdir::WalkDir;

/// How many entries one rule may make the resolver look at. At a few hundred thousand entries a second this is
/// a few seconds at the start of each command.
const MOST_ENTRIES: usize = 1_000_000;

/// The paths that `rule`'s wildcards match. Nothing below a match is looked at: a match covers it.
pub(super) fn matches(rule: &FileRule) -> Result<Vec<AbsPath>, Error> {
    let Some(from) = rule.pattern.search_root() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut seen = 0;
    let mut entries = WalkDir::new(from.as_path()).follow_root_links(true).into_iter();
    while let Some(entry) = entries.next() {
        seen += 1;
        if seen > MOST_ENTRIES {
            return Err(Error::Unenforceable {
                rule: rule.origin.to_string(),
                reason: format!(
                    "more than {MOST_ENTRIES} files below {from} would have to be looked at; name a narrower directory"
                ),
            });
        }
        match entry {
            Ok(entry) => {
                let Ok(path) = AbsPath::try_from(entry.path()) else { continue };
                let is_dir = entry.file_type().is_dir();
                if rule.pattern.names(&path) {
                    if is_dir {
                        entries.skip_current_dir();
                    }
                    found.push(path);
                } else if is_dir && belongs_to_the_kernel(&path) {
                    entries.skip_current_dir();
                }
            }
            Err(error) => found.extend(unreadable(&error)),
        }
    }
    Ok(found)
}

/// `/proc` and `/sys` hold no files of a user's, and no end of entries.
fn belongs_to_the_kernel(path: &AbsPath) -> bool {
    matches!(path.as_bytes(), b"/proc" | b"/sys")
}

/// The directory that could not be read. One that has vanished meanwhile needs no hiding.
fn unreadable(error: &walkdir::Error) -> Option<AbsPath> {
    let gone = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    error.path().filter(|_| !gone).and_then(|path| AbsPath::try_from(path).ok())
}
