//! Where a graph begins and ends.

use proctor_vocabulary::ElementType;

/// A node of the graph whose value is given, whatever it would compute.
#[derive(Debug, Clone, Copy)]
pub struct GraphInput<'a> {
    /// Name of the node in the graph.
    pub node: &'a str,
    /// Name of the input of the ONNX file.
    pub name: &'a str,
    /// Type of the input: f32, or an integer type whose values become f32.
    pub element_type: ElementType,
    /// Extents of a sample as TensorFlow has them, the channels last.
    pub shape: &'a [usize],
    /// Order of the input's axes in the ONNX file.
    pub order: Order,
}

/// A node of the graph whose first result is wanted.
#[derive(Debug, Clone, Copy)]
pub struct GraphOutput<'a> {
    /// Name of the node in the graph.
    pub node: &'a str,
    /// Name of the output of the ONNX file.
    pub name: &'a str,
}

/// Order of the axes of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// TensorFlow's: batch, rows, columns, channels.
    ChannelsLast,
    /// ONNX's: batch, channels, rows, columns.
    ChannelsFirst,
}

impl Order {
    /// Returns which axis of the channels-last order each axis of this order is.
    pub(crate) fn axes(self, rank: usize) -> Vec<usize> {
        match self {
            Self::ChannelsFirst if rank > 2 => [0, rank - 1].into_iter().chain(1..rank - 1).collect(),
            _ => (0..rank).collect(),
        }
    }
}
