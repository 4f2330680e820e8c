//! Policy + machine → [`Confinement`]: links followed, wildcards expanded, what is missing found out.
//!
//! The attacker is the *earlier* command: he may have left links in the root that lead elsewhere. So every path
//! is taken to its real place before anything is mounted, an allow that gets into a hidden region only
//! through a link is dropped with a warning, and so is a writable path that such a link leads out of what commands
//! can write; a deny holds where its link leads. What the resolver cannot find out
//! it treats as the stricter case or refuses, naming the rule.
//!
//! The attacker is also the repository's author, who writes allows. Where they lead is compared with where denies lead,
//! what wildcards match and what the links among that lead to included, and whose word counts for more
//! ([`Policy::stays_hidden`]) is decided there and then. So it does not matter what links there were when the settings
//! were read, nor who makes one afterwards.

mod inside;
mod names;
mod protect;
mod real;
mod reopen;
mod walk;
mod warnings;
mod way;

pub use real::real_path;
pub(crate) use way::Way;
pub use way::links_on;

use crate::cover::{Covers, StandIn, Wanted};
use crate::error::Error;
use crate::own::is_open_device;
use crate::protected::Owner;
use crate::protected::git::Excerpt;
use crate::scratch::Scratch;
use names::Linked;
use palisade_policy::{
    AbsPath, Access, Confinement, Effect, FileRule, FileSets, Node, Origin, PathPattern, Policy,
};
use real::Real;
use reopen::{Denied, refuse_locked_root};
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use warnings::{Kind, Warnings};

/// The directories that a command is confined to, all real.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// Writable, always.
    pub(crate) root: AbsPath,
    /// Where the command starts.
    pub(crate) working_directory: AbsPath,
    /// The command's own temporary directory: writable, always.
    pub(crate) temporary: AbsPath,
}

/// A confinement, and what has to exist for it to hold.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) confinement: Confinement,
    /// What must stand in for missing paths, each in an existing writable directory.
    pub(crate) wanted: Wanted,
    /// What is to be seen of files that must not be written, in their places.
    pub(crate) excerpts: Vec<Excerpt>,
    /// Rules that were left out, and why.
    pub(crate) warnings: Vec<String>,
}

/// Resolves `policy` for one command.
pub(crate) fn resolve(policy: &Policy, places: &Places, owner: &Owner) -> Result<Resolved, Error> {
    let mut resolver = Resolver::default();
    let files =
        if policy.files_disabled { FileSets::default() } else { resolver.files(policy, places, owner)? };
    Ok(Resolved {
        confinement: Confinement {
            files,
            nodes: resolver.nodes,
            links: resolver.links,
            stepped_out_of: resolver.stepped_out_of,
            files_disabled: policy.files_disabled,
            network: policy.network.clone(),
            working_directory: places.working_directory.clone(),
        },
        wanted: resolver.wanted,
        excerpts: resolver.excerpts,
        warnings: resolver.warnings.into_told(),
    })
}

#[derive(Default)]
struct Resolver {
    nodes: BTreeMap<AbsPath, Node>,
    links: BTreeMap<AbsPath, Origin>,
    /// What ways to what is denied or protected step out of again, each with its rule.
    stepped_out_of: BTreeMap<AbsPath, Origin>,
    warnings: Warnings,
    /// What read denies name and a link leads on from, each with its rule.
    led_to: Vec<(AbsPath, Origin)>,
    /// Which rules open nothing of what which others hide, as far as that was said.
    shut: HashSet<[Origin; 2]>,
    wanted: Wanted,
    excerpts: Vec<Excerpt>,
    linked: Linked,
    directories: real::Directories,
    inside: inside::LookedInto,
    budget: walk::Budget,
}

/// An entry of `allowWrite` that exists.
struct WriteAllow<'a> {
    real: AbsPath,
    /// The links that lead there from what the entry names.
    links: Vec<AbsPath>,
    rule: &'a FileRule,
}

impl WriteAllow<'_> {
    fn rule(&self) -> FileRule {
        literal(self.real.clone(), self.rule.origin.clone())
    }
}

