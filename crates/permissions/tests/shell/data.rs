//! Text that is data to the eye and that the shell evaluates.

use crate::show::show;
use palisade_permissions::shell::{Reason, Shell, read};

fn reason(line: &str) -> Option<Reason> {
    read(line, Shell::Bash).reason()
}

#[test]
fn arithmetic_over_data() {
    for line in [
        "x='a[$(rm prey)]'; echo $((x))",
        "x='a[$(rm prey)]'; echo $(($x))",
        "x='a[$(rm prey)]'; ((x))",
        "x='a[$(rm prey)]'; for ((i=x; i<1; i++)); do a; done",
        "x='a[$(rm prey)]'; [[ $x -eq 1 ]]",
        "x='a[$(rm prey)]'; [[ 1 -lt \"$x\" ]]",
        "x=1; x=$(cat f); echo $((x))",
        "x=1; read x; echo $((x))",
        "x=1; printf -v x %s \"$y\"; echo $((x))",
        "x=1; eval \"$y\"; echo $((x))",
        "x=1; . ./f; echo $((x))",
        "x=1; $cmd; echo $((x))",
        "x=1; for x in $(cat f); do echo $((x)); done",
        "i=0; while a; do echo $((i)); i=$(b); done",
        "x=1 true; echo $((x))",
        "(x=1); echo $((x))",
        "x=1 & echo $((x))",
        "x=1 | a; echo $((x))",
        "a && x=1; echo $((x))",
        "if a; then x=1; fi; echo $((x))",
        "f() { x=1; }; echo $((x))",
        "echo $((x))",
        "echo $((a[1]))",
        r#"x="$((1))+a[\$(rm prey)]+((1))"; echo $((x))"#,
        r#"x="$((1))+a+((1))"; echo $((x))"#,
        r#"[[ "$((1))+a+((1))" -eq 1 ]]"#,
        "set -- 'a[$(rm prey)]'; local x=1; export x=$y; x=1; echo $((x))",
        "let 'a[$(rm prey)]'",
        // The shell sets these itself: to the last word before, to what was read, to what matched.
        "_=1; echo 'a[$(rm prey)]'; ((_))",
        "((_=1)); echo 'a[$(rm prey)]'; ((_))",
        "for _ in 1 2; do echo 'a[$(rm prey)]'; ((_)); done",
        "_=1; ls 'a[$(rm prey)]'; [[ $_ -eq 1 ]]",
        "_=1; ls 'a[$(rm prey)]'; for ((;_;)); do break; done",
        "REPLY=1; read -r < f; echo $((REPLY))",
        "MAPFILE=1; mapfile < f; echo $((MAPFILE))",
        "BASH_REMATCH=1; [[ 'a[$(rm prey)]' =~ .* ]]; echo $((BASH_REMATCH))",
        "OPTARG=1; f() { getopts a: o; echo $((OPTARG)); }; f -a 'k[$(rm prey)]'",
        // Options that take nothing, and one whose value is in its own word.
        "i=1; mapfile -t i < f; echo $((i))",
        "i=1; mapfile -tdx i < f; echo $((i))",
        "i=1; while IFS= read -rs i; do echo $((i)); done < f",
        "i=1; read -pn i < f; echo $((i))",
        "i=1; read -p'n' i < f; echo $((i))",
        "i=1; read -a i < f; echo $((i))",
        // A copy is what it was copied from, whenever that changes.
        "y=1; y='a[$(rm prey)]'; x=$y; echo $((x))",
        "y=1; read -r y < f; x=$y; [[ $x -eq 1 ]]",
        "i=0; while read -r l; do n=$i; i=$l; echo $((n)); done < f",
        "for n in 1 2; do m=$n; done; n='a[$(rm prey)]'; m=$n; echo $((m))",
        "l=5; l='1 a[$(rm prey)]'; read -t $l x",
        "for x in; do :; done; echo $((x))",
        "i=1; compgen -V i -W \"$x\"; echo $((i))",
    ] {
        assert_eq!(reason(line), Some(Reason::ArithmeticOnData), "{line}");
    }
    for line in [
        "set -- 'a[$(rm prey)]'; echo $(($1))",
        "echo $((`rm prey`))",
        "(($(rm prey)))",
        // One name is made of two.
        "a1='b[$(rm prey)]'; a=1; x=1; echo $((a$x))",
        "a1='b[$(rm prey)]'; a=1; x=1; ((a${x}))",
        "a0='b[$(rm prey)]'; a=1; echo $((a$?))",
        "a0='b[$(rm prey)]'; for ((a=0; a$?<1; a++)); do :; done",
        // Nobody who looks at the commands would see these variables being set.
        "((PATH = 1)); npm test",
        "echo $((PATH=1)); npm test",
        "x=$((PATH=1)); npm test",
        "for ((IFS=1; 1; 1)); do npm test; done",
        "for ((i=0; i<1; BASH_ENV=1)); do npm test; done",
        "[[ $((LD_PRELOAD=1)) == 1 ]]; npm test",
    ] {
        assert_eq!(reason(line), Some(Reason::Arithmetic), "{line}");
    }
}

