//! Turns voxels into millimetres.

/// Rows of the matrix that takes `[i, j, k, 1]`, positions by the axes of the file, to millimetres; the last row of the
/// usual four is always `0 0 0 1`.
pub type Affine = [[f64; 4]; 3];

/// Fields of a header that say where a volume lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement {
    /// `pixdim[0]`, the sign of the third axis.
    pub(crate) handedness: f32,
    pub(crate) spacing: [f32; 3],
    pub(crate) shape: [usize; 3],
    pub(crate) has_quaternion: bool,
    pub(crate) quaternion: [f32; 3],
    pub(crate) offset: [f32; 3],
    pub(crate) has_matrix: bool,
    pub(crate) matrix: [[f32; 4]; 3],
}

impl Placement {
    /// Returns the matrix if there is one, otherwise the affine of the quaternion, otherwise the one of Analyze 7.5:
    /// centred, with the first axis to the left. nibabel chooses in the same order.
    pub(crate) fn affine(&self) -> Affine {
        if self.has_matrix {
            return self.matrix.map(|row| row.map(f64::from));
        }
        let [dx, dy, dz] = self.spacing.map(f64::from);
        if !self.has_quaternion {
            let steps = [-dx, dy, dz];
            let centre = self.shape.map(|extent| (extent as f64 - 1.0) / 2.0);
            return std::array::from_fn(|row| {
                let mut values = [0.0; 4];
                values[row] = steps[row];
                values[3] = -centre[row] * steps[row];
                values
            });
        }
        let steps = [dx, dy, if self.handedness < 0.0 { -dz } else { dz }];
        let rotation = rotation(self.quaternion.map(f64::from));
        std::array::from_fn(|row| {
            let [x, y, z]: [f64; 3] = std::array::from_fn(|column| rotation[row][column] * steps[column]);
            [x, y, z, f64::from(self.offset[row])]
        })
    }
}

/// Returns the rotation of a unit quaternion whose first part is left out, since it is not negative and makes the
/// length 1.
///
/// Source: the standard's `nifti1.h`, method 2.
fn rotation([b, c, d]: [f64; 3]) -> [[f64; 3]; 3] {
    let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
    [
        [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - b * b - c * c],
    ]
}
