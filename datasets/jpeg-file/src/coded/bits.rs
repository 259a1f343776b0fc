//! The bits of a scan.

/// A reader of coded bits: the first bit of a byte is its highest, and a zero behind 0xff is no byte. Behind the last
/// byte, which is in front of a marker, come zeros.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits<'a> {
    /// The file, which scans are read from up to their end.
    bytes: &'a [u8],
    /// Place of the next byte that is not in the buffer.
    position: usize,
    /// The next bits, from the highest.
    buffer: u64,
    /// How many of them are read; those behind are zero, or those of the next bytes.
    count: u32,
    /// How many of them are zeros behind the end.
    padding: u32,
}

impl<'a> Bits<'a> {
    /// Starts at a place of the file.
    pub(crate) fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position, buffer: 0, count: 0, padding: 0 }
    }

    /// Has 32 bits ready at least.
    #[inline(always)]
    pub(crate) fn fill(&mut self) {
        const ONES: u64 = 0x0101_0101_0101_0101;
        if self.count > 32 {
            return;
        }
        if let Some(bytes) = self.bytes.get(self.position..).and_then(|rest| rest.first_chunk()) {
            let next = u64::from_be_bytes(*bytes);
            let inverse = !next;
            let has_marker = inverse.wrapping_sub(ONES) & next & (ONES << 7) != 0;
            if !has_marker {
                // Bits of the byte that is only begun are here already when it is read again.
                self.buffer |= next >> self.count;
                let whole = (63 - self.count) / 8;
                self.position += whole as usize;
                self.count += 8 * whole;
                return;
            }
        }
        *self = self.filled_by_bytes();
    }

    /// The same with bits from the next bytes, one after the other. By value, so that a reader which lives in registers
    /// need not leave them for it.
    #[cold]
    #[inline(never)]
    fn filled_by_bytes(mut self) -> Self {
        while self.count <= 56 {
            let byte = match (self.bytes.get(self.position), self.bytes.get(self.position + 1)) {
                (Some(0xff), Some(0)) => {
                    self.position += 2;
                    0xff
                }
                (Some(0xff), _) | (None, _) => {
                    self.padding += 8;
                    0
                }
                (Some(byte), _) => {
                    self.position += 1;
                    *byte
                }
            };
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
        self
    }

    /// The next bits, at most 16 and at least 1, that [`Bits::fill`] has made ready.
    #[inline(always)]
    pub(crate) fn peek(&self, count: u32) -> usize {
        (self.buffer >> (64 - count)) as usize
    }

    /// Passes over bits, as many as are ready at most.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        self.buffer <<= count;
        self.count = self.count.wrapping_sub(count);
    }

    /// Reads a number of bits, 0 to 16, that are ready.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        // In two steps, since a shift by 64 is none.
        let value = (self.buffer >> 1 >> (63 - count)) as u32;
        self.skip(count);
        value
    }

    /// The number of `size` bits, 0 to 15, behind the next `offset` bits, all of which are ready: those that begin with
    /// a zero are negative.
    #[inline(always)]
    pub(crate) fn signed_behind(&self, offset: u32, size: u32) -> i16 {
        let rest = self.buffer << offset;
        // In two steps, since a shift by 64 is none.
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

    /// Whether bits have been read that are not there.
    pub(crate) fn is_beyond_end(&self) -> bool {
        self.count < self.padding
    }

    /// Place of the marker behind the bits, once they have been read: the first from here.
    pub(crate) fn marker(&self) -> usize {
        let is_marker = |place: &usize| {
            self.bytes[*place] == 0xff && self.bytes.get(place + 1).is_none_or(|after| *after != 0)
        };
        (self.position..self.bytes.len()).find(is_marker).unwrap_or(self.bytes.len())
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
        for size in [1_u32, 3, 4, 8, 16] {
            let mut bits = Bits::at(&bytes, 0);
            let take = |bits: &mut Bits<'_>| {
                bits.fill();
                bits.take(size)
            };
            let mut read = Vec::new();
            for _ in 0..23 * 8 / size {
                let value = take(&mut bits);
                read.extend((0..size).rev().map(|bit| value >> bit & 1));
            }
            let all = expected.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
            assert!(all.take(read.len()).eq(read), "{size}");
            assert!(!bits.is_beyond_end());
            assert_eq!(bits.marker(), 25);
            bits.fill();
            bits.take(16);
            assert!(bits.is_beyond_end());
        }
    }

    #[test]
    fn numbers_that_begin_with_a_zero_are_negative() {
        let mut bits = Bits::at(&[0b0100_0110, 0b1100_0000], 0);
        bits.fill();
        assert_eq!([1, 1, 2, 2, 2, 2].map(|size| bits.signed(size)), [-1, 1, -3, -2, 2, 3]);
    }
}