#[test]
fn arithmetic_over_numbers() {
    for line in [
        "x=1; echo $((x + 1))",
        "i=0; while [ $i -lt 5 ]; do i=$((i+1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in {1..3}; do echo $((i)); done",
        "for ((i=0; i<3; i++)); do echo $((i)); done",
        "((n = 3)); echo $((n))",
        "a && x=1 && echo $((x))",
        "[[ $# -eq 1 ]]",
        "[[ 1 -lt 2 ]]",
        "echo $((RANDOM % 10))",
        "x=$?; echo $((x))",
    ] {
        assert_eq!(reason(line), None, "{line}");
    }
}

#[test]
fn names_with_subscripts() {
    for line in [
        "printf -v 'a[$(rm prey)]' b",
        "printf '-va[$(rm prey)]' b",
        "printf \"$x\" b",
        "read 'a[$(rm prey)]' <<< 1",
        "read -r 'a[$(rm prey)]'",
        "read \"$x\"",
        "unset 'a[$(rm prey)]'",
        "unset \"m[$k]\"",
        "test -v 'a[$(rm prey)]'",
        "[ -v 'a[$(rm prey)]' ]",
        "[ -v \"$x\" ]",
        "wait -n -p 'a[$(rm prey)]'",
        "wait -np 'a[$(rm prey)]'",
        "wait -fnp'a[$(rm prey)]'",
        "printf %n 'a[$(rm prey)]'",
        "printf '%% %-5.*ln' x 'a[$(rm prey)]'",
        "printf -- '%n' 'a[$(rm prey)]'",
        "printf \"b$x\" 'a[$(rm prey)]'",
        "declare 'a[$(rm prey)]=1'",
        "export \"$x\"",
        "declare -n r='a[$(rm prey)]'; echo $r",
        "declare -i n; n=$x",
        "local -i n=$x",
        "mapfile 'a[$(rm prey)]' < f",
        "getopts a 'b[$(rm prey)]'",
        "exec 'a[$(rm prey)]'",
        "builtin read 'a[$(rm prey)]'",
        "command -p unset 'a[$(rm prey)]'",
        "RANDOM='a[$(rm prey)]'",
        "OPTIND=$x",
        "read RANDOM",
        "for RANDOM in $x; do a; done",
        "x='-v'; [ $x 'a[$(rm prey)]' ]",
        "[ \"$x\" \"$y\" ]",
        "[ * ]",
        "wait -n -p \"$x\"",
        "wait $x 1",
        "x='-pa[$(rm prey)]'; wait -n \"$x\"",
        "x='-pa[$(rm prey)]'; wait \"$x\" -n",
        "a=(-n -p 'k[$(rm prey)]'); wait \"${a[@]}\"",
        // A plain name in a subscript is evaluated, too.
        "x='b[$(rm prey)]'; unset 'a[x]'",
        "x='b[$(rm prey)]'; unset a\\[x\\]",
        "x='b[$(rm prey)]'; unset 'a[$x]'",
        "x='b[$(rm prey)]'; unset 'a[-x]'",
        "x='b[$(rm prey)]'; read 'a[x]' <<< 1",
        "x='b[$(rm prey)]'; read -a 'a[x]' <<< 1",
        "x='b[$(rm prey)]'; printf -v 'a[x]' 1",
        "x='b[$(rm prey)]'; test -v 'a[x]'",
        "x='b[$(rm prey)]'; [ -v 'a[x]' ]",
        "x='b[$(rm prey)]'; declare 'a[x]=1'",
        "x='b[$(rm prey)]'; typeset 'a[0+x]=1'",
        "x='b[$(rm prey)]'; sleep 0 & wait -p 'a[x]' -n",
        // What an array is declared with is evaluated if it begins with a parenthesis.
        "declare -a 'a=($(rm prey))'",
        "declare -A m='([k]=`rm prey`)'",
        "declare -a a='(<(rm prey))'",
        "declare -ga 'a+=($(rm prey))'",
        "typeset -ar a='($(rm prey))'",
        "local -a a='($(rm prey))'",
        "a=(1); declare a='($(rm prey))'",
        "declare a='($(rm prey))'; a=(1)",
        "a=(1); declare -- a=\"$v\"",
        "read -a a <<< 1; declare a=\"$v\"",
        "mapfile -t a <<< 1; export a=\"$v\"",
        "declare -a a=\"$v\"",
        "declare -a \"a=$v\"",
        "readonly -a a=$v",
        "declare -a a; typeset a=$v",
        "declare PIPESTATUS=\"$v\"",
        "declare DIRSTACK='($(rm prey))'",
        "declare 'a[0]=1'; declare a='($(rm prey))'",
        "printf -v 'a[0]' x; declare a=\"$v\"",
        "typeset 'a[1]+=2' a='($(rm prey))'",
        // A declaration that bash does not take for one splits its value.
        "v='1 b[$(rm prey)]=2'; \\declare A=$v",
        "v='1 b[$(rm prey)]=2'; 'typeset' A=$v",
        "v='1 b[$(rm prey)]=2'; command declare A=$v",
        "v='1 b[$(rm prey)]=2'; builtin export A=$v",
        // A word turns out to be an option.
        "x=-v; [ \"$x\" 'a[$(rm prey)]' ]",
        "set -- -v; test \"$1\" 'a[$(rm prey)]'",
        "[ \"$(echo -v)\" 'a[$(rm prey)]' ]",
        "x=v; [ \"-$x\" 'a[$(rm prey)]' ]",
        "x=-v; [ 1 = 1 -a \"${x}\" 'a[$(rm prey)]' ]",
        "x=-v; y='a[$(rm prey)]'; [ ! \"$x\" 'b[y]' ]",
        "[ \\-? 'a[$(rm prey)]' ]",
        "x='-npa[$(rm prey)]'; wait \"$x\"",
        "x='a[$(rm prey)]'; wait \"-np$x\"",
        "printf \"-v$x\" hi",
        "printf -v\"$x\" hi",
        "x=v; y='a[$(rm prey)]'; printf \"-$x\" 'b[y]' z",
        "printf \\-? \"$y\" z",
        // One word in quotes becomes several.
        "a=(-v 'k[$(rm prey)]'); [ \"${a[@]}\" ]",
        "test 1 = \"${a[@]:0}\"",
        "[ \"${a[@]/z/z}\" ]",
        "f() { [ \"$@\" ]; }; f -v 'k[$(rm prey)]'",
        "[ -n \"${@:1}\" ]",
        "set -- -v 'k[$(rm prey)]'; [ \"x${@}\" ]",
        "read -p \"$@\" x",
        "read -t $limit x",
        "read -rs RANDOM <<< x",
        "mapfile -t SECONDS <<< x",
        "set -x; PS4='$(rm prey)'; ls",
        "PS4=$x; set -x; ls",
    ] {
        assert_eq!(reason(line), Some(Reason::DataAsCode), "{line}");
    }
    for line in [
        "b[$x]=1",
        "echo ${b[$x]}",
        "echo ${b[x]}",
        "echo ${y:$x}",
        "echo ${!x}",
        "echo ${x@P}",
        "exec {a[$(rm prey)]}>f",
        "[[ -v x ]]",
        "[[ -R x ]]",
        "a=([$x]=1)",
    ] {
        assert!(reason(line).is_some(), "{line}: {}", show(line));
    }
}

