//! Huffman tables for decoding a code in one look-up.

use crate::coded::bits::Bits;

/// Number of bits looked up at once; longer codes are rare.
const LOOKUP_BITS: u32 = 10;

/// A Huffman table of T.81, annex C. The lower four bits of each of its symbols are the size of a number that follows
/// the code, which is true for first coefficients, and for the others of sequential pictures.
#[derive(Debug, Clone)]
pub(crate) struct HuffmanTable {
    /// The code that the next bits begin with: its symbol in the upper byte, and in the lower one its bits with those
    /// of the number. 0 if the code is longer than the table's.
    codes: Box<[u16; 1 << LOOKUP_BITS]>,
    /// For each length, the first 16 bits beyond its codes.
    ends: [u32; 17],
    /// For each length, the offset from a code to its symbol.
    offsets: [i32; 17],
    symbols: Vec<u8>,
}

/// A symbol with the number that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coded {
    pub(crate) symbol: u8,
    /// 0 if the size is 0.
    pub(crate) number: i16,
}

impl HuffmanTable {
    /// Maximum number of bits of a code with its number.
    pub(crate) const BITS_MAX: u32 = 16 + 15;

    /// Returns the table with `counts` codes of the lengths from 1 to 16, for these symbols. `None` if there are more
    /// codes than fit their lengths.
    pub(crate) fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Self> {
        let mut table = Self {
            codes: Box::new([0; 1 << LOOKUP_BITS]),
            ends: [0; 17],
            offsets: [0; 17],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, count) in (1_u32..).zip(counts) {
            let count = usize::from(*count);
            table.offsets[length as usize] = i32::try_from(place).ok()? - i32::try_from(code).ok()?;
            for symbol in symbols.get(place..place + count)? {
                if length <= LOOKUP_BITS {
                    let spread = 1 << (LOOKUP_BITS - length);
                    let first = (code as usize) * spread;
                    let whole = u16::try_from(length).ok()? + u16::from(size_of_symbol(*symbol));
                    table.codes.get_mut(first..first + spread)?.fill(u16::from(*symbol) << 8 | whole);
                }
                code += 1;
            }
            place += count;
            if code > 1 << length {
                return None;
            }
            table.ends[length as usize] = code << (16 - length);
            code <<= 1;
        }
        Some(table)
    }

    /// Looks up the code at the start of the next bits: its symbol, and its length including its number; 16 bits must
    /// be ready. `None` if there is no such code.
    #[inline(always)]
    fn next(&self, bits: &Bits) -> Option<(u8, u32)> {
        let [whole, symbol] = self.codes[bits.peek(LOOKUP_BITS)].to_le_bytes();
        if whole != 0 { Some((symbol, u32::from(whole))) } else { self.long(bits.peek(16)) }
    }

    /// Returns the same for a code that is longer than the table's, from these 16 bits.
    #[cold]
    #[inline(never)]
    fn long(&self, next: usize) -> Option<(u8, u32)> {
        let next = next as u32;
        let length = (LOOKUP_BITS + 1..=16).find(|length| next < self.ends[*length as usize])?;
        let place = (next >> (16 - length)) as i32 + self.offsets[length as usize];
        let symbol = *self.symbols.get(usize::try_from(place).ok()?)?;
        Some((symbol, length + u32::from(size_of_symbol(symbol))))
    }

    /// Reads a symbol without a number; 16 bits must be ready. `None` if there is no such code.
    #[inline(always)]
    pub(crate) fn read(&self, bits: &mut Bits) -> Option<u8> {
        let (symbol, whole) = self.next(bits)?;
        bits.skip(whole - u32::from(size_of_symbol(symbol)));
        Some(symbol)
    }

    /// Reads a symbol with its number; 31 bits must be ready. `None` if there is no such code.
    ///
    /// The table yields the start of the next code before the number is known, so reading is a chain of one look-up and
    /// one shift per code, without a branch.
    #[inline(always)]
    pub(crate) fn read_with_number(&self, bits: &mut Bits) -> Option<Coded> {
        let (symbol, whole) = self.next(bits)?;
        let size = u32::from(size_of_symbol(symbol));
        let number = bits.signed_behind(whole - size, size);
        bits.skip(whole);
        Some(Coded { symbol, number })
    }
}

#[inline(always)]
fn size_of_symbol(symbol: u8) -> u8 {
    symbol & 15
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coded::bits::Interval;

    fn bits(bytes: &[u8]) -> Bits {
        let mut interval = Interval::default();
        interval.start(bytes, 0);
        let mut bits = Bits::default();
        bits.fill(&interval);
        bits
    }

    /// Codes 0, 10, 110, and one of 12 bits.
    fn counts() -> [u8; 16] {
        let mut counts = [0; 16];
        (counts[0], counts[1], counts[2], counts[11]) = (1, 1, 1, 1);
        counts
    }

    #[test]
    fn codes_of_all_lengths_are_read() {
        let table = HuffmanTable::new(&counts(), &[5, 6, 7, 8]).unwrap();
        // 110, 0, 1110_0000_0000, 10
        let mut bits = self::bits(&[0b1100_1110, 0, 0b1000_0000]);
        assert_eq!([0; 4].map(|_| table.read(&mut bits)), [7, 5, 8, 6].map(Some));
        let mut bits = self::bits(&[0xf0, 0]);
        assert_eq!(table.read(&mut bits), None);
    }

    #[test]
    fn numbers_come_with_their_codes() {
        // Two zeros and a number of two bits; the end; sixteen zeros; a number of eight bits.
        let table = HuffmanTable::new(&counts(), &[0x22, 0x00, 0xf0, 0x08]).unwrap();
        // 0 01, 110, 0 11, 10, 1110_0000_0000 1000_0001
        let mut bits = self::bits(&[0b0011_1001, 0b1101_1100, 0b0000_0001, 0b0000_0010]);
        let mut read = || table.read_with_number(&mut bits).unwrap();
        assert_eq!(read(), Coded { symbol: 0x22, number: -2 });
        assert_eq!(read(), Coded { symbol: 0xf0, number: 0 });
        assert_eq!(read(), Coded { symbol: 0x22, number: 3 });
        assert_eq!(read(), Coded { symbol: 0x00, number: 0 });
        assert_eq!(read(), Coded { symbol: 0x08, number: 129 });
    }

    #[test]
    fn too_many_codes_are_refused() {
        let mut counts = [0; 16];
        counts[0] = 3;
        assert!(HuffmanTable::new(&counts, &[1, 2, 3]).is_none());
        counts[0] = 2;
        assert!(HuffmanTable::new(&counts, &[1]).is_none());
        assert!(HuffmanTable::new(&counts, &[1, 2]).is_some());
        counts[1] = 1;
        assert!(HuffmanTable::new(&counts, &[1, 2, 3]).is_none());
    }
}
