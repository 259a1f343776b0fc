//! The class of a sample, of a model that gives scores of classes, or positions that count a background.
//!
//! Source: MLPerf Inference, whose references take the position of the largest score, and one less of models with 1001
//! classes.

/// Number of scores of a model of ImageNet's 1000 classes with a background as the first.
const WITH_BACKGROUND: usize = 1001;

/// Classes of a model by their positions among its scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes {
    /// Number of scores of a sample.
    pub count: usize,
}

/// A class that does not fit into the type that the benchmark has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("class {class} does not fit into {room_bytes} bytes")]
pub struct ClassTooLarge {
    /// The class.
    pub class: i64,
    /// Size of its room.
    pub room_bytes: usize,
}

impl Classes {
    /// Returns the position of class 0: a model of 1001 classes is one of 1000 and the background.
    #[must_use]
    pub fn first(self) -> i64 {
        i64::from(self.count == WITH_BACKGROUND)
    }

    /// Writes the class at a position as an integer of native bytes, an i32 in four of them or an i64 in eight.
    ///
    /// # Errors
    /// If it does not fit into its room.
    pub fn write(self, position: i64, room: &mut [u8]) -> Result<(), ClassTooLarge> {
        let too_large = |class, room_bytes| ClassTooLarge { class, room_bytes };
        let class = position.saturating_sub(self.first());
        match room.len() {
            4 => {
                let class = i32::try_from(class).map_err(|_| too_large(class, 4))?;
                room.copy_from_slice(&class.to_ne_bytes());
            }
            8 => room.copy_from_slice(&class.to_ne_bytes()),
            room_bytes => return Err(too_large(class, room_bytes)),
        }
        Ok(())
    }
}

/// Returns the position of the first of the largest scores; NaNs are skipped.
#[must_use]
pub fn position_of_largest(scores: &[f32]) -> i64 {
    let (mut position, mut largest) = (0, f32::NEG_INFINITY);
    for (place, score) in (0..).zip(scores) {
        if *score > largest {
            (position, largest) = (place, *score);
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_is_the_largest_and_what_is_no_number_is_none() {
        assert_eq!(position_of_largest(&[0.5, 2.0, 2.0, f32::NAN]), 1);
        assert_eq!(position_of_largest(&[f32::NAN, -3.0]), 1);
        assert_eq!(position_of_largest(&[f32::NAN]), 0);
    }

    #[test]
    fn a_background_does_not_count_and_a_class_has_the_type_of_its_room() {
        let (mut small, mut large) = ([0; 4], [0; 8]);
        let (plain, with_background) = (Classes { count: 1000 }, Classes { count: 1001 });
        plain.write(7, &mut small).unwrap();
        with_background.write(0, &mut large).unwrap();
        assert_eq!((i32::from_ne_bytes(small), i64::from_ne_bytes(large)), (7, -1));
        let error = plain.write(1 << 40, &mut small).unwrap_err();
        assert_eq!(error.to_string(), "class 1099511627776 does not fit into 4 bytes");
        assert!(plain.write(1, &mut [0; 2]).is_err());
    }
}
