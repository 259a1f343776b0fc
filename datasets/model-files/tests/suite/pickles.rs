//! Writes checkpoints, as `torch.save` does.

use std::io::{Cursor, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

/// A tensor of a checkpoint; strides count elements.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    pub(crate) name: &'static str,
    pub(crate) storage: &'static str,
    pub(crate) shape: Vec<u32>,
    pub(crate) strides: Vec<u32>,
    pub(crate) offset: u32,
    /// The values of its storage.
    pub(crate) bytes: Vec<u8>,
    pub(crate) element_bytes: usize,
}

impl Saved {
    /// Returns a tensor of f32 whose values lie one behind the other.
    pub(crate) fn of_f32(name: &'static str, shape: &[u32], values: &[f32]) -> Self {
        let strides = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self {
            name,
            storage: "FloatStorage",
            shape: shape.to_vec(),
            strides,
            offset: 0,
            bytes,
            element_bytes: 4,
        }
    }
}

/// Writes the instruction that looks up a name.
pub(crate) fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn int(value: u32) -> Vec<u8> {
    [b"J", &value.to_le_bytes()[..]].concat()
}

fn tuple(values: &[u32]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| int(*value)).collect();
    [b"(", &values[..], b"t"].concat()
}

/// Writes a pickle of the second version.
pub(crate) fn pickle(instructions: &[u8]) -> Vec<u8> {
    [b"\x80\x02", instructions, b"."].concat()
}

/// Writes the instructions for a tensor; `behind_storage` is what its storage has behind its number of values.
pub(crate) fn tensor(saved: &Saved, key: usize, behind_storage: &[u8]) -> Vec<u8> {
    let count = (saved.bytes.len() / saved.element_bytes) as u32;
    [
        &global("torch._utils", "_rebuild_tensor_v2")[..],
        b"((",
        &text("storage"),
        &global("torch", saved.storage),
        &text(&key.to_string()),
        &text("cpu"),
        &int(count),
        behind_storage,
        b"tQ",
        &int(saved.offset),
        &tuple(&saved.shape),
        &tuple(&saved.strides),
        b"\x89",
        &global("collections", "OrderedDict"),
        b")RtR",
    ]
    .concat()
}

/// Writes the pickle of a table. Behind its tensors are the versions of its modules, as of any model.
pub(crate) fn table(tensors: &[Saved], behind_storage: &[u8]) -> Vec<u8> {
    let mut instructions = [&global("collections", "OrderedDict")[..], b"q\x00)Rq\x01("].concat();
    for (key, saved) in tensors.iter().enumerate() {
        instructions.extend(text(saved.name));
        instructions.extend(tensor(saved, key, behind_storage));
    }
    let versions = [b"u}q\x02", &text("_metadata")[..], b"h\x00)R", &text("version"), b"K\x01ssb"].concat();
    instructions.extend(versions);
    pickle(&instructions)
}

/// Writes a checkpoint in the old form around the pickle of its table.
pub(crate) fn old_around(table: &[u8], tensors: &[Saved]) -> Vec<u8> {
    let keys: Vec<u8> = (0..tensors.len()).flat_map(|key| text(&key.to_string())).collect();
    let mut file = pickle(b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19");
    file.extend(pickle(b"M\xe9\x03"));
    file.extend(pickle(&[b"}(", &text("little_endian")[..], b"\x88u"].concat()));
    file.extend(table);
    file.extend(pickle(&[b"](", &keys[..], b"e"].concat()));
    for saved in tensors {
        file.extend(((saved.bytes.len() / saved.element_bytes) as u64).to_le_bytes());
        file.extend(&saved.bytes);
    }
    file
}

/// Writes a checkpoint in the form of an archive around the pickle of its table.
pub(crate) fn zip_around(table: &[u8], tensors: &[Saved]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, bytes: &[u8]| {
        archive
            .start_file(name, SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored))
            .unwrap();
        archive.write_all(bytes).unwrap();
    };
    add("model/data.pkl", table);
    add("model/byteorder", b"little");
    for (key, saved) in tensors.iter().enumerate() {
        add(&format!("model/data/{key}"), &saved.bytes);
    }
    archive.finish().unwrap().into_inner()
}

/// Writes a checkpoint in the old form.
pub(crate) fn old_form(tensors: &[Saved]) -> Vec<u8> {
    old_around(&table(tensors, b"N"), tensors)
}

/// Writes a checkpoint in the form of an archive.
pub(crate) fn zip_form(tensors: &[Saved]) -> Vec<u8> {
    zip_around(&table(tensors, b""), tensors)
}
