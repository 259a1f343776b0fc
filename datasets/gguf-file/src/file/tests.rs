//! Files made byte by byte.

use std::{io::Cursor, path::Path};

use proptest::prelude::*;

use super::*;

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn value(name: &str, kind: u32, bytes: &[u8]) -> Vec<u8> {
    [text(name), kind.to_le_bytes().to_vec(), bytes.to_vec()].concat()
}

fn list(name: &str, kind: u32, count: u64, bytes: &[u8]) -> Vec<u8> {
    value(name, 9, &[&kind.to_le_bytes(), count.to_le_bytes().as_slice(), bytes].concat())
}

fn tensor(name: &str, extents: &[u64], kind: u32, offset: u64) -> Vec<u8> {
    let rank = u32::try_from(extents.len()).unwrap().to_le_bytes().to_vec();
    let extents: Vec<u8> = extents.iter().flat_map(|extent| extent.to_le_bytes()).collect();
    [text(name), rank, extents, kind.to_le_bytes().to_vec(), offset.to_le_bytes().to_vec()].concat()
}

/// A file with these values and tensors, and `data` bytes behind, which count up.
fn file(values: &[Vec<u8>], tensors: &[Vec<u8>], data: usize) -> Vec<u8> {
    let counts = [tensors.len() as u64, values.len() as u64].map(u64::to_le_bytes);
    let mut bytes = [b"GGUF\x03\0\0\0", counts.as_flattened()].concat();
    values.iter().chain(tensors).for_each(|part| bytes.extend_from_slice(part));
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend((0..data).map(|at| (at % 251) as u8));
    bytes
}

fn read(bytes: &[u8]) -> Result<GgufFile<Cursor<&[u8]>>, GgufError> {
    GgufFile::read(Path::new("a.gguf"), Cursor::new(bytes))
}

