//! The reader of shell lines, as its callers see it.

mod bypass;
mod commands;
mod corpus;
mod data;
mod limits;
mod oracle;
mod shells;
mod show;
mod words;
