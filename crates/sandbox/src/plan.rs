//! What one launch is made from, besides the command itself.

use crate::bridge::{Bridging, within};
use crate::environment::{self, Scene};
use crate::error::{Error, system};
use crate::listen::Listen;
use crate::request::Request;
use crate::resolve::{Resolved, real_path};
use crate::scratch::{CommandDirectory, Substitute};
use crate::shared::Shared;
use palisade_bwrap::linux::{Attachments, Expected, Identity, LaunchError, can_attach};
use palisade_bwrap::{ArgumentsError, MOST_ARGUMENTS, Mount, Mounts, Setting, arguments};
use palisade_policy::{AbsPath, Access, Confinement, Effect, FileSets, Origin, Policy};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;

/// The most mounts that are made for one command. The kernel's own limit (`fs.mount-max`) is twice that.
const MOST_ATTACHED: usize = 50_000;

/// Arguments, mounts, variables and listeners of one launch.
pub(crate) struct Plan {
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) attachments: Option<Attachments>,
    /// Whether bubblewrap itself mounts on what the rules name, so that it must stand before bubblewrap is told.
    pub(crate) needs_covers_first: bool,
    /// Everything that is mounted, by whomever.
    pub(crate) mounts: Mounts,
    pub(crate) expected: Vec<Expected>,
    /// To be revealed once they are mounted.
    pub(crate) substitutes: Vec<Substitute>,
    pub(crate) variables: environment::Variables,
    pub(crate) listen: Listen,
    pub(crate) unix_sockets: bool,
}

impl Plan {
    pub(crate) fn new(
        shared: &Shared,
        policy: &Policy,
        request: &Request,
        resolved: &Resolved,
        temporary: &CommandDirectory,
        bridge: &Bridging,
    ) -> Result<Self, Error> {
        let confinement = &resolved.confinement;
        let listen = Listen::choose(&policy.network);
        let scene = Scene {
            inherited: &request.variables,
            hidden: &policy.hidden_variables,
            by_shell: request.by_shell(),
            temporary: temporary.path(),
            working_directory: &confinement.working_directory,
            network: &policy.network,
        };
        let variables = environment::variables(&scene, listen.proxy);
        let guards = shared.guards().map_err(system("reading /proc"))?;
        let mut mounts = Mounts::plan(confinement).guarded(&guards.read_only, &guards.hidden);
        let substitutes = substitute(&mut mounts, resolved, shared)?;
        let root_links = if mounts.hides_root() { root_links(&confinement.files)? } else { Vec::new() };
        let setting = Setting {
            hidden_file: &shared.scratch.hidden_file()?,
            hidden_directory: &shared.scratch.hidden_directory()?,
            working_directory: &confinement.working_directory,
            root_links: &root_links,
            within: bridge.is_socat().then(within),
            variables: if shared.entry.is_some() { &[] } else { &variables },
        };
        let can_attach = bridge.can_enter() && can_attach();
        let link = mounts.steps().iter().find(|step| matches!(step, Mount::PinLink(_)));
        if let (false, Some(link)) = (can_attach, link) {
            return Err(unheld(confinement, link.path()));
        }
        if can_attach && mounts.steps().len() > MOST_ATTACHED {
            return Err(too_many(confinement, &format!("{} mounts", mounts.steps().len())));
        }
        let expected = expected(&mounts)?;
        let all = mounts.clone();
        let (mounts, attached) = if can_attach {
            let (first, then) = mounts.split();
            (first, Some(then))
        } else {
            (mounts, None)
        };
        let arguments = arguments(&mounts, &setting).map_err(|error| match error {
            ArgumentsError::TooMany { count, .. } => too_many(
                confinement,
                &format!("{count} arguments of bubblewrap, which takes {MOST_ARGUMENTS}"),
            ),
            error => error.into(),
        })?;
        let needs_covers_first = attached.is_none() || !mounts.steps().is_empty();
        let Setting { hidden_file, hidden_directory, .. } = setting;
        let attachments = attached.map(|mounts| Attachments {
            mounts,
            hidden_file: hidden_file.clone(),
            hidden_directory: hidden_directory.clone(),
        });
        Ok(Plan {
            arguments,
            attachments,
            needs_covers_first,
            mounts: all,
            expected,
            substitutes,
            variables,
            listen,
            unix_sockets: policy.network.unix_sockets,
        })
    }
}

