//! What the host's programs are loaded from, bubblewrap and socat among them, and which rule would let a command change it.
//!
//! The attacker is an earlier command that may write the dynamic loader, a link by which that is named, a library or what
//! tells the loader where those are. The next bubblewrap would run his code on the host, before any wall stands.
//!
//! Which libraries bubblewrap has is not looked for: they lie in the directories where loaders look, and of these no file
//! that could be a library is opened. What is elsewhere, such as the directories of one package, is trusted as the package
//! is. Nothing is read here but the way to the loader.

use crate::error::Error;
use crate::needed::LOADERS;
use crate::resolve::{links_on, real_path};
use palisade_policy::{AbsPath, FileRule};
use std::collections::BTreeSet;

/// Where loaders look, besides the directory that they lie in themselves.
const DIRECTORIES: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
/// What a loader reads first. The second is missing nearly everywhere, and a command could make it.
const FILES: [&str; 2] = ["/etc/ld.so.cache", "/etc/ld.so.preload"];

/// What programs are loaded from, by real paths.
#[derive(Debug)]
pub(crate) struct Loading {
    /// Files, links and directories that no command may replace or add to.
    paths: BTreeSet<AbsPath>,
    directories: BTreeSet<AbsPath>,
}

impl Loading {
    /// What it is on this machine.
    pub(crate) fn here() -> Result<Self, Error> {
        let mut loading = Loading { paths: BTreeSet::new(), directories: BTreeSet::new() };
        for loader in absolute(&LOADERS) {
            let real = real_path(&loader)?;
            loading.directories.extend(real.parent());
            loading.paths.extend(links_on(&loader)?);
            loading.paths.insert(real);
        }
        for directory in absolute(&DIRECTORIES) {
            loading.directories.insert(real_path(&directory)?);
        }
        for file in absolute(&FILES) {
            loading.paths.insert(real_path(&file)?);
        }
        loading.paths.extend(loading.directories.iter().cloned());
        Ok(loading)
    }

    /// The paths none of which may be writable.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &AbsPath> {
        self.paths.iter()
    }

    /// The first of `allows`, whose paths are real, that opens a single file where libraries are, with that file.
    pub(crate) fn opened_library<'r>(&self, allows: &'r [FileRule]) -> Option<(&'r AbsPath, &'r FileRule)> {
        let opened = allows.iter().map(|rule| (rule.pattern.as_literal(), rule));
        opened.into_iter().find(|(path, _)| self.is_library(path))
    }

    fn is_library(&self, path: &AbsPath) -> bool {
        let is_named_so = path.file_name().is_some_and(|name| {
            name.ends_with(b".so") || name.windows(b".so.".len()).any(|part| part == b".so.")
        });
        is_named_so && path.parent().is_some_and(|above| self.directories.contains(&above))
    }
}

fn absolute(paths: &'static [&'static str]) -> impl Iterator<Item = AbsPath> {
    paths.iter().filter_map(|path| AbsPath::new(path).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{Origin, PathPattern};

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).expect("absolute")
    }

    #[test]
    fn a_file_among_libraries_is_one_by_its_name_and_place() {
        let loading = Loading { paths: BTreeSet::new(), directories: [path("/usr/lib")].into() };
        for (text, is_library) in [
            ("/usr/lib/libc.so.6", true),
            ("/usr/lib/libx.so", true),
            ("/usr/lib/python3", false),
            ("/usr/lib/python3/x.so", false),
            ("/usr/lib", false),
            ("/home/u/libc.so.6", false),
        ] {
            let rule = FileRule {
                pattern: PathPattern::literal(path(text)),
                origin: Origin::flag("--allow-write", text),
            };
            assert_eq!(loading.opened_library(&[rule]).is_some(), is_library, "{text}");
        }
    }

    #[test]
    fn this_machine_has_a_loader_and_directories_of_libraries() {
        let loading = Loading::here().expect("this machine");
        let loader = loading.paths().find(|path| path.to_string().contains("/ld-"));
        assert!(loader.is_some(), "{loading:?}");
        assert!(loading.paths().any(|path| *path == self::path("/etc/ld.so.preload")), "{loading:?}");
    }
}