impl Resolver {
    fn files(&mut self, policy: &Policy, places: &Places, owner: &Owner) -> Result<FileSets, Error> {
        let mut files =
            FileSets { deny_read: self.read_denies(&policy.files.deny_read)?, ..FileSets::default() };
        if files.deny_read.iter().any(|rule| rule.pattern.as_literal().is_root()) {
            self.keep_own(&mut files);
        }
        for (path, key) in [(&places.root, "root"), (&places.temporary, "temporary directory")] {
            self.nodes.insert(path.clone(), Node::Directory);
            files.allow_write.push(literal(path.clone(), Origin::builtin(key, &path.to_string())));
        }
        self.read_allows(policy, &mut files)?;
        self.write_allows(policy, &mut files)?;
        refuse_locked_root(policy, &places.root, &files)?;
        let roots = self.roots(places, &files);
        let of_git = self.repositories(policy, &roots, owner, &mut files)?;
        for (path, origin) in std::mem::take(&mut self.led_to) {
            self.hold(&Way::of(&path), &origin, &files);
        }
        self.write_denies(policy, &mut files)?;
        self.protect_all(&roots, owner, &of_git, &mut files)?;
        self.keep_missing(&mut files)?;
        self.other_names(&files)?;
        self.hide_own(&mut files)?;
        Ok(files)
    }

