//! Preprocessed samples in RAM, which a query sample library loads and a plugin reads.

pub(crate) mod memory;

use std::{num::NonZero, thread};

use parking_lot::Mutex;
use proctor_vocabulary::{SampleIndex, TensorSpec};

use self::memory::{ItemBuffer, Items, OwnMemory, SampleMemory};

/// Reason why one sample could not be prepared.
pub type FillError = Box<dyn std::error::Error + Send + Sync>;

/// The loaded samples of one data set, as the tensors that a model takes.
///
/// One buffer for each input, of whole pages, holds the loaded samples one after another, each starting at a multiple
/// of [`ALIGNMENT_BYTES`](crate::ALIGNMENT_BYTES). Between a load and its unload no byte of a buffer changes or moves,
/// so that a plugin may pin them.
///
/// LoadGen loads one set, runs it and unloads it, so a store holds one set at a time, and an unload must give the list
/// of the load again. A sample that is listed twice is prepared once.
///
/// Samples that a list repeats at its end are stored once more, behind all others: in MultiStream a query may continue
/// from the last sample of the set to the first ones, and its samples lie side by side.
#[derive(Debug)]
pub struct SampleStore {
    inputs: Vec<TensorSpec>,
    sample_count: u64,
    limit_bytes: u64,
    memory: Box<dyn SampleMemory>,
    loaded: Option<LoadedSet>,
}

#[derive(Debug)]
struct LoadedSet {
    /// Indices as given, sorted.
    list: Vec<SampleIndex>,
    placement: Placement,
    /// One for each input.
    buffers: Vec<ItemBuffer>,
    /// Shapes of the inputs of each sample by its position; empty if all samples have the shapes of the store.
    shapes: Vec<Vec<Vec<usize>>>,
}

/// Places in the buffers of the samples of a list.
#[derive(Debug)]
struct Placement {
    /// Position by sample index; [`ABSENT`] if it is not listed. Looked up in the timed part, hence flat.
    positions: Vec<u32>,
    /// Each different sample, in the order of first appearance: the first positions.
    distinct: Vec<SampleIndex>,
    /// Samples that the list repeats after its last new one, in the same order: their positions.
    copies: Vec<SampleIndex>,
}

impl Placement {
    /// Returns the number of positions.
    fn len(&self) -> usize {
        self.distinct.len() + self.copies.len()
    }

    /// Returns the position of a sample that is listed.
    fn position(&self, index: SampleIndex) -> usize {
        self.positions[index.0 as usize] as usize
    }
}

const ABSENT: u32 = u32::MAX;

/// Reason why samples could not be loaded, unloaded or read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum StoreError {
    #[error("a set of {loaded_count} samples is still loaded; unload it before the next")]
    AlreadyLoaded { loaded_count: usize },
    #[error("sample {0} is not loaded")]
    NotLoaded(SampleIndex),
    #[error("sample {0} is loaded, but missing from the list to unload; give the list of the load again")]
    StillLoaded(SampleIndex),
    #[error("there is no sample {index}: the data set has {sample_count} samples, counted from 0")]
    NoSuchSample { index: SampleIndex, sample_count: u64 },
    #[error("there is no input {number}: the model has {input_count} inputs, counted from 0")]
    NoSuchInput { number: usize, input_count: usize },
    #[error(
        "{distinct_count} samples{} need {needed_bytes} bytes of memory, but {limit_bytes} are allowed; {}",
        copied(*copy_count),
        smaller(*distinct_count, *copy_count, *needed_bytes, *limit_bytes)
    )]
    TooLarge {
        distinct_count: usize,
        /// Number of samples that are stored once more.
        copy_count: usize,
        /// Memory needed; saturated at the largest number.
        needed_bytes: u64,
        limit_bytes: u64,
    },
    #[error(
        "input \"{}\" of sample {index} has the shape {shape:?}, which does not fit into the benchmark's {:?}; raise the \
         shape in its definition", input.name, input.shape
    )]
    Shape {
        index: SampleIndex,
        input: TensorSpec,
        /// The shape of the sample; of all inputs if there are not as many as the model has.
        shape: Vec<usize>,
    },
    #[error("there is no memory for the samples: {0}")]
    Memory(FillError),
    #[error("they could not be prepared")]
    Prepare(#[source] FillError),
    #[error("sample {index} could not be prepared")]
    Fill { index: SampleIndex, source: FillError },
}

