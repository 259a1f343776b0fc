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
        call::{Argument, Kernel},
        view::BufferId,
    },
};

/// Compiled kernels and constants on a device, for all programs of a model.
pub struct Library<D: Driver> {
    functions: HashMap<Kernel, D::Function>,
    /// By a hash of their bytes: programs for several batch sizes have the same weights.
    constants: HashMap<u64, Vec<Constant<D>>>,
}

/// A constant on the host and on the device.
struct Constant<D: Driver> {
    bytes: Arc<Vec<u8>>,
    memory: D::Memory,
}

impl<D: Driver> Default for Library<D> {
    fn default() -> Self {
        Self { functions: HashMap::new(), constants: HashMap::new() }
    }
}

impl<D: Driver> Library<D> {
    /// Brings what a program needs onto the device, if it is not there. Constants that are there already are shared, on
    /// the host, too.
    ///
    /// # Errors
    /// The device's.
    pub fn prepare(&mut self, driver: &D, program: &mut Program) -> Result<(), DeviceError> {
        for call in program.calls() {
            if !self.functions.contains_key(&call.kernel) {
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
                    driver.write(&memory, 0, bytes)?;
                    known.push(Constant { bytes: Arc::clone(bytes), memory });
                }
            }
        }
        driver.finish()
    }

    fn constant(&self, bytes: &Arc<Vec<u8>>) -> Option<&D::Memory> {
        let known = self.constants.get(&hash_of(bytes))?;
        known.iter().find(|constant| Arc::ptr_eq(&constant.bytes, bytes)).map(|constant| &constant.memory)
    }
}

/// A program that can run: its launches, bound to memory of its own.
#[derive(Debug)]
pub struct Session<D: Driver> {
    launches: Vec<D::Launch>,
    inputs: Vec<D::Memory>,
    outputs: Vec<D::Memory>,
    /// All parts are of it.
    _memory: D::Memory,
}

impl<D: Driver> Session<D> {
    /// Binds a program for which the library is prepared.
    ///
    /// # Errors
    /// The device's.
    pub fn new(driver: &D, library: &Library<D>, program: &Program) -> Result<Self, DeviceError> {
        let missing = |what: &str| DeviceError {
            what: format!("the program was not prepared: it lacks a {what}"),
            code: 0,
            kind: DeviceErrorKind::Failed,
        };
        let layout = program.layout();
        let memory = driver.allocate(layout.bytes.max(1))?;
        let mut places = Vec::with_capacity(program.buffers().len());
        for (buffer, offset) in program.buffers().iter().zip(&layout.offsets) {
            places.push(match &buffer.contents {
                Contents::Constant(bytes) => {
                    library.constant(bytes).ok_or_else(|| missing("constant"))?.clone()
                }
                _ => driver.part(&memory, *offset, buffer.bytes + SLACK_BYTES)?,
            });
        }
        let mut launches = Vec::with_capacity(program.calls().len());
        for call in program.calls() {
            let function = library.functions.get(&call.kernel).ok_or_else(|| missing("kernel"))?;
            let bound = |argument: &Argument| match *argument {
                Argument::Buffer(BufferId(buffer)) => Bound::Memory(&places[buffer]),
                Argument::Int(number) => Bound::Int(number),
                Argument::Long(number) => Bound::Long(number),
                Argument::Float(number) => Bound::Float(number),
            };
            let arguments: Vec<_> = call.arguments.iter().map(bound).collect();
            launches.push(driver.bind(function, &arguments, call.items, call.group)?);
        }
        let place = |BufferId(buffer): BufferId| places[buffer].clone();
        Ok(Self {
            launches,
            inputs: program.inputs().iter().map(|id| place(*id)).collect(),
            outputs: program.outputs().iter().map(|view| place(view.buffer)).collect(),
            _memory: memory,
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

    /// Launches everything, in order.
    ///
    /// # Errors
    /// The device's.
    pub fn run(&self, driver: &D) -> Result<(), DeviceError> {
        self.launches.iter().try_for_each(|launch| driver.launch(launch))
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
