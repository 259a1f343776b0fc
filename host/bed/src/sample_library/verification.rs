//! A check of every file of a data set, which the program `host-data` makes.

use std::process::{Command, Stdio};

use proctor_config::Settings;
use proctor_datasets::{DataRoot, Open, dataset_entries, is_published};
use proctor_results::VerificationPart;
use proctor_vocabulary::program;
use proctor_words::{DataError, HostError};

use super::published::{BUILD, PROGRAM};
use crate::files::dataset_folder::dataset_folder;

/// Checks every file of the data set of a benchmark. Defects are part of the outcome. Progress goes to stderr.
///
/// # Errors
/// If the data set or the program is not there, or the program fails.
pub fn verify_dataset(settings: &Settings, root: &DataRoot) -> Result<VerificationPart, HostError> {
    let dataset = &settings.benchmark.dataset;
    let entry = dataset_entries().into_iter().find(|entry| entry.name == *dataset);
    let folder = match entry.map(|entry| entry.open) {
        _ if is_published(dataset) => Some(dataset_folder(settings, root)?),
        Some(Open::Bundled { folder, .. } | Open::Obtained { folder, .. }) => Some(root.find(folder)?),
        // The program refuses a name that it does not know, with the near match.
        _ => None,
    };
    let own = program().map_err(|error| DataError::NoProgram { program: PROGRAM, error })?;
    let program = own.with_file_name(PROGRAM);
    let mut command = Command::new(&program);
    command.args(["verify", dataset.as_str(), "--json"]);
    if let Some(folder) = folder {
        command.arg("--folder").arg(folder);
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| {
        let (dataset, program) = (dataset.clone(), program.clone());
        DataError::NotStarted { dataset, program, build: BUILD, error }
    })?;
    // It ends with 1 where there are defects, and with another code and no answer where it cannot look.
    if !matches!(output.status.code(), Some(0 | 1)) {
        let (dataset, ended) = (dataset.clone(), output.status);
        return Err(DataError::NotVerified { dataset, program: PROGRAM, ended }.into());
    }
    let verified = serde_json::from_slice(&output.stdout);
    verified.map_err(|error| DataError::OtherVersion { program, error }.into())
}
