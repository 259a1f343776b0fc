//! Old and new on both sides of the boundary: plugins and hosts built from the header of ABI 1.0 as it is kept, from
//! the present one, and from a later minor version as it may be one day, in which every structure that can grow has
//! grown.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_plugin_api::abi::PROCTOR_ABI_MINOR;
use proctor_tests::{Bench, WorkspaceCopy, compile_against, files_of_workspace, plugin, workspace};

use crate::plugins::vendor_plugin;

/// Structures that never grow: they stand inside others, by value.
const FIXED: [&str; 1] = ["ProctorString"];

/// The header of the first version, of this one, or of a later one made from it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    First,
    Now,
    Later,
}

impl Version {
    const ALL: [Self; 3] = [Self::First, Self::Now, Self::Later];

    fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Now => "now",
            Self::Later => "later",
        }
    }

    /// The version as results have it.
    fn number(self) -> String {
        let minor = match self {
            Self::First => 0,
            Self::Now => PROCTOR_ABI_MINOR,
            Self::Later => PROCTOR_ABI_MINOR + 1,
        };
        format!("1.{minor}")
    }

    /// Writes the header to a folder of its own, and returns that.
    fn include(self, folder: &Path) -> PathBuf {
        let file =
            |name: &str| fs::read_to_string(workspace().join("plugin-api/include").join(name)).unwrap();
        let header = match self {
            Self::First => file("frozen/proctor_plugin_1.0.h"),
            Self::Now => file("proctor_plugin.h"),
            Self::Later => later(&file("proctor_plugin.h")),
        };
        let include = folder.join(format!("include-{}", self.name()));
        fs::create_dir_all(&include).unwrap();
        fs::write(include.join("proctor_plugin.h"), header).unwrap();
        include
    }
}

/// The header with the next minor version and three words more at the end of each structure that can grow.
fn later(header: &str) -> String {
    let mut grown = 0;
    let mut text = String::new();
    for line in header.lines() {
        let ended = line.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';'));
        if ended.is_some_and(|name| !FIXED.contains(&name)) {
            text += "  uint64_t appended_later[3];\n";
            grown += 1;
        }
        // They state the sizes of this version.
        if !line.starts_with("PROCTOR_ASSERT(Proctor") {
            text += line;
            text.push('\n');
        }
    }
    assert!(
        grown > 25,
        "only {grown} structures have grown: the header has another form than this test expects"
    );
    let minor = |minor: u32| format!("#define PROCTOR_ABI_MINOR {minor}");
    text.replace(&minor(PROCTOR_ABI_MINOR), &minor(PROCTOR_ABI_MINOR + 1))
}

/// The C plugin, built against a version.
fn zeros(version: Version, folder: &Path) -> Option<PathBuf> {
    compile_against(
        &version.include(folder),
        "null_plugin.c",
        &[],
        folder,
        &format!("zeros{}", version.name()),
    )
}

#[test]
fn this_host_runs_plugins_of_every_version() {
    let bench = Bench::new();
    for version in Version::ALL {
        let Some(library) = zeros(version, bench.path()) else { return };
        for issue in [false, true] {
            let run = bench.run(&format!(
                "--plugin {} --scenario Offline --set issue={issue} --mode performance --set min_query_count=700",
                library.display()
            ));
            let result = run.assert_valid().result();
            assert_eq!(result["plugin"]["abi_version"], version.number(), "{}", run.finished);
        }
    }
}

