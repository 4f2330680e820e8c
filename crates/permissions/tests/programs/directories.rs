//! Where the last `pwd` of a line may run, for a line that starts in `/w/proj`.

use super::programs_of;

fn check(line: &str, expected: &str) {
    let found = programs_of(line);
    let last = found.list.iter().rfind(|program| program.name.as_deref() == Some("pwd")).expect("a pwd");
    let shown = match last.directory.known() {
        Some(paths) => paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        None => "?".to_owned(),
    };
    assert_eq!(shown, expected, "{line}");
}

#[test]
fn a_cd_that_surely_succeeded() {
    check("pwd", "/w/proj");
    check("cd a && pwd", "/w/proj/a");
    check("cd a/../b && pwd", "/w/proj/b");
    check("cd a && cd b && pwd", "/w/proj/a/b");
    check("cd a && make && pwd", "/w/proj/a");
    check("cd -P -- a && pwd", "/w/proj/a");
    check("cd -Pe a && pwd", "/w/proj/a");
    check("cd /tmp && pwd", "/tmp");
    check("cd .. && pwd", "/w");
    check("cd && pwd", "/home/u");
    check("cd ~ && pwd", "/home/u");
    check("cd ~/x && pwd", "/home/u/x");
    check("cd 'a b' && pwd", "/w/proj/a b");
    check("cd '~' && pwd", "/w/proj/~");
    check("cd '' && pwd", "/w/proj");
    check("pushd a && pwd", "/w/proj/a");
    check("command cd a && pwd", "/w/proj/a");
    check("command -p cd a && pwd", "/w/proj/a");
    check("builtin cd a && pwd", "/w/proj/a");
    check("\\cd a && pwd", "/w/proj/a");
    check("cd a && (pwd)", "/w/proj/a");
    check("cd a && ( (pwd) )", "/w/proj/a");
    check("cd a && pwd | cat", "/w/proj/a");
    check("cd a && echo $(pwd)", "/w/proj/a");
    check("cd a && sh -c 'cd b && pwd'", "/w/proj/a/b");
    check("eval 'cd a && pwd'", "/w/proj/a");
    check("for d in x y; do cd /tmp && pwd; done", "/tmp");
    check("cd a || exit 1; pwd", "/w/proj/a");
    check("cd a || exit; cd b || true; pwd", "/w/proj/a /w/proj/a/b");
    check("set -e; cd a || exit 1; pwd", "/w/proj/a");
}

#[test]
fn a_cd_that_may_have_failed() {
    check("cd a; pwd", "/w/proj /w/proj/a");
    check("cd a\npwd", "/w/proj /w/proj/a");
    check("cd a || pwd", "/w/proj /w/proj/a");
    check("cd a && true; pwd", "/w/proj /w/proj/a");
    check("x && cd a; pwd", "/w/proj /w/proj/a");
    check("! cd a && pwd", "/w/proj /w/proj/a");
    check("cd a; true && pwd", "/w/proj /w/proj/a");
    check("cd a; [[ -f x ]] && pwd", "/w/proj /w/proj/a");
    check("cd a; (( 1 )) && pwd", "/w/proj /w/proj/a");
    check("cd a && (false) || pwd", "/w/proj /w/proj/a");
    check("cd a || { true; cd b; } && pwd", "/w/proj /w/proj/a /w/proj/a/b /w/proj/b");
    check("cd a || { cd b && exit; }; pwd", "/w/proj /w/proj/a /w/proj/a/b /w/proj/b");
    check("cd a && { cd b || exit; }; pwd", "/w/proj /w/proj/a /w/proj/a/b");
    check("exit() { :; }; cd a || exit; pwd", "/w/proj /w/proj/a");
    check("[[ x ]] && { [[ y ]]; cd a || exit; }; pwd", "/w/proj /w/proj/a");
    check("if x; then cd a; fi; pwd", "/w/proj /w/proj/a");
    check("if x; then cd a; fi && pwd", "/w/proj /w/proj/a");
    check("case x in x) cd a;; esac; pwd", "/w/proj /w/proj/a");
    check("pushd a; popd; pwd", "/w/proj /w/proj/a");
    check("pushd a && popd && pwd", "/w/proj /w/proj/a");
    check("cd a && pushd b && popd && pwd", "/w/proj /w/proj/a /w/proj/a/b");
}