    /// Refuses files that can be reached by another name than those that rules cover.
    fn other_names<'a>(&mut self, files: &'a FileSets) -> Result<(), Error> {
        let denied = |rule: &'a FileRule| {
            let path = rule.pattern.as_literal();
            let node = *self.nodes.get(path)?;
            // With everything hidden, a file has the names that somebody opened.
            (!path.is_root()).then_some(names::Denied { path, node, origin: &rule.origin })
        };
        let denied: Vec<_> = files.deny_read.iter().filter_map(denied).collect();
        for names::Denied { path, origin, .. } in std::mem::take(&mut self.linked).refuse(&denied, files)? {
            self.warnings.push(Kind::Protected, format!(
                "{origin}: {path} holds too much to be looked through for files with a second name (a hard link), by \
                 which they could be read"
            ));
        }
        Ok(())
    }

    /// What the sandbox has of its own, and every program needs, is there although all of the host's is hidden.
    fn keep_own(&mut self, files: &mut FileSets) {
        for path in ["/dev", "/proc"].iter().filter_map(|path| AbsPath::new(path).ok()) {
            self.nodes.insert(path.clone(), Node::Directory);
            let origin = Origin::builtin("the sandbox's own", &path.to_string());
            files.allow_read.push(literal(path, origin));
        }
    }

    /// What Palisade keeps for itself in a shared directory (`/tmp`) is hidden, and no rule opens it. A command that
    /// could write there could change the masks and covers of the commands to come; one that can look in can take the
    /// locks by which covers are counted, and connect to the sockets of other commands' bridges.
    fn hide_own(&mut self, files: &mut FileSets) -> Result<(), Error> {
        for path in [Scratch::private(), Covers::registry()] {
            // It need not exist yet, but it does when the command starts.
            let real = Real::of(path)?.path;
            self.nodes.insert(real.clone(), Node::Directory);
            for opened in [&mut files.allow_read, &mut files.allow_write] {
                opened.retain(|allow| !real.covers(allow.pattern.as_literal()));
            }
            let rule = literal(real, Origin::builtin("protected", &path.to_string()));
            for denied in [&mut files.deny_read, &mut files.deny_write] {
                denied.push(rule.clone());
            }
        }
        Ok(())
    }

    fn read_denies(&mut self, rules: &[FileRule]) -> Result<Vec<FileRule>, Error> {
        let mut out = Vec::new();
        for rule in rules {
            refuse_step_out_of_link(rule)?;
        }
        for (rule, paths) in rules.iter().zip(self.named_by(rules)?) {
            for path in paths {
                let real = Real::of(&path).map_err(|error| error.of_rule(&rule.origin))?;
                if real.path != path {
                    self.led_to.push((path, rule.origin.clone()));
                }
                // A missing path cannot be read, and when the command makes one it knows what is in it.
                let Some(real) = self.existing(real) else { continue };
                refuse(rule, &real, &["/proc"], "hide what every command needs to start")?;
                refuse_process(rule, &real)?;
                out.push(literal(real, rule.origin.clone()));
            }
        }
        Ok(out)
    }

    fn read_allows(&mut self, policy: &Policy, files: &mut FileSets) -> Result<(), Error> {
        let (rules, denied) = (&policy.files.allow_read, Denied::by(&files.deny_read));
        for (rule, paths) in rules.iter().zip(self.named_by(rules)?) {
            // A directory that could not be looked into stands for all of it, which is no allow's to open.
            for path in paths.into_iter().filter(|path| rule.pattern.names(path)) {
                if let Some(path) = self.reopened(&path, rule, policy, &denied)? {
                    files.allow_read.push(literal(path, rule.origin.clone()));
                }
            }
        }
        Ok(())
    }

    fn write_allows(&mut self, policy: &Policy, files: &mut FileSets) -> Result<(), Error> {
        let (mut found, denied) = (Vec::new(), Denied::by(&files.deny_read));
        for rule in &policy.files.allow_write {
            let path = self.written(rule, Effect::Allow)?;
            match self.reopened(&path, rule, policy, &denied)? {
                // The sandbox has these of its own.
                Some(real) if is_open_device(&real) => {}
                Some(real) => {
                    refuse(
                        rule,
                        &real,
                        &["/", "/proc", "/sys", "/dev"],
                        "open what belongs to the whole machine",
                    )?;
                    refuse_below(rule, &real)?;
                    found.push(WriteAllow { links: links_on(&path)?, real, rule });
                }
                None if path
                    .as_path()
                    .symlink_metadata()
                    .is_err_and(|error| error.kind() == ErrorKind::NotFound) =>
                {
                    self.warnings.push(
                        Kind::Missing,
                        format!("{} is left out: {path} does not exist; make it first", rule.origin),
                    );
                }
                None => {}
            }
        }
        self.follow_only_safe_links(found, files);
        Ok(())
    }

    /// A link that lies where a command can write may have been made by one: it must not lead out of there.
    fn follow_only_safe_links(&mut self, found: Vec<WriteAllow<'_>>, files: &mut FileSets) {
        let (direct, linked): (Vec<_>, Vec<_>) = found.into_iter().partition(|allow| allow.links.is_empty());
        files.allow_write.extend(direct.iter().map(WriteAllow::rule));
        let is_writable = |files: &FileSets, path: &AbsPath| {
            files.allow_write.iter().any(|rule| rule.pattern.covers(path).is_some())
        };
        let mut all = files.clone();
        all.allow_write.extend(linked.iter().map(WriteAllow::rule));
        let is_led_out = |allow: &WriteAllow<'_>| {
            let unsafe_link = allow.links.iter().find(|link| is_writable(&all, link));
            unsafe_link.filter(|_| !is_writable(files, &allow.real)).cloned()
        };
        let (kept, left_out): (Vec<_>, Vec<_>) =
            linked.iter().map(|allow| (allow, is_led_out(allow))).partition(|(_, link)| link.is_none());
        for (WriteAllow { real, rule, .. }, link) in left_out {
            if let Some(link) = link {
                let origin = &rule.origin;
                self.warnings.push(Kind::Link, format!(
                    "{origin} is left out: the symbolic link {link} that leads to {real} lies where commands can write"
                ));
            }
        }
        files.allow_write.extend(kept.into_iter().map(|(allow, _)| allow.rule()));
    }

    fn write_denies(&mut self, policy: &Policy, files: &mut FileSets) -> Result<(), Error> {
        let mut resolved = Vec::new();
        for rule in &policy.files.deny_write {
            refuse_step_out_of_link(rule)?;
            let path = self.written(rule, Effect::Deny)?;
            let real = Real::of(&path).map_err(|error| error.of_rule(&rule.origin))?;
            if real.path != path {
                self.hold(&Way::of(&path), &rule.origin, files);
            }
            resolved.push((real, rule));
        }
        for (real, rule) in resolved {
            if let Some(path) = self.denied_at(real, StandIn::Socket, files) {
                files.deny_write.push(literal(path, rule.origin.clone()));
            }
        }
        Ok(())
    }

    /// Where a write deny is enforced: the path itself, or for a missing one in a writable directory the first
    /// component that is missing, which a cover will stand in for. `None` where nothing could make it anyhow.
    fn denied_at(&mut self, real: Real, stand_in: StandIn, files: &FileSets) -> Option<AbsPath> {
        let first_missing = match (real.node, real.first_missing) {
            (Some(node), _) if Covers::is_uncovered(&real.path) => {
                self.nodes.insert(real.path.clone(), node);
                return Some(real.path);
            }
            // Another command's cover goes when that command ends: to this one the path is missing.
            (Some(_), _) => real.path,
            (None, Some(first_missing)) => first_missing,
            // Below a file, or what was one.
            (None, None) => missing_above(&real.path)?,
        };
        if files.judge(Access::Write, &first_missing).effect == Effect::Deny {
            return None;
        }
        let directory = first_missing.parent()?;
        if !directory.as_path().is_dir() {
            // As long as that file stands, nothing can come to be below it.
            self.nodes.insert(directory.clone(), Node::File);
            return Some(directory);
        }
        if !real::may_write(&directory) {
            return real::is_ours(&directory).then(|| {
                self.warnings.push(Kind::Protected, format!(
                    "{directory} cannot be written, so nothing can stand in for {first_missing}: it is read-only as a whole"
                ));
                self.nodes.insert(directory.clone(), Node::Directory);
                directory
            });
        }
        self.nodes.insert(first_missing.clone(), Node::File);
        self.wanted.covers.entry(first_missing.clone()).or_insert(stand_in);
        Some(first_missing)
    }

    /// The paths that each rule of a read list names: the literal one, and for wildcards what exists now.
    fn named_by(&mut self, rules: &[FileRule]) -> Result<Vec<Vec<AbsPath>>, Error> {
        let mut named = walk::matches(rules, &mut self.budget)?;
        for (paths, rule) in named.iter_mut().zip(rules) {
            let literal = rule.pattern.as_literal();
            paths.retain(|path| path != literal);
            paths.insert(0, literal.clone());
        }
        Ok(named)
    }

    /// The one path of a rule of a write list: bubblewrap mounts what has a name.
    fn written(&self, rule: &FileRule, effect: Effect) -> Result<AbsPath, Error> {
        let path = rule.pattern.as_literal();
        // A file that has just this name is what an allow means; a deny means all that it matches.
        let is_literal = !rule.pattern.has_wildcards()
            || (effect == Effect::Allow && std::fs::symlink_metadata(path.as_path()).is_ok());
        if is_literal {
            return Ok(path.clone());
        }
        Err(Error::Unenforceable {
            rule: rule.origin.to_string(),
            reason: format!("it {}", palisade_policy::why_no_mount(&rule.origin.text)),
        })
    }

    fn existing(&mut self, real: Real) -> Option<AbsPath> {
        let node = real.node.filter(|_| Covers::is_uncovered(&real.path))?;
        self.nodes.insert(real.path.clone(), node);
        Some(real.path)
    }
}

