//! What is odd about settings, but loosens nothing: it is left out, and said so. Also all that one look finds.

use crate::{Error, Place, Position};
use palisade_permissions::Mode;
use palisade_policy::{AbsPath, Access, Layer, Policy};
use std::fmt;

/// What is wrong with a settings text, and what is odd about it.
#[derive(Debug, Default)]
pub struct Findings {
    /// For each of these alone nothing may run.
    pub errors: Vec<Error>,
    /// These loosen nothing.
    pub warnings: Vec<Warning>,
    /// What the text would put in force if there were no other; the default one where it cannot be read.
    pub policy: Policy,
}

impl Findings {
    /// Keeps the first of each kind, of one file, in the order of the text, and says how many more there are: nobody
    /// reads thousands. An error stays an error.
    pub(crate) fn cut(&mut self) {
        const MOST_TOLD: usize = 100;
        let more = |place: &Place, count, what| {
            let kind = WarningKind::More { count, what };
            Warning { place: place.clone(), key: "settings".into(), kind }
        };
        let warnings = self.warnings.get(MOST_TOLD).map(|first| &first.place);
        let warnings = warnings.map(|place| more(place, self.warnings.len() - MOST_TOLD, "warnings"));
        let errors = self.errors.get(MOST_TOLD).and_then(Error::place);
        let errors = errors.map(|place| more(place, self.errors.len() - MOST_TOLD, "errors"));
        self.warnings.truncate(MOST_TOLD);
        self.errors.truncate(MOST_TOLD);
        self.warnings.extend(errors.into_iter().chain(warnings));
    }
}

/// One thing that was left out or that means something else than it may seem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where it stands.
    pub place: Place,
    /// Its key, such as `sandbox.network.httpProxyPort`; unusual names are quoted.
    pub key: Box<str>,
    /// What is odd.
    pub kind: WarningKind,
}

/// See [`Warning`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WarningKind {
    /// No such key.
    Unknown {
        /// The full name of the key that may have been meant.
        nearest: Option<Box<str>>,
        /// It sounds as though it should close something.
        denies: bool,
    },
    /// A key of Claude Code's that Palisade does not have.
    LeftOut {
        /// Why.
        why: &'static str,
    },
    /// A key that does not count from this layer.
    Layer {
        /// The layer it stands in.
        layer: Layer,
        /// The layers it counts from.
        counts_from: &'static str,
    },
    /// An entry that cannot be read, and whose loss only tightens.
    BadEntry {
        /// The entry as written, quoted.
        text: Box<str>,
        /// What is wrong with it.
        reason: Box<str>,
    },
    /// A default mode that does not count from a repository's files.
    Mode {
        /// The mode.
        mode: Mode,
        /// The layer it stands in.
        layer: Layer,
    },
    /// A deny or an ask rule about a tool that is not known.
    UnknownTool {
        /// The tool's name, quoted.
        tool: Box<str>,
        /// The tool that may have been meant.
        nearest: Option<&'static str>,
    },
    /// An `Edit` allow rule with a wildcard elsewhere than in a trailing `/**`, which a name without a slash has, too.
    EditsOnly {
        /// The rule as written, quoted.
        text: Box<str>,
        /// Why no mount can stand for it.
        reason: Box<str>,
    },
    /// A write rule with such a wildcard. Whoever resolves the policy is told the same as an error.
    WriteWildcard {
        /// The rule as written, quoted.
        text: Box<str>,
        /// Why no mount can stand for it.
        reason: Box<str>,
    },
    /// An allowed host pattern that covers every host, or every one below a top-level domain.
    Broad {
        /// The pattern.
        pattern: Box<str>,
    },
    /// A deny that names something that does not exist.
    NothingThere {
        /// What it denies. Nobody can write what a deny of writes names, be it there or not.
        access: Access,
        /// The path.
        path: AbsPath,
    },
    /// A deny whose single slash starts elsewhere than in the project, and that names nothing there.
    StartsElsewhere {
        /// What it denies.
        access: Access,
        /// The path.
        path: AbsPath,
        /// Where a single slash starts.
        start: AbsPath,
    },
    /// A program of the sandbox's own that does not exist here.
    NoProgram {
        /// The program.
        path: AbsPath,
    },
    /// What is not told of the same file, of which enough has been told.
    More {
        /// How many.
        count: usize,
        /// Of what.
        what: &'static str,
    },
    /// Something in an administrator's directory that is not read, but has a name much like those that are.
    PassedOver,
    /// Something where a directory of settings files should be.
    NoDirectory {
        /// What it is.
        kind: &'static str,
    },
    /// A switch that counts and changes nothing on this platform.
    NoEffect {
        /// Why.
        why: &'static str,
    },
    /// `mode: "mask"`, which is taken for `"deny"`.
    Mask,
    /// An entry of `allowUnixSockets`.
    EverySocket,
    /// `.` in a user's file.
    OwnDirectory {
        /// What it means there.
        directory: Box<str>,
    },
}

