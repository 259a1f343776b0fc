//! Tiles that are found by trying.

use proctor_device::{
    calibrate::{Candidates, calibrated},
    program::Tuning,
};

use crate::device::device;

/// Tries each tile as the first, since a device may refuse any other, which is then left out.
#[test]
fn every_tile_is_one_that_the_device_takes() {
    let Some((device, _alone)) = device() else { return };
    for tuning in [Tuning::PROCESSOR, Tuning::GPU] {
        let Candidates { tiles, .. } = Candidates::of(tuning);
        assert!(tiles.len() > 2 && tiles[0] == tuning, "{tiles:?}");
        for tile in tiles {
            // Tiles alone differ.
            let Tuning { width, vectors, rows, product_group, .. } = tile;
            assert_eq!(tile, Tuning { width, vectors, rows, product_group, ..tuning });
            let candidates = Candidates { tiles: vec![tile], products: vec![[16, 40, 8]] };
            assert_eq!(calibrated(&device, &candidates, None, "a device"), Ok(tile));
        }
    }
}

/// The products of models are computed in the time that a search may take, here by two tiles.
#[test]
fn tiles_are_tried_with_products_of_models() {
    let Some((device, _alone)) = device() else { return };
    let mut candidates = Candidates::of(Tuning::PROCESSOR);
    candidates.tiles.truncate(2);
    assert!(!candidates.products.is_empty());
    let found = calibrated(&device, &candidates, None, "a device").unwrap();
    assert!(candidates.tiles.contains(&found), "{found:?}");
}
