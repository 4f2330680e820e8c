//! Lines of error output, and the violations that are read from them.

use super::*;
use palisade_policy::{Anchor, Evidence, NetworkPolicy, Origin, PathPattern};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn rules(key: &str, texts: &[&str]) -> Vec<FileRule> {
    let anchor = Anchor { base: AbsPath::new("/p").expect("absolute"), home: AbsPath::new("/h").ok() };
    let rule = |text: &&str| FileRule {
        pattern: PathPattern::parse(text, &anchor).expect(text),
        origin: match text.contains(".git") {
            true => Origin::builtin("protected", text),
            false => Origin { file: "/h/settings.json".into(), ..Origin::flag(key, text) },
        },
    };
    texts.iter().map(rule).collect()
}

/// `/p` is writable but for some names, `~/.ssh` is hidden.
fn confinement(working_directory: &str) -> Confinement {
    Confinement {
        files: FileSets {
            allow_write: rules("sandbox.filesystem.allowWrite", &["."]),
            deny_write: rules("sandbox.filesystem.denyWrite", &[".git/config", ".git/hooks", "./a b"]),
            deny_read: rules("sandbox.filesystem.denyRead", &["~/.ssh"]),
            allow_read: Vec::new(),
        },
        nodes: BTreeMap::new(),
        links: BTreeMap::from([(
            AbsPath::new("/p/.bashrc").expect("absolute"),
            Origin::builtin("protected", ".bashrc"),
        )]),
        stepped_out_of: BTreeMap::from([(
            AbsPath::new("/p/b").expect("absolute"),
            Origin::builtin("protected", ".zshrc"),
        )]),
        files_disabled: false,
        network: NetworkPolicy::default(),
        working_directory: AbsPath::new(working_directory).expect("absolute"),
    }
}

fn targets(stderr: &str, refuses: Refuses) -> Vec<String> {
    let confinement = confinement("/p");
    read(stderr.as_bytes(), &confinement, &Ignored::default(), refuses)
        .iter()
        .map(Violation::target)
        .collect()
}

fn check(stderr: &str, target: &str) {
    assert_eq!(targets(stderr, bubblewrap), [target], "{stderr}");
}

#[test]
fn lines_of_many_programs() {
    for (line, target) in [
        ("bash: /etc/x: Read-only file system", "/etc/x"),
        ("bash: line 1: /etc/x: Read-only file system", "/etc/x"),
        ("bash: line 1: .git/config: Read-only file system", "/p/.git/config"),
        ("bash: a b: Read-only file system", "/p/a b"),
        ("/bin/sh: 1: cannot create /etc/x: Read-only file system", "/etc/x"),
        ("sh: 1: cannot create .git/hooks/pre-commit: Read-only file system", "/p/.git/hooks/pre-commit"),
        ("sh: can't create /etc/my file: Read-only file system", "/etc/my file"),
        ("zsh:1: read-only file system: /etc/x", "/etc/x"),
        ("touch: cannot touch '/etc/x': Read-only file system", "/etc/x"),
        ("mkdir: cannot create directory ‘/etc/x’: Read-only file system", "/etc/x"),
        ("cat: /h/.ssh/id_rsa: Permission denied", "/h/.ssh/id_rsa"),
        ("ls: cannot open directory '../h/.ssh': Permission denied", "/h/.ssh"),
        ("mv: cannot move 'a' to '/etc/a': Read-only file system", "/etc/a"),
        ("rm: cannot remove '.git/hooks': Device or resource busy", "/p/.git/hooks"),
        ("mv: cannot move '.bashrc' to 'x': Device or resource busy", "/p/.bashrc"),
        ("mv: cannot remove 'b': Device or resource busy", "/p/b"),
        ("tee: /etc/x: Read-only file system", "/etc/x"),
        ("tar: /etc/x: Cannot open: Read-only file system", "/etc/x"),
        ("sed: couldn't open temporary file /etc/sedab12: Read-only file system", "/etc/sedab12"),
        ("error: could not lock config file .git/config: Read-only file system", "/p/.git/config"),
        ("error: chmod on .git/config.lock failed: Read-only file system", ""),
        ("fatal: Unable to create '/q/.git/index.lock': Read-only file system", "/q/.git/index.lock"),
        ("Load key \"/h/.ssh/id_rsa\": Permission denied", "/h/.ssh/id_rsa"),
        ("PermissionError: [Errno 13] Permission denied: '/h/.ssh/id_rsa'", "/h/.ssh/id_rsa"),
        ("OSError: [Errno 30] Read-only file system: '/etc/x'", "/etc/x"),
        ("OSError: [Errno 30] Read-only file system: 'a' -> '/etc/a'", "/etc/a"),
        ("Error: EACCES: permission denied, open '/h/.ssh/id_rsa'", "/h/.ssh/id_rsa"),
        ("Error: EROFS: read-only file system, open '/etc/x'", "/etc/x"),
        ("npm error Error: EROFS: read-only file system, mkdir '/usr/lib/x'", "/usr/lib/x"),
        ("error: failed to write `/etc/x`: Read-only file system (os error 30)", "/etc/x"),
        ("panic: open /etc/x: read-only file system", "/etc/x"),
        ("2026/01/02 03:04:05 mkdir /etc/x: read-only file system", "/etc/x"),
        ("open .git/config: read-only file system", "/p/.git/config"),
        ("java.io.FileNotFoundException: /h/.ssh/id (Permission denied)", "/h/.ssh/id"),
        ("-e:1:in 'initialize': Read-only file system @ rb_sysopen - /etc/x (Errno::EROFS)", "/etc/x"),
        ("Can't open /h/.ssh/id: Permission denied at -e line 1.", "/h/.ssh/id"),
    ] {
        if target.is_empty() {
            assert_eq!(targets(line, bubblewrap), [""; 0], "{line}");
        } else {
            check(line, target);
        }
    }
}

