//! LoadGen's `FromConfig`, whose recordings and live runs ours is compared with: it opens a file, applies the built-in
//! text first, and returns a code.

use std::{fs, path::Path};

use proctor_loadgen::{
    TestSettings,
    config_file::{BUILTIN, ConfigFileKind, LogError, apply},
};
use proctor_vocabulary::Scenario;

/// The memory that LoadGen keeps of the configuration files of a process, which makes a second settings object lose the
/// built-in values.
#[derive(Default)]
pub struct ConfigFiles {
    user_file_count: u64,
}

/// The effect of one call.
pub struct Applied {
    /// LoadGen's return code: 0, -2 (ENOENT) or -22 (EINVAL).
    pub code: i32,
    /// LoadGen's entries in the detail log, under `error_invalid_config`.
    pub errors: Vec<LogError>,
}

impl ConfigFiles {
    /// Applies a file to `settings`. The first `user.conf` is preceded by the built-in text, which stays applied if the
    /// file fails.
    ///
    /// Source: LoadGen 6.0.17, `TestSettings::FromConfig`.
    pub fn apply_file(
        &mut self,
        path: &Path,
        model: &str,
        scenario: Scenario,
        kind: ConfigFileKind,
        settings: &mut TestSettings,
    ) -> Applied {
        let mut apply_text = |text: &str, kind| apply(text, kind, model, scenario, settings);
        let mut errors = Vec::new();
        if kind == ConfigFileKind::User {
            self.user_file_count += 1;
            if self.user_file_count > 1 {
                errors.push(LogError::RepeatedUserFile);
            } else {
                apply_text(BUILTIN, ConfigFileKind::Builtin).expect("the built-in text is well formed");
            }
        }
        let text = match kind {
            ConfigFileKind::Builtin => BUILTIN.to_owned(),
            // LoadGen compares bytes; non-UTF-8 text can be part of an unknown key at most.
            _ => match fs::read(path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(_) => {
                    errors.push(LogError::Unreadable(path.to_owned()));
                    return Applied { code: -2, errors };
                }
            },
        };
        let result = apply_text(&text, kind);
        errors.extend(LogError::of(&result));
        Applied { code: if result.is_ok() { 0 } else { -22 }, errors }
    }
}
