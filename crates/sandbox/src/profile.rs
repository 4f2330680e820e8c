//! What confines a command, written down for a person: bubblewrap's arguments and the filter's rows, or a Seatbelt
//! profile.

use crate::error::Error;
use crate::plan::Plan;
use palisade_bwrap::Mount;
use palisade_bwrap::filter::Filter;
use palisade_policy::Confinement;
use palisade_seatbelt::profile;
use std::fmt::Write;
use std::num::NonZeroU16;

/// Who confines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// bubblewrap and seccomp, on Linux.
    Bubblewrap,
    /// Seatbelt, on macOS. Its profiles can be shown everywhere; nothing runs under them yet.
    Seatbelt,
}

/// The proxy's ports in a profile that is only shown.
const SHOWN_PORTS: [NonZeroU16; 2] =
    [NonZeroU16::MIN.saturating_add(61_079), NonZeroU16::MIN.saturating_add(61_080)];

/// One option a line, then one refused call a line.
pub(crate) fn bubblewrap(plan: &Plan) -> String {
    let attached = plan.attachments.iter().flat_map(|attachments| attachments.mounts.steps());
    bubblewrap_text(&plan.arguments, attached, plan.unix_sockets)
}

fn bubblewrap_text<'a>(
    arguments: &[Vec<u8>],
    attached: impl Iterator<Item = &'a Mount>,
    unix_sockets: bool,
) -> String {
    let mut text = String::from("bwrap");
    for word in arguments {
        let shown = word.escape_ascii();
        let is_option = word.starts_with(b"--");
        let _ = if is_option { write!(text, "\n  {shown}") } else { write!(text, " {shown}") };
    }
    for (index, step) in attached.enumerate() {
        let heading = if index == 0 { "\nmounted on top of that" } else { "" };
        let _ = write!(text, "{heading}\n  {step}");
    }
    text.push_str("\nseccomp");
    for row in (Filter { unix_sockets }).rows() {
        let _ = write!(text, "\n  {row}");
    }
    text.push('\n');
    text
}

pub(crate) fn seatbelt(confinement: &Confinement) -> Result<String, Error> {
    let profile = profile(confinement, &SHOWN_PORTS).map_err(|error| Error::Unenforceable {
        rule: "this policy".into(),
        reason: format!("under Seatbelt: {error}"),
    })?;
    Ok(profile.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::AbsPath;

    #[test]
    fn options_stand_on_lines_of_their_own_and_bytes_are_escaped() {
        let words = [&b"--ro-bind"[..], b"/a\nb", b"/a\nb", b"--chdir", b"/\xff"].map(<[u8]>::to_vec);
        let attached = [Mount::HideFile(AbsPath::new("/b\n").expect("absolute"))];
        let text = bubblewrap_text(&words, attached.iter(), false);
        let start = "bwrap\n  --ro-bind /a\\nb /a\\nb\n  --chdir /\\xff\nmounted on top of that\n  hidden file /b\\n\nseccomp\n";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("unshare"), "{text}");
    }
}
