//! A fresh project for one test: a root, a home directory, a place outside, each empty.

use crate::Palisade;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A fresh project; removed at the end of the test.
#[derive(Debug)]
pub struct Project {
    base: TempDir,
    real: PathBuf,
}

impl Project {
    /// A fresh project, unless the sandbox does not run on this machine: see [`works_here`](crate::works_here).
    pub fn where_it_works() -> Option<Self> {
        crate::works_here().then(Self::new)
    }

    /// Makes the directories.
    pub fn new() -> Self {
        let base = tempfile::Builder::new().prefix("project-").tempdir().expect("a temporary directory");
        let real = std::fs::canonicalize(base.path()).expect("it exists");
        for name in ["root", "home", "outside"] {
            std::fs::create_dir(real.join(name)).expect("an empty directory");
        }
        Project { base, real }
    }

    /// The directory that commands are confined to, and start in.
    pub fn root(&self) -> PathBuf {
        self.real.join("root")
    }

    /// `HOME` of the commands: not writable to them.
    pub fn home(&self) -> PathBuf {
        self.real.join("home")
    }

    /// A directory next to the root: not writable to commands.
    pub fn outside(&self) -> PathBuf {
        self.real.join("outside")
    }

    /// Writes a file below the root, with the directories above it.
    pub fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("own directory");
        std::fs::write(&path, text).expect("own directory");
        path
    }

    /// The text of a file below the root.
    pub fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap_or_default()
    }

    /// `palisade run` in this project, with nothing allowed but the root.
    pub fn run(&self) -> Palisade {
        Palisade::new(self)
    }

    /// `palisade run -c LINE` to its end.
    pub fn line(&self, line: &str) -> crate::Run {
        self.run().line(line)
    }

    /// Every path below the root, sorted, without `.git`.
    pub fn tree(&self) -> Vec<String> {
        let mut all = Vec::new();
        list(&self.root(), &self.root(), &mut all);
        all.sort();
        all
    }

    /// Where the directories lie.
    pub fn base(&self) -> &Path {
        self.base.path()
    }
}

impl Default for Project {
    fn default() -> Self {
        Self::new()
    }
}

fn list(root: &Path, directory: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("own directory").flatten() {
        let path = entry.path();
        if entry.file_name() == ".git" {
            continue;
        }
        all.push(path.strip_prefix(root).expect("below the root").display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(root, &path, all);
        }
    }
}
