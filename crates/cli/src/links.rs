//! Where links lead, as the judge of calls asks it: looked up once for each path, and in a bounded time.
//!
//! What the attacker controls: the paths, of any length and number, and with earlier commands what lies there: deep
//! directories, links to links, loops. A hook that takes long is passed over, which lets the call go on. So a path is
//! walked name by name from the nearest place that is known, nothing is looked up twice, and what may be looked up for
//! one call is limited; a call that needs more cannot be judged, which refuses it.
//!
//! It keeps nothing between calls, and does not stop what changes meanwhile.

use crate::failure::Failure;
use palisade_policy::AbsPath;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;

/// How many links are followed for one name; the kernel's own limit.
const MOST_LINKS: usize = 40;
/// How many bytes the paths that are looked up and kept for one call may have together: thousands of files in one line,
/// and a fraction of a second.
const MOST_SPENT: usize = 16 << 20;

/// Where links lead.
#[derive(Default)]
pub(crate) struct Links {
    /// `None` where a path leads round in a circle.
    known: RefCell<HashMap<AbsPath, Option<Spot>>>,
    /// The length of all paths that were looked up or kept.
    spent: Cell<usize>,
}

/// A place that a path leads to.
#[derive(Clone)]
struct Spot {
    path: AbsPath,
    /// Whether something may be there. What lies below nothing is taken by its letters.
    exists: bool,
}

impl Links {
    /// Where `path` leads. What cannot be followed stays as it is.
    pub(crate) fn follow(&self, path: &AbsPath) -> AbsPath {
        if path.is_too_long() {
            return path.clone();
        }
        self.spot(path).map_or_else(|| path.clone(), |spot| spot.path)
    }

    /// Whether all that was asked for was looked up.
    pub(crate) fn were_followed(&self) -> Result<(), Failure> {
        if self.spent.get() <= MOST_SPENT {
            return Ok(());
        }
        Err(Failure::new(
            "COMMAND_INVALID",
            "the call names more and longer paths than are looked up for one",
        ))
    }

    fn spot(&self, path: &AbsPath) -> Option<Spot> {
        let mut at = Some(Spot { path: AbsPath::root(), exists: true });
        let mut below = Vec::new();
        for above in path.ancestors().filter(|above| !above.is_root()) {
            if let Some(known) = self.known.borrow().get(&above) {
                at = known.clone();
                break;
            }
            below.push(above);
        }
        while let Some(next) = below.pop() {
            at = at.and_then(|at| self.step(&at, next.file_name().unwrap_or_default(), MOST_LINKS));
            if let Some(Spot { path: gone, exists: false }) = &at {
                let rest = &path.as_bytes()[next.as_bytes().len()..];
                let whole = gone.join(rest.strip_prefix(b"/").unwrap_or(rest)).ok();
                at = whole.map(|path| Spot { path, exists: false });
                self.learn(path.clone(), at.clone());
                return at;
            }
            self.learn(next, at.clone());
        }
        at
    }

    /// Where `name` leads in a directory that no link leads to.
    fn step(&self, at: &Spot, name: &[u8], links_left: usize) -> Option<Spot> {
        let path = at.path.join(name).ok()?;
        if !at.exists {
            return Some(Spot { path, exists: false });
        }
        if let Some(Some(known)) = self.known.borrow().get(&path) {
            return Some(known.clone());
        }
        let spot = match self.look(&path) {
            Ok(target) => self.through(&at.path, &target, links_left.checked_sub(1)?)?,
            Err(error) => Spot { exists: error == ErrorKind::InvalidInput, path: path.clone() },
        };
        self.learn(path, Some(spot.clone()));
        Some(spot)
    }

    fn learn(&self, path: AbsPath, spot: Option<Spot>) {
        self.spend(&path);
        self.known.borrow_mut().insert(path, spot);
    }

    fn spend(&self, path: &AbsPath) {
        self.spent.set(self.spent.get() + path.as_bytes().len());
    }

    /// Where the link with that target leads, which lies in that directory.
    fn through(&self, directory: &AbsPath, target: &[u8], links_left: usize) -> Option<Spot> {
        let start = if target.starts_with(b"/") { AbsPath::root() } else { directory.clone() };
        let mut at = Spot { path: start, exists: true };
        for name in target.split(|&byte| byte == b'/') {
            at = match name {
                b"" | b"." => at,
                b".." => Spot { path: at.path.parent().unwrap_or_else(AbsPath::root), exists: true },
                name => self.step(&at, name, links_left)?,
            };
        }
        Some(at)
    }

