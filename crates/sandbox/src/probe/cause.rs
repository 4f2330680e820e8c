//! Why the sandbox does not run here, told apart by what bubblewrap said and how the kernel is set. Each cause
//! says what to do about it.

use crate::scratch::ScratchError;
use crate::shortage::Shortage;
use palisade_bwrap::linux::{Ended, LaunchError};
use std::path::Path;

/// Why the sandbox does not run here. The text is a whole sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// There is no `bwrap`.
    #[error(
        "bubblewrap (bwrap) is not installed; install it with `apt-get install bubblewrap` or `dnf install bubblewrap`"
    )]
    NoBubblewrap,
    /// There is one, where it cannot be trusted.
    #[error(
        "the only bubblewrap found could have been put there by a confined command: {0}; \
         install it with `apt-get install bubblewrap` or `dnf install bubblewrap`"
    )]
    UntrustedBubblewrap(String),
    /// Something else is called so.
    #[error("{0}; install bubblewrap with `apt-get install bubblewrap` or `dnf install bubblewrap`")]
    NotBubblewrap(String),
    /// The one that an administrator names is not there, or is another program, or cannot be trusted.
    #[error("{error}; change it where it is named, in {by}")]
    NamedBubblewrap {
        /// What is wrong with it.
        error: String,
        /// Who names it.
        by: String,
    },
    /// There is no `socat` that could be the bridge.
    #[error(
        "{0}; install what the sandbox is made of with `apt-get install bubblewrap socat` or `dnf install bubblewrap socat`"
    )]
    NoSocat(String),
    /// The one that an administrator names is not there, or cannot be trusted.
    #[error("{error}; change it where it is named, in {by}")]
    NamedSocat {
        /// What is wrong with it.
        error: String,
        /// Who names it.
        by: String,
    },
    /// socat is there, and the bridge that it is to be does not stand.
    #[error("the bridge out of the sandbox's network namespace does not stand: {0}")]
    NoBridge(String),
    /// Before 0.8.0 there is no `--disable-userns`.
    #[error("bubblewrap {0} is too old; version 0.8.0 or later is needed")]
    TooOld(String),
    /// A setuid bubblewrap cannot forbid further user namespaces.
    #[error(
        "this bubblewrap is installed setuid root and then cannot forbid further user namespaces; \
         remove the setuid bit (`chmod u-s` on the bwrap program) and let users make user namespaces instead"
    )]
    SetUid,
    /// Ubuntu's restriction.
    #[error(
        "AppArmor keeps ordinary programs from making user namespaces \
         (kernel.apparmor_restrict_unprivileged_userns is 1); give bwrap a profile that allows `userns`, \
         or run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root"
    )]
    AppArmor,
    /// A kernel setting switches user namespaces off.
    #[error(
        "user namespaces are switched off: {setting} is {value}; run `sysctl -w {setting}={remedy}` as root"
    )]
    Switch {
        /// The kernel setting.
        setting: &'static str,
        /// Its value now.
        value: &'static str,
        /// A value that works.
        remedy: &'static str,
    },
    /// A container's own filter.
    #[error(
        "this is a container that blocks namespaces; start it with `--security-opt seccomp=unconfined \
         --security-opt apparmor=unconfined`, or run Palisade outside it"
    )]
    Container,
    /// A container that hides parts of its `/proc`, so that the kernel allows no fresh one.
    #[error(
        "no fresh /proc can be mounted, as in a container that hides parts of its own; \
         start it with `--security-opt systempaths=unconfined`, or run Palisade outside it"
    )]
    MaskedProc,
    /// This process is confined itself, by Palisade or something like it.
    #[error(
        "this process runs in a sandbox itself, in which no further one can be made ({0}); run Palisade outside of it"
    )]
    Confined(String),
    /// The kernel makes no namespaces for another reason.
    #[error("the kernel makes no user namespaces for this process: {0}")]
    NoNamespaces(String),
    /// The kernel takes no seccomp filter.
    #[error("the kernel takes no seccomp filter ({0}); it must be built with CONFIG_SECCOMP_FILTER")]
    NoSeccomp(String),
    /// There is no filter for this machine.
    #[error("no seccomp filter can be made for this machine: {0}")]
    NoFilter(String),
    /// The sandbox runs, but the proxy cannot listen in it.
    #[error(
        "the sandbox's namespaces cannot be entered from outside, so no network could be offered in it: {0}"
    )]
    Unreachable(String),
    /// A limit is used up, so that nothing can be said about the sandbox.
    #[error("{failed}; {shortage}")]
    Shortage {
        /// What failed, and what the system said.
        failed: String,
        /// What is short.
        shortage: Shortage,
    },
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// What of the machine tells one cause from another.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) version: String,
    pub(super) apparmor_restricts: bool,
    pub(super) userns_clone_off: bool,
    pub(super) no_user_namespaces: bool,
    pub(super) in_container: bool,
    /// Root, but without the capability that root has outside containers.
    pub(super) bounded_root: bool,
}

