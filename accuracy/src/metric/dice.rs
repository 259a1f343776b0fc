//! `dice`: mean Dice of the classes of KiTS19, or of the regions of BraTS 2019, in `[0, 1]`.

use crate::{
    element::TYPES,
    error::AccuracyError,
    judge::{Judge, regions::RegionJudge, volumes::VolumeJudge},
    labels::volumes::{self, Volumes},
    metric::{JudgeRequest, MetricEntry, up_to_one_output},
};

inventory::submit! {
    MetricEntry {
        name: "dice",
        about: "mean Dice coefficient of the regions of volumes, 0 to 1",
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
    let (sample_count, element_type) = (samples.names.len(), request.form.element_type);
    let judge: Box<dyn Judge> = match volumes::read(dataset, samples)? {
        Volumes::Classes(read) => Box::new(VolumeJudge::new(sample_count, element_type, read)),
        Volumes::Regions { padded, read } => {
            Box::new(RegionJudge::new(padded, sample_count, element_type, read))
        }
    };
    Ok(judge)
}
