//! What of the network a command reaches. Servers of the tests on the host's loopback stand for it.
//!
//! Nothing here leaves the machine: addresses outside of loopback are asked for only where no way leads to them, and are
//! ones that nobody has.

mod clients;
mod reach;
mod refusals;
mod streams;

use palisade_tests::{Palisade, Project};

/// `palisade run` that may reach `hosts`.
fn allowing(project: &Project, hosts: &[&str]) -> Palisade {
    project.run().options(hosts.iter().flat_map(|host| ["--allow-host", host]))
}

/// A line that asks the proxy `how` for each of `targets`; see the script.
fn ask(project: &Project, how: &str, targets: &[&str]) -> String {
    project.write("ask.py", include_str!("network/ask.py"));
    format!(
        "python3 ask.py {how} {}",
        targets.iter().map(|target| format!("'{target}'")).collect::<Vec<_>>().join(" ")
    )
}
