//! The reader of shell lines, as its callers see it.
#![forbid(unsafe_code)]

mod bypass;
mod commands;
mod corpus;
mod data;
mod limits;
mod oracle;
mod shells;
mod show;
mod words;
