//! What no command may write, whatever a rule allows: the files from which programs *outside* the sandbox load
//! configuration or code. The table, and where in the tree each row counts.
//!
//! The attacker is a command that may write the root. What it leaves there is harmless until somebody outside runs or
//! loads it, and a person looks at a script before running it; but nobody looks at what an editor, a shell, an agent
//! or git picks up by itself from a well-known name. Those names are the table. Everything else in the root is the
//! command's to write: protecting more would get in the way of the work that it is there to do.
//!
//! Only names are decided here (and in [`git`], where files lead to further ones). What stands at them, and how they
//! are protected, is the resolver's part. An `allowWrite` lifts none of them.

pub(crate) mod git;

use crate::cover::StandIn;
use crate::error::Error;
use crate::resolve::Way;
use palisade_policy::AbsPath;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One row of the table.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The path, below the directory that the row is for.
    name: &'static str,
    /// What is done with it outside. It is here for whoever reads the table, and in no message.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the table; a test holds that it is there")
    )]
    why: &'static str,
}

const fn row(name: &'static str, why: &'static str) -> Row {
    Row { name, why }
}

/// The directories of agents' settings.
const TOOLS: [&str; 3] = [".claude", ".cogitator", ".palisade"];

/// In each of [`TOOLS`], in a root and in every directory above it: agents look for them all the way up.
const TOOL_ROWS: &[Row] = &[
    row("settings.json", "the rules of the next command, and hooks to run"),
    row("settings.local.json", "likewise"),
    row("hooks", "scripts that settings name, run on every tool call"),
    row("skills", "instructions and scripts that an agent loads by itself"),
    row("agents", "definitions of agents with tools and permissions of their own"),
    row("commands", "instructions and shell lines behind a short name"),
    row("plugins", "hooks, servers and commands in one"),
    row("workflows", "steps that are run without a question for each"),
    row("scheduled_tasks.json", "what is run later, with nobody looking"),
];

/// In a root and in every directory above it.
const UPWARD_ROWS: &[Row] =
    &[row(".mcp.json", "servers that an agent starts, as programs, outside the sandbox")];

/// In a root.
const ROOT_ROWS: &[Row] = &[
    row(".cogitator", "a workspace's trash and snapshots, from which files are put back"),
    row(".vscode", "tasks, launchers and settings that name programs to run"),
    row(".idea", "run configurations, watchers and tools likewise"),
    row(".gitmodules", "where submodules are fetched from, and where they go"),
    row(".ripgreprc", "options of a search tool, among them a program to run on each file"),
];

/// In a root, since it may be somebody's home directory, and in the home directory.
const START_ROWS: &[Row] = &[
    row(".gitconfig", "aliases, hooks, pagers, filters: programs that git runs"),
    row(".profile", "read by login shells: sh, bash, ksh"),
    row(".shrc", "read by some interactive sh"),
    row(".bashrc", "read by interactive bash"),
    row(".bash_profile", "read by login bash"),
    row(".bash_login", "read by login bash, if there is no .bash_profile"),
    row(".bash_logout", "read when a login bash ends"),
    row(".bash_aliases", "read by the usual .bashrc"),
    row(".bash_completion", "read by interactive bash, where completions are installed"),
    row(".cshrc", "read by every csh, and by tcsh without a .tcshrc"),
    row(".tcshrc", "read by every tcsh"),
    row(".login", "read by login csh and tcsh"),
    row(".logout", "read when a login csh or tcsh ends"),
    row(".kshrc", "read by interactive ksh"),
    row(".mkshrc", "read by interactive mksh"),
];

/// In a root, in the home directory, and where the user keeps the files of zsh instead (`ZDOTDIR`).
const ZSH_ROWS: &[Row] = &[
    row(".zshenv", "read by every zsh"),
    row(".zprofile", "read by login zsh"),
    row(".zshrc", "read by interactive zsh"),
    row(".zlogin", "read by login zsh"),
    row(".zlogout", "read when a login zsh ends"),
    row(".zshenv.zwc", "the compiled form, which zsh takes where it is newer, or where the other is missing"),
    row(".zprofile.zwc", "likewise"),
    row(".zshrc.zwc", "likewise"),
    row(".zlogin.zwc", "likewise"),
    row(".zlogout.zwc", "likewise"),
];

/// In `.config` of a root and of the home directory, and where the user has that instead (`XDG_CONFIG_HOME`).
const CONFIG_ROWS: &[Row] = &[
    row("fish", "config.fish, conf.d and functions, read by every fish"),
    row("zsh", "the usual ZDOTDIR"),
    row("bash_completion", "read by interactive bash, where completions are installed"),
    row("git", "git's other place for the user's configuration"),
];

/// In `.local/share` likewise (`XDG_DATA_HOME`), where there is one: what stood in for it would be in the way of too
/// many programs.
const DATA_ROWS: &[Row] = &[
    row("fish", "vendor_conf.d and functions, read by every fish"),
    row("bash-completion", "completions, run by interactive bash"),
];

