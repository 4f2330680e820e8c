//! The wrappers: programs that run another one which their words name, each with the grammar of its options.
//!
//! A row says what the versions in use take (GNU, util-linux, procps, BSD, macOS, busybox). Where they differ in
//! whether a letter takes a value, the letter is left out: then what follows is guessed at, never read one way. Wrappers whose words
//! do not have the form "options, operands, command" are in [`special`](super::special).

use super::options::Grammar;

/// One wrapper.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) names: &'static [&'static str],
    /// Whether allow rules look through it.
    pub(super) plain: bool,
    pub(super) options: Grammar,
    /// What some of the options mean for the command.
    pub(super) effects: &'static [(&'static str, Effect)],
    /// What stands between the options and the command.
    pub(super) before: Before,
    /// How the command stands in the words.
    pub(super) behind: Behind,
    /// Where the command runs.
    pub(super) place: Place,
}

/// What an option means for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// With it, no command is run.
    Ends,
    /// Its value is the directory that the command runs in.
    Directory,
    /// The command runs in a directory that is not known.
    Elsewhere,
    /// Its value is code for a shell if it begins with `|` or `!`.
    Pipe,
    /// Its value is taken apart into words, which stand in the option's place.
    Split,
    /// Its value is an assignment.
    Assigns,
    /// It does something of its own (writes a file), so that the wrapper is no longer plain.
    Acts,
    /// The words are a command rather than code.
    AsWords,
    /// The words are code rather than a command.
    AsCode,
    /// No operand stands before the command.
    NoOperand,
}

/// What stands between the options and the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// Any number of assignments.
    Assignments,
    /// One word.
    Operand,
    /// One number, which newer versions let one leave out.
    Number,
}

/// How the command stands in the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Name and arguments.
    Words,
    /// Name and arguments; without any, a shell that reads its code from standard input.
    WordsOrShell,
    /// Name and arguments, and more arguments that come from elsewhere.
    WordsAndMore,
    /// Joined with blanks they are code for a shell.
    Code,
}

/// Where the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the wrapper runs.
    Here,
    /// In a directory, or a view of the files, that is not known.
    Elsewhere,
}

const fn row(names: &'static [&'static str], short: &'static str, long: &'static str) -> Row {
    Row {
        names,
        plain: false,
        options: Grammar { short, long },
        effects: &[],
        before: Before::Nothing,
        behind: Behind::Words,
        place: Place::Here,
    }
}

const fn plain(names: &'static [&'static str], short: &'static str, long: &'static str) -> Row {
    Row { plain: true, ..row(names, short, long) }
}

use Effect::*;

const GNU_ENDS: &[(&str, Effect)] = &[("help", Ends), ("version", Ends)];

