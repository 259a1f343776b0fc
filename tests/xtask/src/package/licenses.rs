//! Licences of the registry crates that are linked into programs and plugins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{cargo, metadata, output};

/// Beginnings of the names of files that have to be passed on with a crate, in lower case.
const FILES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// A crate that is linked in.
#[derive(Debug)]
struct Crate {
    /// Name and version.
    name: String,
    /// The licence as an SPDX expression, or the file that has it.
    license: String,
    /// Address of its published sources.
    repository: String,
    /// Names and contents of the files to pass on.
    files: Vec<(String, String)>,
}

/// Returns a page with name, version, licence and licence texts of each registry crate that is linked into the products
/// of these packages of the workspace. A text that several crates share appears once.
///
/// # Errors
/// If cargo fails, or if a crate has no licence: then it may not be passed on.
pub(crate) fn page(packages: &[&str]) -> Result<String> {
    let linked = linked(packages)?;
    let metadata = metadata()?;
    let all = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let mut crates = Vec::new();
    for package in all.iter().filter(|package| package["source"].is_string()) {
        let name = format!("{} {}", text(package, "name"), text(package, "version"));
        if linked.contains(&name) {
            crates.push(read_crate(name, package)?);
        }
    }
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(render(&crates))
}

/// Returns the name and version of each crate that is linked into the products of these packages, our own among them.
fn linked(packages: &[&str]) -> Result<BTreeSet<String>> {
    // Procedural macros and build scripts run where the program is built, and are no part of it.
    let mut tree = cargo("tree --locked --edges normal,no-proc-macro --prefix none --format {p}");
    for package in packages {
        tree.args(["--package", package]);
    }
    let tree = output(&mut tree)?;
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
    };
    Ok(tree.lines().filter_map(name).collect())
}

fn read_crate(name: String, package: &Value) -> Result<Crate> {
    let license_file = text(package, "license_file");
    let license = match (text(package, "license"), license_file) {
        ("", "") => bail!("the crate {name} has no licence, so it may not be passed on"),
        ("", file) => format!("see {file}"),
        // Older crates put a slash where SPDX has a word.
        (license, _) => license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR "),
    };
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().with_context(|| format!("the crate {name} lies nowhere"))?;
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && (file == license_file || is_to_be_passed_on(&file)) {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.push((file, tidied(&String::from_utf8_lossy(&bytes))));
        }
    }
    files.sort();
    Ok(Crate { name, license, repository: text(package, "repository").to_owned(), files })
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

fn is_to_be_passed_on(file: &str) -> bool {
    let file = file.to_lowercase();
    FILES.iter().any(|beginning| file.starts_with(beginning)) && !file.ends_with(".rs")
}

/// Returns a text without irrelevant differences: ends of lines, and blank lines around it.
fn tidied(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn render(crates: &[Crate]) -> String {
    let mut page =
        "Crates from registries that are linked into program and plugins, with their licences as SPDX \
                    expressions; the texts follow.\n\n"
            .to_owned();
    let mut texts = BTreeMap::<&str, Vec<String>>::new();
    for it in crates {
        let note = if it.files.is_empty() { " (no text among its files)" } else { "" };
        // Writing to a text does not fail.
        let _ = writeln!(page, "{}: {}{note} {}", it.name, it.license, it.repository);
        for (file, text) in &it.files {
            texts.entry(text).or_default().push(format!("{} ({file})", it.name));
        }
    }
    let mut texts: Vec<_> = texts.into_iter().map(|(text, of)| (of, text)).collect();
    texts.sort();
    for (of, text) in texts {
        let _ = write!(page, "\n{}\n{}:\n\n{text}\n", "-".repeat(80), of.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(name: &str, license: &str, files: &[(&str, &str)]) -> Crate {
        let files = files.iter().map(|(file, text)| ((*file).to_owned(), tidied(text))).collect();
        Crate {
            name: name.to_owned(),
            license: license.to_owned(),
            repository: "https://a".to_owned(),
            files,
        }
    }

    #[test]
    fn a_text_of_several_crates_is_there_once() {
        let page = render(&[
            of("a 1.0.0", "MIT", &[("LICENSE", "Do\r\nas you like. \r\n")]),
            of(
                "b 2.1.0",
                "MIT OR Apache-2.0",
                &[("COPYING", "Be kind."), ("LICENSE-MIT", "\nDo\nas you like.\n")],
            ),
            of("c 0.1.0", "Zlib", &[]),
        ]);
        for line in [
            "a 1.0.0: MIT https://a",
            "b 2.1.0: MIT OR Apache-2.0 https://a",
            "c 0.1.0: Zlib (no text among its files) https://a",
        ] {
            assert!(page.lines().any(|it| it == line), "{page}");
        }
        assert!(page.contains("a 1.0.0 (LICENSE), b 2.1.0 (LICENSE-MIT):\n\nDo\nas you like.\n"), "{page}");
        assert!(page.contains("b 2.1.0 (COPYING):\n\nBe kind.\n"), "{page}");
        assert_eq!(page.matches("as you like").count(), 1);
    }

    #[test]
    fn files_to_be_passed_on_go_by_their_names() {
        assert!(
            ["LICENSE", "LICENSE-MIT.txt", "Copying", "NOTICE", "UNLICENSE"]
                .into_iter()
                .all(is_to_be_passed_on)
        );
        assert!(["README.md", "license.rs", "src"].into_iter().all(|file| !is_to_be_passed_on(file)));
    }

    #[test]
    fn a_crate_without_a_licence_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("TERMS"), "Ask us.").unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let error = read_crate("odd 1.0.0".into(), &json!({ "manifest_path": manifest })).unwrap_err();
        assert!(error.to_string().starts_with("the crate odd 1.0.0 has no licence"), "{error}");
        let package = json!({ "manifest_path": manifest, "license_file": "TERMS" });
        let read = read_crate("odd 1.0.0".into(), &package).unwrap();
        assert_eq!(read.license, "see TERMS");
        let package = json!({ "manifest_path": manifest, "license": "MIT/Apache-2.0" });
        assert_eq!(read_crate("old 1.0.0".into(), &package).unwrap().license, "MIT OR Apache-2.0");
        assert_eq!(read.files, [("TERMS".to_owned(), "Ask us.".to_owned())]);
    }

    #[test]
    fn tests_and_build_scripts_are_not_linked_in() {
        let linked = linked(&["host"]).unwrap();
        let has = |name: &str| linked.iter().any(|it| it.split(' ').next() == Some(name));
        assert!(has("clap") && has("host"), "{linked:?}");
        // A procedural macro, a test's, and one of another plugin.
        assert!(!has("serde_derive") && !has("proptest") && !has("candle-core"), "{linked:?}");
    }
}
