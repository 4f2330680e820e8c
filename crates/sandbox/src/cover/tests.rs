//! The covers' own tests: counting, sweeping, and what is the user's.

use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// Sockets for names with a dot, files for the others.
fn wanted(paths: &[AbsPath]) -> Wanted {
    let is_hidden = |path: &AbsPath| path.file_name().is_some_and(|name| name.starts_with(b"."));
    let stand_in = |path: &AbsPath| if is_hidden(path) { StandIn::Socket } else { StandIn::File };
    Wanted {
        covers: paths.iter().map(|path| (path.clone(), stand_in(path))).collect(),
        unwanted: BTreeSet::new(),
    }
}

fn stands(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_ok()
}

/// A project and a place for registries, gone with the value.
struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Scene { directory: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir_all(scene.path("project/.claude").as_path()).expect("writable");
        scene
    }

    fn path(&self, relative: &str) -> AbsPath {
        let real = fs::canonicalize(self.directory.path()).expect("exists");
        AbsPath::try_from(real.as_path()).expect("absolute").join(relative).expect("no NUL")
    }

    /// A registry as another process has it: its locks are apart from those of every other.
    fn process(&self) -> Arc<Registry> {
        Arc::new(Registry::new(&self.path("")))
    }

    fn hold(&self, process: &Arc<Registry>, names: &[&str]) -> Result<Covers, CoverError> {
        let paths: Vec<AbsPath> =
            names.iter().map(|name| self.path("project").join(name).expect("no NUL")).collect();
        Covers::hold_in(process, &wanted(&paths))
    }

    fn exists(&self, name: &str) -> bool {
        stands(&self.path("project").join(name).expect("no NUL"))
    }

    /// What is left once every cover has gone.
    fn assert_nothing_left(&self) {
        let left = |path: AbsPath| fs::read_dir(path.as_path()).expect("readable").count();
        assert_eq!(
            (left(self.path("")), left(self.path("project")), left(self.path("project/.claude"))),
            (1, 1, 0)
        );
    }
}

#[test]
fn a_cover_is_an_empty_file_or_a_socket_that_goes_again() {
    let scene = Scene::new();
    let process = scene.process();
    let names = [".bashrc", ".claude/settings.json", ".claude/hooks", "new\nline\u{1f600}"];
    let covers = scene.hold(&process, &names).expect("can be covered");
    for name in names {
        let path = scene.path("project").join(name).expect("no NUL");
        let metadata = fs::symlink_metadata(path.as_path()).expect("stands");
        let is_socket = metadata.mode() & 0o170_777 == 0o140_000;
        assert_eq!(is_socket, path.file_name().expect("no root").starts_with(b"."), "{path}");
        assert!(is_socket || metadata.is_file() && metadata.len() == 0, "{path}");
        assert_eq!(metadata.mode() & 0o222, 0, "{path}");
        assert!(!process.is_uncovered(&path) && !scene.process().is_uncovered(&path), "{path}");
    }
    drop(covers);
    scene.assert_nothing_left();
}

/// Also where one is there already, which another process may remove or replace at any moment.
#[test]
fn sockets_of_one_directory_are_one_by_many_names() {
    let scene = Scene::new();
    let process = scene.process();
    let number = |name: &str| {
        let path = scene.path("project").join(name).expect("no NUL");
        fs::symlink_metadata(path.as_path()).expect("stands").ino()
    };
    let first = scene.hold(&process, &[".a"]).expect("can be covered");
    let second = scene.hold(&process, &[".a", ".b", ".c", "file"]).expect("can be covered");
    assert_eq!(number(".b"), number(".c"));
    assert!(number(".a") != number(".b") && number("file") != number(".b"));
    drop((first, second));
    scene.assert_nothing_left();
}

#[test]
fn nothing_to_cover_makes_no_registry() {
    let scene = Scene::new();
    let _covers = scene.hold(&scene.process(), &[]).expect("nothing to do");
    scene.process().sweep();
    assert!(!scene.process().is_uncovered(&scene.path("project/.bashrc")), "nothing is there");
    scene.assert_nothing_left();
}

