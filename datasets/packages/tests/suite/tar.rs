//! The reader of tar archives.

use std::io::{self, Read};

use proctor_packages::{Tar, TarError};
use proptest::{collection::vec, prelude::*};

use crate::bed::{tar, tar_header};

/// Reads all files of an archive, and returns the names and contents.
fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, TarError> {
    let (mut tar, mut found) = (Tar::new(bytes), Vec::new());
    while let Some(name) = tar.next_file()? {
        let mut content = Vec::new();
        tar.read_to_end(&mut content)?;
        found.push((name, content));
    }
    Ok(found)
}

/// Returns an archive with this record before a file `short` of three letters.
fn with_record(kind: u8, record: &[u8]) -> Vec<u8> {
    let mut bytes = tar_header("record", record.len() as u64, kind).to_vec();
    bytes.extend(record);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes.extend(tar(&[("short", b"abc")]));
    bytes
}

#[test]
fn regular_files_come_in_their_order() {
    let long = vec![7; 1000];
    let mut bytes = tar_header("folder/", 0, b'5').to_vec();
    bytes.extend(tar(&[("./folder/a", b"abc"), ("empty", b""), ("b", &long)]));
    let found = read(&bytes).unwrap();
    let expected = [("folder/a", b"abc".to_vec()), ("empty", Vec::new()), ("b", long)];
    assert_eq!(found, expected.map(|(name, content)| (name.to_owned(), content)));
    // A file that nobody reads is passed over.
    let mut tar = Tar::new(&bytes[..]);
    let names: Vec<_> = std::iter::from_fn(|| tar.next_file().unwrap()).collect();
    assert_eq!(names, ["folder/a", "empty", "b"]);
}

#[test]
fn long_names_of_gnu_and_pax_are_taken() {
    let long = "x".repeat(200);
    let names = |bytes: &[u8]| read(bytes).unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&with_record(b'L', format!("{long}\0").as_bytes())), [long.as_str()]);
    let path = format!("210 path={long}\n");
    assert_eq!(path.len(), 210);
    assert_eq!(names(&with_record(b'x', format!("12 mtime=10\n{path}").as_bytes())), [long.as_str()]);
    assert_eq!(names(&with_record(b'g', b"12 mtime=10\n")), ["short"]);
    let mut header = tar_header("name", 0, b'0');
    header[345..351].copy_from_slice(b"folder");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    assert_eq!(names(&header), ["folder/name"]);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let good = tar(&[("a", b"abc")]);
    let refused = |bytes: &[u8]| read(bytes).unwrap_err();
    let mut torn = good.clone();
    torn[0] = b'b';
    assert!(matches!(refused(&torn), TarError::Sum { at: 0 }));
    assert!(matches!(refused(&good[..100]), TarError::Cut { at: 100 }));
    let TarError::Io(error) = refused(&good[..513]) else { panic!("it is read") };
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(matches!(refused(&with_record(b'x', b"path=a\n")), TarError::Name { at: 0 }));
    assert!(matches!(refused(&with_record(b'x', b"99 path=a\n")), TarError::Name { at: 0 }));
    assert!(matches!(refused(&with_record(b'x', b"1 path=a\n")), TarError::Name { at: 0 }));
    assert!(matches!(refused(&tar_header("a", 1 << 20, b'L')), TarError::Name { .. }));
    assert_eq!(read(b"").unwrap(), []);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..2000)) {
        // More than is there cannot come of it.
        if let Ok(found) = read(&bytes) {
            prop_assert!(found.iter().map(|(_, content)| content.len()).sum::<usize>() <= bytes.len());
        }
    }

    #[test]
    fn a_changed_archive_is_read_or_refused(
        at in 0_usize..2560, byte: u8, content in vec(any::<u8>(), 0..600), length in 0_usize..2560,
    ) {
        let mut bytes = with_record(b'x', b"10 path=a\n");
        bytes.extend(tar(&[("b", &content)]));
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(length);
        if let Ok(found) = read(&bytes) {
            prop_assert!(found.iter().map(|(_, content)| content.len()).sum::<usize>() <= bytes.len());
        }
    }

    #[test]
    fn what_is_written_is_read(contents in vec(vec(any::<u8>(), 0..1500), 0..5)) {
        let named: Vec<_> = contents.iter().enumerate().map(|(index, it)| (format!("f/{index}"), it)).collect();
        let members: Vec<_> = named.iter().map(|(name, it)| (name.as_str(), it.as_slice())).collect();
        let found = read(&tar(&members)).unwrap();
        prop_assert_eq!(found.len(), contents.len());
        for ((name, content), (expected_name, expected)) in found.iter().zip(&named) {
            prop_assert!(name == expected_name && content == *expected);
        }
    }
}
