//! Lines, and the removals in them that ask.

use super::found;

/// What asks in a line that starts in the root.
fn check(line: &str, expected: &[&str]) {
    assert_eq!(found(line, "/w/proj", false), expected, "{line}");
}

fn check_folded(line: &str, expected: &[&str]) {
    assert_eq!(found(line, "/w/proj", true), expected, "{line}");
}

#[test]
fn everyday_removals_are_quiet() {
    for line in [
        "rm -rf node_modules",
        "rm -rf ./build",
        "rm -f *.o",
        "rm -rf dist/ coverage/",
        "cd packages/a && rm -rf dist",
        "cd packages/a; rm -rf dist",
        "rm -rf build/*",
        "rm -rf node_modules/* dist",
        "rm -rf build/*/*",
        "rm src/a.rs 'b c' \"d\"",
        "rm -- -odd",
        "rm -rf ./~ '~'",
        "rm -rf './${XDG_DATA_HOME}'",
        "rm -rf packages/*/dist **/__pycache__",
        "rm -f .gitignore .github/workflows/x.yml .gitmodules",
        "rm -f .gitignore*",
        "rm *.log ?.txt [ab].c",
        "rmdir a/b",
        "rmdir -p a/b",
        "unlink a",
        "rm --help",
        "rm -rf ''",
        "rm -rf /w/proj/target",
        "rm -rf /x/y/add",
        "rm -rf /x/y/add/sub",
        "mv a b",
        "mv src/*.c lib/",
        "mv -t lib a b",
        "mv /x/y/add/a .",
        "mv a /tmp/b",
        "rsync -a ./ backup/",
        "rsync -a --delete src/ dist/",
        "rsync -a --delete ./ host:/srv",
        "rsync -a --delete ./ \"$USER@host:/srv\"",
        "rsync -an --delete src/ .",
        "rsync -a --delete --exclude .git ./ backup/",
        "git clean -fdx",
        "find . -name x",
        "find . -name x -exec grep y {} +",
        "ls /",
        "echo rm -rf /",
        "echo 'rm -rf ~'",
        "grep -rf pattern .",
        "rm -rf build && ls | head; echo done",
        "(cd sub && rm -rf dist)",
        "cd sub && rm -rf *",
        "cd sub && (rm -rf *)",
        "cd sub && rm -rf * | cat",
        "cd sub || exit 1; rm -rf *",
        "for d in a b; do rm -rf dist; done",
        "pushd sub && rm -rf dist && popd && rm -rf build",
        "sh -c 'rm -rf dist'",
        "env FOO=1 timeout 5 rm -rf dist",
        "$CC -c x.c -o rm",
        "git rm -rf x",
        "npm run rm",
        "trash ~",
    ] {
        check(line, &[]);
    }
}

#[test]
fn the_whole_file_system_and_its_top() {
    for line in [
        "rm -rf /",
        "rm  -rf  /",
        "rm -r -f /",
        "rm -fr /",
        "rm -rf //",
        "rm -rf /.",
        "rm -rf /./",
        "rm -rf /tmp/..",
        "rm -rf /tmp/../../",
        "/bin/rm -rf /",
        "\\rm -rf /",
        "r''m -rf /",
        "rm -rf \"/\"",
        "rm -rf $'\\x2f'",
        "rm / -rf",
        "rm -rf -- /",
        "rm --recursive --force --no-preserve-root /",
        "rm\t-rf\t/",
        "rm -rf build/../../../",
    ] {
        check(line, &["FileSystem"]);
    }
    for line in [
        "rm -rf /usr",
        "rm -rf /data",
        "rm -rf /usr/",
        "rm -rf /us*",
        "rm -rf /*",
        "rmdir /opt",
        "rm -rf /private/etc",
        "rm -rf /private/var/",
        "rm -rf /private/tmp",
        "mv /usr /tmp/x",
        "rm -rf /?*",
    ] {
        assert!(["TopLevel", "Root", "Home"].contains(&&*found(line, "/w/proj", false)[0]), "{line}");
    }
    for line in [
        "rm -rf /proc/self/cwd/",
        "rm -rf /proc/self/cwd/*",
        "rm -rf /proc/self/root/usr",
        "rm -rf /pro?/1/root",
        "rm -rf /dev/fd/3/x",
        "mv /proc/thread-self/cwd/src /tmp",
        "cd /proc/self/cwd && rm -rf src",
    ] {
        check(line, &["Kernel"]);
    }
    check("rm -rf /tmp/*", &["Everything"]);
    check("rm -rf /tmp/a*", &["outside /tmp/a*"]);
    check("rm -rf /private/etc/hosts", &["outside /private/etc/hosts"]);
}