#[test]
fn the_registry_stays_for_a_command_without_covers() {
    let scene = Scene::new();
    let covers = scene.hold(&scene.process(), &[".bashrc"]).expect("can be covered");
    let mut none = scene.hold(&scene.process(), &[]).expect("nothing to do");
    none.keep_registry().expect("can be held");
    drop(covers);
    assert!(stands(scene.process().path()));
    drop(none);
    scene.assert_nothing_left();
}

#[test]
fn the_last_user_of_all_processes_removes_a_cover() {
    let scene = Scene::new();
    let (one, other) = (scene.process(), scene.process());
    let first = scene.hold(&one, &[".bashrc"]).expect("can be covered");
    let second = scene.hold(&one, &[".bashrc", ".zshrc"]).expect("can be covered");
    let third = scene.hold(&other, &[".bashrc"]).expect("can be covered");
    drop(first);
    assert!(scene.exists(".bashrc"));
    drop(second);
    assert!(scene.exists(".bashrc"));
    drop(third);
    scene.assert_nothing_left();
}

#[test]
fn what_is_real_is_no_cover() {
    let scene = Scene::new();
    let process = scene.process();
    let place = |name: &str| scene.path("project").join(name).expect("no NUL");
    fs::write(place("file").as_path(), "x").expect("writable");
    fs::write(place("empty").as_path(), "").expect("writable");
    fs::write(place("locked").as_path(), "").expect("writable");
    fs::set_permissions(place("locked").as_path(), fs::Permissions::from_mode(0o444)).expect("ours");
    fs::create_dir(place("directory").as_path()).expect("writable");
    symlink("/nowhere", place("link").as_path()).expect("writable");
    for name in ["file", "empty", "locked", "directory", "link"] {
        let held = scene.hold(&process, &["missing", name]);
        assert!(matches!(held, Err(CoverError::Changed(path)) if path == place(name)), "{name}");
        assert!(process.is_uncovered(&place(name)) && process.is_wanted(&place(name)), "{name}");
        assert!(scene.exists(name) && !scene.exists("missing"), "{name}");
    }
}

#[test]
fn what_the_user_has_made_of_a_cover_stays() {
    let scene = Scene::new();
    let process = scene.process();
    let covers =
        scene.hold(&process, &["written", "opened", "replaced", "removed", "kept"]).expect("can be covered");
    let place = |name: &str| scene.path("project").join(name).expect("no NUL");
    fs::set_permissions(place("written").as_path(), fs::Permissions::from_mode(0o644)).expect("ours");
    fs::write(place("written").as_path(), "text").expect("writable");
    fs::set_permissions(place("opened").as_path(), fs::Permissions::from_mode(0o644)).expect("ours");
    fs::remove_file(place("replaced").as_path()).expect("writable");
    fs::create_dir(place("replaced").as_path()).expect("writable");
    fs::remove_file(place("removed").as_path()).expect("writable");
    drop(covers);
    assert!(["written", "opened", "replaced"].iter().all(|name| scene.exists(name)));
    assert!(!scene.exists("removed") && !scene.exists("kept"));
}

fn unwanted(scene: &Scene, name: &str) -> (AbsPath, Wanted) {
    let path = scene.path("project").join(name).expect("no NUL");
    (path.clone(), Wanted { unwanted: [path].into(), ..Wanted::default() })
}

#[test]
fn what_a_command_makes_where_it_is_unwanted_goes_with_the_command() {
    let scene = Scene::new();
    let process = scene.process();
    let (path, wanted) = unwanted(&scene, "commondir");
    for make in [
        |path: &Path| fs::write(path, "../evil"),
        |path: &Path| symlink("/", path),
        |path: &Path| fs::create_dir_all(path.join("a/b")),
        |_: &Path| Ok(()),
    ] {
        let covers = Covers::hold_in(&process, &wanted).expect("missing");
        make(path.as_path()).expect("writable");
        assert!(!process.is_wanted(&path));
        drop(covers);
        scene.assert_nothing_left();
    }
}