fn fault(bytes: &[u8]) -> Fault {
    match read(bytes) {
        Err(GgufError::Malformed { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

/// A file with everything that is read.
fn whole() -> Vec<u8> {
    let texts = [text("one"), text("zwölf")].concat();
    let values = [
        value("name", 8, &text("tiny")),
        value("heads", 4, &9_u32.to_le_bytes()),
        value("base", 6, &1e5_f32.to_le_bytes()),
        list("tokens", 8, 2, &texts),
        list("kinds", 5, 2, &[1, 0, 0, 0, 255, 255, 255, 255]),
    ];
    let tensors = [tensor("plain", &[3, 2], 0, 0), tensor("q4", &[32, 2], 3, 32), tensor("q8", &[64], 8, 96)];
    file(&values, &tensors, 164)
}

#[test]
fn values_and_tensors_are_there_by_name() {
    let bytes = whole();
    let mut file = read(&bytes).unwrap();
    assert_eq!((file.text("name").unwrap(), file.number("heads").unwrap()), ("tiny", 9.0));
    assert_eq!(file.number("base").unwrap(), 1e5);
    assert_eq!(file.texts("tokens").unwrap(), ["one", "zwölf"]);
    assert_eq!(file.integers("kinds").unwrap(), [1, -1]);
    assert_eq!(file.tensors().len(), 3);
    let data = &bytes[bytes.len() - 164..];
    for (name, shape, part) in
        [("plain", &[2, 3][..], 0..24), ("q4", &[2, 32], 32..72), ("q8", &[64], 96..164)]
    {
        assert_eq!(file.tensor(name).unwrap().shape, shape);
        assert_eq!(file.read_tensor(name).unwrap(), &data[part], "{name}");
    }
}

#[test]
fn what_is_not_there_or_of_another_type_is_named() {
    let bytes = file(&[], &[tensor("t", &[256], 12, 0)], 0);
    let mut other = read(&bytes).unwrap();
    let error = other.read_tensor("t").unwrap_err().to_string();
    assert_eq!(error, "tensor \"t\" of a.gguf has the kind 12; F32, Q4_1 and Q8_0 can be read");
    let error = other.read_tensor("u").unwrap_err().to_string();
    assert_eq!(error, "a.gguf has no tensor \"u\" among its 1");
    let bytes = whole();
    let file = read(&bytes).unwrap();
    let error = file.texts("name").unwrap_err().to_string();
    assert!(error.starts_with("a.gguf has no value \"name\" that is a list of texts"), "{error}");
    assert!(file.text("tokens").is_err() && file.number("name").is_err() && file.integers("none").is_err());
}

#[test]
fn each_mistake_is_told() {
    let name = || "t".to_owned();
    let mut newer = file(&[], &[], 0);
    newer[4] = 4;
    assert_eq!(fault(&newer), Fault::Version(4));
    assert_eq!(fault(b"GGML\x03\0\0\0"), Fault::Magic);
    assert_eq!(fault(b"GG"), Fault::Short { wanted: 4, left: 2 });
    assert_eq!(fault(&file(&[value("v", 13, &[])], &[], 0)), Fault::Type(13));
    assert_eq!(fault(&file(&[value("v", 8, b"\x01\0\0\0\0\0\0\0\xff")], &[], 0)), Fault::Text);
    assert_eq!(fault(&file(&[list("v", 9, 0, &[])], &[], 0)), Fault::Nested("v".into()));
    assert_eq!(fault(&file(&[value("v", 10, &[255; 8])], &[], 0)), Fault::Number("v".into()));
    let twice = value("v", 0, &[1]);
    assert_eq!(fault(&file(&[twice.clone(), twice], &[], 0)), Fault::Twice("v".into()));
    for alignment in [0_u32, 3, 1 << 17] {
        let value = value("general.alignment", 4, &alignment.to_le_bytes());
        assert_eq!(fault(&file(&[value], &[], 0)), Fault::Alignment);
    }
    for extents in [&[][..], &[1; 5], &[0, 3], &[1 << 40, 1 << 40]] {
        assert_eq!(fault(&file(&[], &[tensor("t", extents, 0, 0)], 64)), Fault::Shape(name()), "{extents:?}");
    }
    assert_eq!(fault(&file(&[], &[tensor("t", &[48], 3, 0)], 64)), Fault::Blocks(name()));
    for (extent, offset) in [(17, 0), (1, 64), (1, 4), (1, u64::MAX - 31)] {
        assert_eq!(fault(&file(&[], &[tensor("t", &[extent], 0, offset)], 64)), Fault::Place(name()));
    }
}

#[test]
fn a_length_beyond_the_file_takes_no_memory() {
    let huge = 1_u64 << 60;
    let mut counts = file(&[], &[], 0);
    counts[8..16].copy_from_slice(&huge.to_le_bytes());
    let texts = file(&[list("v", 8, huge, &[])], &[], 0);
    let numbers = file(&[list("v", 12, huge, &[])], &[], 0);
    let text = file(&[value("v", 8, &huge.to_le_bytes())], &[], 0);
    for bytes in [counts, texts, numbers, text] {
        assert!(matches!(fault(&bytes), Fault::Short { .. }));
    }
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let bytes = whole();
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length}");
    }
    assert!(GgufFile::open(Path::new("/nowhere.gguf")).unwrap_err().to_string().contains("/nowhere.gguf"));
}

proptest! {
    #[test]
    fn changed_bytes_are_read_or_refused(changes in prop::collection::vec((0..400_usize, any::<u8>()), 1..6)) {
        let mut bytes = whole();
        let length = bytes.len();
        changes.into_iter().for_each(|(at, byte)| bytes[at % length] = byte);
        if let Ok(mut file) = read(&bytes) {
            let names: Vec<String> = file.tensors().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                let read = file.read_tensor(&name);
                prop_assert!(matches!(read, Ok(_) | Err(GgufError::Kind { .. })), "{:?}", read);
            }
        }
    }
}
