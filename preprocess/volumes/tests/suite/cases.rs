//! Cases from their bytes, good and bad.

use std::borrow::Cow;

use proctor_datasets::RawSample;
use proctor_nifti_file::{Element, Image, NewImage, Volume, bundle, encode};
use proctor_preprocess::{PreprocessError, build_pipeline};
use proctor_vocabulary::{ElementType, TensorSpec};
use proctor_volumes::{VolumeError, brats, kits};

fn file<T: Element>(shape: [usize; 3], spacing_mm: [f32; 3], value: impl Fn([usize; 3]) -> T) -> Vec<u8> {
    let [first, second, third] = shape;
    let places = (0..first * second * third)
        .map(|index| [index / (second * third), index / third % second, index % third]);
    encode(&NewImage { volume: &Volume::new(shape, places.map(value).collect()), spacing_mm })
}

/// A ball of radius 6 in a volume, brighter in each further modality.
fn case(shape: [usize; 3]) -> [Vec<u8>; 4] {
    std::array::from_fn(|modality| {
        file(shape, [1.0; 3], |at| {
            let distance: f64 =
                at.iter().zip(shape).map(|(at, extent)| (*at as f64 - extent as f64 / 2.0).powi(2)).sum();
            if distance <= 36.0 { (modality as i16 + 1) * 100 + at[0] as i16 } else { 0 }
        })
    })
}

fn bundled(files: &[Vec<u8>; 4]) -> Vec<u8> {
    bundle::join(files)
}

#[test]
fn a_case_of_brats_is_normalised_in_the_middle_of_its_room() {
    let values = brats::prepare(&bundled(&case([30, 32, 34]))).unwrap();
    let [first, second, third] = brats::ROOM;
    assert_eq!(values.len(), 4 * first * second * third);
    for channel in values.chunks(first * second * third) {
        let inside: Vec<f64> =
            channel.iter().filter(|value| **value != 0.0).map(|value| f64::from(*value)).collect();
        let count = inside.len() as f64;
        let mean = inside.iter().sum::<f64>() / count;
        let variance = inside.iter().map(|value| value * value).sum::<f64>() / count;
        assert!(mean.abs() < 1e-3, "{mean}");
        // The voxels in the plane of the mean are 0 themselves.
        assert!((0.9..1.2).contains(&variance), "{variance}");
    }
    // Values grow along the file's first axis, which is the last here; 13 voxels are in the middle of 160.
    let middle = &values[(111 * second + 111) * third..][..third];
    let places: Vec<_> =
        middle.iter().enumerate().filter(|(_, value)| **value != 0.0).map(|(at, _)| at).collect();
    assert_eq!((places[0], places[places.len() - 1]), (73, 85));
    assert!(middle[73..86].is_sorted());
}

#[test]
fn cases_of_brats_that_cannot_be_prepared_are_refused() {
    let good = case([20, 20, 20]);
    let with = |index: usize, file: Vec<u8>| {
        let mut files = good.clone();
        files[index] = file;
        brats::prepare(&bundled(&files)).unwrap_err()
    };
    let cut = good[1][..good[1].len() - 9].to_vec();
    assert!(matches!(with(1, cut), VolumeError::Nifti { part: "t1ce", .. }));
    let error = with(3, case([20, 20, 21])[3].clone());
    assert!(matches!(error, VolumeError::Shapes { part: "flair", got: [21, 20, 20], .. }), "{error}");
    let error = with(0, file([20; 3], [1.0, 1.2, 1.0], |_| 1_u8));
    assert!(matches!(error, VolumeError::NotOfOneMillimetre { part: "t1", .. }), "{error}");
    let zeros = file([20; 3], [1.0; 3], |_| 0_u8);
    let empty = brats::prepare(&bundled(&std::array::from_fn(|_| zeros.clone()))).unwrap_err();
    assert!(matches!(empty, VolumeError::Empty));
    // The file's first axis is the last of the room, which has 160.
    let long = file([161, 2, 2], [1.0; 3], |_| 1_u8);
    let error = brats::prepare(&bundled(&std::array::from_fn(|_| long.clone()))).unwrap_err();
    assert!(matches!(error, VolumeError::TooLarge { got: [2, 2, 161], .. }), "{error}");
    let error = brats::prepare(&good[0]).unwrap_err();
    assert!(matches!(error, VolumeError::Bundle(_)), "{error}");
}

