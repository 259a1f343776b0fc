//! Fills the folder of prepared samples.

use std::{
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
};

use proctor_datasets::Dataset;
use proctor_prepared::{Delivery, Order, Recipe, Writer};
use proctor_preprocess::{Pipeline, build_pipeline, pipeline_version, with_forms};
use proctor_run::HostError;
use proctor_vocabulary::{SampleIndex, TensorSpec};

use crate::{
    catalogue::{self, Opened},
    contents,
};

/// Samples that are ready and not yet written, for each thread: more would only take memory.
const AHEAD: usize = 2;

/// Tensors of one sample, each with its shape.
pub(crate) type Tensors = Vec<(Vec<usize>, Vec<u8>)>;

/// Prepares the samples of an order that are not there yet; `show` is told how many of how many are done.
///
/// # Errors
/// If the data are missing or damaged, or a sample cannot be prepared or written; those before it stay.
pub(crate) fn prepare(order: &Order, show: &mut dyn FnMut(usize, usize)) -> Result<Delivery, HostError> {
    let published = catalogue::find(&order.dataset)?;
    let Opened { dataset, names, missing_count, .. } = published.open(&order.folder, &order.rows)?;
    let parts: Option<Vec<_>> = order.inputs.iter().map(proctor_prepared::Input::parts).collect();
    let parts = parts.ok_or_else(|| HostError::Data("an input has an unknown element type".to_owned()))?;
    let (inputs, forms): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let pipeline = build_pipeline(&order.preprocessing, &inputs)?;
    let pipeline = with_forms(pipeline, &forms).map_err(|error| HostError::Data(error.to_string()))?;
    let recipe = Recipe {
        dataset: order.dataset.clone(),
        contents: contents::sum(&order.folder, &order.rows)?,
        preprocessing: order.preprocessing.clone(),
        version: pipeline_version(&order.preprocessing)?,
        sample_count: dataset.sample_count(),
        rows: order.rows.clone(),
        inputs: order.inputs.clone(),
    };
    let folder = recipe.folder(&order.caches);
    let mut writer = Writer::open(&folder, &recipe, &names)?;
    let mut absent = Vec::new();
    for index in order.samples.iter().copied().map(SampleIndex) {
        if !writer.has(index)? {
            absent.push(index);
        }
    }
    absent.sort_unstable();
    absent.dedup();
    let source = Source { dataset: &*dataset, pipeline: &*pipeline, names: &names };
    fill(&source, &absent, show, |index, tensors| {
        let shapes: Vec<_> = tensors.iter().map(|(shape, _)| shape.as_slice()).collect();
        let bytes: Vec<_> = tensors.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        Ok(writer.append(index, &shapes, &bytes)?)
    })?;
    Ok(Delivery { folder, sample_count: recipe.sample_count, missing_count })
}

/// Where the tensors of a sample come from.
pub(crate) struct Source<'a> {
    pub(crate) dataset: &'a dyn Dataset,
    pub(crate) pipeline: &'a dyn Pipeline,
    /// Name of a sample, if it has one.
    pub(crate) names: &'a [String],
}

impl Source<'_> {
    fn tensors(&self, index: SampleIndex) -> Result<Tensors, HostError> {
        let sample = self.dataset.read(index)?;
        let refused = |source| HostError::Sample { index, name: self.name(index), source };
        let shapes = self.pipeline.shapes(&sample).map_err(refused)?;
        let room = |(shape, output): (Vec<usize>, &TensorSpec)| {
            let size_bytes = output.of_shape(shape.clone()).size_bytes();
            (shape, vec![0; size_bytes])
        };
        let mut tensors: Tensors = shapes.into_iter().zip(self.pipeline.outputs()).map(room).collect();
        let mut slices: Vec<_> = tensors.iter_mut().map(|(_, bytes)| bytes.as_mut_slice()).collect();
        self.pipeline.run(&sample, &mut slices).map_err(refused)?;
        Ok(tensors)
    }

    fn name(&self, index: SampleIndex) -> String {
        let name = usize::try_from(index.0).ok().and_then(|index| self.names.get(index));
        name.cloned().unwrap_or_default()
    }
}

/// Prepares samples on all processors, and has them written as they come.
///
/// # Errors
/// The first sample that cannot be prepared or written.
pub(crate) fn fill(
    source: &Source<'_>,
    samples: &[SampleIndex],
    show: &mut dyn FnMut(usize, usize),
    mut write: impl FnMut(SampleIndex, &Tensors) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let thread_count = thread::available_parallelism().map_or(1, NonZero::get).min(samples.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(AHEAD * thread_count);
    thread::scope(|scope| {
        // Of this function alone from here on: where it returns early, the threads find nobody to send to, and end.
        let receiver = receiver;
        for _ in 0..thread_count {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(index) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send((*index, source.tensors(*index))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (done, (index, tensors)) in receiver.iter().enumerate() {
            write(index, &tensors?)?;
            show(done + 1, samples.len());
        }
        Ok(())
    })
}
