//! bubblewrap's arguments: one flat list, from a mount plan and the few facts a launch adds.
//!
//! The list goes to bubblewrap through a descriptor (`--args`), never on its command line, which every user
//! of the machine can read. bubblewrap takes [`MOST_ARGUMENTS`] in all; more is an error that names a rule.

use crate::mounts::{Mount, Mounts};
use palisade_policy::AbsPath;

/// How many arguments bubblewrap takes (its `MAX_ARGS`), in whatever way they come.
pub const MOST_ARGUMENTS: usize = 9_000;

/// What besides the mount plan goes into the argument list.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// The source of every hidden file: an empty file without any permission.
    pub hidden_file: &'a AbsPath,
    /// The source of every hidden directory: an empty directory without any permission.
    pub hidden_directory: &'a AbsPath,
    /// Where the command starts.
    pub working_directory: &'a AbsPath,
    /// Symbolic links directly in `/`, each with its text, that lead to what the command may see: `/bin`, `/lib64`. They
    /// are made where the sandbox's tree is made anew.
    pub root_links: &'a [(AbsPath, Vec<u8>)],
    /// What is needed when the sandbox is within another one, which has the network namespace.
    pub within: Option<Within>,
    /// The command's variables, for a launch in which bubblewrap itself sets them.
    pub variables: &'a [(Vec<u8>, Vec<u8>)],
}

/// What a sandbox within another one has to be told: who the command is, whom the other one maps to 0.
#[derive(Debug, Clone, Copy)]
pub struct Within {
    /// The command's user.
    pub user: u32,
    /// The command's group.
    pub group: u32,
}

/// Why no argument list can be made.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    /// The plan needs more than [`MOST_ARGUMENTS`].
    #[error(
        "the file rules need {count} bubblewrap arguments, and it takes {MOST_ARGUMENTS}; \
         the limit was crossed at the rule for {at}: name a directory above several of them instead"
    )]
    TooMany {
        /// How many arguments would be needed.
        count: usize,
        /// The path of the mount at which the limit was crossed.
        at: AbsPath,
    },
    /// The variables together with the plan need more than [`MOST_ARGUMENTS`].
    #[error(
        "the command's {0} variables and the file rules need more than bubblewrap's {MOST_ARGUMENTS} arguments"
    )]
    TooManyVariables(usize),
}

/// What every launch has: namespaces of all kinds but the network's, no capability, no way to make further user namespaces.
const ISOLATION: [&str; 9] = [
    "--unshare-user",
    "--disable-userns",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
];

/// The argument list for `mounts`.
pub fn arguments(mounts: &Mounts, setting: &Setting<'_>) -> Result<Vec<Vec<u8>>, ArgumentsError> {
    let mut list = List(ISOLATION.iter().map(|word| word.as_bytes().to_vec()).collect());
    match &setting.within {
        None => list.push(["--unshare-net"]),
        Some(Within { user, group }) => list.push(["--uid", &user.to_string(), "--gid", &group.to_string()]),
    }
    let root = AbsPath::root();
    if mounts.hides_root() {
        list.push(["--chmod", "0111", "/"]);
        setting.root_links.iter().for_each(|(at, text)| list.push([&b"--symlink"[..], text, at.as_bytes()]));
    } else {
        list.bind(if mounts.root_is_writable() { "--bind" } else { "--ro-bind" }, &root, &root);
    }
    // Shared memory is for every user, as on the host; bubblewrap makes the directory for one.
    list.push(["--dev", "/dev", "--chmod", "1777", "/dev/shm", "--proc", "/proc"]);
    for step in mounts.steps() {
        list.step(step, setting);
        if list.0.len() > MOST_ARGUMENTS {
            return Err(list.too_many(mounts, setting, step));
        }
    }
    for (name, value) in setting.variables {
        list.push([&b"--setenv"[..], name, value]);
    }
    list.push([b"--chdir", setting.working_directory.as_bytes()]);
    if list.0.len() > MOST_ARGUMENTS {
        return Err(ArgumentsError::TooManyVariables(setting.variables.len()));
    }
    Ok(list.0)
}

struct List(Vec<Vec<u8>>);

