//! The fuzz targets of this crate, on their seeds.
#![forbid(unsafe_code)]

#[path = "../../../fuzz/bodies/host_pattern.rs"]
mod host_pattern;
#[path = "../../../fuzz/bodies/path_pattern.rs"]
mod path_pattern;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn host_patterns() {
    replay("host_pattern", host_pattern::run);
}

#[test]
fn path_patterns() {
    replay("path_pattern", path_pattern::run);
}
