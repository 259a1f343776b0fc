//! `host replay`: repeats the calls of a recording on another build of the plugin, and reports where the two differ.
//!
//! A replay is recorded, too, and then the two recordings are compared. The host gives the plugin the same calls, so
//! any difference comes from the plugin. Calls come one after another in the order in which they began; a query is
//! issued once as many samples are completed as were in the recording.

mod comparison;
mod player;
mod recorded;
mod replayed_instance;
mod text;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use proctor_bed::{
    Equipment, Interrupt, TestBed,
    published::{Published, open_counted},
    recording, watch_without_folder,
};
use proctor_config::{Loader, Settings};
use proctor_plugin_host::{Call, PluginHostError, RecordedPlugin};
use proctor_words::{Conclusion, HostError, UsageError};

use self::{comparison::Comparison, player::Player, recorded::Recorded};

/// Environment variables with paths of this machine.
const PLACES: &[&str] = &["PROCTOR_DATA_ROOT", "PROCTOR_PLUGIN_PATH", "PROCTOR_CACHE_FOLDER"];

/// A replay to be made.
#[derive(Debug, Clone)]
pub struct Replay {
    /// Folder of the recording.
    pub recording: PathBuf,
    /// Name of the plugin, or path of its library.
    pub plugin: String,
    /// Folder for the recording of the replay; if `None`, a temporary one that is removed afterwards.
    pub output: Option<PathBuf>,
    /// Folder of the data sets and models.
    pub data_root: Option<PathBuf>,
    /// Settings and options that differ from the recording's, as `--set` takes them.
    pub changed: Vec<String>,
}

/// Runs a replay, and returns the comparison in words, and whether nothing differs.
///
/// # Errors
/// If the recording cannot be read, or the replay cannot be made for another reason than the plugin.
pub fn replay(replay: &Replay, interrupt: &Interrupt) -> Result<(String, Conclusion), HostError> {
    let recorded = Recorded::read(&replay.recording)?;
    let Some(plugin) = &recorded.plugin else {
        return Err(UsageError::RecordingEnds(replay.recording.clone()).into());
    };
    let temporary = tempfile::tempdir();
    let temporary = temporary.map_err(|source| HostError::Output { path: env::temp_dir(), source })?;
    let folder = replay.output.clone().unwrap_or_else(|| temporary.path().to_owned());
    let mut settings = settings(replay, &recorded, plugin, &folder)?;
    // A data set with fewer samples than the benchmark makes the library smaller, as it did in the run.
    let (published, _) = open_counted(&mut settings)?;
    watch_without_folder(&settings, interrupt)?;
    let gave_up = play(&settings, published, &recorded, interrupt)?;
    let replayed = Recorded::read(&folder)?;
    let comparison = Comparison { gave_up, ..Comparison::new(&recorded, &replayed) };
    let conclusion = if comparison.is_same() { Conclusion::Good } else { Conclusion::Bad };
    Ok((text::in_words(replay, &recorded, &replayed, &comparison), conclusion))
}

/// Returns the settings of the recorded run, with another plugin, and recorded to another folder.
fn settings(
    replay: &Replay,
    recorded: &Recorded,
    plugin: &RecordedPlugin,
    folder: &Path,
) -> Result<Settings, HostError> {
    const ORIGIN: &str = "the recording";
    let place =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let here = env::vars_os().filter_map(place).filter(|(name, _)| PLACES.contains(&name.as_str()));
    let mut loader = Loader::new().environment(here);
    for (key, value) in &recorded.settings {
        loader = loader.flag(ORIGIN, key, value);
    }
    if let Some(precision) = recorded.argument("precision") {
        loader = loader.flag(ORIGIN, "precision", precision);
    }
    if recorded.settings.get("virtual_time").is_none_or(|value| value != "true") {
        loader = loader.flag(ORIGIN, "issue", recorded.takes_queries().to_string());
    }
    for (option, value) in recorded.arguments(Call::Open).into_iter().flatten() {
        loader = loader.flag(ORIGIN, format!("{}.{option}", plugin.name), value);
    }
    let data_root = replay.data_root.as_ref().map(|path| path.display());
    loader = loader.optional_flag("--data-root", "data_root", data_root);
    loader = loader.flag("--plugin", "plugin", &replay.plugin);
    loader = loader.flag("--output", "record", folder.display().to_string());
    let settings = loader.set_all(&replay.changed).load()?;
    let recorded_virtual = recorded.settings.get("virtual_time").is_some_and(|value| value == "true");
    let is_virtual = settings.run.virtual_time;
    if is_virtual != recorded_virtual {
        return Err(UsageError::VirtualTime { is_virtual }.into());
    }
    Ok(settings)
}

/// Makes the calls, and returns why it gave up before the last, if it did. The failure of one is part of the
/// comparison.
fn play(
    settings: &Settings,
    published: Option<Published>,
    recorded: &Recorded,
    interrupt: &Interrupt,
) -> Result<Option<String>, HostError> {
    let equipment = Equipment { published, ..Equipment::of(settings) };
    let bed = match TestBed::open(settings, equipment, interrupt) {
        Ok(bed) => bed,
        Err(HostError::Plugin(PluginHostError::CallFailed { .. })) => return Ok(None),
        Err(error) => return Err(error),
    };
    let recorder = bed.plugin.recorder.clone();
    let played = Player::new(&bed, interrupt).play(recorded);
    interrupt.replaying("closing the plugin");
    drop(bed);
    recording::end(recorder.as_ref())?;
    played
}
