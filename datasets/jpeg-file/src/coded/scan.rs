//! One scan: some coefficients of one component or of all.

use crate::{
    coded::{
        bits::{Bits, Interval},
        huffman::HuffmanTable,
    },
    error::{Fault, JpegError, Where},
    frame::{Coding, Frame},
    plane::{Plane, Steps},
    segments::{Segment, restart_number},
    transform::{Block, ZIGZAG},
};

/// The symbol for a run of zeros without a number.
const SIXTEEN_ZEROS: u8 = 0xf0;

/// Number of positions that the code for the end of a block advances: more than any other code can.
const END: usize = 128;

/// Tables that segments between the scans set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tables {
    pub(crate) steps: [Option<Steps>; 4],
    /// Huffman tables of the differences of first coefficients.
    pub(crate) first: [Option<HuffmanTable>; 4],
    /// Huffman tables of the other coefficients.
    pub(crate) others: [Option<HuffmanTable>; 4],
    /// Number of units between restarts; 0 for none.
    pub(crate) restart_interval: usize,
}

/// The head of a scan.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    components: Vec<ScanComponent>,
    /// First and last coefficient, in the order of coding.
    from: usize,
    to: usize,
    /// Whether it refines known coefficients by one bit.
    is_refining: bool,
    /// Number of bits of the coefficients left to later scans.
    low: u32,
    /// Place of its segment in the file.
    offset: usize,
}

#[derive(Debug, Clone, Copy)]
struct ScanComponent {
    /// Number of the component in the frame.
    plane: usize,
    /// Numbers of its tables.
    first: usize,
    others: usize,
}

/// Runs through a scan, with the states that go from block to block.
struct Runner<'a> {
    scan: &'a Scan,
    tables: &'a Tables,
    /// The coded bytes up to the next restart, or to the end of the scan.
    interval: Interval,
    bits: Bits,
    /// First coefficient of the last block of each component of the frame.
    previous: [i32; 4],
    /// Number of blocks left in an end-of-band run: they have no further coefficients.
    end_run: u32,
}

impl Scan {
    /// Reads the segment of a scan.
    ///
    /// # Errors
    /// If it contradicts itself or the frame.
    pub(crate) fn read(segment: &Segment<'_>, frame: &Frame) -> Result<Self, JpegError> {
        let wrong = || segment.damaged(Fault::Scan);
        let (count, rest) = segment.payload.split_first().ok_or_else(wrong)?;
        let count = usize::from(*count);
        let is_whole = rest.len() == 2 * count + 3 && (1..=frame.components.len()).contains(&count);
        if !is_whole {
            return Err(wrong());
        }
        let (components, rest) = rest.split_at(2 * count);
        let mut components: Vec<_> = components
            .as_chunks()
            .0
            .iter()
            .map(|[id, tables]| {
                let plane = frame.components.iter().position(|component| component.id == *id)?;
                let (first, others) = (usize::from(tables >> 4), usize::from(tables & 15));
                (first < 4 && others < 4).then_some(ScanComponent { plane, first, others })
            })
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        components.dedup_by_key(|component| component.plane);
        let (from, to) = (usize::from(rest[0]), usize::from(rest[1]));
        let (high, low) = (u32::from(rest[2] >> 4), u32::from(rest[2] & 15));
        let scan = match frame.coding {
            // Sequential files contain everything in every scan, even if the header says otherwise.
            Coding::Sequential => (0, 63, false, 0),
            Coding::Progressive => (from, to, high != 0, low),
        };
        let (from, to, is_refining, low) = scan;
        let is_sound = match frame.coding {
            Coding::Sequential => true,
            Coding::Progressive => {
                from <= to
                    && to <= 63
                    && low <= 13
                    && (!is_refining || high == low + 1)
                    && if from == 0 { to == 0 } else { count == 1 }
            }
        };
        if !is_sound || components.len() != count {
            return Err(wrong());
        }
        Ok(Self { components, from, to, is_refining, low, offset: segment.offset })
    }

