//! The settings of a test of the load generator: the request, its effective values, and LoadGen's files.
//!
//! [`TestSettings`] is the request, a plain value. [`config_file`] changes it as LoadGen's files would.
//! [`EffectiveSettings`] check it and complete it by the rules of the scenario and the counts of the library.
//!
//! [`Rules`] choose the round, and [`rounds`] are data. An [`ArrivalProcess`] draws when the queries of Server are due.

#![forbid(unsafe_code)]

mod arrivals;
pub mod config_file;
mod effective;
mod query_count;
pub mod rounds;
mod rules;
mod test_settings;
mod value;
mod warnings;

pub use arrivals::{
    ArrivalKind, ArrivalProcess,
    offsets::{EvenSpacing, Offsets},
    trace::{Trace, TraceError},
};
pub use effective::{
    Contradiction, EffectiveSettings, RaisedBy,
    check::{MAX_QPS, SettingsError},
};
pub use query_count::{required_query_count, statistical_query_count, tail_margin};
pub use rules::Rules;
pub use test_settings::{FieldInfo, TestSettings};
pub use value::{SettingError, SettingKind, SettingValue};
