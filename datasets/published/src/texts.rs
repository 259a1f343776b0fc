//! Files of text, as a look at a data set finds them.

use std::{fs, path::Path};

use md5::{Digest, Md5};
use proctor_datasets::DatasetError;
use proctor_vocabulary::beginning::{BYTE_ORDER_MARK_UTF8, GZIP, ZIP};

use crate::defect::{Defect, Problem};

/// Reads a file of text and adds what is wrong with it to the defects: that it cannot be read, is no text, or has
/// another MD5 than this one.
pub(crate) fn look_at(path: &Path, md5: Option<&'static str>, defects: &mut Vec<Defect>) -> Option<String> {
    let mut add = |problem| defects.push(Defect { path: path.to_owned(), problem });
    let bytes = fs::read(path).map_err(|error| add(Problem::of_reading(path, &error))).ok()?;
    if let Some(expected) = md5 {
        let got: String = Md5::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if got != expected {
            add(Problem::Md5 { expected, got });
        }
    }
    text_of(bytes).map_err(add).ok()
}

/// Reads a file of text of which a data set cannot be opened without.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`].
pub(crate) fn read_text(path: &Path) -> Result<String, DatasetError> {
    let text = match fs::read(path) {
        Ok(bytes) => text_of(bytes),
        Err(source) => match Problem::of_reading(path, &source) {
            problem @ Problem::PackedBeside { .. } => Err(problem),
            // With the system's own words.
            _ => return Err(DatasetError::Read { path: path.to_owned(), source }),
        },
    };
    text.map_err(|problem| Defect { path: path.to_owned(), problem }.into())
}

/// The bytes of a file as text.
///
/// # Errors
/// As [`check_start`]; [`Problem::NotText`].
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, Problem> {
    check_start(&bytes)?;
    String::from_utf8(bytes).map_err(|_| Problem::NotText)
}

/// Looks at the beginning of a file of text for what a reader of lines or of JSON stumbles over and cannot name.
///
/// # Errors
/// [`Problem::Packed`] or [`Problem::ByteOrderMark`].
pub(crate) fn check_start(bytes: &[u8]) -> Result<(), Problem> {
    /// The mark in UTF-16, in both byte orders.
    const MARKS_UTF16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
    let begins = |start: &[u8]| bytes.starts_with(start);
    if begins(&GZIP) {
        Err(Problem::Packed { by: "gzip" })
    } else if begins(&ZIP) {
        Err(Problem::Packed { by: "zip" })
    } else if begins(&BYTE_ORDER_MARK_UTF8) || MARKS_UTF16.iter().any(|mark| begins(mark)) {
        Err(Problem::ByteOrderMark)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_everything_wrong_with_it_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let look = |md5| {
            let mut defects = Vec::new();
            let text = look_at(&path, md5, &mut defects);
            (text, defects.into_iter().map(|defect| defect.problem).collect::<Vec<_>>())
        };
        assert_eq!(look(None), (None, vec![Problem::Missing]));
        fs::write(&path, "abc").unwrap();
        // RFC 1321, appendix A.5.
        const ABC: &str = "900150983cd24fb0d6963f7d28e17f72";
        assert_eq!(look(Some(ABC)), (Some("abc".to_owned()), vec![]));
        fs::write(&path, [b'a', 0xff]).unwrap();
        let (text, problems) = look(Some(ABC));
        assert_eq!((text, problems.len()), (None, 2), "{problems:?}");
        assert!(matches!(&problems[..], [Problem::Md5 { expected: ABC, .. }, Problem::NotText]));
    }

    #[test]
    fn packed_files_and_byte_order_marks_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let look = || {
            let mut defects = Vec::new();
            assert_eq!(look_at(&path, None, &mut defects), None);
            let error = read_text(&path).unwrap_err().to_string();
            assert!(error.ends_with(&format!("a.json: {}", defects[0].problem)), "{error}");
            defects.remove(0).problem
        };
        fs::write(folder.path().join("a.json.gz"), "").unwrap();
        assert_eq!(look(), Problem::PackedBeside { name: "a.json.gz".to_owned() });
        for (bytes, problem) in [
            (&b"\x1f\x8b\x08"[..], Problem::Packed { by: "gzip" }),
            (b"PK\x03\x04", Problem::Packed { by: "zip" }),
            (b"\xef\xbb\xbf{}", Problem::ByteOrderMark),
            (b"\xff\xfe{\0}\0", Problem::ByteOrderMark),
            (b"\xfe\xff\0{\0}", Problem::ByteOrderMark),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(look(), problem);
        }
        fs::remove_file(&path).unwrap();
        fs::remove_file(folder.path().join("a.json.gz")).unwrap();
        assert!(matches!(read_text(&path), Err(DatasetError::Read { .. })));
    }
}
