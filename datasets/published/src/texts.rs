//! Files of text, as a look at a data set finds them.

use std::{fs, io::ErrorKind, path::Path};

use md5::{Digest, Md5};
use proctor_datasets::{DatasetError, read_file};

use crate::defect::{Defect, Problem};

/// Reads a file of text and adds what is wrong with it to the defects: that it cannot be read, is no text, or has
/// another MD5 than this one.
pub(crate) fn look_at(path: &Path, md5: Option<&'static str>, defects: &mut Vec<Defect>) -> Option<String> {
    let mut add = |problem| defects.push(Defect { path: path.to_owned(), problem });
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            add(Problem::Missing);
            return None;
        }
        Err(error) => {
            add(Problem::Unreadable(error.kind()));
            return None;
        }
    };
    if let Some(expected) = md5 {
        let got: String = Md5::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if got != expected {
            add(Problem::Md5 { expected, got });
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(_) => {
            add(Problem::NotText);
            None
        }
    }
}

/// Reads a file of text of which a data set cannot be opened without.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`].
pub(crate) fn read_text(path: &Path) -> Result<String, DatasetError> {
    String::from_utf8(read_file(path)?).map_err(|_| DatasetError::Malformed {
        path: path.to_owned(),
        reason: "it is not UTF-8 text; restore it from the published archive".to_owned(),
    })
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
}
