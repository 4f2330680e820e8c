//! The names: none can be made, written, replaced or taken away, in the root, above it, and at home.

use palisade_tests::Project;
use serde_json::json;

/// Everything that is protected in a root, files first.
const FILES: &[&str] = &[
    ".mcp.json",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".profile",
    ".shrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".bash_completion",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".zlogout",
    ".zshenv.zwc",
    ".zprofile.zwc",
    ".zshrc.zwc",
    ".zlogin.zwc",
    ".zlogout.zwc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".kshrc",
    ".mkshrc",
    ".inputrc",
    ".cshdirs",
    ".zcompdump",
    ".zcompdump.zwc",
];

const DIRECTORIES: &[&str] = &[
    ".vscode",
    ".idea",
    ".cogitator",
    ".config/fish",
    ".config/zsh",
    ".config/git",
    ".config/bash_completion",
];

const OF_AGENTS: &[&str] = &[".claude", ".cogitator", ".palisade"];

const SETTINGS: &[&str] = &["settings.json", "settings.local.json", "scheduled_tasks.json"];

const LOADED: &[&str] = &["hooks", "skills", "agents", "commands", "plugins", "workflows"];

/// Ways to get other content to a path, each with `$F` for it. They need not exist to be tried.
const WAYS: &[&str] = &[
    "echo evil > $F",
    "rm -rf $F; echo evil > $F",
    "mv $F moved; echo evil > $F",
    "echo evil > e; mv -f e $F",
    "ln -s /etc/passwd l; mv -fT l $F",
    "ln -sfn /etc/passwd $F",
    "mkdir d; mv -T d $F",
    "chmod -R 777 $F; echo evil > $F; echo evil > $F/evil",
    "mkdir -p $F; echo evil > $F/evil",
    "echo evil > e; ln e $F; cp -r e $F; ln -f e $F",
    "truncate -s 0 $F; touch -d @0 $F",
    "mkfifo $F; mknod $F p",
    "D=$(dirname $F); [ $D = . ] || { mv $D moved; mkdir -p $D; echo evil > $F; }",
];

/// What the ways leave elsewhere.
const LEFT: [&str; 4] = ["e", "l", "d", "moved"];

/// What stands at each path below the root, its content with it.
fn state(project: &Project) -> Vec<(String, String)> {
    let kind = |path: &String| {
        let at = project.root().join(path);
        let metadata = std::fs::symlink_metadata(&at).expect("listed");
        let content =
            if metadata.is_file() { project.read(path) } else { format!("{:?}", metadata.file_type()) };
        (path.clone(), content)
    };
    let ours = |path: &String| !LEFT.iter().any(|name| path.split('/').next() == Some(name));
    project.tree().iter().filter(|path| ours(path)).map(kind).collect()
}

/// Tries every way at a path; all that stood before stands after, and nothing else does.
fn hold(project: &Project, path: &str) {
    let before = state(project);
    let lines: Vec<String> = WAYS.iter().map(|way| format!("( {way} )")).collect();
    let run = project.run().env("F", path).line(format!("exec 2> /dev/null; {}; true", lines.join("; ")));
    assert_eq!(state(project), before, "{path}: {run:#?}");
    for name in LEFT {
        let at = project.root().join(name);
        let _ = std::fs::remove_file(&at);
        let _ = std::fs::remove_dir_all(&at);
    }
}

#[test]
fn a_protected_file_is_as_it_was() {
    let Some(project) = Project::where_it_works() else { return };
    for name in FILES {
        project.write(name, "orig\n");
    }
    FILES.iter().for_each(|name| hold(&project, name));
}

#[test]
fn a_missing_protected_file_is_not_made() {
    let Some(project) = Project::where_it_works() else { return };
    for path in FILES.iter().chain(DIRECTORIES).chain(OF_AGENTS) {
        hold(&project, path);
        let run = project.run().env("F", path).line("echo evil > $F");
        assert!(
            run.status != 0 && run.stderr.contains("denied") || run.stderr.contains("Not a dir"),
            "{run:#?}"
        );
    }
}

#[test]
fn a_protected_directory_is_as_it_was() {
    let Some(project) = Project::where_it_works() else { return };
    for name in DIRECTORIES {
        project.write(format!("{name}/inside/f"), "orig\n");
    }
    for name in DIRECTORIES {
        hold(&project, name);
        hold(&project, &format!("{name}/inside/f"));
        hold(&project, &format!("{name}/new"));
    }
}

