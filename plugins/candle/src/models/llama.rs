//! A decoder of the Llama family: RMS norm, rotary positions, grouped-query attention, SwiGLU; its logits after a
//! prompt, or a text that continues from it.
//!
//! `datasets/recipes/llama.md` has its tensors and what exactly is computed. `decoder` computes logits, with
//! `attention` over the keys and values in `cache`; `beam_search` chooses words, greedily or by a beam; `network`
//! reads a batch of prompts of different lengths, runs the one and the other in turn, and reports each first token
//! when it is known.

mod attend;
mod attention;
mod beam_search;
mod cache;
pub(crate) mod config;
mod decoder;
#[cfg(test)]
mod gguf_tests;
pub(super) mod network;
mod rotary;
#[cfg(test)]
mod smollm2_as_published;
#[cfg(test)]
mod tests;
