//! Where a batch is executed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ort::session::SharedSessionInner;
use proctor_onnx_file::{Batching, Fit, Port};
use proctor_plugin_api::{Batch, Host, Instance, PluginError, Stage, vocabulary::TensorSpec};

use crate::{
    answer::Made,
    binding::{Binding, Home, Lent},
    session::in_one_line,
    tensor::Tensor,
};

/// Counters that all instances of a model share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Bytes of inputs that were copied before the runtime saw them.
    pub input_bytes_copied: AtomicU64,
}

/// How a model is run: its tensors and the sizes of batches.
#[derive(Debug, Clone)]
pub(crate) struct ModelTensors {
    /// Without outputs where those of a sample are made of the model's.
    pub fit: Fit,
    /// How they are made.
    pub made: Option<MadeOf>,
    pub inputs: Vec<TensorSpec>,
    pub outputs: Vec<TensorSpec>,
    /// Largest batch.
    pub batch_size_max: usize,
}

/// Outputs that are made of those of a model.
#[derive(Debug, Clone)]
pub(crate) struct MadeOf {
    pub made: Made,
    /// Names of the model's outputs that are used, in the order in which they are taken.
    pub names: Vec<String>,
}

/// One co-located copy of a model: a call of a session, with the memory for it.
pub struct OnnxInstance {
    host: Host,
    binding: Binding,
    inputs: Vec<Tensor>,
    /// None where the outputs are made of the model's.
    outputs: Vec<Tensor>,
    /// Whether the output of this number lies in the buffer after the call.
    copied_out: Vec<bool>,
    made: Option<MadeOf>,
    batching: Batching,
    batch_size_max: usize,
    counters: Arc<Counters>,
}

impl OnnxInstance {
    pub(crate) fn new(
        host: Host,
        session: Arc<SharedSessionInner>,
        tensors: &ModelTensors,
        counters: Arc<Counters>,
    ) -> Result<Self, PluginError> {
        let names = |ports: &[Port]| ports.iter().map(|port| port.spec.name.clone()).collect::<Vec<_>>();
        let (outputs, home) = match &tensors.made {
            None => (names(&tensors.fit.outputs), Home::Caller),
            Some(made) => (made.names.clone(), Home::Runtime),
        };
        let binding = Binding::new(session, &names(&tensors.fit.inputs), &outputs, home);
        let binding = binding.map_err(runtime_failed)?;
        let bound = |ports: &[Port], specs: &[TensorSpec]| -> Result<Vec<Tensor>, PluginError> {
            let make = |port: &Port| {
                Tensor::new(&tensors.fit, port, specs[port.tensor].element_type, tensors.batch_size_max)
            };
            ports.iter().map(make).collect()
        };
        Ok(Self {
            host,
            binding,
            inputs: bound(&tensors.fit.inputs, &tensors.inputs)?,
            outputs: bound(&tensors.fit.outputs, &tensors.outputs)?,
            copied_out: vec![false; tensors.fit.outputs.len()],
            made: tensors.made.clone(),
            batching: tensors.fit.batching,
            batch_size_max: tensors.batch_size_max,
            counters,
        })
    }

    /// Binds inputs and outputs of a call over `samples`, of which the batch may have fewer.
    fn bind(&mut self, batch: &mut Batch<'_>, samples: usize) -> Result<(), PluginError> {
        let mut copied = 0;
        for (place, tensor) in self.inputs.iter_mut().enumerate() {
            let (memory, bytes) = tensor.gather(batch, samples)?;
            copied += bytes;
            let element = tensor.element();
            // SAFETY: the memory is the host's, which stays for the duration of `execute`, within which the call
            // runs, or the tensor's buffer, which is not touched until `run` has returned. Both are aligned to 8 at
            // least. The runtime only reads inputs.
            unsafe { self.binding.bind_input(place, memory, element, tensor.dims(samples)) }
                .map_err(runtime_failed)?;
        }
        for (place, tensor) in self.outputs.iter_mut().enumerate() {
            let (memory, in_buffer) = tensor.place(batch, samples)?;
            self.copied_out[place] = in_buffer;
            let element = tensor.element();
            // SAFETY: the memory is the host's room for this output, which no other code uses during `execute` and
            // which is not touched here until `run` has returned, or the tensor's buffer, of which the same is true.
            // `place` has seen to the alignment.
            unsafe { self.binding.bind_output(place, memory, element, tensor.dims(samples)) }
                .map_err(runtime_failed)?;
        }
        if copied > 0 {
            self.counters.input_bytes_copied.fetch_add(copied, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Instance for OnnxInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let count = batch.sample_count();
        if count > self.batch_size_max {
            let text =
                format!("a batch of {count} samples is larger than the {} of the model", self.batch_size_max);
            return Err(PluginError::invalid_argument(text));
        }
        // A model of fixed batches computes the samples that are missing from whatever the buffer still holds.
        let samples = if let Batching::Fixed(fixed) = self.batching { fixed } else { count };
        let copy_in_ns = self.host.now_ns();
        self.bind(batch, samples)?;
        let compute_ns = self.host.now_ns();
        self.binding.run().map_err(runtime_failed)?;
        let copy_out_ns = self.host.now_ns();
        for (tensor, in_buffer) in self.outputs.iter().zip(&self.copied_out) {
            if *in_buffer {
                tensor.scatter(batch)?;
            }
        }
        if let Some(MadeOf { made, names }) = &self.made {
            let lent = (0..names.len()).map(|place| self.binding.output(place));
            let lent: Vec<Lent<'_>> = lent.collect::<Result<_, _>>().map_err(runtime_failed)?;
            made.answer(&lent, samples, batch)?;
        }
        let end_ns = self.host.now_ns();
        batch.set_stages(&[
            Stage::new(Stage::COPY_IN, copy_in_ns, compute_ns),
            Stage::new(Stage::COMPUTE, compute_ns, copy_out_ns),
            Stage::new(Stage::COPY_OUT, copy_out_ns, end_ns),
        ]);
        Ok(())
    }
}

fn runtime_failed(error: ort::Error) -> PluginError {
    PluginError::failed(format!("ONNX Runtime: {}", in_one_line(error.message())))
}
