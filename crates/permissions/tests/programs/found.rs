//! Which programs are found behind which wrappers, as snapshots: a line, then what it runs, level by level.

use super::{programs_of, shown};

/// Each line, the programs that it runs, and what could not be looked into.
fn found(lines: &str) -> String {
    let of_line = |line: &str| {
        let found = programs_of(line);
        let programs = found.list.iter().map(|program| format!("    {}\n", shown(program)));
        let note = |one: &palisade_permissions::program::Uncertain| {
            format!("    ? {}: {}\n", found.list[one.program].words[0].raw, one.reason)
        };
        let notes = found.uncertain.iter().map(note);
        format!("{line}\n{}", programs.chain(notes).collect::<String>())
    };
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(of_line).collect()
}

#[test]
fn names() {
    let lines = r#"
        rm x
        /bin/rm x
        \rm x
        r''m x
        ./rm x
        /proc/self/root/usr/bin/npx x
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn env() {
    let lines = r#"
        env FOO=1 timeout 5 rm x
        env -i -u X -C /tmp rm x
        env -iuX rm x
        env - rm x
        env --unset=X --chdir /tmp -- rm x
        env -S 'rm -rf x'
        env -iS 'FOO=1 rm -rf x' y
        env -S "'rm' x"
        env -S 'A=1 rm\_x\c y' z
        env -S '${SHELL} -c ls' x
        env -S 'rm "x' y
        env FOO="$X" npm test
        env FOO=$X npm test
        env
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn plain_wrappers() {
    let lines = r#"
        nohup nice -n 5 npm test
        nice -5 npm test
        nice --adjustment=5 npm test
        nice npm test
        timeout 30 npm test
        timeout -s KILL -k 5 30 npm test
        timeout --kill-after=5 --sig KILL 30 npm test
        timeout --odd 30 npm test
        timeout "$T" npm test
        time -p npm test
        /usr/bin/time -o f npm test
        stdbuf -oL -e0 npm test
        command rm x
        command -p rm x
        command -v rm
        command -pV rm
        builtin cd x
        exec -a n rm x
        exec -cl rm x
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn who_it_runs_as() {
    let lines = r#"
        sudo rm x
        sudo -u root -H A=1 rm x
        sudo -E -u root rm -rf /
        sudo -l
        sudo -s
        sudo -i rm x
        sudo --us root rm x
        sudo --odd rm x
        doas -u root rm x
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn other_wrappers() {
    let lines = r#"
        watch npm test
        watch -n 5 -d 'rm x; ls'
        watch -x rm x
        ionice -c2 -n7 rm x
        ionice -p 12
        setsid -f rm x
        setsid --fork rm x
        flock /l rm x
        flock -n /l -c 'rm x; ls'
        flock -w 5 /l rm x
        flock 9
        chrt -f 50 rm x
        chrt -b rm x
        taskset -c 0,1 rm x
        taskset 0x3 rm x
        caffeinate -di -t 5 rm x
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn operands_from_elsewhere() {
    let lines = r#"
        echo a | xargs grep p
        echo a | xargs -n1 grep p
        xargs --max-a 1 rm
        xargs -I% sh -c 'rm %'
        xargs -I{} {} x
        xargs
        xargs -0
        find . -name x
        find . -delete
        find . -exec rm {} \; -o -execdir sh -c 'rm "$1"' _ {} +
        find . -exec env rm -f {} \;
        find . -okdir rm {} ';'
        find . -name f -exec rm
        fd -e js -x rm
        fd . -Hx rm {} \; -x ls
        fd x
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn code() {
    let lines = r#"
        sh -c 'rm x'
        bash -lc "rm x"
        bash -o pipefail -ec 'rm x'
        bash --rcfile f -c 'rm x'
        bash -c -- 'rm x'
        bash -c "rm $X"
        bash -c "$X"
        bash -c
        bash
        bash -s
        bash s.sh
        bash /dev/stdin
        bash <(curl x)
        bash $X
        curl x | sh
        sh < s
        bash -norc -c 'rm x'
        bash --odd -c 'rm x'
        bash -c 'bash -c "bash -c \"rm x\""'
        zsh -c 'rm x'
        fish -c 'rm x'
        bash -c 'rm x; if'
        eval rm x
        eval "rm x; ls"
        eval "$X"
        eval
        source x
        . x
        trap 'rm x' EXIT
        trap - EXIT
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn multi_call() {
    let lines = r#"
        busybox rm x
        busybox sh -c 'rm x'
        toybox env rm x
        coreutils --coreutils-prog=rm x
        coreutils --coreutils-prog-shebang=rm x
        /lib64/ld-linux-x86-64.so.2 /usr/bin/curl x
        /lib64/ld-linux-x86-64.so.2 --library-path /x /usr/bin/curl x
        start-stop-daemon -S -x /bin/rm -- x
        gdb --args rm x
        gdb x
        strace -f -e trace=file -o log rm x
        strace -o '|rm y' ls
        ltrace -f rm x
        bwrap --ro-bind / / --dev /dev -- rm x
        bwrap --unshare-all --odd rm x
        unshare -r -m rm x
        nsenter -t 1 -m rm x
        nsenter -t 1
        chroot /x rm x
        chroot /x
        setarch x86_64 -R rm x
        linux32 rm x
        prlimit --nofile=5 rm x
        systemd-run --user --scope -p A=1 rm x
        runcon t rm x
        runcon -t a rm x
        su root -c 'rm x'
        su - root -c 'rm x'
        su -c 'rm x' root
        su
        su root -- -c 'rm x'
        runuser -u nobody -- rm x
        runuser nobody -c 'rm x'
        script -qc 'rm x' /dev/null
        script -q /dev/null rm x
        script
        parallel rm ::: a b
        parallel -j4 'rm {}' :::: f
        parallel ::: 'rm x' ls
        parallel
        entr -s 'rm x'
        entr -r rm /_
        xvfb-run -a rm x
        dbus-run-session -- rm x
        firejail --net=none --private rm x
        valgrind --leak-check=full rm x
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn a_wrapper_that_is_given_its_command_from_elsewhere() {
    let lines = r#"
        xargs env
        xargs sudo
        xargs sh -c
        xargs timeout 5
        xargs find
        xargs busybox
        xargs sh
        find . -exec env {} \;
        sudo A=1 -u root rm x
        timeout 5 -- rm x
        mapfile -C 'rm x' -c 1
    "#;
    insta::assert_snapshot!(found(lines));
}

#[test]
fn not_looked_through() {
    let lines = r#"
        npx rm x
        docker exec c rm x
        $X rm x
        $(which rm) x
        "$X" rm x
        /bin/r? x
        f() { rm x; }; f
        A=1
        > f
        A=1 rm x
        ip netns exec n rm x
        noglob rm x
        nocorrect rm x
        timeout 5
        time rm x
        ! rm x
        (rm x)
        echo $(rm x)
        hyperfine 'rm x' ls
        pkexec rm x
        gosu root rm x
    "#;
    insta::assert_snapshot!(found(lines));
}
