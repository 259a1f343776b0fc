//! Memory that a plugin allocates for samples.

use std::{ptr, slice, sync::Arc};

use proctor_plugin_api::{
    MemoryKind,
    abi::{PROCTOR_EXTENSION_MEMORY, PROCTOR_STATUS_UNSUPPORTED, ProctorAllocation, ProctorMemory},
};

use crate::{
    call::Call,
    error::PluginHostError,
    guard::checked::checked,
    load::table::{null_function, optional_extension},
    objects::{
        model::{Model, ModelInner, State},
        samples::RangeInUse,
    },
};

/// Alignment of the first byte of a range, and of its length: a page.
pub const RANGE_ALIGNMENT: usize = 4096;

/// A range of a plugin's memory for samples, given back when it is dropped. It keeps its model loaded: a model with
/// samples in such memory has to be released before it is dropped.
pub struct PluginRange {
    model: Arc<ModelInner>,
    memory: *mut u8,
    size_bytes: usize,
    kind: MemoryKind,
    functions: ProctorMemory,
    /// Samples until they are copied, if the host cannot write to the memory.
    staging: Option<Staging>,
}

// SAFETY: the memory belongs to this value until it is freed; it is written through `&mut` alone.
unsafe impl Send for PluginRange {}
// SAFETY: what is shared is only read, and the plugin promises that nobody else writes.
unsafe impl Sync for PluginRange {}

/// Memory of the host that is aligned as a range is.
struct Staging {
    bytes: Vec<u8>,
    begin: usize,
}

/// Returns the functions of a plugin with memory of its own for samples; `None` if it has not that extension.
pub(super) fn memory_extension(model: &ModelInner) -> Result<Option<ProctorMemory>, PluginHostError> {
    let (reader, activity) = (model.backend.reader(), model.backend.activity);
    // SAFETY: the id names this structure.
    let found = unsafe {
        optional_extension::<ProctorMemory>(&model.table().raw, reader, activity, PROCTOR_EXTENSION_MEMORY)
    }?;
    if let Some(functions) = &found {
        for (name, is_there) in [
            ("ProctorMemory.allocate", functions.allocate.is_some()),
            ("ProctorMemory.free", functions.free.is_some()),
        ] {
            if !is_there {
                return Err(null_function(reader, name));
            }
        }
    }
    Ok(found)
}

impl Model {
    /// Returns a range of zeros in memory of the plugin, of `size_bytes`, whole pages; `None` if the plugin leaves it
    /// to the host. [main thread]
    ///
    /// # Errors
    /// If the state is wrong, the plugin has no such memory, or its memory is unusable.
    pub fn allocate(&self, size_bytes: usize) -> Result<Option<PluginRange>, PluginHostError> {
        let model = &self.inner;
        model.expect(Call::Allocate, &[State::Loaded])?;
        let Some(functions) = memory_extension(model)? else { return Ok(None) };
        let allocate = functions.allocate.expect("it was checked when the extension was read");
        let mut allocation = ProctorAllocation {
            size: size_of::<ProctorAllocation>(),
            size_bytes,
            alignment: RANGE_ALIGNMENT,
            memory: ptr::null_mut(),
            kind: MemoryKind::Host.code(),
            reserved: 0,
        };
        let raw = &raw mut allocation;
        let allocated = checked(model.activity, Call::Allocate, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live; the allocation and `error` live
            // for the call.
            unsafe { allocate(model.raw(), raw, error) }
        });
        match allocated {
            Err(PluginHostError::CallFailed { status: PROCTOR_STATUS_UNSUPPORTED, .. }) => {
                return Ok(None);
            }
            other => other?,
        }
        PluginRange::take(model, functions, &allocation, size_bytes).map(Some)
    }
}

