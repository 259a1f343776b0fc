//! Plugins that are written in the language of an interpreter whose process this is.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use proctor_plugin_api::LinkedPlugin;

use crate::error::PluginHostError;

/// Ending of a file with a plugin in Python.
const ENDING: &str = ".py";

/// A linked-in plugin that stands for one in another language, and takes its place from a file.
#[derive(Debug, Clone, Copy)]
pub struct Scripts {
    /// Name of the linked-in plugin.
    pub name: &'static str,
    /// Runs a file, and makes the plugin in it the one that the linked-in plugin stands for: the class of this name, or
    /// the only one.
    pub take: fn(&Path, Option<&str>) -> Result<(), String>,
    /// Returns the file of the plugin that it stands for, if there is one.
    pub file: fn() -> Option<PathBuf>,
}

static INSTALLED: OnceLock<Scripts> = OnceLock::new();

/// Says that this process can run plugins in another language. The first call decides.
pub fn install_scripts(scripts: Scripts) {
    // A second call could only be about the same interpreter.
    let _ = INSTALLED.set(scripts);
}

/// Returns whether the linked-in plugin of this name stands for plugins in another language.
pub(crate) fn stands_for_scripts(name: &str) -> bool {
    INSTALLED.get().is_some_and(|scripts| scripts.name == name)
}

/// Returns whether this names a plugin in Python: `my_sut.py`, or `my_sut.py:Class`.
#[must_use]
pub fn is_script(name_or_path: &str) -> bool {
    split(name_or_path).is_some()
}

/// Returns the path of a plugin in Python, and the name of its class if there is one.
pub(crate) fn split(name_or_path: &str) -> Option<(&str, Option<&str>)> {
    if name_or_path.ends_with(ENDING) {
        return Some((name_or_path, None));
    }
    let (path, class) = name_or_path.rsplit_once(':')?;
    path.ends_with(ENDING).then_some((path, Some(class)))
}

/// Makes the plugin in a file the one that the linked-in plugin stands for. Returns the name of that one.
///
/// # Errors
/// If this process is no interpreter, or there is no such plugin in the file.
pub(crate) fn take(file: &Path, class: Option<&str>) -> Result<&'static str, PluginHostError> {
    let scripts = INSTALLED.get().ok_or_else(|| PluginHostError::NoInterpreter(file.to_owned()))?;
    (scripts.take)(file, class).map_err(PluginHostError::Unusable)?;
    Ok(scripts.name)
}

/// Returns whether a linked-in plugin stands for one in another language.
pub(crate) fn stands_in(plugin: &LinkedPlugin) -> bool {
    INSTALLED.get().is_some_and(|scripts| (plugin.name)() == scripts.name)
}

/// Returns the file that the code of a linked-in plugin comes from, if that is not the program.
pub(crate) fn file_of(plugin: &LinkedPlugin) -> Option<PathBuf> {
    let scripts = INSTALLED.get().filter(|scripts| (plugin.name)() == scripts.name)?;
    (scripts.file)()
}