#[test]
fn settings_of_agents_are_as_they_were() {
    let Some(project) = Project::where_it_works() else { return };
    for agent in OF_AGENTS {
        for name in SETTINGS.iter().take(2) {
            project.write(format!("{agent}/{name}"), "{}");
        }
        project.write(format!("{agent}/hooks/h"), "orig\n");
    }
    for agent in OF_AGENTS {
        for name in SETTINGS.iter().chain(LOADED) {
            hold(&project, &format!("{agent}/{name}"));
        }
        hold(&project, &format!("{agent}/hooks/h"));
        hold(&project, &format!("{agent}/agents/new.md"));
    }
}

/// Where the directories of users' data are, as in most home directories; where they are not, nothing stands in for them.
#[test]
fn data_that_shells_run_is_protected_where_there_is_such_a_place() {
    let Some(project) = Project::where_it_works() else { return };
    project.line("mkdir -p .local/share/fish/vendor_conf.d .local/bin && rm -r .local").ok();
    project.write(".local/share/kept", "");
    for path in [".local/share/fish/vendor_conf.d/f.fish", ".local/share/bash-completion/completions/git"] {
        hold(&project, path);
    }
    project.line("touch .local/share/new .local/bin-new").ok();
}

/// What is next to protected files is the command's.
#[test]
fn everything_else_is_written_as_ever() {
    let Some(project) = Project::where_it_works() else { return };
    project.write(".claude/hooks/h", "orig\n");
    let line = "set -e; echo ok > CLAUDE.md; echo ok > .claude/CLAUDE.md; mkdir .claude/worktrees; \
        echo ok > .env; mkdir -p sub/.vscode sub/.claude; echo ok > sub/.vscode/settings.json; \
        echo ok > sub/.claude/settings.json; echo ok > sub/.bashrc; echo ok > .bashrc.bak; mkdir proj; echo ok > .npmrc";
    project.line(line).ok();
}

/// Agents look for settings all the way up; shells do not.
#[test]
fn above_the_root_settings_are_protected_where_a_rule_opens_it() {
    let Some(project) = Project::where_it_works() else { return };
    let rules = json!({ "filesystem": { "allowWrite": [project.base()] } });
    let line = "cd ..; (echo evil > .mcp.json); mkdir .claude; mkdir .cogitator; echo evil > .palisade/settings.json";
    let run = project.run().sandbox(rules).line(line);
    assert!(run.status != 0, "{run:#?}");
    let left =
        [".mcp.json", ".claude", ".cogitator", ".palisade"].map(|name| project.base().join(name).exists());
    assert_eq!(left, [false; 4], "{run:#?}");
}

#[test]
fn a_writable_home_keeps_its_start_up_files_and_settings() {
    let Some(project) = Project::where_it_works() else { return };
    std::fs::write(project.home().join(".bashrc"), "orig\n").expect("own directory");
    std::fs::create_dir_all(project.home().join(".claude/projects")).expect("own directory");
    let rules = json!({ "filesystem": { "allowWrite": ["~/"] } });
    let line = "cd ~ && echo ok > ordinary && git config --global --list; bash -lc 'echo login'; exec 2> /dev/null; \
        for f in .bashrc .zshrc .profile .claude.json .claude/projects/x .claude/settings.json .palisade \
        .inputrc .editrc .cshdirs .zcompdump .gitk .cogitator/x .config/fish/config.fish .config/git/config .gitconfig; do echo evil > $f && echo wrote $f; \
        done; rm -f .bashrc && echo removed; mv .claude x && echo moved; rm -rf .claude/projects && echo gone; true";
    let run = project.run().sandbox(rules).line(line);
    assert_eq!(run.stdout, "login\n", "{run:#?}");
    let mut left: Vec<String> = std::fs::read_dir(project.home())
        .expect("own directory")
        .flatten()
        .map(|entry| entry.file_name().display().to_string())
        .collect();
    left.sort();
    assert_eq!(left, [".bashrc", ".claude", "ordinary"], "{run:#?}");
}

