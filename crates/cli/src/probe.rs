//! `palisade probe`.

use crate::failure::{SANDBOX_FAILED, print, say};
use crate::options::ProbeOptions;
use palisade::Probe;
use serde_json::{Value, json};

/// Prints what the probe found; the exit status says whether the sandbox runs here.
pub(crate) fn probe(options: &ProbeOptions) -> u8 {
    let probe = palisade::probe();
    if options.json {
        print(&format!("{}\n", to_json(&probe)));
    } else {
        tell(&probe);
    }
    if probe.is_available() { 0 } else { SANDBOX_FAILED }
}

fn tell(probe: &Probe) {
    if let Some((path, version)) = &probe.bubblewrap {
        print(&format!("bubblewrap: {path} ({version})\n"));
    }
    match &probe.cause {
        None => print(
            "bridge: listeners made in the sandbox's network namespace from outside\nThe sandbox runs here.\n",
        ),
        Some(cause) => say(&format!("the sandbox cannot run here: {cause}")),
    }
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