/// In the home directory.
const HOME_ROWS: &[Row] = &[
    row(".claude", "a user's own settings, hooks, sessions and credentials"),
    row(".cogitator", "likewise"),
    row(".palisade", "likewise"),
    row(".claude.json", "servers, trust in projects, and sign-ins"),
    row(".ripgreprc", "the usual place of a search tool's options"),
];

/// What happens where nothing stands at a protected path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Something stands in for it while the command runs.
    Cover(StandIn),
    /// What the command makes there is removed when it is over, since a stand-in would itself change what git does.
    Remove,
}

/// A path that no command may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Protected {
    /// The path as named; links may be on the way, and nothing may stand there.
    pub(crate) path: AbsPath,
    /// What happens where nothing does.
    pub(crate) missing: Missing,
    /// What lies in it, where it is a directory.
    pub(crate) inside: Inside,
}

/// What lies in a protected directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing that is loaded from there by itself, or what has a row of its own.
    Data,
    /// What is loaded by itself. A link there is a way to it: what it leads to is protected too.
    Code,
    /// The same, and each file is run, so that another name of it is a way in as well.
    Scripts,
}

/// A directory with paths to protect, and those below it.
#[derive(Debug)]
pub(crate) struct Group {
    /// The directory. Where it does not exist and cannot be made by the command, there is nothing to do.
    pub(crate) directory: AbsPath,
    /// Nor where it does not exist at all.
    pub(crate) must_exist: bool,
    pub(crate) rows: Vec<Protected>,
}

/// What the user's own settings lie in, besides the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owner {
    /// The home directory, really.
    pub(crate) home: Option<AbsPath>,
    /// The same as it is named.
    pub(crate) named_home: Option<Way>,
    /// Directories of settings elsewhere (`CLAUDE_CONFIG_DIR`).
    pub(crate) settings: Vec<Way>,
    /// Where zsh's files are instead of the home directory (`ZDOTDIR`).
    pub(crate) zsh: Option<Way>,
    /// What is there instead of `.config` (`XDG_CONFIG_HOME`).
    pub(crate) config: Option<Way>,
    /// What is there instead of `.local/share` (`XDG_DATA_HOME`).
    pub(crate) data: Option<Way>,
}

impl Owner {
    /// The owner of this process, with the directories of settings that he has besides his home directory.
    pub(crate) fn of_process(settings: &[PathBuf]) -> Result<Self, Error> {
        let fault = |error| Error::System { doing: "reading the path of a settings directory", error };
        let absolute = |path: &PathBuf| {
            let path = std::path::absolute(path).map_err(fault)?;
            AbsPath::try_from(path.as_path()).map_err(|error| fault(std::io::Error::other(error)))
        };
        let way = |path: &PathBuf| {
            let path = std::path::absolute(path).map_err(fault)?;
            Ok::<_, Error>(Way::from(&AbsPath::root(), path.as_os_str().as_bytes()))
        };
        let named_home = std::env::home_dir().filter(|home| home.is_absolute());
        let home =
            named_home.as_ref().map(|home| std::fs::canonicalize(home).unwrap_or_else(|_| home.clone()));
        // As the programs that look there, which take no relative path.
        let named = |variable| {
            let directory = std::env::var_os(variable).map(PathBuf::from);
            directory.filter(|path| path.is_absolute()).as_ref().map(way).transpose()
        };
        Ok(Owner {
            home: home.as_ref().map(absolute).transpose()?,
            named_home: named_home.as_ref().map(way).transpose()?,
            settings: settings.iter().map(way).collect::<Result<_, _>>()?,
            zsh: named("ZDOTDIR")?,
            config: named("XDG_CONFIG_HOME")?,
            data: named("XDG_DATA_HOME")?,
        })
    }

    /// The paths that programs follow to all this.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &Way> {
        let variables = [&self.named_home, &self.zsh, &self.config, &self.data];
        variables.into_iter().flatten().chain(&self.settings)
    }

    fn is_home(&self, directory: &AbsPath) -> bool {
        self.home.as_ref() == Some(directory)
    }

    /// In the home directory programs read these paths at every start, and fail where one refuses to be read.
    pub(crate) fn stand_in(&self, directory: &AbsPath) -> StandIn {
        if self.is_home(directory) { StandIn::File } else { StandIn::Socket }
    }
}

/// What is protected in a writable directory, and on the way up from it.
pub(crate) fn in_root(root: &AbsPath, owner: &Owner) -> Vec<Group> {
    let mut groups = vec![group(root, &[ROOT_ROWS, START_ROWS, ZSH_ROWS], owner)];
    groups.extend(places(root, owner));
    for directory in root.ancestors() {
        groups.push(group(&directory, &[UPWARD_ROWS], owner));
        groups.extend(tools(&directory, owner));
    }
    groups
}

