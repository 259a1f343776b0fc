//! `dice`: mean Dice of the classes of KiTS19, or of the regions of BraTS 2019, in `[0, 1]`.

use crate::{
    element::TYPES,
    error::AccuracyError,
    judge::{Judge, regions::RegionJudge, volumes::VolumeJudge},
    labels::{no_labels, volumes},
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "dice",
        outputs: "one output of u8, i8, i16, i32, i64, f16, f32 or f64, a class or four scores a voxel",
        answers: "labels of volumes",
        // The definitions have u8 for KiTS19 and f16 for BraTS; the reference's scripts read the others, too.
        form: |outputs| up_to_one_output(outputs, TYPES),
        needs_tolerance: false,
        judge,
    }
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (dataset, samples) = request.published()?;
    let (folder, names) = (samples.folder.clone(), samples.names.clone());
    let (sample_count, element_type) = (names.len(), request.form.element_type);
    match dataset {
        "kits19" => {
            volumes::check(names.iter().map(|name| volumes::kits_label_file(&folder.join(name))))?;
            let read = move |sample: usize| volumes::kits(&folder.join(&names[sample]));
            Ok(Box::new(VolumeJudge::new(sample_count, element_type, Box::new(read))))
        }
        "brats" => {
            volumes::check(names.iter().map(|name| volumes::brats_label_file(&folder, name)))?;
            let read = move |sample: usize| volumes::brats(&folder, &names[sample]);
            let padded = volumes::BRATS_PADDED;
            Ok(Box::new(RegionJudge::new(padded, sample_count, element_type, Box::new(read))))
        }
        _ => Err(no_labels("volumes", dataset, &["brats", "kits19"])),
    }
}
