//! Files that downloads, checkouts and editors leave in place of the wanted one, named by how they begin.

use std::io;

use crate::beginning::{BYTE_ORDER_MARK_UTF8, BYTE_ORDER_MARKS_UTF16, GZIP, ZIP};

/// Beginning of a pointer of Git LFS.
const LFS_START: &[u8] = b"version https://git-lfs.github.com/spec/";

const LFS: &str = "it is a pointer of Git LFS in place of the file: fetch the file by `git lfs pull`";
const PAGE: &str =
    "it is a web page, such as a server's answer in place of the file: download the file again";
const PACKED: &str = "it is packed by gzip: unpack it";
const ARCHIVE: &str = "it is a zip archive: unpack it";
const UTF16: &str = "it is text in UTF-16: save it as UTF-8";
const MARKED: &str = "it begins with a byte order mark: save it as UTF-8 without one";

/// Beginnings of web pages, in any case.
const PAGES: [&[u8]; 5] = [b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"];

/// Names the kind of a file that cannot be read as the expected kind, by its beginning; `None` if that is
/// inconclusive. A sound model may begin like a packed file, so ask this only about a file that cannot be read.
#[must_use]
pub fn misfetched(file: &[u8]) -> Option<&'static str> {
    let text = file.strip_prefix(&BYTE_ORDER_MARK_UTF8).unwrap_or(file).trim_ascii_start();
    let begins = |page: &&[u8]| text.get(..page.len()).is_some_and(|start| start.eq_ignore_ascii_case(page));
    let starts: [(&[u8], &str); 3] = [(LFS_START, LFS), (&GZIP, PACKED), (&ZIP, ARCHIVE)];
    let found = starts.into_iter().find(|(start, _)| file.starts_with(start));
    let found = found.map(|(_, words)| words).or_else(|| is_utf16(file).then_some(UTF16));
    found.or_else(|| PAGES.iter().any(begins).then_some(PAGE))
}

/// Reason why a file is not the requested one; as text it says so to the user.
#[derive(Debug, thiserror::Error)]
pub enum NotIntact {
    /// The file cannot be read, or should be text and is not UTF-8.
    #[error("cannot read it: {0}")]
    Unread(io::Error),
    /// The file is of another kind, as [`misfetched`] names it.
    #[error("{0}")]
    Misfetched(&'static str),
}

/// Returns the bytes of a file as `std::fs::read` does, for readers that may call [`misfetched`] before anything else:
/// no sound file of theirs begins like one of those.
///
/// # Errors
/// [`NotIntact`].
pub fn intact_bytes(read: io::Result<Vec<u8>>) -> Result<Vec<u8>, NotIntact> {
    let bytes = read.map_err(NotIntact::Unread)?;
    match misfetched(&bytes) {
        Some(words) => Err(NotIntact::Misfetched(words)),
        None => Ok(bytes),
    }
}

/// Returns the same as text in UTF-8. A byte order mark stays in it, for the reader to judge.
///
/// # Errors
/// Returns the errors of [`intact_bytes`], and [`NotIntact::Unread`] if the bytes are not UTF-8.
pub fn intact_text(read: io::Result<Vec<u8>>) -> Result<String, NotIntact> {
    String::from_utf8(intact_bytes(read)?)
        .map_err(|error| NotIntact::Unread(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Returns why a file cannot be read as text in UTF-8, by its beginning: as [`misfetched`], or because of a
/// byte order mark. `None` if there is no evidence against it.
#[must_use]
pub fn not_text(file: &[u8]) -> Option<&'static str> {
    misfetched(file).or_else(|| file.starts_with(&BYTE_ORDER_MARK_UTF8).then_some(MARKED))
}

/// Returns whether a text begins with UTF-16's mark, or else with two ASCII characters in two bytes each.
fn is_utf16(file: &[u8]) -> bool {
    let is_ascii = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    BYTE_ORDER_MARKS_UTF16.iter().any(|mark| file.starts_with(mark))
        || matches!(*file, [a, 0, b, 0, ..] | [0, a, 0, b, ..] if is_ascii(a) && is_ascii(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_pages_texts_and_packed_files_are_told_from_models() {
        for (file, expected) in [
            (&b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"[..], Some(LFS)),
            (b"<!DOCTYPE html>\n<html lang=\"en\">", Some(PAGE)),
            (b"\xef\xbb\xbf\r\n  <HTML>", Some(PAGE)),
            (b"<?xml version=\"1.0\"?><Error>", Some(PAGE)),
            (b"\x1f\x8b\x08\0", Some(PACKED)),
            (b"PK\x03\x04", Some(ARCHIVE)),
            (b"\xff\xfe[\0", Some(UTF16)),
            (b"\xfe\xff\0[", Some(UTF16)),
            (b"[\0\n\0", Some(UTF16)),
            (b"\0<\0h", Some(UTF16)),
            (b"", None),
            (b"version 3", None),
            (b"<\0\0\0\0\0\0\0{\"a\":", None),
            (b"\x08\x0a\x12\x07pytorch", None),
            (b"\0\0\x08\x03", None),
            (b"\xef\xbb\xbf[", None),
        ] {
            assert_eq!(misfetched(file), expected, "{}", String::from_utf8_lossy(file));
        }
    }

    #[test]
    fn a_file_that_is_read_whole_is_named_or_handed_over() {
        let text = |bytes: &[u8]| intact_text(Ok(bytes.to_vec())).map_err(|fault| fault.to_string());
        assert_eq!(text("ä = 1".as_bytes()), Ok("ä = 1".to_owned()));
        assert_eq!(text(b"\xef\xbb\xbfa"), Ok("\u{feff}a".to_owned()));
        assert_eq!(text(b"<!DOCTYPE html>\xff"), Err(PAGE.to_owned()));
        let not_utf8 = text(b"a\xff").unwrap_err();
        assert!(not_utf8.starts_with("cannot read it: invalid utf-8"), "{not_utf8}");
        assert_eq!(intact_bytes(Ok(b"a\xff".to_vec())).unwrap(), b"a\xff");
        assert!(matches!(intact_bytes(Ok(b"PK\x03\x04".to_vec())), Err(NotIntact::Misfetched(ARCHIVE))));
        assert!(matches!(intact_text(Err(io::ErrorKind::NotFound.into())), Err(NotIntact::Unread(_))));
    }

    #[test]
    fn a_text_has_no_mark_and_is_nothing_else() {
        assert_eq!(not_text(b"\xef\xbb\xbf{}"), Some(MARKED));
        assert_eq!(not_text(b"\xef\xbb\xbf<html>"), Some(PAGE));
        assert_eq!(not_text(b"\x1f\x8b"), Some(PACKED));
        for text in [&b""[..], b"{}", b"a.JPEG 1\n", "ä".as_bytes()] {
            assert_eq!(not_text(text), None);
        }
    }
}
