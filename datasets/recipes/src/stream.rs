//! The random numbers: splitmix64 read by position.

/// Increment of splitmix64's state: 2^64 divided by the golden ratio, odd.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Uniform bits by position: bits `i` are the `i`-th output of splitmix64 whose state starts at a key.
///
/// The key is mixed from a seed and the name of what is filled, so tensors do not depend on their order, and any part
/// of one can be made alone, on any thread. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// Returns the stream of the tensor `name`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        Self { key: mix(seed ^ fnv1a64(name)) }
    }

    /// Returns the stream of one sample: its key is the bits `sample` of this one.
    #[must_use]
    pub fn of_sample(self, sample: u64) -> Self {
        Self { key: self.bits(sample) }
    }

    /// Returns the 64 uniform bits at `position`.
    #[inline]
    #[must_use]
    pub fn bits(self, position: u64) -> u64 {
        mix(self.key.wrapping_add(position.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// Returns a value in `[-scale, scale)`, a multiple of `2^-23 * scale` up to one rounding.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "24 bits are exact in an f32")]
    pub fn uniform(self, position: u64, scale: f32) -> f32 {
        const STEP: f32 = 1.0 / (1 << 23) as f32;
        ((self.bits(position) >> 40) as f32 * STEP - 1.0) * scale
    }

    /// Returns a value in `[0, 1)`, a multiple of `2^-53`.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    pub fn unit(self, position: u64) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.bits(position) >> 11) as f64 * STEP
    }

    /// Returns a number in `0..count`; probabilities differ by at most `count` in 2^32.
    #[inline]
    #[must_use]
    pub fn below(self, position: u64, count: u32) -> u32 {
        (((self.bits(position) >> 32) * u64::from(count)) >> 32) as u32
    }
}

/// Returns the 64-bit FNV-1a hash of a text's bytes.
#[must_use]
pub fn fnv1a64(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Returns the output function of splitmix64.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_the_outputs_of_splitmix64_in_turn() {
        // The published outputs of splitmix64 from state 1234567.
        let stream = Stream { key: 1_234_567 };
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|position| stream.bits(position)), expected);
    }

    #[test]
    fn the_hash_has_its_published_values() {
        assert_eq!(fnv1a64(""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a64("foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn values_stay_in_their_ranges_and_spread_over_them() {
        let stream = Stream::new(7, "weight");
        let values: Vec<f32> = (0..10_000).map(|i| stream.uniform(i, 0.5)).collect();
        assert!(values.iter().all(|value| (-0.5..0.5).contains(value)));
        let mean = values.iter().sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.01, "{mean}");
        let spread = values.iter().map(|value| value * value).sum::<f32>() / 10_000.0;
        assert!((spread - 0.25 / 3.0).abs() < 0.003, "{spread}");
        assert!((0..1000).all(|i| stream.below(i, 7) < 7 && (0.0..1.0).contains(&stream.unit(i))));
        assert!((0..7).all(|number| (0..1000).any(|i| stream.below(i, 7) == number)));
    }

    #[test]
    fn names_seeds_and_samples_have_streams_of_their_own() {
        let stream = Stream::new(7, "weight");
        let others =
            [Stream::new(8, "weight"), Stream::new(7, "bias"), stream.of_sample(0), stream.of_sample(1)];
        assert!(others.iter().all(|other| other.bits(0) != stream.bits(0)));
        assert_ne!(others[2].bits(0), others[3].bits(0));
    }
}