impl Facts {
    pub(super) fn gather(version: &str) -> Self {
        let setting = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let marks = ["/.dockerenv", "/run/.containerenv"];
        let may_administer =
            caps::has_cap(None, caps::CapSet::Effective, caps::Capability::CAP_SYS_ADMIN).unwrap_or(false);
        Facts {
            version: version.to_owned(),
            apparmor_restricts: setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1",
            userns_clone_off: setting("/proc/sys/kernel/unprivileged_userns_clone") == "0",
            no_user_namespaces: setting("/proc/sys/user/max_user_namespaces") == "0",
            in_container: marks.iter().any(|mark| Path::new(mark).symlink_metadata().is_ok()),
            bounded_root: rustix::process::geteuid().is_root() && !may_administer,
        }
    }
}

impl Cause {
    /// Why the directory for masks and temporary files could not be made: in a sandbox nobody may write outside the
    /// root.
    pub(crate) fn of_scratch(error: &ScratchError) -> Option<Self> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        let ScratchError::System { error: said, .. } = error else { return None };
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let is_refused = matches!(said.kind(), PermissionDenied | ReadOnlyFilesystem);
        (is_refused && is_confined(&status)).then(|| Cause::Confined(error.to_string()))
    }

    /// The limit that `error` is the reason of, if one is.
    fn of_shortage(failed: &str, error: &std::io::Error) -> Option<Self> {
        Some(Cause::Shortage { failed: failed.into(), shortage: Shortage::of(error)? })
    }

    /// What the system refused while something was done that is always done.
    pub(crate) fn of_system(failed: &str, error: &std::io::Error) -> Self {
        Self::of_shortage(failed, error).unwrap_or_else(|| Cause::Other(failed.into()))
    }

    /// Neither bridge can be had.
    pub(crate) fn unreachable(reason: &str, missing: Cause) -> Self {
        match missing {
            Cause::Shortage { .. } => missing,
            missing => Cause::Unreachable(format!("{reason}. Nor can socat lead out of it: {missing}")),
        }
    }

    /// The same, where there was a bridge of socat: what nobody knows the reason of may be that of the bridge, and then
    /// does not make the sandbox unavailable.
    pub(super) fn with_bridge(self) -> Self {
        match self {
            Cause::Other(reason) => Cause::NoBridge(reason),
            cause => cause,
        }
    }

    /// The cause, from what bubblewrap said on standard error, how it ended, and the machine's facts.
    pub(super) fn find(said: &str, ended: &Result<Ended, LaunchError>, facts: &Facts) -> Self {
        let said = said.trim();
        if let Some(shortage) = Shortage::said(said) {
            return Cause::Shortage { failed: said.into(), shortage };
        }
        match ended {
            Err(LaunchError::Namespaces(error)) => {
                let failed = error.to_string();
                return Self::of_shortage(&failed, error).unwrap_or(Cause::Unreachable(failed));
            }
            Err(failed @ LaunchError::System { error, .. }) => {
                if let Some(cause) = Self::of_shortage(&failed.to_string(), error) {
                    return cause;
                }
            }
            Err(LaunchError::Bridge(reason)) => return Cause::NoBridge(reason.clone()),
            _ => {}
        }
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if says(&["setuid"]) {
            return Cause::SetUid;
        }
        if says(&["Unknown option"]) || is_older_than_0_8(&facts.version) {
            return Cause::TooOld(facts.version.clone());
        }
        if says(&["seccomp", "PR_SET_SECCOMP"]) {
            return Cause::NoSeccomp(said.into());
        }
        if says(&["mount proc", "mount /proc"]) {
            return Cause::MaskedProc;
        }
        let about_namespaces = [
            "namespace",
            "uid map",
            "gid map",
            "setgroups",
            "Operation not permitted",
            "Permission denied",
            "No space left",
        ];
        if !says(&about_namespaces) {
            return Cause::Other(match (said.is_empty(), ended) {
                (false, _) => said.into(),
                (true, Err(error)) => error.to_string(),
                (true, Ok(ended)) => format!("the probe's command ended with {ended:?}"),
            });
        }
        Self::of_namespaces(said, facts)
    }

    fn of_namespaces(said: &str, facts: &Facts) -> Self {
        if facts.no_user_namespaces {
            Cause::Switch { setting: "user.max_user_namespaces", value: "0", remedy: "10000" }
        } else if facts.userns_clone_off {
            Cause::Switch { setting: "kernel.unprivileged_userns_clone", value: "0", remedy: "1" }
        } else if facts.apparmor_restricts {
            Cause::AppArmor
        } else if facts.in_container || facts.bounded_root {
            Cause::Container
        } else {
            Cause::NoNamespaces(said.into())
        }
    }
}

