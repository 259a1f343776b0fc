//! Checkpoints of PyTorch that hold tensors.

use proctor_model_files::{Checkpoint, TorchError};

use crate::pickles::{Saved, old_around, old_form, table, zip_form};

fn both_forms(tensors: &[Saved]) -> [Vec<u8>; 2] {
    [old_form(tensors), zip_form(tensors)]
}

/// Reads one tensor of a file in each form; both must agree.
fn read(tensors: &[Saved], name: &str, shape: &[usize]) -> Result<Vec<f32>, TorchError> {
    let [old, zip] = both_forms(tensors).map(|file| Checkpoint::parse(&file)?.reals(name, shape));
    assert_eq!(old, zip);
    old
}

#[test]
fn both_forms_hold_the_same_tensors() {
    let tensors = [
        Saved::of_f32("first.weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        Saved::of_f32("first.bias", &[2], &[0.5, -0.5]),
    ];
    for file in both_forms(&tensors) {
        let checkpoint = Checkpoint::parse(&file).unwrap();
        let shapes: Vec<_> = checkpoint.shapes().collect();
        assert_eq!(shapes, [("first.weight", &[2, 3][..]), ("first.bias", &[2])]);
        assert_eq!(checkpoint.reals("first.weight", &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(checkpoint.reals("first.bias", &[2]).unwrap(), [0.5, -0.5]);
    }
}

#[test]
fn a_tensor_that_is_there_twice_is_refused() {
    let twice = [Saved::of_f32("x", &[1], &[1.0]), Saved::of_f32("x", &[1], &[2.0])];
    let error = read(&twice, "x", &[1]).unwrap_err().to_string();
    assert_eq!(error, "tensor \"x\" of the checkpoint is there twice");
}

#[test]
fn smaller_and_larger_reals_become_f32_and_integers_are_refused() {
    let saved = |storage, element_bytes, bytes: &[u8]| Saved {
        storage,
        element_bytes,
        bytes: bytes.to_vec(),
        ..Saved::of_f32("x", &[2], &[])
    };
    let halves = [0x00, 0x3c, 0x00, 0xc0];
    assert_eq!(read(&[saved("HalfStorage", 2, &halves)], "x", &[2]), Ok(vec![1.0, -2.0]));
    let upper_halves = [0x80, 0x3f, 0x00, 0xc0];
    assert_eq!(read(&[saved("BFloat16Storage", 2, &upper_halves)], "x", &[2]), Ok(vec![1.0, -2.0]));
    let doubles = [1.0_f64.to_le_bytes(), (-2.0_f64).to_le_bytes()].concat();
    assert_eq!(read(&[saved("DoubleStorage", 8, &doubles)], "x", &[2]), Ok(vec![1.0, -2.0]));
    let error = read(&[saved("LongStorage", 8, &[0; 16])], "x", &[2]).unwrap_err();
    assert_eq!(error.to_string(), "tensor \"x\" of the checkpoint holds i64, which are no real numbers");
}

#[test]
fn a_part_of_a_storage_is_read_in_the_order_of_its_axes() {
    // Columns of a matrix of three columns, without the first row.
    let turned = Saved { shape: vec![3, 1], strides: vec![1, 3], offset: 3, ..matrix() };
    assert_eq!(read(&[turned], "x", &[3, 1]), Ok(vec![4.0, 5.0, 6.0]));
    let transposed = Saved { shape: vec![3, 2], strides: vec![1, 3], ..matrix() };
    assert_eq!(read(&[transposed], "x", &[3, 2]), Ok(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let single = Saved { shape: vec![], strides: vec![], offset: 5, ..matrix() };
    assert_eq!(read(&[single], "x", &[]), Ok(vec![6.0]));
    let empty = Saved { shape: vec![0, 3], strides: vec![3, 1], ..matrix() };
    assert_eq!(read(&[empty], "x", &[0, 3]), Ok(vec![]));
}

fn matrix() -> Saved {
    Saved::of_f32("x", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

#[test]
fn a_tensor_lies_in_its_storage() {
    for (shape, strides, offset) in [
        (vec![2, 3], vec![3, 1], 1),
        (vec![7], vec![1], 0),
        (vec![2, 3], vec![u32::MAX >> 1, 1], 0),
        // As many values as one likes, of one.
        (vec![1 << 30, 1 << 30], vec![0, 0], 0),
    ] {
        let wanted: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
        let saved = Saved { shape, strides, offset, ..matrix() };
        let error = read(&[saved], "x", &wanted).unwrap_err();
        assert_eq!(error.to_string(), "tensor \"x\" of the checkpoint reaches beyond its storage");
    }
}

#[test]
fn a_tensor_has_a_few_dimensions() {
    let of_rank = |rank| Saved { shape: vec![1; rank], strides: vec![0; rank], ..matrix() };
    assert_eq!(read(&[of_rank(32)], "x", &[1; 32]), Ok(vec![1.0]));
    let error = Checkpoint::parse(&zip_form(&[of_rank(33)])).unwrap_err();
    assert!(error.to_string().ends_with("a call makes neither a dict nor a tensor"), "{error}");
}

#[test]
fn another_network_is_named_by_the_first_tensor_that_differs() {
    let error = read(&[matrix()], "y", &[2]).unwrap_err();
    assert_eq!(error.to_string(), "the checkpoint has no tensor \"y\"; is it one of this network?");
    let error = read(&[matrix()], "x", &[6]).unwrap_err();
    let text = "tensor \"x\" of the checkpoint has the shape [2, 3], not [6]; is it one of this network?";
    assert_eq!(error.to_string(), text);
}

#[test]
fn every_beginning_of_a_file_is_refused() {
    let tensors = [matrix(), Saved::of_f32("y", &[1], &[1.0])];
    for file in both_forms(&tensors) {
        for length in 0..file.len() {
            assert!(Checkpoint::parse(&file[..length]).is_err(), "{length} of {}", file.len());
        }
    }
}

#[test]
fn storages_are_as_large_as_their_tensors_say() {
    let shorter = Saved { bytes: vec![0; 20], ..matrix() };
    let old = old_around(&table(&[matrix()], b"N"), &[shorter]);
    let error = Checkpoint::parse(&old).unwrap_err();
    let text = "storage \"0\" of the checkpoint has another number of values than its tensors say";
    assert_eq!(error.to_string(), text);
}
