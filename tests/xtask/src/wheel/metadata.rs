//! The files that describe a wheel, from the project's own description.

use std::{
    fmt::{self, Display, Write},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::{
    command::workspace_root,
    package::layout::{entries, name_of, read_manifest, write},
};

/// The description of the project, in the workspace.
const PROJECT: &str = "host/python/pyproject.toml";

/// The page that the wheel has as its description.
const PAGE: &str = "docs/python.md";

/// The Python package as a project.
pub(super) struct Project {
    table: Table,
    version: String,
}

/// The end of the name of a wheel.
pub(super) struct Tag {
    /// Interpreter and ABI, such as `cp310-abi3`.
    pub(super) python: String,
    pub(super) platform: String,
}

impl Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.python, self.platform)
    }
}

impl Project {
    /// # Errors
    /// If the description cannot be read.
    pub(super) fn read(version: &str) -> Result<Self> {
        let mut table = read_manifest(Path::new(PROJECT))?;
        let project = table.remove("project").and_then(|project| project.try_into().ok());
        let table = project.with_context(|| format!("{PROJECT} has no project"))?;
        Ok(Self { table, version: version.to_owned() })
    }

    /// Returns the name with the version, as names of files and folders begin with it.
    pub(super) fn stem(&self) -> String {
        format!("proctor-{}", self.version)
    }

    /// Returns the place of the licences in a wheel.
    pub(super) fn licenses(&self) -> PathBuf {
        self.info().join("licenses")
    }

    fn info(&self) -> PathBuf {
        format!("{}.dist-info", self.stem()).into()
    }

    /// Describes a wheel in a folder, which has its licences already.
    ///
    /// # Errors
    /// If something is missing or cannot be written.
    pub(super) fn describe(&self, folder: &Path, tag: &Tag) -> Result<()> {
        let mut licenses: Vec<_> =
            entries(&folder.join(self.licenses()))?.iter().map(|it| name_of(it)).collect();
        licenses.sort();
        let page =
            fs::read_to_string(workspace_root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
        let info = folder.join(self.info());
        write(&info.join("METADATA"), &self.metadata(&licenses, &page)?)?;
        let wheel = format!(
            "Wheel-Version: 1.0\nGenerator: cargo xtask wheel {}\nRoot-Is-Purelib: false\nTag: {tag}\n",
            self.version
        );
        write(&info.join("WHEEL"), &wheel)
    }

    fn metadata(&self, licenses: &[String], page: &str) -> Result<String> {
        let text = |key: &str| {
            let value = self.table.get(key).and_then(Value::as_str);
            value.with_context(|| format!("{PROJECT} has no {key}"))
        };
        let mut lines =
            format!("Metadata-Version: 2.4\nName: {}\nVersion: {}\n", text("name")?, self.version);
        let mut add = |key: &str, value: &str| writeln!(lines, "{key}: {value}");
        add("Summary", text("description")?)?;
        add("License-Expression", text("license")?)?;
        for file in licenses {
            add("License-File", file)?;
        }
        for classifier in strings(self.table.get("classifiers")) {
            add("Classifier", classifier)?;
        }
        add("Requires-Python", text("requires-python")?)?;
        let extras = self.table.get("optional-dependencies").and_then(Value::as_table);
        for (extra, needs) in extras.into_iter().flatten() {
            add("Provides-Extra", extra)?;
            for need in strings(Some(needs)) {
                add("Requires-Dist", &format!("{need}; extra == \"{extra}\""))?;
            }
        }
        add("Description-Content-Type", "text/markdown")?;
        Ok(format!("{lines}\n{page}"))
    }
}

fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_says_what_it_is_and_needs() {
        let text = Project::read("1.2.3").unwrap().metadata(&["LICENSE".to_owned()], "# A page\n").unwrap();
        for line in [
            "Name: proctor",
            "Version: 1.2.3",
            "License-File: LICENSE",
            "Requires-Python: >=3.10",
            "Provides-Extra: numpy",
            "Requires-Dist: numpy>=1.24; extra == \"numpy\"",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}:\n{text}");
        }
        assert!(text.ends_with("\n\n# A page\n"), "{text}");
    }
}