/// What is protected in the home directory, and with it.
pub(crate) fn of_owner(owner: &Owner) -> Vec<Group> {
    let whole = |path: &AbsPath| Protected {
        path: path.clone(),
        missing: Missing::Cover(StandIn::File),
        inside: Inside::Data,
    };
    let mut groups = Vec::new();
    let readings = |ways: &[Way]| ways.iter().flat_map(Way::readings).collect::<Vec<_>>();
    for path in readings(&owner.settings) {
        groups.push(Group { directory: path.clone(), must_exist: false, rows: vec![whole(&path)] });
        groups.push(rows(&path, &[TOOL_ROWS], StandIn::File));
    }
    if let Some(home) = &owner.home {
        groups.push(group(home, &[HOME_ROWS, START_ROWS, ZSH_ROWS], owner));
        groups.extend(places(home, owner));
        groups.extend(tools(home, owner));
    }
    let at = |way: &Option<Way>| readings(way.as_slice()).into_iter();
    groups.extend(at(&owner.zsh).map(|directory| rows(&directory, &[ZSH_ROWS], StandIn::File)));
    groups.extend(at(&owner.config).map(|directory| rows(&directory, &[CONFIG_ROWS], StandIn::File)));
    groups.extend(at(&owner.data).map(|directory| data(&directory, StandIn::File)));
    groups
}

/// Where `directory`, if it is somebody's home, has configuration and data.
fn places(directory: &AbsPath, owner: &Owner) -> impl Iterator<Item = Group> {
    let stand_in = owner.stand_in(directory);
    let config = directory.join(".config").map(|config| rows(&config, &[CONFIG_ROWS], stand_in));
    let data = directory.join(".local/share").map(|directory| data(&directory, stand_in));
    config.into_iter().chain(data)
}

fn data(directory: &AbsPath, stand_in: StandIn) -> Group {
    Group { must_exist: true, ..rows(directory, &[DATA_ROWS], stand_in) }
}

fn tools(directory: &AbsPath, owner: &Owner) -> Vec<Group> {
    let below = |tool: &&str| directory.join(tool).ok();
    let stand_in = owner.stand_in(directory);
    TOOLS.iter().filter_map(below).map(|tool| rows(&tool, &[TOOL_ROWS], stand_in)).collect()
}

fn group(directory: &AbsPath, tables: &[&[Row]], owner: &Owner) -> Group {
    rows(directory, tables, owner.stand_in(directory))
}

fn rows(directory: &AbsPath, tables: &[&[Row]], stand_in: StandIn) -> Group {
    let all = tables.iter().flat_map(|table| table.iter());
    let protected = all.filter_map(|row| {
        let path = directory.join(row.name).ok()?;
        let inside = match row.name {
            "hooks" => Inside::Scripts,
            name if TOOLS.contains(&name) => Inside::Data,
            _ => Inside::Code,
        };
        Some(Protected { path, missing: Missing::Cover(stand_in), inside })
    });
    Group { directory: directory.clone(), must_exist: false, rows: protected.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).expect("absolute")
    }

    fn names(groups: &[Group]) -> Vec<String> {
        groups.iter().flat_map(|group| &group.rows).map(|row| row.path.to_string()).collect()
    }

    #[test]
    fn every_row_is_one_path_below_with_a_reason() {
        for row in
            [TOOL_ROWS, UPWARD_ROWS, ROOT_ROWS, START_ROWS, ZSH_ROWS, CONFIG_ROWS, DATA_ROWS, HOME_ROWS]
                .concat()
        {
            let below = path("/d").join(row.name).expect("no NUL");
            assert!(below.to_string() == format!("/d/{}", row.name) && !row.why.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn settings_count_all_the_way_up_and_start_up_files_only_in_the_root() {
        let names = names(&in_root(&path("/home/u/p"), &Owner::default()));
        for one in [
            "/home/u/p/.claude/hooks",
            "/home/u/.palisade/settings.json",
            "/.claude/agents",
            "/home/.mcp.json",
        ] {
            assert!(names.iter().any(|name| name == one), "{one}");
        }
        assert!(names.contains(&"/home/u/p/.zshenv".to_string()));
        assert!(!names.contains(&"/home/u/.zshenv".to_string()));
    }

    #[test]
    fn only_at_home_are_stand_ins_files() {
        let owner = Owner {
            home: Some(path("/home/u")),
            settings: vec![Way::of(&path("/etc/claude"))],
            ..Owner::default()
        };
        let all = [in_root(&path("/home/u/p"), &owner), of_owner(&owner)].concat_groups();
        for row in &all {
            let is_file = row.missing == Missing::Cover(StandIn::File);
            let is_project = row.path.as_bytes().starts_with(b"/home/u/p/");
            let is_settings = path("/etc/claude").covers(&row.path);
            let is_above = !row.path.as_bytes().starts_with(b"/home/u/") && !is_settings;
            assert_eq!(is_file, !is_project && !is_above, "{row:?}");
        }
    }

    trait ConcatGroups {
        fn concat_groups(self) -> Vec<Protected>;
    }

    impl ConcatGroups for [Vec<Group>; 2] {
        fn concat_groups(self) -> Vec<Protected> {
            self.into_iter().flatten().flat_map(|group| group.rows).collect()
        }
    }
}