#[test]
fn home() {
    for line in [
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~ 2>/dev/null",
        "rm -rf /home/u",
        "rm -rf /home/u/",
        "rm -rf /home/u*",
        "rm -rf /h*/u",
        "rm -rf ~/.",
        "rm -rf ~/x/..",
        "cd ~ && rm -rf .",
        "cd && rm -rf ./",
        "cd /home/u && rm -rf ../u",
        "mv ~ /tmp/x",
        "rmdir ~",
        "rm -rf /home",
    ] {
        check(line, &["Home"]);
    }
    for line in ["rm -rf ~/*", "rm -rf ~/*/", "rm -rf /home/u/*", "rm -rf /home/*/*"] {
        check(line, &["Everything"]);
    }
    check("rm -rf ~/.*", &["Git"]);
    check("rm -rf ~/x", &["outside /home/u/x"]);
    check("rm -rf ~/work/*.o", &["outside /home/u/work/*.o"]);
    for line in [
        "rm -rf $HOME",
        "rm -rf \"$HOME\"",
        "rm -rf ${HOME}",
        "rm -rf \"${HOME}\"/",
        "HOME=/tmp/t; rm -rf \"$HOME\"",
        "rm -rf ~root",
        "rm -rf ~+",
        "rm -rf ~-",
        "rm -rf ~+/x",
        "rm -rf ~u/x",
    ] {
        check(line, &["Shell"]);
    }
    check("HOME=/w; rm -rf ~/proj", &["Home"]);
}

#[test]
fn the_root_of_the_workspace() {
    for line in [
        "rm -rf .",
        "rm -rf ./",
        "rm -rf /w/proj",
        "rm -rf /w/proj/",
        "rm -rf ..",
        "rm -rf ../",
        "rm -rf ../proj",
        "rm -rf ../pro*",
        "rm -rf /w/p*j",
        "rm -rf src/..",
        "rm -rf ./src/../.",
        "cd src && rm -rf ..",
        "cd src && rm -rf ../../proj",
        "mv /w/proj /tmp/x",
        "mv . /tmp/x",
        "mv -t /tmp .",
        "mv --target-directory=/tmp src/..",
        "mv --targ /tmp ..",
        "mv -ft /tmp .",
        "rmdir ../proj",
        "rmdir -p ../proj/x",
        "rmdir --par ../proj/x",
        "rsync -a --delete e/ .",
        "rsync -a --delete e/ ./",
        "rsync -a --del e/ /w/proj",
        "rsync -a --delete-excluded e/ ../proj",
        "rsync --delete-after -a e/ . --exclude x",
        "rsync -a --delete -e ssh h:x .",
        "rsync -a --remove-source-files . h:x",
        "rm -rf \"../proj\"",
        "rm -rf */..",
        "rm -rf /w",
    ] {
        check(line, &["Root"]);
    }
    for line in [
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf -- *",
        "rm -rf */",
        "rm -rf ./*/",
        "rm -rf */*",
        "rm -rf /w/proj/*",
        "rm -rf ../*/*",
        "rm -rf ?*",
        "rm -rf **",
        "rm *.*",
        "mv * /tmp",
        "mv ./* ../x/",
        "cd src && rm -rf ../*",
        "cd sub; rm -rf *",
        "rm -rf [a-z]*",
        "rm -rf /w/pro*/*",
    ] {
        check(line, &["Everything"]);
    }
    check("rm -rf ../*", &["Root"]);
    check("rm -rf /x/y/add/*", &["Everything"]);
    check("rm -rf /x/y/*", &["Everything"]);
    check("rm -rf /x/y", &["outside /x/y"]);
}

