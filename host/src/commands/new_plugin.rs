//! `host new-plugin`: scaffolds a complete, runnable plugin.

use std::{
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use proctor_plugin_api::abi::PROCTOR_NAME_LENGTH_MAX;
use proctor_vocabulary::program;
use proctor_words::{CommandError, HostError, UsageError};

/// Flags of `host new-plugin`.
#[derive(Debug, Args)]
pub(crate) struct NewPluginFlags {
    /// Name of the plugin: lower-case letters, digits and hyphens, as in `my-chip`
    name: String,
    /// Language of the plugin
    #[arg(long)]
    lang: Language,
    /// Folder to create [default: the name, in the current folder]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Rust: folder of the crate proctor-plugin-api [default: `plugin-api` in the current folder, the folder of this
    /// program, or a parent of either]
    #[arg(long, value_name = "FOLDER")]
    plugin_api: Option<PathBuf>,
}

pub(super) const NEW_PLUGIN_HELP: &str = "\
Examples:
  host new-plugin my-chip --lang c         then: cd my-chip && ./run.sh
  host new-plugin my-chip --lang cpp
  host new-plugin my-chip --lang python
  host new-plugin my-chip --lang rust --plugin-api ../proctor/plugin-api";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    /// C99, with proctor_plugin.h
    C,
    /// C++17, with proctor_plugin.hpp
    Cpp,
    /// Rust, with the crate proctor-plugin-api
    Rust,
    /// Python, with NumPy and the package proctor
    Python,
}

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../templates/", $path))
    };
}

const README: (&str, &str) = ("README.md", template!("README.md"));
const RUN: (&str, &str) = ("run.sh", template!("run.sh"));
const VALIDATE: (&str, &str) = ("validate.sh", template!("validate.sh"));
const C_HEADER: (&str, &str) =
    ("include/proctor_plugin.h", include_str!("../../../plugin-api/include/proctor_plugin.h"));
const CPP_HEADER: (&str, &str) =
    ("include/proctor_plugin.hpp", include_str!("../../../plugin-api/include/proctor_plugin.hpp"));

impl Language {
    /// Returns the names and contents of the files of a plugin in this language.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::C => &[
                README,
                RUN,
                VALIDATE,
                ("build.sh", template!("c/build.sh")),
                ("plugin.c", template!("c/plugin.c")),
                ("network.c", template!("c/network.c")),
                ("network.h", template!("c/network.h")),
                C_HEADER,
            ],
            Self::Cpp => &[
                README,
                RUN,
                VALIDATE,
                ("build.sh", template!("cpp/build.sh")),
                ("plugin.cpp", template!("cpp/plugin.cpp")),
                ("network.hpp", template!("cpp/network.hpp")),
                C_HEADER,
                CPP_HEADER,
            ],
            Self::Rust => &[
                README,
                RUN,
                VALIDATE,
                ("build.sh", template!("rust/build.sh")),
                ("plugin.rs", template!("rust/plugin.rs")),
                ("network.rs", template!("rust/network.rs")),
                ("Cargo.toml", template!("rust/Cargo.toml.txt")),
            ],
            Self::Python => &[
                ("README.md", template!("python/README.md")),
                ("run.sh", template!("python/run.sh")),
                ("validate.sh", template!("python/validate.sh")),
                ("@FILE@_sut.py", template!("python/plugin.py")),
            ],
        }
    }
}

impl NewPluginFlags {
    /// Writes the files, and returns the next steps.
    ///
    /// # Errors
    /// If the name is not valid for a plugin, the folder exists already or cannot be made, or, in Rust, the
    /// crate is not found.
    pub(super) fn run(&self) -> Result<String, HostError> {
        let name = &self.name;
        if !is_name(name) {
            let length_max = PROCTOR_NAME_LENGTH_MAX;
            return Err(CommandError::PluginName { name: name.clone(), length_max }.into());
        }
        let plugin_api = match self.lang {
            Language::Rust => toml_string(&self.find_plugin_api()?)?,
            Language::C | Language::Cpp | Language::Python => String::new(),
        };
        let folder = self.output.clone().unwrap_or_else(|| PathBuf::from(name));
        let cannot = |error: io::Error| CommandError::NewPlugin { folder: folder.clone(), error };
        make_new_folder(&folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CommandError::NewPluginThere(folder.clone()),
            _ => cannot(error),
        })?;
        // The name has nothing that any of the languages would have to escape.
        let filled_in = |template: &str| {
            template
                .replace("@NAME@", name)
                .replace("@FILE@", &name.replace('-', "_"))
                .replace("@PLUGIN_API@", &plugin_api)
        };
        let mut files = self.lang.files().iter();
        let written =
            files.try_for_each(|(file, template)| write(&folder.join(filled_in(file)), &filled_in(template)));
        written.map_err(|source| {
            // Half a plugin is useless, and would be in the way of the next try.
            let _ = fs::remove_dir_all(&folder);
            cannot(source)
        })?;
        let folder = folder.display();
        let next = if self.lang == Language::Python { "run" } else { "build it and run" };
        Ok(format!("made {folder}; {next} a benchmark with it:\n\n    {folder}/run.sh\n"))
    }

    fn find_plugin_api(&self) -> Result<PathBuf, HostError> {
        let is_crate =
            |folder: &Path| folder.join("src/lib.rs").is_file() && folder.join("Cargo.toml").is_file();
        let here = std::env::current_dir().unwrap_or_default();
        let host = program().unwrap_or_default();
        let mut candidates: Vec<PathBuf> = match &self.plugin_api {
            Some(folder) => vec![here.join(folder)],
            None => {
                here.ancestors().chain(host.ancestors()).map(|folder| folder.join("plugin-api")).collect()
            }
        };
        candidates.retain(|folder| is_crate(folder));
        candidates.first().and_then(|folder| folder.canonicalize().ok()).ok_or_else(|| {
            HostError::Usage(UsageError::Stated(
                "the crate proctor-plugin-api, which a plugin in Rust needs, is not there: name its folder with \
                 --plugin-api",
            ))
        })
    }
}

/// Returns a path as a string of TOML, with its quotes.
fn toml_string(path: &Path) -> Result<String, HostError> {
    let text = path.to_str().ok_or_else(|| CommandError::NotUtf8(path.to_owned()))?;
    // Whatever JSON escapes, TOML escapes in the same way.
    Ok(serde_json::Value::from(text).to_string())
}

fn is_name(name: &str) -> bool {
    let is_of_words = name.split('-').all(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    let is_short = name.len() <= PROCTOR_NAME_LENGTH_MAX;
    is_short && is_of_words && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Creates a folder that must not exist yet, and its parents.
fn make_new_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(folder)
}

/// Writes a new file and the folders above it. A script may be executed.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = if path.extension().is_some_and(|extension| extension == "sh") { 0o777 } else { 0o666 };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_words() {
        assert!(["my-chip", "a", "npu2-fast"].iter().all(|name| is_name(name)));
        assert!(
            ["", "My", "my_chip", "2nd", "-a", "a-", "a--b", "a/b", "ä"].iter().all(|name| !is_name(name))
        );
        assert!(is_name(&"a".repeat(128)) && !is_name(&"a".repeat(129)));
    }

    #[test]
    fn a_path_in_toml_is_in_quotes_and_escaped() {
        let text = toml_string(Path::new("/a b/\"c\"/\\d\n")).unwrap();
        assert_eq!(text, r#""/a b/\"c\"/\\d\n""#);
    }
}
