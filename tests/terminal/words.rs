//! What `palisade` itself says on a terminal: what it stopped, once each, after the command.

use super::run;
use palisade_tests::Project;

const ASKS: &str = "for host in a.invalid b.invalid a.invalid; do curl -s --noproxy '' http://$host/ > /dev/null; done; echo last; exit 3";

#[test]
fn what_was_stopped_is_said_after_the_command_once_each_with_what_would_allow_it() {
    let Some(project) = Project::where_it_works() else { return };
    let (status, shown) = run(&project, &[], &["bash", "-c", ASKS]).end();
    assert_eq!(status, Some(3), "{shown}");
    let (command, palisade) = shown.split_once("last\r\n").expect("the command's own words come first");
    assert_eq!(command, "");
    assert_eq!(palisade.matches("palisade: the sandbox stopped this:").count(), 1, "{shown}");
    for host in ["a.invalid", "b.invalid"] {
        let said = format!("a connection to {host}:80: not on the allow list");
        assert_eq!(palisade.matches(&said).count(), 1, "{shown}");
        let remedy = format!(
            "add \"{host}\" to sandbox.network.allowedDomains, or give --allow-host {host}:80 for one run"
        );
        assert!(palisade.contains(&remedy), "{shown}");
    }
}

#[test]
fn nothing_is_said_when_nothing_was_stopped() {
    let Some(project) = Project::where_it_works() else { return };
    assert_eq!(run(&project, &[], &["echo", "done"]).end(), (Some(0), "done\r\n".to_owned()));
}

#[test]
fn nothing_is_said_where_standard_error_is_no_terminal() {
    let Some(project) = Project::where_it_works() else { return };
    let captured = project.run().argv(["bash", "-c", ASKS]);
    assert_eq!((captured.stderr.as_str(), captured.violations().len()), ("", 2), "{captured:?}");
    let mut palisade = project.run().options(["--", "bash", "-c", ASKS]).into_command();
    palisade.stderr(std::process::Stdio::null());
    let words: Vec<String> = std::iter::once(palisade.get_program())
        .chain(palisade.get_args())
        .map(|word| format!("'{}'", word.to_str().expect("UTF-8").replace('\'', "'\\''")))
        .collect();
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &format!("exec {} 2> said", words.join(" "))])
        .current_dir(project.root())
        .env("HOME", project.home());
    let (status, shown) = super::Pty::start(&shell).end();
    assert_eq!((status, shown.as_str()), (Some(3), "last\r\n"));
    assert_eq!(project.read("said"), "");
}

/// A host's name is the command's choice.
#[test]
fn nothing_that_a_command_asks_for_can_steer_the_terminal() {
    let Some(project) = Project::where_it_works() else { return };
    let script = "import os, socket\n\
                  host, port = os.environ['HTTP_PROXY'].split('//')[1].split(':')\n\
                  for target in (b'\\x1b[2Ja:80', b'a\\xe2\\x80\\xaeb:80', b'\\x9b2J:80', b'a.invalid:80'):\n\
                  \x20 c = socket.create_connection((host, int(port)))\n\
                  \x20 c.sendall(b'CONNECT ' + target + b' HTTP/1.1\\r\\n\\r\\n'); c.recv(4096)";
    let (_, shown) = run(&project, &[], &["python3", "-c", script]).end();
    assert!(shown.contains("a connection to a.invalid:80"), "{shown:?}");
    let lines = shown.replace("\r\n", "\n");
    assert!(lines.chars().all(|c| c == '\n' || c == ' ' || c.is_ascii_graphic()), "{shown:?}");
}
