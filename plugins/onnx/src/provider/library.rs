//! An execution provider that comes as a library of its own, for ONNX Runtime 1.22 or later.
//!
//! `ort` is built for the functions of 1.17, so that older runtimes do as well. The functions for such libraries are
//! called through the table of 1.22, which begins like the one of 1.17.

use std::{
    collections::BTreeSet,
    ffi::{CStr, CString, OsStr, c_char},
    fmt,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use libloading::Library;
use ort::{
    AsPointer,
    session::builder::SessionBuilder,
    sys::{OrtApi, OrtEnv, OrtEpDevice, OrtSessionOptions, OrtStatusPtr},
};
use parking_lot::Mutex;

use crate::runtime_library::{error::innermost, runtime::Runtime};

/// Version of the functions, and the oldest runtime that has them.
const API_VERSION: u32 = 22;

/// Functions that a library must have.
const SYMBOLS: [&str; 2] = ["CreateEpFactories", "ReleaseEpFactory"];

/// The libraries that are registered: the runtime keeps them to the end of the process.
static REGISTERED: Mutex<Vec<Arc<ProviderLibrary>>> = Mutex::new(Vec::new());

/// Number of names that the runtime has got for libraries, each once, even if nothing came of it.
static NAMES: AtomicUsize = AtomicUsize::new(0);

// The layout below continues the table of 1.17.
const _: () = assert!(ort::MINOR_VERSION == 17);

/// The beginning of the table of functions of version 22.
#[repr(C)]
struct Api {
    to_17: OrtApi,
    of_18_to_22: [usize; 25],
    register_execution_provider_library:
        unsafe extern "system" fn(*mut OrtEnv, *const c_char, *const c_char) -> OrtStatusPtr,
    unregister_execution_provider_library: usize,
    get_ep_devices:
        unsafe extern "system" fn(*const OrtEnv, *mut *const *const OrtEpDevice, *mut usize) -> OrtStatusPtr,
    session_options_append_execution_provider_v2: unsafe extern "system" fn(
        *mut OrtSessionOptions,
        *mut OrtEnv,
        *const *const OrtEpDevice,
        usize,
        *const *const c_char,
        *const *const c_char,
        usize,
    ) -> OrtStatusPtr,
    selection_policies_and_hardware_devices: [usize; 7],
    ep_device_ep_name: unsafe extern "system" fn(*const OrtEpDevice) -> *const c_char,
    ep_device_ep_vendor: unsafe extern "system" fn(*const OrtEpDevice) -> *const c_char,
}

/// A library that the runtime knows, with the devices that it offers.
#[derive(Debug)]
pub(crate) struct ProviderLibrary {
    path: PathBuf,
    devices: Vec<Device>,
}

/// A provider on a device.
#[derive(Debug, Clone)]
struct Device {
    /// Address of the runtime's object, which lives as long as the library is registered: for ever.
    address: usize,
    provider: String,
    vendor: String,
}

/// The options about such a library.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ProviderOptions {
    /// Name of the provider; `None` where the library has only one.
    pub name: Option<String>,
    /// Number of the device among those that the provider offers.
    pub device: usize,
    /// Options of the provider itself.
    pub options: Vec<(String, String)>,
}

/// A provider of a library, chosen for sessions.
#[derive(Debug, Clone)]
pub(crate) struct LibraryProvider {
    library: Arc<ProviderLibrary>,
    device: Device,
    /// Number of the device, and of how many.
    place: (usize, usize),
    options: Vec<(String, String)>,
}

/// Reason why a provider of a library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProviderLibraryError {
    #[error("there is no file {}, which option ep_library names", path.display())]
    Missing { path: PathBuf },
    #[error(
        "execution providers that are libraries need ONNX Runtime 1.{API_VERSION} or later, and {} is {version}: name \
         another one with --set onnx.library=...",
        runtime.display()
    )]
    Version { runtime: PathBuf, version: String },
    #[error("cannot load {} as an execution provider: {reason}", path.display())]
    NotLoadable { path: PathBuf, reason: String },
    #[error(
        "{} is a library, but not an execution provider of ONNX Runtime: it has no function {symbol}",
        path.display()
    )]
    NoSymbol { path: PathBuf, symbol: &'static str },
    #[error("ONNX Runtime {version} does not take the execution provider {}: {reason}", path.display())]
    Refused { path: PathBuf, version: String, reason: String },
    #[error("execution provider {} offers no device on this machine", path.display())]
    NoDevice { path: PathBuf },
    #[error(
        "{} has no provider \"{name}\"; name one of these with --set onnx.ep_name=...: {}",
        path.display(),
        has.join(", ")
    )]
    NoSuchProvider { path: PathBuf, name: String, has: Vec<String> },
    #[error("{} has several providers; choose one with --set onnx.ep_name=...: {}", path.display(), has.join(", "))]
    Several { path: PathBuf, has: Vec<String> },
    #[error("ep_device = {device}, but provider {provider} of {} offers {count}, counted from 0", path.display())]
    NoSuchDevice { path: PathBuf, provider: String, device: usize, count: usize },
    #[error("provider = {provider} and ep_library are two providers: leave one of them out")]
    Two { provider: &'static str },
}