/// As the programs printed them when they were run in the sandbox.
#[test]
fn lines_as_programs_print_them() {
    for (line, target) in [
        ("bash: line 1: cd: /h/.ssh: Permission denied", "/h/.ssh"),
        ("bash: line 1: /etc/it's: Read-only file system", "/etc/it's"),
        ("s.sh: line 2: /h/.ssh/id: Permission denied", "/h/.ssh/id"),
        ("dash: 1: cannot open /h/.ssh/id: Permission denied", "/h/.ssh/id"),
        ("dash: 1: .: cannot open /h/.ssh/id: Permission denied", "/h/.ssh/id"),
        ("dash: 1: /h/.ssh/id: Permission denied", "/h/.ssh/id"),
        ("zsh:cd:1: permission denied: /h/.ssh", "/h/.ssh"),
        ("zsh:1: read-only file system: /etc/a b", "/etc/a b"),
        ("/h/.ssh/id:source:2: permission denied: /h/.ssh/id", "/h/.ssh/id"),
        ("sh: cd: line 0: can't cd to /h/.ssh: Permission denied", "/h/.ssh"),
        ("mkdir: can't create directory '/etc/n': Read-only file system", "/etc/n"),
        ("touch: /etc/x: Read-only file system", "/etc/x"),
        (r#"touch: cannot touch "/etc/it's": Read-only file system"#, "/etc/it's"),
        (r"touch: cannot touch '/etc/n'$'\n''l': Read-only file system", r"/etc/n\nl"),
        (r#"touch: cannot touch '/etc/"q'\''"': Read-only file system"#, r#"/etc/"q'""#),
        (r"touch: cannot touch '/etc/'$'\377': Read-only file system", r"/etc/\xff"),
        (r#"mv: cannot move "/etc/it's" to '/etc/b': Read-only file system"#, "/etc/b"),
        (
            "mv: inter-device move failed: 'a' to '/etc/a'; unable to remove target: Read-only file system",
            "/etc/a",
        ),
        ("cp: cannot create symbolic link '/etc/l' to '/etc/passwd': Read-only file system", "/etc/l"),
        ("cp: cannot stat '/h/.ssh/id': Permission denied", "/h/.ssh/id"),
        ("truncate: cannot open '/etc/t' for writing: Read-only file system", "/etc/t"),
        ("split: /etc/xaa: Read-only file system", "/etc/xaa"),
        ("shred: /h/.ssh/id: failed to open for writing: Permission denied", "/h/.ssh/id"),
        ("sort: open failed: /etc/s: Read-only file system", "/etc/s"),
        ("env: ‘/h/.ssh/id’: Permission denied", "/h/.ssh/id"),
        ("find: cannot delete ‘/etc/it's’: Read-only file system", "/etc/it's"),
        ("awk: cannot open /h/.ssh/id (Permission denied)", "/h/.ssh/id"),
        (r#"awk: cannot open "/etc/x" for output (Read-only file system)"#, "/etc/x"),
        ("tar: /h/.ssh/id: Cannot stat: Permission denied", "/h/.ssh/id"),
        (
            "  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0\
             Warning: Failed to open the file /etc/x: Read-only file system",
            "/etc/x",
        ),
        ("/etc/x: Read-only file system", "/etc/x"),
        ("make: /h/.ssh/id: Permission denied", "/h/.ssh/id"),
        ("Warning: Identity file /h/.ssh/id not accessible: Permission denied.", "/h/.ssh/id"),
        (r#"Saving key "/etc/k" failed: Read-only file system"#, "/etc/k"),
        ("Cannot open /etc/x: Read-only file system at -e line 1.", "/etc/x"),
        (r#"Can't open perl script "/h/.ssh/id": Permission denied"#, "/h/.ssh/id"),
        ("/usr/bin/ld: cannot open output file /etc/x: Read-only file system", "/etc/x"),
        ("Fatal error: can't create /etc/x.o: Read-only file system", "/etc/x.o"),
        ("cc1: fatal error: /h/.ssh/x.c: Permission denied", "/h/.ssh/x.c"),
        (
            "40876B69287F0000:error:8000000D:system library:file_open:Permission denied:\
             ../providers/file_store.c:266:calling stat(/h/.ssh/id)",
            "/h/.ssh/id",
        ),
        (
            "gpg: failed to create temporary file '/etc/.#lk0x5.vm.1': Read-only file system",
            "/etc/.#lk0x5.vm.1",
        ),
        ("strace: Can't fopen '/etc/x': Read-only file system", "/etc/x"),
        ("jq: error: Could not open file /h/.ssh/id: Permission denied", "/h/.ssh/id"),
        ("fatal: cannot mkdir /etc/g: Read-only file system", "/etc/g"),
        ("fatal: could not open '/etc/x' for writing: Read-only file system", "/etc/x"),
        ("fatal: cannot change to '/h/.ssh': Permission denied", "/h/.ssh"),
        ("error: unable to unlink old '.git/config': Read-only file system", "/p/.git/config"),
        ("error: could not write config file .git/config: Device or resource busy", "/p/.git/config"),
        (
            "fatal: cannot copy '/usr/share/git-core/templates/x' to '/p/.git/hooks/x': Read-only file system",
            "/p/.git/hooks/x",
        ),
        (r#"OSError: [Errno 30] Read-only file system: "/etc/it's" -> '/etc/b'"#, "/etc/b"),
        ("OSError: [Errno 30] Read-only file system: '/etc/passwd' -> '/etc/l'", "/etc/l"),
        (r#"OSError: [Errno 30] Read-only file system: b'/etc/\xff\n"\'x'"#, r#"/etc/\xff\n"'x"#),
        (r"OSError: [Errno 30] Read-only file system: '/etc/\u20ac'", "/etc/€"),
        ("python3: can't open file '/h/.ssh/id': [Errno 13] Permission denied", "/h/.ssh/id"),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '/usr/x'",
            "/usr/x",
        ),
        ("Error: EROFS: read-only file system, copyfile '/etc/passwd' -> '/etc/x'", "/etc/x"),
        ("Error: EROFS: read-only file system, unlink '/etc/it's'", "/etc/it's"),
        (r#"error An unexpected error occurred: "EROFS: read-only file system, mkdir '/etc/y'"."#, "/etc/y"),
        ("java.nio.file.FileSystemException: /etc/x: Read-only file system", "/etc/x"),
        ("java.nio.file.FileSystemException: /etc/it's -> /etc/b: Read-only file system", "/etc/b"),
        ("java.nio.file.AccessDeniedException: /h/.ssh/id", "/h/.ssh/id"),
        ("Exception in thread \"main\" java.nio.file.AccessDeniedException: /h/.ssh/id", "/h/.ssh/id"),
        ("java.io.FileNotFoundException: /etc/x (Read-only file system)", "/etc/x"),
        ("failed to initialize build cache at /h/c: mkdir /h/c: read-only file system", "/h/c"),
        ("2026/11/29 23:32:11 failed: open /h/.ssh/id: permission denied", "/h/.ssh/id"),
        ("rename /etc/it's /etc/b: read-only file system", "/etc/b"),
        ("symlink /usr /etc/b: read-only file system", "/etc/b"),
        (r#""open /etc/a80986342: read-only file system""#, "/etc/a80986342"),
        ("fork/exec /h/.ssh/id: permission denied", "/h/.ssh/id"),
        ("/h/.ssh/id: Permission denied (os error 13)", "/h/.ssh/id"),
        (
            r#"error: couldn't create a temp dir: Read-only file system (os error 30) at path "/etc/r""#,
            "/etc/r",
        ),
        ("error: couldn't read `/h/.ssh/x.rs`: Permission denied (os error 13)", "/h/.ssh/x.rs"),
        (
            "warning: failed to write cache, path: /h/c/x, error: Read-only file system (os error 30)",
            "/h/c/x",
        ),
        // Not run here.
        (
            "error: failed to create directory `/h/.cache/uv`: Read-only file system (os error 30)",
            "/h/.cache/uv",
        ),
        (
            "PHP Warning:  fopen(/etc/x): Failed to open stream: Read-only file system in a.php on line 1",
            "/etc/x",
        ),
        ("Unhandled exception. System.IO.IOException: Read-only file system : '/etc/x'", "/etc/x"),
        ("System.UnauthorizedAccessException: Access to the path '/h/.ssh/id' is denied.", "/h/.ssh/id"),
        ("PosixPath: [Errno 13] Permission denied: PosixPath('/h/.ssh/id')", "/h/.ssh/id"),
        ("rm: cannot remove '.git/hooks': Resource busy", "/p/.git/hooks"),
    ] {
        check(line, target);
    }
}

/// As GNU's programs and bash print them in the languages of the machine.
#[test]
fn lines_in_other_languages() {
    for (line, target) in [
        ("bash: Zeile 1: /etc/x: Das Dateisystem ist nur lesbar", "/etc/x"),
        ("touch: '/etc/a b' kann nicht berührt werden: Das Dateisystem ist nur lesbar", "/etc/a b"),
        (
            "mkdir: das Verzeichnis „/etc/n“ kann nicht angelegt werden: Das Dateisystem ist nur lesbar",
            "/etc/n",
        ),
        ("ls: Öffnen von Verzeichnis '/h/.ssh' nicht möglich: Keine Berechtigung", "/h/.ssh"),
        ("tar: /etc/t: Funktion open fehlgeschlagen: Das Dateisystem ist nur lesbar", "/etc/t"),
        ("zsh:1: das Dateisystem ist nur lesbar: /etc/x", "/etc/x"),
        (
            "rm: Entfernen von '.git/hooks' nicht möglich: Das Gerät oder die Ressource ist belegt",
            "/p/.git/hooks",
        ),
        (
            "mkdir: impossible de créer le répertoire «\u{a0}/etc/n\u{a0}»: \
             Système de fichiers accessible en lecture seulement",
            "/etc/n",
        ),
        ("make: /h/.ssh/id : Permission non accordée", "/h/.ssh/id"),
        ("java.io.FileNotFoundException: /h/.ssh/id (Permission non accordée)", "/h/.ssh/id"),
        (
            "touch: no se puede efectuar `touch' sobre '/etc/a b': Sistema de ficheros de sólo lectura",
            "/etc/a b",
        ),
        ("cat: /h/.ssh/id: Permiso denegado", "/h/.ssh/id"),
        ("tar: /etc/t: funzione \"open\" non riuscita: File system in sola lettura", "/etc/t"),
        ("cat: /h/.ssh/id: Permissão recusada", "/h/.ssh/id"),
        (
            "mkdir: não foi possível criar o diretório “/etc/n”: Sistema de arquivos somente para leitura",
            "/etc/n",
        ),
        ("mkdir: невозможно создать каталог «/etc/n»: Файловая система доступна только для чтения", "/etc/n"),
        ("mkdir: ディレクトリ `/etc/n' を作成できません: 読み込み専用ファイルシステムです", "/etc/n"),
        ("cat: /h/.ssh/id: 許可がありません", "/h/.ssh/id"),
        ("tar: /etc/t：无法 open: 只读文件系统", "/etc/t"),
        ("mkdir: 無法建立 「/etc/n」 目錄: 唯讀的檔案系統", "/etc/n"),
        ("ls: 無法開啟目錄 '/h/.ssh': 拒絕不符權限的操作", "/h/.ssh"),
        ("touch: '/etc/a b'에 touch 명령 실행 불가: 읽기전용 파일 시스템", "/etc/a b"),
        ("mkdir: nie można utworzyć katalogu „/etc/n”: System plików wyłącznie do odczytu", "/etc/n"),
        ("mkdir: kan map ‘/etc/n’ niet aanmaken: Bestandssysteem is alleen-lezen", "/etc/n"),
        ("mkdir: kan inte skapa katalog ”/etc/n”: Skrivskyddat filsystem", "/etc/n"),
        ("mkdir: `/etc/n' dizini oluşturulamıyor: Salt-okunur dosya sistemi", "/etc/n"),
        ("mkdir: Не вдалося створити каталог «/etc/n»: Файлова система тільки для зчитування", "/etc/n"),
        ("ls: adresář '/h/.ssh' nelze otevřít: Operace zamítnuta", "/h/.ssh"),
    ] {
        check(line, target);
    }
}

#[test]
fn a_path_on_the_line_before_its_error() {
    check(
        "error: failed to create directory `/h/.cargo/registry`\n\nCaused by:\n  \
         Read-only file system (os error 30)",
        "/h/.cargo/registry",
    );
    check(
        "error: failed to open: /h/.ssh/id\nCaused by:\n  0: Permission denied (os error 13)",
        "/h/.ssh/id",
    );
    assert_eq!(targets("Permission denied (os error 13)", bubblewrap), [""; 0]);
}

#[test]
fn what_the_rules_do_not_cause_is_not_reported() {
    for line in [
        "all is well",
        "cat: /root/secret: Permission denied",
        "cat: /etc/shadow: Permission denied",
        "cat: /etc/shadow: Keine Berechtigung",
        "java.nio.file.AccessDeniedException: /etc/shadow",
        "git@example.com: Permission denied (publickey).",
        "/bin/touch: cannot touch 'x': Read-only file system",
        "/usr/bin/touch: x: Read-only file system",
        "Error: listen EPERM: operation not permitted /p/socket",
        "mkdir: Read-only file system at /etc/x.pl line 1.",
        "touch: cannot touch 'x': Read-only file system",
        "bash: line 1: ./x.sh: Permission denied",
        "kill: (1): Operation not permitted",
        "chown: changing ownership of '/etc/x': Operation not permitted",
        "umount: /mnt: device or resource busy",
        "Error: Read-only file system (os error 30)",
        "Read-only file system",
        ": Read-only file system",
        "\0: Read-only file system",
    ] {
        assert_eq!(targets(line, bubblewrap), [""; 0], "{line}");
    }
    let disabled = Confinement { files_disabled: true, ..confinement("/p") };
    assert_eq!(read(b"sh: /etc/x: Read-only file system", &disabled, &Ignored::default(), bubblewrap), []);
}

#[test]
fn outside_the_root_plain_words_are_not_taken_for_names() {
    for (line, found) in [
        ("bash: x: Read-only file system", &["/q/x"][..]),
        ("Error: Read-only file system (os error 30)", &[]),
        ("tar: x: Cannot open: Read-only file system", &["/q/x"]),
        ("OSError: [Errno 30] Read-only file system", &[]),
        ("ERROR: OSError: Read-only file system", &[]),
        ("java.io.IOException: Read-only file system", &[]),
        ("Error: EROFS: read-only file system", &[]),
        ("mktemp: (null): Read-only file system", &[]),
        ("error: Os { code: 30, message: \"Read-only file system\" }", &[]),
        ("called `Result::unwrap()` on an `Err` value: Os { message: \"Read-only file system\" }", &[]),
        ("mount: Read-only file system: see the manual", &[]),
    ] {
        let violations = read(line.as_bytes(), &confinement("/q"), &Ignored::default(), bubblewrap);
        let targets: Vec<String> = violations.iter().map(Violation::target).collect();
        assert_eq!(targets, found, "{line}");
    }
}

#[test]
fn seatbelt_answers_all_with_one_error() {
    let line = "/bin/sh: .git/config: Operation not permitted";
    assert_eq!(targets(line, seatbelt), ["/p/.git/config"]);
    assert_eq!(targets("cat: /h/.ssh/id: Operation not permitted", seatbelt), ["/h/.ssh/id"]);
    assert_eq!(targets("touch: /etc/x: Operation not permitted", seatbelt), ["/etc/x"]);
    assert_eq!(targets("touch: x: Operation not permitted", seatbelt), [""; 0]);
}

#[test]
fn a_remedy_names_the_setting() {
    let stderr = b"touch: cannot touch '/etc/x': Read-only file system\n\
        bash: a b: Read-only file system\n\
        cat: /h/.ssh/id: Permission denied\r\n\
        bash: .git/config: Read-only file system\n\
        bash: .git/config: Read-only file system\n";
    let violations = read(stderr, &confinement("/p"), &Ignored::default(), bubblewrap);
    insta::assert_snapshot!(super::super::plain(&violations), @r#"
    palisade: the sandbox stopped this:
      an access to /etc/x; the command says: touch: cannot touch '/etc/x': Read-only file system
          add "/etc/x", or a directory above it, to sandbox.filesystem.allowWrite
      an access to /p/a b; the command says: bash: a b: Read-only file system
          remove the rule that denies it, sandbox.filesystem.denyWrite "./a b" in /h/settings.json
      an access to /h/.ssh/id; the command says: cat: /h/.ssh/id: Permission denied
          remove the rule that denies it, sandbox.filesystem.denyRead "~/.ssh" in /h/settings.json, or add a narrower path to sandbox.filesystem.allowRead
      an access to /p/.git/config; the command says: bash: .git/config: Read-only file system
          nothing allows it, it is always protected: built-in protected ".git/config"
    "#);
}

#[test]
fn bytes_that_are_not_utf8() {
    let violations =
        read(b"cat: /h/.ssh/\xff: Permission denied", &confinement("/p"), &Ignored::default(), bubblewrap);
    assert_eq!(violations[0].target(), r"/h/.ssh/\xff");
}

#[test]
fn what_is_looked_at_is_bounded() {
    let many: String = (0..500).map(|n| format!("sh: /etc/{n}: Read-only file system\n")).collect();
    assert_eq!(targets(&many, bubblewrap).len(), MOST_VIOLATIONS);
    let long = format!("sh: /etc/{}: Read-only file system", "x".repeat(LONGEST_LINE));
    assert_eq!(targets(&long, bubblewrap), [""; 0]);
    let harmless = "sh: x: Read-only file system\n".repeat(MOST_JUDGED) + "sh: /etc/x: Read-only file system";
    assert_eq!(targets(&harmless, bubblewrap), [""; 0]);
}

/// Pieces that lines of errors are made of, whole and broken.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "Read-only file system",
        "Permission denied",
        "Keine Berechtigung",
        "只读文件系统",
        "EROFS: ",
        ": ",
        "：",
        " -> ",
        " to ",
        "'",
        "\"",
        "`",
        "‘",
        "’",
        "„",
        "«\u{a0}",
        "$'",
        "\\'",
        "\\",
        "\\x",
        "\\u20",
        "b'",
        "[Errno 13] ",
        "/etc/x",
        "/h/.ssh/id",
        "/p/ok",
        ".git/config",
        "../",
        "cannot open ",
        " (",
        ")",
        "(/",
        " @ ",
        " - ",
        "\n",
        "\r",
        "Caused by:\n",
        "java.nio.file.AccessDeniedException",
        "Access to the path",
        "called `Result::",
    ]);
    prop_oneof![8 => known.prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 0..4)]
}

proptest! {
    /// Whatever a command writes: what is reported is denied by the rules, each path is reported once, and as advice.
    #[test]
    fn only_what_the_rules_deny_is_reported(pieces in prop::collection::vec(piece(), 0..40)) {
        let confinement = confinement("/p");
        let violations = read(&pieces.concat(), &confinement, &Ignored::default(), bubblewrap);
        let mut targets = HashSet::new();
        for violation in violations {
            prop_assert_eq!(violation.evidence, Evidence::Stderr);
            let target = violation.target();
            let is_allowed = target.starts_with("/p/") && !target.starts_with("/p/.git/config");
            prop_assert!(!is_allowed, "{:?}", target);
            prop_assert!(targets.insert(target));
        }
    }
}
