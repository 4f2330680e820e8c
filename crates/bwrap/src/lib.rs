//! A [`Confinement`](palisade_policy::Confinement) as bubblewrap's view of the files and a seccomp filter, and
//! the launch of both.
//!
//! The planning half ([`Mounts`], [`arguments()`], the filter's table) is pure, and builds and tests on every
//! platform. The Linux half ([`linux`]) owns the descriptors and namespaces. It knows no settings and no proxy:
//! it takes an argument list and gives back a running process and the listeners that lie inside its network
//! namespace.
#![deny(unsafe_code)]

mod arguments;
pub mod filter;
mod mounts;

#[cfg(target_os = "linux")]
pub mod linux;

pub use arguments::{ArgumentsError, MOST_ARGUMENTS, Setting, Within, arguments};
pub use mounts::{Mount, Mounts};
