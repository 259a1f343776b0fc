//! Loads a library, agrees on a version, and checks the exported table.

use std::{
    fs::{self, File, Metadata},
    mem::ManuallyDrop,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use proctor_plugin_api::{
    LinkedPlugin, Manifest, Options,
    abi::{self, ProctorPlugin, ProctorPluginEntry, ProctorVersionRange},
    linked_plugins,
};

use crate::{
    call::Call,
    error::PluginHostError,
    foreign::Reader,
    guard::{
        activity::Activity,
        checked::{Message, readable},
        handlers::watched,
    },
    load::{
        checksum::Checksum,
        elf::{missing_end, other_machine},
        layout::check_layout,
        manifest::read_manifest,
        rules::check_manifest,
        table::{
            Table, ask, check_batch_functions, check_functions, issue_extension, live_extension,
            submit_extension, thread_extension, virtual_extension,
        },
    },
    record::{entry::through, log::Recorder},
    scripts,
    search_path::{PluginLocation, unreadable},
};
use proctor_vocabulary::image;

/// Origin of a plugin and the ABI that it follows, for the result of a run. Its name is in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Major version of the ABI that its table follows.
    pub abi_major: u32,
    /// Minor version of the ABI that its table follows.
    pub abi_minor: u32,
    /// Absolute path of the library, or `linked in`.
    pub source: String,
    /// True if the types of host and plugin were compared field by field.
    pub layout_checked: bool,
}

/// A plugin that is loaded elsewhere, as the host there describes it.
#[derive(Debug, Clone)]
pub struct Described {
    /// Manifest of the plugin.
    pub manifest: Manifest,
    /// Origin of the plugin, and the ABI that it follows.
    pub identity: PluginIdentity,
    /// True if it can be warmed up with whole queries.
    pub has_warm_up: bool,
    /// File of its code; `None` if that is this program.
    pub file: Option<PathBuf>,
}

/// A loaded, negotiated and checked plugin. It stays loaded to the end of the process. Clones share it.
#[derive(Debug, Clone)]
pub struct LoadedPlugin {
    loaded: Arc<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    table: Table,
    manifest: Manifest,
    identity: PluginIdentity,
    checksum: Option<Arc<Checksum>>,
    entry: ProctorPluginEntry,
}

/// A step of loading a plugin, in execution order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadStep {
    /// The file is opened as a shared library that exports the entry.
    Library,
    /// The entry answers with a table of a version that the host speaks.
    Entry,
    /// The required functions of the table are checked.
    Functions,
    /// The manifest is read and checked.
    Manifest,
    /// Read the extensions: the declared ones, and further existing ones.
    Extensions,
}

/// A plugin as it is known before its table is read.
pub(crate) struct Origin {
    /// Path of the library, or name of the linked-in plugin.
    pub(crate) source: String,
    pub(crate) checksum: Option<Arc<Checksum>>,
    /// The library, to look for the root module in. Never closed, not even if the plugin is refused: threads that it
    /// has started and destructors that it has registered may still run its code.
    library: Option<ManuallyDrop<Library>>,
}

impl Origin {
    pub(crate) fn linked() -> Self {
        Self { source: "linked in".into(), checksum: None, library: None }
    }

    /// Returns the origin of a plugin whose code is in this file, which the interpreter has run.
    fn of_script(path: &Path) -> Result<Self, PluginHostError> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let checksum = Some(Arc::new(Checksum::start(file)));
        Ok(Self { source: path.display().to_string(), checksum, library: None })
    }
}

impl LoadedPlugin {
    /// Loads a plugin, negotiates the version, and reads and checks its table and manifest. No device is touched.
    ///
    /// # Errors
    /// If something is wrong with the file, the table or the manifest.
    pub fn load(location: &PluginLocation) -> Result<Self, PluginHostError> {
        Self::load_in_steps(location, |_| ())
    }

    /// Does the same as [`load`](Self::load). Calls `begin` with each step before it is taken: the last one
    /// is the one that failed.
    ///
    /// # Errors
    /// Same as [`load`](Self::load).
    pub fn load_in_steps(
        location: &PluginLocation,
        mut begin: impl FnMut(LoadStep),
    ) -> Result<Self, PluginHostError> {
        Self::load_through(location, None, &mut begin)
    }

    /// Does the same as [`load`](Self::load), through functions that write each call to a recording. Once in
    /// a process.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load), and if the process records a plugin already.
    pub fn load_recorded(location: &PluginLocation, recorder: &Recorder) -> Result<Self, PluginHostError> {
        Self::load_through(location, Some(recorder), &mut |_| ())
    }