/// All rows.
pub(super) static ROWS: &[Row] = &[
    // Those that allow rules look through.
    Row { effects: GNU_ENDS, ..plain(&["nice", "gnice"], "n:", "adjustment= help version") },
    Row {
        effects: GNU_ENDS,
        before: Before::Operand,
        ..plain(
            &["timeout", "gtimeout"],
            "k:s:vfp",
            "foreground kill-after= preserve-status signal= verbose help version",
        )
    },
    Row {
        effects: &[("o", Acts), ("output", Acts), ("V", Ends), ("help", Ends), ("version", Ends)],
        ..plain(
            &["time", "gtime"],
            "apvqlf:o:V",
            "append format= output= portability quiet verbose help version",
        )
    },
    Row { effects: GNU_ENDS, ..plain(&["nohup", "gnohup"], "", "help version") },
    Row {
        effects: GNU_ENDS,
        ..plain(&["stdbuf", "gstdbuf"], "i:o:e:", "input= output= error= help version")
    },
    Row { effects: &[("v", Ends), ("V", Ends)], ..plain(&["command"], "pvV", "") },
    plain(&["builtin"], "", ""),
    plain(&["noglob"], "", ""),
    // Prefixes of zsh and bash.
    row(&["nocorrect"], "", ""),
    row(&["exec"], "cla:", ""),
    // Others by where they come from: coreutils.
    Row {
        effects: &[
            ("C", Directory),
            ("chdir", Directory),
            ("S", Split),
            ("split-string", Split),
            ("help", Ends),
            ("version", Ends),
        ],
        before: Before::Assignments,
        ..row(
            &["env", "genv"],
            "0iu:C:S:va:P:",
            "argv0= ignore-environment null unset= chdir= split-string= block-signal? default-signal? \
             ignore-signal? list-signal-handling debug help version",
        )
    },
    Row {
        effects: GNU_ENDS,
        before: Before::Operand,
        behind: Behind::WordsOrShell,
        place: Place::Elsewhere,
        ..row(&["chroot", "gchroot"], "", "userspec= groups= skip-chdir help version")
    },
    Row {
        effects: &[("t", NoOperand), ("u", NoOperand), ("r", NoOperand), ("l", NoOperand), ("c", NoOperand)],
        before: Before::Operand,
        ..row(&["runcon"], "ct:u:r:l:", "")
    },
    Row {
        effects: GNU_ENDS,
        behind: Behind::WordsAndMore,
        ..plain(
            &["xargs", "gxargs"],
            "0a:d:E:e?I:i?L:l?n:oprP:s:txJ:R:S:",
            "arg-file= delimiter= eof? exit interactive max-args= max-chars= max-lines? max-procs= \
             no-run-if-empty null open-tty process-slot-var= replace? show-limits verbose help version",
        )
    },
    // util-linux.
    row(&["setsid"], "cfw", "ctty fork wait"),
    Row {
        effects: &[
            ("p", Ends),
            ("pid", Ends),
            ("P", Ends),
            ("pgid", Ends),
            ("u", Ends),
            ("uid", Ends),
            ("h", Ends),
            ("V", Ends),
        ],
        ..row(&["ionice"], "c:n:tpPuhV", "class= classdata= ignore pid pgid uid help version")
    },
    Row {
        effects: &[("p", Ends), ("pid", Ends), ("m", Ends), ("max", Ends), ("h", Ends), ("V", Ends)],
        before: Before::Number,
        ..row(
            &["chrt"],
            "abdefiorRmpT:P:D:vhV",
            "all-tasks batch deadline ext fifo idle max other pid reset-on-fork rr sched-runtime= sched-period= \
             sched-deadline= verbose help version",
        )
    },
    Row {
        effects: &[("p", Ends), ("pid", Ends), ("h", Ends), ("V", Ends)],
        before: Before::Operand,
        ..row(&["taskset"], "apchV", "all-tasks pid cpu-list help version")
    },
    Row {
        effects: &[("p", Ends), ("pid", Ends), ("h", Ends), ("V", Ends)],
        ..row(
            &["prlimit"],
            "p:o:c?d?e?f?i?l?m?n?q?r?s?t?u?v?x?y?hV",
            "pid= output= noheadings raw verbose core? data? nice? fsize? sigpending? memlock? rss? nofile? \
             msgqueue? rtprio? stack? cpu? nproc? as? locks? rttime? help version",
        )
    },
    Row {
        effects: &[("R", Elsewhere), ("root", Elsewhere), ("w", Directory), ("wd", Directory)],
        behind: Behind::WordsOrShell,
        ..row(
            &["unshare"],
            "muinpUCTfrcR:w:S:G:",
            "mount? uts? ipc? net? pid? user? cgroup? time? fork map-user= map-group= map-root-user \
             map-current-user map-auto map-users= map-groups= owner= kill-child? mount-proc? mount-binfmt? \
             propagation= setgroups= keep-caps root= wd= setuid= setgid= monotonic= boottime= help version",
        )
    },
    Row {
        behind: Behind::WordsOrShell,
        place: Place::Elsewhere,
        ..row(
            &["nsenter"],
            "at:m?u?i?n?p?C?U?T?S:G:r?w?W:eFZc",
            "all target= mount? uts? ipc? net? pid? cgroup? user? time? setuid= setgid= root? wd? wdns= env \
             no-fork follow-context preserve-credentials keep-caps user-parent join-cgroup help version",
        )
    },
    row(
        &["setpriv"],
        "dhV",
        "dump nnp no-new-privs ambient-caps= inh-caps= bounding-set= ruid= euid= rgid= egid= reuid= regid= \
         clear-groups keep-groups init-groups groups= securebits= pdeathsig= ptracer= selinux-label= \
         apparmor-profile= landlock-access= landlock-rule= reset-env list-caps help version",
    ),
    Row { effects: &[("p", Ends), ("pid", Ends)], ..row(&["choom"], "n:p:hV", "adjust= pid= help version") },
    Row { effects: &[("p", Ends), ("pid", Ends)], ..row(&["uclampset"], "asm:M:p:RvhV", "") },
    Row {
        effects: &[("h", Ends), ("v", Ends), ("x", AsWords), ("exec", AsWords)],
        behind: Behind::Code,
        ..row(
            &["watch"],
            "bcCd?eghn:pq:rtwxv",
            "beep color no-color differences? errexit chgexit interval= precise equexit= no-rerun no-title \
             no-wrap exec shotsdir= follow help version",
        )
    },
    // Who it runs as.
    Row {
        effects: &[
            ("D", Directory),
            ("chdir", Directory),
            ("R", Elsewhere),
            ("chroot", Elsewhere),
            ("i", Elsewhere),
            ("login", Elsewhere),
            ("l", Ends),
            ("list", Ends),
            ("e", Ends),
            ("edit", Ends),
            ("v", Ends),
            ("V", Ends),
            ("validate", Ends),
            ("K", Ends),
        ],
        before: Before::Assignments,
        behind: Behind::WordsOrShell,
        ..row(
            &["sudo"],
            "ABbEeHiKklNnPSsVvg:p:u:U:C:D:R:r:T:t:",
            "askpass background bell close-from= chdir= chroot= edit group= host= preserve-env? \
             remove-timestamp reset-timestamp list login non-interactive preserve-groups prompt= role= stdin \
             shell type= command-timeout= user= other-user= validate version help set-home no-update",
        )
    },
    Row {
        effects: &[("C", Ends), ("L", Ends)],
        behind: Behind::WordsOrShell,
        ..row(&["doas"], "a:C:Lnsu:", "")
    },
    Row {
        behind: Behind::WordsOrShell,
        place: Place::Elsewhere,
        ..row(&["pkexec"], "", "user= disable-internal-agent keep-cwd help version")
    },
    Row {
        effects: &[("D", Directory), ("chdir", Directory)],
        behind: Behind::WordsOrShell,
        ..row(
            &["run0"],
            "u:g:D:",
            "user= group= nice= chdir= setenv= slice= unit= description= property= machine=",
        )
    },
    Row { before: Before::Operand, ..row(&["gosu", "su-exec"], "", "") },
    // Variables for it.
    Row { before: Before::Assignments, ..row(&["cross-env"], "", "") },
    Row { before: Before::Assignments, behind: Behind::Code, ..row(&["cross-env-shell"], "", "") },
    Row {
        behind: Behind::WordsOrShell,
        ..row(&["fakeroot"], "l:s:i:b:uhv", "lib= faked= unknown-is-real help version")
    },
    // Services and sessions.
    Row {
        place: Place::Elsewhere,
        effects: &[("E", Assigns), ("setenv", Assigns), ("S", Elsewhere)],
        behind: Behind::WordsOrShell,
        ..row(
            &["systemd-run"],
            "hGPqrtSdu:p:E:H:M:",
            "user system scope no-block wait slice= slice-inherit expand-environment= remain-after-exit \
             send-sighup service-type= uid= gid= nice= working-directory= same-dir setenv= pty pipe quiet shell \
             collect unit= property= description= machine= host= path-property= socket-property= \
             timer-property= on-active= on-boot= on-startup= on-unit-active= on-unit-inactive= on-calendar= \
             no-ask-password no-pager ignore-failure help version",
        )
    },
    row(&["systemd-inhibit"], "", "what= who= why= mode= no-pager no-legend list help version"),
    row(&["dbus-run-session"], "", "config-file= dbus-daemon= help version"),
    row(
        &["xvfb-run"],
        "ae:f:hln:p:s:w:",
        "auto-servernum auto-display error-file= auth-file= listen-tcp server-num= xauth-protocol= server-args= wait= help",
    ),
    row(&["ssh-agent"], "cDdkst:a:E:O:P:", ""),
    row(&["tini", "tini-static"], "sp:vwgle:h", "version"),
    row(&["dumb-init"], "cr:vVh", "single-child rewrite= verbose version help"),
    // macOS.
    row(&["caffeinate"], "disumt:w:", ""),
    Row { before: Before::Nothing, ..row(&["arch"], "e:d:c", "arm64 arm64e x86_64 i386") },
    Row { effects: &[("p", Ends)], ..row(&["taskpolicy"], "ac:d:g:p:bBt:l:m:s", "") },
    // Tracing and observing.
    Row {
        effects: &[("E", Assigns), ("env", Assigns), ("o", Pipe), ("output", Pipe), ("h", Ends), ("V", Ends)],
        ..row(
            &["strace"],
            "a:b:cCdDe:E:fFhiI:kno:O:p:P:qrs:S:tTu:U:vVwxX:yYzZ",
            "env= output= output-append-mode follow-forks output-separately trace= signal= status= quiet? \
             summary summary-only attach= user= argv0= string-limit= columns= daemonize? interruptible= \
             trace-path= successful-only failed-only decode-fds? absolute-timestamps? relative-timestamps? \
             syscall-times? stack-trace? debug help version",
        )
    },
    row(
        &["ltrace"],
        "a:A:bcCD:e:fF:hiLl:n:o:p:rs:StTu:Vx:w:",
        "output= help version demangle library= no-signals",
    ),
    row(&["eatmydata", "unbuffer", "chronic", "catchsegv", "torsocks", "torify"], "", ""),
    row(&["proxychains", "proxychains4"], "qf:", ""),
    Row { before: Before::Operand, ..row(&["faketime"], "mf", "exclude-monotonic") },
    row(
        &["numactl"],
        "i:N:m:C:p:lasHh",
        "interleave= cpunodebind= membind= physcpubind= preferred= localalloc all show hardware balancing touch \
         weighted-interleave=",
    ),
    row(&["trickle"], "hvVsd:u:w:t:l:n:L:P:", ""),
    // Those whose options all have the form --name or --name=value, whatever the name.
    Row { place: Place::Elsewhere, ..row(&["firejail"], "", "") },
    row(&["valgrind"], "qvdh", ""),
    // Runs its command when a file changes; `/_` in it stands for that file.
    Row { effects: &[("s", AsCode)], behind: Behind::WordsAndMore, ..row(&["entr"], "acdnprsxz", "") },
];

/// Programs that take any `--name` or `--name=value`.
pub(super) const ANY_LONG: [&str; 2] = ["firejail", "valgrind"];
/// Programs that take a number right behind the dash: `nice -5`.
pub(super) const DIGITS: [&str; 2] = ["nice", "gnice"];
/// Programs that take a lone `-` for an option.
pub(super) const LONE_DASH: [&str; 2] = ["env", "genv"];
