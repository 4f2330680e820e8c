//! `palisade probe`.

use crate::failure::{SANDBOX_FAILED, print, say};
use crate::options::ProbeOptions;
use palisade::Probe;
use serde_json::{Value, json};

/// Prints what the probe found; the exit status says whether the sandbox runs here.
pub(crate) fn probe(options: &ProbeOptions) -> u8 {
    let probe = palisade::probe();
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
    if probe.is_available() {
        text.push_str("bridge: listeners made in the sandbox's network namespace from outside\n");
        text.push_str("The sandbox runs here.\n");
    }
    text
}

fn to_json(probe: &Probe) -> Value {
    let bubblewrap = probe
        .bubblewrap
        .as_ref()
        .map(|(path, version)| json!({ "path": path.to_string(), "version": version }));
    json!({
        "available": probe.is_available(),
        "backend": "bubblewrap",
        "bridge": probe.is_available().then_some("namespaces"),
        "bubblewrap": bubblewrap,
        "reason": probe.cause.as_ref().map(ToString::to_string),
    })
}
