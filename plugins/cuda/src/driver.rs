//! CUDA behind the trait of `proctor-device`.

use std::sync::Arc;

use proctor_device::{
    driver::{DeviceError, Driver},
    program::{
        call::{Argument, Kernel},
        library::{self, MatrixProduct},
    },
};
use proctor_plugin_api::Host;

use crate::{
    compiler::Compiler,
    context::Context,
    convolution::{Convolution, ConvolutionLibrary, Convolutions},
    devices::DeviceInfo,
    launch::{Function, Launch, Sequence},
    memory::{HostMemory, Memory},
    product::{Product, ProductLibrary, Products},
    queue::{Event, Queue},
};

/// A device with one queue.
pub struct Cuda {
    queue: Queue,
    shared: Arc<Shared>,
}

/// A device, for all its queues.
struct Shared {
    host: Host,
    info: DeviceInfo,
    compiler: Arc<Compiler>,
    /// Products by cuBLASLt, if it is available and wanted.
    products: Option<Arc<Products>>,
    /// Convolutions by cuDNN, if it is available and wanted.
    convolutions: Option<Arc<Convolutions>>,
}

/// Libraries that replace kernels, if they are installed and wanted.
#[derive(Default)]
pub struct Libraries {
    /// cuBLASLt.
    pub products: Option<ProductLibrary>,
    /// cuDNN.
    pub convolutions: Option<ConvolutionLibrary>,
}

impl Cuda {
    /// Opens a device. Reports the progress of compilation to `host`.
    ///
    /// # Errors
    /// Returns CUDA's error.
    pub fn open(
        host: Host,
        info: &DeviceInfo,
        compiler: Arc<Compiler>,
        libraries: &Libraries,
    ) -> Result<Self, DeviceError> {
        let context = Context::open(info)?;
        let products = |library: &ProductLibrary| Products::new(library, &context);
        let products = libraries.products.as_ref().map(products).transpose()?;
        let convolutions = libraries.convolutions.as_ref().map(Convolutions::new);
        let queue = Queue::new(&context)?;
        let shared = Shared { host, info: info.clone(), compiler, products, convolutions };
        Ok(Self { queue, shared: Arc::new(shared) })
    }

    fn context(&self) -> &Arc<Context> {
        self.queue.context()
    }
}

impl Driver for Cuda {
    type Memory = Memory;
    type HostMemory = HostMemory;
    type Function = Function;
    type Launch = Launch;
    type Sequence = Sequence;
    type Event = Event;

    const PINS_MEMORY: bool = true;

    fn sibling(&self) -> Result<Self, DeviceError> {
        Ok(Self { queue: Queue::new(self.context())?, shared: Arc::clone(&self.shared) })
    }

    fn allocate(&self, bytes: usize) -> Result<Memory, DeviceError> {
        Memory::allocate(self.context(), bytes)
    }

    fn part(&self, memory: &Memory, offset: usize, bytes: usize) -> Result<Memory, DeviceError> {
        memory.part(offset, bytes)
    }

    fn allocate_host(&self, bytes: usize) -> Result<HostMemory, DeviceError> {
        HostMemory::allocate(self.context(), bytes)
    }

    fn compile(&self, kernel: &Kernel) -> Result<Function, DeviceError> {
        let Shared { host, info, compiler, .. } = &*self.shared;
        let code = compiler.compile(*host, kernel, &info.architecture)?;
        Function::load(self.context(), kernel.function, &code)
    }

    fn product(&self, product: &MatrixProduct) -> Result<Option<Function>, DeviceError> {
        let Some(products) = &self.shared.products else { return Ok(None) };
        self.context().enter()?;
        Ok(Product::new(products, product)?.map(Function::of_product))
    }

    fn convolution(&self, convolution: &library::Convolution) -> Result<Option<Function>, DeviceError> {
        let Some(convolutions) = &self.shared.convolutions else { return Ok(None) };
        let found = Convolution::new(&self.queue, convolutions, convolution)?;
        Ok(found.map(Function::of_convolution))
    }

    unsafe fn bind(
        &self,
        function: &Function,
        arguments: &[Argument<&Memory>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<Launch, DeviceError> {
        Launch::new(&self.queue, &self.shared.info.limits, function, arguments, [items, group])
    }

    fn sequence(&self, launches: Vec<Launch>) -> Result<Sequence, DeviceError> {
        Sequence::new(&self.queue, launches)
    }

    fn launch(&self, sequence: &Sequence) -> Result<(), DeviceError> {
        sequence.launch(&self.queue)
    }

    unsafe fn write(&self, to: &Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: the caller promises the same.
        unsafe { self.queue.write(to, offset, bytes) }
    }

    unsafe fn read(&self, from: &Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: the caller promises the same.
        unsafe { self.queue.read(from, offset, bytes) }
    }

    fn event(&self) -> Result<Event, DeviceError> {
        Event::new(self.context())
    }

    fn record(&self, event: &mut Event) -> Result<(), DeviceError> {
        self.queue.record(event)
    }

    fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        event.wait()
    }

    fn elapsed_ns(&self, from: &Event, to: &Event) -> Result<u64, DeviceError> {
        from.elapsed_ns(to)
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.queue.finish()
    }
}