    /// Decodes the pixels of the scan, which begin at `position` of the file, and returns the place behind them. A scan
    /// of all components of a sequential picture is the last one, as for libjpeg: it is decoded up to the last rows
    /// that are wanted, and `None` returned.
    ///
    /// # Errors
    /// If a table is missing, or the pixels are damaged or cut.
    #[inline(always)]
    pub(crate) fn decode(
        &self,
        bytes: &[u8],
        position: usize,
        frame: &Frame,
        tables: &Tables,
        planes: &mut [Plane],
    ) -> Result<Option<usize>, JpegError> {
        self.prepare(tables, planes)?;
        let (interval, bits) = (Interval::default(), Bits::default());
        let mut runner = Runner { scan: self, tables, interval, bits, previous: [0; 4], end_run: 0 };
        runner.interval.start(bytes, position);
        let is_alone = frame.coding == Coding::Sequential && self.components.len() == planes.len();
        let (units_across, units_down) = match &self.components[..] {
            // A component alone has no units: its blocks come row by row, and those beyond the picture not at all.
            [component] => {
                let plane = &planes[component.plane];
                (plane.width.div_ceil(8), plane.height.div_ceil(8))
            }
            _ => frame.units(),
        };
        let is_single = self.components.len() == 1;
        let wanted_end = if is_alone {
            let end = planes.iter().map(|plane| {
                let down = if is_single { 1 } else { plane.component.down as usize };
                plane.wanted_end().div_ceil(down)
            });
            end.max().unwrap_or(units_down).min(units_down)
        } else {
            units_down
        };
        let mut until_restart = tables.restart_interval;
        let mut restart = 0;
        for down in 0..wanted_end {
            for across in 0..units_across {
                if tables.restart_interval != 0 {
                    if until_restart == 0 {
                        runner.restart(bytes, restart)?;
                        restart = (restart + 1) % 8;
                        until_restart = tables.restart_interval;
                    }
                    until_restart -= 1;
                }
                runner.unit(planes, frame.coding, is_single, across, down)?;
            }
            if runner.interval.is_behind_end(runner.bits) {
                return Err(runner.beyond_end(bytes));
            }
        }
        Ok((!is_alone).then(|| runner.interval.marker()))
    }

    /// Checks that there are the tables that the scan needs.
    fn prepare(&self, tables: &Tables, planes: &mut [Plane]) -> Result<(), JpegError> {
        let damaged = |fault| JpegError::Damaged { offset: self.offset, fault };
        for component in &self.components {
            let plane = &mut planes[component.plane];
            if plane.steps.is_none() {
                let steps = tables.steps[plane.component.table];
                plane.steps = Some(steps.ok_or_else(|| damaged(Fault::Quantisation))?);
            }
            let needs_first = self.from == 0 && !self.is_refining;
            let needs_others = self.to > 0;
            if (needs_first && tables.first[component.first].is_none())
                || (needs_others && tables.others[component.others].is_none())
            {
                return Err(damaged(Fault::HuffmanTable));
            }
        }
        Ok(())
    }
}

