//! The real sandbox gives the answers of the specification: for random trees, links and lists, each path is tried
//! inside, and what happens is compared with [`FileSets::judge`].
//!
//! Plans of a few mounts and of many are carried out in different ways, so each case is one or the other. How many
//! cases: 300, or what `PROPTEST_CASES` says.

use crate::library::block_on;
use palisade::{Command, Options, Request, Sandbox};
use palisade_policy::{AbsPath, Access, Effect, FileRule, FileSets, Origin, PathPattern, Policy};
use palisade_tests::{Project, Tools};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// How many launches; each takes some hundredths of a second.
const CASES: u32 = 300;
/// More hidden files than bubblewrap is given to mount.
const MANY: usize = 60;

/// Where programs and their libraries are, on one machine or another.
const PROGRAMS: [&str; 6] = ["/usr", "/bin", "/lib", "/lib64", "/nix", "/gnu"];

/// A tree of directories and files, links to them, and the lists. Numbers choose among the nodes.
#[derive(Debug, Clone)]
struct Case {
    /// Relative paths; one that has another below it is a directory, as is every second of the others.
    nodes: BTreeSet<String>,
    links: Vec<usize>,
    allow_write: Vec<usize>,
    deny_write: Vec<(usize, bool)>,
    deny_read: Vec<(usize, bool)>,
    allow_read: Vec<usize>,
    has_many: bool,
    /// Whether `/` is hidden, all but what programs need.
    hides_all: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let path = ("(root|outside)", proptest::collection::vec("[abc]", 1..5))
        .prop_map(|(top, names)| format!("{top}/{}", names.join("/")));
    let chosen = || proptest::collection::vec(any::<usize>(), 0..4);
    let denied = || proptest::collection::vec(any::<(usize, bool)>(), 0..4);
    (
        proptest::collection::btree_set(path, 4..14),
        chosen(),
        chosen(),
        denied(),
        denied(),
        chosen(),
        any::<bool>(),
        proptest::bool::weighted(0.2),
    )
        .prop_map(
            |(nodes, links, allow_write, deny_write, deny_read, allow_read, has_many, hides_all)| Case {
                nodes,
                links,
                allow_write,
                deny_write,
                deny_read,
                allow_read,
                has_many,
                hides_all,
            },
        )
}

/// A case on disk: its real paths, and each path to ask with the real one that it leads to.
struct Tree {
    project: Project,
    base: PathBuf,
    real: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    many: Vec<PathBuf>,
}

impl Tree {
    fn make(case: &Case) -> Self {
        let project = Project::new();
        let base = project.root().parent().expect("below the project").to_owned();
        let mut kinds: BTreeMap<PathBuf, bool> = BTreeMap::new();
        for (index, node) in case.nodes.iter().enumerate() {
            let path = base.join(node);
            kinds.entry(path.clone()).or_insert(index % 2 == 0);
            let above = path.ancestors().skip(1).take_while(|above| *above != base);
            kinds.extend(above.map(|above| (above.to_owned(), true)));
        }
        kinds.insert(project.outside(), true);
        for (path, is_directory) in &kinds {
            match is_directory {
                true => std::fs::create_dir_all(path).expect("own directory"),
                false => std::fs::write(path, "content").expect("own directory"),
            }
        }
        let real: Vec<PathBuf> = kinds.into_keys().filter(|path| *path != project.root()).collect();
        let linked = |(index, node): (usize, &usize)| {
            let (link, to) = (project.root().join(format!("link{index}")), real[node % real.len()].clone());
            symlink(&to, &link).expect("own directory");
            (link, to)
        };
        let links = case.links.iter().enumerate().map(linked).collect();
        let many = (0..if case.has_many { MANY } else { 0 })
            .map(|index| project.write(format!("many/{index}"), "hidden"))
            .collect();
        Tree { project, base, real, links, many }
    }

    fn node(&self, number: usize) -> &Path {
        &self.real[number % self.real.len()]
    }

    /// The path of a deny: the node, or a link that leads to one.
    fn denied(&self, (number, by_link): (usize, bool)) -> (&Path, &Path) {
        match self.links.get(number % self.links.len().max(1)).filter(|_| by_link) {
            Some((link, real)) => (link, real),
            None => (self.node(number), self.node(number)),
        }
    }

