//! `host run --engine both`: a run by each load generator.

use std::{ffi::OsString, path::Path};

use proctor_bed::Interrupt;
use proctor_campaigns::{RunEnd, both_engines};
use proctor_config::{EngineChoice, Loader, Origin, Settings};
use proctor_display::Terminal;
use proctor_plugin_host::process;
use proctor_words::{Conclusion, HostError};

use super::run::{RunCommand, this_program};

/// Returns whether the flags of a run ask for both engines.
pub(super) fn are_wanted(run: &RunCommand) -> bool {
    let [engine] = run.run.apply(Loader::from_system()).glance(["engine"]);
    engine.is_some_and(|name| name.eq_ignore_ascii_case(EngineChoice::Both.name()))
}

/// Makes both runs, and says whether they agree.
///
/// # Errors
/// If the settings are wrong, or a run has no result.
pub(super) fn run(run: &RunCommand) -> Result<Conclusion, HostError> {
    let settings = run.run.load()?;
    let interrupt = Interrupt::install(Terminal::with_format(run.format()))?;
    let ended = both_engines(&settings, &interrupt, |engine, output| {
        this_program(arguments(run, &settings, engine, output))
    });
    match ended? {
        RunEnd::Concluded(conclusion) => Ok(conclusion),
        RunEnd::Failed(code) => process::end(code),
    }
}

/// Returns the arguments of one of the runs.
fn arguments(run: &RunCommand, settings: &Settings, engine: EngineChoice, output: &Path) -> Vec<OsString> {
    let mut flags = run.run.clone();
    flags.settings = flags.settings.without("output_folder").without("engine");
    flags.settings = flags.settings.with("engine", Some(engine.name()));
    // By itself the host's own load generator would follow another round.
    if matches!(settings.origin("rules"), Some(Origin::Engine { .. })) {
        flags.settings = flags.settings.with("rules", Some(settings.run.rules.name));
    }
    flags.keep_assignments(|key| key != "output_folder" && key != "engine");
    run.arguments(&flags, output)
}