impl ProviderLibrary {
    /// Registers the library at an absolute path with the runtime, once.
    ///
    /// # Errors
    /// Returns the reason why it cannot be used.
    pub(crate) fn register(runtime: &Runtime, path: &Path) -> Result<Arc<Self>, ProviderLibraryError> {
        let real = path.canonicalize().ok().filter(|path| path.is_file());
        let path = real.ok_or_else(|| ProviderLibraryError::Missing { path: path.to_owned() })?;
        let mut registered = REGISTERED.lock();
        if let Some(known) = registered.iter().find(|known| known.path == path) {
            return Ok(Arc::clone(known));
        }
        let api = api(runtime)?;
        check_symbols(&path)?;
        let before: BTreeSet<usize> =
            devices(api, runtime).into_iter().map(|device| device.address).collect();
        let refused = |error: ort::Error| ProviderLibraryError::Refused {
            path: path.clone(),
            version: runtime.version().to_owned(),
            reason: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("proctor.{number}")).unwrap_or_default();
        let text = CString::new(OsStr::as_bytes(path.as_os_str())).unwrap_or_default();
        let environment = runtime.environment().ptr().cast_mut();
        // SAFETY: the environment is that of the runtime, which locks it for the call; both texts end with 0 and live
        // for the call. The library that the user names is trusted like any plugin.
        let status =
            unsafe { (api.register_execution_provider_library)(environment, name.as_ptr(), text.as_ptr()) };
        // SAFETY: the status is the one that the call just returned.
        unsafe { ort::Error::result_from_status(status) }.map_err(refused)?;
        let mut devices = devices(api, runtime);
        devices.retain(|device| !before.contains(&device.address));
        if devices.is_empty() {
            return Err(ProviderLibraryError::NoDevice { path });
        }
        tracing::info!(path = %path.display(), "execution provider registered");
        let library = Arc::new(Self { path, devices });
        registered.push(Arc::clone(&library));
        Ok(library)
    }

    /// Chooses a provider of the library and one of its devices.
    ///
    /// # Errors
    /// If there is no such provider or device, or several providers are there and none is named.
    pub(crate) fn choose(
        self: &Arc<Self>,
        wanted: &ProviderOptions,
    ) -> Result<LibraryProvider, ProviderLibraryError> {
        let path = || self.path.clone();
        let names: BTreeSet<&str> = self.devices.iter().map(|device| device.provider.as_str()).collect();
        let has = || names.iter().map(|name| (*name).to_owned()).collect();
        let provider = match &wanted.name {
            Some(name) if !names.contains(name.as_str()) => {
                return Err(ProviderLibraryError::NoSuchProvider {
                    path: path(),
                    name: name.clone(),
                    has: has(),
                });
            }
            Some(name) => name,
            None if names.len() > 1 => {
                return Err(ProviderLibraryError::Several { path: path(), has: has() });
            }
            None => &self.devices[0].provider,
        };
        let devices: Vec<&Device> =
            self.devices.iter().filter(|device| device.provider == *provider).collect();
        let (number, count) = (wanted.device, devices.len());
        let Some(device) = devices.get(number) else {
            let provider = provider.clone();
            return Err(ProviderLibraryError::NoSuchDevice { path: path(), provider, device: number, count });
        };
        Ok(LibraryProvider {
            library: Arc::clone(self),
            device: (*device).clone(),
            place: (number, count),
            options: wanted.options.clone(),
        })
    }
}

impl LibraryProvider {
    /// Makes it the first provider of a session.
    ///
    /// # Errors
    /// If the runtime or the provider refuses.
    pub(crate) fn append(&self, runtime: &Runtime, session: &mut SessionBuilder) -> Result<(), ort::Error> {
        let api = api(runtime).map_err(|error| ort::Error::new(error.to_string()))?;
        let text = |text: &String| CString::new(text.as_str()).unwrap_or_default();
        let keys: Vec<CString> = self.options.iter().map(|(key, _)| text(key)).collect();
        let values: Vec<CString> = self.options.iter().map(|(_, value)| text(value)).collect();
        let [keys_at, values_at] =
            [&keys, &values].map(|texts| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>());
        let device = self.device.address as *const OrtEpDevice;
        // SAFETY: session options and environment are live and belong together; the device is one that this environment
        // listed, and its library stays registered; keys and values are as many texts as are said, which end with 0 and
        // live for the call.
        let status = unsafe {
            (api.session_options_append_execution_provider_v2)(
                session.ptr_mut(),
                runtime.environment().ptr().cast_mut(),
                &raw const device,
                1,
                keys_at.as_ptr(),
                values_at.as_ptr(),
                keys.len(),
            )
        };
        // SAFETY: the status is the one that the call just returned.
        unsafe { ort::Error::result_from_status(status) }
    }
}

