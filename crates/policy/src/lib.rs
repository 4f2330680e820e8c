//! The vocabulary of Palisade: what a path, a pattern, a host, a policy, a verdict and a violation *are*.
//!
//! Everything else in the workspace speaks in these types. The crate is pure: it reads no file, asks no
//! name server and runs no command, so every answer it gives can be reproduced from its arguments alone.
//! Nothing here knows about settings files (`palisade-settings`) or about a backend (`palisade-bwrap`,
//! `palisade-seatbelt`).
//!
//! Data flows one way: settings become a [`Policy`]; a policy resolved for one command on one machine is a
//! [`Confinement`]; what enforces a confinement may report [`Violation`]s.
#![forbid(unsafe_code)]

mod address;
mod confinement;
mod explain;
mod file_index;
mod files;
mod glob;
mod host;
mod host_index;
mod host_pattern;
mod lower;
mod network;
mod no_mount;
mod origin;
mod path;
mod path_pattern;
mod path_tree;
mod policy;
mod printable;
mod violation;

pub use address::{AddressClass, LocalAddresses};
pub use confinement::{Confinement, Node};
pub use explain::{FileExplanation, FileList, HostExplanation, HostList};
pub use file_index::FileIndex;
pub use files::{Access, Effect, FileRule, FileSets, FileVerdict};
pub use host::{Endpoint, Host, HostError};
pub use host_index::IndexedNetwork;
pub use host_pattern::{HostPattern, HostPatternError};
pub use lower::{OrderedRule, OrderedRules, WildcardError};
pub use network::{Dialable, HostRule, HostVerdict, NetworkPolicy, VetError};
pub use no_mount::why_no_mount;
pub use origin::{Layer, Origin};
pub use path::{AbsPath, PathError};
pub use path_pattern::{Anchor, PathPattern, PathPatternError};
pub use policy::{IgnoredViolation, Policy, ProgramRule, VariableRule};
pub use printable::{Printable, Quoted};
pub use violation::{Evidence, Violation, ViolationKind};
