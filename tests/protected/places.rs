//! Places that variables name: what shells and git read there is protected as it is at home.

use palisade_tests::{Palisade, Project};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Tries to write or make each of `$FILES`, and names those that came to be otherwise.
const WRITE: &str = "for F in $FILES; do { mkdir -p \"${F%/*}\"; mv $F moved; echo evil > $F; } 2> /dev/null; \
    [ \"$(cat $F 2> /dev/null)\" = evil ] && echo $F; done; touch ordinary && echo rest";

fn write(run: Palisade, files: &[&str]) {
    let run = run.env("FILES", files.join(" ")).line(WRITE).ok();
    assert_eq!(run.stdout, "rest\n", "{run:#?}");
}

/// Each variable, its value below the root, and what is read there.
const VARIABLES: &[(&str, &str, &[&str])] = &[
    ("ZDOTDIR", "z", &["z/.zshenv", "z/.zshrc.zwc", "z/.zcompdump"]),
    ("ZSH_COMPDUMP", "zd", &["zd"]),
    ("XDG_CONFIG_HOME", "c", &["c/fish/config.fish", "c/git/config", "c/bash_completion"]),
    ("ENV", "./env", &["env"]),
    ("BASH_ENV", "$HOME/../root/benv", &["benv"]),
    ("INPUTRC", "rc/input", &["rc/input"]),
    ("EDITRC", "editrc", &["editrc"]),
    ("BASH_COMPLETION_USER_FILE", "bf", &["bf"]),
    ("BASH_COMPLETION_USER_DIR", "bd", &["bd/completions/git"]),
    ("BASH_COMPLETION_COMPAT_DIR", "bc", &["bc/git"]),
    ("FPATH", "/usr/share/zsh/functions:f1:f2", &["f1/f", "f2/f", "f2.zwc"]),
    ("fish_function_path", "ff", &["ff/f.fish"]),
    ("fish_complete_path", "fc", &["fc/f.fish"]),
    ("RIPGREP_CONFIG_PATH", "rg", &["rg"]),
    ("GIT_CONFIG_GLOBAL", "gg", &["gg"]),
    ("GIT_CONFIG_SYSTEM", "gs", &["gs"]),
    ("GIT_TEMPLATE_DIR", "gt", &["gt/hooks/h", "gt/config"]),
    ("GIT_EXEC_PATH", "ge", &["ge/git-x"]),
    ("GIT_DIR", "gd", &["gd/HEAD", "gd/config", "gd/hooks/h"]),
    ("GIT_COMMON_DIR", "gc", &["gc/config", "gc/hooks/h"]),
];

fn with_variables(project: &Project) -> Palisade {
    VARIABLES.iter().fold(project.run(), |run, (name, value, _)| run.env(name, value))
}

fn read_there() -> Vec<&'static str> {
    VARIABLES.iter().flat_map(|(_, _, files)| files.iter().copied()).collect()
}

#[test]
fn what_is_read_where_variables_say_so_is_not_made() {
    let Some(project) = Project::where_it_works() else { return };
    write(with_variables(&project), &read_there());
}

#[test]
fn what_is_read_where_variables_say_so_is_not_written() {
    let Some(project) = Project::where_it_works() else { return };
    // What a branch's name is in is git's to write.
    let files: Vec<&str> = read_there().into_iter().filter(|file| !file.ends_with("HEAD")).collect();
    for file in &files {
        project.write(file, "");
    }
    write(with_variables(&project), &files);
}

/// Where there is such a place: in front of a missing one nothing stands.
#[test]
fn data_for_all_users_and_caches_are_protected_where_they_are() {
    let Some(project) = Project::where_it_works() else { return };
    for place in ["d", "e", "f", ".cache"] {
        project.write(format!("{place}/kept"), "");
    }
    let variables = [("XDG_DATA_HOME", "d"), ("XDG_DATA_DIRS", "/usr/share:none:e"), ("XDG_CACHE_HOME", "f")];
    let run = variables.iter().fold(project.run(), |run, (name, value)| run.env(name, value));
    let fish = ["f/fish/generated_completions/x", ".cache/fish/generated_completions/x"];
    let data = ["d/fish/vendor_conf.d/x", "e/fish/vendor_conf.d/x", "e/bash-completion/completions/x"];
    write(run, &[&fish[..], &data].concat());
    project.run().env("XDG_DATA_DIRS", "none").line("mkdir none && touch none/x .cache/x").ok();
}

/// However a configuration comes to git, what it leads to is protected.
#[test]
fn what_gits_configuration_leads_to_is_protected_however_variables_say_it() {
    let Some(project) = Project::where_it_works() else { return };
    let included = project.root().join("inc").display().to_string();
    let text = format!("[core]\nhooksPath = hk\n[include]\npath = {included}\n[init]\ntemplateDir = tp\n");
    project.write("x/git/config", &text);
    let pairs = [("core.hooksPath", "hk"), ("include.path", included.as_str()), ("init.templateDir", "tp")];
    let quoted: Vec<String> = pairs.iter().map(|(key, value)| format!("'{key}'='{value}'")).collect();
    let numbered = pairs.iter().enumerate().flat_map(|(n, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{n}"), key.to_string()),
            (format!("GIT_CONFIG_VALUE_{n}"), value.to_string()),
        ]
    });
    let named = |name: &str, value: &str| vec![(name.to_string(), value.to_string())];
    for variables in [
        named("XDG_CONFIG_HOME", "x"),
        named("GIT_CONFIG_GLOBAL", "x/git/config"),
        named("GIT_CONFIG_SYSTEM", "x/git/config"),
        named("GIT_CONFIG_PARAMETERS", &quoted.join(" ")),
        numbered.chain(named("GIT_CONFIG_COUNT", "3")).collect(),
    ] {
        let run = variables.iter().fold(project.run(), |run, (name, value)| run.env(name, value));
        write(run, &["hk/pre-commit", "inc", "tp/hooks/h"]);
    }
}

