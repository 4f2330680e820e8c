//! `palisade probe`.

use crate::failure::{SANDBOX_FAILED, print, say};
use crate::options::ProbeOptions;
use crate::policy::in_force;
use palisade::{Probe, ProbedBridge};
use serde_json::{Value, json};

/// Prints what the probe found, with the programs that the settings in force name; the exit status says whether the
/// sandbox runs here.
pub(crate) fn probe(options: &ProbeOptions) -> u8 {
    let in_force = match in_force(&options.rules) {
        Ok(in_force) => in_force,
        Err(failure) => {
            say(&failure.message);
            return failure.status;
        }
    };
    let probe = palisade::probe(&in_force.loaded.policy);
    let text = if options.json { format!("{}\n", to_json(&probe)) } else { to_text(&probe) };
    let printed = print(&text);
    if let Err(failure) = &printed {
        say(&failure.message);
    }
    if let Some(cause) = probe.cause.as_ref().filter(|_| !options.json) {
        say(&format!("the sandbox cannot run here: {cause}"));
    }
    if probe.is_available() && printed.is_ok() { 0 } else { SANDBOX_FAILED }
}

fn to_text(probe: &Probe) -> String {
    let mut text = String::new();
    if let Some((path, version)) = &probe.bubblewrap {
        text.push_str(&format!("bubblewrap: {path} ({version})\n"));
    }
    match &probe.bridge {
        Some(ProbedBridge::Namespaces) => {
            text.push_str("bridge: listeners made in the sandbox's network namespace from outside\n");
        }
        Some(ProbedBridge::Socat(path)) => text.push_str(&format!("bridge: socat ({path})\n")),
        None => {}
    }
    if probe.is_available() {
        text.push_str("The sandbox runs here.\n");
    }
    text
}

fn to_json(probe: &Probe) -> Value {
    let bubblewrap = probe
        .bubblewrap
        .as_ref()
        .map(|(path, version)| json!({ "path": path.to_string(), "version": version }));
    let bridge = probe.bridge.as_ref().map(|bridge| match bridge {
        ProbedBridge::Namespaces => "namespaces",
        ProbedBridge::Socat(_) => "socat",
    });
    json!({
        "available": probe.is_available(),
        "backend": "bubblewrap",
        "bridge": bridge,
        "bubblewrap": bubblewrap,
        "reason": probe.cause.as_ref().map(ToString::to_string),
    })
}
