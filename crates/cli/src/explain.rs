//! `palisade explain`: what the rules say of one path or host, which rule decides, and what would change that.
//!
//! Paths are judged where they really lead, as for a command that starts now, and so is the way there: what a hidden
//! directory's link leads to is not reached through it. A host that is an address or means this machine is judged with
//! what no rule has to deny; any other name is not looked up. It does not try the access, and says nothing of the
//! permissions that the host's files have anyhow.

mod change;
mod files;
mod hosts;

use crate::failure::{Failure, print, say};
use crate::options::{ExplainOptions, Question};
use crate::policy::{in_force, in_force_to_resolve};
use palisade_policy::{AbsPath, Access, Effect, Layer, NetworkPolicy, Origin, Policy, Printable};
use palisade_settings::{Dropped, Reason};
use serde_json::{Value, json};

/// Exit status when a command may not.
const DENIED: u8 = 1;

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
    /// What has to be done, all of it, for another verdict.
    changes: Vec<String>,
    note: Option<String>,
}

fn answer(options: &ExplainOptions) -> Result<Answer, Failure> {
    let in_force = match options.question {
        Question::Host => in_force(&options.rules)?,
        Question::Read | Question::Write => in_force_to_resolve(&options.rules)?,
    };
    let unconfined = unconfined(&in_force.loaded.policy);
    let answer = match options.question {
        Question::Host => hosts::answer(&in_force.loaded, &options.about),
        Question::Read => files::answer(in_force, options, Access::Read),
        Question::Write => files::answer(in_force, options, Access::Write),
    }?;
    let notes: Vec<String> = unconfined.into_iter().chain(answer.note).collect();
    Ok(Answer { note: (!notes.is_empty()).then(|| notes.join("; ")), ..answer })
}

/// Says so where commands run without the sandbox, so that no rule holds.
fn unconfined(policy: &Policy) -> Option<String> {
    let cause = if policy.fail_if_unavailable { None } else { palisade::probe(policy).cause };
    cause.map(|cause| {
        format!(
            "commands run WITHOUT the sandbox here, since failIfUnavailable is false and it cannot run, \
             so that this does not hold for them: {cause}"
        )
    })
}

impl Answer {
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
        for (at, change) in self.changes.iter().enumerate() {
            line(if at == 0 { "to change it: " } else { "and: " }, change);
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

/// Whose settings an entry has to stand in that opens something, and why, where those of a repository are known to be left
/// out: what somebody is advised to add must not be what is there and does not count.
fn whose(dropped: &[Dropped]) -> String {
    let keeps_out = |one: &&Dropped| matches!(one.reason, Reason::AdminRequired { .. } | Reason::Untrusted);
    let of_own = |one: &Dropped| format!(" of your own settings ({})", one.reason);
    dropped.iter().find(keeps_out).map(of_own).unwrap_or_default()
}

fn take_away(origin: &Origin) -> String {
    format!("take {origin} away; no allow rule lifts it")
}

/// What would allow a host, with the option that does it for one run, where options count.
pub(crate) fn or_by_option(remedy: &str, network: &NetworkPolicy, endpoint: &str) -> String {
    match network.lock {
        Some(_) => remedy.to_owned(),
        None => format!("{remedy}, or give --allow-host {endpoint} for one run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_left_out_is_sent_to_his_own_settings() {
        let by = Origin::builtin("sandbox.allowUnsandboxedCommands", "false");
        let of = |reason| {
            let origin = Origin::builtin("sandbox.network.allowedDomains", "a.test");
            whose(&[Dropped { origin, is_still_a_rule: false, reason }])
        };
        let required = of(Reason::AdminRequired { by: by.clone() });
        assert!(required.starts_with(" of your own settings (a repository"), "{required}");
        assert!(required.contains("allowUnsandboxedCommands"), "{required}");
        assert!(of(Reason::Untrusted).contains("not trusted"));
        assert_eq!(of(Reason::HeldFalse { by }), "");
        assert_eq!(whose(&[]), "");
    }
}
