//! Numbers that are the same in each run.

/// A linear congruential generator, from Knuth.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 40
    }

    /// Returns a number from 0 to `count` - 1.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() >> 8).unwrap() % count
    }

    /// Draws numbers from -1 to 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits are exact in f32")]
    pub(crate) fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next() as f32 / (1_u64 << 23) as f32 - 1.0).collect()
    }
}
