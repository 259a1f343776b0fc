//! Where a batch is executed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ort::session::SharedSessionInner;
use proctor_onnx_file::{Batching, Port};
use proctor_plugin_api::{Batch, Host, Instance, PluginError, Stage, vocabulary::TensorSpec};

use crate::{
    answer::MadeOf,
    binding::{Binding, Home, Lent, names},
    generation::{Plan, instance::GenerationInstance},
    session::runtime_failed,
    tensor::{Room, Tensor},
    volumes::VolumeInstance,
    way::{ModelTensors, Way, entries::Entries},
};

/// One co-located copy of a model: a call of a session, with the memory for it.
pub struct OnnxInstance(Box<dyn Instance>);

impl OnnxInstance {
    pub(crate) fn new(
        host: Host,
        session: Arc<SharedSessionInner>,
        way: &Way,
        input_bytes_copied: Arc<AtomicU64>,
    ) -> Result<Self, PluginError> {
        Ok(Self(match way {
            Way::Batches(tensors) => {
                Box::new(BatchInstance::new(host, session, tensors, input_bytes_copied)?)
            }
            Way::Volumes(fit) => Box::new(VolumeInstance::new(host, session, fit, input_bytes_copied)?),
        }))
    }

    /// Makes an instance of an encoder and a decoder.
    pub(crate) fn of_tokens(
        host: Host,
        sessions: [Arc<SharedSessionInner>; 2],
        plan: &Arc<Plan>,
    ) -> Result<Self, PluginError> {
        Ok(Self(Box::new(GenerationInstance::new(host, sessions, Arc::clone(plan))?)))
    }
}

impl Instance for OnnxInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.0.execute(batch)
    }
}

/// Samples that go through the model together.
struct BatchInstance {
    host: Host,
    binding: Binding,
    inputs: Vec<Tensor>,
    /// None where the outputs are made of the model's.
    outputs: Vec<Tensor>,
    /// Whether the output of this number lies in the buffer after the call.
    copied_out: Vec<bool>,
    made: Option<MadeOf>,
    /// Inputs of an entry.
    specs: Vec<TensorSpec>,
    entries: Entries,
    batching: Batching,
    batch_size_max: usize,
    input_bytes_copied: Arc<AtomicU64>,
}

impl BatchInstance {
    fn new(
        host: Host,
        session: Arc<SharedSessionInner>,
        tensors: &ModelTensors,
        input_bytes_copied: Arc<AtomicU64>,
    ) -> Result<Self, PluginError> {
        let binding = match &tensors.made {
            None => Binding::of_ports(session, &tensors.fit.inputs, &tensors.fit.outputs),
            Some(made) => Binding::new(session, &names(&tensors.fit.inputs), &made.names, Home::Runtime),
        };
        let binding = binding.map_err(runtime_failed)?;
        let room = Room::of(tensors);
        let bound = |ports: &[Port], specs: &[TensorSpec]| -> Result<Vec<Tensor>, PluginError> {
            let make = |port: &Port| Tensor::new(&tensors.fit, port, specs[port.tensor].element_type, room);
            ports.iter().map(make).collect()
        };
        let mut outputs = bound(&tensors.fit.outputs, &tensors.outputs)?;
        if tensors.is_interleaved {
            outputs = outputs.into_iter().map(|output| output.interleaved(room)).collect::<Result<_, _>>()?;
        }
        Ok(Self {
            host,
            binding,
            inputs: bound(&tensors.fit.inputs, &tensors.inputs)?,
            outputs,
            copied_out: vec![false; tensors.fit.outputs.len()],
            made: tensors.made.clone(),
            specs: tensors.inputs.clone(),
            entries: Entries::new(tensors.rows_max, tensors.batch_size_max),
            batching: tensors.fit.batching,
            batch_size_max: tensors.batch_size_max,
            input_bytes_copied,
        })
    }

    /// Binds inputs and outputs of a call over `count` entries; the batch may have fewer.
    fn bind(&mut self, batch: &mut Batch<'_>, count: usize) -> Result<(), PluginError> {
        let mut copied = 0;
        for (place, tensor) in self.inputs.iter_mut().enumerate() {
            let (memory, bytes) = tensor.gather(batch, &self.entries, count)?;
            copied += bytes;
            let element = tensor.element();
            // SAFETY: the memory is the host's, which stays for the duration of `execute`, within which the call
            // runs, or the tensor's buffer, which is not touched until `run` has returned. Both are aligned to 8 at
            // least. The runtime only reads inputs.
            unsafe { self.binding.bind_input(place, memory, element, tensor.dims(count)) }
                .map_err(runtime_failed)?;
        }
        for (place, tensor) in self.outputs.iter_mut().enumerate() {
            let (memory, in_buffer) = tensor.place(batch, &self.entries, count)?;
            self.copied_out[place] = in_buffer;
            let element = tensor.element();
            // SAFETY: the memory is the host's room for this output, which no other code uses during `execute` and
            // which is not touched here until `run` has returned, or the tensor's buffer, of which the same is true.
            // `place` has seen to the alignment.
            unsafe { self.binding.bind_output(place, memory, element, tensor.dims(count)) }
                .map_err(runtime_failed)?;
        }
        if copied > 0 {
            self.input_bytes_copied.fetch_add(copied, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Instance for BatchInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let count = batch.sample_count();
        if count > self.batch_size_max {
            let text =
                format!("a batch of {count} samples is larger than the {} of the model", self.batch_size_max);
            return Err(PluginError::invalid_argument(text));
        }
        let copy_in_ns = self.host.now_ns();
        self.entries.lay_out(batch, &self.specs)?;
        // A model with a fixed batch computes the missing samples from old contents of the buffer.
        let entries = if let Batching::Fixed(fixed) = self.batching { fixed } else { self.entries.count() };
        self.bind(batch, entries)?;
        let compute_ns = self.host.now_ns();
        self.binding.run().map_err(runtime_failed)?;
        let copy_out_ns = self.host.now_ns();
        for (tensor, in_buffer) in self.outputs.iter_mut().zip(&self.copied_out) {
            if *in_buffer {
                tensor.scatter(batch, &self.entries)?;
            }
        }
        if let Some(MadeOf { made, names }) = &self.made {
            let lent = (0..names.len()).map(|place| self.binding.output(place));
            let lent: Vec<Lent<'_>> = lent.collect::<Result<_, _>>().map_err(runtime_failed)?;
            made.answer(&lent, entries, batch)?;
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
