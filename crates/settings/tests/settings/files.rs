//! What may stand where a settings file is expected, besides one.

use crate::fixture::Fixture;
use insta::assert_snapshot;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use palisade_settings::{Extra, MAX_BYTES};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

const FILE: &str = "/project/.claude/settings.json";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path("/project/.claude")).expect("a new directory");
    fixture
}

#[test]
fn a_directory() {
    let fixture = fixture();
    std::fs::create_dir(fixture.path(FILE)).expect("a new directory");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is a directory, where a regular file is expected");
}

/// A plain `open` would wait for a writer for ever.
#[test]
fn a_named_pipe_and_a_link_to_one() {
    let mut fixture = fixture();
    mkfifo(&fixture.path(FILE), Mode::S_IRWXU).expect("a pipe");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is a pipe, where a regular file is expected");
    symlink(fixture.path(FILE), fixture.path("/link.json")).expect("a link");
    fixture.extras.push(Extra::File(fixture.abs("/link.json")));
    assert_snapshot!(fixture.print(), @"error: /link.json: is a pipe, where a regular file is expected");
}

#[test]
fn a_socket() {
    let fixture = fixture();
    let _listener = UnixListener::bind(fixture.path(FILE)).expect("a socket");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is a socket, where a regular file is expected");
}

/// What stands in for a missing file while a sandboxed command runs.
#[test]
fn a_socket_that_gives_nobody_a_permission_is_no_file() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = fixture();
    let _listener = UnixListener::bind(fixture.path(FILE)).expect("a socket");
    let nobody = std::fs::Permissions::from_mode(0o0);
    std::fs::set_permissions(fixture.path(FILE), nobody).expect("own socket");
    assert!(!fixture.print().contains("error"), "{}", fixture.print());
    // Whoever can write where a link leads must not switch off the rules that are linked.
    let local = "/project/.claude/settings.local.json";
    symlink("settings.json", fixture.path(local)).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.local.json: is a socket, where a regular file is expected");
}

#[test]
fn a_link_to_a_device() {
    let fixture = fixture();
    symlink("/dev/zero", fixture.path(FILE)).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is a device, where a regular file is expected");
}

#[test]
fn links_in_a_circle() {
    let fixture = fixture();
    symlink("settings.local.json", fixture.path(FILE)).expect("a link");
    symlink("settings.json", fixture.path("/project/.claude/settings.local.json")).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.local.json: is behind symbolic links that lead in a circle");
}

#[test]
fn links_that_lead_nowhere() {
    let fixture = fixture();
    symlink("none.json", fixture.path(FILE)).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is behind a symbolic link that leads nowhere; restore what it leads to, or remove the link");

    let fixture = Fixture::new();
    symlink("/nowhere/at/all", fixture.path("/project/.cogitator")).expect("a link");
    assert_snapshot!(fixture.print(), @"error: /project/.cogitator/settings.local.json: is behind a symbolic link that leads nowhere; restore what it leads to, or remove the link");
}

