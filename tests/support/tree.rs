//! What stands in a directory, told apart by everything that a command could have changed of it.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Everything below a directory, itself included: kind, mode, owner, number of links, time of change, and
/// content. Two of one directory are equal when nothing has been done to it in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, String>);

impl Tree {
    /// Looks at `directory`. What cannot be read is part of the picture.
    pub fn of(directory: impl AsRef<Path>) -> Self {
        let mut tree = Tree(BTreeMap::new());
        tree.add(directory.as_ref());
        tree
    }

    fn add(&mut self, path: &Path) {
        let Ok(metadata) = fs::symlink_metadata(path) else { return };
        self.0.insert(path.to_owned(), describe(path, &metadata));
        if metadata.is_dir() {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.add(&entry.path());
            }
        }
    }
}

fn describe(path: &Path, metadata: &Metadata) -> String {
    let kind = metadata.file_type();
    let content = if kind.is_symlink() {
        format!("link to {:?}", fs::read_link(path).unwrap_or_default())
    } else if kind.is_file() {
        format!("file of {:?}", fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    } else if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
        "special".to_owned()
    } else {
        "directory".to_owned()
    };
    format!(
        "{content}, inode {}, mode {:o}, owner {}:{}, {} links, changed {}.{:09}",
        metadata.ino(),
        metadata.mode(),
        metadata.uid(),
        metadata.gid(),
        metadata.nlink(),
        metadata.ctime(),
        metadata.ctime_nsec()
    )
}
