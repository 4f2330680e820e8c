//! Removals in what is only known once a line runs, or is not read.

use crate::fixture::{Session, all};
use palisade_permissions::Mode;

/// What nobody can look at is asked about where it may be a removal, whatever the mode.
#[test]
fn a_removal_that_is_not_seen_asks() {
    let bypass = Session::new().mode(Mode::BypassPermissions);
    let lines = [
        "time -p rm -rf ~",
        "time -- rm -rf ~",
        "time -p sudo rm -rf /",
        "time -p -- rm -rf .git",
        "coproc X { rm -rf ~; }",
        "coproc rm -rf ~",
        "function f { rm -rf ~; }; f",
        "function f() { rm -rf ~; }; f",
        "select x in a; do rm -rf ~; done",
        "shopt -s extglob\nrm -rf @(.git|x)",
        "rm -rf !(x)",
        "echo ${x@P}; r''m -rf @(.git|x)",
        "mapfile -C 'rm -rf' -c1 x < list",
        "readarray -c1 -C rm x < list",
        "x='rm -rf .git'; $x",
        "x=rm; $x -rf .git",
        "read x <<< 'rm -rf .git'; $x",
        "mapfile x <<E; $x\nrm -rf .git\nE",
        "nu -c 'rm -rf .git'",
        "echo 'rm -rf .git' | elvish",
        "x='mv .git'; $x /tmp",
        "set -- rm -rf .git; \"$@\"",
        "c='rm -rf .git'; bash -c \"$c\"",
        "export C='rm -rf .git'; eval \"$C\"",
        "a=(rm -rf .git); \"${a[@]}\"",
        "bash -c 'coproc X { rm -rf ~; }'",
        "pwsh -c 'Remove-Item -r .git'",
        "sg root -c 'rm -rf .git'",
        "sg root 'rm -rf .git'",
        "sg - root -c 'rm -rf ~'",
        "newgrp -c 'rm -rf .git' x",
        "echo 'rm -rf .git' | newgrp",
        "newgrp root <<E\nrm -rf .git\nE",
        "lksh -c 'rm -rf .git'",
        "echo 'rm -rf .git' | hush",
        "echo 'rm -rf .git' | pwsh -",
        "rlwrap sh <<< 'rm -rf .git'",
        "echo 'rm -rf .git' | rlwrap sh",
        "echo 'rm -rf .git' | rlwrap -a bash",
    ];
    for session in [Session { sandboxed: true, ..bypass.clone() }, bypass.clone()] {
        all(&session, &lines, "ask a person");
        let quiet = [
            "time -p make",
            "time -p rm -rf build",
            "rm -f x.o && $CC -c x.c",
            "\"$EDITOR\" rm.c",
            "f() { rm -rf build; }; f",
            "sg docker -c 'rm -rf build'",
            "coproc X { cat; }",
            "mapfile -t x < list",
            "sudo rm -rf build; $X a",
            "bash -c \"$X\"",
        ];
        all(&session, &quiet, "allow");
    }
    all(&Session::sandboxed(), &["time -p make", "time -p cargo test | tail -5"], "allow");
    all(&Session::sandboxed(), &["sg root -c 'rm -rf .git'", "echo 'rm -rf .git' | rlwrap sh"], "asks");
}
