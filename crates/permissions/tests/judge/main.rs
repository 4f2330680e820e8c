//! The judge: `docs/spec/permission-rules.md` row by row, reported and known lines, and laws.
#![forbid(unsafe_code)]

mod agents;
mod builtins;
mod disguises;
mod evasions;
mod fixture;
mod laws;
mod limits;
mod moved;
#[path = "../../../policy/tests/spec/page.rs"]
mod page;
mod readers;
mod reports;
mod spec;
mod surroundings;
mod unseen;
