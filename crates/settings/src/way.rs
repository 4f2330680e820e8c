//! The way of a path through directories and symbolic links, step by step, as the kernel goes it.
//!
//! It judges nothing. Between this look and a later use somebody may change the way; whoever relies on it says why that
//! cannot hurt.

use crate::file::is_absent;
use palisade_policy::AbsPath;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// How many links are followed, as by the kernel.
const MOST_LINKS: usize = 40;

/// The way of one path.
pub(crate) struct Way {
    /// Everything that exists on it, from the root on: directories, links, and what stands at the end.
    pub(crate) steps: Vec<(AbsPath, Metadata)>,
    /// Where it ends, with no link in it; what does not exist is kept as written.
    pub(crate) end: AbsPath,
}

impl Way {
    /// Follows `path`.
    pub(crate) fn of(path: &AbsPath) -> io::Result<Self> {
        let root = AbsPath::root();
        let mut steps = vec![(root.clone(), std::fs::symlink_metadata(root.as_path())?)];
        let mut at = root;
        let mut links = 0;
        let mut rest: Vec<Vec<u8>> = path.components().map(<[u8]>::to_vec).collect();
        rest.reverse();
        while let Some(name) = rest.pop() {
            if name == b".." {
                at = at.parent().unwrap_or_else(AbsPath::root);
                continue;
            }
            let next = at.join(&name).map_err(io::Error::other)?;
            let found = match std::fs::symlink_metadata(next.as_path()) {
                Ok(found) => found,
                Err(error) if is_absent(&error) => {
                    at = next;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if found.is_symlink() {
                links += 1;
                if links > MOST_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                let target = std::fs::read_link(next.as_path())?;
                let target = target.as_os_str().as_bytes();
                if target.starts_with(b"/") {
                    at = AbsPath::root();
                }
                let names = target.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
                rest.extend(names.rev().map(<[u8]>::to_vec));
            } else {
                at = next.clone();
            }
            steps.push((next, found));
        }
        Ok(Way { steps, end: at })
    }
}
