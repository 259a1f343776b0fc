//! Reasons why a checkpoint cannot be read.

use proctor_vocabulary::ElementType;

/// Reason why a checkpoint of PyTorch cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum TorchError {
    #[error("it is not a checkpoint of PyTorch: {0}")]
    NotTorch(String),
    /// The pickle names something that is not part of a table of tensors.
    #[error(
        "the checkpoint wants {module}.{name}, which is refused because it may run code; only tables of tensors are \
         read: save the state_dict alone"
    )]
    Refused { module: String, name: String },
    #[error(
        "byte {at} of the checkpoint's pickle is the instruction 0x{opcode:02x}, which no table of tensors needs; \
         save the state_dict alone"
    )]
    Opcode { at: usize, opcode: u8 },
    #[error("the checkpoint's pickle is damaged at byte {at}: {what}")]
    Damaged { at: usize, what: &'static str },
    #[error("the checkpoint is cut short: it ends within {0}; fetch it again")]
    CutShort(&'static str),
    #[error("the checkpoint is an archive that cannot be read: {0}")]
    Archive(String),
    #[error("the checkpoint holds {0}, not a table of tensors; save the state_dict alone")]
    NoTable(&'static str),
    #[error("storage \"{key}\" of the checkpoint {what}")]
    Storage { key: String, what: String },
    #[error("tensor \"{name}\" of the checkpoint {what}")]
    Tensor { name: String, what: &'static str },
    #[error("the checkpoint has no tensor \"{name}\"; is it one of this network?")]
    Missing { name: String },
    #[error(
        "tensor \"{name}\" of the checkpoint has the shape {got:?}, not {wanted:?}; is it one of this network?"
    )]
    Shape { name: String, got: Vec<usize>, wanted: Vec<usize> },
    #[error("tensor \"{name}\" of the checkpoint holds {element}, which are no real numbers")]
    Element { name: String, element: ElementType },
}
