//! The memory of samples, which the host fills and the other process reads where it is.

use std::sync::Arc;

use parking_lot::Mutex;
use proctor_plugin_api::{Allocation, MemoryKind, PluginError, PluginMemory, PreparedSample};

use crate::{
    channels::memory::{PAGE, SharedMemory},
    protocol::{PlacedSample, PlacedTensor},
};

/// Ranges of memory that the host has requested.
#[derive(Debug, Default)]
pub(crate) struct Ranges(Mutex<Vec<Arc<SharedMemory>>>);

// SAFETY: a range is a mapping of its own of as many bytes, which stays until `free`, can be read and written, and
// which this process alone can write to: the other one is given it sealed.
unsafe impl PluginMemory for Ranges {
    fn allocate(&self, size_bytes: usize, alignment: usize) -> Result<Allocation, PluginError> {
        if alignment > PAGE {
            return Err(PluginError::unsupported(format!(
                "memory is aligned to pages, not to {alignment} bytes"
            )));
        }
        let memory = SharedMemory::new(size_bytes)?;
        let allocation =
            Allocation { memory: memory.as_ptr(), size_bytes: memory.size_bytes(), kind: MemoryKind::Host };
        self.0.lock().push(Arc::new(memory));
        Ok(allocation)
    }

    fn free(&self, memory: *mut u8) -> Result<(), PluginError> {
        let mut ranges = self.0.lock();
        let position = ranges.iter().position(|range| range.as_ptr() == memory);
        let position = position.ok_or_else(|| PluginError::invalid_argument("there is no such memory"))?;
        ranges.swap_remove(position);
        Ok(())
    }
}

impl Ranges {
    /// Returns the sealed ranges that hold the samples, and the location of each sample.
    ///
    /// # Errors
    /// Fails for a sample outside the ranges, or a system that cannot seal memory.
    pub(crate) fn place(
        &self,
        samples: &[PreparedSample],
    ) -> Result<(Vec<Arc<SharedMemory>>, Vec<PlacedSample>), PluginError> {
        let mut ranges = self.0.lock().clone();
        ranges.sort_by_key(|range| range.as_ptr().addr());
        let place = |address: usize, size_bytes: usize| {
            let number = ranges.partition_point(|range| range.as_ptr().addr() <= address).checked_sub(1)?;
            let offset = address - ranges[number].as_ptr().addr();
            (offset + size_bytes <= ranges[number].size_bytes()).then_some((number, offset))
        };
        let placed = samples.iter().map(|sample| {
            let inputs = sample.inputs.iter().map(|input| {
                let (range, offset) = place(input.as_ptr().addr(), input.size_bytes())?;
                // SAFETY: the samples are being prepared, and are released later.
                let shape = unsafe { input.shape() };
                let shape =
                    shape.iter().map(|extent| usize::try_from(*extent)).collect::<Result<_, _>>().ok()?;
                Some(PlacedTensor { range, offset, shape })
            });
            let inputs: Option<Vec<_>> = inputs.collect();
            let index = sample.index.0;
            let inputs = inputs.ok_or_else(|| {
                PluginError::invalid_argument(format!(
                    "sample {index} does not lie in memory of both processes"
                ))
            })?;
            Ok(PlacedSample { index, inputs })
        });
        let placed = placed.collect::<Result<_, PluginError>>()?;
        ranges.iter().try_for_each(|range| range.seal())?;
        Ok((ranges, placed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_freed_once() {
        let ranges = Ranges::default();
        let range = ranges.allocate(5000, PAGE).unwrap();
        assert_eq!((range.size_bytes, range.kind), (8192, MemoryKind::Host));
        assert!(ranges.allocate(1, 2 * PAGE).is_err());
        ranges.free(range.memory).unwrap();
        assert!(ranges.free(range.memory).is_err());
    }
}
