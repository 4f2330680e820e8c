//! The command's variables: the caller's, less what must not get in, plus what leads to the proxy.

use crate::listen::Listen;
use palisade_policy::{AbsPath, Host, NetworkPolicy, VariableRule};
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Name and value, as bytes.
pub(crate) type Variables = Vec<(Vec<u8>, Vec<u8>)>;

/// Variables that change how bash reads a line, or make it run a file first. They are removed where a line is
/// run by a shell, so that the line that was read is the line that runs.
const CHANGE_PARSING: [&str; 6] =
    ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "BASH_COMPAT"];

/// Hosts that mean the sandbox's own loopback interface, where a command may run servers of its own.
const OWN_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Where the proxy listens inside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProxyPorts {
    pub(crate) http: SocketAddr,
    pub(crate) socks: SocketAddr,
}

/// What the command's variables are made from.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) inherited: &'a [(OsString, OsString)],
    /// Left out, whatever their value.
    pub(crate) hidden: &'a [VariableRule],
    /// Whether a shell reads the line.
    pub(crate) by_shell: bool,
    pub(crate) temporary: &'a AbsPath,
    pub(crate) working_directory: &'a AbsPath,
    pub(crate) network: &'a NetworkPolicy,
}

/// The command's variables.
pub(crate) fn variables(scene: &Scene<'_>, ports: ProxyPorts) -> Variables {
    let set = variables_to_set(scene, ports);
    let kept = scene.inherited.iter().filter(|(name, _)| {
        let is = |other: &str| name.as_bytes() == other.as_bytes();
        let is_left_out = set.iter().any(|(other, _)| is(other))
            || scene.hidden.iter().any(|rule| is(&rule.name))
            || (scene.by_shell && changes_parsing(name));
        !is_left_out
    });
    let mut all: Variables =
        kept.map(|(name, value)| (name.clone().into_vec(), value.clone().into_vec())).collect();
    all.extend(set.into_iter().map(|(name, value)| (name.as_bytes().to_vec(), value)));
    all
}

fn changes_parsing(name: &OsStr) -> bool {
    CHANGE_PARSING.iter().any(|other| name.as_bytes() == other.as_bytes())
        || name.as_bytes().starts_with(b"BASH_FUNC_")
}

fn variables_to_set(scene: &Scene<'_>, ports: ProxyPorts) -> Vec<(&'static str, Vec<u8>)> {
    let http = format!("http://{}", ports.http);
    // socks5h: the proxy looks the name up, since nothing inside can.
    let socks = format!("socks5h://{}", ports.socks);
    let mut set: Vec<(&str, Vec<u8>)> = Vec::new();
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
        set.push((name, http.clone().into()));
    }
    for name in ["ALL_PROXY", "all_proxy"] {
        set.push((name, socks.clone().into()));
    }
    let direct = no_proxy(scene.network);
    for name in ["NO_PROXY", "no_proxy"] {
        set.push((name, direct.clone().into()));
    }
    // Node's fetch heeds the variables above only with this; older versions ignore it.
    set.push(("NODE_USE_ENV_PROXY", b"1".to_vec()));
    set.push(("TMPDIR", scene.temporary.as_bytes().to_vec()));
    // Where zsh keeps here-documents, whatever TMPDIR says.
    set.push(("TMPPREFIX", [scene.temporary.as_bytes(), b"/zsh"].concat()));
    // Programs of other systems' making look at these; what they said is not writable here.
    for name in ["TEMP", "TMP"] {
        if scene.inherited.iter().any(|(inherited, _)| inherited == name) {
            set.push((name, scene.temporary.as_bytes().to_vec()));
        }
    }
    set.push(("PWD", scene.working_directory.as_bytes().to_vec()));
    set
}

