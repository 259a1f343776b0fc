//! Samples that were written can be read, no matter what happened in between.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use proctor_prepared::{Input, Listing, PreparedError, Reader, Recipe, RowAggregation, Writer};
use proctor_preprocess::{ImageSteps, Preprocessing, ResizeMethod};
use proctor_vocabulary::{ElementType, InputForm, SampleIndex, TensorSpec};
use proptest::prelude::*;

fn recipe() -> Recipe {
    let image = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![3, 2, 2] };
    Recipe {
        dataset: "photographs".into(),
        contents: "00".into(),
        preprocessing: "grey".into(),
        version: 1,
        rows: RowAggregation::default(),
        inputs: vec![Input::new(&image, &InputForm::of(&image))],
    }
}

fn listing(sample_count: u64, names: &[&str]) -> Listing {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Listing { sample_count, missing_count: 0, names }
}

fn open(folder: &Path, sample_count: u64) -> Writer {
    Writer::open(folder, &recipe(), &listing(sample_count, &[])).expect("the folder takes a writer")
}

fn read(reader: &Reader, index: u64, sizes: &[usize]) -> Result<Vec<Vec<u8>>, PreparedError> {
    let mut tensors: Vec<Vec<u8>> = sizes.iter().map(|size| vec![0xaa; *size]).collect();
    let mut slices: Vec<_> = tensors.iter_mut().map(Vec::as_mut_slice).collect();
    reader.read(SampleIndex(index), &mut slices)?;
    Ok(tensors)
}

#[test]
fn a_folder_is_that_of_all_that_decides_the_bytes() {
    let caches = Path::new("caches");
    let folder = recipe().folder(caches);
    assert!(folder.starts_with("caches/prepared") && folder == recipe().folder(caches));
    let image = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![3, 2, 2] };
    let half = InputForm { element_type: ElementType::F16, ..InputForm::of(&image) };
    let steps = ImageSteps::bytes(ResizeMethod::OpencvLinear);
    let others = [
        Recipe { dataset: "p".into(), ..recipe() },
        Recipe { contents: "01".into(), ..recipe() },
        Recipe { preprocessing: "gray".into(), ..recipe() },
        Recipe { preprocessing: Preprocessing::Image(steps.clone()), ..recipe() },
        Recipe { preprocessing: Preprocessing::Image(ImageSteps { mean: [0.5; 3], ..steps }), ..recipe() },
        Recipe { version: 2, ..recipe() },
        Recipe { rows: RowAggregation::Fixed(3), ..recipe() },
        Recipe { inputs: vec![Input::new(&image, &half)], ..recipe() },
    ];
    let folders: HashSet<_> = others.iter().map(|other| other.folder(caches)).chain([folder]).collect();
    assert_eq!(folders.len(), others.len() + 1);
    assert_eq!(Input::new(&image, &half).parts(), Some((image, half)));
}

#[test]
fn a_second_writer_adds_to_what_the_first_has_left() {
    let caches = tempfile::tempdir().unwrap();
    let folder = recipe().folder(caches.path());
    open(&folder, 3).append(SampleIndex(2), &[&[2], &[0]], &[&[1, 2], &[]]).unwrap();
    let mut writer = open(&folder, 3);
    assert!(writer.has(SampleIndex(2)).unwrap() && !writer.has(SampleIndex(0)).unwrap());
    writer.append(SampleIndex(0), &[&[1], &[1]], &[&[3], &[4]]).unwrap();

    let reader = Reader::open(&folder).unwrap();
    assert_eq!(reader.sample_count(), 3);
    assert_eq!(read(&reader, 2, &[2, 0]).unwrap(), [vec![1, 2], vec![]]);
    assert_eq!(read(&reader, 0, &[1, 1]).unwrap(), [[3], [4]]);
    assert_eq!(reader.shapes(SampleIndex(2)).unwrap(), [[2], [0]]);
    assert!(matches!(read(&reader, 1, &[1, 1]), Err(PreparedError::Absent { .. })));
    assert!(matches!(read(&reader, 3, &[1, 1]), Err(PreparedError::NoSuchSample { sample_count: 3, .. })));
    let sizes = read(&reader, 0, &[1]).unwrap_err().to_string();
    assert_eq!(sizes, "sample 0 has tensors of [1, 1] bytes, but there is room for [1]");
}

