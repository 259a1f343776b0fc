//! The samples of one component.

use crate::{
    frame::{Coding, Component, Frame},
    picture::Part,
    transform::{Block, ZIGZAG, inverse, inverse_of_first},
};

/// Steps of quantisation, in the order in which coefficients are coded.
pub(crate) type Steps = [u16; 64];

/// One component of a picture while it is decoded.
#[derive(Debug, Clone)]
pub(crate) struct Plane {
    pub(crate) component: Component,
    /// Number of columns of samples that the picture has.
    pub(crate) width: usize,
    /// Number of rows of samples that the picture has.
    pub(crate) height: usize,
    /// Number of blocks of a row, with those beyond the picture that fill the last unit.
    pub(crate) blocks_across: usize,
    /// Blocks whose samples are wanted: columns, then rows; the ends are exclusive.
    wanted: [(usize, usize); 2],
    /// Steps of quantisation, once a scan has begun.
    pub(crate) steps: Option<Steps>,
    /// Coefficients of all blocks, for a progressive picture.
    pub(crate) blocks: Vec<Block>,
    /// Samples, eight in a block's row.
    samples: Vec<u8>,
}

impl Plane {
    /// Returns the empty plane of a component of a frame. Of it the blocks are decoded that a part of the picture
    /// needs.
    pub(crate) fn new(frame: &Frame, component: Component, part: Part) -> Self {
        let (units_across, units_down) = frame.units();
        let (most_across, most_down) = frame.sampling();
        let size = |pixels: u32, factor: u32, most: u32| (pixels * factor).div_ceil(most) as usize;
        let blocks_across = units_across * component.across as usize;
        let blocks_down = units_down * component.down as usize;
        // A sample is made of its neighbours, too, hence one more on either side.
        let range = |begin: usize, length: usize, factor: u32, most: u32, blocks: usize| {
            let (factor, most) = (factor as usize, most as usize);
            let first = (begin * factor / most).saturating_sub(1) / 8;
            let end = ((begin + length) * factor).div_ceil(most) + 1;
            (first, end.div_ceil(8).min(blocks))
        };
        let wanted = [
            range(part.left, part.width, component.across, most_across, blocks_across),
            range(part.top, part.height, component.down, most_down, blocks_down),
        ];
        let block_count = blocks_across * blocks_down;
        let blocks = if frame.coding == Coding::Progressive { block_count } else { 0 };
        Self {
            component,
            width: size(frame.width, component.across, most_across),
            height: size(frame.height, component.down, most_down),
            blocks_across,
            wanted,
            steps: None,
            blocks: vec![[0; 64]; blocks],
            samples: vec![0; 64 * block_count],
        }
    }

    /// Returns whether the samples of a block are wanted.
    #[inline(always)]
    pub(crate) fn wants(&self, across: usize, down: usize) -> bool {
        let [(left, right), (top, bottom)] = self.wanted;
        (left..right).contains(&across) && (top..bottom).contains(&down)
    }

    /// Returns the row of blocks behind the last one that is wanted.
    pub(crate) fn wanted_end(&self) -> usize {
        self.wanted[1].1
    }

    /// Returns a row of samples.
    pub(crate) fn row(&self, row: usize) -> &[u8] {
        &self.samples[row * 8 * self.blocks_across..][..self.width]
    }

    /// Makes samples of the coefficients of a block, which have been multiplied by their steps.
    #[inline(always)]
    pub(crate) fn put(&mut self, across: usize, down: usize, block: &Block, has_first_alone: bool) {
        let stride = 8 * self.blocks_across;
        let samples = &mut self.samples[8 * (down * stride + across)..];
        if has_first_alone {
            inverse_of_first(block[0], samples, stride);
        } else {
            inverse(block, samples, stride);
        }
    }

    /// Makes samples of the coefficients of all blocks that are wanted.
    #[inline(always)]
    pub(crate) fn put_all(&mut self) {
        // Without a scan of this component there are no steps, and all its coefficients are zero.
        let steps = self.steps.unwrap_or([1; 64]);
        let [(left, right), (top, bottom)] = self.wanted;
        for (down, across) in (top..bottom).flat_map(|down| (left..right).map(move |across| (down, across))) {
            let coded = &self.blocks[down * self.blocks_across + across];
            let mut block = [0; 64];
            for (step, place) in steps.iter().zip(ZIGZAG) {
                let place = usize::from(place);
                block[place] = coded[place].wrapping_mul(*step as i16);
            }
            let has_first_alone = block[1..].iter().all(|value| *value == 0);
            self.put(across, down, &block, has_first_alone);
        }
    }
}
