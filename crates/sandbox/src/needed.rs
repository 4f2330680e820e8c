//! What a command needs to see to start at all, and what of it a rule would hide.
//!
//! The [entry](palisade_bwrap::linux::Entry) is this very program, started anew inside: by descriptor, but its dynamic
//! loader and its libraries are found by path there. With those hidden nothing starts, and what the kernel then says
//! (no such file) names neither the file nor the rule. So they are looked for beforehand.
//!
//! Nothing here opens anything: a rule that hides them is refused, not made weaker.

use crate::error::{Error, system};
use crate::resolve::{links_on, real_path};
use palisade_policy::{AbsPath, Access, Effect, FileRule, FileSets};
use std::collections::BTreeSet;

/// Where programs name their loader: of glibc and musl, on the processors that Palisade is built for.
pub(crate) const LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// Refuses the rule that hides what this program is made of, or `shell`, if it is to run the command.
pub(crate) fn refuse_hidden(files: &FileSets, shell: Option<&AbsPath>) -> Result<(), Error> {
    if files.deny_read.is_empty() {
        return Ok(());
    }
    let maps = std::fs::read("/proc/self/maps").map_err(system("looking at this program's libraries"))?;
    let mut needed = libraries(&maps);
    needed.extend(ways_to_loader(&needed)?);
    needed.extend(shell.cloned());
    let hidden: Vec<(&AbsPath, &FileRule)> = needed
        .iter()
        .filter_map(|path| {
            let verdict = files.judge(Access::Read, path);
            Some((path, verdict.rule.filter(|_| verdict.effect == Effect::Deny)?))
        })
        .collect();
    match hidden.first() {
        Some((path, rule)) => Err(Error::Unenforceable {
            rule: rule.origin.to_string(),
            reason: format!(
                "it would hide {path}, without which no command starts; {}",
                remedy(rule.pattern.as_literal(), &hidden)
            ),
        }),
        None => Ok(()),
    }
}

/// The files that a program's memory map shows as code, without the program itself, which is started by descriptor.
fn libraries(maps: &[u8]) -> BTreeSet<AbsPath> {
    let own = std::fs::read_link("/proc/self/exe").ok();
    let file = |line: &[u8]| {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let permissions = fields.nth(1)?;
        let path = AbsPath::new(fields.nth(3)?.trim_ascii_start()).ok()?;
        (permissions.contains(&b'x') && own.as_deref() != Some(path.as_path())).then_some(path)
    };
    maps.split(|&byte| byte == b'\n').filter_map(file).collect()
}

/// The links by which the loader among `libraries` is named. Those directly in `/` are there whatever is hidden.
fn ways_to_loader(libraries: &BTreeSet<AbsPath>) -> Result<Vec<AbsPath>, Error> {
    let mut ways = Vec::new();
    for loader in LOADERS.iter().filter_map(|path| AbsPath::new(path).ok()) {
        if libraries.contains(&real_path(&loader)?) {
            ways.extend(links_on(&loader)?);
        }
    }
    ways.retain(|link| !link.parent().is_some_and(|at| at.is_root()));
    Ok(ways)
}

/// What to write instead of the rule for `denied`: the directories below it that must stay to be seen.
fn remedy(denied: &AbsPath, hidden: &[(&AbsPath, &FileRule)]) -> String {
    let below = |path: &AbsPath| {
        let inside =
            path.ancestors().take_while(|above| above != denied).filter(|above| denied.covers(above));
        inside.last().filter(|top| top != path)
    };
    let reopened: BTreeSet<AbsPath> = hidden.iter().filter_map(|(path, _)| below(path)).collect();
    if reopened.is_empty() {
        return "name what is meant more narrowly".into();
    }
    let reopened: Vec<String> = reopened.iter().map(|path| format!("{:?}", path.to_string())).collect();
    format!("hide less, or open what programs are made of: \"allowRead\": [{}]", reopened.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{Origin, PathPattern};

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).expect("absolute")
    }

    #[test]
    fn code_is_told_from_data_and_other_maps() {
        let maps = b"55d0-55d1 r--p 00000000 fe:00 1    /lib/data\n\
            7f00-7f01 r-xp 00001000 fe:00 2                 /usr/lib/a b.so (deleted)\n\
            7f02-7f03 r-xp 00000000 00:00 0                 [vdso]\n\
            7f04-7f05 rwxp 00000000 00:00 0 \n\
            7f06-7f07 r-xp 00000000 fe:00 3                 /usr/lib/ld.so\n";
        assert_eq!(libraries(maps), [path("/usr/lib/a b.so (deleted)"), path("/usr/lib/ld.so")].into());
        let own = libraries(&std::fs::read("/proc/self/maps").expect("own"));
        assert!(own.iter().any(|path| path.to_string().contains("libc")), "{own:?}");
    }

    #[test]
    fn the_message_says_what_to_open() {
        let shell = path("/usr/bin/bash");
        let hide = |text: &str, opened: &[&str]| {
            let rule = |text: &str| FileRule {
                pattern: PathPattern::literal(path(text)),
                origin: Origin::flag("--deny-read", text),
            };
            let allow_read = opened.iter().map(|text| rule(text)).collect();
            let files = FileSets { deny_read: vec![rule(text)], allow_read, ..FileSets::default() };
            refuse_hidden(&files, Some(&shell)).map_err(|error| error.to_string())
        };
        let said = hide("/usr/bin/bash", &[]).expect_err("the shell is hidden");
        assert!(
            said.ends_with("without which no command starts; name what is meant more narrowly"),
            "{said}"
        );
        let said = hide("/usr/bin", &["/usr/bin/true"]).expect_err("the shell is hidden");
        assert!(said.starts_with("--deny-read \"/usr/bin\" cannot be enforced: it would hide /usr/bin/bash"));
        let said = hide("/", &["/lib", "/lib64"]).expect_err("the shell is hidden");
        assert!(said.contains("\"allowRead\": [\"/usr\"]"), "{said}");
        assert_eq!(hide("/", &["/usr", "/lib", "/lib64", "/nix", "/gnu"]), Ok(()));
        assert_eq!(hide("/home", &[]), Ok(()));
    }
}
