//! Entries given one by one on a command line, above every file. Their relative paths start at the working
//! directory, and one that cannot be read is always an error: whoever typed it is there to correct it.

use crate::error::quoted;
use crate::read::{read_denied_hosts, read_host};
use crate::{Error, FilesystemOptions, NetworkOptions, Options};
use palisade_policy::{Anchor, FileRule, HostRule, Origin, PathPattern};
use std::fmt::Display;

/// The entries, in the order given. Paths are bytes, since a command line's are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--allow-host`
    pub allow_host: Vec<String>,
    /// `--deny-host`
    pub deny_host: Vec<String>,
    /// `--allow-write`
    pub allow_write: Vec<Vec<u8>>,
    /// `--deny-write`
    pub deny_write: Vec<Vec<u8>>,
    /// `--allow-read`
    pub allow_read: Vec<Vec<u8>>,
    /// `--deny-read`
    pub deny_read: Vec<Vec<u8>>,
}

impl Flags {
    pub(crate) fn read(&self, anchor: &Anchor) -> Result<Options, Error> {
        let Flags { allow_host, deny_host, allow_write, deny_write, allow_read, deny_read } = self;
        Ok(Options {
            filesystem: FilesystemOptions {
                allow_write: paths("--allow-write", allow_write, anchor)?,
                deny_write: paths("--deny-write", deny_write, anchor)?,
                deny_read: paths("--deny-read", deny_read, anchor)?,
                allow_read: paths("--allow-read", allow_read, anchor)?,
                ..FilesystemOptions::default()
            },
            network: NetworkOptions {
                allowed_domains: hosts("--allow-host", allow_host)?,
                denied_domains: denied_hosts("--deny-host", deny_host)?,
                ..NetworkOptions::default()
            },
            ..Options::default()
        })
    }
}

fn paths(option: &'static str, texts: &[Vec<u8>], anchor: &Anchor) -> Result<Vec<FileRule>, Error> {
    let read = |bytes: &Vec<u8>| {
        let text = String::from_utf8_lossy(bytes);
        let pattern = PathPattern::parse(bytes, anchor).map_err(|error| bad_flag(option, &text, &error))?;
        Ok(FileRule { pattern, origin: Origin::flag(option, &text) })
    };
    texts.iter().map(read).collect()
}

fn hosts(option: &'static str, texts: &[String]) -> Result<Vec<HostRule>, Error> {
    let read = |text: &String| {
        read_host(text, Origin::flag(option, text)).map_err(|error| bad_flag(option, text, &error))
    };
    texts.iter().map(read).collect()
}

fn denied_hosts(option: &'static str, texts: &[String]) -> Result<Vec<HostRule>, Error> {
    let mut rules = Vec::new();
    for text in texts {
        let origin = Origin::flag(option, text);
        rules.extend(read_denied_hosts(text, origin).map_err(|error| bad_flag(option, text, &error))?);
    }
    Ok(rules)
}

fn bad_flag(option: &'static str, text: &str, reason: &dyn Display) -> Error {
    Error::BadFlag { option, text: quoted(text), reason: reason.to_string().into() }
}
