//! The header: the first 348 bytes.

use crate::{
    affine::{Affine, Placement},
    data_type::DataType,
    error::NiftiError,
};

/// Size of the header in bytes.
pub(crate) const HEADER_BYTES: usize = 348;
/// The least offset of voxels in a single file: the header, and four bytes that announce extensions.
pub(crate) const DATA_OFFSET_MIN: usize = 352;
/// Size of the header of NIfTI-2, which identifies it.
const NIFTI_2_HEADER_BYTES: u32 = 540;
pub(crate) const MAGIC: &[u8; 4] = b"n+1\0";
const MAGIC_OF_PAIR: &[u8; 4] = b"ni1\0";

/// Order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// Type, extents and place of the voxels of a file.
#[derive(Debug, Clone)]
pub struct Header {
    shape: Vec<usize>,
    data_type: DataType,
    byte_order: ByteOrder,
    /// `None` if the values need no scaling.
    scaling: Option<(f64, f64)>,
    data_offset: u64,
    placement: Placement,
}

impl Header {
    /// Reads the header of a file that is not compressed.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, NiftiError> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(short("the header", HEADER_BYTES as u64, bytes.len()));
        };
        let fields = Fields { bytes, order: byte_order(bytes)? };
        match &fields.array::<4>(344) {
            MAGIC => {}
            MAGIC_OF_PAIR => return Err(NiftiError::Pair),
            magic => return Err(NiftiError::Magic(*magic)),
        }
        let shape = shape(&fields)?;
        let data_type = DataType::from_code(fields.i16(70))?;
        let bits = i16::try_from(data_type.size_bytes() * 8).expect("at most 64");
        let got = fields.i16(72);
        if got != bits {
            return Err(NiftiError::BitsPerVoxel { data_type: data_type.name(), expected: bits, got });
        }
        let offset = fields.f32(108);
        if offset < DATA_OFFSET_MIN as f32 || offset.fract() != 0.0 || !offset.is_finite() {
            return Err(NiftiError::Offset(offset));
        }
        Ok(Self {
            data_type,
            byte_order: fields.order,
            scaling: scaling(fields.f32(112), fields.f32(116))?,
            data_offset: offset as u64,
            placement: placement(&fields, &shape),
            shape,
        })
    }

    /// Returns the extents, the first axis first, which is the fastest in the file.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the three extents of a volume. Further axes may have an extent of 1.
    ///
    /// # Errors
    /// [`NiftiError::Rank`].
    pub fn volume_shape(&self) -> Result<[usize; 3], NiftiError> {
        match self.shape.split_first_chunk::<3>() {
            Some((shape, rest)) if rest.iter().all(|extent| *extent == 1) => Ok(*shape),
            _ => Err(NiftiError::Rank(self.shape.clone())),
        }
    }

    /// Returns the distances between voxels along the first three axes, in the file's unit, which is millimetres
    /// everywhere.
    ///
    /// # Errors
    /// [`NiftiError::Spacing`] if one is not above 0.
    pub fn spacing_mm(&self) -> Result<[f64; 3], NiftiError> {
        let spacing = self.placement.spacing;
        match spacing.into_iter().position(|value| !(value > 0.0 && value.is_finite())) {
            Some(axis) => Err(NiftiError::Spacing { axis: axis + 1, value: spacing[axis] }),
            None => Ok(spacing.map(f64::from)),
        }
    }

    /// Returns the type of the stored voxels.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Returns the order of the bytes of the file.
    #[must_use]
    pub fn byte_order(&self) -> ByteOrder {
        self.byte_order
    }

    /// Returns the slope and intercept that turn stored values into real ones; `None` if they are the same.
    #[must_use]
    pub fn scaling(&self) -> Option<(f64, f64)> {
        self.scaling
    }

    /// Returns where the volume lies.
    #[must_use]
    pub fn affine(&self) -> Affine {
        self.placement.affine()
    }

    /// Returns the byte at which the voxels begin.
    pub(crate) fn data_offset(&self) -> u64 {
        self.data_offset
    }

    /// Returns the size of all voxels in bytes; `None` if no memory is that large.
    pub(crate) fn data_bytes(&self) -> Option<usize> {
        let count = self.shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent))?;
        count.checked_mul(self.data_type.size_bytes())
    }
}

