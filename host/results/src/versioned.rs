//! Files of JSON with a version.

use std::path::Path;

use proctor_vocabulary::{not_text, read_regular};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ResultsError;

/// Version of the form of all these files, which runs and campaigns write and readers want.
pub const SCHEMA_VERSION: u32 = 1;

/// Reads a JSON file of the known version: typed, and as it is. `what` names it in errors, such as `result`.
///
/// # Errors
/// [`ResultsError::Read`], [`ResultsError::Version`], or [`ResultsError::Malformed`] with the place of the fault.
pub(crate) fn read_versioned<T: DeserializeOwned>(
    path: &Path,
    what: &str,
) -> Result<(T, Value), ResultsError> {
    let bytes = read_regular(path).map_err(|source| ResultsError::Read { path: path.to_owned(), source })?;
    let malformed = |fault| ResultsError::Malformed { path: path.to_owned(), fault };
    let cut = |error: serde_json::Error| {
        let reason = not_text(&bytes).map_or_else(|| error.to_string(), str::to_owned);
        malformed(format!("is no whole {what} of this program: {reason}"))
    };
    let json: Value = serde_json::from_slice(&bytes).map_err(cut)?;
    // Before the form, which another version may have changed.
    let known = u64::from(SCHEMA_VERSION);
    match json.get("schema_version").and_then(Value::as_u64) {
        Some(version) if version == known => {}
        Some(version) => return Err(ResultsError::Version { path: path.to_owned(), version, known }),
        None => return Err(malformed(format!("has no schema_version, and is no {what} of this program"))),
    }
    // From the text and not from the value, so that an error has its line.
    let typed = serde_json::from_slice(&bytes).map_err(cut)?;
    Ok((typed, json))
}