impl Runner<'_> {
    fn beyond_end(&self, bytes: &[u8]) -> JpegError {
        let offset = self.interval.marker();
        if offset == bytes.len() {
            return JpegError::Cut { size_bytes: bytes.len(), within: Where::Pixels };
        }
        JpegError::Damaged { offset, fault: Fault::Scan }
    }

    fn damaged(&self) -> JpegError {
        JpegError::Damaged { offset: self.interval.marker(), fault: Fault::HuffmanCode }
    }

    /// Continues behind the restart mark of this number.
    #[cold]
    #[inline(never)]
    fn restart(&mut self, bytes: &[u8], number: u8) -> Result<(), JpegError> {
        if self.interval.is_behind_end(self.bits) {
            return Err(self.beyond_end(bytes));
        }
        let offset = self.interval.marker();
        let found = bytes.get(offset + 1).and_then(|found| restart_number(*found));
        if found != Some(number) {
            return Err(JpegError::Damaged { offset, fault: Fault::Restart });
        }
        self.interval.start(bytes, offset + 2);
        self.bits = Bits::default();
        (self.previous, self.end_run) = ([0; 4], 0);
        Ok(())
    }

    /// Decodes a unit: the blocks of all components that belong together, or one block of one.
    #[inline(always)]
    fn unit(
        &mut self,
        planes: &mut [Plane],
        coding: Coding,
        is_single: bool,
        across: usize,
        down: usize,
    ) -> Result<(), JpegError> {
        for component in &self.scan.components {
            let plane = &mut planes[component.plane];
            let (blocks_across, blocks_down) = if is_single {
                (1, 1)
            } else {
                (plane.component.across as usize, plane.component.down as usize)
            };
            for row in 0..blocks_down {
                for column in 0..blocks_across {
                    let (across, down) = (across * blocks_across + column, down * blocks_down + row);
                    match coding {
                        Coding::Sequential => self.whole_block(*component, plane, across, down)?,
                        Coding::Progressive => self.part_of_block(*component, plane, across, down)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the first coefficient of the next block of a component.
    #[inline(always)]
    fn first(&mut self, component: ScanComponent) -> Result<i32, JpegError> {
        let table = self.tables.first[component.first].as_ref().expect("it has been looked for");
        self.bits.fill(&self.interval);
        let coded = table.read_with_number(&mut self.bits).ok_or_else(|| self.damaged())?;
        if coded.symbol > 15 {
            return Err(self.damaged());
        }
        let previous = &mut self.previous[component.plane];
        *previous = previous.wrapping_add(i32::from(coded.number));
        Ok(*previous)
    }

    /// Decodes a block of a sequential picture, and makes its samples if they are wanted.
    #[inline(always)]
    fn whole_block(
        &mut self,
        component: ScanComponent,
        plane: &mut Plane,
        across: usize,
        down: usize,
    ) -> Result<(), JpegError> {
        let first = self.first(component)?;
        let steps = plane.steps.as_ref().expect("it has been set");
        let table = self.tables.others[component.others].as_ref().expect("it has been looked for");
        let mut block: Block = [0; 64];
        block[0] = (first as i16).wrapping_mul(steps[0] as i16);
        let mut place = 1;
        // A copy that nothing else sees, so that it lives in registers.
        let mut bits = self.bits;
        'block: while place < 64 {
            bits.fill(&self.interval);
            // Two codes and their numbers are nearly always ready at once.
            for number in 0..2 {
                if number == 1 && bits.count() < HuffmanTable::BITS_MAX {
                    continue 'block;
                }
                let Some(coded) = table.read_with_number(&mut bits) else { return Err(self.damaged()) };
                if coded.symbol & 15 == 0 {
                    place += if coded.symbol == SIXTEEN_ZEROS { 16 } else { END };
                } else {
                    place += usize::from(coded.symbol >> 4);
                    let (Some(natural), Some(step)) = (ZIGZAG.get(place), steps.get(place)) else {
                        return Err(self.damaged());
                    };
                    block[usize::from(*natural & 63)] = coded.number.wrapping_mul(*step as i16);
                    place += 1;
                }
                if place >= 64 {
                    break 'block;
                }
            }
        }
        // The end came first.
        let has_first_alone = place == 1 + END;
        self.bits = bits;
        if plane.wants(across, down) {
            plane.put(across, down, &block, has_first_alone);
        }
        Ok(())
    }

    /// Decodes the part of a block that a scan of a progressive picture holds.
    #[inline(always)]
    fn part_of_block(
        &mut self,
        component: ScanComponent,
        plane: &mut Plane,
        across: usize,
        down: usize,
    ) -> Result<(), JpegError> {
        let place = down * plane.blocks_across + across;
        match (self.scan.from, self.scan.is_refining) {
            (0, false) => {
                let first = self.first(component)?;
                plane.blocks[place][0] = (first as i16).wrapping_shl(self.scan.low);
            }
            (0, true) => {
                self.bits.fill(&self.interval);
                plane.blocks[place][0] |= (self.bits.take(1) as i16) << self.scan.low;
            }
            (_, false) => self.others(component, &mut plane.blocks[place])?,
            (_, true) => self.refined_others(component, &mut plane.blocks[place])?,
        }
        Ok(())
    }

    /// Decodes the first bits of the other coefficients: T.81, section G.1.2.2.
    #[inline(always)]
    fn others(&mut self, component: ScanComponent, block: &mut Block) -> Result<(), JpegError> {
        if self.end_run > 0 {
            self.end_run -= 1;
            return Ok(());
        }
        let table = &self.tables.others[component.others].as_ref().expect("it has been looked for");
        let mut place = self.scan.from;
        while place <= self.scan.to {
            self.bits.fill(&self.interval);
            let symbol = table.read(&mut self.bits).ok_or_else(|| self.damaged())?;
            let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            match (run, size) {
                (15, 0) => place += 16,
                (run, 0) => {
                    self.end_run = (1 << run) - 1 + self.bits.take(run);
                    break;
                }
                (run, size) => {
                    place += run as usize;
                    let number = self.bits.signed(size);
                    if place > self.scan.to {
                        return Err(self.damaged());
                    }
                    block[usize::from(ZIGZAG[place])] = number.wrapping_shl(self.scan.low);
                    place += 1;
                }
            }
        }
        Ok(())
    }

    /// Decodes one more bit of the other coefficients: T.81, section G.1.2.3.
    #[inline(always)]
    fn refined_others(&mut self, component: ScanComponent, block: &mut Block) -> Result<(), JpegError> {
        let table = &self.tables.others[component.others].as_ref().expect("it has been looked for");
        let bit = 1_i16 << self.scan.low;
        let mut place = self.scan.from;
        if self.end_run == 0 {
            while place <= self.scan.to {
                self.bits.fill(&self.interval);
                let symbol = table.read(&mut self.bits).ok_or_else(|| self.damaged())?;
                let (mut zeros, size) = (u32::from(symbol >> 4), symbol & 15);
                let new = match size {
                    0 if zeros < 15 => {
                        self.end_run = (1 << zeros) + self.bits.take(zeros);
                        break;
                    }
                    0 => 0,
                    1 if self.bits.take(1) == 1 => bit,
                    1 => -bit,
                    _ => return Err(self.damaged()),
                };
                // Passes over as many coefficients that are still zero, and makes those between them finer.
                while place <= self.scan.to {
                    let value = &mut block[usize::from(ZIGZAG[place])];
                    if *value != 0 {
                        refine(&mut self.bits, &self.interval, value, bit);
                    } else if zeros == 0 {
                        *value = new;
                        place += 1;
                        break;
                    } else {
                        zeros -= 1;
                    }
                    place += 1;
                }
            }
        }
        if self.end_run > 0 {
            for place in &ZIGZAG[place.min(self.scan.to + 1)..=self.scan.to] {
                let value = &mut block[usize::from(*place)];
                if *value != 0 {
                    refine(&mut self.bits, &self.interval, value, bit);
                }
            }
            self.end_run -= 1;
        }
        Ok(())
    }
}

/// Reads whether a coefficient, which is not zero, has this bit.
#[inline(always)]
fn refine(bits: &mut Bits, interval: &Interval, value: &mut i16, bit: i16) {
    bits.fill(interval);
    if bits.take(1) == 1 && *value & bit == 0 {
        *value = value.wrapping_add(if *value > 0 { bit } else { -bit });
    }
}
