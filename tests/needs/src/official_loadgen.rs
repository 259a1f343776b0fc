//! The official LoadGen behind a pipe.

use std::path::Path;

use crate::python::PythonPipe;

/// The folder into which `cargo xtask setup` puts the package, as [`python_packages`](crate::python_packages) takes it.
pub const LOADGEN_PACKAGE: &str = "target/mlcommons-loadgen-6.0.17";

/// The script that runs cases on it, from the folder of this crate.
const DRIVER: &str = "../../host/loadgen/tests/suite/differential/driver.py";

/// Settings of older rounds, which the official program no longer knows.
const OURS_ALONE: [&str; 2] = ["rules", "multi_stream_interval_ms"];

/// Starts the driver of the official LoadGen, which takes a case as a line of JSON and gives its outcome as another.
///
/// # Errors
/// Returns the reason why it cannot run here.
pub fn official_loadgen() -> Result<PythonPipe, String> {
    PythonPipe::start(&Path::new(env!("CARGO_MANIFEST_DIR")).join(DRIVER), LOADGEN_PACKAGE)
}

/// Tells if the official LoadGen has this setting of ours as well.
#[must_use]
pub fn is_official_setting(name: &str) -> bool {
    !OURS_ALONE.contains(&name)
}