/// Returns the words for samples that are stored once more.
fn copied(count: usize) -> String {
    match count {
        0 => String::new(),
        _ => format!(", and copies of {count} of them for queries that wrap around,"),
    }
}

/// Returns advice about a set that is too large.
fn smaller(distinct_count: usize, copy_count: usize, needed_bytes: u64, limit_bytes: u64) -> String {
    let count = (distinct_count + copy_count) as u64;
    // As many as fit, if each takes as much as these do on average.
    let room = u128::from(limit_bytes) * u128::from(count) / u128::from(needed_bytes.max(1));
    match room.checked_sub(copy_count as u128) {
        Some(most) if most > 0 && needed_bytes < u64::MAX => {
            format!("set performance_sample_count_override = {most} or less")
        }
        _ if copy_count > 0 => "lower multi_stream_samples_per_query".to_owned(),
        _ => "no set is small enough, so it takes a machine with more memory".to_owned(),
    }
}

impl SampleStore {
    /// Creates an empty store for samples of a data set of `sample_count`, as tensors `inputs`, in at most
    /// `limit_bytes`. Of inputs that vary these are the largest shapes.
    #[must_use]
    pub fn new(inputs: Vec<TensorSpec>, sample_count: u64, limit_bytes: u64) -> Self {
        Self { inputs, sample_count, limit_bytes, memory: Box::new(OwnMemory), loaded: None }
    }

    /// Returns the store with another source of memory for its samples.
    #[must_use]
    pub fn with_memory(self, memory: Box<dyn SampleMemory>) -> Self {
        Self { memory, ..self }
    }

    /// Returns the tensors of one sample, in the order of their numbers.
    #[must_use]
    pub fn inputs(&self) -> &[TensorSpec] {
        &self.inputs
    }

    /// Loads a set of samples, which all have the shapes of the store.
    ///
    /// Calls `fill` once for each different sample, on as many threads as there are processors, with one slice for each
    /// input: exactly as long as its tensor, aligned, and all zero.
    ///
    /// # Errors
    /// [`StoreError::AlreadyLoaded`], [`StoreError::NoSuchSample`], [`StoreError::TooLarge`],
    /// [`StoreError::Memory`] or [`StoreError::Fill`]; what was loaded before stays, and nothing is added.
    pub fn load<F, E>(&mut self, samples: &[SampleIndex], fill: F) -> Result<(), StoreError>
    where
        F: Fn(SampleIndex, &mut [&mut [u8]]) -> Result<(), E> + Sync,
        E: Into<FillError>,
    {
        let placement = self.place(samples)?;
        let count = placement.len();
        let items =
            self.inputs.iter().map(|input| Some(Items::Even { size_bytes: input.size_bytes(), count }));
        let buffers = self.allocate(items.collect(), &placement)?;
        self.fill(samples, LoadedSet { list: Vec::new(), placement, buffers, shapes: Vec::new() }, fill)
    }

    /// Loads a set of samples as [`load`](Self::load) does, with shapes that vary. `shapes` returns the input shapes of
    /// a sample and is called for all samples before any is filled.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`StoreError::Shape`] if a shape has other dimensions than the store's, or a larger
    /// one.
    pub fn load_varying<S, F, E>(
        &mut self,
        samples: &[SampleIndex],
        mut shapes: S,
        fill: F,
    ) -> Result<(), StoreError>
    where
        S: FnMut(SampleIndex) -> Result<Vec<Vec<usize>>, E>,
        F: Fn(SampleIndex, &mut [&mut [u8]]) -> Result<(), E> + Sync,
        E: Into<FillError>,
    {
        let placement = self.place(samples)?;
        let mut all = Vec::with_capacity(placement.len());
        for &index in &placement.distinct {
            let of_sample =
                shapes(index).map_err(|error| StoreError::Fill { index, source: error.into() })?;
            self.check_shapes(index, &of_sample)?;
            all.push(of_sample);
        }
        for &index in &placement.copies {
            all.push(all[placement.position(index)].clone());
        }
        let items = self.inputs.iter().enumerate().map(|(number, input)| {
            Items::uneven(
                all.iter().map(|shapes| input.element_type.bytes_of(shapes[number].iter().product())),
            )
        });
        let buffers = self.allocate(items.collect(), &placement)?;
        self.fill(samples, LoadedSet { list: Vec::new(), placement, buffers, shapes: all }, fill)
    }

