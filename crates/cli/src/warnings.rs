//! What the library warns of while a command is prepared, runs and ends, on standard error and at once.
//!
//! What the attacker controls: the command may bring about as many warnings as it likes, and names in them. So there is
//! an end of them, and what steers a terminal is escaped.

use crate::failure::say;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// How many are told. The library has limits of its own for each kind.
const MOST_TOLD: usize = 1000;

/// Has warnings be told from now on.
pub(crate) fn tell() {
    // Nobody else in this program sets one.
    let _ = tracing::subscriber::set_global_default(OnStandardError::default());
}

#[derive(Default)]
struct OnStandardError {
    told: AtomicUsize,
}

impl Subscriber for OnStandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN && metadata.target().split("::").next() == Some("palisade")
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        match self.told.fetch_add(1, Ordering::Relaxed) {
            0..MOST_TOLD => event.record(&mut Message),
            MOST_TOLD => say("warning: further warnings are left out"),
            _ => {}
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Says the message of an event.
struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            say(&format!("warning: {value:?}"));
        }
    }
}
