//! One batch at a time, from the host's memory through a queue of the device into the host's memory.

use std::{mem, ops::Range, sync::Arc};

use proctor_onnx_file::{Port, divide};
use proctor_plugin_api::{Batch, PluginError, Stage};

use super::loaded::Loaded;
use crate::{
    driver::{DeviceError, Driver},
    session::Session,
};

/// A queue of the device, with memory for one batch of each plan.
pub(super) struct Lane<D: Driver> {
    loaded: Arc<Loaded<D>>,
    /// The largest batch first.
    slots: Vec<Slot<D>>,
    /// Events before the inputs are copied, before the computation, before the outputs are copied, and after that.
    events: [D::Event; 4],
    driver: D,
}

/// Room for runs of one batch size.
struct Slot<D: Driver> {
    batch_size: usize,
    /// Samples of the batch for this session; empty if none.
    samples: Range<usize>,
    session: Session<D>,
    /// For each input that is not copied as it is, its samples in the model's type.
    converted: Vec<Option<D::HostMemory>>,
    outputs: Vec<D::HostMemory>,
}

impl<D: Driver> Lane<D> {
    pub fn new(loaded: Arc<Loaded<D>>) -> Result<Self, DeviceError> {
        let driver = loaded.driver.sibling()?;
        let mut slots = Vec::new();
        for plan in &loaded.plans {
            let room = |port: &Port| driver.allocate_host((plan.batch_size * port.spec.size_bytes()).max(1));
            let converted = |port: &Port| (!port.is_plain()).then(|| room(port)).transpose();
            slots.push(Slot {
                batch_size: plan.batch_size,
                samples: 0..0,
                session: Session::new(&driver, &loaded.resources, &plan.program)?,
                converted: loaded.fit.inputs.iter().map(converted).collect::<Result<_, _>>()?,
                outputs: loaded.fit.outputs.iter().map(room).collect::<Result<_, _>>()?,
            });
        }
        let events = [driver.event()?, driver.event()?, driver.event()?, driver.event()?];
        Ok(Self { loaded, slots, events, driver })
    }

