//! The kinds of configuration files, and the built-in one.

/// The built-in `mlperf.conf`, with the values of LoadGen 6.0.17.
pub const BUILTIN: &str = include_str!("mlperf.conf");

/// Privileges of a file.
///
/// Source: LoadGen 6.0.17, the `conf_type` argument of `FromConfig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFileKind {
    /// `mlperf.conf`: the only kind that may set the seeds, the accuracy-log probability and test 05. Code 0.
    Builtin,
    /// `user.conf`. Code 1.
    User,
    /// Any other file, such as `audit.config`. Code 2.
    Other,
}
