//! OpenCL behind the trait of `proctor-device`.

use std::{ptr, sync::Arc};

use opencl3::{
    command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue},
    context::Context,
    error_codes::ClError,
    event::Event,
    kernel::Kernel as ClKernel,
    memory::{Buffer, CL_MEM_READ_WRITE, ClMem as _},
    program::Program,
    types::{CL_NON_BLOCKING, cl_device_id, cl_mem},
};
use proctor_device::{
    driver::{DeviceError, DeviceErrorKind, Driver, check_range},
    program::call::{Argument, Kernel},
};

use crate::devices::DeviceInfo;

/// Options of the compiler: divisions and roots may be off by a few units in the last place, as of GPUs.
const OPTIONS: &str = "-cl-std=CL1.2";

/// A device with one queue.
pub struct OpenCl {
    context: Arc<Context>,
    queue: CommandQueue,
}

/// A buffer, or a part of one.
#[derive(Clone)]
pub struct Memory {
    buffer: Arc<Buffer<u8>>,
    bytes: usize,
    /// The buffer that it is a part of.
    _whole: Option<Arc<Buffer<u8>>>,
}

/// A compiled kernel: its program, and its name there.
#[derive(Clone)]
pub struct Function {
    program: Arc<Program>,
    name: &'static str,
}

/// A kernel whose arguments are set.
pub struct Launch {
    kernel: ClKernel,
    items: [usize; 3],
    group: [usize; 3],
    /// Keeps the targets of its arguments alive.
    _memories: Vec<Memory>,
}

impl OpenCl {
    /// Opens a device.
    ///
    /// # Errors
    /// Returns OpenCL's error.
    pub fn open(place: &DeviceInfo) -> Result<Self, DeviceError> {
        let context = Context::from_device(&place.device).map_err(failed("clCreateContext"))?;
        Self::with_queue(Arc::new(context))
    }

    fn with_queue(context: Arc<Context>) -> Result<Self, DeviceError> {
        let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE);
        Ok(Self { queue: queue.map_err(failed("clCreateCommandQueue"))?, context })
    }
}

impl Driver for OpenCl {
    type Memory = Memory;
    type Function = Function;
    type HostMemory = Box<[u8]>;
    type Launch = Launch;
    type Sequence = Vec<Launch>;
    type Event = Option<Event>;

    const PINS_MEMORY: bool = false;

    fn sibling(&self) -> Result<Self, DeviceError> {
        Self::with_queue(Arc::clone(&self.context))
    }

