//! Which settings files there are, in which order, and where the relative paths of each start. Whether a file exists,
//! and what it says, is for other modules; only the administrator's directories are looked into, and the way to a home
//! directory, and this process's variables and user where that is asked for.

use crate::owner::Owners;
use crate::passed_over::{is_like_drop_in, is_like_main};
use crate::section::{Purpose, Source};
use crate::way::Way;
use crate::{Error, file};
use palisade_permissions::RuleAnchor;
use palisade_policy::{AbsPath, Layer};
use std::sync::Arc;

/// Where settings are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// An administrator's directories.
    pub managed: ManagedPlaces,
    /// The project's root.
    pub root: AbsPath,
    /// Whether the author of the project's files is trusted.
    pub trust: Trust,
    /// The home directory, where there is one.
    pub home: Option<AbsPath>,
    /// The home directory that the system's user database has for this user, where it has one. A user chooses `$HOME`
    /// for each command, so what an administrator denies below `~` is denied below both.
    pub account_home: Option<AbsPath>,
    /// `$CLAUDE_CONFIG_DIR`, which takes the place of `~/.claude`; `None` where it is unset or empty.
    pub config_dir: Option<AbsPath>,
    /// Where relative paths of options start, and those of rules that start at no file.
    pub working_directory: AbsPath,
}

/// Where an administrator's settings lie. A program takes those [of this machine](Self::of_this_machine) and lets
/// neither a variable nor an option name others: whoever could move them would be rid of their locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedPlaces {
    /// The directories, highest first.
    pub directories: Vec<AbsPath>,
    /// The user, besides root, to whom they may belong.
    pub owner: u32,
}

/// Whether somebody has looked at a project and trusts the author of its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// All that the project's files say counts, as far as locks let it.
    Trusted,
    /// Only what tightens counts.
    Untrusted,
}

/// The directories that hold settings files, highest first: the product's own names stand above Claude Code's.
const DIRECTORIES: [&str; 3] = [".palisade", ".cogitator", CLAUDE];
const CLAUDE: &str = ".claude";
const SHARED: &str = "settings.json";
const LOCAL: &str = "settings.local.json";
const MANAGED: &str = "managed-settings.json";
/// The directory of an administrator's further files.
const DROP_INS: &str = "managed-settings.d";

#[cfg(not(target_os = "macos"))]
const MANAGED_DIRECTORIES: [&str; 3] = ["/etc/palisade", "/etc/cogitator", "/etc/claude-code"];
#[cfg(target_os = "macos")]
const MANAGED_DIRECTORIES: [&str; 3] = [
    "/Library/Application Support/Palisade",
    "/Library/Application Support/Cogitator",
    "/Library/Application Support/ClaudeCode",
];

impl ManagedPlaces {
    /// The system's directories, which belong to root.
    pub fn of_this_machine() -> Self {
        ManagedPlaces {
            directories: MANAGED_DIRECTORIES.map(|name| below(&AbsPath::root(), name)).into(),
            owner: 0,
        }
    }

    /// Every file that may be there, highest first: in one directory a later drop-in stands above an earlier one and
    /// all of them above the main file. Fails where others than the owner could change what is there.
    pub(crate) fn files(&self) -> Result<ManagedFiles, Error> {
        let owners = Owners::new(self.owner);
        let mut found = ManagedFiles::default();
        for directory in &self.directories {
            let drop_ins = below(directory, DROP_INS);
            owners.check(&drop_ins)?;
            found.add_drop_ins(&drop_ins)?;
            found.files.push(below(directory, MANAGED));
            found.look_beside_main(directory);
        }
        found.files.iter().try_for_each(|file| owners.check(file))?;
        Ok(found)
    }

    /// Fails where others than the owner could change the file at `path`.
    pub(crate) fn check_owners(&self, path: &AbsPath) -> Result<(), Error> {
        Owners::new(self.owner).check(path)
    }
}

/// What there is in an administrator's directories.
#[derive(Debug, Default)]
pub(crate) struct ManagedFiles {
    /// The files that may be there, highest first.
    pub(crate) files: Vec<AbsPath>,
    /// What is there under a name that only looks like a settings file's.
    pub(crate) passed_over: Vec<AbsPath>,
}

impl ManagedFiles {
    fn add_drop_ins(&mut self, directory: &AbsPath) -> Result<(), Error> {
        for name in file::names(directory)?.iter().rev() {
            let is_read = name.ends_with(b".json") && !name.starts_with(b".");
            if is_read {
                self.files.extend(directory.join(name));
            } else if is_like_drop_in(name) {
                self.passed_over.extend(directory.join(name));
            }
        }
        Ok(())
    }

    /// A directory that cannot be listed is no obstacle: its files may be read all the same.
    fn look_beside_main(&mut self, directory: &AbsPath) {
        let names = file::names(directory).unwrap_or_default();
        let is_known = |name: &Vec<u8>| [MANAGED, DROP_INS].iter().any(|known| known.as_bytes() == name);
        let like_main = names.iter().filter(|name| !is_known(name) && is_like_main(name));
        self.passed_over.extend(like_main.flat_map(|name| directory.join(name)));
    }
}

impl Places {
    /// The places of this machine, for this process's user and variables (`HOME`, `CLAUDE_CONFIG_DIR`).
    ///
    /// `root` and `working_directory` have to be real paths, with no link in them. A variable that is set to what is
    /// not absolute is an error: it would anchor rules nobody knows where.
    pub fn of_this_process(root: AbsPath, working_directory: AbsPath, trust: Trust) -> Result<Self, Error> {
        Ok(Places {
            managed: ManagedPlaces::of_this_machine(),
            root,
            trust,
            home: directory_variable("HOME")?,
            account_home: account_home()?,
            config_dir: directory_variable("CLAUDE_CONFIG_DIR")?,
            working_directory,
        })
    }