#[test]
fn a_git_directory() {
    for line in [
        "rm -rf .git",
        "rm -rf .git/",
        "rm -f .git/index.lock",
        "rm -rf a/b/.git",
        "rm -rf a/.git/hooks/x",
        "unlink .git/index",
        "mv .git old",
        "mv .git/config x",
        "rm -rf .g*",
        "rm -rf .g?t",
        "rm -rf .[a-z]*",
        "rm -rf .*",
        "rm -rf */.git",
        "rm -rf **/.git",
        "rm -rf sub/.*",
        "cd .git && rm -rf hooks",
        "rm -rf '.git'",
        "rm -rf .gi\\t",
        "rm -rf ./.git",
        "rsync -a --delete e/ .git",
        "rm -rf /tmp/x/.git",
        "rmdir .git/refs",
    ] {
        check(line, &["Git"]);
    }
    check("rm -rf .GIT", &[]);
    check_folded("rm -rf .GIT", &["Git"]);
    check_folded("RM -rf .Git/hooks", &["Git"]);
    check_folded("rm -rf .G*", &["Git"]);
    check_folded("rm -rf /W/Proj", &["Root"]);
}

/// A set of characters is a wildcard whatever stands in it.
#[test]
fn sets_hide_nothing() {
    for set in ["[a-z]", "[[:alpha:]]", "[[:graph:]]", "[![:space:]]", "[^[:digit:]x]", "[!!]", "[[=p=]p]"] {
        for line in ["rm -rf @*", "rm -rf ./@*", "rm -rf *@", "mv @* x", "cd sub && rm -rf ../?*@"] {
            check(&line.replace('@', set), &["Everything"]);
        }
        check(&format!("rm -rf .g{set}t"), &["Git"]);
        check(&format!("rm -rf .git/{set}"), &["Git"]);
        check(&format!("rm -rf ~/../{set}*"), &["Home"]);
        check(&format!("rm -rf /w/{set}*"), &["Root"]);
        check(&format!("rm -rf src/{set}* *{set}.o x{set}*"), &[]);
    }
    check("rm -rf .g[[.i.]]t .g[[=i=]]t", &["Git", "Git"]);
    check("rm -f [ab].c x[[:digit:]]", &[]);
}

/// What a line has wildcards find holds for all of it.
#[test]
fn what_wildcards_find_can_be_changed() {
    for change in [
        "shopt -s dotglob",
        "setopt glob_dots",
        "GLOBIGNORE=x",
        "declare -g GLOBIGNORE=x",
        "declare GLOB'IGNORE'=x",
        r"declare $'\x47LOBIGNORE=x'",
        "declare GLOBIGN{ORE,}=x",
        "declare $N=x",
        "declare -n r=$N",
        "export \"$N\"",
        "read GLOBIGNORE <<< x",
        "read -r \"$N\"",
        "printf -v GLOBIGNORE x",
        "for GLOBIGNORE in x; do :; done",
        ": ${GLOBIGNORE:=x}",
        "((GLOBIGNORE=1))",
        "let GLOBIGNORE=1",
        "mapfile -t GLOBIGNORE <<< x",
    ] {
        check(&format!("{change}; rm -rf *t"), &["Git"]);
        check(&format!("{change}; rm -rf build/*"), &["Git"]);
        check(&format!("{change}; rm -rf build/*.o"), &[]);
    }
    for line in [
        "env BASHOPTS=dotglob bash -c 'rm -rf *t'",
        "BASHOPTS=dotglob bash -c 'rm -rf *t'",
        "bash -O dotglob -c 'rm -rf *t'",
        "bash -c 'GLOBIGNORE=x; rm -rf *t'",
        "shopt -s nocaseglob; rm -rf .GIT*",
        "shopt -s nocaseglob && rm -rf .GI[T]",
        "unsetopt case_glob; rm -rf .G?T",
        "bash -O nocaseglob -c 'rm -rf .GI?'",
        "env BASHOPTS=nocaseglob bash -c 'rm -rf .GI?'",
    ] {
        check(line, &["Git"]);
    }
    check("export A=$B PATH=$PATH:x; rm -rf *t", &[]);
    check("shopt -s nullglob; rm -rf *t .GIT*", &[]);
}

