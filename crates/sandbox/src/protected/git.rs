//! What git runs or follows: the git directories that belong to a root, and in each the files that lead to code.
//!
//! The attacker is the command. It needs to write most of a git directory, or no commit would work; the index, refs and
//! objects are its own. What it must not write is what makes the *next* git, run outside by somebody else, execute
//! something or look elsewhere: hooks, configuration, and the pointers between git directories. Nor may it turn a
//! directory that is none into a git directory.
//!
//! Nothing here is taken from git itself, which would run with the very files in question.
//!
//! # What git directories belong to a root
//!
//! The one of its `.git`, be it a directory, a file or a link; the one that the root is or lies in; the common one that a
//! linked worktree shares; all linked worktrees and submodules of each. Of repositories in whose work tree the root lies
//! only what their configuration names, which may be in the root. Other repositories below the root are not looked for: a
//! command can always make one more.
//!
//! # Whom a `.git` file is believed
//!
//! A linked worktree or a submodule keeps its git directory elsewhere, and a commit must write there. A `.git` file may
//! come with an archive from anywhere, so it alone opens nothing: the git directory must name this root as its work
//! tree, as git writes it there when it makes the two.
//!
//! # `git submodule update`
//!
//! For every submodule whose configuration says where its work tree is, git first writes that there once more, the very
//! same, and gives up when it cannot. The `.git` file in the work tree leads to the git directory anyway, so a command
//! sees the configuration without those lines, and no less protected: then git has nothing to write. There is one thing
//! that git does differently without them: to a hook that it runs in a submodule, and that goes to another directory, the
//! work tree is that one (as in a linked worktree, where there never are such lines). So they stay where there are hooks.

mod config;
mod variables;

pub(crate) use variables::Variables;

use super::{Inside, Missing, Owner, Protected};
use crate::cover::{Covers, StandIn};
use crate::error::Error;
use crate::resolve::Way;
use config::{GitConfig, content_without_links, regular_content};
use palisade_policy::AbsPath;
use std::collections::BTreeSet;
use std::fs::{Metadata, symlink_metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

/// How many directories below `modules` are looked at. The names of submodules have few components.
const MOST_DIRECTORIES: usize = 20_000;

/// How many bytes of excerpts there may be: thousands of submodules have less. What is more stays as it is.
const MOST_OF_EXCERPTS: usize = 1 << 20;

/// What is below a submodule's git directory and holds no other one, or was looked through already.
const OWN_DIRECTORIES: [&[u8]; 7] =
    [b"objects", b"refs", b"logs", b"hooks", b"info", b"branches", b"worktrees"];

/// How deep configuration files may include each other; git's own limit.
const MOST_INCLUDES: usize = 10;

/// Configuration files below the home directory.
const OF_USER: [&str; 2] = [".gitconfig", ".config/git/config"];

/// Those of the machine, where git is the system's and where somebody built it.
const OF_MACHINE: [&str; 2] = ["/etc/gitconfig", "/usr/local/etc/gitconfig"];

/// What belongs to git in and around a root.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    /// Paths that no command may write.
    pub(crate) protected: Vec<Protected>,
    /// Git directories outside the root that know it as their work tree: git must be able to write there.
    pub(crate) writable: Vec<AbsPath>,
    /// Paths that git follows to all this: what it passes must stay.
    pub(crate) ways: Vec<Way>,
    /// Protected files of which a command is to see a part only, unless the user's own configuration names hooks.
    pub(crate) excerpts: Vec<Excerpt>,
    /// Whether a configuration names a directory of hooks.
    pub(crate) names_hooks: bool,
    /// What was not followed, and why.
    pub(crate) warnings: Vec<String>,
}

/// What is left of a file's content without some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) path: AbsPath,
    pub(crate) content: Vec<u8>,
}

/// Finds what belongs to the repository of `root`, which is real.
pub(crate) fn around(root: &AbsPath, home: Option<&AbsPath>) -> Result<Repository, Error> {
    let mut search = Search { home: home.cloned(), ..Search::default() };
    search.root(root)?;
    search.finish()
}

