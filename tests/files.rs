//! What a command can read and write: nothing outside the root, nothing that a rule protects, nothing that one hides.
//!
//! Attempts are shell lines in tables, each with the words in which the system must refuse it. In them `$OUT` is
//! the directory next to the root.

mod denied;
mod everything;
mod hidden;
mod links;
mod names;
mod outside;
mod temporary;

use palisade_tests::{Project, Run};

/// `palisade run -c LINE` with rules, and `OUT` set.
fn attempt(project: &Project, filesystem: serde_json::Value, line: &str) -> Run {
    let sandbox = serde_json::json!({ "filesystem": filesystem });
    project.run().env("OUT", project.outside()).sandbox(sandbox).line(line)
}
