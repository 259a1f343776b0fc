//! A program on a device.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use crate::{
    driver::{DeviceError, Driver},
    graph::Graph,
    program::{
        Contents, Program, SLACK_BYTES, Tuning,
        call::{Argument, Call, Kernel, KernelCall, Work},
        library::{Convolution, ConvolutionCall, MatrixProduct, ProductCall},
        view::BufferId,
    },
};

/// Compiled kernels and constants on a device, for all programs of a model.
pub struct Resources<D: Driver> {
    functions: HashMap<Kernel, D::Function>,
    /// Products requested of the device's library, with its functions for the supported ones.
    products: HashMap<MatrixProduct, Option<D::Function>>,
    /// The same for convolutions. An error is reported when a program that has one is prepared.
    convolutions: HashMap<Convolution, Result<Option<D::Function>, DeviceError>>,
    /// Constants by a hash of their bytes: programs for several batch sizes have the same weights.
    constants: HashMap<u64, Vec<Constant<D>>>,
}

/// A kernel or a library that computes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComputedBy {
    /// The kernel of this name.
    Kernel(&'static str),
    /// The device's library of products.
    ProductLibrary,
    /// Library of convolutions of the driver.
    ConvolutionLibrary,
}

impl ComputedBy {
    /// Returns the name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel(name) => name,
            Self::ProductLibrary => "the library of products",
            Self::ConvolutionLibrary => "the library of convolutions",
        }
    }
}

/// A constant on the host and on the device.
struct Constant<D: Driver> {
    bytes: Arc<Vec<u8>>,
    memory: D::Memory,
}

impl<D: Driver> Default for Resources<D> {
    fn default() -> Self {
        Self {
            functions: HashMap::new(),
            products: HashMap::new(),
            convolutions: HashMap::new(),
            constants: HashMap::new(),
        }
    }
}

impl<D: Driver> Resources<D> {
    /// Plans a graph, with the device's library for the convolutions that it takes.
    ///
    /// # Errors
    /// Same as [`Program::new`].
    pub fn plan(&mut self, driver: &D, graph: &Graph, tuning: Tuning) -> Result<Program, String> {
        Program::with_library(graph, tuning, &mut |convolution| {
            let known = self.convolutions.entry(*convolution);
            let known = known.or_insert_with(|| driver.convolution(convolution));
            !matches!(known, Ok(None))
        })
    }

    /// Brings a program's resources onto the device, if they are missing. Existing constants are shared, on the host,
    /// too.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn prepare(&mut self, driver: &D, program: &mut Program) -> Result<(), DeviceError> {
        for call in program.calls() {
            let of_kernel = match &call.work {
                Work::Kernel(call) => call,
                Work::Convolution(ConvolutionCall { convolution, .. }) => {
                    if let Some(Err(error)) = self.convolutions.get(convolution) {
                        return Err(error.clone());
                    }
                    continue;
                }
            };
            if let Some(ProductCall { product, .. }) = &of_kernel.product
                && !self.products.contains_key(product)
            {
                self.products.insert(*product, driver.product(product)?);
            }
            if self.product(of_kernel).is_none() && !self.functions.contains_key(&of_kernel.kernel) {
                let function = driver.compile(&of_kernel.kernel)?;
                self.functions.insert(of_kernel.kernel.clone(), function);
            }
        }
        for bytes in program.constants_mut() {
            let known = self.constants.entry(hash_of(bytes)).or_default();
            match known.iter().find(|constant| constant.bytes == *bytes) {
                Some(constant) => *bytes = Arc::clone(&constant.bytes),
                None => {
                    let memory = driver.allocate(bytes.len() + SLACK_BYTES)?;
                    put(driver, &memory, bytes)?;
                    known.push(Constant { bytes: Arc::clone(bytes), memory });
                }
            }
        }
        Ok(())
    }

    /// Returns the kernel or the library that computes a call of a program for which this is prepared.
    #[must_use]
    pub fn computed_by(&self, call: &Call) -> ComputedBy {
        match &call.work {
            Work::Convolution(_) => ComputedBy::ConvolutionLibrary,
            Work::Kernel(of_kernel) => match self.product(of_kernel) {
                Some(_) => ComputedBy::ProductLibrary,
                None => ComputedBy::Kernel(of_kernel.kernel.function),
            },
        }
    }

    /// Returns the function of the library that computes a product in place of the kernel, with the buffers that it
    /// takes.
    fn product<'a>(&'a self, call: &'a KernelCall) -> Option<(&'a D::Function, &'a [BufferId])> {
        let ProductCall { product, buffers } = call.product.as_ref()?;
        Some((self.products.get(product)?.as_ref()?, buffers))
    }

    fn convolution(&self, call: &ConvolutionCall) -> Option<&D::Function> {
        self.convolutions.get(&call.convolution)?.as_ref().ok()?.as_ref()
    }

    fn constant(&self, bytes: &Arc<Vec<u8>>) -> Option<&D::Memory> {
        let known = self.constants.get(&hash_of(bytes))?;
        known.iter().find(|constant| Arc::ptr_eq(&constant.bytes, bytes)).map(|constant| &constant.memory)
    }
}