pub(crate) fn short(part: &'static str, expected: u64, got: usize) -> NiftiError {
    NiftiError::Short { part, expected, got: got as u64 }
}

fn byte_order(bytes: &[u8; HEADER_BYTES]) -> Result<ByteOrder, NiftiError> {
    let size = [bytes[0], bytes[1], bytes[2], bytes[3]];
    let (little, big) = (u32::from_le_bytes(size), u32::from_be_bytes(size));
    if little == HEADER_BYTES as u32 {
        Ok(ByteOrder::Little)
    } else if big == HEADER_BYTES as u32 {
        Ok(ByteOrder::Big)
    } else if little == NIFTI_2_HEADER_BYTES || big == NIFTI_2_HEADER_BYTES {
        Err(NiftiError::Nifti2)
    } else {
        Err(NiftiError::NotNifti(little))
    }
}

fn shape(fields: &Fields<'_>) -> Result<Vec<usize>, NiftiError> {
    let dim: [i16; 8] = std::array::from_fn(|index| fields.i16(40 + 2 * index));
    let rank = usize::try_from(dim[0]).ok().filter(|rank| (1..=7).contains(rank));
    let rank = rank.ok_or(NiftiError::Extents(dim))?;
    let extents =
        dim[1..=rank].iter().map(|extent| usize::try_from(*extent).ok().filter(|extent| *extent > 0));
    extents.collect::<Option<_>>().ok_or(NiftiError::Extents(dim))
}

/// Returns slope and intercept. A slope of 0, or one that is not a number, means that values are as stored.
///
/// Source: the standard's `nifti1.h`; nibabel takes a slope that is not a number for 0.
fn scaling(slope: f32, intercept: f32) -> Result<Option<(f64, f64)>, NiftiError> {
    if slope == 0.0 || !slope.is_finite() {
        Ok(None)
    } else if intercept.is_finite() {
        Ok(((slope, intercept) != (1.0, 0.0)).then_some((slope.into(), intercept.into())))
    } else {
        Err(NiftiError::Scaling { slope, intercept })
    }
}

fn placement(fields: &Fields<'_>, shape: &[usize]) -> Placement {
    let extent = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    Placement {
        handedness: fields.f32(76),
        spacing: std::array::from_fn(|axis| fields.f32(80 + 4 * axis)),
        shape: std::array::from_fn(extent),
        has_quaternion: fields.i16(252) > 0,
        quaternion: std::array::from_fn(|index| fields.f32(256 + 4 * index)),
        offset: std::array::from_fn(|index| fields.f32(268 + 4 * index)),
        has_matrix: fields.i16(254) > 0,
        matrix: std::array::from_fn(|row| {
            std::array::from_fn(|column| fields.f32(280 + 16 * row + 4 * column))
        }),
    }
}

/// Numbers at fixed places.
struct Fields<'a> {
    bytes: &'a [u8; HEADER_BYTES],
    order: ByteOrder,
}

impl Fields<'_> {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|index| self.bytes[at + index])
    }

    fn i16(&self, at: usize) -> i16 {
        match self.order {
            ByteOrder::Little => i16::from_le_bytes(self.array(at)),
            ByteOrder::Big => i16::from_be_bytes(self.array(at)),
        }
    }

    fn f32(&self, at: usize) -> f32 {
        match self.order {
            ByteOrder::Little => f32::from_le_bytes(self.array(at)),
            ByteOrder::Big => f32::from_be_bytes(self.array(at)),
        }
    }
}