/// To a command that starts while another one runs, what that one made is not there either.
#[test]
fn what_is_unwanted_already_is_nobodys() {
    let scene = Scene::new();
    let (path, wanted) = unwanted(&scene, "commondir");
    let first = Covers::hold_in(&scene.process(), &wanted).expect("missing");
    fs::write(path.as_path(), "../evil").expect("writable");
    let second = Covers::hold_in(&scene.process(), &wanted).expect("as good as missing");
    drop(first);
    assert!(!stands(&path));
    fs::write(path.as_path(), "../evil").expect("writable");
    drop(second);
    scene.assert_nothing_left();
}

#[test]
fn what_stood_before_is_the_users() {
    let scene = Scene::new();
    let (path, wanted) = unwanted(&scene, "commondir");
    fs::write(path.as_path(), "../other").expect("writable");
    let held = Covers::hold_in(&scene.process(), &wanted);
    assert!(matches!(held, Err(CoverError::Changed(at)) if at == path));
    assert!(stands(&path));
}

/// The user may have made it since. So nothing that has stood where it is to go is replaced, and it does not matter who comes
/// next: another start anywhere, or one that wants the same in this very directory.
#[test]
fn what_is_unwanted_of_the_dead_is_set_aside() {
    let scene = Scene::new();
    let (path, wanted) = unwanted(&scene, "commondir");
    fs::create_dir(scene.path("project/commondir.set-aside-2").as_path()).expect("writable");
    let sweep = |_: &Scene| scene.process().sweep();
    let start = |_: &Scene| drop(Covers::hold_in(&scene.process(), &wanted).expect("as good as missing"));
    for (next, aside) in
        [(&sweep as &dyn Fn(&Scene), "commondir.set-aside"), (&start, "commondir.set-aside-3")]
    {
        leave_behind(&scene, &[b"\0-", path.as_bytes(), b"\0"].concat());
        fs::write(path.as_path(), aside).expect("writable");
        next(&scene);
        let aside_path = scene.path("project").join(aside).expect("no NUL");
        assert_eq!(fs::read_to_string(aside_path.as_path()).expect("is there"), aside);
        assert!(!stands(&path) && !stands(scene.process().path()));
    }
}

/// What stands at the path by then is not what the command could have made.
#[test]
fn nothing_is_removed_from_a_directory_that_was_made_anew() {
    let scene = Scene::new();
    let (path, _) = unwanted(&scene, "commondir");
    leave_behind(&scene, &[b"\0-", path.as_bytes(), b"\0"].concat());
    fs::rename(scene.path("project").as_path(), scene.path("moved").as_path()).expect("writable");
    fs::create_dir(scene.path("project").as_path()).expect("writable");
    fs::write(path.as_path(), "the user's").expect("writable");
    scene.process().sweep();
    assert_eq!(fs::read_to_string(path.as_path()).expect("is there"), "the user's");
    assert!(!stands(scene.process().path()));
}

/// What takes the owner's permissions from a directory keeps nothing in it.
#[test]
fn what_stands_in_a_locked_directory_goes_too() {
    let scene = Scene::new();
    let process = scene.process();
    let [path, cover] =
        ["commondir", ".bashrc"].map(|name| scene.path("project").join(name).expect("no NUL"));
    let wanted = Wanted { unwanted: [path.clone()].into(), ..wanted(&[cover]) };
    for mode in [0o555, 0o600, 0o200, 0] {
        let covers = Covers::hold_in(&process, &wanted).expect("missing");
        fs::write(path.as_path(), "../evil").expect("writable");
        fs::set_permissions(scene.path("project").as_path(), PermissionsExt::from_mode(mode)).expect("ours");
        drop(covers);
        scene.assert_nothing_left();
    }
    let directory = fs::metadata(scene.path("project").as_path()).expect("exists");
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(directory.permissions().mode() & 0o700, if is_root { 0 } else { 0o700 });
}