    fn load_through(
        location: &PluginLocation,
        recorder: Option<&Recorder>,
        begin: &mut dyn FnMut(LoadStep),
    ) -> Result<Self, PluginHostError> {
        begin(LoadStep::Library);
        match location {
            PluginLocation::Linked(name) => {
                let linked = linked_plugins().find(|plugin| (plugin.name)() == *name).ok_or_else(|| {
                    PluginHostError::NotFound {
                        name: (*name).to_owned(),
                        hint: String::new(),
                        looked: "the plugins that are linked in".into(),
                    }
                })?;
                let file = scripts::file_of(linked);
                let source_name = file.as_ref().map_or((*name).to_owned(), |path| path.display().to_string());
                let origin = match &file {
                    Some(path) => Origin::of_script(path)?,
                    // The code is in no file, as that of a notebook.
                    None if scripts::stands_in(linked) => Origin::linked(),
                    // The code of the plugin is in the program itself.
                    None => Origin { checksum: PROGRAM.clone(), ..Origin::linked() },
                };
                Self::from_entry(recorded(linked.entry, recorder)?, &source_name, origin, begin)
            }
            PluginLocation::Script(path, class) => {
                let source = path.display().to_string();
                let activity = Activity::new(&source, None);
                let take = || scripts::take(path, class.as_deref());
                let name = watched(&source, Call::Load, || activity.during(Call::Load, take))?;
                Self::load_through(&PluginLocation::Linked(name), recorder, begin)
            }
            PluginLocation::Library(path) => Self::from_library(path, recorder, begin),
        }
    }

    /// Describes a plugin that another process loads by `load`. `stand_in` is part of this program, passes
    /// every call on, and has all functions and extensions; the ones that the plugin does not declare are not
    /// called. `source` describes the plugin until its name is known.
    ///
    /// # Errors
    /// Returns the error of `load`, a sentence that names the plugin, or a fault in the description.
    pub fn elsewhere(
        stand_in: LinkedPlugin,
        source: &str,
        load: impl FnOnce() -> Result<Described, String>,
    ) -> Result<Self, PluginHostError> {
        let described = Activity::new(source, None).during(Call::Load, load);
        let Described { manifest, identity, has_warm_up, file } =
            described.map_err(PluginHostError::Unusable)?;
        // The plugin's code runs in that process, too, and may have written the description.
        let reader = Reader { source_name: source };
        check_major(reader, (identity.abi_major, identity.abi_minor))?;
        check_manifest(reader, &manifest)?;
        let checksum = match &file {
            Some(path) => File::open(path).ok().map(|file| Arc::new(Checksum::start(file))),
            None => PROGRAM.clone(),
        };
        let name = (stand_in.name)();
        let plugin = Self::from_entry(stand_in.entry, &name, Origin::linked(), &mut |_| ())?;
        let Loaded { table, entry, .. } = Arc::into_inner(plugin.loaded).expect("it was made just now");
        let table = Table {
            issue: table.issue.filter(|_| manifest.issue),
            warm_up_query: table.warm_up_query.filter(|_| has_warm_up),
            execute_virtual: table.execute_virtual.filter(|_| manifest.virtual_time),
            live: table.live.filter(|_| manifest.live_instances),
            ..table
        };
        Ok(Self { loaded: Arc::new(Loaded { table, entry, manifest, identity, checksum }) })
    }

    /// Returns whether instances of its model may come and go between start and stop.
    #[must_use]
    pub fn has_live_instances(&self) -> bool {
        self.loaded.table.live.is_some()
    }

    /// Returns whether it can be warmed up with whole queries.
    #[must_use]
    pub fn has_warm_up(&self) -> bool {
        self.table().warm_up_query.is_some()
    }