#[test]
fn links_to_settings_are_followed_and_keep_the_place_of_the_link() {
    let fixture = fixture();
    fixture.write("/dotfiles/s.json", r#"{"sandbox": {"filesystem": {"denyRead": ["x"]}}}"#);
    symlink(fixture.path("/dotfiles/s.json"), fixture.path(FILE)).expect("a link");
    symlink(fixture.path("/project/.claude"), fixture.path("/project/.palisade")).expect("a link");
    assert_snapshot!(fixture.print(), @r#"deny read /project/x  <- project: sandbox.filesystem.denyRead "x" in /project/.palisade/settings.json:1"#);
}

/// Several files would be in one directory; it is told once.
#[test]
fn what_is_in_the_place_of_a_directory_is_told() {
    let mut fixture = Fixture::new();
    fixture.write("/project/.claude", "a file");
    mkfifo(&fixture.path("/project/.cogitator"), Mode::S_IRWXU).expect("a pipe");
    symlink("/dev/null", fixture.path("/home/.palisade")).expect("a link");
    symlink(fixture.path("/cwd"), fixture.path("/project/.palisade")).expect("a link");
    fixture.places.config_dir = palisade_policy::AbsPath::new("/dev/zero/claude").ok();
    assert_snapshot!(fixture.print(), @"
    warning: /project/.cogitator: is a pipe, where a directory with settings is expected, so no settings are read from there
    warning: /project/.claude: is a file, where a directory with settings is expected, so no settings are read from there
    warning: /home/.palisade: is a device, where a directory with settings is expected, so no settings are read from there
    warning: /dev/zero: is a device, where a directory with settings is expected, so no settings are read from there
    ");
}

/// What stands in for a missing directory while a sandboxed command runs.
#[test]
fn what_stands_in_for_a_directory_is_not_told() {
    let fixture = Fixture::new();
    let _listener = UnixListener::bind(fixture.path("/project/.claude")).expect("a socket");
    std::fs::write(fixture.path("/home/.claude"), "").expect("a new file");
    for (path, mode) in [("/project/.claude", 0), ("/home/.claude", 0o444)] {
        std::fs::set_permissions(fixture.path(path), PermissionsExt::from_mode(mode)).expect("a new mode");
    }
    assert_snapshot!(fixture.print(), @"");
}

#[test]
fn sizes() {
    let fixture = fixture();
    let padded = |size: u64| format!("{{}}{}", " ".repeat(size as usize - 2));
    fixture.write(FILE, padded(MAX_BYTES));
    assert!(fixture.load().is_ok());
    fixture.write(FILE, padded(MAX_BYTES + 1));
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is larger than 2097152 bytes; take out what is not needed, or split it among the files of several layers");
    std::fs::File::create(fixture.path(FILE)).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json: is larger than 2097152 bytes; take out what is not needed, or split it among the files of several layers");

    let mut fixture = Fixture::new();
    fixture.extras.push(Extra::Json(padded(MAX_BYTES + 1)));
    assert_snapshot!(fixture.print(), @"error: --settings: is larger than 2097152 bytes; take out what is not needed, or split it among the files of several layers");
}

/// A file whose size is told as zero is read to its end all the same.
#[test]
#[cfg(target_os = "linux")]
fn a_file_of_the_kernel() {
    let fixture = fixture();
    symlink("/proc/self/status", fixture.path(FILE)).expect("a link");
    assert!(matches!(fixture.load(), Err(palisade_settings::Error::Syntax { .. })), "{}", fixture.print());
}

#[test]
fn bytes_that_are_not_utf8() {
    let fixture = fixture();
    fixture.write(FILE, b"{\n  \"\xc3\xbc\": \"\xff\"}");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json:2:9: expected UTF-8 text; save the file in that encoding");
}

#[test]
fn a_byte_order_mark_is_blank() {
    let fixture = fixture();
    fixture.write(FILE, "\u{feff}{\"sandbox\": {\"enabled\": true}}");
    assert_snapshot!(fixture.print(), @r#"enabled = true  <- project: sandbox.enabled "true" in /project/.claude/settings.json:1"#);
    // Nobody counts it as a column.
    fixture.write(FILE, "\u{feff}{\"sandbox\": 1}");
    assert_snapshot!(fixture.print(), @"error: /project/.claude/settings.json:1:13: sandbox: expected an object in braces, found the number 1");
}

#[test]
fn a_file_that_cannot_be_opened() {
    let mut fixture = fixture();
    let name = "n".repeat(300);
    fixture.extras.push(Extra::File(fixture.abs(&format!("/cwd/{name}"))));
    assert_snapshot!(fixture.print().replace(&name, "NAME"), @"error: /cwd/NAME: cannot be read: File name too long (os error 36)");

    fixture.extras.clear();
    fixture.write(FILE, "{}");
    std::fs::set_permissions(fixture.path(FILE), PermissionsExt::from_mode(0o000)).expect("a new mode");
    let root_reads_anything = std::fs::read(fixture.path(FILE)).is_ok();
    assert_eq!(fixture.load().is_ok(), root_reads_anything, "{}", fixture.print());
}
