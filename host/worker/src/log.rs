//! The log of this process, which the host keeps.

use std::fmt::{self, Write as _};

use proctor_isolated::protocol::Event as Report;
use proctor_plugin_api::{abi, log_code};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};

use crate::reports::Reports;

/// Sends every line that is as important as this `PROCTOR_LOG` level to the host, and all progress.
pub(crate) fn start(level: u32, reports: &Reports) {
    let log = ToHost { level, reports: reports.clone() };
    tracing::subscriber::set_global_default(log).expect("nobody else wants the log of this process");
}

struct ToHost {
    level: u32,
    reports: Reports,
}

impl Subscriber for ToHost {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Progress is reported at this level.
        log_code(*metadata.level()) <= self.level.max(abi::PROCTOR_LOG_INFO)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.level {
            0..=abi::PROCTOR_LOG_INFO => LevelFilter::INFO,
            abi::PROCTOR_LOG_DEBUG => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = log_code(*event.metadata().level());
        let Line { message, source, done, total } = line;
        if let (Some(done), Some(total)) = (done, total) {
            self.reports.tell(&Report::Progress { done, total, task: message });
        } else if level <= self.level {
            self.reports.tell(&Report::Log { level, source: source.unwrap_or_default(), message });
        }
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

/// A line, with the fields that the plugin host adds to it.
#[derive(Default)]
struct Line {
    message: String,
    source: Option<String>,
    done: Option<u64>,
    total: Option<u64>,
}

impl Visit for Line {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "done" => self.done = Some(value),
            "total" => self.total = Some(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "source" => self.source = Some(value.to_owned()),
            // The host knows.
            "plugin" => {}
            "message" => self.message.push_str(value),
            name => _ = write!(self.message, " {name}={value}"),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String does not fail.
        let _ = match field.name() {
            "plugin" => Ok(()),
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.message, " {name}={value:?}"),
        };
    }
}
