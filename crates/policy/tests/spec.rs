//! Runs every row of the tables of `docs/spec/hosts.md` and `docs/spec/paths.md`, so that the pages cannot
//! say what is not so.
//!
//! A table is known by its header. A header that no test reads, a table without rows and a cell without what
//! the test needs are failures: no row is passed over.
#![forbid(unsafe_code)]

#[path = "spec/hosts.rs"]
mod hosts;
#[path = "spec/page.rs"]
mod page;
#[path = "spec/paths.rs"]
mod paths;