#[test]
fn a_cover_that_the_user_removed_is_made_again_for_the_next_command() {
    let scene = Scene::new();
    let process = scene.process();
    let _first = scene.hold(&process, &[".bashrc"]).expect("can be covered");
    fs::remove_file(scene.path("project/.bashrc").as_path()).expect("writable");
    let _second = scene.hold(&process, &[".bashrc"]).expect("can be covered");
    assert!(scene.exists(".bashrc"));
}

#[test]
fn no_link_is_followed() {
    let scene = Scene::new();
    fs::create_dir(scene.path("elsewhere").as_path()).expect("writable");
    symlink(scene.path("elsewhere").as_path(), scene.path("project/link").as_path()).expect("writable");
    let error = scene.hold(&scene.process(), &["link/file"]).expect_err("a link is on the way");
    assert!(matches!(&error, CoverError::Changed(at) if *at == scene.path("project/link")), "{error}");
    assert_eq!(fs::read_dir(scene.path("elsewhere").as_path()).expect("readable").count(), 0);
}

/// The directory is put out of the way after the cover was made; a link to one with a like file is put
/// there.
#[test]
fn removal_follows_no_link_either() {
    let scene = Scene::new();
    let covers = scene.hold(&scene.process(), &[".claude/hooks"]).expect("can be covered");
    fs::rename(scene.path("project/.claude").as_path(), scene.path("moved").as_path()).expect("writable");
    fs::create_dir(scene.path("like").as_path()).expect("writable");
    fs::hard_link(scene.path("moved/hooks").as_path(), scene.path("like/hooks").as_path()).expect("writable");
    symlink(scene.path("like").as_path(), scene.path("project/.claude").as_path()).expect("writable");
    drop(covers);
    assert!(stands(&scene.path("like/hooks")) && !stands(&scene.path("moved/hooks")));
}

#[test]
fn a_registry_of_somebody_else_is_refused() {
    let scene = Scene::new();
    let process = scene.process();
    let check = |what: &str| {
        let held = scene.hold(&process, &[".bashrc"]);
        assert!(matches!(held, Err(CoverError::Registry(_))), "{what}");
        assert!(!scene.exists(".bashrc"), "{what}");
    };
    let registry = process.path().as_path();
    symlink(scene.path("project").as_path(), registry).expect("writable");
    check("a link");
    fs::remove_file(registry).expect("writable");
    fs::write(registry, "").expect("writable");
    check("a file");
    fs::remove_file(registry).expect("writable");
    fs::create_dir(registry).expect("writable");
    fs::set_permissions(registry, fs::Permissions::from_mode(0o770)).expect("ours");
    check("a directory that others can enter");
    fs::set_permissions(registry, fs::Permissions::from_mode(0o700)).expect("ours");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(registry, Some(65534), None).expect("root may");
        check("another user's directory");
    }
}

#[test]
fn a_lock_that_is_never_let_go_is_an_error() {
    let scene = Scene::new();
    let covers = scene.hold(&scene.process(), &[".bashrc"]).expect("can be covered");
    let entries = fs::read_dir(scene.process().path().as_path()).expect("readable");
    let entry = entries.last().expect("one entry").expect("readable").path();
    drop(covers);
    fs::create_dir(scene.process().path().as_path()).expect("writable");
    fs::set_permissions(scene.process().path().as_path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let locked = fs::File::create(entry).expect("writable");
    locked.lock().expect("nobody else has it");
    assert!(matches!(scene.hold(&scene.process(), &[".bashrc"]), Err(CoverError::Busy(_))));
}

/// An entry as a killed process leaves it: with nobody to hold its lock.
fn leave_behind(scene: &Scene, content: &[u8]) {
    let covers = scene.hold(&scene.process(), &[".bashrc"]).expect("can be covered");
    let registry = scene.process().path().as_path().to_owned();
    let entry =
        fs::read_dir(&registry).expect("readable").last().expect("one entry").expect("readable").path();
    drop(covers);
    fs::create_dir(&registry).expect("writable");
    fs::set_permissions(&registry, fs::Permissions::from_mode(0o700)).expect("ours");
    fs::write(entry, content).expect("writable");
}

fn empty_read_only(path: &Path) {
    fs::write(path, "").expect("writable");
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).expect("ours");
}

