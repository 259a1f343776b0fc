//! Beginnings of files, by which readers recognise formats that they do not read.

/// First bytes of a file that gzip has packed.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

/// First bytes of a zip archive that has a file in it.
pub const ZIP: [u8; 4] = *b"PK\x03\x04";

/// The character that some editors put before a text.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The same in UTF-8.
pub const BYTE_ORDER_MARK_UTF8: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The same in UTF-16, with the lower and with the higher byte first.
pub const BYTE_ORDER_MARKS_UTF16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_the_mark_are_one() {
        assert_eq!(BYTE_ORDER_MARK.to_string().as_bytes(), BYTE_ORDER_MARK_UTF8);
        let mark = BYTE_ORDER_MARK as u16;
        assert_eq!(BYTE_ORDER_MARKS_UTF16, [mark.to_le_bytes(), mark.to_be_bytes()]);
    }
}
