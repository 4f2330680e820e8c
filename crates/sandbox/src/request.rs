//! One command to run: what, where, with what.

use crate::error::{Error, system};
use crate::outside::UnsandboxedReason;
use palisade_bwrap::linux::{Program, ProgramError};
use palisade_policy::{AbsPath, FileSets};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments. A name without a slash is looked up in the command's `PATH`.
    Argv(Vec<OsString>),
    /// A line for the shell: bash without its start-up files where there is one, else `sh`.
    Shell(OsString),
}

/// Where one of the command's three streams leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stream {
    /// To wherever the caller's own leads.
    Inherit,
    /// To `/dev/null`.
    #[default]
    Null,
    /// Into [`Outcome`](crate::Outcome); for output only.
    Capture,
}

/// One command to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to run.
    pub command: Command,
    /// The directory that the command may write; not `/`.
    pub root: PathBuf,
    /// Where it starts; the root when `None`.
    pub working_directory: Option<PathBuf>,
    /// The variables it inherits. Those that lead to the proxy, `TMPDIR` (with what says the same to some programs) and
    /// `PWD` are set over them.
    pub variables: Vec<(OsString, OsString)>,
    /// Standard input, output and error.
    pub streams: [Stream; 3],
    /// Run it without the sandbox, for this reason. Whoever sets this has asked for leave: nothing confines the command
    /// then.
    pub outside: Option<UnsandboxedReason>,
}

impl Request {
    /// `command` in `root` with this process's variables, nothing on standard input, its output captured.
    pub fn new(command: Command, root: impl Into<PathBuf>) -> Self {
        Request {
            command,
            root: root.into(),
            working_directory: None,
            variables: std::env::vars_os().collect(),
            streams: [Stream::Null, Stream::Capture, Stream::Capture],
            outside: None,
        }
    }

    /// The root and the working directory, real.
    pub(crate) fn directories(&self) -> Result<(AbsPath, AbsPath), Error> {
        let root = real_root(&self.root)?;
        let working_directory = match &self.working_directory {
            Some(path) => real_directory("the working directory", path)?,
            None => root.clone(),
        };
        Ok((root, working_directory))
    }

    pub(crate) fn by_shell(&self) -> bool {
        matches!(self.command, Command::Shell(_))
    }

    fn path_variable(&self) -> Option<&OsStr> {
        self.variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())
    }
}

/// A command's root, real.
pub(crate) fn real_root(path: &Path) -> Result<AbsPath, Error> {
    let root = real_directory("the root", path)?;
    let is = |places: &[&[u8]]| places.contains(&root.as_bytes());
    let is_below = |places: &[&[u8]]| places.iter().any(|place| root.as_bytes().starts_with(place));
    let would = if root.is_root() {
        "would make the whole file system writable"
    } else if is(&[b"/proc", b"/sys", b"/dev"]) || is_below(&[b"/proc/", b"/sys/"]) {
        "would open what belongs to the whole machine"
    } else {
        return Ok(root);
    };
    let reason = format!("{would}; name a project's directory");
    Err(Error::Directory { what: "the root", path: path.to_owned(), reason })
}

fn real_directory(what: &'static str, path: &Path) -> Result<AbsPath, Error> {
    let fault = |reason: String| Error::Directory { what, path: path.to_owned(), reason };
    let real = std::fs::canonicalize(path).map_err(|error| fault(format!("cannot be used: {error}")))?;
    if !real.is_dir() {
        return Err(fault("is not a directory".into()));
    }
    AbsPath::try_from(real.as_path()).map_err(|error| fault(error.to_string()))
}

/// The program file to execute, and the words it gets, its own name first.
pub(crate) fn program_and_argv(
    request: &Request,
    working_directory: &AbsPath,
    root: &AbsPath,
    files: &FileSets,
) -> Result<(OsString, Vec<OsString>), Error> {
    let (program, argv) = match &request.command {
        Command::Shell(line) => shell(request, line, root, files)?,
        Command::Argv(argv) => {
            let name = argv.first().ok_or_else(|| Error::ProgramNotFound("(nothing)".into()))?;
            (look_up(name, request, working_directory)?, argv.clone())
        }
    };
    if argv.iter().any(|word| word.as_bytes().contains(&0)) {
        return Err(Error::Nul("a word of the command"));
    }
    Ok((program, argv))
}

/// Whether a command with this root may write the real path, as far as the rules as written say.
fn may_be_written(path: &AbsPath, root: &AbsPath, files: &FileSets) -> bool {
    root.covers(path) || files.allow_write.iter().any(|rule| rule.pattern.covers(path).is_some())
}

/// The shell is chosen here, not by the command's `PATH`, so that what was read is what runs.
fn shell(
    request: &Request,
    line: &OsStr,
    root: &AbsPath,
    files: &FileSets,
) -> Result<(OsString, Vec<OsString>), Error> {
    let is_writable = |path: &AbsPath| may_be_written(path, root, files);
    let find =
        |name| Program::find(name, request.path_variable(), is_writable).map(|found| found.path().clone());
    let (path, options): (AbsPath, &[&str]) = match find("bash") {
        Ok(bash) => (bash, &["--norc", "--noprofile"]),
        Err(_) => match find("sh") {
            Ok(sh) => (sh, &[]),
            Err(error) => return Err(not_found(&error)),
        },
    };
    let program = path.as_path().as_os_str().to_owned();
    let name = path.as_path().file_name().unwrap_or_default().to_owned();
    let mut argv = vec![name];
    argv.extend(options.iter().map(OsString::from));
    // A line may begin with a dash: it is no option of the shell's.
    argv.extend(["-c".into(), "--".into(), line.to_owned()]);
    Ok((program, argv))
}

fn not_found(error: &ProgramError) -> Error {
    match error {
        ProgramError::Shortage { error, .. } => system("looking for the shell")((*error).into()),
        _ => Error::ProgramNotFound(error.to_string()),
    }
}

/// As `execvp` looks a program up, on the host: the sandbox shows the same tree. What is hidden there cannot be
/// executed, which the launch then reports.
fn look_up(name: &OsStr, request: &Request, working_directory: &AbsPath) -> Result<OsString, Error> {
    let shown = name.to_string_lossy().into_owned();
    if name.as_bytes().contains(&0) {
        return Err(Error::Nul("the command's name"));
    }
    if name.is_empty() {
        return Err(Error::ProgramNotFound("(an empty name)".into()));
    }
    if name.as_bytes().contains(&b'/') {
        return executable(&working_directory.as_path().join(name), &shown).map(|_| name.to_owned());
    }
    let path = request.path_variable().unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut denied = None;
    for directory in std::env::split_paths(path) {
        let candidate = working_directory.as_path().join(directory).join(name);
        match executable(&candidate, &shown) {
            Ok(()) => return Ok(candidate.into()),
            Err(error @ Error::NotExecutable(_)) => denied = Some(error),
            Err(_) => {}
        }
    }
    Err(denied.unwrap_or(Error::ProgramNotFound(shown)))
}

fn executable(path: &Path, shown: &str) -> Result<(), Error> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => Ok(()),
        Ok(_) => Err(Error::NotExecutable(shown.into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::ProgramNotFound(shown.into()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(Error::ProgramNotFound(shown.into()))
        }
        Err(error) => Err(Error::NotExecutable(format!("{shown}: {error}"))),
    }
}