#[test]
fn covers_of_the_dead_are_swept_and_those_of_the_living_are_not() {
    let scene = Scene::new();
    let [dead, real, living] =
        ["dead", "real", ".claude/living"].map(|name| scene.path("project").join(name).expect("no NUL"));
    let content = [b"\0", dead.as_bytes(), b"\0\0", real.as_bytes(), b"\0\0/cut/off"].concat();
    leave_behind(&scene, &content);
    empty_read_only(dead.as_path());
    fs::write(real.as_path(), "x").expect("writable");
    let covers = scene.hold(&scene.process(), &[".claude/living"]).expect("can be covered");
    scene.process().sweep();
    assert!(!stands(&dead) && stands(&real) && stands(&living));
    fs::remove_file(real.as_path()).expect("writable");
    drop(covers);
    scene.assert_nothing_left();
}

#[test]
fn covers_of_the_dead_are_taken_over() {
    let scene = Scene::new();
    let path = scene.path("project/.zshrc");
    leave_behind(&scene, &[b"\0", path.as_bytes(), b"\0"].concat());
    empty_read_only(path.as_path());
    assert!(!scene.process().is_uncovered(&path));
    drop(scene.hold(&scene.process(), &[".zshrc", ".bashrc"]).expect("can be covered"));
    scene.assert_nothing_left();
}

/// What a command that starts sees of others that end, and start, at that very moment.
#[test]
fn what_comes_and_goes_with_other_commands_is_never_the_users() {
    let scene = Scene::new();
    let cover = scene.path("project/.bashrc");
    let (made, unwanted) = unwanted(&scene, "commondir");
    let others = || {
        let process = scene.process();
        for _ in 0..200 {
            let cover = scene.hold(&process, &[".bashrc"]).expect("can be covered");
            let git = Covers::hold_in(&process, &unwanted).expect("as good as missing");
            fs::write(made.as_path(), "../evil").expect("writable");
            drop((cover, git));
        }
    };
    std::thread::scope(|scope| {
        let others = [scope.spawn(others), scope.spawn(others)];
        let process = scene.process();
        while others.iter().any(|other| !other.is_finished()) {
            assert!(!process.is_uncovered(&cover) && !process.is_wanted(&made));
        }
    });
    scene.assert_nothing_left();
}

/// Makes and drops covers many times, and sees that none vanishes or changes while it is held.
fn hold_many_times(registry: &Arc<Registry>, paths: &[AbsPath], times: usize) {
    let inodes = || -> Vec<u64> {
        paths
            .iter()
            .map(|path| fs::symlink_metadata(path.as_path()).expect("stands while held").ino())
            .collect()
    };
    for _ in 0..times {
        let covers = Covers::hold_in(registry, &wanted(paths)).expect("can be covered");
        let before = inodes();
        std::thread::yield_now();
        assert_eq!(inodes(), before);
        drop(covers);
    }
}

#[test]
fn fifty_at_once_in_one_process_and_in_many() {
    let scene = Scene::new();
    let paths =
        [".bashrc", ".zshrc", ".claude/hooks"].map(|name| scene.path("project").join(name).expect("no NUL"));
    let shared = scene.process();
    std::thread::scope(|scope| {
        for thread in 0..50 {
            let registry = if thread % 2 == 0 { Arc::clone(&shared) } else { scene.process() };
            let paths = &paths;
            scope.spawn(move || hold_many_times(&registry, paths, 20));
        }
    });
    scene.assert_nothing_left();
}

/// Few at a time, so that an entry is often removed while others open it.
#[test]
fn entries_come_and_go_between_few_processes() {
    let scene = Scene::new();
    let paths = [scene.path("project/.bashrc")];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| hold_many_times(&scene.process(), &paths, 1000));
        }
    });
    scene.assert_nothing_left();
}

