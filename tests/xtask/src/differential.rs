//! `cargo xtask differential`: ours and the official LoadGen, in random settings.

use anyhow::Result;

use crate::{
    command::{cargo, run as run_command},
    python,
};

pub(crate) const LONG_ABOUT: &str = "Compare the load generator with the official one under random settings.

The comparison of cargo xtask test with any number of cases. It first sets up the Python package mlcommons-loadgen. An \
unlisted difference stops it and prints the smallest case that shows the difference, ready to run on its own.";

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
