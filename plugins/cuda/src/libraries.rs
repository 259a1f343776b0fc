//! The libraries of NVIDIA's that are loaded: the driver's by cudarc, the others here.

pub(crate) mod cublaslt;
pub(crate) mod cuda;
pub(crate) mod cudnn;
pub(crate) mod nvml;
pub(crate) mod nvrtc;

use std::error::Error as _;

use libloading::{AsFilename, Error, Library, os::unix};

/// Where the CUDA toolkit puts its libraries, which the system may not know.
const TOOLKIT: &str = "/usr/local/cuda/lib64";

/// Major versions that are tried, the newest first.
const MAJORS: [i32; 2] = [13, 12];

/// Returns the possible file names of a CUDA library, in the order of trial: the version of the driver first, and a
/// newer one last.
fn names(library: &str, major: i32) -> Vec<String> {
    let mut majors = MAJORS.to_vec();
    majors.sort_by_key(|tried| (*tried != major, *tried > major));
    let mut names: Vec<String> = majors.iter().map(|major| format!("{library}.so.{major}")).collect();
    names.push(format!("{library}.so"));
    names
}

/// Loads a library for as long as the process runs, also if it is refused later: NVIDIA's leave memory behind each time
/// that they are unloaded.
///
/// # Safety
/// Loading the library runs its initialisers, which have to be sound.
unsafe fn load(path: impl AsFilename) -> Result<Library, Error> {
    let flags = unix::RTLD_LAZY | unix::RTLD_LOCAL | libc::RTLD_NODELETE;
    // SAFETY: the caller vouches for it.
    unsafe { unix::Library::open(Some(path), flags) }.map(Library::from)
}

/// Returns the reason why a library is not loaded: the loader's own, which the error keeps as its source.
fn reason(error: &Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Functions of a loaded library, with their types. All of them are resolved on loading.
macro_rules! functions {
    ($(#[$about:meta])* $name:ident { $($function:ident($($argument:ty),*) -> $result:ty;)* }) => {
        $(#[$about])*
        #[expect(non_snake_case, reason = "the names are those of the library")]
        struct $name {
            $($function: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Keeps the functions valid.
            _library: libloading::Library,
        }

        impl $name {
            /// # Safety
            /// The functions of these names have these types.
            unsafe fn load(library: libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the caller vouches for the types; the library lives as long as the functions.
                    $($function: *unsafe { library.get(stringify!($function)) }?,)*
                    _library: library,
                })
            }
        }
    };
}
use functions;