mod processes {
    use super::*;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Child, Command, Stdio};

    const BASE: &str = "PALISADE_TEST_COVERS";

    fn base() -> AbsPath {
        let base = std::env::var_os(BASE).expect("set by the test that runs this");
        AbsPath::try_from(Path::new(&base)).expect("absolute")
    }

    /// Not a test of its own: what each process of the tests below runs.
    #[test]
    #[ignore = "run by the other tests here, as a process of their own"]
    fn other_process() {
        let base = base();
        let paths = [".bashrc", ".claude/hooks"]
            .map(|name| base.join("project").and_then(|p| p.join(name)).expect("no NUL"));
        let registry = Arc::new(Registry::new(&base));
        hold_many_times(&registry, &paths, 10);
        let covers = Covers::hold_in(&registry, &wanted(&paths)).expect("can be covered");
        println!("\nholding");
        std::io::stdin().read_to_end(&mut Vec::new()).expect("readable");
        assert!(paths.iter().all(stands), "stands until the end");
        drop(covers);
    }

    /// Nor this: a host whose descriptors its command has used up when it ends.
    #[test]
    #[ignore = "run by the other tests here, as a process of its own"]
    fn process_without_descriptors() {
        let base = base();
        let [cover, made] =
            ["project/.bashrc", "project/commondir"].map(|path| base.join(path).expect("no NUL"));
        let wanted = Wanted { unwanted: [made.clone()].into(), ..wanted(std::slice::from_ref(&cover)) };
        let covers = Covers::hold_in(&Arc::new(Registry::new(&base)), &wanted).expect("can be covered");
        println!("\nholding");
        std::io::stdin().read_to_end(&mut Vec::new()).expect("readable");
        let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
        setrlimit(Resource::Nofile, limit).expect("a lower limit is anybody's to set");
        let _all: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
        drop(covers);
        assert!(!stands(&cover) && !stands(&made));
    }

    fn start(scene: &Scene, name: &str) -> Child {
        let mut command = Command::new(std::env::current_exe().expect("known"));
        let name = format!("{}::{name}", module_path!().split_once("::").expect("in a crate").1);
        command.args([&name, "--exact", "--ignored", "--nocapture"]).env(BASE, scene.path("").as_path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("can be started")
    }

    fn wait_until_holding(child: &mut Child) {
        let lines = BufReader::new(child.stdout.as_mut().expect("piped")).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "holding"));
    }

    fn end(mut child: Child) {
        child.stdin.take().expect("piped").flush().expect("open");
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    #[test]
    fn fifty_processes_share_a_cover() {
        let scene = Scene::new();
        let mut children: Vec<Child> = (0..50).map(|_| start(&scene, "other_process")).collect();
        children.iter_mut().for_each(wait_until_holding);
        let last = children.pop().expect("fifty");
        children.into_iter().for_each(end);
        assert!(scene.exists(".bashrc") && scene.exists(".claude/hooks"));
        end(last);
        scene.assert_nothing_left();
    }

    #[test]
    fn a_killed_process_leaves_nothing_for_good() {
        let scene = Scene::new();
        let mut child = start(&scene, "other_process");
        wait_until_holding(&mut child);
        child.kill().expect("runs");
        child.wait().expect("ends");
        assert!(scene.exists(".bashrc"));
        scene.process().sweep();
        scene.assert_nothing_left();
    }

    /// It shares the covers, so that somebody else could still stand behind them, and what is unwanted is no mere file.
    #[test]
    fn who_has_no_descriptors_left_removes_all_the_same() {
        let scene = Scene::new();
        let own = scene.hold(&scene.process(), &[".bashrc"]).expect("can be covered");
        let mut child = start(&scene, "process_without_descriptors");
        wait_until_holding(&mut child);
        drop(own);
        assert!(scene.exists(".bashrc"));
        fs::create_dir_all(scene.path("project/commondir/a/b").as_path()).expect("writable");
        end(child);
        scene.assert_nothing_left();
    }
}
