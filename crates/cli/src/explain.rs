//! `palisade explain`: what the rules say of one path or host, which rule decides, and what would change that.
//!
//! Paths are judged where they really lead, as for a command that starts now, and so is the way there: what a hidden
//! directory's link leads to is not reached through it. A host that is an address or means this machine is judged with
//! what no rule has to deny; any other name is not looked up. It does not try the access.

use crate::failure::{Failure, print, say};
use crate::options::{ExplainOptions, Question};
use crate::policy::{InForce, in_force};
use crate::profile::for_show;
use palisade::{links_on, real_path};
use palisade_policy::{
    AbsPath, Access, AddressClass, Confinement, Effect, Endpoint, FileExplanation, FileList, Host, HostError,
    HostExplanation, HostPattern, HostVerdict, Layer, NetworkPolicy, Origin, Printable, VetError,
};
use palisade_proxy::Lookup;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStrExt;

/// Exit status when a command may not.
const DENIED: u8 = 1;
/// Where a host was named without a port.
const DEFAULT_PORT: u16 = 443;

/// Prints the answer; the exit status is the verdict.
pub(crate) fn explain(options: &ExplainOptions) -> u8 {
    let printed = answer(options).and_then(|answer| {
        print(&if options.json { format!("{}\n", answer.to_json()) } else { answer.to_text() })?;
        Ok(answer)
    });
    match printed {
        Ok(answer) => {
            if answer.effect == Effect::Allow {
                0
            } else {
                DENIED
            }
        }
        Err(failure) => {
            say(&failure.message);
            failure.status
        }
    }
}

/// One verdict for people and programs.
struct Answer {
    /// `read /p/x`
    question: String,
    /// Where the path leads, if that is elsewhere.
    real: Option<AbsPath>,
    effect: Effect,
    /// Why, where no rule decides.
    because: String,
    rule: Option<Origin>,
    also: Vec<(String, Origin)>,
    changes: Vec<String>,
    note: Option<String>,
}

fn answer(options: &ExplainOptions) -> Result<Answer, Failure> {
    let in_force = in_force(&options.rules)?;
    let access = match options.question {
        Question::Host => return of_host(&in_force.loaded.policy.network, &options.about),
        Question::Read => Access::Read,
        Question::Write => Access::Write,
    };
    let asked = absolute(&in_force, &options.about)?;
    let lock = in_force.loaded.options.filesystem.allow_managed_read_paths_only.clone();
    let lock = lock.filter(|lock| lock.value).map(|lock| lock.origin);
    let denied = in_force.loaded.policy.files.deny_read.clone();
    let (sandbox, request) = for_show(in_force)?;
    let real = real_path(&asked)?;
    let mut confinement = sandbox.resolve(&request)?;
    if real.as_path().symlink_metadata().is_err() {
        // What does not exist yet is named by no resolved rule; the rules as written still mean it.
        confinement.files.deny_read.extend(denied);
    }
    let explanation = confinement.files.explain(access, &real);
    let mut answer = match hidden_link(&asked, &confinement)? {
        Some(link) if explanation.verdict.effect == Effect::Allow => Answer {
            note: Some(format!("the way there goes through the symbolic link {link}, which is hidden")),
            ..Answer::of_path(
                access,
                &asked,
                &link,
                &confinement.files.explain(Access::Read, &link),
                lock.as_ref(),
            )
        },
        _ => Answer::of_path(access, &asked, &real, &explanation, lock.as_ref()),
    };
    answer.real = (asked != real).then_some(real);
    if confinement.files_disabled {
        answer = Answer {
            effect: Effect::Allow,
            because: "filesystem.disabled switches file isolation off".into(),
            rule: None,
            also: Vec::new(),
            changes: vec!["take filesystem.disabled out of the settings".into()],
            note: None,
            ..answer
        };
    }
    Ok(answer)
}

/// The path that is asked about. As in a rule, a `~` in front is the home directory.
fn absolute(in_force: &InForce, path: &OsStr) -> Result<AbsPath, Failure> {
    let invalid = |error: palisade_policy::PathError| {
        Failure::new("PATH_INVALID", format!("the path {:?} {error}", path.to_string_lossy()))
    };
    if path.is_empty() {
        return Err(Failure::new("PATH_INVALID", "the path is empty; write . for the working directory"));
    }
    let (mut at, rest) = match path.as_bytes() {
        rest @ [b'/', ..] => (AbsPath::root(), rest),
        [b'~'] => (home(in_force)?, &b""[..]),
        [b'~', rest @ ..] if rest.starts_with(b"/") => (home(in_force)?, rest),
        [b'~', ..] => {
            let reason = "names another user's home directory; write its full path, or ./ in front of a name that starts so";
            return Err(Failure::new(
                "PATH_INVALID",
                format!("the path {:?} {reason}", path.to_string_lossy()),
            ));
        }
        rest => (AbsPath::try_from(&*in_force.working_directory).map_err(invalid)?, rest),
    };
    for name in rest.split(|&byte| byte == b'/') {
        at = match name {
            // The kernel follows a link before it steps up.
            b".." => real_path(&at)?.parent().unwrap_or_else(AbsPath::root),
            name => at.join(name).map_err(invalid)?,
        };
    }
    Ok(at)
}

