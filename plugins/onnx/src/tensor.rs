//! One input or output of the model, and the tensors of samples that it is made of.

use proctor_onnx_file::{Batching, ConvertError, Fit, Port};
use proctor_plugin_api::{Batch, BatchSample, PluginError, vocabulary::ElementType};

use crate::{
    binding::{Element, Memory, element},
    buffer::Buffer,
    way::{ModelTensors, entries::Entries, interleave::interleave},
};

/// An input or output, with room for a batch of it where the host's memory cannot be used.
pub(crate) struct Tensor {
    port: Port,
    element: Element,
    /// Shape in the model; the first one is the batch's, if the model has it.
    dims: Vec<i64>,
    /// Number of bytes of one entry in the host's memory.
    entry_bytes: usize,
    /// Number of bytes of one entry in the model.
    model_bytes: usize,
    /// Memory in which entries are gathered; empty if none ever are.
    buffer: Buffer,
    /// Position of this output's values in the only output of a sample, if they alternate with other outputs' values.
    part: Option<Part>,
}

/// A part of an output that is made of two.
struct Part {
    /// 0 or 1.
    number: usize,
    /// Number of bytes of an element in the host's memory.
    element_bytes: usize,
    /// The values of one entry, in the host's type.
    values: Vec<u8>,
}

/// The entries that a tensor needs room for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Maximum number of entries of a call.
    entries_max: usize,
    /// Whether the entries of several samples lie together.
    is_shared: bool,
}

impl Room {
    pub(crate) fn of(tensors: &ModelTensors) -> Self {
        let is_shared = tensors.batch_size_max > 1 || matches!(tensors.fit.batching, Batching::Fixed(2..));
        Self { entries_max: tensors.entries_max(), is_shared }
    }
}

impl Tensor {
    /// Creates a tensor for calls over entries whose elements have the type `sample_type` in the host's memory.
    ///
    /// # Errors
    /// If there is no memory for a batch.
    pub(crate) fn new(
        fit: &Fit,
        port: &Port,
        sample_type: ElementType,
        room: Room,
    ) -> Result<Self, PluginError> {
        let mut tensor = Self {
            element: element(port.spec.element_type),
            dims: fit.shape(port, room.entries_max).into_iter().map(dim).collect(),
            entry_bytes: sample_type.bytes_of(port.spec.element_count()),
            model_bytes: port.spec.size_bytes(),
            buffer: Buffer::default(),
            port: port.clone(),
            part: None,
        };
        if room.is_shared || port.conversion.is_some() {
            tensor.make_room(room.entries_max)?;
        }
        Ok(tensor)
    }

    /// Makes it one of two outputs whose values alternate in the only one of a sample.
    ///
    /// # Errors
    /// If there is no memory for a batch.
    pub(crate) fn interleaved(mut self, room: Room) -> Result<Self, PluginError> {
        self.make_room(room.entries_max)?;
        let element_bytes = self.entry_bytes / self.port.spec.element_count().max(1);
        self.part = Some(Part { number: self.port.tensor, element_bytes, values: vec![0; self.entry_bytes] });
        Ok(self)
    }

