//! Kernels, their launch parameters, and launches as a graph.

use std::{
    ffi::{CString, c_void},
    sync::Arc,
};

use cudarc::driver::{result, sys};
use proctor_device::{driver::DeviceError, program::call::Argument};

use crate::{
    context::Context,
    convolution::{Convolution, ConvolutionLaunch},
    devices::Limits,
    error::{failed, log},
    memory::Memory,
    product::{Product, ProductLaunch},
    queue::Queue,
};

/// A compiled kernel, a product of cuBLASLt, or a convolution of cuDNN.
#[derive(Clone)]
pub struct Function(Kind);

#[derive(Clone)]
enum Kind {
    Kernel(Arc<Loaded>),
    Product(Arc<Product>),
    Convolution(Arc<Convolution>),
}

/// A module with one kernel.
struct Loaded {
    name: &'static str,
    module: sys::CUmodule,
    function: sys::CUfunction,
    /// Number of threads of a block with the registers and the memory that the kernel takes.
    threads_max: usize,
    context: Arc<Context>,
}

// SAFETY: a module and its functions may be used on any thread where their context is current.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing changes them.
unsafe impl Sync for Loaded {}

impl Function {
    /// Loads a kernel that was compiled for the device.
    pub(crate) fn load(
        context: &Arc<Context>,
        name: &'static str,
        cubin: &[u8],
    ) -> Result<Self, DeviceError> {
        context.enter()?;
        let symbol =
            CString::new(name).map_err(|error| DeviceError::refused(format!("kernel {name:?}: {error}")))?;
        // SAFETY: the bytes are a cubin, which says its own length: NVRTC made it, in this process or before, and then
        // its checksum was right.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast::<c_void>()) };
        let module = module.map_err(failed(&format!("cuModuleLoadData of kernel {name}")))?;
        // From here on it is unloaded, also after an error.
        let mut loaded = Loaded {
            name,
            module,
            function: std::ptr::null_mut(),
            threads_max: 0,
            context: Arc::clone(context),
        };
        // SAFETY: the module is live.
        let function = unsafe { result::module::get_function(module, symbol) };
        loaded.function = function.map_err(failed(&format!("cuModuleGetFunction of kernel {name}")))?;
        // To be asked has CUDA load the kernel now, and not while its first launch is captured.
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function is of a module that is live.
        let most = unsafe { result::function::get_function_attribute(loaded.function, attribute) };
        let most = most.map_err(failed(&format!("cuFuncGetAttribute of kernel {name}")))?;
        loaded.threads_max = usize::try_from(most).unwrap_or(0);
        Ok(Self(Kind::Kernel(Arc::new(loaded))))
    }

    pub(crate) fn of_product(product: Product) -> Self {
        Self(Kind::Product(Arc::new(product)))
    }

    pub(crate) fn of_convolution(convolution: Convolution) -> Self {
        Self(Kind::Convolution(Arc::new(convolution)))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.context.give_back("cuModuleUnload", || {
            // SAFETY: the module is live, and no work of the device is left that runs its kernel.
            unsafe { result::module::unload(self.module) }
        });
    }
}

/// A kernel, a product or a convolution with its arguments.
pub struct Launch(Bind);

enum Bind {
    Kernel(KernelLaunch),
    Product(ProductLaunch),
    Convolution(ConvolutionLaunch),
}

/// A kernel with its arguments and its grid.
struct KernelLaunch {
    kernel: Arc<Loaded>,
    arguments: Vec<ArgumentBytes>,
    blocks: [u32; 3],
    threads: [u32; 3],
    /// Keeps the targets of its arguments alive.
    _memories: Vec<Memory>,
}

/// An argument as a kernel reads it, from the first byte on.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy, PartialEq)]
struct ArgumentBytes([u8; 8]);

impl ArgumentBytes {
    fn new<const N: usize>(bytes: [u8; N]) -> Self {
        let mut argument = [0; 8];
        argument[..N].copy_from_slice(&bytes);
        Self(argument)
    }
}

impl Launch {
    pub(crate) fn new(
        queue: &Queue,
        limits: &Limits,
        Function(kind): &Function,
        arguments: &[Argument<&Memory>],
        grid: [[usize; 3]; 2],
    ) -> Result<Self, DeviceError> {
        Ok(Self(match kind {
            Kind::Kernel(kernel) => Bind::Kernel(KernelLaunch::new(limits, kernel, arguments, grid)?),
            Kind::Product(product) => Bind::Product(ProductLaunch::new(queue, product, arguments)?),
            Kind::Convolution(convolution) => {
                Bind::Convolution(ConvolutionLaunch::new(queue, convolution, arguments)?)
            }
        }))
    }

    /// Puts the launch in a queue.
    fn enqueue(&self, queue: &Queue) -> Result<(), DeviceError> {
        match &self.0 {
            Bind::Kernel(launch) => launch.enqueue(queue),
            Bind::Product(launch) => launch.enqueue(queue),
            Bind::Convolution(launch) => launch.enqueue(queue),
        }
    }
}