impl PluginRange {
    /// Checks the plugin's memory, and clears it.
    fn take(
        model: &Arc<ModelInner>,
        functions: ProctorMemory,
        allocation: &ProctorAllocation,
        size_bytes: usize,
    ) -> Result<Self, PluginHostError> {
        let ProctorAllocation { size_bytes: got, memory, kind: code, .. } = *allocation;
        let address = memory.addr();
        let plugin = model.backend.plugin();
        let wrong =
            |what: String| Err(PluginHostError::Unusable(format!("plugin {plugin}: allocate {what}")));
        if memory.is_null() {
            return wrong(format!("returned OK and no memory of {size_bytes} bytes"));
        }
        let Some(kind) = MemoryKind::from_code(code) else {
            return wrong(format!("says that its memory is of the unknown kind {code}"));
        };
        if got < size_bytes {
            return wrong(format!("says that its memory has {got} bytes instead of {size_bytes}"));
        }
        if address.checked_add(size_bytes).is_none() {
            return wrong(format!("returned {size_bytes} bytes at {memory:p}, which no memory has"));
        }
        if !address.is_multiple_of(RANGE_ALIGNMENT) {
            return wrong(format!(
                "returned memory at {memory:p}, which is not aligned to {RANGE_ALIGNMENT}"
            ));
        }
        if kind == MemoryKind::Device && functions.copy.is_none() {
            return Err(null_function(model.backend.reader(), "ProctorMemory.copy"));
        }
        let mut ranges = model.ranges.lock();
        let meets = |range: &RangeInUse| {
            let begin = range.plugin.addr();
            begin < address + size_bytes && address < begin + range.host.len()
        };
        if ranges.iter().any(meets) {
            return wrong(format!(
                "returned memory at {memory:p}, which it has returned before and not been given back"
            ));
        }
        let staging = (kind == MemoryKind::Device).then(|| Staging::new(size_bytes)).transpose()?;
        let mut range =
            Self { model: Arc::clone(model), memory: memory.cast(), size_bytes, kind, functions, staging };
        // Clears it, too. A plugin whose memory is smaller than it says crashes here, under its name.
        model.activity.during(Call::Allocate, || range.bytes_mut().fill(0));
        let begin = range.bytes().as_ptr().addr();
        ranges.push(RangeInUse { host: begin..begin + size_bytes, plugin: range.memory, kind });
        drop(ranges);
        Ok(range)
    }

    /// Returns the kind of the memory.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Returns the bytes as the host has them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.staging {
            Some(staging) => &staging.bytes[staging.begin..][..self.size_bytes],
            // SAFETY: the plugin vouches for as many bytes until they are freed, which is done by `drop` alone, and has
            // promised not to write to them. They were cleared at first, so all are initialised.
            None => unsafe { slice::from_raw_parts(self.memory, self.size_bytes) },
        }
    }

    /// Returns the bytes as the host has them, to be written before the samples are prepared.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.staging {
            Some(staging) => &mut staging.bytes[staging.begin..][..self.size_bytes],
            // SAFETY: as above. The first use writes zeros: any bytes are valid for `u8`, and the plugin vouches that
            // they can be read and written.
            None => unsafe { slice::from_raw_parts_mut(self.memory, self.size_bytes) },
        }
    }

    /// Copies the samples to where the plugin reads them, if that is elsewhere. [main thread]
    ///
    /// # Errors
    /// If the plugin cannot.
    pub fn finish(&mut self) -> Result<(), PluginHostError> {
        let Some(staging) = &self.staging else { return Ok(()) };
        let copy = self.functions.copy.expect("it was checked when the memory was allocated");
        let from = &staging.bytes[staging.begin..][..self.size_bytes];
        checked(self.model.activity, Call::Copy, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live; both ranges have as many bytes.
            unsafe { copy(self.model.raw(), self.memory.cast(), from.as_ptr().cast(), from.len(), error) }
        })
    }
}

impl Drop for PluginRange {
    fn drop(&mut self) {
        self.model.ranges.lock().retain(|range| !ptr::eq(range.plugin, self.memory));
        let free = self.functions.free.expect("it was checked when the extension was read");
        let freed = checked(self.model.activity, Call::Free, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live, as this range holds the model;
            // the memory came from `allocate` of the same extension and is not used again.
            unsafe { free(self.model.raw(), self.memory.cast(), error) }
        });
        self.model.backend.host.faults.record_failure(freed);
    }
}

impl Staging {
    fn new(size_bytes: usize) -> Result<Self, PluginHostError> {
        let mut bytes = Vec::new();
        let whole = size_bytes.checked_add(RANGE_ALIGNMENT);
        let has_room = whole.is_some_and(|whole| bytes.try_reserve_exact(whole).is_ok());
        let Some(whole) = whole.filter(|_| has_room) else {
            let text =
                format!("there is no memory for {size_bytes} bytes of samples on their way to a device");
            return Err(PluginHostError::Demand(text));
        };
        bytes.resize(whole, 0);
        Ok(Self { begin: bytes.as_ptr().align_offset(RANGE_ALIGNMENT), bytes })
    }
}
