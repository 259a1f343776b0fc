//! Three axes of values.

/// Order in which the axes of a file become the axes of a [`Volume`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisOrder {
    /// The file's first axis comes first and is the slowest, as in nibabel.
    FirstSlowest,
    /// The file's first axis comes last and is the fastest, as in the file; SimpleITK uses this order.
    FirstFastest,
}

/// Values along three axes: row-major, contiguous, the last axis the fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume<T> {
    shape: [usize; 3],
    values: Vec<T>,
}

impl<T> Volume<T> {
    /// Creates a volume of these values.
    ///
    /// # Panics
    /// If there are not as many values as the extents say.
    #[must_use]
    pub fn new(shape: [usize; 3], values: Vec<T>) -> Self {
        let count: usize = shape.iter().product();
        assert_eq!(values.len(), count, "number of values of a volume of {shape:?}");
        Self { shape, values }
    }

    /// Returns the extents, the slowest axis first.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns all values.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns all values, without the extents.
    #[must_use]
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Returns the values along the last axis at these positions of the first two axes.
    ///
    /// # Panics
    /// If a position is out of range.
    #[must_use]
    pub fn row(&self, first: usize, second: usize) -> &[T] {
        let [_, extent, length] = self.shape;
        assert!(second < extent, "row {second} of {extent}");
        &self.values[(first * extent + second) * length..][..length]
    }
}
