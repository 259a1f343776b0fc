//! The calls of OpenCL, through its loader.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    ptr,
    sync::Arc,
};

use libloading::Library;
use parking_lot::Mutex;
use proctor_device::signals::Handlers;

const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
const MEM_READ_WRITE: u64 = 1;
const PROGRAM_BUILD_LOG: c_uint = 0x1183;
const KERNEL_NUM_ARGS: c_uint = 0x1191;
const KERNEL_ARG_ADDRESS_QUALIFIER: c_uint = 0x1196;
const KERNEL_ARG_TYPE_NAME: c_uint = 0x1198;
const ADDRESS_GLOBAL: c_uint = 0x119B;

/// Options of the compiler: as in the plugin `opencl`, with information about arguments.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-kernel-arg-info";

type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        #[expect(non_snake_case, reason = "the names are OpenCL's")]
        struct Functions { $($name: unsafe extern "C" fn($($argument),*) -> $result,)* _library: Library }

        impl Functions {
            fn load() -> Result<Self, libloading::Error> {
                // SAFETY: the loader of OpenCL may be loaded at any time.
                let library = unsafe { Library::new("libOpenCL.so.1") }?;
                Ok(Self {
                    // SAFETY: the types are those of cl.h, and the library stays with them.
                    $($name: *unsafe { library.get(stringify!($name)) }?,)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    clGetPlatformIDs(c_uint, *mut Handle, *mut c_uint) -> c_int;
    clGetDeviceIDs(Handle, u64, c_uint, *mut Handle, *mut c_uint) -> c_int;
    clCreateContext(*const isize, c_uint, *const Handle, *const c_void, *mut c_void, *mut c_int) -> Handle;
    clCreateCommandQueue(Handle, Handle, u64, *mut c_int) -> Handle;
    clCreateProgramWithSource(Handle, c_uint, *const *const c_char, *const usize, *mut c_int) -> Handle;
    clBuildProgram(Handle, c_uint, *const Handle, *const c_char, *const c_void, *mut c_void) -> c_int;
    clGetProgramBuildInfo(Handle, Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    clReleaseProgram(Handle) -> c_int;
    clCreateKernel(Handle, *const c_char, *mut c_int) -> Handle;
    clReleaseKernel(Handle) -> c_int;
    clGetKernelInfo(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    clGetKernelArgInfo(Handle, c_uint, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    clSetKernelArg(Handle, c_uint, usize, *const c_void) -> c_int;
    clSetKernelArgSVMPointer(Handle, c_uint, *const c_void) -> c_int;
    clEnqueueNDRangeKernel(Handle, Handle, c_uint, *const usize, *const usize, *const usize, c_uint, *const Handle, *mut Handle) -> c_int;
    clFinish(Handle) -> c_int;
    clSVMAlloc(Handle, u64, usize, c_uint) -> *mut c_void;
    clSVMFree(Handle, *mut c_void) -> ();
}

/// One at a time: PoCL may crash where several contexts of a process compile.
static ALONE: Mutex<()> = Mutex::new(());

/// A device of OpenCL with a queue.
pub(crate) struct OpenCl {
    functions: Functions,
    device: Handle,
    context: Handle,
    queue: Handle,
}

// SAFETY: OpenCL's handles may be used on any thread.
unsafe impl Send for OpenCl {}

/// A program that was built.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    handle: Handle,
    text: Arc<str>,
}

// SAFETY: as above.
unsafe impl Send for Program {}

/// A kernel, and how many bytes each argument has; none for pointers.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    handle: Handle,
    pub argument_bytes: Vec<Option<usize>>,
}

// SAFETY: as above; the arguments are set under a lock.
unsafe impl Send for Kernel {}

/// Argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// An address of memory.
    Address(usize),
    /// A number, and its size in bytes.
    Number([u8; 8], usize),
}

impl OpenCl {
    /// Opens the first device.
    ///
    /// # Errors
    /// If there is none.
    pub fn open() -> Result<Self, String> {
        let _handlers = Handlers::kept();
        let functions = Functions::load().map_err(|error| error.to_string())?;
        let (mut platform, mut device, mut status) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: there is a place for one handle each time, and for the status; no other thread has them.
        let (context, queue) = unsafe {
            check("clGetPlatformIDs", (functions.clGetPlatformIDs)(1, &raw mut platform, ptr::null_mut()))?;
            let found =
                (functions.clGetDeviceIDs)(platform, DEVICE_TYPE_ALL, 1, &raw mut device, ptr::null_mut());
            check("clGetDeviceIDs", found)?;
            let context = (functions.clCreateContext)(
                ptr::null(),
                1,
                &raw const device,
                ptr::null(),
                ptr::null_mut(),
                &raw mut status,
            );
            check("clCreateContext", status)?;
            let queue = (functions.clCreateCommandQueue)(context, device, 0, &raw mut status);
            check("clCreateCommandQueue", status)?;
            (context, queue)
        };
        Ok(Self { functions, device, context, queue })
    }

    /// Returns the memory that kernels and the host share, at a multiple of a page; null if there is none.
    pub fn allocate(&self, bytes: usize) -> *mut u8 {
        // SAFETY: the context lives; there is nothing else to promise.
        unsafe { (self.functions.clSVMAlloc)(self.context, MEM_READ_WRITE, bytes, 128) }.cast()
    }

    /// Frees memory from [`allocate`](Self::allocate) that is no longer in use.
    pub fn free(&self, memory: *mut u8) {
        // SAFETY: the caller has it from `allocate`, once.
        unsafe { (self.functions.clSVMFree)(self.context, memory.cast()) };
    }

    /// Builds a text.
    ///
    /// # Errors
    /// Returns the compiler's log.
    pub fn build(&self, text: &str) -> Result<Program, String> {
        let _alone = ALONE.lock();
        // PoCL's compiler takes them for itself, which a real driver leaves alone.
        let _handlers = Handlers::kept();
        let whole: Arc<str> = text.into();
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let options = CString::new(OPTIONS).map_err(|error| error.to_string())?;
        let (pointer, mut status) = (text.as_ptr(), 0);
        let functions = &self.functions;
        // SAFETY: the text lives for the call and ends in a zero; the log is asked for its length before there is room.
        unsafe {
            let program = (functions.clCreateProgramWithSource)(
                self.context,
                1,
                &raw const pointer,
                ptr::null(),
                &raw mut status,
            );
            check("clCreateProgramWithSource", status)?;
            let device = &raw const self.device;
            let built = (functions.clBuildProgram)(
                program,
                1,
                device,
                options.as_ptr(),
                ptr::null(),
                ptr::null_mut(),
            );
            if built == 0 {
                return Ok(Program { handle: program, text: whole });
            }
            let mut length = 0;
            let log = functions.clGetProgramBuildInfo;
            log(program, self.device, PROGRAM_BUILD_LOG, 0, ptr::null_mut(), &raw mut length);
            let mut bytes = vec![0_u8; length];
            let room = bytes.as_mut_ptr().cast();
            log(program, self.device, PROGRAM_BUILD_LOG, length, room, ptr::null_mut());
            (functions.clReleaseProgram)(program);
            Err(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
        }
    }

    /// Returns the kernel of this name.
    ///
    /// # Errors
    /// If the program has none.
    pub fn kernel(&self, program: &Program, name: &str) -> Result<Kernel, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let functions = &self.functions;
        let mut status = 0;
        // SAFETY: the program was not released; each answer has room of its type.
        unsafe {
            let handle = (functions.clCreateKernel)(program.handle, name.as_ptr(), &raw mut status);
            check("clCreateKernel", status)?;
            let mut count: c_uint = 0;
            let room = (&raw mut count).cast();
            let told = (functions.clGetKernelInfo)(handle, KERNEL_NUM_ARGS, 4, room, ptr::null_mut());
            check("clGetKernelInfo", told)?;
            let mut argument_bytes = Vec::new();
            for at in 0..count {
                let mut space: c_uint = 0;
                let room = (&raw mut space).cast();
                let about = KERNEL_ARG_ADDRESS_QUALIFIER;
                let told = (functions.clGetKernelArgInfo)(handle, at, about, 4, room, ptr::null_mut());
                check("clGetKernelArgInfo", told)?;
                if space == ADDRESS_GLOBAL {
                    argument_bytes.push(None);
                    continue;
                }
                let mut name = [0_u8; 64];
                let (room, about) = (name.as_mut_ptr().cast(), KERNEL_ARG_TYPE_NAME);
                let told = (functions.clGetKernelArgInfo)(handle, at, about, 63, room, ptr::null_mut());
                check("clGetKernelArgInfo", told)?;
                let name = CStr::from_bytes_until_nul(&name).map_err(|error| error.to_string())?;
                let name = name.to_string_lossy();
                let bytes =
                    bytes_of(&program.text, &name).ok_or_else(|| format!("arguments of type {name}"))?;
                argument_bytes.push(Some(bytes));
            }
            Ok(Kernel { handle, argument_bytes })
        }
    }

    /// Frees a program that has no kernels left.
    pub fn release_program(&self, program: &Program) {
        // SAFETY: the caller does not use it any more.
        unsafe { (self.functions.clReleaseProgram)(program.handle) };
    }

    /// Gives a kernel back.
    pub fn release(&self, kernel: &Kernel) {
        // SAFETY: the caller does not use it any more.
        unsafe { (self.functions.clReleaseKernel)(kernel.handle) };
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// Returns OpenCL's error.
    pub fn run(
        &self,
        kernel: &Kernel,
        arguments: &[Argument],
        grid: [usize; 3],
        block: [usize; 3],
    ) -> Result<(), String> {
        let _alone = ALONE.lock();
        // PoCL's compiler takes them for itself, which a real driver leaves alone.
        let _handlers = Handlers::kept();
        let items: [usize; 3] = std::array::from_fn(|at| grid[at] * block[at]);
        let functions = &self.functions;
        // SAFETY: arguments are of the kernel's sizes; addresses were looked up a moment ago, and lists have three
        // elements as is said.
        unsafe {
            for (number, argument) in (0..).zip(arguments) {
                let set = match argument {
                    Argument::Address(address) => {
                        (functions.clSetKernelArgSVMPointer)(kernel.handle, number, *address as *const c_void)
                    }
                    Argument::Number(bytes, size) => {
                        (functions.clSetKernelArg)(kernel.handle, number, *size, bytes.as_ptr().cast())
                    }
                };
                check("clSetKernelArg", set)?;
            }
            let run = (functions.clEnqueueNDRangeKernel)(
                self.queue,
                kernel.handle,
                3,
                ptr::null(),
                items.as_ptr(),
                block.as_ptr(),
                0,
                ptr::null(),
                ptr::null_mut(),
            );
            check("clEnqueueNDRangeKernel", run)?;
            check("clFinish", (functions.clFinish)(self.queue))
        }
    }
}

/// Returns the size of a type, which may be a name that the text gives to another.
fn bytes_of(text: &str, name: &str) -> Option<usize> {
    match name {
        "char" | "uchar" => Some(1),
        "short" | "ushort" | "half" => Some(2),
        "int" | "uint" | "float" => Some(4),
        "long" | "ulong" | "double" => Some(8),
        _ => {
            let mut types = text.lines().filter_map(|line| line.strip_prefix("typedef ")?.strip_suffix(';'));
            let (is, _) = types.find_map(|it| it.rsplit_once(' ').filter(|(_, known)| *known == name))?;
            bytes_of(text, is)
        }
    }
}

fn check(call: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{call}: error {status} of OpenCL")) }
}
