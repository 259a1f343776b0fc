//! Files that are cut, changed or of another kind: each is refused by name, and none ends the reader.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proctor_nifti_file::{AxisOrder, Image, NewImage, NiftiError, Volume, VoxelFault, encode};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{packed, plain, with};

fn refusal(file: &[u8]) -> NiftiError {
    Image::parse(file).expect_err("a file to be refused")
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let (packed, plain) = (packed(), plain());
    assert!(Image::parse(&packed).is_ok() && Image::parse(&plain).is_ok());
    for length in 0..packed.len() {
        let error = refusal(&packed[..length]);
        let is_named =
            matches!(error, NiftiError::Gzip(_) | NiftiError::Short { .. } | NiftiError::NotNifti(_));
        assert!(is_named, "{length}: {error}");
    }
    for length in 0..plain.len() {
        let error = refusal(&plain[..length]).to_string();
        assert!(error.starts_with(&format!("it ends after {length} bytes, but the ")), "{error}");
    }
}

#[test]
fn a_damaged_gzip_stream_is_refused() {
    let mut file = packed();
    let checksum = file.len() - 8;
    file[checksum] ^= 1;
    assert!(matches!(refusal(&file), NiftiError::Gzip(_)));
}

#[test]
fn members_and_padding_are_read_and_other_bytes_behind_them_named() {
    let half = plain().len() / 2;
    let gzip = |bytes: &[u8]| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let (first, second) = (gzip(&plain()[..half]), gzip(&plain()[half..]));
    let values =
        |file: &[u8]| Image::parse(file).unwrap().to_f32(AxisOrder::FirstSlowest).unwrap().into_values();
    for parts in [
        [&packed()[..], &[0; 512], &[]],
        [&first[..], &[], &second],
        [&first[..], &[0; 7], &second],
        [&first[..], &second, &[0]],
    ] {
        assert_eq!(values(&parts.concat()), values(&plain()));
    }
    for (behind, size_bytes) in [(&b"something behind"[..], 16), (b"\0\0\x1fx", 2), (&[0x1f], 1)] {
        let error = refusal(&[packed(), behind.to_vec()].concat());
        assert_eq!(error, NiftiError::Behind { size_bytes });
        assert!(error.to_string().starts_with(&format!("{size_bytes} bytes follow its gzip stream")));
    }
    let cut = [&packed()[..], &first[..first.len() - 1]].concat();
    assert!(matches!(refusal(&cut), NiftiError::Gzip(_)));
}

#[test]
fn more_than_is_unpacked_is_refused_by_its_header() {
    // 32767 x 4 x 32767 voxels of two bytes, which zeros that come to as much as 9 MB could hold.
    let mut file = plain();
    file[42..44].copy_from_slice(&[0xff, 0x7f]);
    file[46..48].copy_from_slice(&[0xff, 0x7f]);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(&file).unwrap();
    gzip.write_all(&vec![0; 9 << 20]).unwrap();
    let expected = NiftiError::TooLarge { size_bytes: 32_767 * 4 * 32_767 * 2, most: 1 << 32 };
    assert_eq!(refusal(&gzip.finish().unwrap()), expected);
}

