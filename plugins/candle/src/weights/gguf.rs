//! Weights in a GGUF file, under the names and in the order of the checkpoints that such files are made of.
//!
//! A file of the Llama family has its tensors under names of its own, and the rows of queries and keys in another
//! order: the two values of a head that are turned together lie side by side. A checkpoint has them half a head
//! apart, so rows are put back when they are read. Blocks lie along rows, and stay what they are.

use std::{collections::HashMap, fs::File, io::BufReader, path::Path};

use candle_core::{Device, Tensor};
use parking_lot::Mutex;
use proctor_gguf_file::{GgufError, GgufFile, TensorKind};

use super::{Checkpoint, refused, unfit};
use crate::{error::LoadError, ops::blocks::Blocks};

/// Names of the tensors outside the layers: in a checkpoint, and in a file of this kind.
const TENSORS: [(&str, &str); 3] = [
    ("model.embed_tokens.weight", "token_embd.weight"),
    ("model.norm.weight", "output_norm.weight"),
    ("lm_head.weight", "output.weight"),
];

/// The parts of a layer: in a checkpoint, and in a file of this kind.
const PARTS: [(&str, &str); 9] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

/// The only family whose names and orders are known.
const ARCHITECTURE: &str = "llama";

/// An open file.
pub(super) struct Gguf {
    file: Mutex<GgufFile<BufReader<File>>>,
    /// The tensors by their names in a checkpoint.
    tensors: HashMap<String, Entry>,
    /// Sizes by the names in the file, without the family before them.
    numbers: HashMap<&'static str, f64>,
}

/// A tensor, as the header has it.
struct Entry {
    name: String,
    shape: Vec<usize>,
    kind: TensorKind,
    /// Number of heads whose rows are in another order than in a checkpoint.
    heads: Option<usize>,
}

impl Gguf {
    /// Opens a file and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self, LoadError> {
        let file = GgufFile::open(path).map_err(unusable)?;
        let family = file.text("general.architecture").map_err(unusable)?;
        if family != ARCHITECTURE {
            return Err(LoadError::Weights(format!(
                "{} has a network of the kind {family}, but only the kind {ARCHITECTURE} is known",
                path.display()
            )));
        }
        let mut numbers = HashMap::new();
        for name in super::NUMBERS {
            numbers.insert(name, file.number(&format!("{ARCHITECTURE}.{name}")).map_err(unusable)?);
        }
        // If the number is missing, or does not divide the rows, the tensor is refused when it is read.
        let heads = |name| numbers[name] as usize;
        let (heads, kv_heads) = (heads("attention.head_count"), heads("attention.head_count_kv"));
        let entry = |(name, tensor): (&str, &proctor_gguf_file::TensorInfo)| {
            let heads = match name.rsplit_once('.').and_then(|(name, _)| name.rsplit_once('.')) {
                Some((_, "attn_q")) => Some(heads),
                Some((_, "attn_k")) => Some(kv_heads),
                _ => None,
            };
            let entry =
                Entry { name: name.to_owned(), shape: tensor.shape.clone(), kind: tensor.kind, heads };
            (of_checkpoint(name).unwrap_or_else(|| name.to_owned()), entry)
        };
        let tensors = file.tensors().map(entry).collect();
        Ok(Self { file: Mutex::new(file), tensors, numbers })
    }

    /// Returns the numbers of the rows in the file, in the order of a checkpoint.
    fn order(&self, entry: &Entry) -> Result<Vec<usize>, LoadError> {
        let rows =
            if entry.shape.len() == 1 { 1 } else { entry.shape[..entry.shape.len() - 1].iter().product() };
        let Some(heads) = entry.heads else { return Ok((0..rows).collect()) };
        if heads == 0 || !rows.is_multiple_of(2 * heads) {
            let fault = format!("{rows} rows, which are not the halves of {heads} heads");
            return Err(unfit(self.file.lock().path(), &entry.name, &fault));
        }
        let half = rows / heads / 2;
        let of_row = |row: usize| {
            let (head, place) = (row / (2 * half), row % (2 * half));
            head * 2 * half + place % half * 2 + place / half
        };
        Ok((0..rows).map(of_row).collect())
    }
}

impl Checkpoint for Gguf {
    fn names(&self) -> Vec<String> {
        self.tensors.keys().cloned().collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|entry| entry.shape.as_slice())
    }

    fn read(&self, name: &str, device: &Device) -> Result<Option<Tensor>, LoadError> {
        let Some(entry) = self.tensors.get(name) else { return Ok(None) };
        let tensor = match self.blocks(name)? {
            Some(blocks) => blocks.unpack(&(0..blocks.dims()[0]).collect::<Vec<_>>()),
            None => {
                let bytes = self.file.lock().read_tensor(&entry.name).map_err(unusable)?;
                let order = self.order(entry)?;
                let width = bytes.len() / order.len();
                let rows = order.iter().flat_map(|row| bytes[row * width..(row + 1) * width].as_chunks().0);
                let values: Vec<f32> = rows.map(|value| f32::from_le_bytes(*value)).collect();
                Tensor::from_vec(values, entry.shape.as_slice(), &Device::Cpu)
            }
        };
        tensor
            .and_then(|tensor| tensor.reshape(entry.shape.as_slice())?.to_device(device))
            .map(Some)
            .map_err(|error| refused(self.file.lock().path(), &error))
    }

    fn blocks(&self, name: &str) -> Result<Option<Blocks>, LoadError> {
        let Some(entry) = self.tensors.get(name) else { return Ok(None) };
        let of = match entry.kind {
            TensorKind::Q4_1 => Blocks::of_q4_1,
            TensorKind::Q8_0 => Blocks::of_q8_0,
            TensorKind::F32 | TensorKind::Other(_) => return Ok(None),
        };
        let order = self.order(entry)?;
        let bytes = self.file.lock().read_tensor(&entry.name).map_err(unusable)?;
        Ok(entry.shape.last().map(|columns| of(&bytes, *columns, &order)))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }
}

/// Returns the name in a checkpoint of a tensor of a file; `None` for one that no checkpoint has.
fn of_checkpoint(name: &str) -> Option<String> {
    let whole = TENSORS.iter().find(|(_, other)| *other == name).map(|(name, _)| (*name).to_owned());
    let of_layer = || {
        let (layer, part) = name.strip_prefix("blk.")?.strip_suffix(".weight")?.split_once('.')?;
        let (part, _) = PARTS.iter().find(|(_, other)| *other == part)?;
        Some(format!("model.layers.{layer}.{part}.weight"))
    };
    whole.or_else(of_layer)
}

fn unusable(error: GgufError) -> LoadError {
    LoadError::Weights(error.to_string())
}