/// What the configuration of the user and of the machine leads to from each of `roots`, and what variables say to git.
pub(crate) fn of_owner(roots: &[AbsPath], owner: &Owner) -> Result<Repository, Error> {
    let (home, variables) = (owner.home.as_ref(), &owner.git);
    let mut search = Search { home: home.cloned(), ..Search::default() };
    let below_home = OF_USER.iter().filter_map(|name| home?.join(name).ok());
    let of_machine = OF_MACHINE.iter().filter_map(|path| AbsPath::new(path).ok());
    let named: Vec<AbsPath> = variables.files.iter().map(|way| search.go(way)).collect();
    let work_tree = variables.work_tree.as_ref().map(|way| search.go(way));
    let directories: Vec<_> = roots.iter().filter_map(|root| search.directory_of(root)).collect();
    let tops = roots.iter().chain(&work_tree).cloned().chain(directories).collect();
    for file in below_home.chain(of_machine).chain(named) {
        search.configuration(&file, &tops, 0);
    }
    search.follow(variables.values.clone(), &AbsPath::root(), &tops, 0);
    search.named(variables, roots, work_tree)?;
    search.finish()
}

#[derive(Debug, Default)]
struct Search {
    found: Repository,
    home: Option<AbsPath>,
    /// Configuration files that were read, each with where the hooks are run that it names.
    read: BTreeSet<(AbsPath, BTreeSet<AbsPath>)>,
    /// How many directories below `modules` were looked at.
    seen: usize,
    /// A directory that keeps a configuration from being read, and that a command could open again.
    locked: Option<AbsPath>,
    /// How many bytes the excerpts have.
    excerpted: usize,
}

impl Search {
    /// What was found. What a configuration names that cannot be read now could not be protected, and one command could
    /// have locked it for another to write that.
    fn finish(self) -> Result<Repository, Error> {
        let Some(locked) = self.locked else { return Ok(self.found) };
        Err(Error::Unenforceable {
            rule: "the protection of what git's configuration names".into(),
            reason: format!(
                "{locked} cannot be looked into; give its owner's permissions back (chmod u+rwx)"
            ),
        })
    }

    /// The git directories that variables name. A root's own is looked at with the root.
    fn named(
        &mut self,
        variables: &Variables,
        roots: &[AbsPath],
        work_tree: Option<AbsPath>,
    ) -> Result<(), Error> {
        if let Some(common) = &variables.common {
            let common = self.go(common);
            self.shared(&common, &BTreeSet::from([common.clone()]));
        }
        let Some(directory) = &variables.directory else { return Ok(()) };
        let named = self.go(directory);
        let place = real(&named);
        if roots.iter().any(|root| real(&below(root, ".git")) == place) {
            return Ok(());
        }
        let beside = named.parent().unwrap_or_else(AbsPath::root);
        let work_tree = work_tree.unwrap_or_else(|| beside.clone());
        if !stands(&place) || place.as_path().is_file() {
            self.protect(named.clone(), Missing::Cover(StandIn::Socket));
            let Some(leads_to) = self.leads_to(&beside, &named) else { return Ok(()) };
            return self.repository(&leads_to, &work_tree).map(drop);
        }
        let head = below(&place, "HEAD");
        if !stands(&head) {
            self.protect(head, Missing::Cover(StandIn::Socket));
        }
        self.repository(&place, &work_tree).map(drop)
    }

    fn root(&mut self, root: &AbsPath) -> Result<(), Error> {
        let dot_git = below(root, ".git");
        for above in root.ancestors().skip(1) {
            if is_repository(&above) {
                // The root lies in a git directory: hooks are below it, or submodules' git directories.
                self.repository(&above, &above)?;
            }
            // It lies in a work tree, and may hold what the repository's configuration names.
            if let Some(directory) = self.directory_of(&above) {
                self.own(&directory, &above);
            }
        }
        self.bare(root, &dot_git)?;
        if !stands(&dot_git) {
            // A command that could make one would be the author of its hooks.
            self.protect(dot_git, Missing::Cover(StandIn::Socket));
            return Ok(());
        }
        let is_file = !dot_git.as_path().is_dir();
        if is_file {
            self.protect(dot_git.clone(), Missing::Cover(StandIn::Socket));
        }
        let Some(directory) = self.directory_of(root) else { return Ok(()) };
        let common = self.repository(&directory, root)?;
        if is_file {
            self.open_if_known(directory, common, root, &dot_git);
        }
        Ok(())
    }

