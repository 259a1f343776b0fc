//! Huffman tables, made for looking up several bits at a time.

use crate::coded::bits::Bits;

/// Bits that are looked up at once; longer codes are rare.
const LOOKUP_BITS: u32 = 10;

/// A Huffman table of T.81, annex C.
#[derive(Debug, Clone)]
pub(crate) struct HuffmanTable {
    /// Symbol and length of the code that the next bits begin with; 0 where it is longer.
    codes: Box<[u16; 1 << LOOKUP_BITS]>,
    /// For each length, the first 16 bits that are beyond its codes.
    ends: [u32; 17],
    /// For each length, what leads from a code to its symbol.
    offsets: [i32; 17],
    symbols: Vec<u8>,
}

impl HuffmanTable {
    /// The table with so many codes of each length from 1 to 16, for these symbols. `None` if there are more codes than
    /// fit their lengths.
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
                    let entry = u16::from(*symbol) << 8 | u16::try_from(length).ok()?;
                    table.codes.get_mut(first..first + spread)?.fill(entry);
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

    /// Reads a symbol; 16 bits are ready. `None` if there is no such code.
    #[inline(always)]
    pub(crate) fn read(&self, bits: &mut Bits<'_>) -> Option<u8> {
        let [length, symbol] = self.codes[bits.peek(LOOKUP_BITS)].to_le_bytes();
        if length != 0 {
            bits.skip(u32::from(length));
            return Some(symbol);
        }
        self.read_long(bits)
    }

    #[cold]
    #[inline(never)]
    fn read_long(&self, bits: &mut Bits<'_>) -> Option<u8> {
        let next = bits.peek(16) as u32;
        let length = (LOOKUP_BITS + 1..=16).find(|length| next < self.ends[*length as usize])?;
        bits.skip(length);
        let place = (next >> (16 - length)) as i32 + self.offsets[length as usize];
        self.symbols.get(usize::try_from(place).ok()?).copied()
    }
}

/// A Huffman table of coefficients, with short numbers looked up together with their codes.
#[derive(Debug, Clone)]
pub(crate) struct CoefficientTable {
    pub(crate) table: HuffmanTable,
    entries: Box<[Entry; 1 << LOOKUP_BITS]>,
}

/// The code that the next bits begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Entry {
    /// Bits of the code, with those of the number if that is known; 0 for a code that is longer than what is looked up.
    pub(crate) length: u8,
    /// Zeros in front of the number. At the end of a block, and behind sixteen zeros, there is no number.
    pub(crate) run: u8,
    /// Bits of the number; 0 where it is known or there is none.
    pub(crate) size: u8,
    /// Whether there is a number.
    pub(crate) has_number: bool,
    /// The number if it is known.
    pub(crate) number: i16,
}

/// A run that leads beyond any block.
const END_OF_BLOCK: u8 = 64;

impl Entry {
    fn of_symbol(symbol: u8, length: u8) -> Self {
        let (run, size) = (symbol >> 4, symbol & 15);
        match (run, size) {
            (15, 0) => Self { length, run: 16, ..Self::default() },
            (_, 0) => Self { length, run: END_OF_BLOCK, ..Self::default() },
            _ => Self { length, run, size, has_number: true, number: 0 },
        }
    }
}

impl CoefficientTable {
    pub(crate) fn new(table: HuffmanTable) -> Self {
        let mut entries = Box::new([Entry::default(); 1 << LOOKUP_BITS]);
        for (next, entry) in entries.iter_mut().enumerate() {
            let [length, symbol] = table.codes[next].to_le_bytes();
            if length == 0 {
                continue;
            }
            *entry = Entry::of_symbol(symbol, length);
            let whole = u32::from(length) + u32::from(entry.size);
            if entry.has_number && whole <= LOOKUP_BITS {
                let number = (next as i32 >> (LOOKUP_BITS - whole)) & ((1 << entry.size) - 1);
                let is_negative = number >> (entry.size - 1) == 0;
                let number = if is_negative { number - (1 << entry.size) + 1 } else { number };
                // It has fewer bits than are looked up.
                entry.number = number as i16;
                entry.length = whole as u8;
                entry.size = 0;
            }
        }
        Self { table, entries }
    }

    /// Reads a code, with its number if both are short; 16 bits are ready. `None` if there is no such code.
    #[inline(always)]
    pub(crate) fn read(&self, bits: &mut Bits<'_>) -> Option<Entry> {
        let entry = self.entries[bits.peek(LOOKUP_BITS)];
        if entry.length != 0 {
            bits.skip(u32::from(entry.length));
            return Some(entry);
        }
        let symbol = self.table.read_long(bits)?;
        Some(Entry::of_symbol(symbol, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut bits = Bits::at(&[0b1100_1110, 0, 0b1000_0000], 0);
        bits.fill();
        assert_eq!([0; 4].map(|_| table.read(&mut bits)), [7, 5, 8, 6].map(Some));
        let mut bits = Bits::at(&[0xf0, 0], 0);
        bits.fill();
        assert_eq!(table.read(&mut bits), None);
    }

    #[test]
    fn short_numbers_come_with_their_codes() {
        // Two zeros and a number of two bits; the end; sixteen zeros; a number of eight bits.
        let table = CoefficientTable::new(HuffmanTable::new(&counts(), &[0x22, 0x00, 0xf0, 0x08]).unwrap());
        let mut bits = Bits::at(&[0b0_01_110_0_1, 0b1_1110_000, 0b0_0000_000], 0);
        bits.fill();
        let mut read = || table.read(&mut bits).unwrap();
        assert_eq!(read(), Entry { length: 3, run: 2, size: 0, has_number: true, number: -2 });
        assert_eq!(read(), Entry { length: 3, run: 16, size: 0, has_number: false, number: 0 });
        assert_eq!(read(), Entry { length: 3, run: 2, size: 0, has_number: true, number: 3 });
        assert_eq!(read(), Entry { length: 0, run: 0, size: 8, has_number: true, number: 0 });
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
