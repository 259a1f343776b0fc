//! Fills the folder of prepared samples.

use std::{
    num::NonZero,
    path::Path,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
};

use proctor_datasets::Dataset;
use proctor_prepared::{Delivery, Listing, Order, Reader, Recipe, Writer};
use proctor_preprocess::{Pipeline, with_forms};
use proctor_published::Opened;
use proctor_vocabulary::{SampleIndex, TensorSpec, printable};
use proctor_words::{DataError, HostError};

use crate::{catalogue, contents};

/// Maximum number of samples that are ready and not yet written, for each thread: more would only take memory.
const AHEAD: usize = 2;

/// Tensors of one sample, each with its shape.
pub(crate) type Tensors = Vec<(Vec<usize>, Vec<u8>)>;

/// Prepares the missing and the damaged samples of an order, and calls `show` with the number done and the total. The
/// data set is opened only for these, or to be listed, since opening one may mean reading through all of it.
///
/// # Errors
/// If the data are missing or damaged, or a sample cannot be prepared or written; samples before it stay.
pub(crate) fn prepare(order: &Order, show: &mut dyn FnMut(usize, usize)) -> Result<Delivery, HostError> {
    let published = catalogue::find(&order.dataset)?;
    let parts: Option<Vec<_>> = order.inputs.iter().map(proctor_prepared::Input::parts).collect();
    let parts = parts.ok_or(DataError::Stated("an input has an unknown element type"))?;
    let (inputs, forms): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let pipeline = order.preprocessing.build(&inputs)?;
    let pipeline = with_forms(pipeline, &forms).map_err(HostError::data)?;
    // Of a folder that is not there, whoever opens it says what should be in it.
    let contents = contents::sum(&order.folder, &order.rows)
        .or_else(|error| catalogue::open(published, &order.folder, &order.rows).and(Err(error.into())))?;
    let recipe = Recipe {
        dataset: order.dataset.clone(),
        contents,
        preprocessing: order.preprocessing.clone(),
        version: order.preprocessing.version()?,
        rows: order.rows.clone(),
        inputs: order.inputs.clone(),
    };
    let folder = recipe.folder(&order.caches);
    let notes: Vec<_> = (published.note)(&order.folder).into_iter().collect();
    let mut wanted: Vec<_> = order.samples.iter().copied().map(SampleIndex).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if let Some(Listing { sample_count, missing_count, .. }) = listed(&folder, &wanted) {
        return Ok(Delivery { recipe, folder, sample_count, missing_count, notes });
    }
    let Opened { dataset, names, missing_count, .. } =
        catalogue::open(published, &order.folder, &order.rows)?;
    let listing = Listing { sample_count: dataset.sample_count(), missing_count, names };
    let mut writer = Writer::open(&folder, &recipe, &listing)?;
    let reader = Reader::open(&folder)?;
    let mut absent = Vec::new();
    for index in wanted {
        if !reader.is_whole(index)? {
            absent.push(index);
        }
    }
    let source = Source { dataset: &*dataset, pipeline: &*pipeline, names: &listing.names };
    fill(&source, &absent, show, |index, tensors| {
        let shapes: Vec<_> = tensors.iter().map(|(shape, _)| shape.as_slice()).collect();
        let bytes: Vec<_> = tensors.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        Ok(writer.append(index, &shapes, &bytes)?)
    })?;
    Ok(Delivery { recipe, folder, sample_count: listing.sample_count, missing_count, notes })
}

/// Returns the list of the data set that a folder was prepared from; `None` if the folder lacks the list or one of the
/// samples, whole.
fn listed(folder: &Path, wanted: &[SampleIndex]) -> Option<Listing> {
    let reader = Reader::open(folder).ok()?;
    let has_all = wanted.iter().all(|index| reader.is_whole(*index).unwrap_or(false));
    has_all.then(|| reader.listing().ok()).flatten()
}

/// Source of the tensors of a sample.
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

    /// Writes the tensors of a sample, which have the shapes of the pipeline's outputs.
    pub(crate) fn fill(&self, index: SampleIndex, tensors: &mut [&mut [u8]]) -> Result<(), HostError> {
        let sample = self.dataset.read(index)?;
        let refused = |source| HostError::Sample { index, name: self.name(index), source };
        self.pipeline.run(&sample, tensors).map_err(refused)
    }

    /// Returns the name of a sample as an error shows it, or nothing.
    fn name(&self, index: SampleIndex) -> String {
        let name = usize::try_from(index.0).ok().and_then(|index| self.names.get(index));
        name.map(printable).unwrap_or_default()
    }
}

/// Prepares samples on all processors, and writes them as they finish.
///
/// # Errors
/// Returns the first sample that cannot be prepared or written.
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
        // From here on this function alone owns it: if it returns early, the threads' sends fail and they end.
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use proctor_config::benchmarks;
    use proctor_prepared::{Input, RowAggregation};
    use proctor_published::{Generate, imagenet};
    use proctor_vocabulary::InputForm;

    use super::*;

    fn order(folder: &Path, caches: &Path, samples: &[u64]) -> Order {
        let benchmark = benchmarks().find(|it| it.id == "resnet50").unwrap();
        Order {
            dataset: benchmark.dataset.clone(),
            folder: folder.to_owned(),
            preprocessing: benchmark.preprocessing.clone(),
            rows: RowAggregation::default(),
            inputs: benchmark.inputs.iter().map(|input| Input::new(input, &InputForm::of(input))).collect(),
            caches: caches.to_owned(),
            samples: samples.to_vec(),
        }
    }

    #[test]
    fn a_data_set_is_opened_for_what_is_not_there_yet_alone() {
        let (folder, caches) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        imagenet::generate(folder.path(), &Generate { seed: 1, sample_count: 2 }).unwrap();
        let of = |samples: &[u64]| prepare(&order(folder.path(), caches.path(), samples), &mut |_, _| {});
        let first = of(&[1]).unwrap();
        // The list is spoilt without a trace that a look at its size and time could find.
        let list = folder.path().join("val_map.txt");
        let metadata = list.metadata().unwrap();
        std::fs::write(&list, "x".repeat(metadata.len() as usize)).unwrap();
        File::options().write(true).open(&list).unwrap().set_modified(metadata.modified().unwrap()).unwrap();
        assert_eq!(of(&[]).unwrap(), first);
        assert_eq!(of(&[1]).unwrap(), first);
        assert!(of(&[0]).is_err());
    }

    #[test]
    fn a_damaged_sample_is_prepared_again() {
        let (folder, caches) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        imagenet::generate(folder.path(), &Generate { seed: 1, sample_count: 2 }).unwrap();
        let prepared = || prepare(&order(folder.path(), caches.path(), &[0, 1]), &mut |_, _| {}).unwrap();
        let samples = prepared().folder.join("samples");
        let (whole, reader) = (std::fs::read(&samples).unwrap(), Reader::open(&prepared().folder).unwrap());
        // As after a loss of power: the index is on the disk, and the end of the records is not.
        File::options().write(true).open(&samples).unwrap().set_len(whole.len() as u64 - 1).unwrap();
        let are_whole = || [0, 1].map(|index| reader.is_whole(SampleIndex(index)).unwrap());
        assert_eq!(are_whole().iter().filter(|is_whole| !**is_whole).count(), 1);
        prepared();
        assert_eq!(are_whole(), [true, true]);
        let length = std::fs::metadata(&samples).unwrap().len();
        prepared();
        assert_eq!(std::fs::metadata(&samples).unwrap().len(), length, "nothing is prepared twice");
    }
}