/// What clients reach without the proxy: the sandbox's own loopback interface. A host of it under which the policy
/// opens servers of this machine is left out where only the proxy leads to them: on every port, or below `localhost`,
/// which in this list means all names that end so. (What is allowed on one port has a listener at that very address
/// inside.)
fn no_proxy(network: &NetworkPolicy) -> String {
    let stays = |own: &&str| {
        let host = Host::parse(own);
        host.is_ok_and(|host| network.allowed.iter().all(|rule| Listen::reaches(network, rule, &host)))
    };
    let hosts: Vec<&str> = OWN_HOSTS.into_iter().filter(stays).collect();
    hosts.join(",").replace("[::1]", "::1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{HostPattern, HostRule, Origin};

    fn network(allowed: &[&str]) -> NetworkPolicy {
        let rule = |text: &&str| HostRule {
            pattern: HostPattern::parse(text).expect(text),
            origin: Origin::flag("--test", text),
        };
        NetworkPolicy { allowed: allowed.iter().map(rule).collect(), ..NetworkPolicy::default() }
    }

    #[test]
    fn what_goes_without_the_proxy() {
        for (allowed, direct) in [
            (&["example.com", "*", "127.0.0.1:3000", "localhost:80"][..], "localhost,127.0.0.1,::1"),
            (&["127.0.0.1"], "::1"),
            (&["localhost"], "127.0.0.1,::1"),
            (&["localhost", "[::1]"], "127.0.0.1"),
            (&["*.localhost"], "127.0.0.1,::1"),
            (&["a.localhost:80"], "127.0.0.1,::1"),
        ] {
            assert_eq!(no_proxy(&network(allowed)), direct, "{allowed:?}");
        }
        let denied = |allowed: &[&str], denied: &[&str]| {
            no_proxy(&NetworkPolicy { denied: network(denied).allowed, ..network(allowed) })
        };
        // Where a denial keeps a listener away, the proxy has to be asked.
        assert_eq!(denied(&["127.0.0.1:80"], &["localhost"]), "::1");
        assert_eq!(denied(&["localhost:80"], &["a.localhost"]), "");
        assert_eq!(denied(&["127.0.0.1:80"], &["localhost:81"]), "localhost,127.0.0.1,::1");
    }

    #[test]
    fn the_callers_variables_pass_but_for_what_must_not() {
        let inherited: Vec<(OsString, OsString)> = [
            ("KEPT", "a\nb"),
            ("SECRET", "x"),
            ("http_proxy", "http://elsewhere"),
            ("BASH_ENV", "f"),
            ("BASH_FUNC_git%%", "() { evil; }"),
            ("TMPDIR", "/elsewhere"),
            ("TEMP", "/elsewhere"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
        let path = AbsPath::new("/t").expect("absolute");
        let names = |by_shell| {
            let scene = Scene {
                inherited: &inherited,
                hidden: &[VariableRule { name: "SECRET".into(), origin: Origin::flag("--test", "SECRET") }],
                by_shell,
                temporary: &path,
                working_directory: &path,
                network: &network(&[]),
            };
            let port = |port| SocketAddr::from(([127, 0, 0, 1], port));
            let all = variables(&scene, ProxyPorts { http: port(1), socks: port(2) });
            assert_eq!(all.iter().filter(|(name, _)| name == b"TMPDIR").count(), 1);
            assert!(all.contains(&(b"TMPPREFIX".to_vec(), b"/t/zsh".to_vec())));
            assert!(all.contains(&(b"TEMP".to_vec(), b"/t".to_vec())), "where the caller has one");
            assert!(!all.iter().any(|(name, _)| name == b"TMP"), "where the caller has none");
            assert!(all.contains(&(b"http_proxy".to_vec(), b"http://127.0.0.1:1".to_vec())));
            all.into_iter().map(|(name, _)| String::from_utf8(name).expect("ASCII")).collect::<Vec<_>>()
        };
        assert_eq!(names(true)[0], "KEPT");
        assert!(!names(true).iter().any(|name| name.starts_with("BASH_") || name == "SECRET"));
        assert!(names(false).contains(&"BASH_ENV".to_owned()), "without a shell nothing parses");
    }
}
