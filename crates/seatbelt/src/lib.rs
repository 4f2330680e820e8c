//! Confinements as macOS Seatbelt profiles (SBPL), and a judge that reads such a profile back.
//!
//! [`profile`] turns a [`Confinement`](palisade_policy::Confinement) into text and parameters for
//! `/usr/bin/sandbox-exec -p TEXT -D KEY=VALUE…`. It deliberately launches nothing, and builds and tests on
//! every platform.
//!
//! **No profile of this crate has ever been run on a Mac.** What a profile means is held by
//! [`Profile::judge`], which parses the finished text and folds it as Seatbelt is known to; whether every
//! operation and service named in `base.sbpl` exists, and whether it is enough for ordinary tools, only a Mac
//! can tell. A name that Seatbelt does not know makes it refuse the whole profile, so that nothing runs.
//!
//! # What the attacker controls, and what answers it
//!
//! The command inside is hostile, and so are the names in the project that it runs in.
//!
//! - **Names.** A path is a parameter, `(param "P0")`, and never part of the text; the few strings that are
//!   go through one function, which leaves nothing but printable ASCII. What a path parameter holds cannot
//!   close a rule or open one.
//! - **Moving things.** Rules follow the path an access goes through. Whatever holds a path of which the rules
//!   speak is [pinned](Profile::is_pinned): it cannot be moved to where they do not reach, nor can another
//!   directory or a link be put in its place. That includes the writable roots themselves, and directories
//!   that do not exist yet: above a missing protected path none can be made.
//! - **Second names.** Hard links and clones are refused altogether; tools fall back to copying. Names that
//!   exist already are for the resolver to refuse. `/tmp`, `/var` and `/etc` lead into `/private`; a rule for
//!   either spelling is written in both.
//! - **Other programs.** Only services that hand out facts can be looked up. Those that act for the caller
//!   cannot: Launch Services and Apple events would start programs outside, the keychain and preferences
//!   would read files that are hidden, `mDNSResponder` would carry data out in the names that it looks up.
//! - **The network.** TCP to the proxy's ports on loopback and nothing else: no listening, no datagrams.
//!   A socket that names the proxy as `::ffff:127.0.0.1`, as Java's do, is refused.
//! - **The terminal.** No `ioctl` on it, since `TIOCSTI` types into the shell that started the command; hence
//!   programs inside do not find a terminal until the launcher gives them one of their own.
//!
//! Left open: names that differ in case or Unicode form only, on a file system that takes them for one. A file
//! that exists should be judged by its real name (nobody has tried), but a *missing* protected `.mcp.json` can
//! be made as `.MCP.json`. POSIX shared memory of the host can be opened by name where its owner lets it be.
#![forbid(unsafe_code)]

mod expression;
mod judge;
mod write;

pub use expression::ReadError;
pub use write::{ProfileError, profile};

use std::fmt;

/// A Seatbelt profile: its text, and what the text's parameters stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The profile itself, ASCII only.
    pub text: String,
    /// The parameters' names, and the paths that they stand for.
    pub parameters: Vec<(String, Vec<u8>)>,
}

/// For people: the text, and after it the parameters as comments.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if !self.parameters.is_empty() {
            f.write_str("\n; Parameters\n")?;
        }
        for (name, value) in &self.parameters {
            writeln!(f, "; {name} = {}", expression::quoted(value))?;
        }
        Ok(())
    }
}
