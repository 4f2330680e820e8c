//! What the integration tests share: a project to run commands in, `palisade run` around them, an origin server on
//! loopback that stands for the network.
//!
//! The tests find the programs to test through variables that `cargo xtask test` sets; see [`Tools`].
#![forbid(unsafe_code)]

mod marker;
mod origin;
mod project;
mod run;
mod started;
mod tools;
mod tree;
mod wait;

pub use marker::Marker;
pub use origin::Origin;
pub use project::Project;
pub use run::{Palisade, Run};
pub use started::Started;
pub use tools::{Tools, program, works_here};
pub use tree::Tree;
pub use wait::eventually;
