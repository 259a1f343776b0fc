//! The functions of `libnvrtc.so.12`, under their names.

use std::ffi::{CStr, c_char, c_int};

use parking_lot::Mutex;

use crate::{
    opencl::OpenCl,
    program::{as_opencl, cubin},
};

const INVALID_INPUT: c_int = 3;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;

/// Architectures that the double compiles for.
const ARCHITECTURES: [&str; 6] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"];

struct Program {
    text: String,
    headers: Vec<(String, String)>,
    log: Vec<u8>,
    cubin: Vec<u8>,
}

/// Returns a text of the caller.
///
/// # Safety
/// It ends in a zero.
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: the caller promises it.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: the caller has places for both.
    unsafe { (major.write(12), minor.write(9)) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetErrorString(error: c_int) -> *const c_char {
    let text = match error {
        0 => c"NVRTC_SUCCESS",
        INVALID_INPUT => c"NVRTC_ERROR_INVALID_INPUT",
        INVALID_OPTION => c"NVRTC_ERROR_INVALID_OPTION",
        COMPILATION => c"NVRTC_ERROR_COMPILATION",
        _ => c"NVRTC_ERROR unknown",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCreateProgram(
    program: *mut *mut Program,
    text: *const c_char,
    _name: *const c_char,
    count: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller has as many headers and names as it says, which end in zeros, and a place for the program.
    unsafe {
        let headers = (0..count).map(|at| (owned(*names.add(at)), owned(*headers.add(at)))).collect();
        let made = Program { text: owned(text), headers, log: vec![0], cubin: Vec::new() };
        program.write(Box::into_raw(Box::new(made)));
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCompileProgram(
    program: *mut Program,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    /// A device of its own: the compiler works without the driver.
    static OPENCL: Mutex<Option<OpenCl>> = Mutex::new(None);
    // SAFETY: the caller has the program from nvrtcCreateProgram, and as many options as it says.
    let (program, options) = unsafe {
        let options = (0..usize::try_from(count).unwrap_or(0)).map(|at| owned(*options.add(at)));
        (&mut *program, options.collect::<Vec<_>>())
    };
    let mut fail = |error: c_int, log: &str| {
        program.log = log.bytes().chain([0]).collect();
        error
    };
    let architecture = options.iter().find_map(|option| option.strip_prefix("--gpu-architecture="));
    let Some(architecture) = architecture.filter(|it| ARCHITECTURES.contains(it)) else {
        return fail(INVALID_OPTION, "nvrtc: error: invalid value for --gpu-architecture");
    };
    let text = match as_opencl(&program.text, &program.headers) {
        Ok(text) => text,
        Err(reason) => {
            eprintln!("cuda double: nvrtcCompileProgram: {reason}");
            return fail(INVALID_INPUT, &reason);
        }
    };
    let mut opencl = OPENCL.lock();
    if opencl.is_none() {
        match OpenCl::open() {
            Ok(opened) => *opencl = Some(opened),
            Err(reason) => return fail(COMPILATION, &reason),
        }
    }
    let Some(opencl) = opencl.as_ref() else { return COMPILATION };
    match opencl.build(&text) {
        Err(log) => fail(COMPILATION, &log),
        Ok(built) => {
            opencl.release_program(&built);
            program.cubin = cubin(&text, architecture);
            0
        }
    }
}

/// Functions that return the size of a program's output, and that copy it.
macro_rules! bytes {
    ($($length:ident $copy:ident $field:ident;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $length(program: *mut Program, length: *mut usize) -> c_int {
            // SAFETY: the caller has the program from nvrtcCreateProgram, and a place for the number.
            unsafe { length.write((*program).$field.len()) };
            0
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $copy(program: *mut Program, to: *mut u8) -> c_int {
            // SAFETY: as above, and there is room for as many bytes.
            unsafe {
                let bytes = &(*program).$field;
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
            0
        })*
    };
}

bytes! {
    nvrtcGetCUBINSize nvrtcGetCUBIN cubin;
    nvrtcGetProgramLogSize nvrtcGetProgramLog log;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcDestroyProgram(program: *mut *mut Program) -> c_int {
    // SAFETY: the caller has the program from nvrtcCreateProgram, and gives it back once.
    unsafe {
        drop(Box::from_raw(*program));
        program.write(std::ptr::null_mut());
    }
    0
}
