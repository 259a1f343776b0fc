//! Settings: the request of a test, what applies of it, and LoadGen's files that set it.

pub(crate) mod arrivals;
pub mod config_file;
pub(crate) mod effective;
pub(crate) mod log_output;
pub(crate) mod query_count;
pub mod rounds;
pub(crate) mod rules;
pub(crate) mod test_settings;
pub(crate) mod value;
pub(crate) mod wait_policy;
mod warnings;