impl List {
    fn push<W: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_vec()));
    }

    fn bind(&mut self, option: &str, from: &AbsPath, to: &AbsPath) {
        self.push([option.as_bytes(), from.as_bytes(), to.as_bytes()]);
    }

    fn step(&mut self, step: &Mount, setting: &Setting<'_>) {
        match step {
            Mount::ReadOnly(at) => self.bind("--ro-bind", at, at),
            Mount::Substitute { at, with } => self.bind("--ro-bind", with, at),
            Mount::Writable(at) | Mount::Pin(at) => self.bind("--bind", at, at),
            // bubblewrap would mount where it leads. That it is missing shows when the mounts are verified.
            Mount::PinLink(_) => {}
            Mount::HideFile(at) => self.bind("--ro-bind", setting.hidden_file, at),
            // The tree was made so.
            Mount::SearchOnly(at) if at.is_root() => {}
            Mount::HideDirectory(at) => self.bind("--ro-bind", setting.hidden_directory, at),
            Mount::SearchOnly(at) => self.push([b"--perms", &b"0111"[..], b"--tmpfs", at.as_bytes()]),
            Mount::Passage(at) => self.push([b"--perms", &b"0111"[..], b"--dir", at.as_bytes()]),
            Mount::Seal(at) => self.push([b"--remount-ro", at.as_bytes()]),
        }
    }

    /// Counts what the whole plan would have needed.
    fn too_many(mut self, mounts: &Mounts, setting: &Setting<'_>, crossed: &Mount) -> ArgumentsError {
        let from = mounts.steps().iter().position(|step| step == crossed).unwrap_or(0);
        for step in &mounts.steps()[from + 1..] {
            self.step(step, setting);
        }
        ArgumentsError::TooMany { count: self.0.len(), at: crossed.path().clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{Confinement, FileRule, FileSets, NetworkPolicy, Node, Origin, PathPattern};

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).expect("absolute")
    }

    fn lay_out(files: FileSets) -> Result<Vec<String>, ArgumentsError> {
        let nodes = files.rules().map(|rule| (rule.pattern.as_literal().clone(), Node::Directory)).collect();
        let confinement = Confinement {
            files,
            nodes,
            links: Default::default(),
            stepped_out_of: Default::default(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            working_directory: path("/p"),
        };
        let setting = Setting {
            hidden_file: &path("/s/file"),
            hidden_directory: &path("/s/directory"),
            working_directory: &confinement.working_directory,
            root_links: &[(path("/bin"), b"usr/bin".to_vec())],
            within: None,
            variables: &[(b"A".to_vec(), b"b\nc".to_vec())],
        };
        let hidden = [(path("/proc/timer_list"), Node::File)];
        let mounts = Mounts::plan(&confinement).guarded(&[path("/proc/sys")], &hidden);
        let list = arguments(&mounts, &setting)?;
        Ok(list.into_iter().map(|word| String::from_utf8_lossy(&word).escape_default().to_string()).collect())
    }

    fn rule(text: &str) -> FileRule {
        FileRule { pattern: PathPattern::literal(path(text)), origin: Origin::flag("--test", text) }
    }

    #[test]
    fn an_ordinary_launch() {
        let files = FileSets {
            allow_write: vec![rule("/home/u/p")],
            deny_read: vec![rule("/home/u"), rule("/srv")],
            ..FileSets::default()
        };
        let words = lay_out(files).expect("fits").join(" ").replace(" --", "\n--");
        insta::assert_snapshot!(words, @r"
        --unshare-user
        --disable-userns
        --unshare-pid
        --unshare-ipc
        --unshare-uts
        --unshare-cgroup
        --die-with-parent
        --cap-drop ALL
        --unshare-net
        --ro-bind / /
        --dev /dev
        --chmod 1777 /dev/shm
        --proc /proc
        --ro-bind /proc/sys /proc/sys
        --ro-bind /s/file /proc/timer_list
        --perms 0111
        --tmpfs /home/u
        --bind /home/u/p /home/u/p
        --ro-bind /s/directory /srv
        --remount-ro /home/u
        --setenv A b\nc
        --chdir /p
        ");
    }

    #[test]
    fn a_launch_with_everything_hidden() {
        let files = FileSets {
            allow_write: vec![rule("/home/u/p")],
            deny_read: vec![rule("/")],
            allow_read: vec![rule("/dev"), rule("/proc"), rule("/usr")],
            ..FileSets::default()
        };
        let words = lay_out(files).expect("fits").join(" ").replace(" --", "\n--");
        let (_, words) = words.split_once("ALL\n").expect("the same beginning");
        insta::assert_snapshot!(words, @r"
        --unshare-net
        --chmod 0111 /
        --symlink usr/bin /bin
        --dev /dev
        --chmod 1777 /dev/shm
        --proc /proc
        --ro-bind /proc/sys /proc/sys
        --ro-bind /s/file /proc/timer_list
        --perms 0111
        --dir /home
        --perms 0111
        --dir /home/u
        --bind /home/u/p /home/u/p
        --ro-bind /usr /usr
        --remount-ro /
        --setenv A b\nc
        --chdir /p
        ");
    }

    #[test]
    fn more_than_bubblewrap_takes_names_a_rule() {
        let files = FileSets {
            deny_read: (0..3_500).map(|i| rule(&format!("/d/{i:04}"))).collect(),
            ..FileSets::default()
        };
        let error = lay_out(files).expect_err("too many").to_string();
        assert!(error.contains("10526 bubblewrap arguments") && error.contains("/d/299"), "{error}");
    }
}
