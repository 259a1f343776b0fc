//! Text files, as the check of a data set finds them.

use std::path::Path;

use md5::{Digest, Md5};
use proctor_datasets::text_of;
use proctor_vocabulary::read_regular;

use crate::defect::{Defect, Problem};

/// Reads a text file and adds its faults to the defects: that it cannot be read, is not text, or has another MD5 than
/// this one.
pub(crate) fn look_at(path: &Path, md5: Option<&'static str>, defects: &mut Vec<Defect>) -> Option<String> {
    let mut add = |problem| defects.push(Defect { path: path.to_owned(), problem });
    let bytes = read_regular(path).map_err(|error| add(Problem::of_reading(path, &error))).ok()?;
    if let Some(expected) = md5 {
        let got: String = Md5::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if got != expected {
            add(Problem::Md5 { expected, got });
        }
    }
    text_of(bytes).map_err(|fault| add(fault.into())).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::{TextFault, read_text};

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
        assert!(matches!(
            &problems[..],
            [Problem::Md5 { expected: ABC, .. }, Problem::Text(TextFault::NotUtf8)]
        ));
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
        assert_eq!(look(), Problem::Text(TextFault::PackedBeside { name: "a.json.gz".to_owned() }));
        for bytes in [&b"\x1f\x8b\x08"[..], b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0", b"<html>"] {
            fs::write(&path, bytes).unwrap();
            assert!(matches!(look(), Problem::Text(TextFault::Foreign(_))), "{bytes:?}");
        }
    }
}
