//! What is judged: one call of a tool, and what the caller knows about how it will run.

use crate::Mode;
use crate::shell::Shell;
use palisade_policy::{AbsPath, Endpoint};
use std::fmt;

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The tool's name, as rules name it: `Bash`, `Write`, `mcp__server__tool`.
    pub tool: Box<str>,
    /// What the tool's own patterns are about.
    pub input: Input,
    /// Every other field of the call that holds one value, by name, as text: `true`, `5000`, `opus`. A field
    /// that the call leaves out is not among them.
    pub fields: Vec<(Box<str>, Box<str>)>,
}

/// What a tool's own patterns are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A line for the shell: `Bash`, and whatever else runs one.
    Command {
        /// The line.
        line: Box<str>,
        /// The hosts that the call names for itself.
        hosts: Vec<Box<str>>,
        /// Whether the call asks to run outside the sandbox (`dangerouslyDisableSandbox`).
        unsandboxed: bool,
    },
    /// A file to read or a directory to look through.
    Read(AbsPath),
    /// A file to make or to change.
    Edit(AbsPath),
    /// A file to remove.
    Remove(AbsPath),
    /// A host to fetch from.
    Fetch(Endpoint),
    /// Anything else: only the tool's name and the fields count.
    Other,
}

/// What the caller knows, and says, about how a call will run.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The permission mode.
    pub mode: Mode,
    /// Whether the call will run inside the sandbox. The judge does not take it for one that does when the
    /// rules take it out, whatever this says.
    pub sandboxed: bool,
    /// Whether the sandbox leaves the files alone (`filesystem.disabled`). What a command that runs inside is spared
    /// since the sandbox keeps it from a file, it is then not spared.
    pub files_disabled: bool,
    /// Whether a sandboxed command skips its approval.
    pub auto_allow: bool,
    /// Whether the guardrails want an approval.
    pub guardrails_want_approval: bool,
    /// The root of the workspace.
    pub root: &'a AbsPath,
    /// The directory that a command starts in.
    pub working_directory: &'a AbsPath,
    /// The home directory.
    pub home: Option<&'a AbsPath>,
    /// Directories to work in, besides the root and those of the rules.
    pub directories: &'a [AbsPath],
    /// The shell that will run a line.
    pub shell: Shell,
    /// Whether names that differ in case are one file.
    pub folds_case: bool,
    /// Where a path leads once every link in it is followed; what does not exist is kept as it is. This is
    /// how the judge, which looks at no file system, learns of links.
    pub follow: &'a dyn Fn(&AbsPath) -> AbsPath,
}

impl Call {
    /// A call that runs `line` with `Bash` and gives nothing else.
    pub fn command(line: &str) -> Self {
        let input = Input::Command { line: line.into(), hosts: Vec::new(), unsandboxed: false };
        Call { tool: "Bash".into(), input, fields: Vec::new() }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("mode", &self.mode)
            .field("sandboxed", &self.sandboxed)
            .finish_non_exhaustive()
    }
}