    /// Runs a batch to its end, and reports the time of each part.
    pub fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let host = self.loaded.host;
        let begin_ns = host.now_ns();
        let slots = self.slots.iter_mut().map(|slot| (slot.batch_size, &mut slot.samples));
        divide(batch.sample_count(), slots)
            .map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        let queue = Queue(&self.driver);
        enqueue(&self.loaded, &queue, &mut self.slots, &mut self.events, batch)?;
        queue.wait(&self.events[3])?;
        let end_ns = host.now_ns();
        self.scatter(batch)?;
        // The device's clock, put on the host's by the last event.
        let [before, inputs, computed, outputs] = &self.events;
        let ns_before_end = |event| {
            Ok::<_, DeviceError>(end_ns.saturating_sub(self.driver.elapsed_ns(event, outputs)?).max(begin_ns))
        };
        let (copy_in_ns, compute_ns, copy_out_ns) =
            (ns_before_end(before)?, ns_before_end(inputs)?, ns_before_end(computed)?);
        batch.set_stages(&[
            Stage::new(DEVICE_QUEUE, begin_ns, copy_in_ns),
            Stage::new(Stage::COPY_IN, copy_in_ns, compute_ns),
            Stage::new(Stage::COMPUTE, compute_ns, copy_out_ns),
            Stage::new(Stage::COPY_OUT, copy_out_ns, host.now_ns()),
        ]);
        Ok(())
    }

    /// Runs every plan once, with arbitrary memory contents.
    pub fn warm_up(&self) -> Result<(), DeviceError> {
        self.slots.iter().try_for_each(|slot| slot.session.launch(&self.driver))?;
        self.driver.finish()
    }

    /// Copies the outputs, which have arrived, to the samples.
    fn scatter(&self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        for slot in &self.slots {
            for (port, from) in self.loaded.fit.outputs.iter().zip(&slot.outputs) {
                let rows = from.chunks_exact(port.spec.size_bytes().max(1));
                for (sample, row) in slot.samples.clone().zip(rows) {
                    let mut sample = batch.sample(sample);
                    let room = sample.output_mut(port.tensor);
                    match self.loaded.class {
                        Some(class) => class.write(port, row, room)?,
                        None => copy(port, row, room)?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// Work of a batch in a queue. It does not go before the queue is empty, neither after an error nor in a panic: until
/// then the samples and a lane are read and written.
struct Queue<'a, D: Driver>(&'a D);

impl<D: Driver> Queue<'_, D> {
    /// Waits for the event after all work.
    fn wait(self, last: &D::Event) -> Result<(), DeviceError> {
        self.0.wait(last)?;
        mem::forget(self);
        Ok(())
    }
}

impl<D: Driver> Drop for Queue<'_, D> {
    fn drop(&mut self) {
        // The error that led here is the one to report.
        let _ = self.0.finish();
    }
}

/// Puts all work of a batch in the queue.
fn enqueue<D: Driver>(
    loaded: &Loaded<D>,
    Queue(driver): &Queue<'_, D>,
    slots: &mut [Slot<D>],
    events: &mut [D::Event; 4],
    batch: &Batch<'_>,
) -> Result<(), PluginError> {
    let used = |slot: &&mut Slot<D>| !slot.samples.is_empty();
    driver.record(&mut events[0])?;
    for slot in slots.iter_mut().filter(used) {
        slot.write_inputs(driver, &loaded.fit.inputs, batch)?;
    }
    driver.record(&mut events[1])?;
    for slot in slots.iter_mut().filter(used) {
        slot.session.launch(driver)?;
    }
    driver.record(&mut events[2])?;
    for slot in slots.iter_mut().filter(used) {
        slot.read_outputs(driver, &loaded.fit.outputs)?;
    }
    Ok(driver.record(&mut events[3])?)
}

impl<D: Driver> Slot<D> {
    fn write_inputs(&mut self, driver: &D, ports: &[Port], batch: &Batch<'_>) -> Result<(), PluginError> {
        for (number, (port, converted)) in ports.iter().zip(&mut self.converted).enumerate() {
            let to = self.session.input(number);
            let row_bytes = port.spec.size_bytes();
            let Some(rows) = converted else {
                for (position, sample) in self.samples.clone().enumerate() {
                    let given = batch.input(sample, port.tensor);
                    if given.len() != row_bytes {
                        return Err(wrong_size(port, given.len()));
                    }
                    // SAFETY: inputs of a batch stay as they are until it is done, which it is not before the `Queue`
                    // in `execute` is gone.
                    unsafe { driver.write(to, position * row_bytes, given) }?;
                }
                continue;
            };
            for (sample, row) in self.samples.clone().zip(rows.chunks_exact_mut(row_bytes.max(1))) {
                copy(port, batch.input(sample, port.tensor), row)?;
            }
            // SAFETY: the memory is this slot's, which lives on and is not written before the `Queue` in `execute` is
            // gone.
            unsafe { driver.write(to, 0, &rows[..self.samples.len() * row_bytes]) }?;
        }
        Ok(())
    }

    fn read_outputs(&mut self, driver: &D, ports: &[Port]) -> Result<(), DeviceError> {
        for (number, (port, to)) in ports.iter().zip(&mut self.outputs).enumerate() {
            let bytes = self.samples.len() * port.spec.size_bytes();
            // SAFETY: the memory is this slot's, which lives on and is not used before the `Queue` in `execute` is
            // gone.
            unsafe { driver.read(self.session.output(number), 0, &mut to[..bytes]) }?;
        }
        Ok(())
    }
}

/// Name of the stage in which a batch waits for the device to begin.
const DEVICE_QUEUE: &str = "device_queue";

impl<D: Driver> Drop for Lane<D> {
    fn drop(&mut self) {
        // Nothing is in the queue unless a warm-up has failed; then its memory may not go.
        let _ = self.driver.finish();
    }
}

fn copy(port: &Port, from: &[u8], to: &mut [u8]) -> Result<(), PluginError> {
    port.copy(from, to).map_err(|what| PluginError::invalid_argument(what.to_string()))
}

fn wrong_size(port: &Port, bytes: usize) -> PluginError {
    let (name, wanted) = (&port.spec.name, port.spec.size_bytes());
    PluginError::invalid_argument(format!("input \"{name}\" of a sample has {bytes} bytes, not {wanted}"))
}
