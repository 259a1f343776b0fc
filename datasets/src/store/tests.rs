//! A store of samples: where they lie, and what it refuses.

use std::convert::Infallible;

use proctor_vocabulary::ElementType;
use proptest::prelude::*;

use super::memory::ALIGNMENT_BYTES;
use super::*;

/// Two inputs of 12 and 3 bytes; both are filled with the index.
fn store(limit_bytes: u64) -> SampleStore {
    let input =
        |name: &str, element_type, count| TensorSpec { name: name.into(), element_type, shape: vec![count] };
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
fn a_sample_listed_twice_is_prepared_once() {
    let (mut store, filled) = (store(1 << 20), Mutex::new(Vec::new()));
    let set = indices(&[5, 9, 5]);
    store
        .load(&set, |index, tensors| {
            filled.lock().push(index);
            fill(index, tensors)
        })
        .unwrap();
    let mut filled = filled.into_inner();
    filled.sort_unstable();
    assert_eq!(filled, indices(&[5, 9]));
    assert_eq!(store.buffers().map(<[u8]>::len).collect::<Vec<_>>(), [4096, 4096]);
    store.unload(&indices(&[9, 5, 5])).unwrap();
    assert_eq!(store.buffers().count(), 0);
}

/// Addresses of input `number` of each entry of a list that repeats its first samples at its end.
fn addresses(store: &SampleStore, list: &[SampleIndex], number: usize) -> Vec<usize> {
    let count = list.len() - store.copies().len();
    let first = list[..count].iter().map(|index| store.tensor(*index, number).unwrap());
    let copies = (0..store.copies().len()).map(|copy| store.tensor_of_copy(copy, number).unwrap());
    first.chain(copies).map(|tensor| tensor.as_ptr() as usize).collect()
}

#[test]
fn neighbours_of_a_list_that_begins_again_are_neighbours_in_memory() {
    for list in [&[7, 3, 9, 7, 3][..], &[4, 4, 4, 4], &[1, 0, 1, 0, 1], &[2, 8]] {
        let (mut store, list) = (store(1 << 20), indices(list));
        store.load(&list, fill).unwrap();
        for number in [0, 1] {
            let addresses = addresses(&store, &list, number);
            assert!(addresses.windows(2).all(|pair| pair[1] == pair[0] + ALIGNMENT_BYTES), "{list:?}");
        }
        for (position, index) in store.copies().iter().enumerate() {
            for number in [0, 1] {
                let tensor = store.tensor_of_copy(position, number).unwrap();
                assert_eq!(tensor, store.tensor(*index, number).unwrap());
            }
        }
        assert!(store.tensor_of_copy(store.copies().len(), 0).is_none());
        assert!(store.tensor_of_copy(0, 2).is_none());
    }
    // Samples repeated in the middle have no neighbours of their own.
    let mut store = store(1 << 20);
    assert!(store.copies().is_empty());
    store.load(&indices(&[5, 6, 5, 7]), fill).unwrap();
    assert!(store.copies().is_empty());
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
    assert_eq!(
        error.unwrap_err().to_string(),
        "3 samples need 384 bytes of memory, but 300 are allowed; set performance_sample_count_override = 2 or less"
    );
    let copies = store.load(&indices(&[0, 1, 0]), fill).unwrap_err().to_string();
    assert_eq!(
        copies,
        "2 samples, and copies of 1 of them for queries that wrap around, need 384 bytes of memory, but 300 are \
         allowed; set performance_sample_count_override = 1 or less"
    );
    let more = store.load(&indices(&[0, 0, 0]), fill).unwrap_err().to_string();
    assert!(more.ends_with("; lower multi_stream_samples_per_query"), "{more}");
    store.load(&indices(&[0, 1]), fill).unwrap();
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
    assert_eq!(store.copies(), indices(&[3]));
    assert_eq!(store.tensor_of_copy(0, 0).unwrap(), [3; 12]);
    let [.., last, copy] = addresses(&store, &set, 0)[..] else { panic!("there are four") };
    assert_eq!(copy, last + ALIGNMENT_BYTES);
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
