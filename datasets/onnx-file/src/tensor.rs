//! The values of a constant, inside the file or elsewhere.

use std::{borrow::Cow, io, path::Path};

use proctor_vocabulary::ElementType;

use crate::{
    elements::{ValueType, value_type},
    external,
    proto::TensorProto,
};

/// A constant with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorData<'a> {
    /// Type of the elements.
    pub element: ElementType,
    /// Extent of each dimension; none for a single element.
    pub shape: Vec<usize>,
    /// The elements, row-major and little-endian, without gaps.
    pub bytes: Cow<'a, [u8]>,
}

/// Reason why a constant cannot be read, to be put behind its name.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum TensorError {
    #[error("has the shape {0:?}")]
    Shape(Vec<i64>),
    #[error("holds {0}, which is not supported")]
    Type(ValueType),
    #[error("has {bytes} bytes, which are not whole values of {element}")]
    Parts { bytes: usize, element: ElementType },
    #[error("has {got} values, but the shape {shape:?} has {count}")]
    Count { got: usize, shape: Vec<usize>, count: usize },
    /// The entry that names the external file of the values makes no sense; the text says why.
    #[error("{0}")]
    Entry(String),
    #[error("is in {file}, which cannot be read: {source}")]
    External { file: String, source: io::Error },
}

impl<'a> TensorData<'a> {
    /// Reads a constant of a model that lies in `folder`, from the fields of the message or from another file.
    ///
    /// # Errors
    /// Returns a [`TensorError`].
    pub fn read(proto: &'a TensorProto, folder: &Path) -> Result<Self, TensorError> {
        let element = match value_type(proto.data_type.unwrap_or(0)) {
            ValueType::Tensor(element) => element,
            other => return Err(TensorError::Type(other)),
        };
        let refused = || TensorError::Shape(proto.dims.clone());
        let shape: Option<Vec<usize>> =
            proto.dims.iter().map(|extent| usize::try_from(*extent).ok()).collect();
        let shape = shape.ok_or_else(refused)?;
        // A dimension of 0 makes a tensor empty, but the others must be countable all the same.
        let full = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul((*extent).max(1)));
        let full = full.filter(|full| full.checked_mul(element.bits()).is_some()).ok_or_else(refused)?;
        let count = if shape.contains(&0) { 0 } else { full };
        let bytes = if external::is_external(proto) {
            Cow::Owned(external_bytes(proto, folder)?)
        } else if let Some(raw) = &proto.raw_data {
            if !raw.len().is_multiple_of(element.unit_bytes()) {
                return Err(TensorError::Parts { bytes: raw.len(), element });
            }
            Cow::Borrowed(raw.as_slice())
        } else {
            Cow::Owned(field_bytes(proto, element))
        };
        if bytes.len() != element.bytes_of(count) {
            return Err(TensorError::Count { got: bytes.len() * 8 / element.bits(), shape, count });
        }
        Ok(Self { element, shape, bytes })
    }
}

fn external_bytes(proto: &TensorProto, folder: &Path) -> Result<Vec<u8>, TensorError> {
    let data = external::read(proto, folder).map_err(TensorError::Entry)?;
    let file = data.file.display().to_string();
    data.bytes().map_err(|source| TensorError::External { file, source })
}

