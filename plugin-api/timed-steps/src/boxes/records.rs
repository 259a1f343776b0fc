//! The response to a sample of object detection: seven f32 for each box.

use super::select::Detection;

/// Appends a record for each box up to the first one below `score_min`: index of the sample, upper, left, lower and
/// right border as parts of the picture, score, class; native byte order. No box is an empty response.
///
/// The corners are divided by `extent`, width and height in their unit: 1 if they are parts already, 800 for
/// RetinaNet.
///
/// Source: MLPerf Inference, the post-processing of COCO and Open Images.
pub fn append_records(
    sample_index: u64,
    detections: &[Detection],
    extent: [f32; 2],
    score_min: f32,
    response: &mut Vec<u8>,
) {
    let [width, height] = extent;
    for detection in detections.iter().take_while(|detection| detection.score >= score_min) {
        let [left, upper, right, lower] = detection.corners;
        let class = detection.class as f32;
        // An index beyond 2^24 would be rounded; the largest set has 50,000 samples.
        let record = [
            sample_index as f32,
            upper / height,
            left / width,
            lower / height,
            right / width,
            detection.score,
            class,
        ];
        response.extend(record.into_iter().flat_map(f32::to_ne_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_at_the_first_low_score() {
        let detection = |score| Detection { corners: [80.0, 160.0, 400.0, 800.0], score, class: 17 };
        let mut response = Vec::new();
        append_records(
            5,
            &[detection(0.9), detection(0.05), detection(0.04), detection(0.5)],
            [800.0; 2],
            0.05,
            &mut response,
        );
        let values: Vec<_> =
            response.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        assert_eq!(values[..7], [5.0, 0.2, 0.1, 1.0, 0.5, 0.9, 17.0]);
        assert_eq!(values.len(), 14);
        append_records(6, &[], [1.0; 2], 0.0, &mut response);
        assert_eq!(response.len(), 56);
    }
}
