//! A program on a device.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use crate::{
    driver::{Bound, DeviceError, DeviceErrorKind, Driver},
    program::{
        Contents, Program, SLACK_BYTES,
        call::{Argument, Call, Kernel},
        library::{MatrixProduct, ProductCall},
        view::BufferId,
    },
};

/// Compiled kernels and constants on a device, for all programs of a model.
pub struct Resources<D: Driver> {
    functions: HashMap<Kernel, D::Function>,
    /// Products that the device's library was asked for, with its functions for those that it has.
    products: HashMap<MatrixProduct, Option<D::Function>>,
    /// By a hash of their bytes: programs for several batch sizes have the same weights.
    constants: HashMap<u64, Vec<Constant<D>>>,
}

/// A constant on the host and on the device.
struct Constant<D: Driver> {
    bytes: Arc<Vec<u8>>,
    memory: D::Memory,
}

impl<D: Driver> Default for Resources<D> {
    fn default() -> Self {
        Self { functions: HashMap::new(), products: HashMap::new(), constants: HashMap::new() }
    }
}

impl<D: Driver> Resources<D> {
    /// Brings what a program needs onto the device, if it is not there. Constants that are there already are shared, on
    /// the host, too.
    ///
    /// # Errors
    /// The device's.
    pub fn prepare(&mut self, driver: &D, program: &mut Program) -> Result<(), DeviceError> {
        for call in program.calls() {
            if let Some(ProductCall { product, .. }) = &call.product
                && !self.products.contains_key(product)
            {
                self.products.insert(*product, driver.product(product)?);
            }
            if !self.is_of_library(call) && !self.functions.contains_key(&call.kernel) {
                let function = driver.compile(&call.kernel)?;
                self.functions.insert(call.kernel.clone(), function);
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

    /// Whether the device's library computes a call, and not the kernel.
    #[must_use]
    pub fn is_of_library(&self, call: &Call) -> bool {
        self.library_function(call).is_some()
    }

    fn library_function<'a>(&'a self, call: &'a Call) -> Option<(&'a D::Function, &'a [BufferId])> {
        let ProductCall { product, buffers } = call.product.as_ref()?;
        Some((self.products.get(product)?.as_ref()?, buffers))
    }

    fn constant(&self, bytes: &Arc<Vec<u8>>) -> Option<&D::Memory> {
        let known = self.constants.get(&hash_of(bytes))?;
        known.iter().find(|constant| Arc::ptr_eq(&constant.bytes, bytes)).map(|constant| &constant.memory)
    }
}

/// The memory of a program on a device.
pub(crate) struct Memories<D: Driver> {
    /// Of each buffer.
    places: Vec<D::Memory>,
    /// All of them but constants are parts of it.
    _whole: D::Memory,
}

impl<D: Driver> Memories<D> {
    /// Makes room for a program for which the resources are prepared.
    ///
    /// # Errors
    /// The device's.
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

    /// The place of a buffer of the program.
    pub(crate) fn place(&self, BufferId(buffer): BufferId) -> &D::Memory {
        &self.places[buffer]
    }

    /// Binds a call of the program.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn bind(
        &self,
        driver: &D,
        resources: &Resources<D>,
        call: &Call,
    ) -> Result<D::Launch, DeviceError> {
        let memory = |buffer: BufferId| Bound::Memory(self.place(buffer));
        let bound = |argument: &Argument| match *argument {
            Argument::Buffer(buffer) => memory(buffer),
            Argument::Int(number) => Bound::Int(number),
            Argument::Long(number) => Bound::Long(number),
            Argument::Float(number) => Bound::Float(number),
        };
        let (function, arguments): (_, Vec<_>) = match resources.library_function(call) {
            Some((function, buffers)) => (function, buffers.iter().copied().map(memory).collect()),
            None => {
                let function = resources.functions.get(&call.kernel).ok_or_else(|| not_prepared("kernel"))?;
                (function, call.arguments.iter().map(bound).collect())
            }
        };
        // SAFETY: lowering gives a kernel what its file asks for, a product its matrices, and views that are within the
        // buffers; every buffer has the bytes that it says and SLACK_BYTES more, here and in a constant's memory. A
        // launch is in a sequence of this crate, which goes before its memory does.
        unsafe { driver.bind(function, &arguments, call.items, call.group) }
    }
}

fn not_prepared(lacks: &str) -> DeviceError {
    DeviceError {
        what: format!("the program was not prepared: it lacks a {lacks}"),
        code: 0,
        kind: DeviceErrorKind::Failed,
    }
}

/// A program that can run: its launches, bound to memory of its own.
pub struct Session<D: Driver> {
    /// First, so that it is given back before the memory that it uses.
    sequence: D::Sequence,
    inputs: Vec<D::Memory>,
    outputs: Vec<D::Memory>,
    _memories: Memories<D>,
}

impl<D: Driver> Session<D> {
    /// Binds a program for which the resources are prepared.
    ///
    /// # Errors
    /// The device's.
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

    /// Memory of the input of this number.
    #[must_use]
    pub fn input(&self, number: usize) -> &D::Memory {
        &self.inputs[number]
    }

    /// Memory of the output of this number.
    #[must_use]
    pub fn output(&self, number: usize) -> &D::Memory {
        &self.outputs[number]
    }

    /// Puts the whole program in the driver's queue.
    ///
    /// # Errors
    /// The device's.
    pub fn launch(&self, driver: &D) -> Result<(), DeviceError> {
        driver.launch(&self.sequence)
    }
}

/// Copies bytes to the beginning of memory, and waits for that.
///
/// # Errors
/// The device's.
pub fn put<D: Driver>(driver: &D, to: &D::Memory, bytes: &[u8]) -> Result<(), DeviceError> {
    // SAFETY: the bytes are borrowed until the queue is empty.
    let written = unsafe { driver.write(to, 0, bytes) };
    written.and(driver.finish())
}

/// Copies bytes from the beginning of memory, after all that is in the queue, and waits for that.
///
/// # Errors
/// The device's.
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
