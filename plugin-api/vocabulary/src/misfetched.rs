//! Names of the files that downloads and checkouts leave where a model should be.

use crate::beginning::{self, BYTE_ORDER_MARK_UTF8};

/// Beginning of a pointer of Git LFS.
const LFS_START: &[u8] = b"version https://git-lfs.github.com/spec/";

const LFS: &str = "it is a pointer of Git LFS in place of the file: fetch the file by `git lfs pull`";
const PAGE: &str =
    "it is a web page, such as a server's answer in place of the file: download the file again";
const GZIP: &str = "it is packed by gzip: unpack it";
const ZIP: &str = "it is a zip archive: unpack it";

/// How web pages begin, in any case.
const PAGES: [&[u8]; 5] = [b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"];

/// Says what a file is that cannot be read as the model that it should be, by how it begins; `None` if that tells
/// nothing. A sound model may begin like a packed file, so this is to be asked of those alone that cannot be read.
#[must_use]
pub fn misfetched(file: &[u8]) -> Option<&'static str> {
    let text = file.strip_prefix(&BYTE_ORDER_MARK_UTF8).unwrap_or(file).trim_ascii_start();
    let begins = |page: &&[u8]| text.get(..page.len()).is_some_and(|start| start.eq_ignore_ascii_case(page));
    let starts: [(&[u8], &str); 3] = [(LFS_START, LFS), (&beginning::GZIP, GZIP), (&beginning::ZIP, ZIP)];
    let found = starts.into_iter().find(|(start, _)| file.starts_with(start));
    found.map(|(_, words)| words).or_else(|| PAGES.iter().any(begins).then_some(PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_pages_and_packed_files_are_told_from_models() {
        for (file, expected) in [
            (&b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"[..], Some(LFS)),
            (b"<!DOCTYPE html>\n<html lang=\"en\">", Some(PAGE)),
            (b"\xef\xbb\xbf\r\n  <HTML>", Some(PAGE)),
            (b"<?xml version=\"1.0\"?><Error>", Some(PAGE)),
            (b"\x1f\x8b\x08\0", Some(GZIP)),
            (b"PK\x03\x04", Some(ZIP)),
            (b"", None),
            (b"version 3", None),
            (b"<\0\0\0\0\0\0\0{\"a\":", None),
            (b"\x08\x0a\x12\x07pytorch", None),
        ] {
            assert_eq!(misfetched(file), expected, "{}", String::from_utf8_lossy(file));
        }
    }
}
