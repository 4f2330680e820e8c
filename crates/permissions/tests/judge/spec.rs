//! `docs/spec/permission-rules.md`.

use crate::fixture::{Session, path, said, tool};
use crate::page::{Page, Row};
use palisade_permissions::{Call, Input, Mode};
use palisade_policy::{Endpoint, Host};

const HEADER: &[&str] = &["call", "deny", "ask", "allow", "in", "verdict", "because"];

#[test]
fn every_row_holds() {
    let page = Page::read(include_str!("../../../../docs/spec/permission-rules.md"), &[HEADER]);
    let mut wrong = Vec::new();
    for row in page.rows(HEADER) {
        let call = call(row);
        for session in sessions(row) {
            let verdict = session.judge(&call, |verdict| (said(verdict), verdict.reason.to_string()));
            if verdict.0 != row.text(5) {
                wrong.push(format!(
                    "{} {:?} in {:?}: {verdict:?}, not {}",
                    row.text(0),
                    row.text(4),
                    session.mode,
                    row.text(5)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn call(row: &Row) -> Call {
    let text = row.code(0);
    let with = |tool: &str, input| Call { tool: tool.into(), input, fields: Vec::new() };
    match row.text(0).split(' ').next() {
        Some("Read") => with("Read", Input::Read(path(&text))),
        Some("Edit") => with("Edit", Input::Edit(path(&text))),
        Some("Remove") => with("Edit", Input::Remove(path(&text))),
        Some("Fetch") => {
            let host = Host::parse(&text).expect("a host");
            with("WebFetch", Input::Fetch(Endpoint { host, port: 443 }))
        }
        Some("Tool") => {
            let mut words = text.split(' ');
            let name = words.next().expect("a name");
            let fields: Vec<(&str, &str)> =
                words.map(|word| word.split_once('=').expect("a field")).collect();
            tool(name, &fields)
        }
        _ => {
            let circumstances = row.text(4);
            let hosts = if circumstances.contains("hosts") { vec!["x.dev".into()] } else { Vec::new() };
            let unsandboxed = circumstances.contains("unsandboxed");
            with("Bash", Input::Command { line: text.into(), hosts, unsandboxed })
        }
    }
}

fn sessions(row: &Row) -> Vec<Session> {
    fn texts(codes: &[String]) -> Vec<&str> {
        codes.iter().map(String::as_str).collect()
    }
    let mut session =
        Session::new().deny(&texts(&row.codes(1))).ask(&texts(&row.codes(2))).allow(&texts(&row.codes(3)));
    let mut modes = vec![Mode::Default];
    for word in row.text(4).split(", ").filter(|word| !word.is_empty()) {
        match word {
            "any" => modes = Mode::ALL.to_vec(),
            "sandboxed" => session.sandboxed = true,
            "files not isolated" => session.files_disabled = true,
            "no auto-allow" => session.auto_allow = false,
            "guardrails" => session.guardrails = true,
            "hosts" | "unsandboxed" => {}
            "not allowed" => session.rules.allow_unsandboxed = false,
            "disabled" => session = session.disable(modes[0]),
            "excluded" => session = session.exclude(&["docker *"]),
            mode => modes = vec![Mode::parse(mode).unwrap_or_else(|| panic!("{mode} is no mode"))],
        }
    }
    modes.into_iter().map(|mode| session.clone().mode(mode)).collect()
}
