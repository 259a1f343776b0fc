//! Finds plugins.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fmt::{self, Display},
    path::{Path, PathBuf},
};

use proctor_plugin_api::{linked_plugins, vocabulary::did_you_mean};
use proctor_vocabulary::program;

use crate::{error::PluginHostError, scripts};

/// Environment variable with further folders, separated by colons.
const PATH_VARIABLE: &str = "PROCTOR_PLUGIN_PATH";

/// Location of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginLocation {
    /// Linked into this program, under this name.
    Linked(&'static str),
    /// A shared library, by its absolute path.
    Library(PathBuf),
    /// A class of a file in Python, by its absolute path: of this name, or the only one that is a plugin.
    Script(PathBuf, Option<String>),
}

impl PluginLocation {
    /// Returns whether the plugin is one in another language, which runs in this process alone.
    #[must_use]
    pub fn needs_interpreter(&self) -> bool {
        match self {
            Self::Script(..) => true,
            Self::Linked(name) => scripts::stands_for_scripts(name),
            Self::Library(_) => false,
        }
    }

    /// Returns the name to ask for: of a linked-in plugin its own, of a file the one in its file name.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Linked(name) => (*name).to_owned(),
            Self::Library(path) => {
                let name = path.file_name().and_then(plugin_name);
                name.unwrap_or_else(|| path.display().to_string())
            }
            Self::Script(path, _) => {
                path.file_stem().unwrap_or_default().to_string_lossy().replace('_', "-").to_lowercase()
            }
        }
    }
}

impl fmt::Display for PluginLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linked(name) => write!(f, "{name} (linked in)"),
            Self::Library(path) | Self::Script(path, None) => path.display().fmt(f),
            Self::Script(path, Some(class)) => write!(f, "{}:{class}", path.display()),
        }
    }
}

/// The folders that are searched, in order.
#[derive(Debug, Clone, Default)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
}

impl SearchPath {
    /// `extra`; the folders in `PROCTOR_PLUGIN_PATH`; the folder of the executable, its `deps`, the folder above if it
    /// is itself called `deps`, and the `../lib/proctor` of a package; and, of an executable that lies in a folder of a
    /// build itself, `target/release` and `target/debug` of the current folder and all above.
    #[must_use]
    pub fn standard(extra: &[PathBuf]) -> Self {
        let mut folders = extra.to_vec();
        if let Some(value) = std::env::var_os(PATH_VARIABLE) {
            folders.extend(std::env::split_paths(&value).filter(|folder| !folder.as_os_str().is_empty()));
        }
        if let Some(home) = program().ok().as_deref().and_then(Path::parent) {
            folders.extend(near_the_executable(home));
            if let Ok(here) = std::env::current_dir() {
                folders.extend(builds_above(home, &here));
            }
        }
        Self::new(&folders)
    }

    /// Searches these folders alone; missing ones are left out.
    #[must_use]
    pub fn new(folders: &[PathBuf]) -> Self {
        let mut known = Vec::new();
        for folder in folders.iter().filter_map(|folder| std::fs::canonicalize(folder).ok()) {
            if folder.is_dir() && !known.contains(&folder) {
                known.push(folder);
            }
        }
        Self { folders: known }
    }

    /// Finds a plugin.
    ///
    /// A text that contains a `/` or ends with `.so` is the path of a library; a bare file name is also looked for in
    /// the folders. One that ends with `.py`, or with `.py:` and the name of a class, is the path of a plugin in
    /// Python. Anything else is a name: first of a linked-in plugin, then of a file `lib<name>_sut.so`, with
    /// underscores for the hyphens of the name.
    ///
    /// # Errors
    /// [`PluginHostError::Unusable`] for a path, [`PluginHostError::NotFound`] for a name, with a suggestion.
    pub fn find(&self, name_or_path: &str) -> Result<PluginLocation, PluginHostError> {
        if let Some((path, class)) = scripts::split(name_or_path) {
            let path = absolute_file(Path::new(path))?;
            return Ok(PluginLocation::Script(path, class.map(str::to_owned)));
        }
        if name_or_path.contains('/') {
            return absolute_file(Path::new(name_or_path)).map(PluginLocation::Library);
        }
        if let Some(linked) = linked_names().find(|linked| *linked == name_or_path) {
            return Ok(PluginLocation::Linked(linked.leak()));
        }
        let file = if name_or_path.ends_with(".so") {
            if let Ok(path) = absolute_file(Path::new(name_or_path)) {
                return Ok(PluginLocation::Library(path));
            }
            name_or_path.to_owned()
        } else {
            file_name(name_or_path)
        };
        let found = self.file(&file);
        found.map(PluginLocation::Library).ok_or_else(|| self.not_found(name_or_path, &file))
    }