    /// A directory with `HEAD`, `objects` and `refs` is a repository of its own to git, beside no `.git` or one that
    /// is broken, and a command can break one.
    fn bare(&mut self, root: &AbsPath, dot_git: &AbsPath) -> Result<(), Error> {
        let head = below(root, "HEAD");
        if !stands(&head) {
            // In a work tree a file of that name makes git ask which HEAD is meant.
            let is_in_work_tree =
                stands(dot_git) || root.ancestors().skip(1).any(|above| stands(&below(&above, ".git")));
            let stand_in = Missing::Cover(StandIn::Socket);
            self.protect(head, if is_in_work_tree { Missing::Remove } else { stand_in });
            return if is_configured(root) { self.repository(root, root).map(drop) } else { Ok(()) };
        }
        if !is_git_directory(root) {
            self.protect(head, Missing::Remove);
        }
        self.repository(root, root).map(drop)
    }

    /// The git directory of a work tree: its `.git`, or where that leads.
    fn directory_of(&mut self, top: &AbsPath) -> Option<AbsPath> {
        let dot_git = below(top, ".git");
        if !dot_git.as_path().is_dir() {
            return self.leads_to(top, &dot_git);
        }
        self.found.ways.push(Way::of(&dot_git));
        Some(real(&dot_git))
    }

    /// Opens the git directory that a root's `.git` file leads to, if it knows the root.
    fn open_if_known(&mut self, directory: AbsPath, common: AbsPath, root: &AbsPath, dot_git: &AbsPath) {
        if knows(&directory, &common, root, dot_git) {
            // The first is in the second, but for a submodule's, which has no other.
            self.found.writable.push(common);
        } else if let Some(outside) = [&directory, &common].into_iter().find(|place| !root.covers(place)) {
            self.found.warnings.push(format!(
                "{dot_git} leads to {directory}, which does not name {root} as its work tree: git can write to \
                 {outside} only where allowWrite says so"
            ));
        }
    }

    /// The directory that such a file names.
    fn leads_to(&mut self, anchor: &AbsPath, file: &AbsPath) -> Option<AbsPath> {
        let named = self.place(anchor, &content(file, Some("gitdir:"))?);
        let directory = canonical(named.as_bytes()).filter(|path| path.as_path().is_dir());
        if directory.is_none() {
            // A command that could make one would be the author of its hooks.
            self.protect(named, Missing::Cover(StandIn::Socket));
        }
        directory
    }

    /// A git directory with all that hangs on it; gives the common one.
    fn repository(&mut self, directory: &AbsPath, work_tree: &AbsPath) -> Result<AbsPath, Error> {
        let common = self.own(directory, work_tree);
        let mut with_modules = BTreeSet::from([directory.clone(), common.clone()]);
        with_modules.extend(self.worktrees(&common));
        for above in with_modules {
            self.modules(&above)?;
        }
        Ok(common)
    }

    /// What a git directory has by itself, and by the common one, which it gives back.
    fn own(&mut self, directory: &AbsPath, work_tree: &AbsPath) -> AbsPath {
        let common = self.common(directory);
        // Hooks of a push to here are run in the git directory, all others in the work tree.
        let tops = BTreeSet::from([work_tree, directory, &common].map(AbsPath::clone));
        self.git_directory(directory, &tops);
        if common != *directory {
            self.git_directory(&common, &tops);
        }
        self.shared(&common, &tops);
        common
    }

    /// The directory that a git directory shares with others, or the same one.
    fn common(&mut self, directory: &AbsPath) -> AbsPath {
        let Some(text) = content(&below(directory, "commondir"), None) else { return directory.clone() };
        let named = self.place(directory, &text);
        canonical(named.as_bytes()).unwrap_or_else(|| {
            self.protect(named, Missing::Cover(StandIn::Socket));
            directory.clone()
        })
    }

    /// What every git directory has of its own.
    fn git_directory(&mut self, directory: &AbsPath, tops: &BTreeSet<AbsPath>) {
        // Both change what git does by being there.
        self.protect(below(directory, "commondir"), Missing::Remove);
        let own = below(directory, "config.worktree");
        self.configuration(&own, tops, 0);
        self.protect(own, Missing::Remove);
    }