    /// Returns the plugin's own description, and the list of its models.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.loaded.manifest
    }

    /// Returns the plugin's origin, and the ABI that it follows.
    #[must_use]
    pub fn identity(&self) -> &PluginIdentity {
        &self.loaded.identity
    }

    /// Returns the SHA-256, in hexadecimal, of the library, or of the program if the plugin is linked in; `None` if
    /// that cannot be read. It is computed on its own thread from the moment of loading on, and waited for here.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        self.loaded.checksum.as_ref()?.get()
    }

    /// Checks options given as text against the manifest, and fills in the defaults.
    ///
    /// # Errors
    /// [`PluginHostError::Option`] for the first that is unknown or has a wrong value.
    pub fn options(
        &self,
        given: &std::collections::BTreeMap<String, String>,
    ) -> Result<Options, PluginHostError> {
        Options::resolve(&self.manifest().options, given)
            .map_err(|error| PluginHostError::Option { plugin: self.manifest().name.clone(), error })
    }

    pub(crate) fn table(&self) -> &Table {
        &self.loaded.table
    }

    /// Returns the same plugin behind another table.
    pub(crate) fn with_table(&self, table: Table) -> Self {
        let Loaded { manifest, identity, checksum, entry, .. } = &*self.loaded;
        let (manifest, identity) = (manifest.clone(), identity.clone());
        let loaded = Loaded { table, manifest, identity, checksum: checksum.clone(), entry: *entry };
        Self { loaded: Arc::new(loaded) }
    }

    /// Returns whether the plugin has an extension, one that this host knows or any other.
    #[must_use]
    pub fn has_extension(&self, id: &'static str) -> bool {
        ask(&self.table().raw, Activity::new(&self.manifest().name, None), id)
            .is_some_and(|found| !found.is_null())
    }

    /// Returns the entry, to be asked again.
    pub(super) fn entry(&self) -> ProctorPluginEntry {
        self.loaded.entry
    }

    fn from_library(
        path: &Path,
        recorder: Option<&Recorder>,
        begin: &mut dyn FnMut(LoadStep),
    ) -> Result<Self, PluginHostError> {
        // Opened once: load exactly the file that was checked.
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let opened = file.metadata().map_err(|error| unreadable(path, &error))?;
        let source = path.display().to_string();
        let not_a_library = |reason: String| {
            PluginHostError::Unusable(format!(
                "{source} is not a shared library that can be loaded here: {reason}"
            ))
        };
        if let Ok(Some((needed, got))) = missing_end(&file) {
            return Err(not_a_library(format!("it is cut off: it has {got} of at least {needed} bytes")));
        }
        let other_machine = other_machine(&file);
        let checksum = Some(Arc::new(Checksum::start(file)));
        // RTLD_NOW: a symbol that is missing shows here and not in the timed part.
        // SAFETY: this runs the library's constructors, which nobody can prove harmless; loading a plugin is what the
        // user asked for, and a crash in it is reported as its own.
        let open = || unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let activity = Activity::new(&source, None);
        let library = watched(&source, Call::Load, || activity.during(Call::Load, open))
            .map(ManuallyDrop::new)
            .map_err(|error| not_a_library(other_machine.unwrap_or_else(|| innermost(&error))))?;
        // SAFETY: the type of this symbol is fixed by the ABI; `Option` allows for a symbol whose value is null.
        let entry = unsafe { library.get::<Option<ProctorPluginEntry>>(abi::PROCTOR_PLUGIN_ENTRY) };
        let entry = entry.ok().and_then(|symbol| *symbol);
        let entry = entry.ok_or_else(|| {
            let symbol = abi::PROCTOR_PLUGIN_ENTRY;
            PluginHostError::Unusable(format!(
                "{source} is a shared library, but no plugin: it does not export `{symbol}`"
            ))
        })?;
        let origin = Origin { source: source.clone(), checksum, library: Some(library) };
        let plugin = Self::from_entry(recorded(entry, recorder)?, &source, origin, begin)?;
        begin(LoadStep::Library);
        // Not loaded by its descriptor, from which the linker could not find the libraries next to it.
        if fs::metadata(path).is_ok_and(|loaded| is_same(&opened, &loaded)) {
            Ok(plugin)
        } else {
            Err(PluginHostError::Unusable(format!(
                "{source} was changed while it was loaded: try again when it is complete"
            )))
        }
    }

    /// Negotiates with an entry of any origin. `source_name` is for the errors.
    pub(crate) fn from_entry(
        entry: ProctorPluginEntry,
        source_name: &str,
        origin: Origin,
        begin: &mut dyn FnMut(LoadStep),
    ) -> Result<Self, PluginHostError> {
        let reader = Reader { source_name };
        let activity = Activity::new(source_name, None);
        begin(LoadStep::Entry);
        let raw = negotiate(entry, reader, activity)?;
        let layout_checked = match &origin.library {
            // It opens the library once more, and runs a function of it.
            Some(library) if same_version(&raw) => {
                activity.during(Call::Load, || check_layout(library, Path::new(&origin.source), reader))?
            }
            _ => false,
        };
        begin(LoadStep::Functions);
        check_functions(&raw, reader)?;
        begin(LoadStep::Manifest);
        let describe = raw.describe.expect("checked just now");
        // SAFETY: the function is that of a checked table, and takes no arguments.
        let described = activity.during(Call::Describe, || unsafe { describe() });
        let is_newer = raw.abi_minor > abi::PROCTOR_ABI_MINOR;
        // SAFETY: the plugin vouches for the manifest that it returns and for what it points to.
        let read = || unsafe { read_manifest(reader, described, is_newer) };
        let mut manifest = activity.during(Call::Describe, read)?;
        if raw.abi_minor < VARYING_INPUTS_SINCE_MINOR {
            // Then the bit had no meaning yet, and all samples have the shapes of the request.
            manifest.models.iter_mut().for_each(|model| model.dynamic_shapes = false);
        }
        if manifest.execute {
            begin(LoadStep::Functions);
            check_batch_functions(&raw, reader)?;
        }
        begin(LoadStep::Extensions);
        let issue = manifest.issue.then(|| issue_extension(&raw, reader, activity)).transpose()?;
        let table = Table {
            issue: issue.as_ref().and_then(|extension| extension.issue),
            warm_up_query: issue.as_ref().and_then(|extension| extension.warm_up),
            execute_virtual: manifest
                .virtual_time
                .then(|| virtual_extension(&raw, reader, activity))
                .transpose()?,
            thread: thread_extension(&raw, reader, activity)?,
            submit: submit_extension(&raw, reader, activity)?,
            live: live_extension(&raw, reader, activity)?,
            raw,
        };
        let identity = PluginIdentity {
            abi_major: table.raw.abi_major,
            abi_minor: table.raw.abi_minor,
            source: origin.source,
            layout_checked,
        };
        Ok(Self { loaded: Arc::new(Loaded { table, manifest, identity, checksum: origin.checksum, entry }) })
    }
}

