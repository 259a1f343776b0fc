//! Memory for samples that simulates pinned or device memory, and counts allocations.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proctor_plugin_api::{Allocation, MemoryKind, PluginError, PluginMemory, PreparedSample};

/// Ranges of memory by address. A real plugin would have a driver allocate them.
#[derive(Debug)]
pub(crate) struct MockMemory {
    kind: MemoryKind,
    ranges: Mutex<BTreeMap<usize, Vec<u8>>>,
}

/// Number of bytes of samples, by place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Where {
    /// Bytes in memory of the plugin.
    pub(crate) own_bytes: usize,
    /// Elsewhere: a real plugin would have to copy them.
    pub(crate) copied_bytes: usize,
}

impl MockMemory {
    /// Returns the memory of the kind with this name; `None` for `host`, which is left to the host.
    pub(crate) fn of(kind: &str) -> Option<Self> {
        let kind = match kind {
            "pinned" => MemoryKind::Pinned,
            "device" => MemoryKind::Device,
            _ => return None,
        };
        Some(Self { kind, ranges: Mutex::default() })
    }

    /// Counts where the samples lie.
    pub(crate) fn count(&self, samples: &[PreparedSample]) -> Where {
        let ranges = self.ranges.lock();
        let mut found = Where::default();
        for tensor in samples.iter().flat_map(|sample| &sample.inputs) {
            let begin = tensor.as_ptr().addr();
            let before = ranges.range(..=begin).next_back();
            // The first bytes of a range are those before its aligned address.
            let is_own = before.is_some_and(|(address, bytes)| {
                begin + tensor.size_bytes() <= bytes.as_ptr().addr() + bytes.len() && begin >= *address
            });
            let count = if is_own { &mut found.own_bytes } else { &mut found.copied_bytes };
            *count += tensor.size_bytes();
        }
        found
    }
}

// SAFETY: a range is a block of the allocator, of the size and alignment asked for, which stays until `free` gives it
// back; the mock only reads it. Its device is make-believe: such memory can be read like any other.
#[expect(unsafe_code, reason = "the trait is a promise, see there")]
unsafe impl PluginMemory for MockMemory {
    fn allocate(&self, size_bytes: usize, alignment: usize) -> Result<Allocation, PluginError> {
        let mut bytes = vec![0_u8; size_bytes + alignment];
        let begin = bytes.as_mut_ptr();
        let memory = begin.wrapping_add(begin.align_offset(alignment));
        // Not touched again: from here on the host writes there.
        self.ranges.lock().insert(memory.addr(), bytes);
        Ok(Allocation { memory, size_bytes, kind: self.kind })
    }

    fn free(&self, memory: *mut u8) -> Result<(), PluginError> {
        match self.ranges.lock().remove(&memory.addr()) {
            Some(_) => Ok(()),
            None => Err(PluginError::invalid_argument(format!("{memory:p} is no memory of the plugin"))),
        }
    }

    fn copy(&self, to: *mut u8, from: &[u8]) -> Result<(), PluginError> {
        let mut ranges = self.ranges.lock();
        let range = ranges.get_mut(&to.addr());
        let range = range
            .ok_or_else(|| PluginError::invalid_argument(format!("{to:p} is no memory of the plugin")))?;
        let begin = to.addr() - range.as_ptr().addr();
        range[begin..][..from.len()].copy_from_slice(from);
        Ok(())
    }
}
