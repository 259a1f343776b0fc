//! Preprocessed samples in RAM: what a query sample library loads and a plugin reads.

use std::{
    num::NonZero,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use proctor_vocabulary::{SampleIndex, TensorSpec};

use crate::memory::{ItemBuffer, Items, OwnMemory, SampleMemory};

/// Why one sample could not be made ready.
pub type FillError = Box<dyn std::error::Error + Send + Sync>;

/// The loaded samples of one data set, as the tensors that a model takes.
///
/// One buffer for each input, of whole pages, holds the loaded samples one after the other, each starting at a multiple
/// of [`ALIGNMENT_BYTES`](crate::ALIGNMENT_BYTES). Between a load and its unload no byte of a buffer changes or moves,
/// so that a plugin may pin them.
///
/// LoadGen loads one set, runs it and unloads it, so a store holds one set at a time, and an unload must give the list
/// of the load again. A sample that is listed twice is stored once.
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
    /// As it was given, sorted.
    list: Vec<SampleIndex>,
    /// Position in the buffers by sample index; [`ABSENT`] if not loaded. Looked up in the timed part, hence flat.
    positions: Vec<u32>,
    /// One for each input.
    buffers: Vec<ItemBuffer>,
    /// Shapes of the inputs of each sample by its position; none if they are those of the store.
    shapes: Vec<Vec<Vec<usize>>>,
}

const ABSENT: u32 = u32::MAX;

/// Why samples could not be loaded, unloaded or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A set is still loaded.
    #[error("a set of {loaded_count} samples is still loaded; unload it before the next")]
    AlreadyLoaded {
        /// Length of the list that was loaded.
        loaded_count: usize,
    },
    /// The sample is not loaded, or less often than it is to be unloaded.
    #[error("sample {0} is not loaded")]
    NotLoaded(SampleIndex),
    /// The sample was loaded more often than it is to be unloaded.
    #[error("sample {0} is loaded, but missing from the list to unload; give the list of the load again")]
    StillLoaded(SampleIndex),
    /// The index is past the end of the data set.
    #[error("there is no sample {index}: the data set has {sample_count} samples, counted from 0")]
    NoSuchSample {
        /// The index.
        index: SampleIndex,
        /// Number of samples of the data set.
        sample_count: u64,
    },
    /// The model has no such input.
    #[error("there is no input {number}: the model has {input_count} inputs, counted from 0")]
    NoSuchInput {
        /// Position of the input.
        number: usize,
        /// Number of inputs.
        input_count: usize,
    },
    /// The set does not fit into memory.
    #[error(
        "{distinct_count} samples need {needed_bytes} bytes of memory, but {limit_bytes} are allowed; \
         lower the performance sample count of the benchmark"
    )]
    TooLarge {
        /// Number of different samples in the list.
        distinct_count: usize,
        /// Memory needed; saturated at the largest number.
        needed_bytes: u64,
        /// Memory allowed.
        limit_bytes: u64,
    },
    /// A sample does not have the shape that its input may have.
    #[error(
        "input \"{}\" of sample {index} has the shape {shape:?}, which does not fit into the benchmark's {:?}; raise the \
         shape in its definition", input.name, input.shape
    )]
    Shape {
        /// The sample.
        index: SampleIndex,
        /// The input.
        input: TensorSpec,
        /// The shape of the sample; of all inputs if there are not as many as the model has.
        shape: Vec<usize>,
    },
    /// There is no memory for the samples, or it cannot be used.
    #[error("there is no memory for the samples: {0}")]
    Memory(FillError),
    /// Another program that was to make the samples ready failed, and has said at which.
    #[error("they could not be prepared")]
    Prepare(#[source] FillError),
    /// Reading or preprocessing a sample failed.
    #[error("sample {index} could not be prepared")]
    Fill {
        /// The sample.
        index: SampleIndex,
        /// The error.
        source: FillError,
    },
}

