//! LoadGen's configuration files: `mlperf.conf`, `user.conf`, `audit.config`.
//!
//! [`apply`] reads the text of one file and changes a [`TestSettings`](crate::TestSettings) exactly as
//! LoadGen would, quirks included. It also returns information that LoadGen does not report: which setting
//! came from which line ([`Applied`]) and which lines had no effect and why ([`Ignored`]).
//!
//! [`BUILTIN`] is the built-in `mlperf.conf`: the values of LoadGen 6.0.17, in a file of our own making.

mod apply;
mod ignored;
mod kind;
pub(crate) mod log_error;
mod number;
mod parse;
mod rules;

pub use apply::{Applied, ConfigFileReport, OtherModel, apply, apply_audit, apply_named};
pub use ignored::{Ignored, IgnoredReason};
pub use kind::{BUILTIN, ConfigFileKind};
pub use log_error::LogError;
pub use number::percent_of_share;
pub use parse::{ConfigFileError, ConfigFileErrorKind};
pub use rules::{config_keys, is_builtin_only, scenario_of_setting, setting_of_key};
