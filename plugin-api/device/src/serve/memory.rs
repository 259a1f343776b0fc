//! Memory for samples that the device copies from without the host.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proctor_plugin_api::{Allocation, MemoryKind, PluginError, PluginMemory};

use crate::driver::Driver;

/// Memory of the driver for samples of a model.
pub(super) struct SampleMemory<D: Driver> {
    /// Memory by address.
    ranges: Mutex<BTreeMap<usize, D::HostMemory>>,
    driver: D,
}

impl<D: Driver> SampleMemory<D> {
    pub fn new(driver: D) -> Self {
        Self { ranges: Mutex::default(), driver }
    }
}

// SAFETY: a range lies in memory of the driver that is as large, which stays where it is until `free` takes it out of
// the map; the plugin does not write to it, and the host may read and write it like any other.
unsafe impl<D: Driver> PluginMemory for SampleMemory<D> {
    fn allocate(&self, size_bytes: usize, alignment: usize) -> Result<Allocation, PluginError> {
        let mut bytes = self.driver.allocate_host(size_bytes.saturating_add(alignment))?;
        let begin = bytes.as_mut_ptr();
        let memory = begin.wrapping_add(begin.align_offset(alignment));
        self.ranges.lock().insert(memory.addr(), bytes);
        Ok(Allocation { memory, size_bytes, kind: MemoryKind::Pinned })
    }

    fn free(&self, memory: *mut u8) -> Result<(), PluginError> {
        match self.ranges.lock().remove(&memory.addr()) {
            Some(_) => Ok(()),
            None => Err(PluginError::invalid_argument(format!("{memory:p} is no memory of the plugin"))),
        }
    }
}
