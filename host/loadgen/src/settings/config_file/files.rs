//! LoadGen's work around one file: open it, apply the built-in text first, return a code.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use proctor_vocabulary::Scenario;

use super::{
    apply::{ConfigFileReport, apply},
    kind::{BUILTIN, ConfigFileKind},
    parse::ConfigFileError,
};
use crate::settings::test_settings::TestSettings;

/// LoadGen's error when a process applies more than one `user.conf`, under `error_invalid_config`.
pub const REPEATED_USER_FILE: &str =
    "Multiple conf files are used. This is not valid for official submission.";

/// The memory that LoadGen keeps of the configuration files of a process.
///
/// LoadGen has one of these for the whole process, which makes a second settings object lose the built-in values.
/// Here the caller decides how long it lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConfigFiles {
    user_files: u64,
}

/// Applies the text of an `audit.config` as LoadGen does at the start of a test: for any model, and without the
/// privileges of the built-in text, so that it cannot change the seeds.
///
/// # Errors
/// Every line in error; `settings` is unchanged then.
pub fn apply_audit(
    text: &str,
    settings: &mut TestSettings,
) -> Result<ConfigFileReport, Vec<ConfigFileError>> {
    apply(text, ConfigFileKind::Other, "*", settings.scenario, settings)
}

/// The effect of one call of [`ConfigFiles::from_config`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FromConfigReport {
    /// The effect of the file itself.
    pub file: ConfigFileReport,
    /// Whether this was not the first `user.conf`. The built-in values are not applied then, and LoadGen logs the
    /// error "Multiple conf files are used. This is not valid for official submission."
    pub repeated_user_file: bool,
}

/// Why a configuration file was not applied.
#[derive(Debug, thiserror::Error)]
pub enum FromConfigError {
    /// The file cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    CannotRead {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Lines of the file are in error.
    #[error("{}: {}", path.display(), errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Every line in error.
        errors: Vec<ConfigFileError>,
    },
}

impl FromConfigError {
    /// LoadGen's return code: -2 (ENOENT) or -22 (EINVAL).
    #[must_use]
    pub fn return_code(&self) -> i32 {
        match self {
            Self::CannotRead { .. } => -2,
            Self::Syntax { .. } => -22,
        }
    }

    /// The texts that LoadGen logs of it, under `error_invalid_config`.
    #[must_use]
    pub fn log_texts(&self) -> Vec<String> {
        match self {
            Self::CannotRead { path, .. } => vec![format!("can't open file {}", path.display())],
            Self::Syntax { errors, .. } => errors.iter().map(ConfigFileError::log_text).collect(),
        }
    }
}

impl ConfigFiles {
    /// Applies a file to `settings` as LoadGen's `FromConfig` does.
    ///
    /// [`ConfigFileKind::Builtin`] ignores the path and applies the built-in text. The first
    /// [`ConfigFileKind::User`] file is preceded by the built-in text, which stays applied if the file fails.
    ///
    /// # Errors
    /// If the file cannot be read or has lines in error; nothing of it is applied then.
    ///
    /// Source: LoadGen 6.0.17, `TestSettings::FromConfig`.
    pub fn from_config(
        &mut self,
        path: &Path,
        model: &str,
        scenario: Scenario,
        kind: ConfigFileKind,
        settings: &mut TestSettings,
    ) -> Result<FromConfigReport, FromConfigError> {
        let mut builtin = || {
            apply(BUILTIN, ConfigFileKind::Builtin, model, scenario, settings)
                .expect("the built-in text is well formed, as a test shows")
        };
        if kind == ConfigFileKind::Builtin {
            return Ok(FromConfigReport { file: builtin(), repeated_user_file: false });
        }
        let mut repeated_user_file = false;
        if kind == ConfigFileKind::User {
            if self.user_files == 0 {
                builtin();
            }
            repeated_user_file = self.user_files > 0;
            self.user_files += 1;
        }
        // LoadGen compares bytes; whatever is not UTF-8 can be part of an unknown key at most.
        let bytes =
            fs::read(path).map_err(|source| FromConfigError::CannotRead { path: path.to_owned(), source })?;
        let file = apply(&String::from_utf8_lossy(&bytes), kind, model, scenario, settings)
            .map_err(|errors| FromConfigError::Syntax { path: path.to_owned(), errors })?;
        Ok(FromConfigReport { file, repeated_user_file })
    }
}