/// The memory of a program on a device.
pub(crate) struct Memories<D: Driver> {
    /// Memory of each buffer.
    places: Vec<D::Memory>,
    /// All of them but constants are parts of it.
    _whole: D::Memory,
}

impl<D: Driver> Memories<D> {
    /// Allocates the memory of a program for which the resources are prepared.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(crate) fn new(driver: &D, resources: &Resources<D>, program: &Program) -> Result<Self, DeviceError> {
        let layout = program.layout();
        let memory = driver.allocate(layout.bytes.max(1))?;
        let mut places = Vec::with_capacity(program.buffers().len());
        for (buffer, offset) in program.buffers().iter().zip(&layout.offsets) {
            places.push(match &buffer.contents {
                Contents::Constant(bytes) => {
                    resources.constant(bytes).ok_or_else(|| not_prepared("constant"))?.clone()
                }
                _ => driver.part(&memory, *offset, buffer.bytes + SLACK_BYTES)?,
            });
        }
        Ok(Self { places, _whole: memory })
    }

    /// Returns the place of a buffer of the program.
    pub(crate) fn place(&self, BufferId(buffer): BufferId) -> &D::Memory {
        &self.places[buffer]
    }

    /// Binds a call of the program.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(crate) fn bind(
        &self,
        driver: &D,
        resources: &Resources<D>,
        call: &Call,
    ) -> Result<D::Launch, DeviceError> {
        let bound = |argument: &Argument| argument.map(|buffer| self.place(buffer));
        let all = |buffers: &[BufferId]| {
            buffers.iter().map(|buffer| Argument::Buffer(self.place(*buffer))).collect()
        };
        let (function, arguments, grid): (_, Vec<_>, _) = match &call.work {
            Work::Convolution(call) => {
                let function = resources.convolution(call).ok_or_else(|| not_prepared("convolution"))?;
                (function, all(&call.buffers), [[1; 3]; 2])
            }
            Work::Kernel(call) => {
                let grid = [call.items, call.group];
                match resources.product(call) {
                    Some((function, buffers)) => (function, all(buffers), grid),
                    None => {
                        let function = resources.functions.get(&call.kernel);
                        let function = function.ok_or_else(|| not_prepared("kernel"))?;
                        (function, call.arguments.iter().map(bound).collect(), grid)
                    }
                }
            }
        };
        let [items, group] = grid;
        // SAFETY: lowering gives a kernel what its file asks for, a product its matrices, a convolution its tensors,
        // and views that are within the buffers; every buffer has the bytes that it says and SLACK_BYTES more, here and
        // in a constant's memory. A launch is in a sequence of this crate, which goes before its memory does.
        unsafe { driver.bind(function, &arguments, items, group) }
    }
}

fn not_prepared(lacks: &str) -> DeviceError {
    DeviceError::refused(format!("the program was not prepared: it lacks a {lacks}"))
}

/// A program that can run: its launches, bound to memory of its own.
pub struct Session<D: Driver> {
    /// Declared first, so that it is released before the memory that it uses.
    sequence: D::Sequence,
    inputs: Vec<D::Memory>,
    outputs: Vec<D::Memory>,
    _memories: Memories<D>,
}

impl<D: Driver> Session<D> {
    /// Binds a program for which the resources are prepared.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn new(driver: &D, resources: &Resources<D>, program: &Program) -> Result<Self, DeviceError> {
        let memories = Memories::new(driver, resources, program)?;
        let launches = program.calls().iter().map(|call| memories.bind(driver, resources, call));
        let place = |id: BufferId| memories.place(id).clone();
        Ok(Self {
            sequence: driver.sequence(launches.collect::<Result<_, _>>()?)?,
            inputs: program.inputs().iter().map(|id| place(*id)).collect(),
            outputs: program.outputs().iter().map(|view| place(view.buffer)).collect(),
            _memories: memories,
        })
    }

    /// Returns the memory of the input of this number.
    #[must_use]
    pub fn input(&self, number: usize) -> &D::Memory {
        &self.inputs[number]
    }

    /// Returns the memory of the output of this number.
    #[must_use]
    pub fn output(&self, number: usize) -> &D::Memory {
        &self.outputs[number]
    }

    /// Puts the whole program in the driver's queue.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn launch(&self, driver: &D) -> Result<(), DeviceError> {
        driver.launch(&self.sequence)
    }
}

/// Copies bytes to the beginning of memory, and waits for that.
///
/// # Errors
/// Returns the errors of the device.
pub fn put<D: Driver>(driver: &D, to: &D::Memory, bytes: &[u8]) -> Result<(), DeviceError> {
    // SAFETY: the bytes are borrowed until the queue is empty.
    let written = unsafe { driver.write(to, 0, bytes) };
    written.and(driver.finish())
}

/// Copies bytes from the beginning of memory, after everything in the queue, and waits for that.
///
/// # Errors
/// Returns the errors of the device.
pub fn get<D: Driver>(driver: &D, from: &D::Memory, bytes: &mut [u8]) -> Result<(), DeviceError> {
    // SAFETY: the bytes are borrowed until the queue is empty.
    let read = unsafe { driver.read(from, 0, bytes) };
    read.and(driver.finish())
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
