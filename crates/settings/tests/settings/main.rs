//! Settings files in a directory of their own, loaded for real, and what comes of them in words.
//!
//! Each case writes its files, loads, and compares the printed policy, error or warnings with a snapshot.

#![forbid(unsafe_code)]

mod checking;
mod errors;
mod examples;
mod files;
mod fixture;
mod hostile;
mod locks;
mod managed;
mod merging;
mod readme;
mod reports;
mod rules;
mod trust;
mod warnings;
