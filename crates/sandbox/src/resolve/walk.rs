//! What exists now that wildcards of a read list match.
//!
//! Nothing is looked at where no match can lie. Links are not followed, ignore files hide nothing, and a directory that
//! cannot be looked into, or that lies deeper than any that a person makes, counts as a match of a deny where it may hold
//! one: what is in it is then hidden as a whole.
//!
//! A repository's deny counts even where its author is not trusted, and each command waits for the walk. So rules that
//! look in the same place share one walk, and one command has one [`Budget`] for all; when that is used up the command
//! is refused, with the rule's name.

use super::real::real_path;
use crate::error::Error;
use palisade_policy::{AbsPath, FileRule};
use std::time::{Duration, Instant};
use walkdir::{DirEntry, WalkDir};

/// How many entries one command may make the resolver look at.
const MOST_ENTRIES: usize = 1_000_000;
/// For how long.
const MOST_TIME: Duration = Duration::from_secs(30);
/// The clock is read once for so many entries.
const ENTRIES_PER_LOOK: usize = 512;

/// How long a directory's path may be for what is in it to be looked at. The kernel takes no path of more than 4,096
/// bytes, so what lies much deeper can neither be found nor mounted upon; a command gets there step by step.
const MOST_PATH: usize = 2_000;

/// What is left of the limits for one command.
#[derive(Debug)]
pub(super) struct Budget {
    entries: usize,
    started: Option<Instant>,
}

/// The paths that each rule's wildcards match, in the order of `rules`. Nothing below a match of a rule is looked at
/// for that rule: a match covers it.
pub(super) fn matches(rules: &[FileRule], budget: &mut Budget) -> Result<Vec<Vec<AbsPath>>, Error> {
    let mut found = vec![Vec::new(); rules.len()];
    for walk in Walk::plan(rules) {
        walk.take(budget, &mut found)?;
    }
    Ok(found)
}

impl Default for Budget {
    fn default() -> Self {
        Budget { entries: MOST_ENTRIES, started: None }
    }
}

impl Budget {
    /// Counts one entry.
    fn spend(&mut self) -> Result<(), String> {
        let started = *self.started.get_or_insert_with(Instant::now);
        self.entries =
            self.entries.checked_sub(1).ok_or_else(|| format!("more than {MOST_ENTRIES} files"))?;
        if self.entries.is_multiple_of(ENTRIES_PER_LOOK) && started.elapsed() > MOST_TIME {
            return Err(format!("more files than {} seconds are enough for", MOST_TIME.as_secs()));
        }
        Ok(())
    }
}

/// One walk, for all rules that look below one directory.
struct Walk<'a> {
    from: AbsPath,
    /// Whether no link leads to `from`, so that what lies below it is found under the names that rules give it.
    is_real: bool,
    rules: Vec<Seeker<'a>>,
}

/// A rule during a walk.
struct Seeker<'a> {
    place: usize,
    rule: &'a FileRule,
    /// How deep the directory lies that it matched and that the walk is in.
    satisfied_at: Option<usize>,
}

impl<'a> Walk<'a> {
    /// The rules with wildcards, grouped.
    fn plan(rules: &'a [FileRule]) -> Vec<Self> {
        let from = |(place, rule): (usize, &'a FileRule)| {
            Some((rule.pattern.search_root()?, Seeker { place, rule, satisfied_at: None }))
        };
        let mut seekers: Vec<_> = rules.iter().enumerate().filter_map(from).collect();
        // A directory stands before what is below it.
        seekers.sort_by_key(|(from, _)| *from);
        let mut walks: Vec<Self> = Vec::new();
        for (from, seeker) in seekers {
            let is_real = real_path(from).is_ok_and(|real| real == *from) && !is_made_anew_below(from);
            match walks.iter_mut().find(|walk| walk.finds(from, is_real)) {
                Some(walk) => walk.rules.push(seeker),
                None => walks.push(Walk { from: from.clone(), is_real, rules: vec![seeker] }),
            }
        }
        walks
    }

    /// Whether this walk comes by all that is to be seen in `directory`.
    fn finds(&self, directory: &AbsPath, is_real: bool) -> bool {
        self.from == *directory || (self.is_real && is_real && self.from.covers(directory))
    }

