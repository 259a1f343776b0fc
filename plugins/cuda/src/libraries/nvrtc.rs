//! NVRTC, which compiles CUDA C++ for a device.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
};

use super::{MAJORS, TOOLKIT, functions, load, names, reason};
use crate::error::OpenError;

/// The error about an architecture that the compiler does not know.
const INVALID_OPTION: c_int = 5;

type Program = *mut c_void;

functions! {
    /// The functions of NVRTC that are called here. They return 0, or the number of an error.
    Functions {
        nvrtcVersion(*mut c_int, *mut c_int) -> c_int;
        nvrtcCreateProgram(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> c_int;
        nvrtcCompileProgram(Program, c_int, *const *const c_char) -> c_int;
        nvrtcGetProgramLogSize(Program, *mut usize) -> c_int;
        nvrtcGetProgramLog(Program, *mut c_char) -> c_int;
        nvrtcGetCUBINSize(Program, *mut usize) -> c_int;
        nvrtcGetCUBIN(Program, *mut c_char) -> c_int;
        nvrtcDestroyProgram(*mut Program) -> c_int;
        nvrtcGetErrorString(c_int) -> *const c_char;
    }
}

/// The compiler.
pub(crate) struct Nvrtc {
    functions: Functions,
    /// Version, major and minor.
    version: (i32, i32),
}

impl Nvrtc {
    /// Loads the library, from this folder if given. `driver` is the CUDA version of the driver: among several
    /// libraries the one of the driver's version is tried first, and newer ones last, since the driver may not accept
    /// their code.
    ///
    /// # Errors
    /// [`OpenError::NoCompiler`].
    pub fn load(folder: Option<&Path>, driver: i32) -> Result<Self, OpenError> {
        let major = driver / 1000;
        let mut first_reason = String::new();
        for path in candidates(folder, major) {
            // SAFETY: the name is that of NVRTC, whose library may be loaded at any time.
            let loaded = unsafe { load(&path) }.and_then(|library| {
                // SAFETY: the types are those of NVRTC's header, the same in all versions.
                unsafe { Functions::load(library) }
            });
            match loaded {
                Ok(functions) => {
                    let mut version = (0, 0);
                    // SAFETY: there is a place for each number.
                    unsafe { (functions.nvrtcVersion)(&raw mut version.0, &raw mut version.1) };
                    tracing::info!(path = %path.display(), ?version, "NVRTC loaded");
                    return Ok(Self { functions, version });
                }
                Err(error) if first_reason.is_empty() => first_reason = reason(&error),
                Err(_) => {}
            }
        }
        Err(OpenError::NoCompiler { major: major.clamp(MAJORS[1], MAJORS[0]), reason: first_reason })
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// Returns the compiler's log, or the call that has failed.
    pub fn compile(&self, source: &Source<'_>) -> Result<Compiled, String> {
        let text = c_text(source.text)?;
        let name = c_text(source.name)?;
        let (header, header_name) = (c_text(source.header)?, c_text(source.header_name)?);
        let (headers, header_names) = ([header.as_ptr()], [header_name.as_ptr()]);
        let options: Vec<CString> =
            source.options.iter().map(|option| c_text(option)).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let option_count = c_int::try_from(options.len()).map_err(|error| error.to_string())?;

        let mut program = Open { program: ptr::null_mut(), nvrtc: self };
        // SAFETY: all texts live for the call, which copies them; there is one header with one name.
        let created = unsafe {
            (self.functions.nvrtcCreateProgram)(
                &raw mut program.program,
                text.as_ptr(),
                name.as_ptr(),
                1,
                headers.as_ptr(),
                header_names.as_ptr(),
            )
        };
        self.check("nvrtcCreateProgram", created)?;
        // SAFETY: the program is live, and so are as many options as are said.
        let compiled =
            unsafe { (self.functions.nvrtcCompileProgram)(program.program, option_count, options.as_ptr()) };
        let log = program.text(self.functions.nvrtcGetProgramLogSize, self.functions.nvrtcGetProgramLog);
        let log = log.map(|bytes| String::from_utf8_lossy(&bytes).trim_end_matches(['\0', '\n']).to_owned());
        let log = log.unwrap_or_default();
        if compiled != 0 {
            let version = self.name_and_version();
            let error = self.error(compiled);
            let end = if compiled == INVALID_OPTION {
                "; another version of NVRTC may know this device"
            } else {
                ""
            };
            return Err(format!("{version} with {}: {error}: {log}{end}", source.options.join(" ")));
        }
        if !log.is_empty() {
            tracing::debug!(name = source.name, log, "compiled");
        }
        let code = program.text(self.functions.nvrtcGetCUBINSize, self.functions.nvrtcGetCUBIN)?;
        Ok(Compiled { code, log })
    }

    /// Returns the name and version.
    pub fn name_and_version(&self) -> String {
        let (major, minor) = self.version;
        format!("NVRTC {major}.{minor}")
    }

    fn check(&self, call: &str, result: c_int) -> Result<(), String> {
        if result == 0 { Ok(()) } else { Err(format!("{call}: {}", self.error(result))) }
    }

    fn error(&self, result: c_int) -> String {
        // SAFETY: any number may be asked about.
        let text = unsafe { (self.functions.nvrtcGetErrorString)(result) };
        if text.is_null() {
            return format!("error {result}");
        }
        // SAFETY: NVRTC returns a text of its own, which stays.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// A text to compile.
pub(crate) struct Source<'a> {
    /// Text to compile.
    pub text: &'a str,
    /// Name in the compiler's log.
    pub name: &'a str,
    /// A header that it includes.
    pub header: &'a str,
    /// The name by which it does.
    pub header_name: &'a str,
    /// Options of the compiler.
    pub options: &'a [String],
}

pub(crate) struct Compiled {
    /// The code for the device, a cubin.
    pub code: Vec<u8>,
    /// The compiler's log.
    pub log: String,
}

/// A program of the compiler until it is dropped; null before it is made.
struct Open<'a> {
    program: Program,
    nvrtc: &'a Nvrtc,
}

impl Open<'_> {
    /// Returns the bytes that the program has, by the functions that say how many they are and that write them.
    fn text(
        &self,
        size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
        write: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ) -> Result<Vec<u8>, String> {
        let mut count = 0;
        // SAFETY: the program is live; `count` is a place for the number.
        self.nvrtc.check("the size of a result of NVRTC", unsafe { size(self.program, &raw mut count) })?;
        let mut bytes = vec![0_u8; count];
        // SAFETY: there is room for as many bytes as the function beside it has said.
        let written = unsafe { write(self.program, bytes.as_mut_ptr().cast()) };
        self.nvrtc.check("a result of NVRTC", written)?;
        Ok(bytes)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program is live, and nobody has its handle after this.
            unsafe { (self.nvrtc.functions.nvrtcDestroyProgram)(&raw mut self.program) };
        }
    }
}

