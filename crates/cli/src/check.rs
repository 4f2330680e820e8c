//! `palisade check`: what the permission rules say of one shell line, and why. Nothing is run.

use crate::explain::origin_to_json;
use crate::failure::{Failure, print, say};
use crate::options::CheckOptions;
use crate::policy::in_force;
use crate::session::Session;
use palisade_permissions::{Answer, Answerer, By, Call, Found, Reason, Verdict};
use palisade_policy::Printable;
use palisade_settings::Loaded;
use serde_json::{Value, json};
use std::collections::HashSet;

const DENY: u8 = 1;
const ASK: u8 = 3;

/// Prints the verdict; the exit status is the answer.
pub(crate) fn check(options: &CheckOptions) -> u8 {
    run(options).unwrap_or_else(|failure| {
        say(&failure.message);
        failure.status
    })
}

fn run(options: &CheckOptions) -> Result<u8, Failure> {
    let line = options.line.to_str().ok_or_else(|| {
        Failure::new("COMMAND_INVALID", "the line is not UTF-8, and what is not is never allowed by itself")
    })?;
    let in_force = in_force(&options.rules)?;
    let mut session = Session::new(&in_force)?;
    if let Some(mode) = options.mode {
        session.choose(mode, &in_force.loaded.rules);
    }
    let call = Call::command(line);
    let (verdict, excluded) = session.judge(&in_force.loaded.rules, &call, options.sandboxed)?;
    let excluded = excluded.map(|rule| &rule.origin);
    print(&if options.json {
        let mut object = to_json(&verdict);
        object["excluded"] = json!(excluded.map(origin_to_json));
        format!("{object}\n")
    } else {
        let mut text = to_text(&verdict, &in_force.loaded);
        if let Some(origin) = excluded {
            text.push_str(&format!("  runs outside the sandbox: {}\n", Printable(&origin.to_string())));
        }
        text
    })?;
    Ok(match verdict.answer {
        Answer::Allow => 0,
        Answer::Deny => DENY,
        Answer::Ask(_) => ASK,
    })
}

/// The word for an answer.
pub(crate) fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "allow",
        Answer::Ask(_) => "ask",
        Answer::Deny => "deny",
    }
}

fn to_text(verdict: &Verdict<'_>, loaded: &Loaded) -> String {
    let mut text = format!("{}: {}\n", word(verdict.answer), Printable(&why(verdict)));
    for found in listed(verdict) {
        let by = match &found.by {
            By::Nothing(_) if verdict.answer == Answer::Allow => verdict.reason.to_string(),
            by_itself => by(by_itself),
        };
        text.push_str(&format!("  {}  <- {}\n", Printable(&found.text), Printable(&by)));
    }
    if let Some(rules) = to_allow(verdict, loaded) {
        text.push_str(&format!("  to allow it: {}\n", Printable(&rules)));
    }
    text
}

/// What was found. Of a line that was not read in full some is seen twice: as far as reading went, and by a rough look.
fn listed<'v, 'a>(verdict: &'v Verdict<'a>) -> impl Iterator<Item = &'v Found<'a>> {
    let mut seen = HashSet::new();
    verdict.found.iter().filter(move |found| {
        let is_new = seen.insert(&*found.text);
        is_new || !matches!(found.by, By::Nothing(Reason::Unreadable(_)))
    })
}

/// The rules that would let the call through, and where they have to stand if not anywhere.
pub(crate) fn to_allow(verdict: &Verdict<'_>, loaded: &Loaded) -> Option<String> {
    if verdict.remedy.is_empty() {
        return None;
    }
    let rules: Vec<&str> = verdict.remedy.iter().map(|rule| &**rule).collect();
    let rules = rules.join(", ");
    let lock = loaded.options.permissions.allow_managed_rules_only.as_ref().filter(|lock| lock.value);
    Some(match lock {
        Some(lock) => format!("{rules} in managed settings; no others count, by {}", lock.origin),
        None => rules,
    })
}

/// The reason of a verdict in one sentence, with the command it is about.
pub(crate) fn why(verdict: &Verdict<'_>) -> String {
    match &verdict.about {
        Some(about) => format!("{} (in: {about})", verdict.reason),
        None => verdict.reason.to_string(),
    }
}

fn by(by: &By<'_>) -> String {
    match by {
        By::Rule(rule) => format!("rule {}", rule.origin),
        By::Reading => "only reads".into(),
        By::Mode(mode) => format!("the mode is {mode}"),
        By::Nature => "changes nothing by itself".into(),
        By::Nothing(reason) => format!("not allowed: {reason}"),
    }
}

fn to_json(verdict: &Verdict<'_>) -> Value {
    let only_a_person = verdict.answer == Answer::Ask(Answerer::Person);
    let found: Vec<Value> = listed(verdict).map(found_to_json).collect();
    let remedy: Vec<&str> = verdict.remedy.iter().map(|rule| &**rule).collect();
    json!({
        "verdict": word(verdict.answer),
        "only_a_person": only_a_person,
        "reason": verdict.reason.to_string(),
        "rule": rule_of(&verdict.reason),
        "about": verdict.about.as_deref(),
        "sandboxed": verdict.sandboxed,
        "commands": found,
        "remedy": remedy,
    })
}

fn found_to_json(found: &Found<'_>) -> Value {
    let rule = match &found.by {
        By::Rule(rule) => origin_to_json(&rule.origin),
        By::Nothing(reason) => rule_of(reason),
        By::Reading | By::Mode(_) | By::Nature => Value::Null,
    };
    let allowed = !matches!(found.by, By::Nothing(_));
    json!({ "text": *found.text, "allowed": allowed, "because": by(&found.by), "rule": rule })
}

fn rule_of(reason: &Reason<'_>) -> Value {
    match reason {
        Reason::Rule(rule) | Reason::MayMeet(rule) => origin_to_json(&rule.origin),
        _ => Value::Null,
    }
}
