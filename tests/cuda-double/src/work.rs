//! Work in streams.

use std::sync::Arc;

use crate::{cublaslt::product::Product, cudnn::convolution::Convolution, opencl::Argument};

/// Number of an object of the double. No number comes twice.
pub(crate) type Id = usize;

/// A piece of work.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// A kernel.
    Launch(Launch),
    /// A product of matrices.
    Product(Product),
    /// A convolution.
    Convolution(Convolution),
    /// Copies bytes from the host to the device.
    CopyIn { to: usize, from: From, bytes: usize },
    /// Copies bytes from the device to the host.
    CopyOut { to: usize, from: usize, bytes: usize },
    /// An event is passed, for this time.
    Record { event: Id, time: u64 },
    /// An executable graph.
    Graph(Id),
}

/// A kernel with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub function: Id,
    pub arguments: Vec<Argument>,
    pub grid: [usize; 3],
    pub block: [usize; 3],
}

/// Bytes of the host.
#[derive(Debug, Clone)]
pub(crate) enum From {
    /// Bytes as they were at the call.
    Taken(Arc<[u8]>),
    /// Address to read when the work is done.
    Address(usize),
}

impl Work {
    /// Returns whether it uses an address of a device from `begin` to before `end`.
    pub fn uses_device(&self, begin: usize, end: usize) -> bool {
        let is_in = |address: usize| (begin..end).contains(&address);
        match self {
            Self::Launch(launch) => launch
                .arguments
                .iter()
                .any(|argument| matches!(argument, Argument::Address(address) if is_in(*address))),
            Self::Product(product) => product.uses(begin, end),
            Self::Convolution(convolution) => convolution.uses(begin, end),
            Self::CopyIn { to, .. } => is_in(*to),
            Self::CopyOut { from, .. } => is_in(*from),
            _ => false,
        }
    }

    /// Returns the same of the host.
    pub fn uses_host(&self, begin: usize, end: usize) -> bool {
        match self {
            Self::CopyIn { from: From::Address(from), .. } => (begin..end).contains(from),
            Self::CopyOut { to, .. } => (begin..end).contains(to),
            _ => false,
        }
    }
}
