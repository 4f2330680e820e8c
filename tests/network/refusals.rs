//! How the proxy refuses, and which rule decides.

use super::{allowing, ask};
use palisade_tests::{Origin, Project};
use std::net::{IpAddr, Ipv4Addr};

#[test]
fn an_http_refusal_is_a_403_that_names_the_host_and_the_reason() {
    let Some(project) = Project::where_it_works() else { return };
    let reason = "not on the allow list, and nothing decides other hosts";
    for options in ["", "-p"] {
        let run = project.line(&format!(
            "curl -sS -D head --noproxy '' {options} -x $HTTP_PROXY http://refused.invalid:81/ -o body; cat body"
        ));
        let head = project.read("head").to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 403") && head.contains("content-type: text/plain"), "{head}");
        if options.is_empty() {
            let expected = format!(
                "palisade: refused.invalid:81 is refused: {reason}\nTo allow it: add \"refused.invalid\" to "
            );
            assert!(run.stdout.starts_with(&expected), "{run:?}");
        } else {
            assert!(run.stderr.contains("403"), "{run:?}");
        }
        let violation = &run.json["sandbox"]["violations"][0];
        assert_eq!(violation["action"], "network-outbound");
        assert_eq!(violation["target"], "refused.invalid:81");
        assert_eq!(violation["reason"], reason);
        assert_eq!(violation["evidence"], "proxy");
        let remedy = violation["remedy"].as_str().unwrap_or_default();
        assert_eq!(remedy, "add \"refused.invalid\" to sandbox.network.allowedDomains");
        assert_eq!(run.violations().len(), 1, "{run:?}");
    }
}

/// A program that captures standard error gets the command's, and what was refused only when it asks for that.
#[test]
fn a_report_is_written_where_there_is_no_terminal_when_it_is_wanted() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "curl -s --noproxy '' http://refused.invalid:81/ -o body";
    for (options, reports) in [(&[][..], 0), (&["--report"], 1)] {
        let run = project.run().options(options).line(line);
        let says = |text: &str| run.stderr.matches(text).count();
        assert_eq!(says("palisade: the sandbox stopped this:"), reports, "{run:?}");
        assert_eq!(says("add \"refused.invalid\" to sandbox.network.allowedDomains\n"), reports, "{run:?}");
    }
}

#[test]
fn a_socks_refusal_is_reply_2() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project
        .line("curl -sS --noproxy '' --socks5-hostname ${ALL_PROXY#socks5h://} http://refused.invalid/");
    assert_eq!(run.status, 97, "{run:?}");
    assert!(run.stderr.contains("(2)"), "{run:?}");
    assert_eq!(run.violations(), ["refused.invalid:80"]);
    let run = project.line(&ask(&project, "socks", &["refused.invalid:80", "127.0.0.1:80", "a..b:80"])).ok();
    assert_eq!(
        run.stdout,
        "refused.invalid:80 refused: reply 2\n127.0.0.1:80 refused: reply 2\na..b:80 refused: reply 8\n"
    );
}

#[test]
fn denied_beats_allowed() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    for (allowed, denied) in [(address.as_str(), "127.0.0.1"), ("127.0.0.1", &address), ("*", "127.0.0.1")] {
        let line = format!(
            "curl -sS --noproxy '' http://{address}/; curl -sS http://{address}/; \
             curl -sS --noproxy '' --socks5 ${{ALL_PROXY#socks5h://}} http://{address}/"
        );
        let run = allowing(&project, &[allowed]).options(["--deny-host", denied]).line(line);
        assert_eq!(run.violations(), [address.as_str()], "{allowed} {denied}: {run:?}");
        let reason = run.json["sandbox"]["violations"][0]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.starts_with("denied by ") && reason.contains(denied), "{reason}");
    }
    assert_eq!(origin.requests(), [""; 0]);
}

/// The command connects to an address, and nobody can tell by which name it found that.
#[test]
fn a_denied_name_is_not_reached_by_the_address_that_it_leads_to() {
    let Some(project) = Project::where_it_works() else { return };
    for (denied, name) in
        [("localhost", "localhost"), ("*.localhost", "a.localhost"), ("b.localhost", "b.localhost")]
    {
        let origin = Origin::start();
        let (address, port) = (origin.address().to_string(), origin.port());
        let line = format!(
            "curl -sS http://{name}:{port}/; curl -sS --noproxy '*' http://{name}:{port}/;
             curl -sS --noproxy '' http://{name}:{port}/; curl -sS --noproxy '*' http://{address}/"
        );
        for allowed in [address.clone(), format!("localhost:{port}")] {
            allowing(&project, &[&allowed]).options(["--deny-host", denied]).line(&line);
            assert_eq!(origin.requests(), [""; 0], "{allowed} {denied}");
        }
        // The proxy is told the name, and the address itself is not denied.
        let run = allowing(&project, &[&address]).options(["--deny-host", denied]);
        let run = run.line(format!("curl -sS http://{address}/proxied")).ok();
        assert_eq!(run.stdout, "origin-ok /proxied\n", "{denied}: {run:?}");
    }
}