fn home(in_force: &InForce) -> Result<AbsPath, Failure> {
    let unknown = || Failure::new("PATH_INVALID", "a path starts with ~, but HOME names no home directory");
    in_force.home.clone().ok_or_else(unknown)
}

/// The first link on the way to `asked` that cannot be read where it lies, so that no command follows it. One directly in
/// `/` is there for every command that may read what it leads to.
fn hidden_link(asked: &AbsPath, confinement: &Confinement) -> Result<Option<AbsPath>, Failure> {
    let is_at_top = |link: &AbsPath| link.parent().is_some_and(|parent| parent.is_root());
    let is_hidden = |link: &AbsPath| confinement.files.judge(Access::Read, link).effect == Effect::Deny;
    Ok(links_on(asked)?.into_iter().find(|link| is_hidden(link) && !is_at_top(link)))
}

impl Answer {
    /// With the lock, where there is one, by which only an administrator may make paths readable again.
    fn of_path(
        access: Access,
        asked: &AbsPath,
        real: &AbsPath,
        explanation: &FileExplanation<'_>,
        lock: Option<&Origin>,
    ) -> Self {
        let verdict = explanation.verdict;
        let verb = if access == Access::Read { "read" } else { "write" };
        let because = match access {
            Access::Read => "reads are allowed where no rule denies them",
            Access::Write => "no rule makes it writable",
        };
        let also = explanation.also.iter().map(|(list, rule)| (list.to_string(), rule.origin.clone()));
        Answer {
            question: format!("{verb} {asked}"),
            real: None,
            effect: verdict.effect,
            because: because.into(),
            rule: verdict.rule.map(|rule| rule.origin.clone()),
            also: also.collect(),
            changes: vec![change_of_path(access, real, explanation, lock)],
            note: note_on_path(explanation).map(Into::into),
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("{}: {}\n", Printable(&self.question), self.word());
        let mut line = |label: &str, what: &str| {
            text.push_str(&format!("  {label}{}\n", Printable(what)));
        };
        if let Some(real) = &self.real {
            line("leads to ", &real.to_string());
        }
        match &self.rule {
            Some(rule) => line("by ", &named(rule)),
            None => line("since ", &self.because),
        }
        for (list, rule) in &self.also {
            line("also covered by ", &format!("{list}: {}", named(rule)));
        }
        for change in &self.changes {
            line("to change it: ", change);
        }
        if let Some(note) = &self.note {
            line("note: ", note);
        }
        text
    }

    fn to_json(&self) -> Value {
        let also: Vec<Value> = self
            .also
            .iter()
            .map(|(list, rule)| json!({ "list": list, "rule": origin_to_json(rule) }))
            .collect();
        json!({
            "question": self.question,
            "real": self.real.as_ref().map(ToString::to_string),
            "verdict": if self.effect == Effect::Allow { "allow" } else { "deny" },
            "because": self.rule.is_none().then_some(&self.because),
            "rule": self.rule.as_ref().map(origin_to_json),
            "also": also,
            "changes": self.changes,
            "note": self.note,
        })
    }

    fn word(&self) -> &'static str {
        if self.effect == Effect::Allow { "allowed" } else { "denied" }
    }
}

/// An origin for people, with its layer.
fn named(origin: &Origin) -> String {
    if origin.layer == Layer::Builtin { origin.to_string() } else { format!("{origin} ({})", origin.layer) }
}

/// An origin for programs.
pub(crate) fn origin_to_json(origin: &Origin) -> Value {
    json!({
        "layer": origin.layer.to_string(),
        "file": *origin.file,
        "line": origin.line,
        "key": *origin.key,
        "text": *origin.text,
    })
}

fn change_of_path(
    access: Access,
    path: &AbsPath,
    explanation: &FileExplanation<'_>,
    lock: Option<&Origin>,
) -> String {
    let FileExplanation { verdict, list, also: _ } = explanation;
    let add = |list: FileList, option: &str| {
        let entry = path.to_string();
        format!("add {entry:?} to sandbox.filesystem.{list}, or give {option} {entry} for one run")
    };
    match (verdict.effect, list, verdict.rule) {
        (Effect::Allow, ..) if access == Access::Read => add(FileList::DenyRead, "--deny-read"),
        (Effect::Allow, ..) => add(FileList::DenyWrite, "--deny-write"),
        (_, Some(FileList::DenyRead), Some(rule)) if !rule.pattern.names(path) => match lock {
            Some(lock) => format!(
                "add {:?} to sandbox.filesystem.allowRead of managed settings; no others count, by {lock}",
                path.to_string()
            ),
            None => add(FileList::AllowRead, "--allow-read"),
        },
        (_, Some(_), Some(rule)) => take_away(&rule.origin),
        _ => add(FileList::AllowWrite, "--allow-write"),
    }
}