    /// What the worktrees of a repository share.
    fn shared(&mut self, common: &AbsPath, tops: &BTreeSet<AbsPath>) {
        self.found.protected.push(Protected {
            path: below(common, "hooks"),
            missing: Missing::Cover(StandIn::Socket),
            inside: Inside::Scripts,
        });
        let shared = below(common, "config");
        self.configuration(&shared, tops, 0);
        // git reads it at every start.
        self.protect(shared, Missing::Cover(StandIn::File));
    }

    /// The git directories of linked worktrees. Each may have submodules of its own.
    fn worktrees(&mut self, common: &AbsPath) -> Vec<AbsPath> {
        let all = self.directories(&below(common, "worktrees"));
        for directory in &all {
            let work_tree = pointer(&below(directory, "gitdir"), directory, None).and_then(|at| at.parent());
            self.git_directory(directory, &work_tree.into_iter().chain([directory.clone()]).collect());
            self.common(directory);
        }
        all
    }

    /// The git directories of submodules, whose names may have slashes, and of their submodules.
    fn modules(&mut self, above: &AbsPath) -> Result<(), Error> {
        let modules = below(above, "modules");
        let mut open = self.directories(&modules);
        while let Some(directory) = open.pop() {
            self.seen += 1;
            if self.seen > MOST_DIRECTORIES {
                return Err(Error::Unenforceable {
                    rule: format!("the protection of git's files below {modules}"),
                    reason: format!(
                        "it holds more than {MOST_DIRECTORIES} directories; remove what is no submodule's"
                    ),
                });
            }
            match is_module(&directory) {
                Some(true) => {}
                Some(false) => {
                    open.extend(self.directories(&directory));
                    continue;
                }
                None => {
                    self.protect(directory, Missing::Cover(StandIn::Socket));
                    continue;
                }
            }
            let named = configurations(&directory).iter().find_map(|file| work_tree(&directory, file));
            let work_tree = named.unwrap_or_else(|| directory.clone());
            let tops = BTreeSet::from([&work_tree, &directory].map(AbsPath::clone));
            self.git_directory(&directory, &tops);
            self.shared(&directory, &tops);
            self.excerpts(&directory, &work_tree);
            for worktree in self.worktrees(&directory) {
                open.extend(self.directories(&below(&worktree, "modules")));
            }
            // A command can have made it look like a submodule's, to have what is really one below it passed over.
            let is_own =
                |path: &AbsPath| path.file_name().is_some_and(|name| OWN_DIRECTORIES.contains(&name));
            open.extend(self.directories(&directory).into_iter().filter(|path| !is_own(path)));
        }
        Ok(())
    }

    /// The configuration of a submodule without what it says of the work tree, where git can do without.
    fn excerpts(&mut self, directory: &AbsPath, work_tree: &AbsPath) {
        if !is_led_back(work_tree, directory) || has_hooks(directory) {
            return;
        }
        for path in configurations(directory) {
            let text = content_without_links(path.as_path());
            let Some(content) = text.and_then(|text| GitConfig::without_work_tree(&text)) else { continue };
            self.excerpted += content.len();
            if self.excerpted <= MOST_OF_EXCERPTS {
                self.found.excerpts.push(Excerpt { path, content });
            }
        }
    }

    /// What a configuration file includes is configuration, and what it calls the hooks' directory is one.
    fn configuration(&mut self, file: &AbsPath, tops: &BTreeSet<AbsPath>, depth: usize) {
        if depth > MOST_INCLUDES || !self.read.insert((file.clone(), tops.clone())) {
            return;
        }
        if self.locked.is_none() {
            self.locked = locked_above(file);
        }
        let config = GitConfig::read(file.as_path());
        let beside = file.parent().unwrap_or_else(AbsPath::root);
        self.follow(config, &beside, tops, depth);
    }

    fn follow(&mut self, config: GitConfig, beside: &AbsPath, tops: &BTreeSet<AbsPath>, depth: usize) {
        // git runs hooks in the work tree, where its directory's own configuration says that this is.
        let named_top = config.work_tree.filter(|_| depth == 0).map(|value| self.place(beside, &value));
        let tops: &BTreeSet<AbsPath> = &tops.iter().cloned().chain(named_top).collect();
        let mut in_each = |values: &[Vec<u8>]| {
            tops.iter().flat_map(|top| self.expanded(values, top)).collect::<BTreeSet<_>>()
        };
        let (hooks, templates) = (in_each(&config.hooks), in_each(&config.templates));
        for included in self.expanded(&config.includes, beside) {
            self.configuration(&included, tops, depth + 1);
            self.protect(included, Missing::Cover(StandIn::File));
        }
        self.found.names_hooks |= !hooks.is_empty();
        let missing = Missing::Cover(StandIn::Socket);
        let scripts = hooks.into_iter().map(|path| Protected { path, missing, inside: Inside::Scripts });
        self.found.protected.extend(scripts);
        let code = templates.into_iter().map(|path| Protected { path, missing, inside: Inside::Code });
        self.found.protected.extend(code);
    }

