//! Crates that leave the workspace: their manifests, made to stand alone.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use toml::{Table, Value};

/// Parts of a manifest that only the workspace needs: lints are ours, and tests use crates that stay behind.
const LEFT_BEHIND: [&str; 2] = ["dev-dependencies", "lints"];

/// Returns a manifest of the crate in `folder` (relative to the workspace) that inherits nothing: versions, features
/// and fields of the package are written out. Crates of the workspace stay dependencies by path, relative to the crate.
///
/// # Errors
/// If the manifest takes something from the workspace that is not there.
pub(crate) fn standing_alone(workspace: &Table, manifest: &Table, folder: &Path) -> Result<Table> {
    let mut alone = manifest.clone();
    for part in LEFT_BEHIND {
        alone.remove(part);
    }
    let shared = |kind: &str, name: &str| {
        let found = workspace.get("workspace").and_then(|it| it.get(kind)?.get(name));
        found.cloned().with_context(|| format!("the workspace has no {name} in its {kind}"))
    };
    if let Some(package) = alone.get_mut("package").and_then(Value::as_table_mut) {
        for (name, value) in package.iter_mut().filter(|(_, value)| is_inherited(value)) {
            *value = shared("package", name)?;
        }
    }
    if let Some(dependencies) = alone.get_mut("dependencies").and_then(Value::as_table_mut) {
        for (name, value) in dependencies.iter_mut().filter(|(_, value)| is_inherited(value)) {
            let inherited = shared("dependencies", name)?;
            *value = dependency(inherited, value, folder);
        }
    }
    Ok(alone)
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Returns a dependency of the workspace with the crate's additions: further features, and whether it is optional.
fn dependency(inherited: Value, own: &Value, folder: &Path) -> Value {
    let mut merged = match inherited {
        Value::Table(table) => table,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    if let Some(Value::String(path)) = merged.get_mut("path") {
        *path = relative(folder, Path::new(&*path)).to_string_lossy().into_owned();
    }
    for (key, value) in own.as_table().into_iter().flatten().filter(|(key, _)| *key != "workspace") {
        match (merged.get_mut(key), value) {
            (Some(Value::Array(all)), Value::Array(more)) => all.extend_from_slice(more),
            _ => {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Table(merged)
}

/// Returns the way from one folder to another; both are relative to the same folder.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    up.chain(to[shared..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = r#"
        [workspace.package]
        version = "1.2.3"
        edition = "2024"
        [workspace.dependencies]
        ours = { path = "ours" }
        ours-words = { path = "ours/words" }
        strings = "0.11"
        layouts = { version = "=0.5.0", default-features = false, features = ["a"] }
        test-only = "1"
    "#;

    const MANIFEST: &str = r#"
        [package]
        name = "plugin"
        version.workspace = true
        edition.workspace = true
        license = "MIT"
        [dependencies]
        ours = { workspace = true, features = ["export"] }
        ours-words.workspace = true
        strings.workspace = true
        layouts = { workspace = true, optional = true, features = ["b"] }
        foreign = "3"
        [dev-dependencies]
        test-only.workspace = true
        [lints]
        workspace = true
    "#;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_inherited_is_written_out() {
        let alone = standing_alone(&table(WORKSPACE), &table(MANIFEST), Path::new("plugins/mine")).unwrap();
        let expected = r#"
            [package]
            name = "plugin"
            version = "1.2.3"
            edition = "2024"
            license = "MIT"
            [dependencies]
            ours = { path = "../../ours", features = ["export"] }
            ours-words = { path = "../../ours/words" }
            strings = { version = "0.11" }
            layouts = { version = "=0.5.0", default-features = false, features = ["a", "b"], optional = true }
            foreign = "3"
        "#;
        assert_eq!(alone, table(expected));
    }

    #[test]
    fn a_crate_below_another_finds_its_way() {
        assert_eq!(relative(Path::new("ours"), Path::new("ours/words")), Path::new("words"));
        assert_eq!(relative(Path::new("ours/words"), Path::new("ours")), Path::new(".."));
        assert_eq!(relative(Path::new("a/b"), Path::new("c/d")), Path::new("../../c/d"));
    }

    #[test]
    fn what_the_workspace_lacks_is_named() {
        let error = standing_alone(&table("[workspace]"), &table(MANIFEST), Path::new("p")).unwrap_err();
        assert!(error.to_string().contains("in its package"), "{error}");
    }
}
