//! Removals through links: what is compared with the places is what the kernel would find.

use super::found;
use std::time::{Duration, Instant};

/// What asks in a line that starts in the root. The links are `LINKS`.
fn check(lines: &[&str], expected: &str) {
    for line in lines {
        let found = found(line, "/w/proj", false);
        let is_same = match expected {
            "" => found.is_empty(),
            expected => found.first().is_some_and(|kind| kind == expected),
        };
        assert!(is_same, "{line}: {found:?}, not {expected:?}");
    }
}

#[test]
fn what_lies_behind_a_link_is_removed() {
    let home =
        ["rm -rf hl/", "rm -rf hl/.", "rm -r ./hl//", "cd hl && rm -rf .", "rm -rf sub/deep/..", "rmdir hl/"];
    check(&home, "Home");
    check(&["mv hl/ x", "rsync -a --delete e/ hl", "rsync -a --delete e/ hl/", "rm -rf in/../hl/"], "Home");
    let everything = ["rm -rf hl/*", "cd hl && rm -rf *", "cd hl; rm -rf *", "mv hl/* x", "rm -rf up/proj/*"];
    check(&everything, "Everything");
    check(
        &["rm -rf up/proj/?*", "(cd up && rm -rf proj/*)", "sh -c 'rm -rf hl/*'", "cd up/proj; rm -rf ./*"],
        "Everything",
    );
    check(
        &[
            "rm -rf up/proj",
            "rm -rf up/proj/",
            "rm -rf up/p*",
            "rm -rf in/..",
            "cd in && rm -rf ../",
            "rm -rf up/",
        ],
        "Root",
    );
    let git = [
        "rm -rf gl/hooks",
        "rm -rf gl/",
        "cd gl && rm -rf *",
        "cd gl && rm -f index",
        "rm gl/*",
        "mv gl/config x",
    ];
    check(&git, "Git");
    check(&["unlink gl/HEAD", "rm -rf in/../gl/x", "rm -rf up/proj/gl/x"], "Git");
    check(&["rm -rf out/x"], "outside /srv/data/x");
    check(&["rm -rf out/*"], "outside /srv/data/*");
}

/// A link without a slash behind it goes by itself.
#[test]
fn a_link_itself_is_no_more_than_a_file() {
    check(
        &[
            "rm -rf hl",
            "rm up gl",
            "unlink hl",
            "mv hl old",
            "rm -rf ./out",
            "cd sub && rm -f deep",
            "rm -rf h* u?",
        ],
        "",
    );
    check(
        &["rm -rf in/x", "rm -rf in/*.o", "rm -rf in/*/tmp", "cd in && rm -rf build", "rm -rf in/../dist"],
        "",
    );
}

/// The places too may be spelled through links.
#[test]
fn a_place_is_known_by_all_its_names() {
    use super::{Shell, Start, follow, path, programs, read, shown};
    use palisade_permissions::removal::Places;
    let (root, home) = (path("/w/proj/in"), path("/w/proj/hl"));
    let places = Places {
        root: &root,
        home: Some(&home),
        directories: &[path("/w/proj/out")],
        folds_case: false,
        follow: &follow,
        brought: &|_, _| super::Brought::default(),
    };
    for (line, expected) in [
        ("rm -rf /w/proj/src", "Root"),
        ("rm -rf /w/proj/in/", "Root"),
        ("rm -rf *", "Everything"),
        ("rm -rf /home/u", "Home"),
        ("rm -rf ~/", "Home"),
        ("rm -rf /srv/data/*", "Everything"),
        ("rm -rf x /srv/data/x", ""),
    ] {
        let start =
            Start { shell: Shell::Bash, directory: Some(&root), home: Some(&home), folds_case: false };
        let found = shown(&programs(line, &read(line, Shell::Bash), &start), &places);
        assert_eq!(found.first().map_or("", String::as_str), expected, "{line}: {found:?}");
    }
}

/// What nobody looks at asks, and soon.
#[test]
fn very_much_is_not_looked_at() {
    let lines = [
        format!("rm -rf {}", "a/".repeat(30_000)),
        format!("rm -rf {}", "*/".repeat(30_000)),
        format!("rm -rf {}x", "a/../".repeat(12_000)),
        format!("rm -rf {}x", "../".repeat(40)),
        format!("rmdir -p {}", "a/".repeat(30_000)),
        format!("rmdir -p {}", "a/".repeat(1_000)),
        format!("rm {}", "a ".repeat(30_000)),
        "rm a b c d e f g;".repeat(1_500),
    ];
    for line in lines {
        let start = Instant::now();
        let found = found(&line, "/w/proj", false);
        assert!(found.iter().any(|kind| kind == "Long"), "{line:.20} {:?}", found.first());
        assert!(start.elapsed() < Duration::from_secs(20), "{line:.20}");
    }
}
