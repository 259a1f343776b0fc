//! Finds the folder in which plugins keep costly intermediate results from run to run: plans, compiled kernels.
//!
//! It is `cache_folder` of the settings, else `$XDG_CACHE_HOME/proctor`, else `~/.cache/proctor`; each plugin has a
//! folder of its own name in `plugins` there, apart from the host's own files. If that cannot be made or written,
//! plugins get a temporary folder, and the user a warning: a cache saves time, but no run needs one.

use std::{
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use proctor_config::Settings;
use tempfile::TempDir;

/// Folder of the plugins' folders. The host keeps nothing in it: an isolated plugin may write to its folder.
const PLUGINS: &str = "plugins";

/// A folder for the caches of plugins.
#[derive(Debug)]
pub enum CacheFolder {
    /// A folder that stays.
    Lasting(PathBuf),
    /// The folder is removed on drop.
    Temporary(TempDir),
    /// No folder could be found.
    Absent,
}

impl CacheFolder {
    /// Returns the folder that the settings and the environment name, or a temporary one with a warning.
    pub fn open(settings: &Settings) -> Self {
        Self::open_in(settings.run.cache_folder.as_deref(), |name| std::env::var_os(name))
    }

    fn open_in(chosen: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let Some(folder) = chosen.map(Path::to_owned).or_else(|| default_folder(variable)) else {
            return Self::temporary("neither XDG_CACHE_HOME nor HOME names a folder for caches");
        };
        match usable(&folder) {
            Ok(folder) => Self::Lasting(folder),
            Err(error) => {
                Self::temporary(&format!("the cache folder {} cannot be used: {error}", folder.display()))
            }
        }
    }

    fn temporary(reason: &str) -> Self {
        let hint = "choose a folder with --set cache_folder=FOLDER";
        match tempfile::Builder::new().prefix("proctor-cache-").tempdir() {
            Ok(folder) => {
                tracing::warn!("{reason}; what plugins keep is lost at the end: {hint}");
                Self::Temporary(folder)
            }
            Err(error) => {
                tracing::warn!(
                    "{reason}, and no temporary one can be made ({error}); plugins keep nothing: {hint}"
                );
                Self::Absent
            }
        }
    }

    /// Returns the folder of one plugin, creating it if needed; `None` if there is no cache folder, or the
    /// plugin's name is not valid for a folder.
    pub fn of(&self, plugin: &str) -> Option<PathBuf> {
        let caches = match self {
            Self::Lasting(path) => path,
            Self::Temporary(folder) => folder.path(),
            Self::Absent => return None,
        };
        if !is_one_folder(plugin) {
            tracing::warn!("plugin {plugin:?} has no cache folder: its name is not that of a folder");
            return None;
        }
        let folder = caches.join(PLUGINS).join(plugin);
        match std::fs::create_dir_all(&folder) {
            Ok(()) => Some(folder),
            Err(error) => {
                tracing::warn!("cannot make the cache folder {}: {error}", folder.display());
                None
            }
        }
    }
}

/// Returns whether the name leads to a direct subfolder, and nowhere else.
fn is_one_folder(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let first = components.next();
    // Also check it as it stands: components are without the dots and slashes that lead nowhere.
    components.next().is_none() && matches!(first, Some(Component::Normal(only)) if only == name)
}

/// Returns the folder for files made here if the data root takes none: the folder of the settings or of the
/// environment, or a temporary one.
pub fn lasting_folder(settings: &Settings) -> PathBuf {
    let chosen = settings.run.cache_folder.clone();
    let folder = chosen.or_else(|| default_folder(|name| std::env::var_os(name)));
    folder.unwrap_or_else(|| std::env::temp_dir().join("proctor"))
}

/// Returns the default folder of caches by the XDG Base Directory Specification: relative paths do not count.
fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    caches.map(|caches| caches.join("proctor"))
}

/// Creates the folder, and a file in it to test access.
fn usable(folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    std::fs::create_dir_all(&folder)?;
    tempfile::Builder::new().prefix(".probe-").tempfile_in(&folder)?.close()?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(chosen: Option<&Path>, variables: &[(&str, &Path)]) -> CacheFolder {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.as_os_str().to_owned())
        };
        CacheFolder::open_in(chosen, variable)
    }

    fn lasting(folder: &CacheFolder) -> &Path {
        match folder {
            CacheFolder::Lasting(path) => path,
            other => panic!("{other:?} does not last"),
        }
    }

    #[test]
    fn the_first_of_setting_xdg_and_home_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (chosen, xdg, home) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        let both = [("XDG_CACHE_HOME", xdg.as_path()), ("HOME", home.as_path())];
        assert_eq!(lasting(&opened(Some(&chosen), &both)), chosen);
        assert_eq!(lasting(&opened(None, &both)), xdg.join("proctor"));
        assert_eq!(lasting(&opened(None, &both[1..])), home.join(".cache/proctor"));
        // The specification ignores relative paths.
        let relative = [("XDG_CACHE_HOME", Path::new("b")), both[1]];
        assert_eq!(lasting(&opened(None, &relative)), home.join(".cache/proctor"));
    }

    #[test]
    fn each_plugin_has_a_folder_of_its_own_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let cache = opened(Some(folder.path()), &[]);
        let (first, second) = (cache.of("first").unwrap(), cache.of("second").unwrap());
        assert_eq!(
            [&first, &second],
            [&folder.path().join("plugins/first"), &folder.path().join("plugins/second")]
        );
        drop(cache);
        assert!(first.is_dir() && second.is_dir());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the probe is gone");
    }

    #[test]
    fn no_name_leads_to_another_folder_or_to_the_hosts_own() {
        let folder = tempfile::tempdir().unwrap();
        let caches = folder.path().join("caches");
        let cache = opened(Some(&caches), &[]);
        let outside = folder.path().join("outside").display().to_string();
        for name in ["", ".", "..", "../..", "a/b", "a/", "./a", "/", "../../outside", &outside] {
            assert_eq!(cache.of(name), None, "{name:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        for name in ["prepared", "generated", "plugins"] {
            assert_eq!(cache.of(name), Some(caches.join("plugins").join(name)));
        }
        assert_eq!(std::fs::read_dir(caches).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_replaced_by_a_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for cache in [opened(Some(&file), &[]), opened(Some(&file.join("below")), &[]), opened(None, &[])] {
            assert!(matches!(cache, CacheFolder::Temporary(_)), "{cache:?}");
            let path = cache.of("plugin").unwrap();
            assert!(path.is_dir());
            drop(cache);
            assert!(!path.exists());
        }
        assert_eq!(CacheFolder::Absent.of("plugin"), None);
    }
}
