//! The outermost fields of a file: whether they belong to a model, and whether the last one is whole.
//!
//! The decoder would only report that the input has ended, so a download that broke off could not be distinguished from
//! another kind of file.

use std::path::Path;

use proctor_vocabulary::misfetched;
use prost::{
    bytes::Buf,
    encoding::{WireType, decode_key, decode_varint},
};

use crate::error::OnnxFileError;

/// The fields of `ModelProto`, with their wire types and their names in errors.
const FIELDS: [(u32, WireType, &str); 12] = [
    (1, WireType::Varint, "version of the format"),
    (2, WireType::LengthDelimited, "name of the producer"),
    (3, WireType::LengthDelimited, "version of the producer"),
    (4, WireType::LengthDelimited, "domain"),
    (5, WireType::Varint, "version"),
    (6, WireType::LengthDelimited, "documentation"),
    (7, WireType::LengthDelimited, "graph"),
    (8, WireType::LengthDelimited, "list of operator sets"),
    (14, WireType::LengthDelimited, "metadata"),
    (20, WireType::LengthDelimited, "training information"),
    (25, WireType::LengthDelimited, "list of functions"),
    (26, WireType::LengthDelimited, "configuration of devices"),
];

/// Steps over the outermost fields.
pub(crate) fn check(path: &Path, bytes: &[u8]) -> Result<(), OnnxFileError> {
    let not_onnx = |what: &str| OnnxFileError::NotOnnx { path: path.to_owned(), what: what.to_owned() };
    if bytes.is_empty() {
        return Err(not_onnx("it is empty"));
    }
    let mut rest = bytes;
    while rest.has_remaining() {
        let begin = bytes.len() - rest.remaining();
        let known = decode_key(&mut rest).ok().and_then(|(tag, wire)| {
            FIELDS.into_iter().find(|(known, kind, _)| (*known, *kind) == (tag, wire))
        });
        let Some((_, wire, part)) = known else {
            let nothing = || format!("at byte {begin} begins nothing that an ONNX model consists of");
            return Err(not_onnx(&misfetched(bytes).map_or_else(nothing, str::to_owned)));
        };
        let cut_short = |needed: usize| OnnxFileError::CutShort {
            path: path.to_owned(),
            part,
            needed_bytes: needed as u64,
            size_bytes: bytes.len() as u64,
        };
        let value = decode_varint(&mut rest).map_err(|_| cut_short(bytes.len() + 1))?;
        if wire == WireType::LengthDelimited {
            let length = usize::try_from(value).unwrap_or(usize::MAX);
            if length > rest.remaining() {
                return Err(cut_short((bytes.len() - rest.remaining()).saturating_add(length)));
            }
            rest.advance(length);
        }
    }
    Ok(())
}
