//! The categories of COCO, by their positions.

/// Ids of the 80 categories: 1 to 90 without ten discarded ones.
const RANGES: [(usize, usize); 9] =
    [(1, 11), (13, 25), (27, 28), (31, 44), (46, 65), (67, 67), (70, 70), (72, 82), (84, 90)];

/// Returns the id of the category at a position from 1 to 80, which SSD-ResNet34 calls a class; `None` for another one.
///
/// Source: the annotations of COCO 2017.
#[must_use]
pub fn coco_category(position: usize) -> Option<usize> {
    let mut ids = RANGES.into_iter().flat_map(|(first, last)| first..=last);
    ids.nth(position.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_80_up_to_90() {
        let all: Vec<_> = (0..=81).map(coco_category).collect();
        assert_eq!(all.iter().flatten().count(), 80);
        assert_eq!((all[0], all[1], all[11], all[12]), (None, Some(1), Some(11), Some(13)));
        assert_eq!((all[24], all[26], all[80], all[81]), (Some(25), Some(28), Some(90), None));
        let given_up = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83];
        assert!(all.iter().flatten().all(|id| !given_up.contains(id)));
    }
}