    /// Makes the buffer large enough for `entries`.
    fn make_room(&mut self, entries: usize) -> Result<(), PluginError> {
        let whole = entries.saturating_mul(self.model_bytes);
        if self.buffer.bytes().len() < whole {
            let text =
                || format!("no memory for \"{}\" of {entries} entries, {whole} bytes", self.port.spec.name);
            self.buffer = Buffer::new(whole).ok_or_else(|| PluginError::failed(text()))?;
        }
        Ok(())
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    /// Returns the shape for a call over `count` entries. A shape without a batch dimension stays as it is.
    pub(crate) fn dims(&mut self, count: usize) -> &[i64] {
        if self.dims.len() > self.port.spec.shape.len()
            && let Some(first) = self.dims.first_mut()
        {
            *first = dim(count);
        }
        &self.dims
    }

    /// Returns the place of the input for a call over `count` entries: the host's memory if it is contiguous there,
    /// else a copy. Also returns the number of copied bytes.
    ///
    /// # Errors
    /// Fails for a sample's tensor of another size than the benchmark's, or a value that does not fit the model's type.
    pub(crate) fn gather(
        &mut self,
        batch: &Batch<'_>,
        entries: &Entries,
        count: usize,
    ) -> Result<(Memory, u64), PluginError> {
        let tensor = self.port.tensor;
        if batch.sample_count() == 1 && entries.count() == count && self.port.conversion.is_none() {
            let bytes = self.checked(batch.input(0, tensor), count)?;
            if is_aligned(bytes.as_ptr()) {
                return Ok((Memory { data: bytes.as_ptr().cast_mut(), size_bytes: bytes.len() }, 0));
            }
        }
        let mut copied = 0;
        // There is room already, but for a host that does not align what it promised to.
        self.make_room(count)?;
        for position in 0..batch.sample_count() {
            let own = entries.of(position);
            let from = self.checked(batch.input(position, tensor), own.len())?;
            let own = own.start * self.model_bytes..own.end * self.model_bytes;
            let to = &mut self.buffer.bytes_mut()[own];
            match self.port.conversion {
                None => to.copy_from_slice(from),
                Some(conversion) => conversion
                    .apply(from, to)
                    .map_err(|error| failed(&self.port, &format!("sample {position}: {error}")))?,
            }
            copied += from.len() as u64;
        }
        Ok((self.memory(count), copied))
    }

    /// Returns where the output of a call over `count` entries goes: into the host's memory if that can be, else into
    /// the buffer, from which [`scatter`](Self::scatter) has to take it.
    ///
    /// # Errors
    /// Fails for an output of the host of another size than the benchmark's.
    pub(crate) fn place(
        &mut self,
        batch: &mut Batch<'_>,
        entries: &Entries,
        count: usize,
    ) -> Result<(Memory, bool), PluginError> {
        let is_whole = self.port.conversion.is_none() && self.part.is_none();
        if batch.sample_count() == 1 && entries.count() == count && is_whole {
            let mut sample = batch.sample(0);
            let bytes = self.room(&mut sample, entries, 0)?;
            let (data, size_bytes) = (bytes.as_mut_ptr(), bytes.len());
            if data.addr().is_multiple_of(self.port.spec.element_type.unit_bytes()) {
                sample.set_output_size(self.port.tensor, size_bytes);
                return Ok((Memory { data, size_bytes }, false));
            }
        }
        self.make_room(count)?;
        Ok((self.memory(count), true))
    }

    /// Copies the outputs of the call from the buffer to the samples of the batch.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub(crate) fn scatter(&mut self, batch: &mut Batch<'_>, entries: &Entries) -> Result<(), PluginError> {
        for (position, mut sample) in batch.samples().enumerate() {
            let own = entries.of(position);
            let from = &self.buffer.bytes()[own.start * self.model_bytes..own.end * self.model_bytes];
            let unfit = |error: ConvertError| failed(&self.port, &format!("sample {position}: {error}"));
            if let Some(Part { number, element_bytes, values }) = &mut self.part {
                let to = sample.output_mut(0);
                if to.len() != 2 * self.entry_bytes {
                    return Err(wrong_size(&self.port, to.len(), 2 * self.entry_bytes));
                }
                self.port.copy(from, values).map_err(unfit)?;
                interleave(values, to, *element_bytes, *number);
                continue;
            }
            let to = self.room(&mut sample, entries, position)?;
            match self.port.conversion {
                None => to.copy_from_slice(from),
                Some(conversion) => conversion.apply(from, to).map_err(unfit)?,
            }
            let size_bytes = to.len();
            sample.set_output_size(self.port.tensor, size_bytes);
        }
        Ok(())
    }

    /// Returns the host's memory for the entries of a sample.
    fn room<'a>(
        &self,
        sample: &'a mut BatchSample<'_>,
        entries: &Entries,
        position: usize,
    ) -> Result<&'a mut [u8], PluginError> {
        let wanted = entries.of(position).len() * self.entry_bytes;
        let room = sample.output_mut(self.port.tensor);
        if room.len() == wanted || (entries.vary() && room.len() > wanted) {
            Ok(&mut room[..wanted])
        } else {
            Err(wrong_size(&self.port, room.len(), wanted))
        }
    }

    /// Returns the buffer's memory of `count` entries, for which it has room.
    fn memory(&mut self, count: usize) -> Memory {
        Memory { data: self.buffer.bytes_mut().as_mut_ptr(), size_bytes: count * self.model_bytes }
    }

    fn checked<'a>(&self, bytes: &'a [u8], count: usize) -> Result<&'a [u8], PluginError> {
        let expected = count * self.entry_bytes;
        if bytes.len() == expected { Ok(bytes) } else { Err(wrong_size(&self.port, bytes.len(), expected)) }
    }
}

/// Converts an extent to ONNX Runtime's type. A larger number cannot be the size of anything in memory.
pub(crate) fn dim(extent: usize) -> i64 {
    i64::try_from(extent).unwrap_or(i64::MAX)
}

fn wrong_size(port: &Port, got: usize, expected: usize) -> PluginError {
    let text = format!("\"{}\" of a sample has {got} bytes, expected are {expected}", port.spec.name);
    PluginError::invalid_argument(text)
}

fn failed(port: &Port, what: &str) -> PluginError {
    PluginError::failed(format!("\"{}\" of {what}", port.spec.name))
}

/// Returns whether the address is aligned for every element.
fn is_aligned(data: *const u8) -> bool {
    data.addr().is_multiple_of(8)
}