    fn allocate(&self, bytes: usize) -> Result<Memory, DeviceError> {
        // SAFETY: no memory of the host is given, so there is none that would have to live as long.
        let buffer = unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) };
        let buffer =
            buffer.map_err(|error| device_error(&format!("clCreateBuffer of {bytes} bytes"), error))?;
        Ok(Memory { buffer: Arc::new(buffer), bytes, _whole: None })
    }

    fn part(&self, memory: &Memory, offset: usize, bytes: usize) -> Result<Memory, DeviceError> {
        check_range("a part", offset, bytes, memory.bytes)?;
        // SAFETY: the part is within the buffer, as was checked, which the part keeps.
        let part = unsafe { memory.buffer.create_sub_buffer(CL_MEM_READ_WRITE, offset, bytes) };
        let buffer = Arc::new(part.map_err(failed("clCreateSubBuffer"))?);
        Ok(Memory { buffer, bytes, _whole: Some(Arc::clone(&memory.buffer)) })
    }

    fn allocate_host(&self, bytes: usize) -> Result<Box<[u8]>, DeviceError> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(bytes).map_err(|_| DeviceError {
            message: format!("there are no {bytes} bytes of memory"),
            code: 0,
            kind: DeviceErrorKind::OutOfMemory,
        })?;
        memory.resize(bytes, 0);
        Ok(memory.into_boxed_slice())
    }

    fn compile(&self, kernel: &Kernel) -> Result<Function, DeviceError> {
        let text = kernel.opencl_text();
        let program = Program::create_and_build_from_source(&self.context, &text, OPTIONS);
        let program = program.map_err(|log| {
            DeviceError::refused(format!(
                "the compiler refuses kernel {}: {log}; PoCL needs a cache that it can write, whose folder \
                 POCL_CACHE_DIR names",
                kernel.function
            ))
        })?;
        Ok(Function { program: Arc::new(program), name: kernel.function })
    }

    unsafe fn bind(
        &self,
        function: &Function,
        arguments: &[Argument<&Memory>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<Launch, DeviceError> {
        let kernel = ClKernel::create(&function.program, function.name).map_err(failed("clCreateKernel"))?;
        let device: cl_device_id = self.context.default_device();
        let most = kernel.get_work_group_size(device).map_err(failed("clGetKernelWorkGroupInfo"))?;
        if group.iter().product::<usize>() > most {
            let message =
                format!("kernel {} has groups of at most {most} items, not {group:?}", function.name);
            return Err(DeviceError::refused(message));
        }
        let mut memories = Vec::new();
        for (number, argument) in (0..).zip(arguments) {
            let set = match argument {
                Argument::Buffer(memory) => {
                    memories.push((*memory).clone());
                    let handle: cl_mem = memory.buffer.get();
                    // SAFETY: the type is that of a buffer, which lives as long as the launch. OpenCL refuses an
                    // argument of another size than the kernel's.
                    unsafe { kernel.set_arg(number, &handle) }
                }
                // SAFETY: as above; a number is copied.
                Argument::Int(value) => unsafe { kernel.set_arg(number, value) },
                // SAFETY: as above; a number is copied.
                Argument::Long(value) => unsafe { kernel.set_arg(number, value) },
                // SAFETY: as above; a number is copied.
                Argument::Float(value) => unsafe { kernel.set_arg(number, value) },
            };
            set.map_err(|error| {
                device_error(&format!("clSetKernelArg of argument {number} of {}", function.name), error)
            })?;
        }
        Ok(Launch { kernel, items, group, _memories: memories })
    }

    fn sequence(&self, launches: Vec<Launch>) -> Result<Vec<Launch>, DeviceError> {
        Ok(launches)
    }

    fn launch(&self, sequence: &Vec<Launch>) -> Result<(), DeviceError> {
        for Launch { kernel, items, group, .. } in sequence {
            // SAFETY: both lists have three elements, as is said, and live for the call; all arguments were set, with
            // buffers that the launch keeps, and whoever bound them has promised that the kernel stays within.
            let event = unsafe {
                self.queue.enqueue_nd_range_kernel(
                    kernel.get(),
                    3,
                    ptr::null(),
                    items.as_ptr(),
                    group.as_ptr(),
                    &[],
                )
            };
            event.map_err(failed("clEnqueueNDRangeKernel"))?;
        }
        Ok(())
    }

    unsafe fn write(&self, to: &Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        check_range("a write", offset, bytes.len(), to.bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let mut buffer = Borrowed::of(to);
        // SAFETY: the bytes are within the buffer, as was checked, and stay as they are, as the caller promises.
        let event =
            unsafe { self.queue.enqueue_write_buffer(&mut buffer.0, CL_NON_BLOCKING, offset, bytes, &[]) };
        event.map(drop).map_err(failed("clEnqueueWriteBuffer"))
    }

    unsafe fn read(&self, from: &Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        check_range("a read", offset, bytes.len(), from.bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the bytes are within the buffer, as was checked, and stay where they are, as the caller promises.
        let event =
            unsafe { self.queue.enqueue_read_buffer(&from.buffer, CL_NON_BLOCKING, offset, bytes, &[]) };
        event.map(drop).map_err(failed("clEnqueueReadBuffer"))
    }

    fn event(&self) -> Result<Option<Event>, DeviceError> {
        Ok(None)
    }

    fn record(&self, event: &mut Option<Event>) -> Result<(), DeviceError> {
        // SAFETY: there are no other events to wait for, whose handles would have to be valid.
        let marker = unsafe { self.queue.enqueue_marker_with_wait_list(&[]) };
        *event = Some(marker.map_err(failed("clEnqueueMarkerWithWaitList"))?);
        Ok(())
    }

    fn wait(&self, event: &Option<Event>) -> Result<(), DeviceError> {
        self.queue.flush().map_err(failed("clFlush"))?;
        recorded(event)?.wait().map_err(failed("clWaitForEvents"))
    }

    fn elapsed_ns(&self, from: &Option<Event>, to: &Option<Event>) -> Result<u64, DeviceError> {
        let [from, to] = [recorded(from)?, recorded(to)?].map(Event::profiling_command_end);
        let failed = failed("clGetEventProfilingInfo");
        Ok(to.map_err(&failed)?.saturating_sub(from.map_err(&failed)?))
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.queue.finish().map_err(failed("clFinish"))
    }
}

/// The same buffer, for a call that wants it alone. It is not released.
struct Borrowed(std::mem::ManuallyDrop<Buffer<u8>>);

impl Borrowed {
    fn of(memory: &Memory) -> Self {
        Self(std::mem::ManuallyDrop::new(Buffer::new(memory.buffer.get())))
    }
}

fn recorded(event: &Option<Event>) -> Result<&Event, DeviceError> {
    event.as_ref().ok_or_else(|| DeviceError::refused("an event is used before it was recorded"))
}

fn failed(call: &str) -> impl Fn(ClError) -> DeviceError + use<> {
    let call = call.to_owned();
    move |error| device_error(&call, error)
}

fn device_error(call: &str, error: ClError) -> DeviceError {
    // Numbers of the OpenCL specification.
    let kind = match error.0 {
        -4 | -6 | -61 => DeviceErrorKind::OutOfMemory,
        // Of other calls it is said of a kernel that takes too many registers, or has gone astray.
        -5 if call.starts_with("clCreateBuffer") => DeviceErrorKind::OutOfMemory,
        -2 | -36 => DeviceErrorKind::Lost,
        _ => DeviceErrorKind::Failed,
    };
    DeviceError { message: format!("{call}: {error}"), code: i64::from(error.0), kind }
}