#[test]
fn the_shell_decides() {
    for line in [
        "rm -rf $DIR",
        "rm -rf \"$DIR\"",
        "rm -rf \"$DIR\"/*",
        "rm -rf \"$DIR\"/",
        "rm -rf ${DIR}/x",
        "rm -rf a$b",
        "rm -rf $(pwd)",
        "rm -rf `pwd`",
        "rm -rf \"$PWD\"/*",
        "rm -rf ${XDG_DATA_HOME}/",
        "rm -rf {a..c}$x",
        "mv \"$X\" /tmp",
        "mv -t $D $X",
        "rsync -a --delete e/ \"$DIR\"",
        "rmdir $X",
        "unlink $X",
        "rm -rf \"$(git rev-parse --show-toplevel)\"",
        "rm -rf ${X:-/}",
        "rsync -a --delete e/ ${X:-/}",
    ] {
        assert!(found(line, "/w/proj", false).contains(&"Shell".to_owned()), "{line}");
    }
    check("rm -rf {a,b}", &["Shell", "Shell"]);
    check("rm -rf {1..3}", &["Shell", "Shell", "Shell"]);
    check("rm -rf x{a,b}/", &["Shell", "Shell"]);
    check("rm -rf '{a,b}'", &[]);
    check("for f in *; do rm $f; done", &["Shell"]);
    check("rm -rf a $X b", &["Shell"]);
}

#[test]
fn another_program_decides() {
    for line in [
        "ls | xargs rm",
        "ls | xargs rm -rf",
        "xargs -0 -n1 rm",
        "xargs --max-a 1 rm",
        "xargs -I{} rm {}",
        "xargs env rm",
        "find / -delete",
        "find . -name x -delete",
        "find . -exec rm {} \\;",
        "find . -exec rm -f {} +",
        "find . -execdir rm {} ';'",
        "find . -okdir rm {} \\;",
        "find . -name f -exec env rm -f {} \\;",
        "find . -exec mv {} /tmp \\;",
        "fd x -x rm",
        "fd -X rm -rf",
        "parallel rm ::: a b",
        "parallel 'rm {}' < f",
        "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
        "xargs -I% sh -c 'rm %'",
        "find . -exec busybox rm {} \\;",
        "xargs rmdir",
        "xargs unlink",
        "xargs sudo rm",
        "env find . -delete",
        "xargs --odd rm",
        "parallel --odd rm ::: a",
    ] {
        let found = found(line, "/w/proj", false);
        assert!(found.contains(&"Elsewhere".to_owned()), "{line} {found:?}");
    }
}

#[test]
fn behind_everything() {
    for line in [
        "env -i rm -rf ~",
        "nice rm -rf ~",
        "nice -n 5 rm -rf ~",
        "timeout 5 rm -rf ~",
        "timeout -s KILL 5 rm -rf ~",
        "caffeinate -di rm -rf ~",
        "sudo rm -rf ~",
        "sudo -E -u root rm -rf ~",
        "doas rm -rf ~",
        "setsid rm -rf ~",
        "ionice -c2 rm -rf ~",
        "nohup rm -rf ~ &",
        "stdbuf -oL rm -rf ~",
        "command rm -rf ~",
        "exec rm -rf ~",
        "time rm -rf ~",
        "flock /l rm -rf ~",
        "watch rm -rf ~",
        "busybox rm -rf ~",
        "sh -c 'rm -rf ~'",
        "bash -lc \"rm -rf ~\"",
        "eval 'rm -rf ~'",
        "eval rm -rf '~'",
        "(rm -rf ~)",
        "{ rm -rf ~; }",
        "echo $(rm -rf ~)",
        "echo \"$(rm -rf ~)\"",
        "echo `rm -rf ~`",
        "cat <(rm -rf ~)",
        "if true; then rm -rf ~; fi",
        "while true; do rm -rf ~; done",
        "f() { rm -rf ~; }; f",
        "[[ $(rm -rf ~) ]]",
        "case a in a) rm -rf ~;; esac",
        "TZ=x rm -rf ~",
        "TZ=\"$HOME\" rm -rf ~",
        "true && rm -rf ~",
        "false || rm -rf ~",
        "ls | rm -rf ~",
        "! rm -rf ~",
        "git add . | tail -3\n# step\nrm -rf ~ 2>/dev/null\nls",
        "env -S 'rm -rf /home/u'",
        "trap 'rm -rf ~' EXIT",
        "strace -f rm -rf ~",
        "gdb --args rm -rf ~",
        "unshare -r rm -rf ~",
        "nocorrect rm -rf ~",
        "builtin command rm -rf ~",
        "env FOO=1 nice timeout 5 sh -c 'sudo rm -rf ~'",
        "$SUDO rm -rf ~",
        "$X -rf ~",
        "flock -n /l -c 'rm -rf ~'",
        "script -qc 'rm -rf ~' /dev/null",
        "su -c 'rm -rf ~' root",
        "2>&1 rm -rf ~",
        "mapfile -C 'rm -rf ~' -c 1",
        "compgen -C'rm -rf ~'",
        "coproc rm -rf ~",
        "sudo /opt/a=b/rm -rf ~",
        "env /opt/a=b rm -rf ~",
        "sudo \"A=1\" 'B=2' rm -rf ~",
        "sh -c '\"$@\"' _ rm -rf ~",
        "bash -c 'exec \"$@\"' rm rm -rf ~",
        "bash <<< 'rm -rf ~'",
        "sudo sh -s <<< 'rm -rf ~'",
        "sudo A=1 -u root rm -rf ~",
        "flock /l -- rm -rf ~",
        ">o rm -rf ~",
        "rm -rf ~ <<< x",
        "watch 'ls; rm -rf ~'",
        "bash -c $'rm\\t-rf ~'",
    ] {
        let found = found(line, "/w/proj", false);
        let is_home = |kind: &String| kind == "Home" || kind == "Elsewhere";
        assert!(found.iter().any(is_home), "{line} {found:?}");
    }
}