#[test]
fn what_a_failed_download_leaves_is_named() {
    for (file, words) in [
        (&b"<!DOCTYPE html>\n<html>"[..], "it is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "it is a pointer of Git LFS"),
    ] {
        let error = refusal(file).to_string();
        assert!(error.starts_with(&format!("it is not a NIfTI-1 file: {words}")), "{error}");
        assert_eq!(Image::parse_header(file).unwrap_err().to_string(), error);
    }
}

#[test]
fn other_kinds_of_files_are_refused_by_name() {
    for (at, bytes, expected) in [
        (0, &[0_u8, 0, 0, 0][..], "it is not a NIfTI-1 file: it starts with 0x00000000"),
        (0, &[0x1c, 2, 0, 0], "it is a NIfTI-2 file"),
        (344, b"ni1\0", "it is the header of a pair of files"),
        (344, b"\0\0\0\0", "is it an Analyze 7.5 file?"),
        (40, &[0, 0], "its dim is [0, 3, 4, 5, 1, 1, 1, 1]"),
        (40, &[8, 0], "its dim is [8, "),
        (44, &[0, 0], "its dim is [3, 3, 0, 5, "),
        (44, &[0xff, 0xff], "its dim is [3, 3, -1, 5, "),
        (70, &[32, 0], "its datatype is 32 (complex of 64 bits)"),
        (70, &[128, 0], "its datatype is 128 (RGB colours)"),
        (70, &[9, 0], "its datatype is 9 (not in the standard)"),
        (72, &[8, 0], "its bitpix is 8, but a voxel of type i16 has 16 bits"),
        (108, &351_f32.to_le_bytes(), "its vox_offset is 351"),
        (108, &352.5_f32.to_le_bytes(), "its vox_offset is 352.5"),
        (108, &f32::NAN.to_le_bytes(), "its vox_offset is NaN"),
        (116, &f32::INFINITY.to_le_bytes(), "its scl_inter is inf beside a scl_slope of 1"),
        (42, &[0xff, 0x7f], "it ends after 472 bytes, but the volume needs 1311032"),
    ] {
        let error = refusal(&with(at, bytes)).to_string();
        assert!(error.contains(expected), "{at}: {error}");
    }
}

#[test]
fn extents_beyond_all_memory_are_refused_before_it_is_asked_for() {
    // 32767^7 voxels, packed into some bytes.
    let mut file = plain();
    file[40] = 7;
    file[42..56].copy_from_slice(&[0xff, 0x7f].repeat(7));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&file).unwrap();
    assert!(matches!(refusal(&gzip.finish().unwrap()), NiftiError::Short { .. }));
    assert!(matches!(refusal(&file), NiftiError::Short { .. }));
}

#[test]
fn values_that_are_none_are_named_with_their_voxel() {
    let floats = |values: Vec<f32>| {
        Image::parse(&encode(&NewImage { volume: &Volume::new([2, 1, 3], values), spacing_mm: [1.0; 3] }))
            .unwrap()
    };
    let image = floats(vec![0.0, 1.0, 2.0, 3.0, f32::NAN, f32::INFINITY]);
    for order in [AxisOrder::FirstSlowest, AxisOrder::FirstFastest] {
        let error = image.to_f32(order).unwrap_err();
        let NiftiError::Voxel { at, wanted: VoxelFault::Finite, .. } = error else { panic!("{error}") };
        assert_eq!(at, [1, 0, 1]);
    }
    for (value, is_label) in [(255.0, true), (0.0, true), (256.0, false), (-1.0, false), (1.5, false)] {
        let labels = floats(vec![0.0, 0.0, 0.0, 0.0, 0.0, value]).to_labels(AxisOrder::FirstSlowest);
        match labels {
            Ok(labels) => assert!(is_label && f32::from(labels.values()[5]) == value),
            Err(error) => {
                assert!(!is_label, "{value}");
                let expected = format!("voxel [1, 0, 2] has the value {value}, which is no label");
                assert!(error.to_string().starts_with(&expected), "{error}");
            }
        }
    }
}

#[test]
fn a_volume_has_three_axes_and_distances_above_zero() {
    let image = Image::parse(&with(40, &[2, 0])).unwrap();
    assert!(matches!(image.to_f32(AxisOrder::FirstSlowest), Err(NiftiError::Rank(shape)) if shape == [3, 4]));
    let image = Image::parse(&with(40, &[5, 0])).unwrap();
    assert_eq!(image.to_f32(AxisOrder::FirstSlowest).unwrap().shape(), [3, 4, 5]);
    for bad in [0.0, -0.8, f32::NAN] {
        let error = Image::parse(&with(84, &bad.to_le_bytes())).unwrap().header().spacing_mm().unwrap_err();
        assert!(matches!(error, NiftiError::Spacing { axis: 2, .. }), "{error}");
    }
}

#[test]
fn any_change_of_a_file_is_read_or_refused() {
    let mut rng = StdRng::seed_from_u64(5);
    for _ in 0..4_000 {
        let mut file = if rng.random() { packed() } else { plain() };
        for _ in 0..rng.random_range(1..6) {
            // Most of them in the header.
            let reach = if rng.random_ratio(3, 4) { 375 } else { file.len() };
            let at = rng.random_range(0..reach.min(file.len()));
            file[at] = rng.random();
        }
        if let Ok(image) = Image::parse(&file) {
            let _ = image.header().affine();
            let floats = image.to_f32(AxisOrder::FirstSlowest).is_ok();
            let labels = image.to_labels(AxisOrder::FirstFastest).is_ok();
            assert!(floats || !labels);
        }
    }
}