/// Returns the bytes of values that are in a field of their type.
fn field_bytes(proto: &TensorProto, element: ElementType) -> Vec<u8> {
    use ElementType::{F32, F64, I64, U32, U64};
    let size = element.unit_bytes();
    match element {
        F32 => proto.float_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        F64 => proto.double_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        I64 => proto.int64_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        U32 | U64 => {
            proto.uint64_data.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect()
        }
        // The lower bytes of an i32 are the bits of any smaller type, of 16-bit floating point too.
        _ => proto.int32_data.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{build::GraphBuilder, elements::data_type};

    fn proto(element: ElementType, dims: &[i64]) -> TensorProto {
        TensorProto { data_type: Some(data_type(element)), dims: dims.to_vec(), ..TensorProto::default() }
    }

    fn bytes(proto: &TensorProto) -> Vec<u8> {
        TensorData::read(proto, Path::new("")).unwrap().bytes.into_owned()
    }

    fn message(proto: &TensorProto) -> String {
        TensorData::read(proto, Path::new("")).unwrap_err().to_string()
    }

    #[test]
    fn every_type_is_read_from_its_field() {
        use ElementType::{Bf16, Bool, F8E4M3, F16, F32, F64, I4, I8, I16, I32, I64, U4, U8, U16, U32, U64};
        let floats = TensorProto { float_data: vec![1.5, -2.0], ..proto(F32, &[2]) };
        assert_eq!(bytes(&floats), [1.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat());
        let doubles = TensorProto { double_data: vec![0.1], ..proto(F64, &[]) };
        assert_eq!(bytes(&doubles), 0.1_f64.to_le_bytes());
        let longs = TensorProto { int64_data: vec![-3], ..proto(I64, &[1]) };
        assert_eq!(bytes(&longs), (-3_i64).to_le_bytes());
        for (element, expected) in [(U32, &[7, 1, 0, 0][..]), (U64, &[7, 1, 0, 0, 0, 0, 0, 0])] {
            let values = TensorProto { uint64_data: vec![263], ..proto(element, &[1]) };
            assert_eq!(bytes(&values), expected, "{element}");
        }
        for (element, expected) in [
            (I32, &[0xfe, 0xff, 0xff, 0xff][..]),
            (I16, &[0xfe, 0xff]),
            (U16, &[0xfe, 0xff]),
            (F16, &[0xfe, 0xff]),
            (Bf16, &[0xfe, 0xff]),
            (I8, &[0xfe]),
            (U8, &[0xfe]),
            (Bool, &[0xfe]),
            (F8E4M3, &[0xfe]),
        ] {
            let values = TensorProto { int32_data: vec![-2], ..proto(element, &[1]) };
            assert_eq!(bytes(&values), expected, "{element}");
        }
        for element in [I4, U4] {
            let pairs = TensorProto { int32_data: vec![0x21, 0x03], ..proto(element, &[3]) };
            assert_eq!(bytes(&pairs), [0x21, 0x03], "{element}");
        }
    }

    #[test]
    fn bytes_that_are_no_whole_tensor_are_refused() {
        let raw = |element, dims: &[i64], size| TensorProto {
            raw_data: Some(vec![0; size]),
            ..proto(element, dims)
        };
        assert_eq!(bytes(&raw(ElementType::F16, &[0, 5], 0)), []);
        assert_eq!(
            message(&raw(ElementType::F16, &[2], 3)),
            "has 3 bytes, which are not whole values of f16"
        );
        assert_eq!(message(&raw(ElementType::I64, &[2], 8)), "has 1 values, but the shape [2] has 2");
        assert_eq!(message(&raw(ElementType::I8, &[2, -1], 8)), "has the shape [2, -1]");
        assert_eq!(
            message(&raw(ElementType::I8, &[i64::MAX, 9, 0], 0)),
            format!("has the shape [{}, 9, 0]", i64::MAX)
        );
        let text = TensorProto { data_type: Some(8), ..TensorProto::default() };
        assert_eq!(message(&text), "holds string, which is not supported");
    }

    #[test]
    fn values_elsewhere_are_read_from_the_folder_of_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let mut graph = GraphBuilder::new("g");
        graph.external("w", ElementType::I16, &[2], "w.bin", 3);
        let proto = graph.into_model().graph.unwrap().initializer.remove(0);
        let read = || TensorData::read(&proto, folder.path());
        assert!(read().unwrap_err().to_string().contains("w.bin, which cannot be read"));
        fs::write(folder.path().join("w.bin"), [0, 0, 0, 1, 2, 3]).unwrap();
        assert!(read().unwrap_err().to_string().contains("which cannot be read"));
        fs::write(folder.path().join("w.bin"), [0, 0, 0, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!(&read().unwrap().bytes[..], [1, 2, 3, 4]);
    }
}