#[test]
fn a_port_in_a_rule_allows_that_port_only() {
    let Some(project) = Project::where_it_works() else { return };
    let (open, shut) = (Origin::start(), Origin::start());
    let (yes, no) = (open.address().to_string(), shut.address().to_string());
    for (how, refused) in [
        ("plain", "HTTP/1.1 403 Forbidden by palisade"),
        ("connect", "HTTP/1.1 403 Forbidden by palisade"),
        ("socks", "reply 2"),
    ] {
        let run = allowing(&project, &[&yes]).line(ask(&project, how, &[&yes, &no])).ok();
        assert_eq!(run.stdout, format!("{yes} origin-ok /{how}\n{no} refused: {refused}\n"));
        assert_eq!(run.violations(), [no.as_str()]);
    }
    assert_eq!((open.requests().len(), shut.requests().len()), (3, 0));
}

/// Every way to write `127.0.0.1` that clients hand on as they are given it.
const SPELLINGS: [&str; 9] = [
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
];

#[test]
fn an_address_is_judged_the_same_however_it_is_spelled() {
    let Some(project) = Project::where_it_works() else { return };
    let origin = Origin::start();
    let address = origin.address().to_string();
    let targets = SPELLINGS.map(|host| format!("{host}:{}", origin.port()));
    let targets = targets.each_ref().map(String::as_str);
    for how in ["plain", "connect", "socks"] {
        let all = |said: String| -> String { targets.map(|target| format!("{target} {said}\n")).concat() };
        let line = ask(&project, how, &targets);
        let run = allowing(&project, &[&address]).line(&line).ok();
        assert_eq!(run.stdout, all(format!("origin-ok /{how}")), "allowed");
        let refused = if how == "socks" { "reply 2" } else { "HTTP/1.1 403 Forbidden by palisade" };
        let run = allowing(&project, &["*"]).options(["--deny-host", "127.0.0.1"]).line(&line).ok();
        assert_eq!(run.stdout, all(format!("refused: {refused}")), "denied");
        assert_eq!(run.violations(), [address.as_str()], "one address, one violation");
        let run = allowing(&project, &["*"]).line(&line).ok();
        assert_eq!(run.stdout, all(format!("refused: {refused}")), "allowed only as any host");
    }
    assert_eq!(origin.requests().len(), 3 * SPELLINGS.len());
}

#[test]
fn a_name_that_leads_to_loopback_is_refused_unless_the_address_is_allowed() {
    let Some(project) = Project::where_it_works() else { return };
    let Some((name, address)) = name_of_loopback() else {
        eprintln!("NOT TRIED: no name in /etc/hosts but localhost leads to loopback");
        return;
    };
    let origin = Origin::start_at((address, 0)).expect("every loopback address is this machine's");
    let (named, itself) = (format!("{name}:{}", origin.port()), origin.address().to_string());
    for (how, refused) in [
        ("plain", "HTTP/1.1 403 Forbidden by palisade"),
        ("connect", "HTTP/1.1 403 Forbidden by palisade"),
        ("socks", "reply 2"),
    ] {
        let line = ask(&project, how, &[&named]);
        let run = allowing(&project, &[&name]).line(&line).ok();
        assert_eq!(run.stdout, format!("{named} refused: {refused}\n"));
        let reason = run.json["sandbox"]["violations"][0]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.contains(&format!("leads to a loopback address ({address})")), "{reason}");
        assert_eq!(origin.requests(), [""; 0]);
    }
    for how in ["plain", "connect", "socks"] {
        let run = allowing(&project, &[&name, &itself]).line(ask(&project, how, &[&named])).ok();
        assert_eq!(run.stdout, format!("{named} origin-ok /{how}\n"), "{run:?}");
    }
}

/// A name of the hosts file that leads to an IPv4 loopback address and says nothing of it.
fn name_of_loopback() -> Option<(String, Ipv4Addr)> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    hosts.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        let IpAddr::V4(address) = address else { return None };
        let name = words.find(|name| !name.contains("localhost") && name.parse::<IpAddr>().is_err())?;
        address.is_loopback().then(|| (name.to_owned(), address))
    })
}

#[test]
fn what_is_no_host_is_refused_and_reported_with_its_characters_escaped() {
    let Some(project) = Project::where_it_works() else { return };
    for target in ["a%00b:80", "a%2eb:80", "u@a.invalid:80", "a\\b:80", "a..b:80"] {
        let run = allowing(&project, &["*"]).line(ask(&project, "connect", &[target])).ok();
        assert_eq!(run.stdout, format!("{target} refused: HTTP/1.1 400 Bad Request\n"));
        assert_eq!(run.violations().len(), 1, "{target}: {run:?}");
    }
}
