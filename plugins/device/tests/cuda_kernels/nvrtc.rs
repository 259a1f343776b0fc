//! The compiler of CUDA: the calls of it that the test needs.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    path::Path,
    ptr,
};

use libloading::{Library, Symbol};

/// Folder under the workspace where `cargo xtask setup` puts the wheel, with one folder for each version of Python.
const FOLDER: &str = "../../target/python-nvidia-cuda-nvrtc-12.9.86";

/// The library in the wheel.
const LIBRARY: &str = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12";

type Program = *mut c_void;
type Texts = *const *const c_char;
type Create = unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, Texts, Texts) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, Texts) -> c_int;
type LogSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Log = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;

/// The loaded compiler.
pub struct Nvrtc(Library);

impl Nvrtc {
    /// The compiler that `cargo xtask setup` has installed, if it has.
    pub fn find() -> Option<Self> {
        let versions = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER)).ok()?;
        let mut libraries = versions.flatten().map(|version| version.path().join(LIBRARY));
        let path = libraries.find(|path| path.is_file())?;
        // SAFETY: the library of the wheel, which has nothing to do when it is loaded but for its own state.
        let library = unsafe { Library::new(&path) };
        Some(Self(library.unwrap_or_else(|error| panic!("{}: {error}", path.display()))))
    }

    /// Compiles a text, which includes `header` by its name, for an architecture. Returns the report of the assembler.
    ///
    /// # Errors
    /// The compiler's log.
    pub fn compile(&self, source: &str, header: (&str, &str), architecture: &str) -> Result<String, String> {
        let c = |text: &str| CString::new(text).unwrap();
        let (source, name, header) = (c(source), c("kernel.cu"), [c(header.0), c(header.1)]);
        let options = [c(&format!("--gpu-architecture={architecture}")), c("--ptxas-options=-v")];
        let options = options.each_ref().map(|option| option.as_ptr());
        let [header_name, header_text] = header.each_ref().map(|text| text.as_ptr());
        let mut program: Program = ptr::null_mut();
        // SAFETY: the types are those of nvrtc.h. Texts end in zeros and live until the end of this function; each list
        // has as many as is said. The log is asked for its size, zero included, before there is room for it.
        unsafe {
            let create: Symbol<'_, Create> = self.0.get("nvrtcCreateProgram").unwrap();
            let compile: Symbol<'_, Compile> = self.0.get("nvrtcCompileProgram").unwrap();
            let log_size: Symbol<'_, LogSize> = self.0.get("nvrtcGetProgramLogSize").unwrap();
            let log: Symbol<'_, Log> = self.0.get("nvrtcGetProgramLog").unwrap();
            let destroy: Symbol<'_, Destroy> = self.0.get("nvrtcDestroyProgram").unwrap();
            assert_eq!(
                create(&mut program, source.as_ptr(), name.as_ptr(), 1, &header_text, &header_name),
                0
            );
            let status = compile(program, 2, options.as_ptr());
            let mut size = 0;
            assert_eq!(log_size(program, &mut size), 0);
            let mut text = vec![0_u8; size.max(1)];
            assert_eq!(log(program, text.as_mut_ptr().cast()), 0);
            assert_eq!(destroy(&mut program), 0);
            let text = CStr::from_bytes_until_nul(&text).unwrap().to_string_lossy().into_owned();
            if status == 0 { Ok(text) } else { Err(text) }
        }
    }
}
