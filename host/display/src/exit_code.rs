//! The exit codes of the programs.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | the run is VALID and its accuracy passed |
//! | 1 | the run is complete, but INVALID, or its accuracy failed |
//! | 2 | a flag or a setting is wrong |
//! | 3 | the plugin cannot be loaded or used |
//! | 4 | a data set, a model or another input file is missing or damaged |
//! | 5 | the results or the answer cannot be written |
//! | 70 | the plugin crashed or ended the program; the report is in the run folder |
//! | 130 | interrupted |

use proctor_loadgen::LoadGenError;
use proctor_plugin_host::PluginHostError;
use proctor_words::{Conclusion, HostError};

/// The codes for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    VALID, and the accuracy passed
  1    the run is complete, but INVALID, or its accuracy failed
  2    a flag or a setting is wrong
  3    the plugin cannot be loaded or used
  4    a data set, a model or another input file is missing or damaged
  5    the results or the answer cannot be written
  70   the plugin crashed or ended the program; see the report in the run folder
  130  interrupted";

/// The code of a wrong flag or setting.
pub const SETTINGS: i32 = 2;
/// The code of a plugin that cannot be loaded or used.
pub const PLUGIN: i32 = 3;
/// The code of data, models or other input files that are missing or damaged.
pub const DATA: i32 = 4;
/// The code of results or an answer that cannot be written.
pub const OUTPUT: i32 = 5;
/// Exit code for a defect of the program itself, as in Rust.
pub(crate) const PANICKED: i32 = 101;

/// Returns the code of an error that left no result.
pub fn of_error(error: &HostError) -> i32 {
    match error {
        HostError::Settings(_) | HostError::Usage(_) | HostError::Scheduler(_) => SETTINGS,
        HostError::Scaling(_) | HostError::Search(_) | HostError::Command(_) => SETTINGS,
        HostError::Plugin(PluginHostError::Option { .. }) => SETTINGS,
        HostError::Plugin(_) | HostError::PluginCannot(_) | HostError::InputForm { .. } => PLUGIN,
        HostError::Dataset(_) | HostError::Recipe(_) | HostError::Preprocess(_) => DATA,
        HostError::Sample { .. } | HostError::Prepared(_) => DATA,
        HostError::Data(_) | HostError::Accuracy(_) => DATA,
        HostError::LoadGen(LoadGenError::Load(load)) if load.error.is::<PluginHostError>() => PLUGIN,
        HostError::LoadGen(LoadGenError::Load(_)) => DATA,
        HostError::LoadGen(_) => SETTINGS,
        HostError::Output { .. } | HostError::Folder(_) | HostError::Answer(_) => OUTPUT,
        HostError::Timeline { .. } => OUTPUT,
        HostError::Interrupted(_) => Conclusion::Interrupted.exit_code(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use proctor_loadgen::LoadError;
    use proctor_words::FolderError;

    use super::*;

    #[test]
    fn every_code_of_a_program_is_in_its_help() {
        let conclusions = [Conclusion::Good, Conclusion::Bad, Conclusion::Interrupted];
        let of_errors = [SETTINGS, PLUGIN, DATA, OUTPUT, 70];
        for code in conclusions.into_iter().map(Conclusion::exit_code).chain(of_errors) {
            let is_its_line = |line: &str| line.split_whitespace().next() == Some(&code.to_string());
            assert!(EXIT_CODES.lines().any(is_its_line), "{code}");
        }
    }

    #[test]
    fn files_that_cannot_be_written_have_a_code_of_their_own() {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(of_error(&HostError::Output { path: "a".into(), source }), OUTPUT);
        assert_eq!(of_error(&HostError::Folder(FolderError::Missing("b".into()))), OUTPUT);
    }

    #[test]
    fn a_library_that_does_not_load_is_the_fault_of_data_or_of_the_plugin() {
        let load = |error: Box<dyn std::error::Error + Send + Sync>| {
            let load = LoadError { library: "samples".to_owned(), sample_count: 1, error };
            of_error(&HostError::LoadGen(load.into()))
        };
        assert_eq!(load(Box::new(io::Error::other("torn"))), DATA);
        let missing = proctor_plugin_host::SearchPath::standard(&[]).find("no-such-plugin").unwrap_err();
        assert_eq!(load(Box::new(missing)), PLUGIN);
    }
}