/// Refuses a rule about one of `paths`, all of which Palisade mounts itself.
fn refuse(rule: &FileRule, real: &AbsPath, paths: &[&str], what: &str) -> Result<(), Error> {
    if !paths.iter().any(|path| path.as_bytes() == real.as_bytes()) {
        return Ok(());
    }
    let reason = format!("it would {what}; name what is meant more narrowly");
    Err(Error::Unenforceable { rule: rule.origin.to_string(), reason })
}

/// Refuses to hide what is one process's in `/proc`: inside there are others, under the same numbers.
fn refuse_process(rule: &FileRule, real: &AbsPath) -> Result<(), Error> {
    let mut names = real.components();
    let is_process =
        names.next() == Some(b"proc") && names.next().is_some_and(|name| name.iter().all(u8::is_ascii_digit));
    if !is_process {
        return Ok(());
    }
    let reason = "the sandbox has a /proc of its own, which shows the command's processes and none of those outside; \
                  to keep a variable from the command, name it in credentials.envVars";
    Err(Error::Unenforceable { rule: rule.origin.to_string(), reason: reason.into() })
}

/// Refuses a deny whose `..` steps out of a link: the text names another file than the kernel reaches by it, and which
/// of the two was meant is not known.
fn refuse_step_out_of_link(rule: &FileRule) -> Result<(), Error> {
    let real = |path: &AbsPath| real_path(path).map_err(|error| error.of_rule(&rule.origin));
    for directory in rule.pattern.stepped_out_of() {
        let above = directory.parent().as_ref().map(real).transpose()?;
        if real(directory)?.parent() != above {
            let reason = format!(
                "its .. steps out of {directory}, which leads elsewhere, so that the kernel reaches another file by \
                 that text; write it without .."
            );
            return Err(Error::Unenforceable { rule: rule.origin.to_string(), reason });
        }
    }
    Ok(())
}

/// Nothing below `/proc` and `/sys` is a command's to write: it is the kernel's, or another process's.
fn refuse_below(rule: &FileRule, real: &AbsPath) -> Result<(), Error> {
    let is_below = [&b"/proc/"[..], b"/sys/"].iter().any(|above| real.as_bytes().starts_with(above));
    let reason = "what is below /proc and /sys belongs to the whole machine or to other processes".into();
    if is_below { Err(Error::Unenforceable { rule: rule.origin.to_string(), reason }) } else { Ok(()) }
}

/// The first component on the way to `path` that is missing, or a cover.
fn missing_above(path: &AbsPath) -> Option<AbsPath> {
    path.ancestors().take_while(|above| !Covers::is_uncovered(above)).last()
}

fn literal(path: AbsPath, origin: Origin) -> FileRule {
    FileRule { pattern: PathPattern::literal(path), origin }
}
