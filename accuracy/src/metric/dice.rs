//! `dice`: mean Dice of the classes of KiTS19, or of the regions of BraTS 2019, in `[0, 1]`.

use proctor_vocabulary::ElementType;

use crate::{
    error::AccuracyError,
    judge::{Judge, regions::RegionJudge, volumes::VolumeJudge},
    labels::{PublishedSamples, no_labels, volumes},
    metric::{MetricEntry, Scoring, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "dice",
        outputs: "one output of u8, a class for each voxel, or of f16, scores of four classes for each",
        answers: "labels of volumes",
        form: |outputs| {
            let of = |element_type| up_to_one_output(outputs, element_type);
            of(ElementType::U8).or_else(|| of(ElementType::F16))
        },
        needs_tolerance: false,
        scoring: Scoring::OneByOne(judge),
    }
}

fn judge(dataset: &str, samples: &PublishedSamples) -> Result<Box<dyn Judge>, AccuracyError> {
    let (folder, names) = (samples.folder.clone(), samples.names.clone());
    let sample_count = names.len();
    match dataset {
        "kits19" => {
            volumes::check(names.iter().map(|name| volumes::kits_label_file(&folder.join(name))))?;
            let read = move |sample: usize| volumes::kits(&folder.join(&names[sample]));
            Ok(Box::new(VolumeJudge::new(sample_count, Box::new(read))))
        }
        "brats" => {
            volumes::check(names.iter().map(|name| volumes::brats_label_file(&folder, name)))?;
            let read = move |sample: usize| volumes::brats(&folder, &names[sample]);
            Ok(Box::new(RegionJudge::new(volumes::BRATS_PADDED, sample_count, Box::new(read))))
        }
        _ => Err(no_labels("volumes", dataset, &["brats", "kits19"])),
    }
}
