//! Pictures of samples for people, of data sets of small grey images.

use proctor_datasets::RawSample;
use proctor_results::PICTURE_SIDE_MAX;
use proctor_vocabulary::ElementType;

/// Returns a grey picture: a text for each row from the top, a hexadecimal digit for each pixel, from `0` for black to
/// `f` for the brightest pixel of the picture. `None` if the sample is no grey image, or too large.
pub(super) fn picture(sample: &RawSample<'_>) -> Option<Vec<String>> {
    let [height, width] = *sample.shape else { return None };
    let is_small = [height, width].iter().all(|side| (1..=PICTURE_SIDE_MAX).contains(side));
    if sample.element_type != ElementType::U8 || !is_small || sample.bytes.len() != height * width {
        return None;
    }
    let brightest = u32::from(sample.bytes.iter().copied().max()?).max(1);
    let digit = |pixel: &u8| char::from_digit((u32::from(*pixel) * 15 + brightest / 2) / brightest, 16);
    sample.bytes.chunks(width).map(|row| row.iter().map(digit).collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn sample<'a>(element_type: ElementType, shape: &'a [usize], bytes: &'a [u8]) -> RawSample<'a> {
        RawSample { element_type, shape: Cow::Borrowed(shape), bytes: Cow::Borrowed(bytes) }
    }

    #[test]
    fn the_brightest_pixel_is_f() {
        let rows = picture(&sample(ElementType::U8, &[2, 3], &[0, 8, 16, 1, 15, 16])).unwrap();
        assert_eq!(rows, ["08f", "1ef"]);
        let rows = picture(&sample(ElementType::U8, &[1, 2], &[255, 17])).unwrap();
        assert_eq!(rows, ["f1"]);
        assert_eq!(picture(&sample(ElementType::U8, &[1, 2], &[0, 0])).unwrap(), ["00"]);
    }

    #[test]
    fn what_is_no_small_grey_image_has_no_picture() {
        for (element_type, shape, bytes) in [
            (ElementType::I8, &[1, 1][..], &[1][..]),
            (ElementType::U8, &[1], &[1]),
            (ElementType::U8, &[1, 1, 1], &[1]),
            (ElementType::U8, &[0, 1], &[]),
            (ElementType::U8, &[1, 65], &[1; 65]),
            (ElementType::U8, &[1, 2], &[1]),
        ] {
            assert_eq!(picture(&sample(element_type, shape, bytes)), None, "{shape:?}");
        }
    }
}