impl SampleStore {
    /// An empty store for samples of a data set of `sample_count`, as tensors `inputs`, in at most `limit_bytes`. Of
    /// inputs that vary these are the largest shapes.
    #[must_use]
    pub fn new(inputs: Vec<TensorSpec>, sample_count: u64, limit_bytes: u64) -> Self {
        Self { inputs, sample_count, limit_bytes, memory: Box::new(OwnMemory), loaded: None }
    }

    /// The store with other memory for its samples.
    #[must_use]
    pub fn with_memory(self, memory: Box<dyn SampleMemory>) -> Self {
        Self { memory, ..self }
    }

    /// The tensors of one sample, in the order of their numbers.
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
        let (positions, distinct) = self.place(samples)?;
        let count = distinct.len();
        let items =
            self.inputs.iter().map(|input| Some(Items::Even { size_bytes: input.size_bytes(), count }));
        let buffers = self.allocate(items.collect(), count)?;
        self.fill(
            samples,
            &distinct,
            LoadedSet { list: Vec::new(), positions, buffers, shapes: Vec::new() },
            fill,
        )
    }

    /// Loads a set of samples as [`load`](Self::load) does, each of which has shapes of its own: `shapes` tells those
    /// of its inputs, and is asked before anything is filled.
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
        let (positions, distinct) = self.place(samples)?;
        let mut all = Vec::with_capacity(distinct.len());
        for &index in &distinct {
            let of_sample =
                shapes(index).map_err(|error| StoreError::Fill { index, source: error.into() })?;
            self.check_shapes(index, &of_sample)?;
            all.push(of_sample);
        }
        let items = self.inputs.iter().enumerate().map(|(number, input)| {
            Items::uneven(
                all.iter().map(|shapes| input.element_type.bytes_of(shapes[number].iter().product())),
            )
        });
        let buffers = self.allocate(items.collect(), distinct.len())?;
        self.fill(samples, &distinct, LoadedSet { list: Vec::new(), positions, buffers, shapes: all }, fill)
    }

    /// Fills the buffers of a set, which then is the loaded one.
    fn fill<F, E>(
        &mut self,
        samples: &[SampleIndex],
        distinct: &[SampleIndex],
        mut set: LoadedSet,
        fill: F,
    ) -> Result<(), StoreError>
    where
        F: Fn(SampleIndex, &mut [&mut [u8]]) -> Result<(), E> + Sync,
        E: Into<FillError>,
    {
        let mut rooms: Vec<Vec<_>> = distinct.iter().map(|_| Vec::with_capacity(set.buffers.len())).collect();
        for buffer in &mut set.buffers {
            for (room, item) in rooms.iter_mut().zip(buffer.items_mut(distinct.len())) {
                room.push(item);
            }
        }
        fill_all(distinct, rooms, |index, tensors| fill(index, tensors).map_err(Into::into))?;
        set.buffers.iter_mut().try_for_each(ItemBuffer::finish).map_err(StoreError::Memory)?;
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

    /// Extents of input `number` of a loaded sample. [any thread]
    ///
    /// # Errors
    /// [`StoreError::NoSuchInput`] or [`StoreError::NotLoaded`].
    pub fn shape(&self, index: SampleIndex, number: usize) -> Result<&[usize], StoreError> {
        let (set, position) = self.find(index, number)?;
        Ok(set.shapes.get(position).map_or(&self.inputs[number].shape, |shapes| &shapes[number]))
    }

    /// The loaded set, and the position of a sample there.
    fn find(&self, index: SampleIndex, number: usize) -> Result<(&LoadedSet, usize), StoreError> {
        let input_count = self.inputs.len();
        if number >= input_count {
            return Err(StoreError::NoSuchInput { number, input_count });
        }
        let set = self.loaded.as_ref().ok_or(StoreError::NotLoaded(index))?;
        let position = usize::try_from(index.0).ok().and_then(|index| set.positions.get(index));
        match position {
            Some(&position) if position != ABSENT => Ok((set, position as usize)),
            _ => Err(StoreError::NotLoaded(index)),
        }
    }

    /// The memory of each input, whole, for plugins that register or pin it; nothing while no set is loaded.
    pub fn buffers(&self) -> impl Iterator<Item = &[u8]> {
        self.loaded.iter().flat_map(|set| set.buffers.iter().map(ItemBuffer::as_bytes))
    }

    /// Gives each different sample of the list its position, in the order of first appearance.
    fn place(&self, samples: &[SampleIndex]) -> Result<(Vec<u32>, Vec<SampleIndex>), StoreError> {
        if let Some(set) = &self.loaded {
            return Err(StoreError::AlreadyLoaded { loaded_count: set.list.len() });
        }
        let highest = samples.iter().max();
        if let Some(&index) = highest.filter(|index| index.0 >= self.sample_count) {
            return Err(StoreError::NoSuchSample { index, sample_count: self.sample_count });
        }
        let mut distinct = Vec::new();
        let mut positions = vec![ABSENT; highest.map_or(0, |index| index.0 as usize + 1)];
        for &index in samples {
            let position = &mut positions[index.0 as usize];
            if *position == ABSENT {
                *position = u32::try_from(distinct.len()).unwrap_or(ABSENT);
                distinct.push(index);
            }
        }
        Ok((positions, distinct))
    }

    /// Memory for the items of each input, `None` standing for those that no memory can hold.
    fn allocate(
        &self,
        items: Vec<Option<Items>>,
        distinct_count: usize,
    ) -> Result<Vec<ItemBuffer>, StoreError> {
        let sizes = items.iter().map(|items| items.as_ref().and_then(Items::total_bytes));
        let needed_bytes =
            sizes.fold(0, |sum: u64, size| sum.saturating_add(size.map_or(u64::MAX, |size| size as u64)));
        if needed_bytes > self.limit_bytes || distinct_count >= ABSENT as usize {
            let limit_bytes = self.limit_bytes;
            return Err(StoreError::TooLarge { distinct_count, needed_bytes, limit_bytes });
        }
        let allocate = |items: Option<Items>| {
            let items = items.ok_or_else(|| FillError::from("no memory is as large"))?;
            ItemBuffer::allocate(&*self.memory, items)
        };
        items.into_iter().map(allocate).collect::<Result<_, _>>().map_err(StoreError::Memory)
    }
}