impl KernelLaunch {
    fn new(
        limits: &Limits,
        loaded: &Arc<Loaded>,
        arguments: &[Argument<&Memory>],
        [items, group]: [[usize; 3]; 2],
    ) -> Result<Self, DeviceError> {
        let [blocks, threads] = limits.grid(items, group, loaded.threads_max).map_err(|what| {
            DeviceError::refused(format!("kernel {} cannot be launched: {what}", loaded.name))
        })?;
        let mut memories = Vec::new();
        let values = arguments.iter().map(|argument| match argument {
            Argument::Buffer(memory) => {
                memories.push((*memory).clone());
                ArgumentBytes::new(memory.address().to_ne_bytes())
            }
            Argument::Int(number) => ArgumentBytes::new(number.to_ne_bytes()),
            Argument::Long(number) => ArgumentBytes::new(number.to_ne_bytes()),
            Argument::Float(number) => ArgumentBytes::new(number.to_ne_bytes()),
        });
        let arguments = values.collect();
        Ok(Self { kernel: Arc::clone(loaded), arguments, blocks, threads, _memories: memories })
    }

    fn enqueue(&self, queue: &Queue) -> Result<(), DeviceError> {
        let loaded = &*self.kernel;
        let mut places: Vec<*mut c_void> =
            self.arguments.iter().map(|argument| (&raw const *argument).cast_mut().cast()).collect();
        let [blocks, threads] = [self.blocks, self.threads].map(|[x, y, z]| (x, y, z));
        // SAFETY: function and stream are live and of one context, or CUDA refuses them. CUDA reads each argument
        // before it returns, of as many bytes as the kernel's has: at most eight, which are there. That they are of the
        // right number and types, and that the kernel stays within its memory, whoever bound them has promised; that
        // memory is not freed before the work of the device is done.
        let launched = unsafe {
            result::launch_kernel(loaded.function, blocks, threads, 0, queue.stream(), &mut places)
        };
        launched.map_err(failed(&format!("cuLaunchKernel of {}", loaded.name)))
    }
}

/// Launches as a graph, which is put in a queue by one call.
pub struct Sequence {
    graph: sys::CUgraphExec,
    context: Arc<Context>,
    /// Keeps the kernels and the targets of their arguments alive.
    _launches: Vec<Launch>,
}

// SAFETY: a graph may be launched and destroyed on any thread where its context is current, one at a time.
unsafe impl Send for Sequence {}

impl Sequence {
    /// Captures launches in the queue that they were bound for, without running them.
    pub(crate) fn new(queue: &Queue, launches: Vec<Launch>) -> Result<Self, DeviceError> {
        let context = Arc::clone(queue.context());
        let graph = context.alone(|| capture(queue, &launches))?;
        // SAFETY: the graph is live. 0 asks for nothing special.
        let executable = unsafe { result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0)) };
        // SAFETY: the graph is live; what was made of it has copies.
        log("cuGraphDestroy", unsafe { result::graph::destroy(graph) });
        let graph = executable.map_err(failed("cuGraphInstantiateWithFlags"))?;
        Ok(Self { graph, context, _launches: launches })
    }

    pub(crate) fn launch(&self, queue: &Queue) -> Result<(), DeviceError> {
        self.context.enter()?;
        // SAFETY: graph and stream are live and of one device, or CUDA refuses them. What its kernels use lives as long
        // as `self`, and is not given back before the work of the device is done.
        unsafe { result::graph::launch(self.graph, queue.stream()) }.map_err(failed("cuGraphLaunch"))
    }
}

fn capture(queue: &Queue, launches: &[Launch]) -> Result<sys::CUgraph, DeviceError> {
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the stream is live. Other threads may go on with theirs; those that wait for a context are kept out.
    unsafe { result::stream::begin_capture(queue.stream(), mode) }.map_err(failed("cuStreamBeginCapture"))?;
    let launched = launches.iter().try_for_each(|launch| launch.enqueue(queue));
    // SAFETY: the stream is live, and is captured by this thread.
    let graph = unsafe { result::stream::end_capture(queue.stream()) };
    match (launched, graph) {
        (Ok(()), graph) => graph.map_err(failed("cuStreamEndCapture")),
        (Err(error), graph) => {
            if let Some(graph) = graph.ok().filter(|graph| !graph.is_null()) {
                // SAFETY: the graph is live, and nobody has its handle after this.
                log("cuGraphDestroy", unsafe { result::graph::destroy(graph) });
            }
            Err(error)
        }
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the graph is live, and nobody has its handle after this. One that still runs is freed when it is
            // done; its launches go after this, and with them what they use.
            log("cuGraphExecDestroy", unsafe { result::graph::exec_destroy(self.graph) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_begin_with_their_own_bytes() {
        assert_eq!(ArgumentBytes::new(7_i32.to_ne_bytes()).0[..4], 7_i32.to_ne_bytes());
        assert_eq!(ArgumentBytes::new((-7_i64).to_ne_bytes()).0, (-7_i64).to_ne_bytes());
        assert_eq!(ArgumentBytes::new(0.5_f32.to_ne_bytes()).0[..4], 0.5_f32.to_ne_bytes());
        assert_eq!(align_of::<ArgumentBytes>(), 8);
    }
}
