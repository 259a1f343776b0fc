//! Where a batch is executed.

use std::{ops::Range, sync::Arc};

use proctor_onnx_file::Port;
use proctor_plugin_api::{Batch, Instance, PluginError, Stage};

use super::shared::Shared;
use crate::{
    driver::{DeviceError, Driver},
    session::Session,
};

/// One co-located copy of a model: a queue of its own, and memory for each plan.
pub struct DeviceInstance<D: Driver> {
    shared: Arc<Shared<D>>,
    driver: D,
    /// The largest batch first.
    slots: Vec<Slot<D>>,
    /// A sample's tensor on its way, where it is not of the model's type.
    row: Vec<u8>,
}

/// Room for runs of one batch size.
struct Slot<D: Driver> {
    batch_size: usize,
    /// Samples of the batch that come here; empty if none.
    samples: Range<usize>,
    session: Session<D>,
}

impl<D: Driver> DeviceInstance<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Result<Self, DeviceError> {
        let driver = shared.driver.sibling()?;
        let mut slots = Vec::new();
        for plan in &shared.plans {
            let session = Session::new(&driver, &shared.library, &plan.program)?;
            slots.push(Slot { batch_size: plan.batch_size, samples: 0..0, session });
        }
        let ports = shared.fit.inputs.iter().chain(&shared.fit.outputs);
        let row = vec![0; ports.map(|port| port.spec.size_bytes()).max().unwrap_or(0)];
        Ok(Self { shared, driver, slots, row })
    }

    /// Divides a batch among the slots.
    fn divide(&mut self, sample_count: usize) -> Result<(), PluginError> {
        let last = self.slots.len() - 1;
        let mut first = 0;
        for (position, slot) in self.slots.iter_mut().enumerate() {
            let left = sample_count - first;
            let takes =
                if left >= slot.batch_size || position == last { left.min(slot.batch_size) } else { 0 };
            slot.samples = first..first + takes;
            first += takes;
        }
        if first == sample_count {
            return Ok(());
        }
        let message = format!("a batch of {sample_count} samples is larger than the model was loaded for");
        Err(PluginError::invalid_argument(message))
    }

    fn gather(&mut self, batch: &Batch<'_>) -> Result<(), PluginError> {
        let Self { shared, driver, slots, row } = self;
        for slot in slots {
            for (number, port) in shared.fit.inputs.iter().enumerate() {
                let bytes = port.spec.size_bytes();
                for (position, sample) in slot.samples.clone().enumerate() {
                    let given = batch.input(sample, port.tensor);
                    let place = (slot.session.input(number), position * bytes);
                    if port.is_plain() && given.len() == bytes {
                        driver.write(place.0, place.1, given)?;
                    } else {
                        copy(port, given, &mut row[..bytes])?;
                        driver.write(place.0, place.1, &row[..bytes])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), PluginError> {
        for slot in self.slots.iter().filter(|slot| !slot.samples.is_empty()) {
            slot.session.run(&self.driver)?;
        }
        Ok(self.driver.finish()?)
    }

    fn scatter(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let Self { shared, driver, slots, row } = self;
        for slot in slots {
            for (number, port) in shared.fit.outputs.iter().enumerate() {
                let bytes = port.spec.size_bytes();
                for (position, sample) in slot.samples.clone().enumerate() {
                    let mut sample = batch.sample(sample);
                    let to = sample.output_mut(port.tensor);
                    let from = slot.session.output(number);
                    if port.is_plain() && to.len() == bytes {
                        driver.read(from, position * bytes, to)?;
                    } else {
                        driver.read(from, position * bytes, &mut row[..bytes])?;
                        copy(port, &row[..bytes], to)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl<D: Driver + Send + Sync + 'static> Instance for DeviceInstance<D>
where
    D::Memory: Send + Sync,
    D::Function: Send + Sync,
    D::Launch: Send,
{
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let host = self.shared.host;
        self.divide(batch.sample_count())?;
        let copy_in_ns = host.now_ns();
        self.gather(batch)?;
        let compute_ns = host.now_ns();
        self.run()?;
        let copy_out_ns = host.now_ns();
        self.scatter(batch)?;
        batch.set_stages(&[
            Stage::new(Stage::COPY_IN, copy_in_ns, compute_ns),
            Stage::new(Stage::COMPUTE, compute_ns, copy_out_ns),
            Stage::new(Stage::COPY_OUT, copy_out_ns, host.now_ns()),
        ]);
        Ok(())
    }

    /// Runs the batch, and then each plan that it did not need: a batch of the timed part may.
    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.execute(batch)?;
        for slot in self.slots.iter().filter(|slot| slot.samples.is_empty()) {
            slot.session.run(&self.driver)?;
        }
        Ok(self.driver.finish()?)
    }
}

fn copy(port: &Port, from: &[u8], to: &mut [u8]) -> Result<(), PluginError> {
    port.copy(from, to).map_err(|what| PluginError::invalid_argument(what.to_string()))
}