/// Fills the rooms of samples on as many threads as there are processors.
///
/// # Errors
/// The first sample of the list that cannot be filled. Those before it have been begun, as they are taken in their
/// order; none is begun once it is known.
fn fill_all(
    samples: &[SampleIndex],
    rooms: Vec<Vec<&mut [u8]>>,
    fill: impl Fn(SampleIndex, &mut [&mut [u8]]) -> Result<(), FillError> + Sync,
) -> Result<(), StoreError> {
    let thread_count = thread::available_parallelism().map_or(1, NonZero::get).min(samples.len());
    let left = Mutex::new(samples.iter().zip(rooms).enumerate());
    let failed = Mutex::new(None::<(usize, StoreError)>);
    let work = || {
        while lock(&failed).is_none() {
            let Some((position, (&index, mut tensors))) = lock(&left).next() else { return };
            if let Err(source) = fill(index, &mut tensors) {
                let mut failed = lock(&failed);
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
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proctor_vocabulary::ElementType;
    use proptest::prelude::*;

    use super::*;
    use crate::memory::ALIGNMENT_BYTES;

    /// Two inputs of 12 and 3 bytes; both are filled with the index.
    fn store(limit_bytes: u64) -> SampleStore {
        let input = |name: &str, element_type, count| TensorSpec {
            name: name.into(),
            element_type,
            shape: vec![count],
        };
        let inputs = vec![input("a", ElementType::F32, 3), input("b", ElementType::U8, 3)];
        SampleStore::new(inputs, 200, limit_bytes)
    }

    fn fill(index: SampleIndex, tensors: &mut [&mut [u8]]) -> Result<(), Infallible> {
        assert_eq!(tensors.iter().map(|tensor| tensor.len()).collect::<Vec<_>>(), [12, 3]);
        tensors.iter_mut().for_each(|tensor| tensor.fill(index.0 as u8));
        Ok(())
    }

    fn indices(list: &[u64]) -> Vec<SampleIndex> {
        list.iter().copied().map(SampleIndex).collect()
    }

    #[test]
    fn a_sample_listed_twice_is_prepared_and_stored_once() {
        let (mut store, filled) = (store(1 << 20), Mutex::new(Vec::new()));
        let set = indices(&[5, 9, 5]);
        store
            .load(&set, |index, tensors| {
                lock(&filled).push(index);
                fill(index, tensors)
            })
            .unwrap();
        let mut filled = filled.into_inner().unwrap();
        filled.sort_unstable();
        assert_eq!(filled, indices(&[5, 9]));
        assert_eq!(store.buffers().map(<[u8]>::len).collect::<Vec<_>>(), [4096, 4096]);
        store.unload(&indices(&[9, 5, 5])).unwrap();
        assert_eq!(store.buffers().count(), 0);
    }

    #[test]
    fn a_second_load_is_refused_and_the_first_stays() {
        let mut store = store(1 << 20);
        store.load(&indices(&[1]), fill).unwrap();
        let error = store.load(&indices(&[2]), fill).unwrap_err().to_string();
        assert_eq!(error, "a set of 1 samples is still loaded; unload it before the next");
        assert_eq!(store.tensor(SampleIndex(1), 1).unwrap(), [1, 1, 1]);
    }

    #[test]
    fn an_unload_must_give_the_list_of_the_load() {
        let mut store = store(1 << 20);
        let error = store.unload(&indices(&[3])).unwrap_err().to_string();
        assert_eq!(error, "sample 3 is not loaded");
        store.load(&indices(&[4, 2, 4]), fill).unwrap();
        for (list, expected) in [
            (vec![2, 4], "sample 4 is loaded, but"),
            (vec![2, 4, 4, 4], "sample 4 is not loaded"),
            (vec![2, 3, 4], "sample 3 is not loaded"),
            (vec![], "sample 2 is loaded, but"),
        ] {
            let error = store.unload(&indices(&list)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{list:?}: {error}");
        }
        store.unload(&indices(&[2, 4, 4])).unwrap();
    }

    #[test]
    fn what_is_not_there_cannot_be_read() {
        let mut store = store(1 << 20);
        assert!(matches!(store.tensor(SampleIndex(0), 0), Err(StoreError::NotLoaded(_))));
        store.load(&indices(&[3]), fill).unwrap();
        for index in [0, 4, u64::MAX] {
            assert!(matches!(store.tensor(SampleIndex(index), 0), Err(StoreError::NotLoaded(_))));
        }
        assert!(matches!(store.tensor(SampleIndex(3), 2), Err(StoreError::NoSuchInput { .. })));
    }

    #[test]
    fn a_set_that_does_not_fit_is_refused_before_anything_is_prepared() {
        let mut store = store(300);
        let error = store.load(&indices(&[0, 1, 2]), |_, _| -> Result<(), Infallible> { unreachable!() });
        let expected = "3 samples need 384 bytes of memory, but 300 are allowed";
        assert!(error.unwrap_err().to_string().starts_with(expected));
        store.load(&indices(&[0, 1, 0]), fill).unwrap();
    }

    #[test]
    fn samples_of_different_shapes_lie_one_after_the_other() {
        let mut store = store(1 << 20);
        let shapes = |index: SampleIndex| Ok::<_, Infallible>(vec![vec![index.0 as usize], vec![2]]);
        let fill = |index: SampleIndex, tensors: &mut [&mut [u8]]| {
            assert_eq!([tensors[0].len(), tensors[1].len()], [4 * index.0 as usize, 2]);
            tensors.iter_mut().for_each(|tensor| tensor.fill(index.0 as u8));
            Ok(())
        };
        let set = indices(&[3, 0, 2, 3]);
        store.load_varying(&set, shapes, fill).unwrap();
        for index in [0, 2, 3] {
            let (shape, tensor) = (store.shape(SampleIndex(index), 0), store.tensor(SampleIndex(index), 0));
            assert_eq!(shape.unwrap(), [index as usize]);
            assert_eq!(tensor.unwrap(), vec![index as u8; 4 * index as usize]);
            assert_eq!(store.shape(SampleIndex(index), 1).unwrap(), [2]);
        }
        assert!(matches!(store.shape(SampleIndex(1), 0), Err(StoreError::NotLoaded(_))));
        store.unload(&set).unwrap();

        let error = store.load_varying(&indices(&[1, 4]), shapes, fill).unwrap_err().to_string();
        let expected =
            "input \"a\" of sample 4 has the shape [4], which does not fit into the benchmark's [3]; raise";
        assert!(error.starts_with(expected), "{error}");
        let flat = |_: SampleIndex| Ok::<_, Infallible>(vec![vec![1, 1], vec![2]]);
        assert!(matches!(store.load_varying(&indices(&[1]), flat, fill), Err(StoreError::Shape { .. })));
        let few = |_: SampleIndex| Ok::<_, Infallible>(vec![vec![1]]);
        assert!(matches!(store.load_varying(&indices(&[1]), few, fill), Err(StoreError::Shape { .. })));
        let torn = |_: SampleIndex| Err("torn");
        let filled = |_: SampleIndex, _: &mut [&mut [u8]]| unreachable!();
        assert!(matches!(store.load_varying(&indices(&[1]), torn, filled), Err(StoreError::Fill { .. })));
        store.load(&indices(&[1]), super::tests::fill).unwrap();
        assert_eq!(store.shape(SampleIndex(1), 0).unwrap(), [3]);
    }

    #[test]
    fn an_absurd_tensor_is_refused_without_overflow() {
        let huge = TensorSpec { name: "a".into(), element_type: ElementType::U8, shape: vec![1 << 62] };
        let mut store = SampleStore::new(vec![huge], 8, u64::MAX);
        let error = store.load(&indices(&[0, 1, 2, 3, 4, 5]), fill).unwrap_err();
        assert!(matches!(error, StoreError::Memory(_)), "{error}");
    }

    #[test]
    fn an_index_past_the_end_or_a_failing_sample_loads_nothing() {
        let mut store = store(1 << 20);
        for index in [200, u64::MAX] {
            let error = store.load(&indices(&[0, index]), fill).unwrap_err();
            assert!(matches!(error, StoreError::NoSuchSample { sample_count: 200, .. }));
        }
        let error = store.load(&indices(&[0, 1]), |_, _| Err("torn")).unwrap_err();
        assert!(
            matches!(&error, StoreError::Fill { index: SampleIndex(0), source } if source.to_string() == "torn")
        );
        // Whichever thread is first.
        for _ in 0..100 {
            let error = store.load(&(0..50).map(SampleIndex).collect::<Vec<_>>(), |index, tensors| {
                if index.0 % 7 == 3 { Err("torn") } else { fill(index, tensors).map_err(|_| "never") }
            });
            assert!(matches!(error, Err(StoreError::Fill { index: SampleIndex(3), .. })), "{error:?}");
        }
        assert!(matches!(store.unload(&indices(&[0])), Err(StoreError::NotLoaded(_))));
        store.unload(&[]).unwrap();
    }

    proptest! {
        #[test]
        fn every_loaded_sample_is_aligned_right_and_stays_in_place(list in prop::collection::vec(0_u64..200, 0..60)) {
            let (mut store, set) = (store(1 << 20), indices(&list));
            store.load(&set, fill).unwrap();
            let addresses = |store: &SampleStore| -> Vec<usize> {
                set.iter().map(|index| store.tensor(*index, 0).unwrap().as_ptr() as usize).collect()
            };
            let before = addresses(&store);
            for index in 0..200 {
                for (number, size) in [(0, 12), (1, 3)] {
                    match store.tensor(SampleIndex(index), number) {
                        Ok(tensor) => {
                            prop_assert!(list.contains(&index));
                            prop_assert_eq!(tensor, vec![index as u8; size]);
                            prop_assert_eq!(tensor.as_ptr().align_offset(ALIGNMENT_BYTES), 0);
                        }
                        Err(_) => prop_assert!(!list.contains(&index)),
                    }
                }
            }
            let moved = store;
            prop_assert_eq!(addresses(&moved), before);
        }
    }
}