/// The symbolic links directly in `/` that lead to what may be read. Only an administrator can make one there: no rule
/// opens `/` to a command.
fn root_links(files: &FileSets) -> Result<Vec<(AbsPath, Vec<u8>)>, Error> {
    let mut links = Vec::new();
    for entry in std::fs::read_dir("/").map_err(system("looking for links in /"))?.flatten() {
        let (Ok(text), Ok(at)) = (std::fs::read_link(entry.path()), AbsPath::try_from(&*entry.path())) else {
            continue;
        };
        if files.judge(Access::Read, &real_path(&at)?).effect == Effect::Allow {
            links.push((at, text.into_os_string().into_vec()));
        }
    }
    links.sort();
    Ok(links)
}

/// The error for a link that only mounts from outside could hold, where nothing can be mounted from outside.
fn unheld(confinement: &Confinement, link: &AbsPath) -> Error {
    let rule = confinement.links.get(link).map_or_else(|| link.to_string(), Origin::to_string);
    Error::Unenforceable {
        rule,
        reason: format!(
            "the command could replace the symbolic link {link} on the way, which nothing can hold here, since the \
             sandbox's namespaces cannot be entered from outside; put what it leads to in its place"
        ),
    }
}

/// The error for a plan that is too long, laid to the rule that names most paths.
fn too_many(confinement: &Confinement, needs: &str) -> Error {
    let mut paths: HashMap<&Origin, usize> = HashMap::new();
    confinement.files.rules().for_each(|rule| *paths.entry(&rule.origin).or_default() += 1);
    let most = paths.into_iter().max_by_key(|(origin, count)| (*count, Reverse(origin.to_string())));
    Error::Unenforceable {
        rule: most.map_or_else(|| "the file rules together".into(), |(origin, _)| origin.to_string()),
        reason: format!(
            "with it the file rules need {needs}, more than can be made; name a directory above several paths instead"
        ),
    }
}

/// Has a part of some files' content be seen in their places, where the command may see it at all.
fn substitute(mounts: &mut Mounts, resolved: &Resolved, shared: &Shared) -> Result<Vec<Substitute>, Error> {
    let mut substitutes = Vec::new();
    for excerpt in &resolved.excerpts {
        if mounts.shows_read_only(&excerpt.path) {
            let substitute = shared.scratch.substitute(&excerpt.content)?;
            mounts.substitute(&excerpt.path, substitute.path().clone());
            substitutes.push(substitute);
        }
    }
    Ok(substitutes)
}

/// What the plan's mounts must turn out to be. Looked at after the paths were resolved and before anything is
/// mounted: what is a link by now, where there was none, is an error.
fn expected(mounts: &Mounts) -> Result<Vec<Expected>, Error> {
    let one = |step: &Mount| {
        let path = step.path().clone();
        let (is_writable, identity) = match step {
            Mount::Writable(_) => (true, Some(Identity::of(&path))),
            Mount::PinLink(_) => (false, Some(Identity::of_link(&path))),
            Mount::Pin(_) => (true, None),
            Mount::ReadOnly(_) | Mount::Substitute { .. } => (false, None),
            Mount::HideFile(_) | Mount::HideDirectory(_) | Mount::SearchOnly(_) => (false, None),
            Mount::Passage(_) | Mount::Seal(_) => return None,
        };
        Some(match identity.transpose() {
            Ok(identity) => Ok(Expected { path, is_writable, identity }),
            Err(error) if is_change(&error) => {
                Err(LaunchError::Changed(format!("{path} is not what it was")).into())
            }
            Err(error) => Err(Error::Path { path, error }),
        })
    };
    mounts.steps().iter().filter_map(one).collect()
}

fn is_change(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory) || error.raw_os_error() == Some(nix::libc::ELOOP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{FileRule, NetworkPolicy, PathPattern};

    #[test]
    fn a_plan_that_is_too_long_is_laid_to_the_rule_that_names_most_paths() {
        let rules = |list: &str, count: usize| {
            let rule = |i| FileRule {
                pattern: PathPattern::literal(AbsPath::new(format!("/{list}/{i}")).expect("absolute")),
                origin: Origin::flag("--test", list),
            };
            (0..count).map(rule).collect()
        };
        let files =
            FileSets { deny_read: rules("many", 3), deny_write: rules("few", 2), ..FileSets::default() };
        let confinement = Confinement {
            files,
            nodes: Default::default(),
            links: Default::default(),
            stepped_out_of: Default::default(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            working_directory: AbsPath::root(),
        };
        let error = too_many(&confinement, "5 mounts").to_string();
        assert!(error.contains("many") && error.contains("5 mounts") && !error.contains("few"), "{error}");
    }
}