#[test]
fn an_array_that_is_declared_is_not_read() {
    for line in ["declare -a list=(1 2); ls", "local x=(a)", "export a=() b=(c)", "readonly -a x=(1)"] {
        assert_eq!(reason(line), Some(Reason::Array), "{line}");
    }
    for line in ["echo x=(1)", "ls a(b)"] {
        assert_eq!(reason(line), Some(Reason::Syntax), "{line}");
    }
}

#[test]
fn names_without() {
    for line in [
        "read -r -p 'Name [y/n]: ' name",
        "read -t 5 a b",
        "export A=1 B=\"$x\" C",
        "export \"A=$(date)\"",
        "unset A B",
        "[ \"$x\" -eq 1 ]",
        "[ \"$x\" = \"$y\" ]",
        "[ -n \"$x\" ]",
        "[ $? -eq 0 ]",
        "test -f \"$x\"",
        "printf '%s\\n' \"$x\"",
        "printf 'a[%s]' \"$(date)\"",
        "grep 'a[$(x)]' f",
        "PS1='$ '",
        "wait",
        "sleep 5 & wait $!",
        "sleep 5 & wait -n \"$!\"",
        "printf '%d%%n' 'a[$(date)]'",
        "sleep 1 & pid=$!; wait \"$pid\"",
        "wait -n",
        "[ -f *.c ]",
        "unset 'a[0]' 'b[@]'",
        "i=2; unset 'a[i]' 'a[$i]'",
        "mapfile -t lines < f; echo \"${#lines[@]}\"",
        "[ \"${#lines[@]}\" -eq 0 ]",
        "[ -z \"${lines[*]}\" ]",
        "read -rsp 'Password [hidden]: ' word",
        "read -p \"$question [y/N] \" answer",
        "limit=5; read -t $limit x",
        "export PS1='(venv) $ ' VIRTUAL_ENV_PROMPT='(venv)'",
        "f() { local x=\"$1\" y=$2; }",
        "declare -r version=\"$(git describe)\"",
        "declare -a list; declare -A map",
        "x=1; y=$x; echo $((x + y))",
        "[ \"$x\" = '[a]' ]",
        "[ ! -f \"$x\" ]",
        "[ \"x$1\" = x ]",
        "printf \"\\n%s $x\\n\" a",
        "printf \"(%s) $x\" a",
    ] {
        assert_eq!(reason(line), None, "{line}");
    }
}

#[test]
fn commands_that_change_how_the_next_line_is_read() {
    for line in [
        "alias ls='rm prey'\nls",
        "shopt -s expand_aliases\nls",
        "shopt -s extglob\nls",
        "enable -n echo\necho x",
        "unalias -a\nls",
        "set -o posix\nls",
        "set -k; ls",
        "set +B; rm {a,b}",
        "set $x; ls",
        "emulate sh\nls",
    ] {
        assert_eq!(reason(line), Some(Reason::ChangesReading), "{line}");
    }
    for line in [
        "alias ll='ls -l'",
        "alias ll='ls -l'\n",
        "set -euo pipefail\nls",
        "set -x; ls",
        "shopt -s nullglob\nls",
        "set -- a b\nls",
    ] {
        assert_eq!(reason(line), None, "{line}");
    }
}