#[test]
fn a_host_of_every_version_runs_plugins_of_all() {
    let bench = Bench::new();
    let folder = bench.path();
    let mut plugins = vec![plugin("null")];
    for version in Version::ALL {
        let Some(library) = zeros(version, folder) else { return };
        plugins.push(library);
    }
    for version in Version::ALL {
        let host = folder.join(format!("mini_host_{}", version.name()));
        let compiled = Command::new("cc")
            .args(["-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(version.include(folder))
            .arg("-o")
            .arg(&host)
            .arg(workspace().join("tests/fixtures/c/mini_host.c"))
            .arg("-ldl")
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        for plugin in &plugins {
            let run = Command::new(&host).arg(plugin).output().unwrap();
            let text = String::from_utf8_lossy(&run.stdout);
            assert!(
                run.status.success() && text.ends_with("3 samples executed, 3 completed\n"),
                "host {version:?}, plugin {}: {text}{}",
                plugin.display(),
                String::from_utf8_lossy(&run.stderr)
            );
        }
    }
}

/// Three words at the end of every structure that can grow, in the module with the types.
fn grow_types(text: &str) -> (String, usize) {
    let (mut grown, mut count, mut structure) = (String::new(), 0, None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("pub struct ") {
            structure = name.split([' ', '{']).next().filter(|name| !FIXED.contains(name));
        }
        if line == "}" && structure.take().is_some() {
            grown += "    /// Appended later.\n    pub appended_later: [u64; 3],\n";
            count += 1;
        }
        grown += line;
        grown.push('\n');
    }
    let minor = |minor: u32| format!("PROCTOR_ABI_MINOR: u32 = {minor};");
    (grown.replace(&minor(PROCTOR_ABI_MINOR), &minor(PROCTOR_ABI_MINOR + 1)), count)
}

/// The three words wherever a value of such a structure is made: `abi::Name {`, and then `field: `.
fn grow_values(text: &str) -> (String, usize) {
    let (mut grown, mut count) = (String::new(), 0);
    let mut pieces = text.split("abi::Proctor");
    grown += pieces.next().unwrap_or_default();
    for piece in pieces {
        let (name, rest) = piece.split_at(piece.find(|c: char| !c.is_alphanumeric()).unwrap_or(piece.len()));
        let before = grown.rsplit('\n').next().unwrap_or_default();
        let is_return_type = before.trim_end().ends_with("->");
        let first = rest.strip_prefix(" {").map(str::trim_start).unwrap_or_default();
        let after = first.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        let is_value = first.len() > after.len() && after.starts_with(": ") && !is_return_type;
        grown += "abi::Proctor";
        grown += name;
        if is_value && !FIXED.contains(&format!("Proctor{name}").as_str()) {
            grown += " { appended_later: [7; 3],";
            grown += &rest[2..];
            count += 1;
        } else {
            grown += rest;
        }
    }
    (grown, count)
}

/// Makes the crate for plugins one of a later minor version.
fn grow_in_rust(files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let (mut types, mut values) = (0, 0);
    for (path, bytes) in files.iter_mut() {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (grown, count) = if path.starts_with("plugin-api/src/abi") {
            let (grown, count) = grow_types(&text);
            types += count;
            (grown, count)
        } else if path.starts_with("plugin-api/src/authoring") {
            let (grown, count) = grow_values(&text);
            values += count;
            (grown, count)
        } else {
            continue;
        };
        if count > 0 || grown.contains("PROCTOR_ABI_MINOR") {
            *bytes = grown.into_bytes();
        }
    }
    assert!(types > 25 && values > 5, "{types} structures have grown, and {values} values of them");
}

#[test]
fn this_host_runs_a_plugin_in_rust_of_a_later_version() {
    let mut files = files_of_workspace();
    grow_in_rust(&mut files);
    // It is made of the same packages as a vendor's plugin, with the same features.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("later");
    let copy = WorkspaceCopy::write_with(&folder, files, &vendor_plugin::built());
    copy.cargo(&["build", "--quiet", "--package", "proctor-null-export"]);
    let library = vendor_plugin::library(&copy.target().join("debug"));
    let bench = Bench::new();
    for issue in [false, true] {
        let run = bench.run(&format!(
            "--plugin {} --scenario Offline --set issue={issue} --mode performance --set min_query_count=700",
            library.display()
        ));
        let result = run.assert_valid().result();
        assert_eq!(result["plugin"]["abi_version"], Version::Later.number(), "{}", run.finished);
    }
}
