use proptest::prelude::*;

use super::*;
use crate::plan::{Measured, PlannedLayer};
use proctor_rnn_layer::{Cell, Chunk, Directions, LayerShape, Mapping, Precision, Schedule};

fn key() -> PlanKey {
    let shape = LayerShape {
        cell: Cell::Lstm,
        directions: Directions::Bidirectional,
        input: 64,
        hidden: 256,
        batch: 4,
        time: 100,
        precision: Precision::F32,
    };
    let layer = |name: &str| PlannedLayer { name: name.to_owned(), shape };
    PlanKey {
        model: "a model".to_owned(),
        layers: vec![layer("first"), layer("second")],
        threads_max: 2,
        machine: "a machine".to_owned(),
        engine: "engine 1".to_owned(),
    }
}

fn layers() -> Vec<LayerPlan> {
    let schedule =
        Schedule { threads: 2, mapping: Mapping::Directions, chunk: Chunk::Steps(7), ..Schedule::SINGLE };
    let measured = vec![Measured { schedule, figure_ns: 20, min_ns: 10, behind: 1.0, blocks: 15 }];
    let plan = LayerPlan { schedule, measured, unmeasured: vec![Schedule::SINGLE], sure: 0.9, tries: 1 };
    vec![plan.clone(), plan]
}

const TAKEN: Duration = Duration::from_millis(1234);

/// A cache with one plan in it, and its file.
fn filled() -> (tempfile::TempDir, PlanCache, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let cache = PlanCache::new(folder.path().join("below/it"));
    let path = cache.store(&key(), &layers(), TAKEN).unwrap();
    (folder, cache, path)
}

#[test]
fn what_was_stored_is_loaded_and_nothing_else_lies_there() {
    let (_folder, cache, path) = filled();
    assert_eq!(cache.load(&key()).unwrap(), (layers(), TAKEN));
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, [path], "no temporary file is left");
}

#[test]
fn another_key_has_another_plan() {
    let (_folder, cache, _) = filled();
    let mut others = vec![key(); 6];
    others[0].model.push('x');
    others[1].layers[0].shape.batch = 5;
    others[2].layers[0].shape.time = 5;
    others[3].threads_max = 1;
    others[4].machine.push('x');
    others[5].engine.push('x');
    for other in others {
        assert!(matches!(cache.load(&other), Err(CacheError::Absent)), "{other:?}");
    }
}

#[test]
fn a_file_of_a_foreign_key_is_named_for_what_differs() {
    let (_folder, cache, path) = filled();
    let foreign = PlanKey { machine: "another machine".to_owned(), ..key() };
    // As if the file had been copied, or two hashes had met.
    fs::rename(&path, cache.path(&foreign)).unwrap();
    let error = cache.load(&foreign).unwrap_err().to_string();
    assert!(error.contains("made for another machine; calibrating again"), "{error}");
}

#[test]
fn files_of_other_formats_are_passed_over() {
    let (_folder, cache, path) = filled();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"format\": 2", "\"format\": 7", 1)).unwrap();
    let error = cache.load(&key()).unwrap_err().to_string();
    assert!(error.contains("has format 7, not 2"), "{error}");
    // Another format may have other fields altogether.
    fs::write(&path, "{\"format\": 3, \"what\": []}").unwrap();
    assert!(matches!(cache.load(&key()), Err(CacheError::OtherFormat(_, 3))));
}

#[test]
fn a_plan_that_nobody_can_run_is_damaged() {
    let (_folder, cache, path) = filled();
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, reason) in [
        ("\"threads\": 2", "\"threads\": 9", "9 threads where 1 to 2 are allowed"),
        ("\"threads\": 2", "\"threads\": 0", "0 threads"),
        ("\"steps\": 7", "\"steps\": 0", "a chunk of no steps"),
        ("\"sure\": 0.9", "\"sure\": 1.9", "it is sure in 1.9 of its blocks"),
        ("\"mapping\": \"directions\"", "\"mapping\": \"sideways\"", "sideways"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        fs::write(&path, changed).unwrap();
        let error = cache.load(&key()).unwrap_err();
        assert!(matches!(error, CacheError::Damaged(..)), "{to}: {error}");
        assert!(error.to_string().contains(reason), "{to}: {error}");
    }
}

#[test]
fn a_folder_in_the_place_of_the_file_is_said() {
    let (_folder, cache, path) = filled();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(cache.load(&key()), Err(CacheError::Unreadable(..))));
    assert!(matches!(cache.store(&key(), &layers(), TAKEN), Err(CacheError::Unwritable(..))));
}

#[test]
fn a_file_of_absurd_size_is_not_read() {
    let (_folder, cache, path) = filled();
    fs::File::options().write(true).open(&path).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
    let error = cache.load(&key()).unwrap_err().to_string();
    assert!(error.contains("it has 16777217 bytes, more than any plan; calibrating again"), "{error}");
}

#[test]
fn a_file_in_the_place_of_the_folder_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cache");
    fs::write(&file, "").unwrap();
    let error = PlanCache::new(&file).store(&key(), &layers(), TAKEN).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the plan to ") && error.ends_with("calibrates again"), "{error}");
}

proptest! {
    // Each case writes to the disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_cut_short_is_damaged(share in 0.0_f64..1.0) {
        let (_folder, cache, path) = filled();
        let whole = fs::read(&path).unwrap();
        let closing = whole.iter().rposition(|byte| *byte == b'}').unwrap();
        fs::write(&path, &whole[..(closing as f64 * share) as usize]).unwrap();
        let is_damaged = matches!(cache.load(&key()), Err(CacheError::Damaged(..)));
        prop_assert!(is_damaged);
    }

    /// With any single byte changed the file is refused, or what it says can be run.
    #[test]
    fn a_changed_byte_never_gives_a_plan_that_cannot_run(share in 0.0_f64..1.0, byte in any::<u8>()) {
        let (_folder, cache, path) = filled();
        let mut whole = fs::read(&path).unwrap();
        let at = (whole.len() as f64 * share) as usize;
        whole[at] = byte;
        fs::write(&path, &whole).unwrap();
        if let Ok((plans, _)) = cache.load(&key()) {
            for (layer, plan) in key().layers.iter().zip(&plans) {
                prop_assert_eq!(search::check(&layer.shape, &plan.schedule, 2), Ok(()));
            }
        }
    }

    #[test]
    fn any_bytes_are_no_plan(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_folder, cache, path) = filled();
        fs::write(&path, &bytes).unwrap();
        prop_assert!(cache.load(&key()).is_err());
    }
}