    /// Fills the buffers of a set, which then is the loaded one.
    fn fill<F, E>(&mut self, samples: &[SampleIndex], mut set: LoadedSet, fill: F) -> Result<(), StoreError>
    where
        F: Fn(SampleIndex, &mut [&mut [u8]]) -> Result<(), E> + Sync,
        E: Into<FillError>,
    {
        let LoadedSet { placement, buffers, .. } = &mut set;
        let distinct = &placement.distinct;
        let mut rooms: Vec<Vec<_>> = distinct.iter().map(|_| Vec::with_capacity(buffers.len())).collect();
        for buffer in buffers.iter_mut() {
            for (room, item) in rooms.iter_mut().zip(buffer.items_mut(distinct.len())) {
                room.push(item);
            }
        }
        fill_all(distinct, rooms, |index, tensors| fill(index, tensors).map_err(Into::into))?;
        for buffer in buffers.iter_mut() {
            for (number, &index) in placement.copies.iter().enumerate() {
                buffer.copy(placement.position(index), distinct.len() + number);
            }
            buffer.finish().map_err(StoreError::Memory)?;
        }
        set.list = samples.to_vec();
        set.list.sort_unstable();
        self.loaded = Some(set);
        Ok(())
    }

    fn check_shapes(&self, index: SampleIndex, shapes: &[Vec<usize>]) -> Result<(), StoreError> {
        for (number, input) in self.inputs.iter().enumerate() {
            let shape = shapes.get(number).cloned().unwrap_or_default();
            let fits = shape.len() == input.shape.len()
                && shape.iter().zip(&input.shape).all(|(extent, most)| extent <= most);
            if !fits {
                return Err(StoreError::Shape { index, input: input.clone(), shape });
            }
        }
        Ok(())
    }

    /// Releases the loaded set and its memory; `samples` is the list that was loaded, in any order.
    ///
    /// # Errors
    /// [`StoreError::NotLoaded`] or [`StoreError::StillLoaded`] for the first difference; the set stays loaded.
    pub fn unload(&mut self, samples: &[SampleIndex]) -> Result<(), StoreError> {
        let loaded = self.loaded.as_ref().map(|set| set.list.as_slice()).unwrap_or_default();
        let mut list = samples.to_vec();
        list.sort_unstable();
        for position in 0..list.len().max(loaded.len()) {
            match (list.get(position), loaded.get(position)) {
                (Some(index), None) => return Err(StoreError::NotLoaded(*index)),
                (None, Some(index)) => return Err(StoreError::StillLoaded(*index)),
                (Some(index), Some(other)) if index < other => return Err(StoreError::NotLoaded(*index)),
                (Some(index), Some(other)) if index > other => return Err(StoreError::StillLoaded(*other)),
                _ => {}
            }
        }
        self.loaded = None;
        Ok(())
    }

    /// Returns input `number` of a loaded sample: row-major, contiguous, aligned to
    /// [`ALIGNMENT_BYTES`](crate::ALIGNMENT_BYTES). A few array look-ups and no allocation. [any thread]
    ///
    /// # Errors
    /// [`StoreError::NoSuchInput`] or [`StoreError::NotLoaded`].
    pub fn tensor(&self, index: SampleIndex, number: usize) -> Result<&[u8], StoreError> {
        let (set, position) = self.find(index, number)?;
        Ok(set.buffers[number].item(position))
    }

    /// Returns the extents of input `number` of a loaded sample. [any thread]
    ///
    /// # Errors
    /// [`StoreError::NoSuchInput`] or [`StoreError::NotLoaded`].
    pub fn shape(&self, index: SampleIndex, number: usize) -> Result<&[usize], StoreError> {
        let (set, position) = self.find(index, number)?;
        Ok(set.shapes.get(position).map_or(&self.inputs[number].shape, |shapes| &shapes[number]))
    }

    /// Returns the loaded set, and the position of a sample there.
    fn find(&self, index: SampleIndex, number: usize) -> Result<(&LoadedSet, usize), StoreError> {
        let input_count = self.inputs.len();
        if number >= input_count {
            return Err(StoreError::NoSuchInput { number, input_count });
        }
        let set = self.loaded.as_ref().ok_or(StoreError::NotLoaded(index))?;
        let position = usize::try_from(index.0).ok().and_then(|index| set.placement.positions.get(index));
        match position {
            Some(&position) if position != ABSENT => Ok((set, position as usize)),
            _ => Err(StoreError::NotLoaded(index)),
        }
    }

