//! Files that are whole, cut, damaged and too large.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use proctor_jpeg_file::{Fault, JpegError, PIXELS_MAX, Part, Picture, SCANS_MAX, Unsupported, Where, decode};

const WIDTH: u16 = 61;
const HEIGHT: u16 = 35;

/// The picture of four areas of one colour each.
fn colour(x: usize, y: usize) -> [u8; 3] {
    match (x < 32, y < 16) {
        (true, true) => [200, 30, 40],
        (false, true) => [20, 180, 60],
        (true, false) => [40, 50, 220],
        (false, false) => [240, 240, 10],
    }
}

fn file(sampling: SamplingFactor, is_progressive: bool, restart_interval: u16) -> Vec<u8> {
    let pixels: Vec<u8> = (0..usize::from(HEIGHT))
        .flat_map(|y| (0..usize::from(WIDTH)).flat_map(move |x| colour(x, y)))
        .collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, 100);
    encoder.set_sampling_factor(sampling);
    encoder.set_progressive(is_progressive);
    encoder.set_restart_interval(restart_interval);
    encoder.encode(&pixels, WIDTH, HEIGHT, ColorType::Rgb).unwrap();
    bytes
}

fn whole() -> Part {
    Part { left: 0, top: 0, width: WIDTH.into(), height: HEIGHT.into() }
}

/// Place of the first byte behind the head of the first scan.
fn pixels_of(bytes: &[u8]) -> usize {
    let scan = bytes.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    scan + 2 + usize::from(bytes[scan + 3])
}

#[test]
fn colours_come_back_in_every_sampling_and_coding() {
    for sampling in
        [SamplingFactor::F_1_1, SamplingFactor::F_2_1, SamplingFactor::F_1_2, SamplingFactor::F_2_2]
    {
        for (is_progressive, restart_interval) in [(false, 0), (false, 3), (true, 0), (true, 1)] {
            let bytes = file(sampling, is_progressive, restart_interval);
            let picture = decode(&bytes, whole()).unwrap();
            for (place, pixel) in picture.pixels.iter().enumerate() {
                let (x, y) = (place % usize::from(WIDTH), place / usize::from(WIDTH));
                // Between the areas colours are mixed where they have fewer samples.
                if (x as i32 - 32).abs() > 3 && (y as i32 - 16).abs() > 3 {
                    let off = colour(x, y).iter().zip(pixel).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
                    assert!(off <= 4, "{sampling:?} {is_progressive} at {x}, {y}: {pixel:?}");
                }
            }
        }
    }
}

#[test]
fn a_part_is_that_of_the_whole() {
    for sampling in [SamplingFactor::F_1_1, SamplingFactor::F_2_2] {
        let bytes = file(sampling, false, 0);
        let Picture { pixels, .. } = decode(&bytes, whole()).unwrap();
        for part in [
            Part { left: 60, top: 34, width: 1, height: 1 },
            Part { left: 0, top: 0, width: 1, height: 1 },
            Part { left: 17, top: 15, width: 31, height: 4 },
        ] {
            let got = decode(&bytes, part).unwrap();
            let rows = part.top..part.top + part.height;
            let expected: Vec<_> = rows
                .flat_map(|row| pixels[row * usize::from(WIDTH) + part.left..][..part.width].to_vec())
                .collect();
            assert_eq!(got, Picture { width: part.width, height: part.height, pixels: expected });
        }
    }
}

#[test]
fn pixels_that_are_cut_are_refused_though_the_end_is_marked() {
    for is_progressive in [false, true] {
        let bytes = file(SamplingFactor::F_2_2, is_progressive, 0);
        let begin = pixels_of(&bytes);
        for length in [begin + 1, begin + (bytes.len() - begin) / 2] {
            let mut cut = bytes[..length].to_vec();
            let error = decode(&cut, whole()).unwrap_err();
            assert!(matches!(error, JpegError::Cut { within: Where::Pixels, .. }), "{error}");
            cut.extend([0xff, 0xd9]);
            let error = decode(&cut, whole()).unwrap_err();
            let is_damaged = matches!(error, JpegError::Damaged { .. });
            assert!(is_damaged, "{error}");
        }
    }
}

#[test]
fn restart_marks_must_be_where_they_belong() {
    let mut bytes = file(SamplingFactor::F_1_1, false, 4);
    let mark = bytes.windows(2).position(|pair| pair == [0xff, 0xd1]).unwrap();
    bytes[mark + 1] = 0xd5;
    let error = decode(&bytes, whole()).unwrap_err();
    assert_eq!(error, JpegError::Damaged { offset: mark, fault: Fault::Restart });
}

#[test]
fn what_a_file_cannot_hold_takes_no_memory() {
    let mut bytes = file(SamplingFactor::F_2_2, false, 0);
    let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    bytes[frame + 5..frame + 9].fill(0xff);
    let side = u32::from(u16::MAX);
    let expected = JpegError::TooLarge { width: side, height: side, most: PIXELS_MAX };
    assert_eq!(decode(&bytes, whole()), Err(expected));
    // 4096 x 4096 pixels have 400,000 blocks.
    bytes[frame + 5..frame + 9].copy_from_slice(&[0x10, 0, 0x10, 0]);
    let expected = JpegError::Cut { size_bytes: bytes.len(), within: Where::Pixels };
    assert_eq!(decode(&bytes, whole()), Err(expected));
}

#[test]
fn more_scans_than_any_picture_has_are_refused() {
    let bytes = file(SamplingFactor::F_2_2, true, 0);
    let begin = bytes.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    let pixels = pixels_of(&bytes);
    let end = pixels + bytes[pixels..].windows(2).position(|pair| pair[0] == 0xff && pair[1] != 0).unwrap();
    let scan_count = bytes.windows(2).filter(|pair| *pair == [0xff, 0xda]).count();
    // The first scan has the first coefficients, and once more the same.
    let with_scans = |count: usize| {
        let again = bytes[begin..end].repeat(count - scan_count);
        [&bytes[..end], &again, &bytes[end..]].concat()
    };
    assert_eq!(decode(&with_scans(SCANS_MAX), whole()), decode(&bytes, whole()));
    let expected = JpegError::Unsupported(Unsupported::Scans(SCANS_MAX));
    assert_eq!(decode(&with_scans(SCANS_MAX + 1), whole()), Err(expected));
}

#[test]
fn missing_and_wrong_tables_are_named() {
    let bytes = file(SamplingFactor::F_2_2, false, 0);
    let without = |marker: u8| {
        let mut bytes = bytes.clone();
        while let Some(place) = bytes.windows(2).position(|pair| pair == [0xff, marker]) {
            // A comment.
            bytes[place + 1] = 0xfe;
        }
        decode(&bytes, whole()).unwrap_err()
    };
    for (marker, expected) in
        [(0xdb, Fault::Quantisation), (0xc4, Fault::HuffmanTable), (0xc0, Fault::NoFrame)]
    {
        let error = without(marker);
        assert!(matches!(error, JpegError::Damaged { fault, .. } if fault == expected), "{error}");
    }
}