fn note_on_path(explanation: &FileExplanation<'_>) -> Option<&'static str> {
    let denies = |list: &FileList| matches!(list, FileList::DenyWrite | FileList::DenyRead);
    let is_denied_again = explanation.also.iter().any(|(list, _)| denies(list));
    (explanation.verdict.effect == Effect::Deny && is_denied_again)
        .then_some("the other denials hold as well")
}

fn take_away(origin: &Origin) -> String {
    match origin.layer {
        Layer::Builtin => "nothing lifts what Palisade protects but sandbox.filesystem.disabled".into(),
        _ => format!("take {origin} away; no allow rule lifts it"),
    }
}

fn of_host(network: &NetworkPolicy, text: &OsStr) -> Result<Answer, Failure> {
    let text = text.to_string_lossy();
    let endpoint = Endpoint::parse(&text, Some(DEFAULT_PORT))
        .map_err(|error| Failure::new("HOST_INVALID", format!("{text:?}: {}", no_host(&text, &error))))?;
    let HostExplanation { verdict, also } = network.explain(&endpoint);
    let mut answer = Answer {
        question: format!("host {endpoint}"),
        real: None,
        effect: Effect::Deny,
        because: String::new(),
        rule: None,
        also: also.iter().map(|(list, rule)| (list.to_string(), rule.origin.clone())).collect(),
        changes: vec![change_of_host(network, &endpoint, &verdict)],
        note: note_on_host(&endpoint, &verdict).map(Into::into),
    };
    match verdict {
        HostVerdict::Allow(rule) => match vet(network, &endpoint)? {
            None => {
                answer.effect = Effect::Allow;
                answer.rule = Some(rule.origin.clone());
            }
            Some(error) => answer.refuse_address(network, &endpoint, &error),
        },
        HostVerdict::Deny(Some(rule)) => answer.rule = Some(rule.origin.clone()),
        HostVerdict::Deny(None) => {
            answer.because = "it is not on the allow list, and the list is strict: nobody is asked".into();
        }
        HostVerdict::Ask => {
            answer.because = "it is not on the allow list, and `palisade run` has nobody to ask".into();
        }
    }
    Ok(answer)
}

/// What is wrong with a text that should name a host. Most slips are the same as in a rule, whose reader says more.
fn no_host(text: &str, error: &HostError) -> String {
    HostPattern::parse(text).err().map_or_else(|| error.to_string(), |error| error.to_string())
}

/// Why none of the addresses of an allowed endpoint would be dialed, as far as they are known without a look-up.
fn vet(network: &NetworkPolicy, endpoint: &Endpoint) -> Result<Option<VetError>, Failure> {
    let addresses: Vec<IpAddr> = match &endpoint.host {
        Host::Address(address) => vec![*address],
        host if host.is_localhost() => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Host::Name(_) => return Ok(None),
    };
    let own = Lookup::system().own_addresses();
    let own = own.map_err(|error| Failure::new("SANDBOX_LAUNCH", error.to_string()))?;
    Ok(network.vet(endpoint, &addresses, &own).err())
}

impl Answer {
    /// Says that a rule allows the host but not the address that it is.
    fn refuse_address(&mut self, network: &NetworkPolicy, endpoint: &Endpoint, error: &VetError) {
        self.because = format!("it {error}");
        self.changes.clear();
        match error {
            VetError::Denied { origin, .. } => {
                self.rule = Some((**origin).clone());
                self.changes.push(take_away(origin));
            }
            VetError::Class {
                class: AddressClass::Loopback | AddressClass::LinkLocal | AddressClass::ThisMachine,
                ..
            } => {
                self.changes.push(network.to_allow(endpoint));
            }
            VetError::Class { .. } | VetError::NoAddress => {}
        }
    }
}

fn change_of_host(network: &NetworkPolicy, endpoint: &Endpoint, verdict: &HostVerdict<'_>) -> String {
    match verdict {
        HostVerdict::Allow(_) => {
            let entry = endpoint.entry();
            format!(
                "add \"{entry}\" to sandbox.network.deniedDomains, or give --deny-host {entry} for one run"
            )
        }
        HostVerdict::Deny(Some(rule)) => take_away(&rule.origin),
        HostVerdict::Deny(None) | HostVerdict::Ask => network.to_allow(endpoint),
    }
}

fn note_on_host(endpoint: &Endpoint, verdict: &HostVerdict<'_>) -> Option<&'static str> {
    let is_looked_up = matches!(endpoint.host, Host::Name(_)) && !endpoint.host.is_localhost();
    (is_looked_up && matches!(verdict, HostVerdict::Allow(_))).then_some(
        "should the name lead to an address of this machine or to a metadata service, it is refused all the same",
    )
}
