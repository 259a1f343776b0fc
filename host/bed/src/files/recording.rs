//! The recording of a run: its head, its beginning and its end.

use std::{collections::BTreeMap, path::Path};

use proctor_config::Settings;
use proctor_plugin_host::{Head, Line, LoadedPlugin, RECORDING_VERSION, RecordedPlugin, Recorder};
use proctor_words::{HostError, UsageError};

/// Settings that a recording leaves out: they belong to the machine, or make no difference to a plugin.
const LEFT_OUT: &[&str] = &[
    "plugin",
    "plugin_path",
    "data_root",
    "engine",
    "loadgen",
    "python",
    "output_folder",
    "cache_folder",
    "record",
    "audit_config",
    "strict",
    "enable_trace",
    "floor",
    "noise",
    "copy_summary_to_stdout",
    "copy_detail_to_stdout",
];

/// Begins the recording that the settings ask for, if they do.
///
/// # Errors
/// If there is one in that folder already, it cannot be written, or the plugin has a process of its own.
pub(crate) fn begin(settings: &Settings) -> Result<Option<Recorder>, HostError> {
    let Some(folder) = &settings.run.record else { return Ok(None) };
    if settings.run.isolate {
        let text =
            "--record and --isolate do not go together: a recording is made in the process of the host";
        return Err(UsageError::Stated(text).into());
    }
    let head = Head {
        recording: RECORDING_VERSION,
        program: concat!("proctor ", env!("CARGO_PKG_VERSION")).to_owned(),
        settings: given(settings),
    };
    let recorder = Recorder::create(folder, head);
    recorder.map(Some).map_err(|source| not_begun(folder, source))
}

fn not_begun(folder: &Path, source: std::io::Error) -> HostError {
    if source.kind() == std::io::ErrorKind::AlreadyExists {
        return UsageError::RecordingThere(folder.to_owned()).into();
    }
    HostError::Output { path: folder.to_owned(), source }
}

/// Returns the settings that differ from the defaults, the preset and the benchmark. Plugin options are in
/// the open call instead.
fn given(settings: &Settings) -> BTreeMap<String, String> {
    let effective = settings.effective.iter();
    let kept = effective.filter(|(key, effective)| {
        effective.origin.is_user() && !key.contains('.') && !LEFT_OUT.contains(&key.as_str())
    });
    kept.map(|(key, effective)| (key.clone(), effective.value.to_string())).collect()
}

/// Writes the identity of the plugin.
pub(crate) fn name_plugin(recorder: &Recorder, library: &LoadedPlugin) {
    let (manifest, identity) = (library.manifest(), library.identity());
    recorder.write(&Line::Plugin(RecordedPlugin {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        abi: format!("{}.{}", identity.abi_major, identity.abi_minor),
        sha256: library.sha256().map(str::to_owned),
    }));
}

/// Writes that the run has ended, and says whether the recording is whole.
///
/// # Errors
/// If it could not be written.
pub fn end(recorder: Option<&Recorder>) -> Result<(), HostError> {
    let Some(recorder) = recorder else { return Ok(()) };
    recorder.write(&Line::End);
    recorder.finish().map_err(|source| HostError::Output { path: recorder.path().to_owned(), source })
}