/// A directory of settings that a variable names.
#[test]
fn a_directory_of_settings_elsewhere_is_protected() {
    let Some(project) = Project::where_it_works() else { return };
    let rules = json!({ "filesystem": { "allowWrite": ["../outside"] } });
    for make in [false, true] {
        let directory = project.outside().join("settings");
        if make {
            std::fs::create_dir(&directory).expect("own directory");
        }
        let run = project
            .run()
            .sandbox(rules.clone())
            .env("CLAUDE_CONFIG_DIR", &directory)
            .line("echo ok > ../outside/f; mkdir -p $CLAUDE_CONFIG_DIR; echo evil > $CLAUDE_CONFIG_DIR/settings.json");
        assert!(run.status != 0 && !directory.join("settings.json").exists(), "{run:#?}");
        assert_eq!(directory.exists(), make);
        assert!(project.outside().join("f").exists());
    }
}

/// A second writable directory is a root of its own.
#[test]
fn what_a_rule_opens_is_protected_as_the_root_is() {
    let Some(project) = Project::where_it_works() else { return };
    let git = std::process::Command::new("git").args(["init", "-q"]).arg(project.outside()).status();
    assert!(git.expect("git runs").success());
    let rules = json!({ "filesystem": { "allowWrite": ["../outside", "../outside/sub"] } });
    let line = "cd ../outside && echo ok > ok; exec 2> /dev/null; for f in .bashrc .vscode/tasks.json .claude/agents/x \
        .git/hooks/pre-commit .git/config .mcp.json; do mkdir -p $(dirname $f); echo evil > $f && echo wrote $f; done";
    let run = project.run().sandbox(rules).line(line);
    assert_eq!(run.stdout, "", "{run:#?}");
    assert!(project.outside().join("ok").exists() && !project.outside().join(".bashrc").exists());
}

/// The root, or what a rule opens, may be a git directory, or lie in one.
#[test]
fn what_lies_in_a_git_directory_opens_nothing_that_git_runs() {
    let Some(project) = Project::where_it_works() else { return };
    let root = project.root();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=n", "-c", "user.email=e@x"];
        let run = std::process::Command::new("git").args(identity).args(words).current_dir(&root).output();
        assert!(run.expect("git runs").status.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "m"]);
    git(&["init", "-q", "--bare", ".git/modules/of/sub"]);
    git(&["worktree", "add", "-q", "../outside/tree"]);
    let line = "exec 2> /dev/null; for d in . .git .git/modules/of/sub modules/of/sub of/sub sub; do \
        echo evil > $d/config; mkdir -p $d/hooks; echo evil > $d/hooks/post-checkout; done; \
        for d in . worktrees/tree tree; do echo evil > $d/commondir; echo evil > $d/config.worktree; done; \
        echo evil > post-checkout; true";
    for place in
        [".git", ".git/hooks", ".git/modules", ".git/modules/of", ".git/worktrees", ".git/worktrees/tree"]
    {
        project.run().directory(root.join(place)).line(line).ok();
        let rules = json!({ "filesystem": { "allowWrite": [root.join(place)] } });
        let line = format!("cd {:?}; {line}", root.join(place));
        project.run().directory(project.home()).sandbox(rules).line(line).ok();
        for file in [
            "config",
            "config.worktree",
            "commondir",
            "hooks/post-checkout",
            "modules/of/sub/config",
            "modules/of/sub/hooks/post-checkout",
            "worktrees/tree/commondir",
            "worktrees/tree/config.worktree",
        ] {
            let content = std::fs::read_to_string(root.join(".git").join(file)).unwrap_or_default();
            assert!(!content.contains("evil"), "{file}, from {place}");
        }
    }
}

#[test]
fn no_allow_lifts_a_protection_but_file_isolation_turned_off_does() {
    let Some(project) = Project::where_it_works() else { return };
    project.write(".claude/settings.json", "{}");
    let line = "echo changed > .claude/settings.json; echo new > .bashrc";
    let allow = json!({ "filesystem": { "allowWrite": [".claude", ".claude/settings.json", ".", "/tmp"] } });
    let run = project.run().sandbox(allow).line(line);
    assert!(run.status != 0 && project.read(".claude/settings.json") == "{}", "{run:#?}");
    project.run().sandbox(json!({ "filesystem": { "disabled": true } })).line(line).ok();
    assert_eq!(
        (project.read(".claude/settings.json"), project.read(".bashrc")),
        ("changed\n".into(), "new\n".into())
    );
}