/// Returns the entry, or one that records.
fn recorded(
    entry: ProctorPluginEntry,
    recorder: Option<&Recorder>,
) -> Result<ProctorPluginEntry, PluginHostError> {
    recorder.map_or(Ok(entry), |recorder| through(entry, recorder))
}

fn negotiate(
    entry: ProctorPluginEntry,
    reader: Reader<'_>,
    activity: &'static Activity,
) -> Result<ProctorPlugin, PluginHostError> {
    let speaks = ProctorVersionRange {
        size: size_of::<ProctorVersionRange>(),
        major_min: abi::PROCTOR_ABI_MAJOR,
        major_max: abi::PROCTOR_ABI_MAJOR,
        minor_max: abi::PROCTOR_ABI_MINOR,
        reserved: 0,
    };
    let mut buffer = Message::new();
    // SAFETY: the entry has the type that the ABI gives it; both pointers are valid for the call.
    let ask = |refusal: *mut _| unsafe { entry(&raw const speaks, refusal) };
    let (table, refusal, _) = activity.during(Call::Entry, || buffer.collect(ask));
    if table.is_null() {
        let reason = readable(refusal);
        return Err(reader.version(if reason.is_empty() {
            "returned no table and gave no reason; it should write one to `refusal`".to_owned()
        } else {
            format!("refuses this host: {reason}")
        }));
    }
    // SAFETY: the plugin vouches for the table that it returns.
    let table = activity.during(Call::Entry, || unsafe { reader.structure(table) })?;
    check_major(reader, (table.abi_major, table.abi_minor))?;
    Ok(table)
}

/// Refuses a plugin of another major version of the ABI.
fn check_major(reader: Reader<'_>, (major, minor): (u32, u32)) -> Result<(), PluginHostError> {
    let spoken = abi::PROCTOR_ABI_MAJOR;
    if major != spoken {
        return Err(reader.version(format!(
            "follows ABI {major}.{minor}, this host speaks {spoken}.x only: rebuild the plugin"
        )));
    }
    Ok(())
}

/// First minor version in which a plugin that declares dynamic shapes knows samples of different ones.
const VARYING_INPUTS_SINCE_MINOR: u32 = 3;

fn same_version(table: &ProctorPlugin) -> bool {
    (table.abi_major, table.abi_minor) == (abi::PROCTOR_ABI_MAJOR, abi::PROCTOR_ABI_MINOR)
}

/// The checksum of this program, if it can be read. Computed once: its plugins may be loaded many times.
static PROGRAM: LazyLock<Option<Arc<Checksum>>> = LazyLock::new(|| {
    let image = image().and_then(File::open).ok()?;
    Some(Arc::new(Checksum::start(image)))
});

/// Returns whether this is the same file, with the same content as far as its length and modification time show.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let of = |file: &Metadata| (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec());
    of(one) == of(other)
}

/// Returns the dynamic linker's own words, without the wrapping.
fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