#[test]
fn the_pipeline_writes_the_prepared_case() {
    let input = |shape: &[usize]| TensorSpec {
        name: "image".into(),
        element_type: ElementType::F32,
        shape: shape.to_vec(),
    };
    let pipeline = build_pipeline(brats::NAME, &[input(&[4, 224, 224, 160])]).unwrap();
    let bytes = bundled(&case([20, 22, 24]));
    let sample = |bytes| RawSample {
        element_type: ElementType::U8,
        shape: Cow::Owned(vec![0]),
        bytes: Cow::<[u8]>::Owned(bytes),
    };
    let mut tensor = vec![0xff; pipeline.outputs()[0].size_bytes()];
    pipeline.run(&sample(bytes.clone()), &mut [&mut tensor]).unwrap();
    let values: Vec<_> = tensor.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
    assert_eq!(values, brats::prepare(&bytes).unwrap());

    let error = pipeline.run(&sample(bytes[..99].to_vec()), &mut [&mut tensor]).unwrap_err();
    assert!(matches!(&error, PreprocessError::Sample { pipeline, .. } if pipeline == brats::NAME));
    let expected =
        "not usable: the sample is not the four files of a case of BraTS: it holds 99 bytes, which 4 files";
    assert!(error.to_string().contains(expected), "{error}");
    let error = build_pipeline(brats::NAME, &[input(&[4, 160, 224, 224])]).err().unwrap().to_string();
    assert!(error.contains("makes one f32 tensor of shape [4, 224, 224, 160]"), "{error}");
}

#[test]
fn cases_of_kits_that_cannot_be_prepared_are_refused() {
    let spaced = |spacing_mm| file([20, 20, 20], spacing_mm, |_| 1_i16);
    let error = kits::prepare(&spaced([1.0, 0.0, 1.0])).unwrap_err();
    assert!(matches!(error, VolumeError::Nifti { part: "imaging", .. }), "{error}");
    for spacing_mm in [[1.0, 1e-6, 1.0], [1.0, 1.0, 1e6]] {
        let error = kits::prepare(&spaced(spacing_mm)).unwrap_err();
        assert!(matches!(error, VolumeError::Resampled { extents: [20, 20, 20], .. }), "{error}");
    }
    let imaging = Image::parse_header(&spaced([1.6, 1.2, 1.2])).unwrap();
    let error = kits::prepare_labels(&file([20, 20, 21], [1.0; 3], |_| 1_u8), &imaging).unwrap_err();
    assert!(matches!(error, VolumeError::Shapes { part: "segmentation", got: [20, 20, 21], .. }), "{error}");
    let error = kits::prepare_labels(&file([20, 20, 20], [1.0; 3], |_| 0.5_f32), &imaging).unwrap_err();
    assert!(matches!(error, VolumeError::Nifti { part: "segmentation", .. }), "{error}");
    let labels =
        kits::prepare_labels(&file([20, 20, 20], [9.0; 3], |at| (at[0] > 9) as u8), &imaging).unwrap();
    assert_eq!(labels.shape(), [128; 3]);
    // The ends go on to the borders.
    assert_eq!((labels.row(63, 0)[0], labels.row(64, 0)[0], labels.row(127, 127)[127]), (0, 1, 1));
}

#[test]
fn a_label_that_there_is_not_is_named_with_its_voxel() {
    let with = |label: u8| move |at: [usize; 3]| if at == [1, 2, 3] { label } else { 1 };
    let imaging = Image::parse_header(&file([20; 3], [1.6, 1.2, 1.2], |_| 1_i16)).unwrap();
    let of_kits = |label| kits::prepare_labels(&file([20; 3], [1.0; 3], with(label)), &imaging);
    assert!(of_kits(2).is_ok());
    let error = of_kits(7).unwrap_err();
    let expected = VolumeError::Label { part: "segmentation", voxel: [1, 2, 3], label: 7, known: &[0, 1, 2] };
    assert_eq!(error.to_string(), expected.to_string());
    let text = "voxel [1, 2, 3] of segmentation has the label 7, and the data set has [0, 1, 2] alone; ";
    assert!(error.to_string().starts_with(text), "{error}");

    // Of BraTS the voxel lies outside of the brain, too.
    let files = bundled(&case([20, 22, 24]));
    let of_brats = |label| brats::prepare_labels(&files, &file([20, 22, 24], [1.0; 3], with(label)));
    assert!(of_brats(4).is_ok());
    let error = of_brats(3).unwrap_err();
    assert!(matches!(error, VolumeError::Label { part: "seg", voxel: [1, 2, 3], label: 3, .. }), "{error}");
}

#[test]
fn a_check_refuses_what_preparing_refuses() {
    let good = case([20, 20, 20]);
    assert!(brats::check(&bundled(&good)).is_ok());
    let mut other = good.clone();
    other[2] = file([20; 3], [1.0, 1.2, 1.0], |_| 1_u8);
    let error = brats::check(&bundled(&other)).unwrap_err();
    assert!(matches!(error, VolumeError::NotOfOneMillimetre { part: "t2", .. }), "{error}");
    let zeros = file([20; 3], [1.0; 3], |_| 0_u8);
    assert!(matches!(
        brats::check(&bundled(&std::array::from_fn(|_| zeros.clone()))),
        Err(VolumeError::Empty)
    ));
    let long = file([161, 2, 2], [1.0; 3], |_| 1_u8);
    assert!(matches!(
        brats::check(&bundled(&std::array::from_fn(|_| long.clone()))),
        Err(VolumeError::TooLarge { .. })
    ));
}
