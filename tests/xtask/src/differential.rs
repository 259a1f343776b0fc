//! `cargo xtask differential`: ours and the official LoadGen, in random settings.

use anyhow::Result;

use crate::{
    command::{cargo, run as run_command},
    python,
};

pub(crate) const LONG_ABOUT: &str = "Compare the load generator with the official one in random settings.

The same comparison as in cargo xtask test, with as many cases as wanted. It needs the Python package mlcommons-loadgen, \
which is set up first. A difference that is not listed ends it with the smallest case that shows it, to be run alone.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask differential --cases 2000 --seed 7";

/// Runs the differential test alone.
///
/// # Errors
/// If it cannot be run, or finds a difference.
pub(crate) fn compare(cases: u32, seed: u64) -> Result<()> {
    python::set_up(&python::LOADGEN);
    run_command(
        cargo("test -p proctor-loadgen --test suite differential:: -- --nocapture")
            .env("PROCTOR_DIFFERENTIAL_CASES", cases.to_string())
            .env("PROCTOR_DIFFERENTIAL_SEED", seed.to_string()),
    )
}
