//! Variables that a line sets: the few that change nothing about which program runs, and the many that might.
//!
//! An allow rule for `npm test` is no rule for `PATH=./x npm test`. So only the names in [`is_safe`] may
//! stand in front of an allowed command. A variable that is set alone (`x=1; …`) stays in the shell, unless
//! it was exported before: any whose name is in capitals may have been ([`stays_in_shell`]), and those that would then decide
//! what runs are [`is_special`].

/// Whether a variable set in front of a command changes only how the command speaks.
pub(crate) fn is_safe(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "FORCE_COLOR",
        "LANG",
        "LANGUAGE",
        "LINES",
        "NODE_ENV",
        "NO_COLOR",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "TZ",
    ];
    NAMES.contains(&name) || is_locale(name)
}

/// Whether setting a variable without a command may change what a later command does.
pub(crate) fn is_special(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "BROWSER",
        "CC",
        "CXX",
        "DIRSTACK",
        "DISPLAY",
        "EDITOR",
        "ENV",
        "EUID",
        "FCEDIT",
        "FUNCNEST",
        "GLOBIGNORE",
        "GROUPS",
        "HOME",
        "HOST",
        "HOSTNAME",
        "IFS",
        "LOGNAME",
        "MAIL",
        "OLDPWD",
        "OPTIND",
        "PAGER",
        "POSIXLY_CORRECT",
        "PPID",
        "PWD",
        "RANDOM",
        "SECONDS",
        "SHELL",
        "SHELLOPTS",
        "TERM",
        "TERMINFO",
        "TEMP",
        "TMP",
        "TMPDIR",
        "UID",
        "USER",
        "VISUAL",
        "EXECIGNORE",
        "CDPATH",
        "FIGNORE",
        "INPUTRC",
        "NULLCMD",
        "READNULLCMD",
        "LINENO",
        "REPLY",
        "TIMEFORMAT",
        "PS0",
    ];
    const STARTS: &[&str] = &[
        "LD_", "DYLD_", "BASH", "GIT_", "PYTHON", "NODE_", "NPM_", "npm_", "PERL", "RUBY", "JAVA", "JDK_",
        "GO", "CARGO", "RUST", "MAKE", "SSH_", "XDG_", "GCONV", "HIST", "COMP_", "PROMPT", "PS1", "PS2",
        "PS3", "PS4", "MALLOC_", "GLIBC_", "DOCKER_", "AWS_", "LESS", "SUDO_", "ZDOTDIR", "ZSH", "FPATH",
    ];
    const ENDS: &[&str] = &[
        "PATH", "HOME", "PAGER", "EDITOR", "OPTIONS", "OPTS", "FLAGS", "WRAPPER", "PROXY", "proxy",
        "COMMAND", "_CMD", "SHELL", "_DIR", "path", "argv", "fpath", "cdpath", "ASKPASS",
    ];
    NAMES.contains(&name)
        || STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether setting a variable without a command says nothing to later commands: it only changes how they speak, or has a
/// name in small letters, as variables that stay in the shell have.
pub(crate) fn stays_in_shell(name: &str) -> bool {
    let is_small = name.len() == 1 || name.bytes().any(|byte| byte.is_ascii_lowercase());
    is_safe(name) || (is_small && !is_special(name))
}

fn is_locale(name: &str) -> bool {
    name.strip_prefix("LC_").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_safe_variable_can_name_a_program() {
        for name in ["NODE_ENV", "LANG", "LC_ALL", "TZ", "NO_COLOR"] {
            assert!(is_safe(name), "{name}");
        }
        for name in ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_PAGER", "NODE_OPTIONS", "FOO", "CC", "LC_x"] {
            assert!(!is_safe(name), "{name}");
        }
    }

    #[test]
    fn what_may_have_been_exported_is_special() {
        for name in [
            "PATH",
            "HOME",
            "GIT_SSH_COMMAND",
            "IFS",
            "MY_EDITOR",
            "https_proxy",
            "RUSTC_WRAPPER",
            "PWD",
            "BASH_ARGV0",
        ] {
            assert!(is_special(name), "{name}");
        }
        for name in ["x", "B", "count", "result", "url"] {
            assert!(!is_special(name) && stays_in_shell(name), "{name}");
        }
        for name in ["PORT", "DATABASE_URL", "PATH", "http_proxy", "IFS"] {
            assert!(!stays_in_shell(name), "{name}");
        }
        assert!(stays_in_shell("TZ") && stays_in_shell("my_Var"));
    }
}