    /// The directories in a directory, none of them a link. One that cannot be looked into, since a command has taken the
    /// permissions from it perhaps, is protected as a whole.
    fn directories(&mut self, above: &AbsPath) -> Vec<AbsPath> {
        let entries = match std::fs::read_dir(above.as_path()) {
            Ok(entries) => entries.flatten(),
            Err(error) => {
                if !is_nothing(&error) {
                    self.protect(above.clone(), Missing::Cover(StandIn::Socket));
                }
                return Vec::new();
            }
        };
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.filter_map(|entry| AbsPath::try_from(entry.path().as_path()).ok()).collect()
    }

    /// Paths of a configuration file: `~/x` is below the home directory, `~u/x` below that of u, `x` below `anchor`.
    fn expanded(&mut self, values: &[Vec<u8>], anchor: &AbsPath) -> Vec<AbsPath> {
        let mut places = Vec::new();
        for value in values {
            // It need not be there where it says so.
            let value = value.strip_prefix(b":(optional)").unwrap_or(value);
            if value.is_empty() {
                continue;
            }
            let Some(after) = value.strip_prefix(b"~") else {
                places.push(self.place(anchor, value));
                continue;
            };
            let end = after.iter().position(|&byte| byte == b'/').unwrap_or(after.len());
            let (user, below_home) = after.split_at(end);
            let home = if user.is_empty() { self.home.clone() } else { home_of(user) };
            places.extend(home.map(|home| self.place(&home, &[b".", below_home].concat())));
        }
        places
    }

    /// Where git finds what `text` names in a directory, and the way there.
    fn place(&mut self, anchor: &AbsPath, text: &[u8]) -> AbsPath {
        self.go(&Way::from(anchor, text))
    }

    fn go(&mut self, way: &Way) -> AbsPath {
        self.found.ways.push(way.clone());
        way.place()
    }

    fn protect(&mut self, path: AbsPath, missing: Missing) {
        self.found.protected.push(Protected { path, missing, inside: Inside::Data });
    }
}

/// The home directory of another user, or of this one by name.
fn home_of(user: &[u8]) -> Option<AbsPath> {
    let user = nix::unistd::User::from_name(str::from_utf8(user).ok()?).ok()??;
    AbsPath::try_from(user.dir.as_path()).ok()
}

/// Whether the git directory, or what is registered there, says that `root` is its work tree.
fn knows(directory: &AbsPath, common: &AbsPath, root: &AbsPath, dot_git: &AbsPath) -> bool {
    if directory == common {
        return work_tree(directory, &below(directory, "config")).as_ref() == Some(root);
    }
    let is_registered = directory.parent().is_some_and(|above| above == below(common, "worktrees"));
    is_registered && pointer(&below(directory, "gitdir"), directory, None).as_ref() == Some(dot_git)
}

/// Where a git directory's own configuration is; git moves some of the first to the second for a sparse checkout.
fn configurations(directory: &AbsPath) -> [AbsPath; 2] {
    ["config", "config.worktree"].map(|name| below(directory, name))
}

/// Whether the work tree's `.git` file leads to the git directory: git needs no other word of their belonging together.
fn is_led_back(work_tree: &AbsPath, directory: &AbsPath) -> bool {
    pointer(&below(work_tree, ".git"), work_tree, Some("gitdir:")).as_ref() == Some(directory)
}

/// Whether git may run hooks for this git directory, those aside that the user's configuration names.
fn has_hooks(directory: &AbsPath) -> bool {
    let hooks = below(directory, "hooks");
    let is_hook = |entry: std::fs::DirEntry| !entry.file_name().as_encoded_bytes().ends_with(b".sample");
    let is_named = |path: AbsPath| GitConfig::read(path.as_path()).may_name_hooks();
    let is_there = match std::fs::read_dir(hooks.as_path()) {
        Ok(entries) => entries.flatten().any(is_hook),
        Err(_) => stands(&hooks),
    };
    is_there || configurations(directory).into_iter().any(is_named)
}

