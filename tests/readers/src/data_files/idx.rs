//! Files of data sets in the format IDX.

use proctor_datasets::IdxArray;

use crate::memory::bounded;

/// The file itself, which the array keeps.
const MEMORY_FACTOR: u64 = 2;

/// The ranks that data sets here have: labels, and images.
const RANKS: [usize; 2] = [1, 3];

/// Checks the reader of IDX files: header and elements, joined again, are the file.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_idx(data: &[u8]) {
    for rank in RANKS {
        match bounded(data.len(), MEMORY_FACTOR, || IdxArray::parse(data.to_vec(), rank)) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(array) => {
                assert_eq!(array.shape().len(), rank);
                let mut written = vec![0, 0, 8, u8::try_from(rank).expect("a rank that is tried")];
                for extent in array.shape() {
                    written.extend(u32::try_from(*extent).expect("an extent has 32 bits").to_be_bytes());
                }
                written.extend(array.elements());
                assert_eq!(written, data);
                check_items(&array);
            }
        }
    }
}

/// Checks that the items, one after another, are the elements.
fn check_items(array: &IdxArray) {
    assert_eq!(array.item(array.item_count()), None);
    if array.elements().is_empty() {
        return;
    }
    let items: Vec<u8> = (0..array.item_count())
        .flat_map(|number| array.item(number).expect("a number below the count").to_vec())
        .collect();
    assert_eq!(items, array.elements());
}