fn c_text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|error| format!("a text for NVRTC: {error}"))
}

/// Returns the files that may be the library, in the order in which they are tried.
fn candidates(folder: Option<&Path>, major: i32) -> Vec<PathBuf> {
    let names = names("libnvrtc", major);
    match folder {
        Some(folder) => names.iter().map(|name| folder.join(name)).collect(),
        None => {
            let in_toolkit = names.iter().map(|name| Path::new(TOOLKIT).join(name));
            names.iter().map(PathBuf::from).chain(in_toolkit).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_driver_is_tried_first() {
        let names = |major| {
            let found = candidates(Some(Path::new("/lib")), major);
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(12), ["/lib/libnvrtc.so.12", "/lib/libnvrtc.so.13", "/lib/libnvrtc.so"]);
        assert_eq!(names(13), ["/lib/libnvrtc.so.13", "/lib/libnvrtc.so.12", "/lib/libnvrtc.so"]);
        assert_eq!(names(14), ["/lib/libnvrtc.so.13", "/lib/libnvrtc.so.12", "/lib/libnvrtc.so"]);
        assert!(candidates(None, 12).contains(&Path::new(TOOLKIT).join("libnvrtc.so.12")));
    }

    #[test]
    fn a_folder_without_the_library_is_an_error_that_says_what_to_install() {
        let error = Nvrtc::load(Some(Path::new("/nowhere")), 12_040).err().unwrap().to_string();
        assert!(error.starts_with("there is no NVRTC"), "{error}");
        assert!(error.contains("nvidia-cuda-nvrtc-cu12"), "{error}");
    }
}