    /// Returns whether there is a plugin of this name, be it linked in or a file.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        // A file has underscores for the hyphens of its name, so a name with underscores is not a plugin's.
        linked_names().any(|linked| linked == name)
            || !name.contains(['/', '_']) && self.file(&file_name(name)).is_some()
    }

    /// Returns the first file of this name in the folders.
    fn file(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// Returns all available plugins: the linked-in ones, then every `lib*_sut.so`. Of files with one name only the
    /// first is listed, which is the one that [`find`](Self::find) returns.
    #[must_use]
    pub fn list(&self) -> Vec<PluginLocation> {
        let mut names: BTreeSet<String> = linked_names().collect();
        let mut found: Vec<PluginLocation> =
            names.iter().map(|name| PluginLocation::Linked(name.clone().leak())).collect();
        for folder in &self.folders {
            // A build has thousands of other files next to them.
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut files: Vec<_> = entries
                .filter_map(|entry| plugin_name(&entry.file_name()).map(|name| (entry.path(), name)))
                .collect();
            files.sort();
            for (path, name) in files {
                if names.insert(name) && path.is_file() {
                    found.push(PluginLocation::Library(path));
                }
            }
        }
        found
    }

    /// Returns the error for a name whose library would be called `file`.
    fn not_found(&self, name: &str, file: &str) -> PluginHostError {
        let known: Vec<String> = self.list().iter().map(PluginLocation::name).collect();
        let hint = if Path::new(file).is_file() {
            // That folder is not searched: what lies in it may be anybody's.
            format!(" (the one in the current folder is ./{file})")
        } else {
            let near = did_you_mean(name, known.iter().map(String::as_str));
            if near.is_empty() && !known.is_empty() {
                format!(" (there are {})", known.join(", "))
            } else {
                near
            }
        };
        let folders = self.folders.iter().map(|folder| folder.display().to_string());
        let mut looked = vec!["the plugins that are linked in".to_owned()];
        looked.extend(folders);
        PluginHostError::NotFound { name: name.to_owned(), hint, looked: looked.join(", ") }
    }
}

/// Returns the folders that go with an executable in the folder `home`: of a build, and of a package, if it lies in
/// `bin`.
fn near_the_executable(home: &Path) -> Vec<PathBuf> {
    let mut folders = vec![home.to_owned(), home.join("deps")];
    if let Some(above) = home.parent() {
        folders.extend(home.ends_with("deps").then(|| above.to_owned()));
        folders.push(above.join("lib/proctor"));
    }
    folders
}

/// Returns the folders of builds of the folder `here` and all above, for an executable from a build in the folder
/// `home`. A program that is installed takes nothing from there: what lies above a folder that is shared may be
/// anybody's.
fn builds_above(home: &Path, here: &Path) -> Vec<PathBuf> {
    if !home.ancestors().any(|folder| folder.ends_with("target")) {
        return Vec::new();
    }
    let targets = here.ancestors().map(|folder| folder.join("target"));
    targets.flat_map(|target| [target.join("release"), target.join("debug")]).collect()
}

fn linked_names() -> impl Iterator<Item = String> {
    linked_plugins().map(|plugin| (plugin.name)())
}

/// Returns the file name of a plugin: `libcpu_rnn_sut.so` for `cpu-rnn`.
fn file_name(plugin: &str) -> String {
    format!("lib{}_sut.so", plugin.replace('-', "_"))
}

/// Returns the plugin name of a file: `cpu-rnn` for `libcpu_rnn_sut.so`.
fn plugin_name(file: &OsStr) -> Option<String> {
    let stem = file.to_str()?.strip_prefix("lib")?.strip_suffix("_sut.so")?;
    Some(stem.replace('_', "-"))
}

/// Returns the error of a file that is missing or cannot be read.
pub(crate) fn unreadable(path: &Path, reason: &dyn Display) -> PluginHostError {
    PluginHostError::Unusable(format!("cannot read the plugin {}: {reason}", path.display()))
}