    /// What the link at `path` says; `InvalidInput` where there is something else.
    fn look(&self, path: &AbsPath) -> Result<Vec<u8>, ErrorKind> {
        self.spend(path);
        self.were_followed().map_err(|_| ErrorKind::Other)?;
        let target = std::fs::read_link(path.as_path()).map_err(|error| error.kind())?;
        Ok(target.as_os_str().as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade::real_path;
    use std::os::unix::fs::symlink;

    fn base() -> (tempfile::TempDir, AbsPath) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let real = std::fs::canonicalize(directory.path()).expect("exists");
        let base = AbsPath::try_from(real.as_path()).expect("absolute");
        (directory, base)
    }

    #[test]
    fn paths_lead_where_the_kernel_says() {
        let (_directory, base) = base();
        let at = |relative: &str| base.join(relative).expect("no NUL");
        std::fs::create_dir_all(at("a/b").as_path()).expect("writable");
        std::fs::write(at("a/f").as_path(), "").expect("writable");
        for (link, target) in [
            ("to-b", "a/./b/"),
            ("a/up", "../to-b/.."),
            ("gone", "none/such"),
            ("loop", "x/../loop"),
            ("1", "a"),
        ] {
            symlink(target, at(link).as_path()).expect("writable");
        }
        symlink(at("a").as_path(), at("whole").as_path()).expect("writable");
        for number in 2..60 {
            symlink((number - 1).to_string(), at(&number.to_string()).as_path()).expect("writable");
        }
        let links = Links::default();
        for path in [
            "",
            "a/f",
            "a/f/below/x",
            "to-b/new",
            "a/up/f",
            "a/up/up/b",
            "gone/x/y",
            "gone",
            "none/x",
            "whole/up",
            "whole/none/x",
            "58/f",
            "41/f",
            "40/f",
            "1/f",
            "41/f",
            "loop/x",
            "loop",
        ] {
            let path = at(path);
            let real = real_path(&path).unwrap_or_else(|_| path.clone());
            for _ in 0..2 {
                let is_past_limit = path.as_bytes().ends_with(b"1/f") || path.as_bytes().ends_with(b"8/f");
                let found = links.follow(&path);
                assert!(found == real || (is_past_limit && found == at("a/f")), "{path} {found} {real}");
            }
        }
        assert!(links.were_followed().is_ok());
    }

    /// The work is counted, not the time: each name of a directory that many paths share is looked up once.
    #[test]
    fn nothing_is_looked_up_twice() {
        let (_directory, base) = base();
        let deep = base.join("d/".repeat(100)).expect("no NUL");
        std::fs::create_dir_all(deep.as_path()).expect("writable");
        symlink("../../..", deep.join("up").expect("no NUL").as_path()).expect("writable");
        let links = Links::default();
        let ask = |name: &str| {
            let before = links.spent.get();
            links.follow(&deep.join(name).expect("no NUL"));
            links.spent.get() - before
        };
        let first = ask("x");
        let one = deep.as_bytes().len() + 10;
        assert!(first > 50 * one && ask("y") <= 3 * one && ask("x") == 0, "{first}");
        assert!(ask("up/d/x") < 8 * one && ask("none/a/b/c") < 4 * one && ask("none/a/b/c") == 0);
    }

    #[test]
    fn there_is_an_end_to_looking() {
        let links = Links::default();
        let long =
            |number: usize| AbsPath::new(format!("/{number}/{}", "x".repeat(4_000))).expect("absolute");
        for number in 0..1_000 {
            links.follow(&long(number));
            links.follow(&long(number));
        }
        assert!(links.were_followed().is_ok(), "what is known costs nothing");
        for number in 1_000..5_000 {
            links.follow(&long(number));
        }
        assert!(links.were_followed().is_err());
        let before = links.spent.get();
        links.follow(&AbsPath::new("/".to_owned() + &"a/".repeat(100_000)).expect("absolute"));
        assert_eq!(links.spent.get(), before);
    }
}