#[test]
fn outside() {
    check("rm -rf ../other", &["outside /w/other"]);
    check("rm -rf /home/u/other/repo/services/auth", &["outside /home/u/other/repo/services/auth"]);
    check("rm /w/tests/a.rs && git commit -am x", &["outside /w/tests/a.rs"]);
    check("cd .. && rm x", &["outside /w/x"]);
    check("mv /etc/hosts .", &["outside /etc/hosts"]);
    check("rm -rf /w/proj-evil/x", &["outside /w/proj-evil/x"]);
    check("rm a ../b /tmp/c", &["outside /w/b", "outside /tmp/c"]);
    check("rsync -a --delete e/ /srv/www/", &["outside /srv/www"]);
}

#[test]
fn both_spellings_of_a_path_on_macos() {
    use palisade_permissions::removal::Places;
    let check = |line: &str, root: &str, expected: &[&str]| {
        let root = super::path(root);
        let places = Places {
            root: &root,
            home: None,
            directories: &[],
            folds_case: true,
            follow: &super::AbsPath::clone,
            brought: &|_, _| super::Brought::default(),
        };
        let start =
            super::Start { shell: super::Shell::Bash, directory: Some(&root), home: None, folds_case: true };
        let found = super::programs(line, &super::read(line, super::Shell::Bash), &start);
        assert_eq!(super::shown(&found, &places), expected, "{line}");
    };
    check("rm -rf /tmp/a", "/private/tmp/a", &["Root"]);
    check("rm -rf /private/tmp/a", "/private/tmp/a", &["Root"]);
    check("rm -rf /private/tmp/a", "/tmp/a", &["Root"]);
    check("rm -rf /tmp/a/b /private/tmp/a/b c", "/private/tmp/a", &[]);
    check("rm -rf /private/tmp", "/w", &["TopLevel"]);
    check("rm -rf /private/t*", "/w", &["TopLevel"]);
    check("rm -rf /private/tmp/x", "/w", &["outside /private/tmp/x"]);
}

#[test]
fn where_it_is_not_known() {
    check("cd \"$X\" && rm -rf dist", &["Directory"]);
    check("cd $(mktemp -d) && rm x", &["Directory"]);
    check("cd - && rm x", &["Directory"]);
    check("cd *x && rm x", &["Directory"]);
    check("CDPATH=/x; cd sub && rm x", &["Directory"]);
    check("cd \"$X\" && rm -rf /w/proj/dist", &[]);
    check("source x; rm -rf dist", &["Directory"]);
    check("eval \"$X\"; rm -rf dist", &["Directory"]);
    check("f() { cd /; }; f; rm -rf dist", &["Directory"]);
    check("sudo -i rm x", &["Directory"]);
    check("sudo --odd rm x", &["Directory"]);
    check("find . -execdir mv a b \\;", &["Elsewhere"]);
    check("$GIT rm -r x", &[]);
    check("sudo A=1 -u root rm -rf x", &["Directory"]);
    check("timeout 5 -- rm -rf /w/proj", &["Root"]);
}