/// `core.worktree` of one of a git directory's configuration files, real.
fn work_tree(directory: &AbsPath, file: &AbsPath) -> Option<AbsPath> {
    let value = GitConfig::read(file.as_path()).work_tree?;
    let path = [directory.as_bytes(), b"/", &value].concat();
    let path = if value.first() == Some(&b'/') { value } else { path };
    canonical(&path)
}

/// Where a file that holds one path leads, really: `gitdir: x` or `x`, below `anchor` unless absolute.
fn pointer(file: &AbsPath, anchor: &AbsPath, prefix: Option<&str>) -> Option<AbsPath> {
    let text = content(file, prefix)?;
    match text.first()? {
        b'/' => canonical(&text),
        _ => canonical(&[anchor.as_bytes(), b"/", &text].concat()),
    }
}

/// The path in such a file, as it stands there.
fn content(file: &AbsPath, prefix: Option<&str>) -> Option<Vec<u8>> {
    let content = regular_content(file.as_path())?;
    let text = match prefix {
        Some(prefix) => content.strip_prefix(prefix.as_bytes())?.trim_ascii_start(),
        None => &content,
    };
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    Some(text[..end].to_vec())
}

/// A path with its links followed, `..` after them.
fn canonical(path: &[u8]) -> Option<AbsPath> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::fs::canonicalize(std::ffi::OsStr::from_bytes(path)).ok()?;
    AbsPath::try_from(path.as_path()).ok()
}

pub(super) fn real(path: &AbsPath) -> AbsPath {
    canonical(path.as_bytes()).unwrap_or_else(|| path.clone())
}

/// Whether anything stands there that is to last.
fn stands(path: &AbsPath) -> bool {
    Covers::is_uncovered(path) && Covers::is_wanted(path)
}

/// Whether git would take the directory for a repository, or will again.
fn is_repository(directory: &AbsPath) -> bool {
    (is_git_directory(directory) && stands(&below(directory, "HEAD"))) || is_configured(directory)
}

/// Whether a repository's configuration lies in the directory. A command can move `HEAD` away for a while, for the next
/// one to find no repository there, but not a configuration that is protected from it.
fn is_configured(directory: &AbsPath) -> bool {
    let every_one_has = b"repositoryformatversion";
    regular_content(below(directory, "config").as_path()).is_some_and(|text| {
        text.windows(every_one_has.len()).any(|at| at.eq_ignore_ascii_case(every_one_has))
    })
}

/// Whether a directory below `modules` is a submodule's; `None` when that cannot be found out.
fn is_module(directory: &AbsPath) -> Option<bool> {
    let has = |name: &str, is_one: fn(&Metadata) -> bool| {
        let found = symlink_metadata(below(directory, name).as_path());
        found.map_or_else(|error| is_nothing(&error).then_some(false), |metadata| Some(is_one(&metadata)))
    };
    // Of two submodules one may be called as the other one with `/config` behind it.
    Some(has("HEAD", |_| true)? || has("config", |metadata| !metadata.is_dir())?)
}

/// The innermost directory on the way to `file` that can be looked at, where this user's permissions end there and he
/// could give them back to himself.
fn locked_above(file: &AbsPath) -> Option<AbsPath> {
    let is_refused = |error: std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    let is_locked = file.as_path().metadata().is_err_and(is_refused);
    if !is_locked {
        return None;
    }
    let mut on_the_way = file.ancestors().skip(1);
    let (directory, found) =
        on_the_way.find_map(|above| above.as_path().metadata().ok().map(|found| (above, found)))?;
    (found.uid() == rustix::process::geteuid().as_raw()).then_some(directory)
}

fn is_nothing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether git would take the directory for a repository, its `HEAD` aside.
fn is_git_directory(directory: &AbsPath) -> bool {
    ["objects", "refs"].iter().all(|name| below(directory, name).as_path().is_dir())
}

fn below(directory: &AbsPath, name: &str) -> AbsPath {
    directory.join(name).unwrap_or_else(|_| directory.clone())
}
