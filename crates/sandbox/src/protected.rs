//! What no command may write, whatever a rule allows: the files from which programs *outside* the sandbox load
//! configuration or code. The table, and where in the tree each row counts.
//!
//! The attacker is a command that may write the root. What it leaves there is harmless until somebody outside runs or
//! loads it, and a person looks at a script before running it; but nobody looks at what an editor, a shell, an agent
//! or git picks up by itself from a well-known name. Those names are the table. Everything else in the root is the
//! command's to write: protecting more would get in the way of the work that it is there to do.
//!
//! Only names are decided here, in [`owner`], where variables name further places, and in [`git`], where files do. What stands at them, and how they
//! are protected, is the resolver's part. An `allowWrite` lifts none of them.

pub(crate) mod git;
mod owner;

pub(crate) use owner::Owner;

use crate::cover::StandIn;
use crate::error::Error;
use crate::resolve::Way;
use owner::Place;
use palisade_policy::AbsPath;

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
    row(".cshdirs", "a stack of directories as commands, run by login tcsh"),
    row(".login", "read by login csh and tcsh"),
    row(".logout", "read when a login csh or tcsh ends"),
    row(".kshrc", "read by interactive ksh"),
    row(".mkshrc", "read by interactive mksh"),
    row(
        ".inputrc",
        "what keys type in interactive bash, and in all else with readline: a whole line with its end, say",
    ),
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
    row(ZSH_DUMP, "what the completion system found, run by it in every interactive zsh that has it"),
    row(".zcompdump.zwc", "its compiled form"),
];

/// How the file starts in which zsh's completion system keeps what it found. Frameworks add the host and the version.
const ZSH_DUMP: &str = ".zcompdump";

/// How many of them there may be in one directory. A person has a few; a command could make any number.
const MOST_DUMPS: usize = 200;

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

/// In `.cache` likewise (`XDG_CACHE_HOME`), where there is one.
const CACHE_ROWS: &[Row] = &[row("fish", "completions made from manuals, run by interactive fish")];

