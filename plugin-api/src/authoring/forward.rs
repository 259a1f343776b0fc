//! Sends events of `tracing` inside a plugin's library through the host's table: the library has a `tracing`
//! of its own, which the host's subscriber never sees. Its spans stay here, except for stages of a batch.

use std::{
    cell::Cell,
    fmt::{self, Write},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::{host::Host, stage::spans};
use crate::abi;

/// Sends this image's events to `host`, unless the image has a subscriber already: a plugin that is linked into the
/// host shares the host's.
pub(super) fn install(host: Host) {
    host.keep_as_latest();
    // An error means that a subscriber is there, and that is fine.
    let _ = tracing::subscriber::set_global_default(Forward { host });
}

struct Forward {
    host: Host,
}

thread_local! {
    /// True while an event of this thread is on its way to the host.
    static IS_FORWARDING: Cell<bool> = const { Cell::new(false) };
}

impl Subscriber for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // A stage is no line of the log.
        spans::is_stage(metadata) || log_code(*metadata.level()) <= self.host.log_level()
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        spans::id_of(span.metadata())
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        // A host that a plugin is linked into may have no subscriber of its own: then its log comes back here.
        if IS_FORWARDING.replace(true) {
            return;
        }
        let mut line = Line(String::new());
        event.record(&mut line);
        self.host.log(log_code(*event.metadata().level()), event.metadata().target(), &line.0);
        IS_FORWARDING.set(false);
    }

    fn enter(&self, span: &span::Id) {
        spans::enter(span);
    }

    fn exit(&self, span: &span::Id) {
        spans::exit(span);
    }
}

/// Returns the `PROCTOR_LOG` level of the table for a level of `tracing`.
#[must_use]
pub fn log_code(level: Level) -> u32 {
    match level {
        Level::ERROR => abi::PROCTOR_LOG_ERROR,
        Level::WARN => abi::PROCTOR_LOG_WARN,
        Level::INFO => abi::PROCTOR_LOG_INFO,
        Level::DEBUG => abi::PROCTOR_LOG_DEBUG,
        Level::TRACE => abi::PROCTOR_LOG_TRACE,
    }
}

/// The message, and then each field as `name=value`.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String does not fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}
