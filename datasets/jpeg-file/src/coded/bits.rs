//! The bits of a scan.

/// The coded bytes up to a marker, without the zeros that follow each 0xff.
#[derive(Debug, Default)]
pub(crate) struct Interval {
    /// The bytes, followed by some zeros.
    bytes: Vec<u8>,
    /// Number of its bytes that belong to the file.
    size: usize,
    /// Place of the marker in the file, or its end.
    marker: usize,
}

/// Zero bytes appended so that a whole word can be read at any position.
const BEHIND: usize = size_of::<u64>();

impl Interval {
    /// Takes the bytes from a place of the file on.
    #[inline(always)]
    pub(crate) fn start(&mut self, file: &[u8], position: usize) {
        self.bytes.clear();
        let mut begin = position.min(file.len());
        self.marker = loop {
            let end = ones(file, begin);
            match file.get(end + 1) {
                Some(0) => self.bytes.extend_from_slice(&file[begin..=end]),
                _ => {
                    self.bytes.extend_from_slice(&file[begin..end]);
                    break end;
                }
            }
            begin = end + 2;
        };
        self.size = self.bytes.len();
        self.bytes.extend([0; BEHIND]);
    }

    /// Returns the offset in the file of the marker that ends the bytes, or the size of a file without one.
    pub(crate) fn marker(&self) -> usize {
        self.marker
    }

    /// Returns whether bits beyond the end have been read.
    pub(crate) fn is_behind_end(&self, bits: Bits) -> bool {
        8 * bits.position - bits.count as usize > 8 * self.size
    }
}

/// Returns the position of the next 0xff at or after a position, or the end.
#[inline(always)]
fn ones(file: &[u8], from: usize) -> usize {
    const STEP: usize = 32;
    let mut place = from;
    while let Some(bytes) = file.get(place..).and_then(<[u8]>::first_chunk::<STEP>) {
        if bytes.iter().fold(0, |most, byte| most.max(*byte)) == 0xff {
            break;
        }
        place += STEP;
    }
    file[place..].iter().position(|byte| *byte == 0xff).map_or(file.len(), |more| place + more)
}

/// A reader of the bits of an interval: the first bit of a byte is its highest. Zeros follow the last one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bits {
    /// Place of the next byte that is not in the buffer.
    position: usize,
    /// The next bits, from the highest.
    buffer: u64,
    /// Number of valid bits; the ones behind them are zero or belong to the next bytes.
    count: u32,
}

impl Bits {
    /// Refills until at least 56 bits are ready. It contains no branch that depends on the bits, since the lengths of
    /// earlier codes cannot be predicted.
    #[inline(always)]
    pub(crate) fn fill(&mut self, interval: &Interval) {
        let bytes = interval.bytes.get(self.position..).and_then(|rest| rest.first_chunk());
        let next = bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes));
        // Bits of the byte that is only begun are here already when it is read again.
        self.buffer |= next >> self.count;
        let whole = (63 - self.count) / 8;
        self.position += whole as usize;
        self.count += 8 * whole;
    }

    /// Returns how many bits are ready.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the next bits, at most 16 and at least 1, that [`Bits::fill`] has prepared.
    #[inline(always)]
    pub(crate) fn peek(&self, count: u32) -> usize {
        (self.buffer >> (64 - count)) as usize
    }

    /// Passes over bits, as many as are ready at most.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        self.buffer <<= count;
        self.count -= count;
    }

    /// Reads a number of bits, 0 to 16, that are ready.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        // In two steps, since a shift by 64 is not defined.
        let value = (self.buffer >> 1 >> (63 - count)) as u32;
        self.skip(count);
        value
    }

    /// Returns the number of `size` bits, 0 to 15, behind the next `offset` bits. All of them must be ready. A number
    /// that begins with a zero is negative.
    #[inline(always)]
    pub(crate) fn signed_behind(&self, offset: u32, size: u32) -> i16 {
        let rest = self.buffer << offset;
        // In two steps, since a shift by 64 is not defined.
        let value = (rest >> 1 >> (63 - size)) as i32;
        // All ones if the first bit is a zero.
        let negative = !((rest as i64 >> 63) as i32);
        // It has fewer than 16 bits.
        (value - (negative & ((1 << size) - 1))) as i16
    }

    /// Reads a number of `size` bits, 0 to 15, that are ready, as [`Bits::signed_behind`] has it.
    #[inline(always)]
    pub(crate) fn signed(&mut self, size: u32) -> i16 {
        let number = self.signed_behind(0, size);
        self.skip(size);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_bytes_without_stuffing_up_to_the_marker() {
        let mut bytes: Vec<u8> = (0..20).collect();
        bytes.extend([0xff, 0, 0xff, 0, 21, 0xff, 0xd9, 1, 2, 3]);
        let expected: Vec<u32> = (0..20).chain([255, 255, 21]).collect();
        let mut interval = Interval::default();
        interval.start(&bytes, 0);
        assert_eq!(interval.marker(), 25);
        for size in [1_u32, 3, 4, 8, 16] {
            let mut bits = Bits::default();
            let take = |bits: &mut Bits| {
                bits.fill(&interval);
                bits.take(size)
            };
            let mut read = Vec::new();
            for _ in 0..23 * 8 / size {
                let value = take(&mut bits);
                read.extend((0..size).rev().map(|bit| value >> bit & 1));
            }
            let all = expected.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
            assert!(all.take(read.len()).eq(read), "{size}");
            assert!(!interval.is_behind_end(bits));
            // The first may be the rest of the last byte.
            take(&mut bits);
            assert_eq!(take(&mut bits), 0);
            assert!(interval.is_behind_end(bits));
        }
    }

    #[test]
    fn an_interval_ends_at_a_marker_or_with_the_file() {
        let mut interval = Interval::default();
        let mut long = vec![7; 100];
        long.extend([0xff, 0xd0, 1]);
        for (file, position, size, marker) in [
            (&[1, 0xff, 0, 2][..], 0, 3, 4),
            (&[1, 0xff, 0xff, 0], 0, 1, 1),
            (&[1, 0xff], 1, 0, 1),
            (&[1], 9, 0, 1),
            (&[], 0, 0, 0),
            (&long, 40, 60, 100),
        ] {
            interval.start(file, position);
            assert_eq!((interval.size, interval.marker()), (size, marker), "{file:?}");
            let mut bits = Bits::default();
            bits.fill(&interval);
            bits.skip(1);
            assert_eq!(interval.is_behind_end(bits), size == 0, "{file:?}");
        }
    }

    #[test]
    fn numbers_that_begin_with_a_zero_are_negative() {
        let mut interval = Interval::default();
        interval.start(&[0b0100_0110, 0b1100_0000], 0);
        let mut bits = Bits::default();
        bits.fill(&interval);
        assert_eq!([1, 1, 2, 2, 2, 2].map(|size| bits.signed(size)), [-1, 1, -3, -2, 2, 3]);
    }
}