impl fmt::Display for LibraryProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Device { provider, vendor, .. } = &self.device;
        let (number, count) = self.place;
        write!(
            f,
            "{provider} of {vendor}, device {number} of {count}, from {}",
            self.library.path.display()
        )?;
        match self.options.as_slice() {
            [] => Ok(()),
            options => {
                let options: Vec<_> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, " with {}", options.join(";"))
            }
        }
    }
}

/// Returns the runtime's table of functions.
fn api(runtime: &Runtime) -> Result<&Api, ProviderLibraryError> {
    let table = if runtime.minor() < API_VERSION { None } else { runtime.api(API_VERSION) };
    let too_old = || ProviderLibraryError::Version {
        runtime: runtime.path().to_owned(),
        version: runtime.version().to_owned(),
    };
    let table = table.ok_or_else(too_old)?;
    // SAFETY: the table of this version begins with these functions, in this order, and lives as long as the runtime,
    // which is never unloaded.
    Ok(unsafe { table.cast::<Api>().as_ref() })
}

/// Says whether a library has the functions of an execution provider. It stays loaded, as the runtime will have it.
fn check_symbols(path: &Path) -> Result<(), ProviderLibraryError> {
    // SAFETY: loading runs the library's initialisers; a user who names a library vouches for it, as for any plugin.
    let library = unsafe { Library::new(path) }.map_err(|error| ProviderLibraryError::NotLoadable {
        path: path.to_owned(),
        reason: innermost(&error),
    })?;
    let lacks = |symbol: &&&str| {
        // SAFETY: the symbol is only looked for, and not used.
        unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) }.is_err()
    };
    let missing = SYMBOLS.iter().find(lacks).copied();
    std::mem::forget(library);
    match missing {
        None => Ok(()),
        Some(symbol) => Err(ProviderLibraryError::NoSymbol { path: path.to_owned(), symbol }),
    }
}

/// Returns the devices of all providers that the runtime knows.
fn devices(api: &Api, runtime: &Runtime) -> Vec<Device> {
    let (mut list, mut count) = (std::ptr::null(), 0);
    // SAFETY: the environment is live, and both point to room for what the function writes.
    let status = unsafe { (api.get_ep_devices)(runtime.environment().ptr(), &raw mut list, &raw mut count) };
    // SAFETY: the status is the one that the call just returned.
    if unsafe { ort::Error::result_from_status(status) }.is_err() || list.is_null() {
        return Vec::new();
    }
    // SAFETY: on success there are `count` pointers, which live until another library is registered.
    let pointers = unsafe { std::slice::from_raw_parts(list, count) };
    let text = |text: *const c_char| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: names of devices end with 0 and live as long as the device.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    let device = |device: &*const OrtEpDevice| {
        // SAFETY: the pointer is one of the runtime's list, which is live.
        let (provider, vendor) =
            unsafe { ((api.ep_device_ep_name)(*device), (api.ep_device_ep_vendor)(*device)) };
        Device { address: device.addr(), provider: text(provider), vendor: text(vendor) }
    };
    pointers.iter().map(device).collect()
}

impl ProviderOptions {
    /// Reads options of a provider, `KEY=VALUE` with semicolons between them.
    ///
    /// # Errors
    /// Returns the first part that is not a pair.
    pub(crate) fn parse_options(text: &str) -> Result<Vec<(String, String)>, String> {
        let part = |part: &str| match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(part.trim().to_owned()),
        };
        text.split(';').filter(|part| !part.trim().is_empty()).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(devices: &[(usize, &str)]) -> Arc<ProviderLibrary> {
        let device = |(address, provider): &(usize, &str)| Device {
            address: *address,
            provider: (*provider).to_owned(),
            vendor: "Example".to_owned(),
        };
        Arc::new(ProviderLibrary { path: "ep.so".into(), devices: devices.iter().map(device).collect() })
    }

    #[test]
    fn the_only_provider_needs_no_name_and_of_several_one_is_named() {
        let wanted = |name: Option<&str>, device| ProviderOptions {
            name: name.map(str::to_owned),
            device,
            options: vec![("a".to_owned(), "1".to_owned())],
        };
        let one = library(&[(1, "A"), (2, "A")]);
        let chosen = one.choose(&wanted(None, 1)).unwrap();
        assert_eq!(chosen.to_string(), "A of Example, device 1 of 2, from ep.so with a=1");
        let two = library(&[(1, "A"), (2, "B")]);
        assert_eq!(two.choose(&wanted(Some("B"), 0)).unwrap().device.address, 2);
        for (wanted, text) in [
            (wanted(None, 0), "ep.so has several providers; choose one with --set onnx.ep_name=...: A, B"),
            (wanted(Some("C"), 0), "has no provider \"C\"; name one of these"),
            (wanted(Some("B"), 1), "ep_device = 1, but provider B of ep.so offers 1, counted from 0"),
        ] {
            let error = two.choose(&wanted).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn options_are_pairs_with_semicolons_between_them() {
        let parse = ProviderOptions::parse_options;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(parse("a=1; b = x=y,z ;").unwrap(), [pair("a", "1"), pair("b", "x=y,z")]);
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("a=1;b"), Err("b".to_owned()));
        assert_eq!(parse("=1"), Err("=1".to_owned()));
    }
}