#[test]
fn writers_take_turns() {
    let caches = tempfile::tempdir().unwrap();
    let folder = recipe().folder(caches.path());
    let first = open(&folder, 1);
    let (sender, receiver) = channel();
    let second = thread::spawn(move || {
        let writer = open(&folder, 1);
        sender.send(()).unwrap();
        drop(writer);
    });
    assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
    drop(first);
    receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    second.join().unwrap();
}

#[test]
fn a_list_comes_back_and_another_is_another_recipe() {
    let caches = tempfile::tempdir().unwrap();
    let folder = recipe().folder(caches.path());
    let list = listing(2, &["a/b.jpg", "\"\n"]);
    drop(Writer::open(&folder, &recipe(), &list).unwrap());
    assert_eq!(Reader::open(&folder).unwrap().listing().unwrap(), list);
    for other in [listing(2, &["c"]), Listing { missing_count: 1, ..list.clone() }] {
        let error = Writer::open(&folder, &recipe(), &other).unwrap_err();
        assert!(matches!(error, PreparedError::OtherRecipe { .. }), "{error}");
    }
    // As after a crash.
    fs::write(folder.join("listing.json"), "{\"sample_count\":2,\"mi").unwrap();
    let error = Reader::open(&folder).unwrap().listing().unwrap_err();
    assert!(matches!(error, PreparedError::Foreign { .. }), "{error}");
    drop(Writer::open(&folder, &recipe(), &list).unwrap());
    assert_eq!(Reader::open(&folder).unwrap().listing().unwrap(), list);
}

#[test]
fn what_is_no_folder_of_ours_is_refused_by_its_name() {
    let caches = tempfile::tempdir().unwrap();
    let folder = recipe().folder(caches.path());
    let error = Reader::open(&folder).unwrap_err().to_string();
    assert!(error.starts_with("cannot open ") && error.ends_with("/samples"), "{error}");
    drop(open(&folder, 2));
    fs::write(folder.join("index"), [7; 100]).unwrap();
    let expected =
        "/index is no index of prepared samples of this version; delete its folder, which is made again";
    for error in
        [Reader::open(&folder).unwrap_err(), Writer::open(&folder, &recipe(), &listing(2, &[])).unwrap_err()]
    {
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn a_sample_that_the_disk_has_damaged_is_noticed() {
    let caches = tempfile::tempdir().unwrap();
    let folder = recipe().folder(caches.path());
    open(&folder, 1).append(SampleIndex(0), &[&[2, 2]], &[&[1, 2, 3, 4]]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(folder.join("samples")).unwrap();
    let length = file.metadata().unwrap().len();
    for place in 0..length {
        let mut byte = [0];
        file.read_exact_at(&mut byte, place).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], place).unwrap();
        let error = read(&Reader::open(&folder).unwrap(), 0, &[4]).unwrap_err();
        let is_noticed = matches!(error, PreparedError::Damaged { .. } | PreparedError::Sizes { .. });
        assert!(is_noticed, "{place}: {error}");
        file.write_all_at(&byte, place).unwrap();
    }
    read(&Reader::open(&folder).unwrap(), 0, &[4]).unwrap();
    file.set_len(length - 1).unwrap();
    let error = read(&Reader::open(&folder).unwrap(), 0, &[4]).unwrap_err();
    assert!(matches!(error, PreparedError::Damaged { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_latest_of_each_sample_is_read(
        samples in prop::collection::vec((0_u64..6, prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..4)), 0..20)
    ) {
        let caches = tempfile::tempdir().unwrap();
        let folder = recipe().folder(caches.path());
        let mut latest: Vec<Option<&Vec<Vec<u8>>>> = vec![None; 6];
        drop(open(&folder, 6));
        let reader = Reader::open(&folder).unwrap();
        for (index, tensors) in &samples {
            let shapes: Vec<_> = tensors.iter().map(|tensor| vec![tensor.len(), 1]).collect();
            let shapes: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
            let bytes: Vec<_> = tensors.iter().map(Vec::as_slice).collect();
            open(&folder, 6).append(SampleIndex(*index), &shapes, &bytes).unwrap();
            latest[*index as usize] = Some(tensors);
        }
        for (index, tensors) in (0..).zip(&latest) {
            prop_assert_eq!(reader.has(SampleIndex(index)).unwrap(), tensors.is_some());
            let Some(tensors) = tensors else { continue };
            let sizes: Vec<_> = tensors.iter().map(Vec::len).collect();
            prop_assert_eq!(&read(&reader, index, &sizes).unwrap(), *tensors);
        }
    }
}