fn absolute_file(path: &Path) -> Result<PathBuf, PluginHostError> {
    let error = |reason: String| unreadable(path, &reason);
    let absolute = std::fs::canonicalize(path).map_err(|cause| error(cause.to_string()))?;
    if absolute.is_file() { Ok(absolute) } else { Err(error("it is not a file".into())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[&str]) -> (tempfile::TempDir, SearchPath) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        let path = SearchPath::new(&[folder.path().to_owned()]);
        (folder, path)
    }

    #[test]
    fn a_name_is_a_file_with_underscores() {
        let (_folder, path) = folder_with(&["libcpu_rnn_sut.so", "libm.so", "notes.txt"]);
        let found = path.find("cpu-rnn").unwrap();
        assert_eq!(found.name(), "cpu-rnn");
        assert!(found.to_string().ends_with("/libcpu_rnn_sut.so"));
        assert_eq!(path.find("libcpu_rnn_sut.so").unwrap(), found);
        assert_eq!(path.find(&found.to_string()).unwrap(), found);
        assert_eq!(path.list(), [found]);
        let there = ["cpu-rnn", "cpu_rnn", "m", "../cpu-rnn", ""].map(|name| path.has(name));
        assert_eq!(there, [true, false, false, false, false]);
    }

    #[test]
    fn a_plugin_in_python_is_a_file_and_perhaps_a_class() {
        let (folder, path) = folder_with(&["my_sut.py"]);
        let file = folder.path().canonicalize().unwrap().join("my_sut.py");
        let file = file.to_str().unwrap();
        let found = path.find(file).unwrap();
        assert_eq!((found.name().as_str(), found.to_string().as_str()), ("my-sut", file));
        let of_class = format!("{file}:Digits");
        assert_eq!(path.find(&of_class).unwrap().to_string(), of_class);
        let message = path.find("no_sut.py:Digits").unwrap_err().to_string();
        assert!(message.starts_with("cannot read the plugin no_sut.py: "), "{message}");
    }

    #[test]
    fn the_plugins_of_a_build_and_of_a_package_are_near_the_executable() {
        let near = |home: &str| near_the_executable(Path::new(home));
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(near("/opt/p/bin"), paths(&["/opt/p/bin", "/opt/p/bin/deps", "/opt/p/lib/proctor"]));
        let test = ["/t/debug/deps", "/t/debug/deps/deps", "/t/debug", "/t/debug/lib/proctor"];
        assert_eq!(near("/t/debug/deps"), paths(&test));
    }

    #[test]
    fn builds_are_searched_by_a_program_of_a_build_alone() {
        let builds = |home: &str| builds_above(Path::new(home), Path::new("/w/a"));
        let found = ["/w/a/target", "/w/target", "/target"];
        let found =
            found.iter().flat_map(|target| ["release", "debug"].map(|kind| format!("{target}/{kind}")));
        let found: Vec<_> = found.map(PathBuf::from).collect();
        for home in
            ["/p/target/release", "/p/target/debug/deps", "/p/target/x86_64-unknown-linux-gnu/release"]
        {
            assert_eq!(builds(home), found, "{home}");
        }
        for home in ["/opt/proctor/bin", "/usr/bin", "/p/targets/release", "/w/a"] {
            assert_eq!(builds(home), [] as [PathBuf; 0], "{home}");
        }
    }

    #[test]
    fn the_first_folder_wins() {
        let (first, _) = folder_with(&["liba_sut.so"]);
        let (second, _) = folder_with(&["liba_sut.so", "libb_sut.so"]);
        let path = SearchPath::new(&[first.path().to_owned(), second.path().to_owned()]);
        assert_eq!(path.list().iter().map(PluginLocation::name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(
            path.find("a")
                .unwrap()
                .to_string()
                .starts_with(first.path().canonicalize().unwrap().to_str().unwrap())
        );
    }

    #[test]
    fn what_is_not_found_lists_where_it_looked_and_what_is_near() {
        let (folder, path) = folder_with(&["libcpu_rnn_sut.so"]);
        let message = path.find("cpu-rn").unwrap_err().to_string();
        assert!(message.contains("did you mean \"cpu-rnn\"?"), "{message}");
        assert!(message.contains(folder.path().canonicalize().unwrap().to_str().unwrap()), "{message}");
        let message = path.find("opencl").unwrap_err().to_string();
        assert!(message.contains("(there are cpu-rnn)"), "{message}");
        let message = path.find("./no.so").unwrap_err().to_string();
        assert!(message.starts_with("cannot read the plugin ./no.so: "), "{message}");
        let message = path.find("/").unwrap_err().to_string();
        assert_eq!(message, "cannot read the plugin /: it is not a file");
    }
}