    fn take(mut self, budget: &mut Budget, found: &mut [Vec<AbsPath>]) -> Result<(), Error> {
        let mut entries = WalkDir::new(self.from.as_path()).follow_root_links(true).into_iter();
        while let Some(entry) = entries.next() {
            budget.spend().map_err(|much| self.refuse(&much))?;
            match entry {
                Ok(entry) => {
                    let is_sought_below = self.look_at(&entry, found);
                    if !entry.file_type().is_dir() {
                        continue;
                    }
                    if let Some(path) = too_deep(&entry).filter(|_| is_sought_below) {
                        self.hide_unreadable(&path, entry.depth(), found);
                        entries.skip_current_dir();
                    } else if !is_sought_below {
                        entries.skip_current_dir();
                    }
                }
                Err(error) => {
                    if let Some(path) = unreadable(&error) {
                        self.hide_unreadable(&path, error.depth(), found);
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes which rules match an entry. `false` when nothing below it matters.
    fn look_at(&mut self, entry: &DirEntry, found: &mut [Vec<AbsPath>]) -> bool {
        let Ok(path) = AbsPath::try_from(entry.path()) else { return true };
        if entry.depth() > 0 && is_made_anew(&path) {
            return false;
        }
        let mut is_sought_below = false;
        for seeker in &mut self.rules {
            if seeker.is_satisfied(entry.depth()) {
                continue;
            }
            if seeker.rule.pattern.names(&path) {
                found[seeker.place].push(path.clone());
                seeker.satisfied_at = Some(entry.depth());
            } else {
                is_sought_below |= seeker.may_find_below(&path);
            }
        }
        is_sought_below
    }

    fn hide_unreadable(&mut self, path: &AbsPath, depth: usize, found: &mut [Vec<AbsPath>]) {
        for seeker in &mut self.rules {
            // The error of a directory comes after the entry itself, and is as deep.
            let is_satisfied = seeker.satisfied_at.is_some_and(|at| at <= depth);
            if seeker.may_find_below(path) && !is_satisfied {
                found[seeker.place].push(path.clone());
            }
        }
    }

    fn refuse(&self, much: &str) -> Error {
        let rule = self.rules.first().map(|seeker| seeker.rule.origin.to_string()).unwrap_or_default();
        let reason =
            format!("{much} below {} would have to be looked at; name a narrower directory", self.from);
        Error::Unenforceable { rule, reason }
    }
}

impl Seeker<'_> {
    /// Whether what lies below `directory` may match.
    fn may_find_below(&self, directory: &AbsPath) -> bool {
        self.rule.pattern.may_name_below(directory)
    }

    /// Whether an entry so deep lies in what the rule matched already.
    fn is_satisfied(&mut self, depth: usize) -> bool {
        if self.satisfied_at.is_some_and(|at| depth <= at) {
            self.satisfied_at = None;
        }
        self.satisfied_at.is_some()
    }
}

/// `/proc`, `/sys` and `/dev` hold no files of a user's. Commands get a `/proc` and a `/dev` of their own, and what `/sys`
/// and `/proc` hold has no end.
fn is_made_anew(path: &AbsPath) -> bool {
    matches!(path.as_bytes(), b"/proc" | b"/sys" | b"/dev")
}

fn is_made_anew_below(path: &AbsPath) -> bool {
    path.ancestors().any(|above| is_made_anew(&above))
}

/// The directory, if it is too deep to be looked into.
fn too_deep(entry: &DirEntry) -> Option<AbsPath> {
    AbsPath::try_from(entry.path()).ok().filter(|path| path.as_bytes().len() > MOST_PATH)
}

/// The directory that could not be read. One that has vanished meanwhile needs no hiding.
fn unreadable(error: &walkdir::Error) -> Option<AbsPath> {
    let gone = error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    error.path().filter(|_| !gone).and_then(|path| AbsPath::try_from(path).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{Anchor, Origin, PathPattern};

    fn rules(base: &AbsPath, texts: &[&str]) -> Vec<FileRule> {
        let anchor = Anchor { base: base.clone(), home: None };
        let rule = |text: &&str| FileRule {
            pattern: PathPattern::parse(text, &anchor).expect(text),
            origin: Origin::flag("--test", text),
        };
        texts.iter().map(rule).collect()
    }

    #[test]
    fn rules_that_share_a_walk_each_find_their_own() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let real = std::fs::canonicalize(directory.path()).expect("exists");
        let base = AbsPath::try_from(real.as_path()).expect("absolute");
        let at = |relative: &str| base.join(relative).expect("no NUL");
        for path in ["a/secret/.env", "a/b/.env", "c/.env", "c/key.pem"] {
            std::fs::create_dir_all(at(path).parent().expect("below").as_path()).expect("writable");
            std::fs::write(at(path).as_path(), "").expect("writable");
        }
        std::os::unix::fs::symlink("c", at("link").as_path()).expect("writable");
        let texts = ["**/.env", "**/secret", "a/*/.env", "c/*.pem", "link/*.pem", "*"];
        let rules = rules(&base, &texts);
        assert_eq!(Walk::plan(&rules).len(), 2, "but for the link all lie below the first");
        let mut budget = Budget::default();
        let mut found = matches(&rules, &mut budget).expect("few files");
        let expected: [&[&str]; 6] = [
            &["a/b/.env", "a/secret/.env", "c/.env"],
            &["a/secret"],
            &["a/b/.env", "a/secret/.env"],
            &["c/key.pem"],
            &["link/key.pem"],
            &["a", "c", "link"],
        ];
        for ((found, expected), text) in found.iter_mut().zip(expected).zip(texts) {
            found.sort();
            assert_eq!(*found, expected.iter().map(|path| at(path)).collect::<Vec<_>>(), "{text}");
        }
        assert!(MOST_ENTRIES - budget.entries < 25, "one look at each entry: {budget:?}");
    }

    /// A home directory holds millions of files, and `~/*.pem` is about its first hundred.
    #[test]
    fn nothing_is_looked_at_where_no_match_can_lie() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = AbsPath::try_from(directory.path()).expect("absolute");
        for path in ["a/x/1/2/3/4", "b/y/1/2/3/4", "[ab]/y/1/2/3/4"] {
            let path = base.join(path).expect("no NUL");
            std::fs::create_dir_all(path.as_path()).expect("writable");
        }
        for (text, looks, matched) in [("*.pem", 4, 0), ("a*/?/2", 6, 0), ("?/x", 6, 1), ("[ab]/y", 7, 2)] {
            let mut budget = Budget::default();
            let found = matches(&rules(&base, &[text]), &mut budget).expect("few files");
            assert_eq!((MOST_ENTRIES - budget.entries, found[0].len()), (looks, matched), "{text}");
        }
    }

    /// A command can make a tree that is deeper than any path is long.
    #[test]
    fn what_lies_too_deep_is_hidden_as_a_whole() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = AbsPath::try_from(directory.path()).expect("absolute");
        let name = "d".repeat(100);
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
        let mut at = rustix::fs::open(base.as_path(), flags, rustix::fs::Mode::empty()).expect("exists");
        for _ in 0..60 {
            rustix::fs::mkdirat(&at, &name, rustix::fs::Mode::RWXU).expect("writable");
            at = rustix::fs::openat(&at, &name, flags, rustix::fs::Mode::empty()).expect("exists");
        }
        let found =
            matches(&rules(&base, &["**/.env", "other/*"]), &mut Budget::default()).expect("few files");
        let lengths: Vec<Vec<usize>> =
            found.iter().map(|paths| paths.iter().map(|path| path.as_bytes().len()).collect()).collect();
        assert!(lengths[0].len() == 1 && (2_000..2_200).contains(&lengths[0][0]), "{lengths:?}");
        assert_eq!(lengths[1], [0; 0]);
    }

    #[test]
    fn a_budget_that_is_used_up_names_the_rule() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = AbsPath::try_from(directory.path()).expect("absolute");
        let rules = rules(&base, &["**/.env"]);
        let long_ago = Instant::now().checked_sub(MOST_TIME + Duration::from_secs(1));
        for mut budget in [
            Budget { entries: 0, started: None },
            Budget { entries: ENTRIES_PER_LOOK + 1, started: long_ago },
        ] {
            let error = matches(&rules, &mut budget).expect_err("nothing is left").to_string();
            assert!(error.contains("**/.env") && error.contains("narrower"), "{error}");
        }
    }
}
