//! The one ONNX Runtime of a process.

use std::{
    ffi::CStr,
    fs,
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::Arc,
};

use libloading::{Library, Symbol};
use ort::{
    environment::Environment,
    logging::LogLevel,
    sys::{OrtApi, OrtApiBase},
};
use parking_lot::Mutex;

use super::{
    error::{RuntimeLibraryError, innermost},
    maps,
};

/// The runtime that was loaded first. `ort` keeps one library and one environment for each image, forever; so does
/// this.
static LOADED: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);

/// A loaded runtime. It stays to the end of the process.
#[derive(Debug)]
pub(crate) struct Runtime {
    path: PathBuf,
    version: String,
    environment: Environment,
    library: Library,
}

impl Runtime {
    /// Loads the library at an absolute path, or returns it if it is loaded.
    ///
    /// # Errors
    /// Returns the reason why it cannot be used, and what to do.
    pub(crate) fn load(path: &Path) -> Result<Arc<Self>, RuntimeLibraryError> {
        let mut loaded = LOADED.lock();
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        check_alone(&real)?;
        if let Some(runtime) = &*loaded {
            return if runtime.path == real {
                Ok(Arc::clone(runtime))
            } else {
                Err(RuntimeLibraryError::Second { path: real, loaded: vec![runtime.path.clone()] })
            };
        }
        let runtime = Arc::new(Self::start(real)?);
        *loaded = Some(Arc::clone(&runtime));
        Ok(runtime)
    }

    fn start(path: PathBuf) -> Result<Self, RuntimeLibraryError> {
        let (library, version) = open(&path)?;
        let not_started = |reason: String| RuntimeLibraryError::NotStarted {
            path: path.clone(),
            version: version.clone(),
            reason,
        };
        let environment = ort::init_from(&path)
            .map_err(|error| not_started(error.to_string()))?
            .with_name("proctor")
            .with_telemetry(false)
            .with_logger(Arc::new(forward))
            .build()
            .map_err(|error| not_started(error.to_string()))?;
        environment.set_log_level(LogLevel::Warning);
        tracing::info!(path = %path.display(), version, "ONNX Runtime loaded");
        Ok(Self { path, version, environment, library })
    }

    /// Says whether another runtime has come into the process since.
    ///
    /// # Errors
    /// [`RuntimeLibraryError::Second`] names it.
    pub(crate) fn check_alone(&self) -> Result<(), RuntimeLibraryError> {
        check_alone(&self.path)
    }

    /// Returns the file, by its real path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version, such as `1.31.1`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the second number of the version.
    pub(crate) fn minor(&self) -> u32 {
        minor(&self.version).unwrap_or_default()
    }

    /// Returns the table of functions of a version, if the runtime has it.
    pub(crate) fn api(&self, version: u32) -> Option<NonNull<OrtApi>> {
        let base = base(&self.library)?;
        // SAFETY: the function has been in the table since its first version; it returns null for versions that the
        // runtime does not have.
        NonNull::new(unsafe { (base.GetApi)(version) }.cast_mut())
    }

    /// Returns the environment that sessions are made in.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }
}

fn check_alone(path: &Path) -> Result<(), RuntimeLibraryError> {
    let others: Vec<PathBuf> = maps::runtimes().into_iter().filter(|other| other != path).collect();
    if others.is_empty() {
        Ok(())
    } else {
        Err(RuntimeLibraryError::Second { path: path.to_owned(), loaded: others })
    }
}

/// Opens a library and asks for its version, so that every way to be wrong has its own words.
fn open(path: &Path) -> Result<(Library, String), RuntimeLibraryError> {
    // SAFETY: loading runs the library's initialisers. Those of ONNX Runtime have no preconditions; a user who names
    // another library vouches for it, as for any plugin.
    let library = unsafe { Library::new(path) }.map_err(|error| RuntimeLibraryError::NotLoadable {
        path: path.to_owned(),
        reason: innermost(&error),
    })?;
    let not_onnx_runtime = || RuntimeLibraryError::NotOnnxRuntime { path: path.to_owned() };
    let base = base(&library).ok_or_else(not_onnx_runtime)?;
    // SAFETY: both functions of the table have been there since its first version; this one returns a text that ends
    // with 0 and lives as long as the library.
    let version = unsafe { CStr::from_ptr((base.GetVersionString)()) }.to_string_lossy().into_owned();
    if !is_usable(&version) {
        let (path, minor_min) = (path.to_owned(), ort::MINOR_VERSION);
        return Err(RuntimeLibraryError::WrongVersion { path, version, minor_min });
    }
    Ok((library, version))
}

/// Returns the first table of a library, if it is an ONNX Runtime.
fn base(library: &Library) -> Option<&OrtApiBase> {
    // SAFETY: a library that exports this name is an ONNX Runtime, whose header declares the symbol with this type.
    let base: Symbol<'_, unsafe extern "C" fn() -> *const OrtApiBase> =
        unsafe { library.get(b"OrtGetApiBase") }.ok()?;
    // SAFETY: the function takes nothing and returns null or a table that lives as long as the library.
    unsafe { base().as_ref() }
}

/// Returns whether a library of this version has all used functions.
fn is_usable(version: &str) -> bool {
    minor(version).is_some_and(|minor| minor >= ort::MINOR_VERSION)
}

/// Returns the second number of a version whose first is 1.
fn minor(version: &str) -> Option<u32> {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(1)), Some(Ok(minor))) => Some(minor),
        _ => None,
    }
}

/// Forwards the runtime's log. Its warnings are about optimisations that do not apply and absent devices; a failure
/// is returned as an error as well.
fn forward(level: LogLevel, _category: &str, _id: &str, location: &str, message: &str) {
    match level {
        LogLevel::Verbose => tracing::trace!(location, "{message}"),
        LogLevel::Info | LogLevel::Warning => tracing::debug!(location, "{message}"),
        LogLevel::Error | LogLevel::Fatal => tracing::warn!(location, "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_version_that_does_and_all_later_ones_are_usable() {
        for version in ["1.17.0", "1.20.1", "1.31.1", "1.40.0-dev"] {
            assert!(is_usable(version), "{version}");
        }
        for version in ["1.16.3", "1.8.1", "0.31.0", "2.17.0", "", "1", "one.two"] {
            assert!(!is_usable(version), "{version}");
        }
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libonnxruntime.so");
        fs::write(&path, "not a library").unwrap();
        let error = open(&path).unwrap_err();
        let RuntimeLibraryError::NotLoadable { reason, .. } = &error else { panic!("{error}") };
        // In the words of the dynamic linker, whichever it is.
        assert!(reason.contains("file too short") || reason.contains("invalid ELF header"), "{error}");
        assert!(error.to_string().contains("libonnxruntime.so"), "{error}");
    }
}
