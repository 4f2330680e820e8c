//! A policy resolved for one command on this machine: all that a backend needs to know, and nothing else.

use crate::{AbsPath, FileSets, NetworkPolicy, Origin};
use std::collections::BTreeMap;

/// What stands at a path that a rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A directory.
    Directory,
    /// Anything else that exists: a file, a socket, a device.
    File,
}

/// A [`Policy`](crate::Policy) resolved for one command on this machine.
///
/// Every pattern of [`files`](Self::files) is literal and real: no wildcards, no symbolic link in any
/// component. A profile or an argument list is built from a confinement and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The file rules.
    pub files: FileSets,
    /// What stands at each path that a rule of `files` names. A path that is not a key does not exist.
    pub nodes: BTreeMap<AbsPath, Node>,
    /// Symbolic links that lead to what may not be written, or not be read, and lie where the command can write, each
    /// with the rule it leads to: none may be replaced, renamed or removed. Each is named by the real path of the
    /// directory it lies in.
    pub links: BTreeMap<AbsPath, Origin>,
    /// Directories that a `..` steps out of on the way to such a place, where the command can write, each with the rule it
    /// leads to: replaced by a link, one would lead on from where that leads. None may be renamed or removed. All are real.
    pub stepped_out_of: BTreeMap<AbsPath, Origin>,
    /// No file rule holds: every path is as it is on the host. The network is confined all the same.
    pub files_disabled: bool,
    /// The network rules.
    pub network: NetworkPolicy,
    /// Where the command starts.
    pub working_directory: AbsPath,
}