    /// Returns the samples that lie in memory once more, in this order, behind the last different sample of the list;
    /// empty if the list repeats nothing at its end.
    #[must_use]
    pub fn copies(&self) -> &[SampleIndex] {
        self.loaded.as_ref().map(|set| set.placement.copies.as_slice()).unwrap_or_default()
    }

    /// Returns input `number` of one of the [`copies`](Self::copies), by its position among them; `None` if the copy or
    /// input does not exist.
    #[must_use]
    pub fn tensor_of_copy(&self, position: usize, number: usize) -> Option<&[u8]> {
        let set = self.loaded.as_ref().filter(|set| position < set.placement.copies.len())?;
        Some(set.buffers.get(number)?.item(set.placement.distinct.len() + position))
    }

    /// Returns the memory of each input, whole, for plugins that register or pin it; nothing while no set is loaded.
    pub fn buffers(&self) -> impl Iterator<Item = &[u8]> {
        self.loaded.iter().flat_map(|set| set.buffers.iter().map(ItemBuffer::as_bytes))
    }

    /// Gives each different sample of the list its position, in the order of first appearance, and then those that the
    /// list repeats at its end.
    fn place(&self, samples: &[SampleIndex]) -> Result<Placement, StoreError> {
        if let Some(set) = &self.loaded {
            return Err(StoreError::AlreadyLoaded { loaded_count: set.list.len() });
        }
        let highest = samples.iter().max();
        if let Some(&index) = highest.filter(|index| index.0 >= self.sample_count) {
            return Err(StoreError::NoSuchSample { index, sample_count: self.sample_count });
        }
        let mut distinct = Vec::new();
        let mut positions = vec![ABSENT; highest.map_or(0, |index| index.0 as usize + 1)];
        let mut copies: &[SampleIndex] = &[];
        for (number, &index) in samples.iter().enumerate() {
            let position = &mut positions[index.0 as usize];
            if *position == ABSENT {
                *position = u32::try_from(distinct.len()).unwrap_or(ABSENT);
                distinct.push(index);
                copies = &samples[number + 1..];
            }
        }
        Ok(Placement { positions, distinct, copies: copies.to_vec() })
    }

    /// Returns the memory for the items of each input, `None` standing for those that no memory can hold.
    fn allocate(
        &self,
        items: Vec<Option<Items>>,
        placement: &Placement,
    ) -> Result<Vec<ItemBuffer>, StoreError> {
        let sizes = items.iter().map(|items| items.as_ref().and_then(Items::total_bytes));
        let needed_bytes =
            sizes.fold(0, |sum: u64, size| sum.saturating_add(size.map_or(u64::MAX, |size| size as u64)));
        if needed_bytes > self.limit_bytes || placement.len() >= ABSENT as usize {
            return Err(StoreError::TooLarge {
                distinct_count: placement.distinct.len(),
                copy_count: placement.copies.len(),
                needed_bytes,
                limit_bytes: self.limit_bytes,
            });
        }
        let allocate = |items: Option<Items>| {
            let items = items.ok_or_else(|| FillError::from("no memory is as large"))?;
            ItemBuffer::allocate(&*self.memory, items)
        };
        items.into_iter().map(allocate).collect::<Result<_, _>>().map_err(StoreError::Memory)
    }
}

/// Fills the slots of samples on as many threads as there are processors.
///
/// # Errors
/// Returns the error of the first sample in the list that cannot be filled. Samples are started in the order of the
/// list, and none is started once an error is known.
fn fill_all(
    samples: &[SampleIndex],
    rooms: Vec<Vec<&mut [u8]>>,
    fill: impl Fn(SampleIndex, &mut [&mut [u8]]) -> Result<(), FillError> + Sync,
) -> Result<(), StoreError> {
    let thread_count = thread::available_parallelism().map_or(1, NonZero::get).min(samples.len());
    let left = Mutex::new(samples.iter().zip(rooms).enumerate());
    let failed = Mutex::new(None::<(usize, StoreError)>);
    let work = || {
        while failed.lock().is_none() {
            let Some((position, (&index, mut tensors))) = left.lock().next() else { return };
            if let Err(source) = fill(index, &mut tensors) {
                let mut failed = failed.lock();
                if failed.as_ref().is_none_or(|(first, _)| position < *first) {
                    *failed = Some((position, StoreError::Fill { index, source }));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..thread_count {
            scope.spawn(work);
        }
        work();
    });
    failed.into_inner().map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests;
