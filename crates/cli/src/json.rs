//! The one JSON object about a run, for whoever started it.

use crate::failure::Failure;
use crate::run::End;
use nix::errno::Errno;
use palisade_policy::{Evidence, Violation};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

/// Where the object goes: a descriptor that was open when the program started. It is not passed to the command.
pub(crate) struct JsonOutput(File);

impl JsonOutput {
    pub(crate) fn open(fd: i32) -> Result<Self, Failure> {
        let opened = match fd {
            1 => std::io::stdout().as_fd().try_clone_to_owned(),
            2 => std::io::stderr().as_fd().try_clone_to_owned(),
            fd => palisade::duplicate_inherited(fd),
        };
        opened
            .map(|fd| JsonOutput(fd.into()))
            .map_err(|error| Failure::new("JSON_OUTPUT", unusable(fd, &error)))
    }

    /// Writes the object. That nobody reads it any more is no failure of the command's.
    pub(crate) fn write(mut self, object: &Value) {
        let _ = self.0.write_all(format!("{object}\n").as_bytes());
    }
}

fn unusable(fd: i32, error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(number) if number == Errno::EBADF as i32 => {
            format!(
                "--json={fd}: descriptor {fd} is not open; have the shell open it, as in --json={fd} {fd}>report.json"
            )
        }
        _ => format!("--json={fd}: descriptor {fd}: {error}"),
    }
}

pub(crate) fn of_end(end: &End) -> Value {
    let End { status, unsandboxed_reason, violations, left_out } = end;
    let violations: Vec<Value> = violations.iter().map(of_violation).collect();
    let mut sandbox = json!({
        "sandboxed": unsandboxed_reason.is_none(),
        "violations": violations,
        "violations_left_out": left_out,
    });
    if let Some(reason) = unsandboxed_reason {
        sandbox["unsandboxed_reason"] = json!(reason.code());
    }
    json!({ "status": status, "sandbox": sandbox })
}

pub(crate) fn of_failure(failure: &Failure) -> Value {
    json!({ "status": failure.status, "error": { "code": failure.code, "message": failure.message } })
}

fn of_violation(violation: &Violation) -> Value {
    let evidence = match violation.evidence {
        Evidence::Proxy => "proxy",
        Evidence::Stderr => "stderr",
    };
    json!({
        "action": violation.action(),
        "target": violation.target(),
        "reason": violation.reason,
        "evidence": evidence,
        "remedy": violation.remedy,
    })
}
