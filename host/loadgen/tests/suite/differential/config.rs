//! Configuration files as ours reads them.

use std::path::Path;

use proctor_loadgen::{
    TestSettings,
    config_file::{ConfigFileKind, LogError},
};

use crate::{
    differential::case::{Case, apply},
    from_config::ConfigFiles,
};

/// The effect of the configuration files.
pub struct Configured {
    pub settings: TestSettings,
    /// LoadGen's return codes.
    pub codes: Vec<i32>,
    /// LoadGen's log entries about them.
    pub errors: Vec<LogError>,
}

/// Derives the settings of a case, up to its configuration files, which lie in `folder`.
pub fn configure(case: &Case, folder: &Path) -> Configured {
    let mut settings = TestSettings::default();
    apply(&mut settings, &case.settings);
    let mut configured = Configured { settings, codes: Vec::new(), errors: Vec::new() };
    let mut files = ConfigFiles::default();
    for (number, file) in case.config_files.iter().enumerate() {
        let kind = match file.kind {
            0 => ConfigFileKind::Builtin,
            1 => ConfigFileKind::User,
            _ => ConfigFileKind::Other,
        };
        let path = folder.join(format!("config_{number}.conf"));
        let scenario = file.scenario.parse().expect("a scenario's name");
        let applied = files.apply_file(&path, &file.model, scenario, kind, &mut configured.settings);
        configured.codes.push(applied.code);
        configured.errors.extend(applied.errors);
    }
    configured
}
