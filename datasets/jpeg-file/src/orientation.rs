//! Orientation of a picture, from EXIF.

/// The turn that makes the picture upright. Numbers are as in EXIF 2.32, tag 0x0112.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Orientation {
    /// 1: unchanged.
    #[default]
    Upright,
    /// 2: left and right are exchanged.
    Mirrored,
    /// 3: turned by 180 degrees.
    UpsideDown,
    /// 4: top and bottom are exchanged.
    Flipped,
    /// 5: rows and columns are exchanged.
    Transposed,
    /// 6: must be turned by 90 degrees clockwise.
    TurnRight,
    /// 7: rows are columns, from the other corner.
    Transversed,
    /// 8: must be turned by 90 degrees anticlockwise.
    TurnLeft,
}

impl Orientation {
    /// Returns whether columns become rows.
    #[must_use]
    pub fn swaps_sides(self) -> bool {
        matches!(self, Self::Transposed | Self::TurnRight | Self::Transversed | Self::TurnLeft)
    }

    fn of_number(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Upright,
            2 => Self::Mirrored,
            3 => Self::UpsideDown,
            4 => Self::Flipped,
            5 => Self::Transposed,
            6 => Self::TurnRight,
            7 => Self::Transversed,
            8 => Self::TurnLeft,
            _ => return None,
        })
    }

    /// Returns the orientation in the payload of a segment of EXIF: `Exif`, two zeros, and a TIFF file. Ignores damaged
    /// data, as every reader of pictures does.
    pub(crate) fn of_exif(payload: &[u8]) -> Option<Self> {
        const TAG: u16 = 0x0112;
        const SHORT: u16 = 3;
        let tiff = payload.strip_prefix(b"Exif\0\0")?;
        let is_little = match tiff.get(..2)? {
            b"II" => true,
            b"MM" => false,
            _ => return None,
        };
        let short = |at: usize| {
            let bytes = [*tiff.get(at)?, *tiff.get(at + 1)?];
            Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
        };
        let long = |at: usize| {
            let (first, second) = (u32::from(short(at)?), u32::from(short(at + 2)?));
            Some(if is_little { second << 16 | first } else { first << 16 | second })
        };
        if short(2)? != 42 {
            return None;
        }
        let directory = usize::try_from(long(4)?).ok()?;
        let count = usize::from(short(directory)?);
        let mut entries = (0..count).map(|number| directory + 2 + 12 * number);
        let entry = entries.find(|entry| short(*entry) == Some(TAG))?;
        if short(entry + 2)? != SHORT {
            return None;
        }
        Self::of_number(short(entry + 8)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exif(is_little: bool, number: u16) -> Vec<u8> {
        let short = |value: u16| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let long = |value: u32| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes = b"Exif\0\0".to_vec();
        bytes.extend(if is_little { b"II" } else { b"MM" });
        bytes.extend(short(42));
        bytes.extend(long(8));
        bytes.extend(short(2));
        // Two entries; the second is the orientation.
        for (tag, value) in [(0x010f, 9), (0x0112, number)] {
            bytes.extend([short(tag), short(3)].concat());
            bytes.extend(long(1));
            bytes.extend([short(value), short(0)].concat());
        }
        bytes.extend(long(0));
        bytes
    }

    #[test]
    fn the_tag_is_found_in_both_orders_of_bytes() {
        for is_little in [false, true] {
            assert_eq!(Orientation::of_exif(&exif(is_little, 6)), Some(Orientation::TurnRight));
            assert_eq!(Orientation::of_exif(&exif(is_little, 1)), Some(Orientation::Upright));
            assert_eq!(Orientation::of_exif(&exif(is_little, 9)), None);
        }
    }

    #[test]
    fn damaged_data_say_nothing() {
        let whole = exif(true, 3);
        // The last entry ends 4 bytes before the end, and its value 2 bytes before that.
        for length in 0..whole.len() - 6 {
            assert_eq!(Orientation::of_exif(&whole[..length]), None, "{length}");
        }
        let mut far = whole;
        far[10..14].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Orientation::of_exif(&far), None);
    }
}
