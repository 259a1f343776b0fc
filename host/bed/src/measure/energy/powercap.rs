//! The counters of processor packages as Linux shows them, of Intel and of AMD.
//!
//! Source: Linux, Documentation/power/powercap/powercap.rst.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Start of the names of the packages' folders, and of their parts, which have a second colon.
const PREFIX: &str = "intel-rapl:";

/// Reason why the counters cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PowercapError {
    #[error("there is no processor package in {}", root.display())]
    NoPackages { root: PathBuf },
    #[error("cannot read {}: {source}{}", path.display(), advice(source))]
    CannotRead { path: PathBuf, source: io::Error },
    #[error("{} holds \"{text}\", which is no count", path.display())]
    NoCount { path: PathBuf, text: String },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; on most systems only root may",
        _ => "",
    }
}

/// The counters of all packages.
pub(super) struct Packages(Vec<Package>);

struct Package {
    name: String,
    counter: PathBuf,
    /// Value at which the counter restarts from 0.
    range_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

impl Packages {
    /// Finds the packages below `root`, and reads each once.
    pub(super) fn open(root: &Path) -> Result<Self, PowercapError> {
        let no_packages = || PowercapError::NoPackages { root: root.to_owned() };
        let is_package = |name: &str| {
            let number = name.strip_prefix(PREFIX);
            number
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let entries = fs::read_dir(root).map_err(|_| no_packages())?.flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| is_package(name));
        names.sort_unstable();
        let mut packages = Vec::new();
        for folder in names.iter().map(|name| root.join(name)) {
            let name = read(&folder.join("name"))?;
            // Of the others, psys has the packages in it.
            if name.starts_with("package") {
                let counter = folder.join("energy_uj");
                let range_uj = read_count(&folder.join("max_energy_range_uj"))?;
                let last_uj = read_count(&counter)?;
                packages.push(Package { name, counter, range_uj, last_uj, total_uj: 0 });
            }
        }
        if packages.is_empty() { Err(no_packages()) } else { Ok(Self(packages)) }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|package| package.name.clone()).collect()
    }

    /// Returns the joules of all packages since they were opened. A counter may have wrapped around once since the last
    /// call.
    pub(super) fn read_joules(&mut self) -> Result<f64, PowercapError> {
        let mut total_uj = 0;
        for package in &mut self.0 {
            let now_uj = read_count(&package.counter)?;
            package.total_uj += match now_uj.checked_sub(package.last_uj) {
                Some(used_uj) => used_uj,
                None => package.range_uj.saturating_sub(package.last_uj) + now_uj,
            };
            package.last_uj = now_uj;
            total_uj += package.total_uj;
        }
        Ok(total_uj as f64 * 1e-6)
    }
}

fn read(path: &Path) -> Result<String, PowercapError> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|source| PowercapError::CannotRead { path: path.to_owned(), source })?;
    Ok(text.trim().to_owned())
}

fn read_count(path: &Path) -> Result<u64, PowercapError> {
    let text = read(path)?;
    text.parse().map_err(|_| PowercapError::NoCount { path: path.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_are_counted() {
        let root = tempfile::tempdir().unwrap();
        for (folder, name) in [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:0:0", "package-part"),
            ("intel-rapl:1", "psys"),
            ("intel-rapl-mmio:0", "package-0"),
            ("intel-rapl:10", "package-1-die-0"),
        ] {
            let folder = root.path().join(folder);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("name"), name).unwrap();
            fs::write(folder.join("max_energy_range_uj"), "65532610987\n").unwrap();
            fs::write(folder.join("energy_uj"), "7\n").unwrap();
        }
        fs::create_dir(root.path().join("dtpm")).unwrap();
        assert_eq!(Packages::open(root.path()).unwrap().names(), ["package-0", "package-1-die-0"]);
        fs::write(root.path().join("intel-rapl:0/energy_uj"), "many").unwrap();
        let error = Packages::open(root.path()).err().unwrap().to_string();
        assert!(error.ends_with("energy_uj holds \"many\", which is no count"), "{error}");
        fs::remove_file(root.path().join("intel-rapl:0/energy_uj")).unwrap();
        let error = Packages::open(root.path()).err().unwrap().to_string();
        assert!(error.starts_with("cannot read ") && !error.contains("root may"), "{error}");
    }

    #[test]
    fn a_file_for_root_alone_says_so() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = PowercapError::CannotRead { path: "energy_uj".into(), source }.to_string();
        assert_eq!(error, "cannot read energy_uj: permission denied; on most systems only root may");
    }
}
