//! Pools.

use super::{Lowering, ValueState, int, long, windows::of_image};
use crate::{
    graph::Node,
    kernels::KernelFile,
    op::{Pool, PoolKind},
    program::{
        call::{Argument, Kernel},
        types,
    },
};

impl Lowering<'_> {
    /// Emits a kernel with one item for each window.
    pub(super) fn pool(&mut self, node: &Node, pool: &Pool) -> Result<(), String> {
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let images = self.contiguous(Self::input(node, 0))?;
        let to = self.scratch(images.element, &shape)?;
        let counts_pads = pool.kind == PoolKind::Average { counts_pads: true };
        let kernel = Kernel {
            file: KernelFile::Pool,
            function: "pool",
            defines: vec![
                ("IS_MAX", i64::from(pool.kind == PoolKind::Max)),
                ("COUNTS_PADS", i64::from(counts_pads)),
            ],
            preamble: types::stored_reals(images.element)?,
        };
        let mut arguments =
            vec![Argument::Buffer(images.buffer), Argument::Buffer(to.buffer), long(images.offset)];
        let channels = shape[0] * shape[1];
        arguments.push(int(channels)?);
        for extents in [
            of_image(&images.shape[2..], 1),
            of_image(&pool.window, 1),
            of_image(&shape[2..], 1),
            of_image(&pool.strides, 1),
            of_image(&pool.dilations, 1),
            of_image(&pool.pads_begin, 0),
            of_image(&pool.pads_end, 0),
        ] {
            arguments.extend(extents.into_iter().map(int).collect::<Result<Vec<_>, _>>()?);
        }
        let count: usize = shape.iter().product();
        let group = self.tuning.element_group.min(count.max(1).next_power_of_two());
        self.call(kernel, arguments, [count, 1, 1], group, 0);
        self.states[result.0] = Some(ValueState::Stored(to));
        Ok(())
    }
}
