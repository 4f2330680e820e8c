//! Who could change what an administrator says.
//!
//! The attacker is the user whom the administrator limits, or a command that runs as him. He must own neither the file
//! nor a directory or link on the way to it, and no permission may let him write one: else he could loosen a lock, or
//! take it away. Such a file is refused, not passed over, since passing it over would take its locks away too. With
//! every step in the hands of root, nothing can change between this look and the reading.
//!
//! In a user namespace root's files may show as the overflow user's. An owner whom the namespace does not map is
//! somebody outside it, whom nobody inside can be; that counts as root's. Access control lists are not looked at.

use crate::way::Way;
use crate::{Error, file};
use palisade_policy::AbsPath;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// Whom files of an administrator may belong to besides root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owners {
    trusted: u32,
    /// The user as whom owners outside the namespace show, where that is nobody inside.
    outside: Option<u32>,
}

impl Owners {
    /// Root, `trusted`, and who is outside the namespace.
    pub(crate) fn new(trusted: u32) -> Self {
        Owners { trusted, outside: overflow_user().filter(|user| !is_mapped(*user)) }
    }

    /// Looks at what exists of `path` and the way to it.
    pub(crate) fn check(self, path: &AbsPath) -> Result<(), Error> {
        let name: Arc<str> = path.to_string().into();
        let way = Way::of(path).map_err(|error| file::unreadable(&name, error))?;
        for (step, found) in way.steps {
            let owner = found.uid();
            if owner != 0 && owner != self.trusted && Some(owner) != self.outside {
                return Err(Error::NotRoots { file: name, on_the_way: step, owner });
            }
            if is_writable_by_others(&found) {
                return Err(Error::WritableByOthers { file: name, on_the_way: step });
            }
        }
        Ok(())
    }
}

/// The mode of a link means nothing. In a sticky directory nobody can replace what is another's.
fn is_writable_by_others(found: &Metadata) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let is_kept = found.is_symlink() || (found.is_dir() && found.mode() & STICKY != 0);
    found.mode() & OTHERS_WRITE != 0 && !is_kept
}

/// The user as whom the kernel shows owners that have no number here; `None` where there is no such thing.
fn overflow_user() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
}

/// Whether somebody in this namespace can be `user`. Where that cannot be found out, yes.
fn is_mapped(user: u32) -> bool {
    std::fs::read_to_string("/proc/self/uid_map").map_or(true, |map| maps(&map, user))
}

/// Whether a map, of lines with a first user inside, a first one outside and their number, has `user` inside.
fn maps(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [inside, _, count] = numbers[..] else { return true };
        (inside..inside + count).contains(&u64::from(user))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_a_namespace() {
        for (map, user, is_inside) in [
            ("         0          0 4294967295\n", 65534, true),
            ("      1000       1000          1\n", 65534, false),
            ("0 1000 1\n1 100000 65536\n", 65534, true),
            ("0 1000 1\n1 100000 65533\n", 65534, false),
            ("0 1000 1\n", 0, true),
            ("", 0, false),
            ("what is this", 5, true),
        ] {
            assert_eq!(maps(map, user), is_inside, "{map:?} {user}");
        }
    }
}