/// A git directory that a variable names is one whose hooks run, be it where no other would be looked for.
#[test]
fn the_git_directory_that_a_variable_names_is_protected() {
    let Some(project) = Project::where_it_works() else { return };
    let git = std::process::Command::new("git").args(["init", "-q"]).arg(project.root().join("sub")).status();
    assert!(git.expect("git runs").success());
    symlink("sub/.git", project.root().join("way")).expect("own directory");
    project.write("sub/file", format!("gitdir: {}\n", project.root().join("sub/.git").display()));
    let own = ["sub/.git/hooks/pre-commit", "sub/.git/config"];
    for (value, at) in [("sub/.git", "sub/.git/hooks"), ("way", "way"), ("sub/file", "sub/file")] {
        write(project.run().env("GIT_DIR", value), &[&own[..], &[at]].concat());
    }
    for value in ["sub/.git", "way"] {
        write(project.run().env("GIT_COMMON_DIR", value), &own);
    }
    project.line("echo x > sub/.git/config").ok();
}

/// The way to a place may lead over a link that the command could replace, and a link that it cannot see may lead to
/// what it can write.
#[test]
fn links_on_the_way_to_a_place_stay() {
    let Some(project) = Project::where_it_works() else { return };
    for directory in ["real/z", "other"] {
        std::fs::create_dir_all(project.root().join(directory)).expect("own directory");
    }
    let link = |to: &Path, at: &Path| symlink(to, at).expect("own directory");
    link(Path::new("real"), &project.root().join("link"));
    link(&project.root().join("real/z"), &project.outside().join("z"));
    let replace = "rm link; mv link moved; ln -sfn other link; mv -T other link; readlink link";
    for variable in ["HOME", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        let run = project.run().env(variable, project.root().join("link")).line(replace);
        assert_eq!(run.stdout, "real\n", "{variable}: {run:#?}");
    }
    std::fs::create_dir(project.outside().join("f")).expect("own directory");
    link(&project.root().join("f"), &project.outside().join("f/f"));
    project.write("f", "");
    write(project.run().env("FPATH", project.outside().join("f")), &["f"]);
    for file in ["real/z/.zshrc", "real/z/.zcompdump"] {
        write(project.run().env("ZDOTDIR", project.outside().join("z")), &[file]);
        write(project.run().env("HOME", project.outside().join("z")), &[file]);
    }
}

/// zsh's frameworks have the host and the version in the name of what the completion system found.
#[test]
fn what_zsh_found_is_protected_whatever_its_name() {
    let Some(project) = Project::where_it_works() else { return };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux");
    let half_made = format!(".zcompdump.{}.2", host.trim_end());
    for name in [".zcompdump-h-5.9", &half_made] {
        std::fs::write(project.home().join(name), "").expect("own directory");
    }
    let run = || project.run().sandbox(json!({ "filesystem": { "allowWrite": ["~/"] } }));
    let all = [".zcompdump", ".zcompdump.zwc", ".zcompdump-h-5.9", ".zcompdump-h-5.9.zwc"];
    write(
        run(),
        &all.map(|name| project.home().join(name).display().to_string()).each_ref().map(String::as_str),
    );
    run().env("F", half_made).line("echo ok > ~/$F && rm ~/$F").ok();
    run().line("cd; for n in {1..200}; do : > .zcompdump-$n; done").ok();
    let refused = run().line("true");
    assert!(refused.status == 125 && refused.stderr.contains(".zcompdump* in "), "{refused:#?}");
}

/// Values that name nothing of the kind, or nothing that a command could write, are in nobody's way.
#[test]
fn other_values_are_in_nobodys_way() {
    let Some(project) = Project::where_it_works() else { return };
    let programs = std::process::Command::new("git").arg("--exec-path").output().expect("git runs").stdout;
    let programs = String::from_utf8(programs).expect("a path");
    let null = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "INPUTRC", "BASH_ENV", "BASH_COMPLETION_USER_FILE"];
    let run = null.iter().fold(project.run(), |run, name| run.env(name, "/dev/null"));
    let run = run.env("ENV", "production").env("GIT_EXEC_PATH", programs.trim_end());
    let line = "echo x > /dev/null && mkdir production && touch production/x && git init -q sub && git -C sub status";
    let run =
        run.env("XDG_DATA_DIRS", "/usr/local/share:/usr/share").env("FPATH", "/usr/share").line(line).ok();
    assert_eq!(run.stderr, "", "{run:#?}");
}
