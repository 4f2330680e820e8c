//! The reader of shell lines, as its callers see it.

mod commands;
mod show;