#[test]
fn a_loop_runs_again() {
    check("for i in 1 2; do pwd; cd /tmp; done", "/tmp /w/proj");
    check("for i in 1 2; do pwd; cd ..; done", "/ /w /w/proj");
    check("while cd ..; do pwd; done", "/ /w /w/proj");
    check("for i in 1 2; do pwd; cd a; done", "?");
    check("for d in a b; do cd $d; pwd; done", "?");
    check("for d in a b; do (cd /x && pwd); done", "/x");
    check("for i in 1 2; do (true); pwd; cd ..; done", "/ /w /w/proj");
    check("for i in 1 2; do ( (true) ); pwd; cd ..; done", "/ /w /w/proj");
    check("for i in 1 2; do true | cat; pwd; cd ..; done", "/ /w /w/proj");
    check("(while cd ..; do pwd; done)", "/ /w /w/proj");
    check("for i in 1 2; do true & pwd; cd ..; done", "/ /w /w/proj");
    check("for i in 1 2; do [[ x ]]; pwd; cd ..; done", "/ /w /w/proj");
    check("for i in 1 2; do f() { true; }; pwd; cd ..; done", "/ /w /w/proj");
    check("until [[ x ]]; do [[ y ]]; pwd; cd ..; done", "/ /w /w/proj");
    check("until false; do { pwd; }; cd ..; done", "/ /w /w/proj");
    check("for i in $(ls); do pwd; cd ..; done", "/ /w /w/proj");
    check("for i in 1 2; do if a; then b; fi; pwd; cd ..; done", "/ /w /w/proj");
    check("case x in a) b;; *) pwd; cd ..;; esac", "/w/proj");
}

#[test]
fn what_does_not_leak() {
    check("(cd a); pwd", "/w/proj");
    check("cd a | cat; pwd", "/w/proj");
    check("echo $(cd a); pwd", "/w/proj");
    check("cat <(cd a); pwd", "/w/proj");
    check("cd a & pwd", "/w/proj");
    check("sh -c 'cd a'; pwd", "/w/proj");
    check("env cd a; pwd", "/w/proj");
    check("/usr/bin/cd a; pwd", "/w/proj");
    check("command -v cd a; pwd", "/w/proj");
    check("cd $(pwd)", "/w/proj");
    check("f() { cd a; }; pwd", "/w/proj");
}

#[test]
fn what_nobody_knows() {
    check("cd \"$X\" && pwd", "?");
    check("cd $(git rev-parse --show-toplevel) && pwd", "?");
    check("cd - && pwd", "?");
    check("cd a* && pwd", "?");
    check("cd ~root && pwd", "?");
    check("cd a b && pwd", "?");
    check("cd -x a && pwd", "?");
    check("CDPATH=/x cd a && pwd", "?");
    check("CDPATH=/x cd ./a && pwd", "/w/proj/a");
    check("export CDPATH=/x; cd a && pwd", "?");
    check("shopt -s cdable_vars; cd a && pwd", "?");
    check("HOME=/x; cd && pwd", "?");
    check("HOME=/x; cd ~ && pwd", "?");
    check("read HOME; cd && pwd", "?");
    check("source x; pwd", "?");
    check(". ./x && pwd", "?");
    check("eval \"$X\"; pwd", "?");
    check("eval 'cd a'; pwd", "?");
    check("eval 'c\"\"d a'; pwd", "?");
    check("eval make; pwd", "/w/proj");
    check("$X a; pwd", "?");
    check("f() { cd a; }; f; pwd", "?");
    check("f() { make; }; f; pwd", "/w/proj");
    check("f() { cd a; pwd; }", "?");
    check("cd() { :; }; cd a; pwd", "?");
    check("cd a; cd b; cd c; cd d; pwd", "?");
    check("sudo -i pwd", "?");
    check("find . -execdir pwd \\;", "?");
    check("chroot /x pwd", "?");
    check("command -z cd a; pwd", "?");
}

#[test]
fn what_wrappers_say() {
    check("env -C a pwd", "/w/proj/a");
    check("env --chdir=/tmp pwd", "/tmp");
    check("env -C a env -C b pwd", "/w/proj/a/b");
    check("env -C a -S 'pwd x'", "/w/proj/a");
    check("sudo -D a pwd", "/w/proj/a");
    check("cd a && timeout 5 pwd", "/w/proj/a");
    check("find . -exec pwd \\;", "/w/proj");
    check("unshare --wd a pwd", "/w/proj/a");
}
