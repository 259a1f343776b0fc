//! One input or output of the model, and the tensors of samples that it is made of.

use proctor_onnx_file::{Batching, Fit, Port};
use proctor_plugin_api::{Batch, PluginError, vocabulary::ElementType};

use crate::{
    binding::{Element, Memory, element},
    buffer::Buffer,
};

/// An input or output, with room for a batch of it where the host's memory cannot be used.
pub(crate) struct Tensor {
    port: Port,
    element: Element,
    /// Shape in the model; the first one is the batch's, if the model has it.
    dims: Vec<i64>,
    /// Bytes of one sample in the host's memory.
    sample_bytes: usize,
    /// Bytes of one sample in the model.
    model_bytes: usize,
    /// Where samples come together; empty if none ever do.
    buffer: Buffer,
}

impl Tensor {
    /// A tensor for batches of up to `batch_size_max`, whose samples have elements of type `sample_type` in the host's
    /// memory.
    ///
    /// # Errors
    /// If there is no memory for a batch.
    pub(crate) fn new(
        fit: &Fit,
        port: &Port,
        sample_type: ElementType,
        batch_size_max: usize,
    ) -> Result<Self, PluginError> {
        let samples = match fit.batching {
            Batching::Free => batch_size_max,
            Batching::Fixed(fixed) => fixed,
            Batching::None => 1,
        };
        let dim = |extent: &usize| i64::try_from(*extent).unwrap_or(i64::MAX);
        let mut tensor = Self {
            element: element(port.spec.element_type),
            dims: fit.shape(port, batch_size_max).iter().map(dim).collect(),
            sample_bytes: sample_type.bytes_of(port.spec.element_count()),
            model_bytes: port.spec.size_bytes(),
            buffer: Buffer::default(),
            port: port.clone(),
        };
        if samples > 1 || port.conversion.is_some() {
            tensor.make_room(samples)?;
        }
        Ok(tensor)
    }

    /// Makes the buffer large enough for `samples`.
    fn make_room(&mut self, samples: usize) -> Result<(), PluginError> {
        let whole = samples.saturating_mul(self.model_bytes);
        if self.buffer.bytes().len() < whole {
            let text =
                || format!("no memory for \"{}\" of {samples} samples, {whole} bytes", self.port.spec.name);
            self.buffer = Buffer::new(whole).ok_or_else(|| PluginError::failed(text()))?;
        }
        Ok(())
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    /// The shape for a batch of `samples`. A shape without a batch dimension stays as it is.
    pub(crate) fn dims(&mut self, samples: usize) -> &[i64] {
        if self.dims.len() > self.port.spec.shape.len()
            && let Some(first) = self.dims.first_mut()
        {
            *first = i64::try_from(samples).unwrap_or(i64::MAX);
        }
        &self.dims
    }

    /// Where the input for a call over `samples` lies: in the host's memory if that is all there is to it, else copied
    /// together. Also says how many bytes were copied.
    ///
    /// # Errors
    /// A sample's tensor of another size than the benchmark's, or a value that does not fit the model's type.
    pub(crate) fn gather(&mut self, batch: &Batch<'_>, samples: usize) -> Result<(Memory, u64), PluginError> {
        let tensor = self.port.tensor;
        if samples == 1 && self.port.conversion.is_none() {
            let bytes = self.checked(batch.input(0, tensor))?;
            if is_aligned(bytes.as_ptr()) {
                return Ok((Memory { data: bytes.as_ptr().cast_mut(), size_bytes: bytes.len() }, 0));
            }
        }
        let mut copied = 0;
        // There is room already, but for a host that does not align what it promised to.
        self.make_room(samples)?;
        for position in 0..batch.sample_count() {
            let from = self.checked(batch.input(position, tensor))?;
            let to = &mut self.buffer.bytes_mut()[position * self.model_bytes..][..self.model_bytes];
            match self.port.conversion {
                None => to.copy_from_slice(from),
                Some(conversion) => conversion
                    .apply(from, to)
                    .map_err(|error| failed(&self.port, &format!("sample {position}: {error}")))?,
            }
            copied += from.len() as u64;
        }
        Ok((self.memory(samples), copied))
    }

    /// Where the output of a call over `samples` goes: into the host's memory if that can be, else into the buffer,
    /// from which [`scatter`](Self::scatter) has to take it.
    ///
    /// # Errors
    /// An output of the host of another size than the benchmark's.
    pub(crate) fn place(
        &mut self,
        batch: &mut Batch<'_>,
        samples: usize,
    ) -> Result<(Memory, bool), PluginError> {
        if samples == 1 && self.port.conversion.is_none() {
            let mut sample = batch.sample(0);
            let bytes = self.checked_mut(sample.output_mut(self.port.tensor))?;
            let data = bytes.as_mut_ptr();
            if data.addr().is_multiple_of(self.port.spec.element_type.unit_bytes()) {
                return Ok((Memory { data, size_bytes: bytes.len() }, false));
            }
        }
        self.make_room(samples)?;
        Ok((self.memory(samples), true))
    }

    /// Copies what the call has left in the buffer to the samples of the batch.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub(crate) fn scatter(&self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        for (position, mut sample) in batch.samples().enumerate() {
            let from = &self.buffer.bytes()[position * self.model_bytes..][..self.model_bytes];
            let to = self.checked_mut(sample.output_mut(self.port.tensor))?;
            match self.port.conversion {
                None => to.copy_from_slice(from),
                Some(conversion) => conversion
                    .apply(from, to)
                    .map_err(|error| failed(&self.port, &format!("sample {position}: {error}")))?,
            }
        }
        Ok(())
    }

    /// The buffer's memory of a batch of `samples`, for which it has room.
    fn memory(&mut self, samples: usize) -> Memory {
        Memory { data: self.buffer.bytes_mut().as_mut_ptr(), size_bytes: samples * self.model_bytes }
    }

    fn checked<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], PluginError> {
        if bytes.len() == self.sample_bytes { Ok(bytes) } else { Err(self.wrong_size(bytes.len())) }
    }

    fn checked_mut<'a>(&self, bytes: &'a mut [u8]) -> Result<&'a mut [u8], PluginError> {
        if bytes.len() == self.sample_bytes { Ok(bytes) } else { Err(self.wrong_size(bytes.len())) }
    }

    fn wrong_size(&self, got: usize) -> PluginError {
        let expected = self.sample_bytes;
        let text =
            format!("\"{}\" of a sample has {got} bytes, expected are {expected}", self.port.spec.name);
        PluginError::invalid_argument(text)
    }
}

fn failed(port: &Port, what: &str) -> PluginError {
    PluginError::failed(format!("\"{}\" of {what}", port.spec.name))
}

/// Wide enough for every element.
fn is_aligned(data: *const u8) -> bool {
    data.addr().is_multiple_of(8)
}
