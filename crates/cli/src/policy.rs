//! Options and settings files → the policy in force.

use crate::failure::{Failure, say};
use crate::options::RuleOptions;
use palisade_policy::AbsPath;
use palisade_settings::{
    Dropped, Error, Extra, Flags, Loaded, Places, Trust, Warning, WarningKind, inspect, load,
};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The policy for one run, and the directories it is about.
pub(crate) struct InForce {
    pub(crate) loaded: Loaded,
    pub(crate) root: PathBuf,
    pub(crate) working_directory: PathBuf,
    pub(crate) home: Option<AbsPath>,
}

/// The directories that settings are about.
pub(crate) struct Scene {
    pub(crate) places: Places,
    pub(crate) root: PathBuf,
    pub(crate) working_directory: PathBuf,
}

/// Loads the settings of the root, of the user and of the command line, and says what was left out.
pub(crate) fn in_force(options: &RuleOptions) -> Result<InForce, Failure> {
    told_of(options, |_| true)
}

/// The same for whoever resolves the policy next: what resolving refuses is not told of twice.
pub(crate) fn in_force_to_resolve(options: &RuleOptions) -> Result<InForce, Failure> {
    told_of(options, |warning| !matches!(warning.kind, WarningKind::WriteWildcard { .. }))
}

fn told_of(options: &RuleOptions, is_told: impl Fn(&&Warning) -> bool) -> Result<InForce, Failure> {
    let (in_force, _) = read(options)?;
    for warning in in_force.loaded.warnings.iter().filter(is_told) {
        say(&format!("warning: {warning}"));
    }
    for line in told(&in_force.loaded.dropped) {
        say(&format!("warning: {line}"));
    }
    Ok(in_force)
}

/// As many lines about values that do not count are told before each command.
const MOST_TOLD: usize = 100;

/// What does not count, in one line for all values of one file that one reason takes away.
fn told(dropped: &[Dropped]) -> Vec<String> {
    let mut groups: Vec<(&Dropped, usize)> = Vec::new();
    let mut untold = 0;
    for one in dropped {
        let like = groups.iter().position(|(first, _)| {
            (&first.origin.file, first.is_still_a_rule, &first.reason)
                == (&one.origin.file, one.is_still_a_rule, &one.reason)
        });
        match like {
            Some(at) => groups[at].1 += 1,
            None if groups.len() < MOST_TOLD => groups.push((one, 0)),
            None => untold += 1,
        }
    }
    let names = "palisade settings show names them";
    let mut lines: Vec<String> = groups
        .into_iter()
        .map(|(first, more)| match more {
            0 => first.to_string(),
            more => format!("{first}; and so for {more} more of that file ({names})"),
        })
        .collect();
    if untold > 0 {
        lines.push(format!("and {untold} more values that do not count; {names}"));
    }
    lines
}

/// Loads the same and says nothing.
pub(crate) fn read(options: &RuleOptions) -> Result<(InForce, Places), Failure> {
    let working_directory = working_directory()?;
    let root = options.root.clone().unwrap_or_else(|| working_directory.clone());
    read_in(options, &root, working_directory)
}

/// Loads the same for somebody who wants to know: with a warning, too, for each deny of what does not exist.
pub(crate) fn inspect_all(options: &RuleOptions) -> Result<Loaded, Failure> {
    let working_directory = working_directory()?;
    let root = options.root.clone().unwrap_or_else(|| working_directory.clone());
    let scene = scene(trust(options), &root, working_directory)?;
    load_with(inspect, &scene.places, options)
}

/// Loads the settings of `root` and so on, and says nothing.
pub(crate) fn read_in(
    options: &RuleOptions,
    root: &Path,
    working_directory: PathBuf,
) -> Result<(InForce, Places), Failure> {
    let Scene { places, root, working_directory } = scene(trust(options), root, working_directory)?;
    let loaded = load_with(load, &places, options)?;
    let home = places.home.clone();
    Ok((InForce { loaded, root, working_directory, home }, places))
}

/// Reads with `load`, or what is like it, the files of `places` and what the options say.
fn load_with(
    load: impl Fn(&Places, &[Extra], &Flags) -> Result<Loaded, Error>,
    places: &Places,
    options: &RuleOptions,
) -> Result<Loaded, Failure> {
    let here = &places.working_directory;
    let extras = options.settings.iter().map(|value| Extra::parse(value.as_encoded_bytes(), here));
    Ok(load(places, &extras.collect::<Result<Vec<_>, _>>()?, &flags(options))?)
}

/// Where this process is.
pub(crate) fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| directory_failed("the working directory", &error))
}

/// Where settings are.
pub(crate) fn scene(trust: Trust, root: &Path, working_directory: PathBuf) -> Result<Scene, Failure> {
    let root = std::fs::canonicalize(root)
        .map_err(|error| directory_failed(&format!("the root {:?}", root.display().to_string()), &error))
        .map_err(|failure| Failure::of_call(failure.code, failure.message))?;
    let places = Places::of_this_process(absolute(&root)?, absolute(&working_directory)?, trust)?;
    Ok(Scene { places, root, working_directory })
}

fn trust(options: &RuleOptions) -> Trust {
    if options.untrusted { Trust::Untrusted } else { Trust::Trusted }
}

/// Where a user's settings lie besides the home directory, for no command to write.
pub(crate) fn settings_directories() -> Vec<PathBuf> {
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty());
    named.into_iter().map(PathBuf::from).collect()
}

fn directory_failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new("SANDBOX_DIRECTORY", format!("{what}: {error}"))
}

pub(crate) fn absolute(path: &Path) -> Result<AbsPath, Failure> {
    AbsPath::try_from(path).map_err(|error| {
        Failure::new("SANDBOX_DIRECTORY", format!("{:?} {error}", path.display().to_string()))
    })
}

fn flags(options: &RuleOptions) -> Flags {
    let bytes = |values: &[OsString]| values.iter().cloned().map(OsString::into_vec).collect();
    Flags {
        allow_host: options.allow_host.clone(),
        deny_host: options.deny_host.clone(),
        allow_write: bytes(&options.allow_write),
        deny_write: bytes(&options.deny_write),
        allow_read: bytes(&options.allow_read),
        deny_read: bytes(&options.deny_read),
    }
}