/// Whether a `/proc/PID/status` is that of a process under a seccomp filter that can gain no privileges: what sandboxes
/// do to commands, and container runtimes by default do not.
fn is_confined(status: &str) -> bool {
    let has = |name: &str, value: &str| {
        status.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.trim() == value))
    };
    has("Seccomp:", "2") && has("NoNewPrivs:", "1")
}

fn is_older_than_0_8(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>());
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (0, 8),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(change: impl Fn(&mut Facts)) -> Facts {
        let mut facts = Facts { version: "0.8.0".into(), ..Facts::default() };
        change(&mut facts);
        facts
    }

    fn check(said: &str, facts: &Facts, expected: &str) {
        let cause = Cause::find(said, &Err(LaunchError::Ended(1)), facts).to_string();
        assert!(cause.contains(expected), "{said:?} with {facts:?} gives {cause:?}, not {expected:?}");
    }

    #[test]
    fn a_confined_process_is_known_by_its_status() {
        for (status, is) in [
            ("NoNewPrivs:\t1\nSeccomp:\t2\n", true),
            ("NoNewPrivs:\t0\nSeccomp:\t2\n", false),
            ("NoNewPrivs:\t1\nSeccomp:\t0\n", false),
            ("", false),
        ] {
            assert_eq!(is_confined(status), is, "{status:?}");
        }
    }

    /// The messages are those of bubblewrap 0.4 to 0.11.
    #[test]
    fn what_fails_with_a_bridge_for_no_known_reason_is_laid_to_the_bridge() {
        for (said, is_the_bridge) in [
            ("bwrap: open /proc/5/ns/ns failed: No such file or directory", true),
            ("", true),
            ("bwrap: Creating new namespace failed: Operation not permitted", false),
        ] {
            let cause = Cause::find(said, &Err(LaunchError::Ended(137)), &facts(|_| {})).with_bridge();
            assert_eq!(matches!(cause, Cause::NoBridge(_)), is_the_bridge, "{said}: {cause}");
        }
    }

    #[test]
    fn each_cause_is_told_apart() {
        let plain = facts(|_| {});
        let no_rights = "bwrap: No permissions to create new namespace, likely because the kernel does not allow \
                         non-privileged user namespaces.";
        let uid_map = "bwrap: setting up uid map: Permission denied";
        check("bwrap: Unknown option --disable-userns", &plain, "too old");
        check(
            "bwrap: Unknown option --json-status-fd",
            &facts(|f| f.version = "0.3.1".into()),
            "0.3.1 is too old",
        );
        check(uid_map, &facts(|f| f.apparmor_restricts = true), "AppArmor");
        check(
            no_rights,
            &facts(|f| f.userns_clone_off = true),
            "sysctl -w kernel.unprivileged_userns_clone=1",
        );
        check(
            "bwrap: Creating new namespace failed: No space left on device",
            &facts(|f| f.no_user_namespaces = true),
            "user.max_user_namespaces",
        );
        check(
            "bwrap: Creating new namespace failed: Operation not permitted",
            &facts(|f| f.in_container = true),
            "seccomp=unconfined",
        );
        check(no_rights, &facts(|f| f.bounded_root = true), "container");
        check(
            "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
            &plain,
            "systempaths=unconfined",
        );
        check("bwrap: prctl(PR_SET_SECCOMP): Invalid argument", &plain, "CONFIG_SECCOMP_FILTER");
        check("bwrap: --disable-userns is not supported in setuid mode", &plain, "chmod u-s");
        check(
            no_rights,
            &plain,
            "the kernel makes no user namespaces for this process: bwrap: No permissions",
        );
        check("bwrap: something new", &plain, "bwrap: something new");
        check("", &plain, "status 1");
        let unreachable = Cause::find(
            "",
            &Err(LaunchError::Namespaces(std::io::ErrorKind::PermissionDenied.into())),
            &plain,
        );
        assert!(unreachable.to_string().contains("entered from outside"), "{unreachable}");
    }
}
