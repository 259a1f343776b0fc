//! Configuration files as ours reads them.

use std::path::Path;

use proctor_loadgen::{
    TestSettings,
    config_file::{ConfigFileKind, ConfigFiles, FromConfigError, REPEATED_USER_FILE},
};

use crate::case::{Case, apply};

/// The effect of the configuration files.
pub struct Configured {
    pub settings: TestSettings,
    /// LoadGen's return codes.
    pub codes: Vec<i32>,
    /// LoadGen's log entries about them.
    pub log_texts: Vec<String>,
}

/// Makes the settings of a case, up to its configuration files, which lie in `folder`.
pub fn configure(case: &Case, folder: &Path) -> Configured {
    let mut settings = TestSettings::default();
    apply(&mut settings, &case.settings);
    let mut configured = Configured { settings, codes: Vec::new(), log_texts: Vec::new() };
    let mut files = ConfigFiles::default();
    let mut user_file_count = 0;
    for (number, file) in case.config_files.iter().enumerate() {
        let kind = match file.kind {
            0 => ConfigFileKind::Builtin,
            1 => ConfigFileKind::User,
            _ => ConfigFileKind::Other,
        };
        if kind == ConfigFileKind::User {
            if user_file_count > 0 {
                configured.log_texts.push(REPEATED_USER_FILE.to_owned());
            }
            user_file_count += 1;
        }
        let path = folder.join(format!("config_{number}.conf"));
        let scenario = file.scenario.parse().expect("a scenario's name");
        let result = files.from_config(&path, &file.model, scenario, kind, &mut configured.settings);
        configured.codes.push(result.as_ref().map_or_else(FromConfigError::return_code, |_| 0));
        match result {
            Ok(report) => {
                let texts = report.file.ignored.iter().filter_map(|ignored| ignored.reason.log_text());
                configured.log_texts.extend(texts.map(str::to_owned));
            }
            Err(error) => configured.log_texts.extend(error.log_texts()),
        }
    }
    configured
}