impl Warning {
    /// About a file as a whole, whatever is in it.
    pub(crate) fn of_file(path: &AbsPath, kind: WarningKind) -> Self {
        let place = Place { file: path.to_string().into(), position: Position::START };
        Warning { place, key: "settings".into(), kind }
    }

    fn is_of_file(&self) -> bool {
        matches!(self.kind, WarningKind::PassedOver | WarningKind::NoDirectory { .. })
    }
}

/// `FILE:LINE:COLUMN: KEY: …`, or `FILE: …`, on one line.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_of_file() {
            return write!(f, "{}: {}", self.place.file, self.kind);
        }
        write!(f, "{}: {}: {}", self.place, self.key, self.kind)
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WarningKind::Unknown { nearest, denies } => {
                f.write_str(if *denies { "is not a key, so it DENIES NOTHING" } else { "is not a key; left out" })?;
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, "; did you mean {nearest}?"))
            }
            WarningKind::LeftOut { why } => write!(f, "left out: {why}"),
            WarningKind::Layer { layer, counts_from } => {
                write!(f, "left out: it counts from {counts_from} settings only, and these are {layer} settings")
            }
            WarningKind::BadEntry { text, reason } => write!(f, "{text}: {reason}; left out"),
            WarningKind::Mode { mode, layer } => {
                write!(f, "left out: \"{mode}\" counts from the user's and managed settings only, and these are {layer} settings")
            }
            WarningKind::UnknownTool { tool, nearest } => {
                write!(f, "{tool} is no tool that is known here; if there is none, the rule CLOSES NOTHING")?;
                nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean {nearest}?"))
            }
            WarningKind::EditsOnly { text, reason } => {
                write!(f, "approves edits, but opens nothing to commands: {text} {reason}")
            }
            WarningKind::WriteWildcard { text, reason } => {
                write!(f, "every command is refused while this stands: {text} {reason}")
            }
            WarningKind::Broad { pattern } => {
                write!(f, "{pattern} opens the network to nearly everybody; what a command can read can leave")
            }
            WarningKind::NothingThere { access, path } => {
                write!(f, "{} nothing now: {path} does not exist", does(*access))
            }
            WarningKind::StartsElsewhere { access, path, start } => {
                write!(f, "{} nothing now: {path} does not exist; in this file a single slash starts at {start}, ./ at the working directory, // at the file system's root", does(*access))
            }
            WarningKind::NoProgram { path } => {
                write!(f, "{path} does not exist here; where it does not, the sandbox cannot run")
            }
            WarningKind::More { count, what } => write!(f, "and {count} more {what} from here on"),
            WarningKind::PassedOver => {
                f.write_str("is NOT READ: an administrator's settings are in managed-settings.json, and in managed-settings.d in files whose names end with .json and do not start with a dot; rename it, also where it is not to count (x.json.off)")
            }
            WarningKind::NoDirectory { kind } => {
                write!(f, "is {kind}, where a directory with settings is expected, so no settings are read from there")
            }
            WarningKind::NoEffect { why } => write!(f, "has no effect: {why}"),
            WarningKind::Mask => f.write_str("\"mask\" is taken for \"deny\": masking would need to look inside TLS"),
            WarningKind::EverySocket => {
                f.write_str("on Linux any entry opens every Unix socket, since the kernel's filter cannot tell paths apart; Docker's is a way to root, and those of agents and of D-Bus lead out of the sandbox")
            }
            WarningKind::OwnDirectory { directory } => {
                write!(f, "\".\" means {directory} in this file, not the project")
            }
        }
    }
}

/// What a deny does of which nothing is there. One of writes keeps it from being made.
fn does(access: Access) -> &'static str {
    match access {
        Access::Read => "denies",
        Access::Write => "names",
    }
}
