//! Volumes through a model that takes windows of them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ort::session::SharedSessionInner;
use proctor_onnx_file::Batching;
use proctor_plugin_api::{Batch, Host, Instance, PluginError, Stage};
use proctor_timed_steps::windows::{Accumulator, Windows};

use crate::{
    binding::{Binding, Element, Memory},
    session::runtime_failed,
    tensor::dim,
    way::windows::WindowFit,
};

/// Volumes that go through the model one by one, in windows.
pub(crate) struct VolumeInstance {
    host: Host,
    binding: Binding,
    fit: WindowFit,
    /// Shapes of the tensors of a call; the first extent is the number of windows.
    dims: [Vec<i64>; 2],
    /// Windows of a call, `[window, channel, voxel]`.
    cut: Vec<f32>,
    /// Scores, `[window, class, voxel]`.
    scores: Vec<f32>,
    /// Starts of the windows of a call.
    starts: Vec<[usize; 3]>,
    accumulator: Accumulator,
    input_bytes_copied: Arc<AtomicU64>,
}

impl VolumeInstance {
    pub(crate) fn new(
        host: Host,
        session: Arc<SharedSessionInner>,
        fit: &WindowFit,
        input_bytes_copied: Arc<AtomicU64>,
    ) -> Result<Self, PluginError> {
        let binding =
            Binding::of_ports(session, &fit.fit.inputs, &fit.fit.outputs).map_err(runtime_failed)?;
        let room = |window: usize| {
            let mut room = Vec::new();
            let count = fit.windows_max.checked_mul(window);
            let reserved = count.is_some_and(|count| room.try_reserve_exact(count).is_ok());
            let Some(count) = count.filter(|_| reserved) else {
                let text = format!("no memory for {} windows in a call; set fewer windows", fit.windows_max);
                return Err(PluginError::failed(text));
            };
            room.resize(count, 0.0_f32);
            Ok(room)
        };
        let dims = [&fit.fit.inputs[0], &fit.fit.outputs[0]]
            .map(|port| fit.fit.shape(port, fit.windows_max).into_iter().map(dim).collect());
        // Windows over one window: volumes bring their own.
        let one = fit.windows([fit.extent(); 3]).map_err(|error| PluginError::failed(error.to_string()))?;
        Ok(Self {
            host,
            binding,
            dims,
            cut: room(fit.input.element_count())?,
            scores: room(fit.output.element_count())?,
            starts: Vec::with_capacity(fit.windows_max),
            accumulator: Accumulator::new(one, fit.output.shape[0]),
            fit: fit.clone(),
            input_bytes_copied,
        })
    }

    /// Writes the labels of the volume at a position of the batch.
    fn label(&mut self, batch: &mut Batch<'_>, position: usize) -> Result<(), PluginError> {
        let shape = self.shape(batch, position)?;
        let index = batch.sample(position).index();
        let wrong = |what: String| PluginError::invalid_argument(format!("sample {index}: {what}"));
        let windows = self.fit.windows(shape).map_err(|error| wrong(error.to_string()))?;
        let voxel_count: usize = shape.iter().product();
        let volume = batch.input_f32(position, 0);
        let expected = voxel_count * self.fit.input.shape[0];
        if volume.len() != expected {
            return Err(wrong(format!("{} voxels, and its shape says {expected}", volume.len())));
        }
        self.accumulator.begin(windows);
        let mut left = windows.starts();
        loop {
            self.starts.clear();
            self.starts.extend(left.by_ref().take(self.fit.windows_max));
            if self.starts.is_empty() {
                break;
            }
            self.cut(&windows, volume);
            self.score()?;
            let of_window = self.fit.output.element_count();
            for (start, scores) in self.starts.iter().zip(self.scores.chunks_exact(of_window)) {
                self.accumulator.add(*start, scores);
            }
        }
        let mut sample = batch.sample(position);
        let room = sample.output_mut(0);
        let capacity = room.len();
        let is_enough = if self.fit.vary { capacity >= voxel_count } else { capacity == voxel_count };
        if !is_enough {
            return Err(wrong(format!("room for {capacity} labels of {voxel_count} voxels")));
        }
        self.accumulator.finish(&mut room[..voxel_count]);
        sample.set_output_size(0, voxel_count);
        Ok(())
    }

    /// Returns the extents of a volume, without the channels.
    fn shape(&self, batch: &mut Batch<'_>, position: usize) -> Result<[usize; 3], PluginError> {
        let sample = batch.sample(position);
        let (shape, most) = (sample.input_shape(0), self.fit.shape_max);
        let channels = self.fit.input.shape[0];
        let extents: Vec<usize> = shape.iter().filter_map(|extent| usize::try_from(*extent).ok()).collect();
        match extents[..] {
            [of_voxel, depth, height, width]
                if of_voxel == channels && depth <= most[0] && height <= most[1] && width <= most[2] =>
            {
                Ok([depth, height, width])
            }
            _ => {
                let index = sample.index();
                let text = format!(
                    "sample {index} has the shape {shape:?}, and not {channels} channels of up to {most:?} voxels"
                );
                Err(PluginError::invalid_argument(text))
            }
        }
    }

    /// Cuts the windows of a call out of all channels.
    fn cut(&mut self, windows: &Windows, volume: &[f32]) {
        let channels = self.fit.input.shape[0];
        let mut places = self.cut.chunks_exact_mut(windows.voxel_count());
        for start in &self.starts {
            for channel in volume.chunks_exact(volume.len() / channels) {
                let place = places.next().expect("there is room for the windows of a call");
                windows.cut(channel, *start, place);
            }
        }
        let copied = self.starts.len() * size_of::<f32>() * self.fit.input.element_count();
        self.input_bytes_copied.fetch_add(copied as u64, Ordering::Relaxed);
    }

    /// Runs the model on the windows that were cut. If it takes a fixed number, the missing ones are computed from old
    /// contents of the buffer.
    fn score(&mut self) -> Result<(), PluginError> {
        let count = match self.fit.fit.batching {
            Batching::Fixed(fixed) => fixed,
            Batching::Free | Batching::None => self.starts.len(),
        };
        let [input, output] = &mut self.dims;
        input[0] = dim(count);
        output[0] = input[0];
        let element = Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
        let cut = memory(&mut self.cut[..count * self.fit.input.element_count()]);
        // SAFETY: the memory is the instance's, is aligned as f32 are, and is not touched until `run` has returned. The
        // runtime only reads it.
        unsafe { self.binding.bind_input(0, cut, element, input) }.map_err(runtime_failed)?;
        let scores = memory(&mut self.scores[..count * self.fit.output.element_count()]);
        // SAFETY: the memory is the instance's, is aligned as f32 are, and is not touched until `run` has returned.
        unsafe { self.binding.bind_output(0, scores, element, output) }.map_err(runtime_failed)?;
        self.binding.run().map_err(runtime_failed)
    }
}

fn memory(values: &mut [f32]) -> Memory {
    Memory { data: values.as_mut_ptr().cast(), size_bytes: size_of_val(values) }
}

impl Instance for VolumeInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let begin_ns = self.host.now_ns();
        for position in 0..batch.sample_count() {
            self.label(batch, position)?;
        }
        // Windows are cut and added up between the calls of the runtime.
        batch.set_stages(&[Stage::new(Stage::COMPUTE, begin_ns, self.host.now_ns())]);
        Ok(())
    }
}