    /// Every file of the project and the user that may be there, highest first.
    ///
    /// A project may be the home directory itself: a file that is the user's is then no file of the project. So it is too
    /// where a link leads to the home directory (`/home` to `/var/home`), but not where the file itself is one: then two
    /// people may mean two things.
    pub(crate) fn files(&self) -> Vec<(Layer, AbsPath)> {
        let user: Vec<_> = self.user_directories().iter().map(|directory| below(directory, SHARED)).collect();
        let really: Vec<_> = user.iter().map(at_real_home).collect();
        let in_root = |layer: Layer, name: &'static str| {
            DIRECTORIES.map(|directory| (layer, below(&below(&self.root, directory), name)))
        };
        let project = in_root(Layer::Local, LOCAL).into_iter().chain(in_root(Layer::Project, SHARED));
        let mut files: Vec<_> = project.filter(|(_, path)| !really.contains(path)).collect();
        files.extend(user.into_iter().map(|path| (Layer::User, path)));
        files
    }

    /// The layer that the file at `path` belongs to by its place; `None` for a file that is read only when it is named.
    pub fn layer(&self, path: &AbsPath) -> Option<Layer> {
        let is_managed = self.managed.directories.iter().any(|directory| directory.covers(path));
        let really = at_real_home(path);
        let is_it = |file: &AbsPath| file == path || at_real_home(file) == really;
        let of_others = || self.files().into_iter().find(|(_, file)| is_it(file)).map(|(layer, _)| layer);
        if is_managed { Some(Layer::Managed) } else { of_others() }
    }

    /// What all entries of the file at `path`, read as one of `layer`, share.
    pub(crate) fn source(&self, layer: Layer, path: &AbsPath) -> Source {
        let directory = path.parent().unwrap_or_else(AbsPath::root);
        let here = &self.working_directory;
        let (base, directories, rules) = match layer {
            Layer::Managed => (None, None, None),
            Layer::Local | Layer::Project => (Some(&self.root), Some(&self.root), Some(&self.root)),
            Layer::User => (Some(&directory), Some(here), Some(&directory)),
            Layer::Flag | Layer::Builtin => (Some(here), Some(here), Some(&directory)),
        };
        Source {
            layer,
            file: path.to_string().into(),
            base: base.cloned(),
            directories: directories.cloned(),
            rules: RuleAnchor {
                other_home: self.account_home.clone().filter(|_| layer == Layer::Managed),
                ..self.rule_anchor(rules)
            },
            purpose: Purpose::Load,
        }
    }

    /// The same of a text given as the option `name`.
    pub(crate) fn source_of_option(&self, name: Arc<str>) -> Source {
        let here = &self.working_directory;
        Source {
            layer: Layer::Flag,
            file: name,
            base: Some(here.clone()),
            directories: Some(here.clone()),
            rules: self.rule_anchor(Some(here)),
            purpose: Purpose::Load,
        }
    }

    fn rule_anchor(&self, source: Option<&AbsPath>) -> RuleAnchor {
        RuleAnchor {
            working_directory: self.working_directory.clone(),
            source: source.cloned(),
            home: self.home.clone(),
            other_home: None,
            folds_case: cfg!(target_os = "macos"),
        }
    }

    fn user_directories(&self) -> Vec<AbsPath> {
        DIRECTORIES
            .into_iter()
            .filter_map(|directory| match (&self.config_dir, &self.home) {
                (Some(config_dir), _) if directory == CLAUDE => Some(config_dir.clone()),
                (_, home) => home.as_ref().map(|home| below(home, directory)),
            })
            .collect()
    }
}

/// A settings file by the real place of the directory that holds its own one.
fn at_real_home(file: &AbsPath) -> AbsPath {
    let really = || {
        let directory = file.parent()?;
        let home = Way::of(&directory.parent()?).ok()?.end;
        home.join(directory.file_name()?).ok()?.join(file.file_name()?).ok()
    };
    really().unwrap_or_else(|| file.clone())
}

/// A variable that names a directory; unset and empty are the same.
fn directory_variable(name: &'static str) -> Result<Option<AbsPath>, Error> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    let path = value.map(|value| AbsPath::new(value.as_encoded_bytes())).transpose();
    path.map_err(|reason| Error::BadVariable { name, reason })
}

/// The home directory of this process's user by the system's user database, where that knows the user and names one.
fn account_home() -> Result<Option<AbsPath>, Error> {
    use nix::errno::Errno::{EBADF, ENOENT, EPERM, ESRCH};
    match nix::unistd::User::from_uid(nix::unistd::getuid()) {
        Ok(user) => Ok(user.and_then(|user| AbsPath::try_from(user.dir.as_path()).ok())),
        // So systems say that there is no such user, or no database.
        Err(EBADF | ENOENT | EPERM | ESRCH) => Ok(None),
        Err(error) => Err(Error::UserDatabase { source: error.into() }),
    }
}

/// `name` in `directory`. The names are constants of this module, which hold no NUL byte.
fn below(directory: &AbsPath, name: &'static str) -> AbsPath {
    directory.join(name).unwrap_or_else(|_| unreachable!("{name} holds no NUL byte"))
}