/// In the home directory.
const HOME_ROWS: &[Row] = &[
    row(".claude", "a user's own settings, hooks, sessions and credentials"),
    row(".cogitator", "likewise"),
    row(".palisade", "likewise"),
    row(".claude.json", "servers, trust in projects, and sign-ins"),
    row(".ripgreprc", "the usual place of a search tool's options"),
    row(".editrc", "what keys type, as .inputrc, where a shell uses libedit"),
    row(".gitk", "a script that git's own viewer runs"),
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
    /// Whether it may belong to the whole machine, with more in it than can be looked through for links at each start:
    /// where it does, none leads to what users write.
    pub(crate) may_be_shared: bool,
    pub(crate) rows: Vec<Protected>,
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
pub(crate) fn of_owner(owner: &Owner) -> Result<Vec<Group>, Error> {
    let mut groups = Vec::new();
    for path in owner.settings.iter().flat_map(Way::readings) {
        groups.push(whole(&path, Inside::Data));
        groups.push(rows(&path, &[TOOL_ROWS], StandIn::File));
    }
    let named = owner.named_home.iter().flat_map(Way::readings).filter(|home| !owner.is_home(home));
    for home in &owner.home.iter().cloned().chain(named).collect::<Vec<_>>() {
        groups.push(group(home, &[HOME_ROWS, START_ROWS, ZSH_ROWS], owner));
        groups.push(dumps(home)?);
        groups.extend(places(home, owner));
        groups.extend(tools(home, owner));
    }
    for (way, place) in &owner.places {
        for path in way.readings() {
            groups.extend(of_place(&path, *place)?);
        }
    }
    Ok(groups)
}

/// What a variable names, and the like.
fn of_place(path: &AbsPath, place: Place) -> Result<Vec<Group>, Error> {
    let shared = |group| Group { may_be_shared: true, ..group };
    Ok(match place {
        Place::Zsh => vec![rows(path, &[ZSH_ROWS], StandIn::File), dumps(path)?],
        Place::Config => vec![rows(path, &[CONFIG_ROWS], StandIn::File)],
        Place::Data => vec![shared(existing(path, DATA_ROWS, StandIn::File))],
        Place::Cache => vec![existing(path, CACHE_ROWS, StandIn::File)],
        Place::Directory => vec![shared(whole(path, Inside::Code))],
        // Where something else is, a device perhaps, no shell finds what it could run.
        Place::File if path.as_path().metadata().is_ok_and(|found| !found.is_file()) => Vec::new(),
        Place::File => vec![whole(path, Inside::Data)],
    })
}

/// All of a path.
fn whole(path: &AbsPath, inside: Inside) -> Group {
    let missing = Missing::Cover(StandIn::File);
    let rows = vec![Protected { path: path.clone(), missing, inside }];
    Group { directory: path.clone(), must_exist: false, may_be_shared: false, rows }
}

/// What the completion system of zsh left in a directory under other names than the usual one, and compiled forms of
/// that, which would be newer. What a zsh that is yet to be installed will call it cannot be known.
fn dumps(directory: &AbsPath) -> Result<Group, Error> {
    let entries = std::fs::read_dir(directory.as_path()).into_iter().flatten().flatten();
    let host = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_dump =
        |name: &Vec<u8>| name.starts_with(ZSH_DUMP.as_bytes()) && !is_half_made(name, host.trim_ascii_end());
    let with_compiled = |name: Vec<u8>| [name.clone(), [&name, &b".zwc"[..]].concat()];
    let names = entries.map(|entry| entry.file_name().into_encoded_bytes()).filter(is_dump);
    let names: Vec<_> = names.take(MOST_DUMPS + 1).collect();
    if names.len() > MOST_DUMPS {
        let reason = format!("there are more than {MOST_DUMPS}; remove those that no zsh uses");
        let rule = format!("the protection of the files {ZSH_DUMP}* in {directory}");
        return Err(Error::Unenforceable { rule, reason });
    }
    let protected = names.into_iter().flat_map(with_compiled).filter_map(|name| directory.join(name).ok());
    let missing = Missing::Cover(StandIn::File);
    let rows = protected.map(|path| Protected { path, missing, inside: Inside::Data }).collect();
    Ok(Group { directory: directory.clone(), must_exist: true, may_be_shared: false, rows })
}

/// Whether a dump has the name under which zsh writes it: `.HOST.PROCESS` is behind the later one. Nobody reads it, and
/// the next zsh with that number must be able to write it anew.
fn is_half_made(name: &[u8], host: &[u8]) -> bool {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let before = name[..name.len() - digits].strip_suffix(b".");
    digits > 0 && before.and_then(|name| name.strip_suffix(host)).is_some_and(|name| name.ends_with(b"."))
}

/// Where `directory`, if it is somebody's home, has configuration, data and what is made anew.
fn places(directory: &AbsPath, owner: &Owner) -> impl Iterator<Item = Group> {
    let stand_in = owner.stand_in(directory);
    let config = directory.join(".config").map(|config| rows(&config, &[CONFIG_ROWS], stand_in));
    let data = directory.join(".local/share").map(|data| existing(&data, DATA_ROWS, stand_in));
    let cache = directory.join(".cache").map(|cache| existing(&cache, CACHE_ROWS, stand_in));
    config.into_iter().chain(data).chain(cache)
}

fn existing(directory: &AbsPath, table: &[Row], stand_in: StandIn) -> Group {
    Group { must_exist: true, ..rows(directory, &[table], stand_in) }
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
    let rows = protected.collect();
    Group { directory: directory.clone(), must_exist: false, may_be_shared: false, rows }
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
        for row in [
            TOOL_ROWS,
            UPWARD_ROWS,
            ROOT_ROWS,
            START_ROWS,
            ZSH_ROWS,
            CONFIG_ROWS,
            DATA_ROWS,
            CACHE_ROWS,
            HOME_ROWS,
        ]
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
        let all = [in_root(&path("/home/u/p"), &owner), of_owner(&owner).expect("few dumps")].concat_groups();
        for row in &all {
            let is_file = row.missing == Missing::Cover(StandIn::File);
            let is_project = row.path.as_bytes().starts_with(b"/home/u/p/");
            let is_settings = path("/etc/claude").covers(&row.path);
            let is_above = !row.path.as_bytes().starts_with(b"/home/u/") && !is_settings;
            assert_eq!(is_file, !is_project && !is_above, "{row:?}");
        }
    }

    /// Where a call does not run inside, nobody but the permission rules keeps it from these.
    #[test]
    fn whatever_is_protected_here_is_asked_about_as_well() {
        use palisade_permissions::shell::Shell;
        use palisade_permissions::{Answer, Call, Context, Input, Mode, Reason, RuleSet, judge};
        let (root, home) = (path("/home/u/p"), path("/home/u"));
        let owner = Owner { home: Some(home.clone()), ..Owner::default() };
        let context = Context {
            mode: Mode::AcceptEdits,
            sandboxed: false,
            files_disabled: false,
            auto_allow: true,
            guardrails_want_approval: false,
            root: &root,
            working_directory: &root,
            home: Some(&home),
            directories: std::slice::from_ref(&home),
            shell: Shell::Bash,
            folds_case: false,
            follow: &AbsPath::clone,
        };
        for row in [in_root(&root, &owner), of_owner(&owner).expect("few dumps")].concat_groups() {
            let call = Call { tool: "Edit".into(), input: Input::Edit(row.path.clone()), fields: Vec::new() };
            let rules = RuleSet::default();
            let verdict = judge(&rules, &call, &context);
            let is_protected = matches!(verdict.reason, Reason::Protected(_));
            assert!(is_protected && matches!(verdict.answer, Answer::Ask(_)), "{row:?}");
        }
    }

    #[test]
    fn a_dump_that_zsh_is_writing_is_told_from_one_that_it_reads() {
        for (name, expected) in [
            (".zcompdump.vm.2", true),
            (".zcompdump-vm-5.9.vm.12345", true),
            (".zcompdump", false),
            (".zcompdump-vm-5.9", false),
            (".zcompdump-vm-5.8.1", false),
            (".zcompdump.vm.", false),
            (".zcompdump-vm.2", false),
            (".zcompdump.2", false),
        ] {
            assert_eq!(is_half_made(name.as_bytes(), b"vm"), expected, "{name}");
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