    /// The lists as they are given to the sandbox, and as they are meant: denies hold where links lead.
    fn lists(&self, case: &Case) -> [FileSets; 2] {
        let nodes = |numbers: &[usize]| rules(numbers.iter().map(|number| self.node(*number)));
        let denies = |numbers: &[(usize, bool)]| {
            let pairs: Vec<_> = numbers.iter().map(|number| self.denied(*number)).collect();
            [rules(pairs.iter().map(|(given, _)| *given)), rules(pairs.iter().map(|(_, real)| *real))]
        };
        let [given_write, real_write] = denies(&case.deny_write);
        let [given_read, real_read] = denies(&case.deny_read);
        let mut hidden = rules(self.many.iter().map(PathBuf::as_path));
        let mut opened = nodes(&case.allow_read);
        if case.hides_all {
            hidden.extend(rules([Path::new("/")]));
            opened.extend(rules(PROGRAMS.iter().map(Path::new).chain([Tools::here().attempt.as_path()])));
        }
        let given = FileSets {
            allow_write: nodes(&case.allow_write),
            deny_write: given_write,
            deny_read: [given_read, hidden.clone()].concat(),
            allow_read: opened,
        };
        let mut meant =
            FileSets { deny_write: real_write, deny_read: [real_read, hidden].concat(), ..given.clone() };
        meant.allow_write.extend(rules([self.project.root().as_path()]));
        [given, meant]
    }

    /// Each path to ask, with the real one behind it.
    fn asked(&self) -> Vec<(PathBuf, PathBuf)> {
        let itself = |path: &PathBuf| (path.clone(), path.clone());
        self.real.iter().chain(&self.many).map(itself).chain(self.links.iter().cloned()).collect()
    }
}

fn rules<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<FileRule> {
    let rule = |path: &Path| FileRule {
        pattern: PathPattern::literal(absolute(path)),
        origin: Origin::flag("--test", &path.display().to_string()),
    };
    paths.into_iter().map(rule).collect()
}

fn absolute(path: &Path) -> AbsPath {
    AbsPath::try_from(path).expect("absolute")
}

/// What the attempt helper prints for a path, by the specification.
fn expected(meant: &FileSets, (asked, real): &(PathBuf, PathBuf), tree: &Tree) -> String {
    let allows = |access| meant.judge(access, &absolute(real)).effect == Effect::Allow;
    // A link's own place can be hidden. What is behind it is then out of reach by this name.
    let is_reached = asked == real || meant.judge(Access::Read, &absolute(asked)).effect == Effect::Allow;
    let [reads, writes] = [(Access::Read, 'r'), (Access::Write, 'w')]
        .map(|(access, name)| if is_reached && allows(access) { name } else { '-' });
    format!("{reads}{writes} {}", asked.strip_prefix(&tree.base).expect("below the base").display())
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let tree = Tree::make(case);
    let [given, meant] = tree.lists(case);
    let policy = Policy { files: given, ..Policy::default() };
    let asked = tree.asked();
    let words = [Tools::here().attempt.as_path(), Path::new("--access")]
        .into_iter()
        .chain(asked.iter().map(|(asked, _)| asked.as_path()))
        .map(|word| word.as_os_str().to_owned());
    let request = Request::new(Command::Argv(words.collect()), tree.project.root());
    let sandbox = Sandbox::create(Options { policy, ..Options::default() }).expect("it works here");
    let outcome = block_on(sandbox.run(request)).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let said =
        String::from_utf8_lossy(&outcome.stdout.bytes).replace(&format!("{}/", tree.base.display()), "");
    let meant: Vec<String> = asked.iter().map(|asked| expected(&meant, asked, &tree)).collect();
    prop_assert_eq!(
        said.lines().collect::<Vec<_>>(),
        meant,
        "{}",
        String::from_utf8_lossy(&outcome.stderr.bytes)
    );
    Ok(())
}

#[test]
fn the_real_sandbox_answers_as_the_rules_do() {
    if !palisade_tests::works_here() {
        return;
    }
    let config = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { CASES };
    // A case is made on disk; one that fails says enough without a file beside the source.
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, max_shrink_iters: 300, ..config });
    runner.run(&case(), |case| check(&case)).expect("the sandbox and the rules agree");
}
