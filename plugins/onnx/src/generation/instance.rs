//! One copy of a model that answers with tokens: a call of the encoder for each sample, and one of the decoder for each
//! token.

use std::sync::Arc;

use ort::session::SharedSessionInner;
use proctor_plugin_api::{
    Batch, Host, Instance, PluginError, Response, Stage,
    vocabulary::{
        ElementType::{self, Bool, F32, I32, I64},
        ResponseId,
    },
};

use super::{Answer, Plan};
use crate::{
    binding::{Binding, Home, Memory, element},
    buffer::Buffer,
    session::runtime_failed,
    tensor::dim,
};

/// Positions of the encoder's inputs.
const VALUES: usize = 0;
const MASK: usize = 1;

/// Samples that go through the model one by one.
pub(crate) struct GenerationInstance {
    host: Host,
    plan: Arc<Plan>,
    encoder: Binding,
    decoder: Binding,
    /// 1 for each value of the longest sample.
    mask: Buffer,
    /// The token before.
    token: [i64; 1],
    /// 1 if the caches hold something.
    use_cache: [u8; 1],
    /// Memory of tensors that hold nothing.
    nothing: Buffer,
    /// The tokens of a sample.
    tokens: Vec<u32>,
    text: Vec<u8>,
}

impl GenerationInstance {
    pub(crate) fn new(
        host: Host,
        [encoder, decoder]: [Arc<SharedSessionInner>; 2],
        plan: Arc<Plan>,
    ) -> Result<Self, PluginError> {
        let states = [plan.generation.encoder.states.clone()];
        let encoder = Binding::new(encoder, &plan.encoder_inputs, &states, Home::Runtime);
        let decoder = Binding::new(decoder, &plan.decoder.inputs, &plan.decoder.outputs, Home::Runtime);
        let size_bytes = I64.bytes_of(plan.value_count_max);
        let no_memory = || PluginError::failed(format!("no memory for a mask of {size_bytes} bytes"));
        let mut mask = Buffer::new(size_bytes).ok_or_else(no_memory)?;
        mask.bytes_mut().as_chunks_mut().0.iter_mut().for_each(|one| *one = 1_i64.to_ne_bytes());
        let tokens_max = plan.tokens_max(plan.value_count_max);
        Ok(Self {
            host,
            encoder: encoder.map_err(runtime_failed)?,
            decoder: decoder.map_err(runtime_failed)?,
            mask,
            token: [0],
            use_cache: [0],
            nothing: Buffer::new(1).ok_or_else(no_memory)?,
            tokens: Vec::with_capacity(tokens_max),
            text: Vec::with_capacity(plan.answer_max),
            plan,
        })
    }

    /// Answers the sample at a position of the batch.
    fn answer(&mut self, batch: &mut Batch<'_>, position: usize) -> Result<(), PluginError> {
        let (id, index) = {
            let sample = batch.sample(position);
            (sample.id(), sample.index())
        };
        let length = self.length(batch.input(position, 1));
        let room = batch.input_f32(position, 0);
        let is_there = usize::try_from(length).ok().filter(|length| *length > 0);
        let Some(values) = is_there.and_then(|length| room.get(..length)) else {
            let most = room.len();
            let text =
                format!("sample {index} says that it has {length} values, and there is room for 1 to {most}");
            return Err(PluginError::invalid_argument(text));
        };
        self.encode(values)?;
        self.decode(values.len(), id)?;
        let mut sample = batch.sample(position);
        sample.set_token_count(u32::try_from(self.tokens.len()).unwrap_or(u32::MAX));
        let room = sample.output_mut(0);
        let size_bytes = match &self.plan.answer {
            Answer::Text(pieces) => {
                let ends = [self.plan.generation.start_token, self.plan.generation.end_token];
                let words = self.tokens.iter().copied().filter(|token| !ends.contains(token));
                if !pieces.join(words, &mut self.text) {
                    let text =
                        format!("sample {index} has a token beyond the {} pieces of text", pieces.count());
                    return Err(PluginError::failed(text));
                }
                let Some(to) = room.get_mut(..self.text.len()) else {
                    let (got, most) = (self.text.len(), room.len());
                    let text =
                        format!("sample {index} has a text of {got} bytes, and the benchmark takes {most}");
                    return Err(PluginError::failed(text));
                };
                to.copy_from_slice(&self.text);
                self.text.len()
            }
            Answer::Tokens(element) => {
                let size_bytes = element.bytes_of(self.tokens.len());
                let Some(to) = room.get_mut(..size_bytes) else {
                    let text =
                        format!("sample {index} has {} tokens, and no room for them", self.tokens.len());
                    return Err(PluginError::failed(text));
                };
                write_tokens(&self.tokens, *element, to);
                size_bytes
            }
        };
        sample.set_output_size(0, size_bytes);
        Ok(())
    }

    /// Reads the number of values of a sample; -1 of another type than the request's.
    fn length(&self, bytes: &[u8]) -> i64 {
        match self.plan.length_type {
            I32 => bytes.try_into().map_or(-1, |bytes| i32::from_ne_bytes(bytes).into()),
            _ => bytes.try_into().map_or(-1, i64::from_ne_bytes),
        }
    }

    /// Calls the encoder, whose states stay with it.
    fn encode(&mut self, values: &[f32]) -> Result<(), PluginError> {
        let dims = [1, dim(values.len())];
        let memory = Memory { data: values.as_ptr().cast_mut().cast(), size_bytes: size_of_val(values) };
        // SAFETY: the values are the host's, which keeps them for the duration of `execute`, within which the call
        // runs. They are aligned as f32 are, and the runtime only reads inputs.
        unsafe { self.encoder.bind_input(VALUES, memory, element(F32), &dims) }.map_err(runtime_failed)?;
        if self.plan.encoder_inputs.len() > MASK {
            let memory = self.mask_of(values.len());
            // SAFETY: the mask is the instance's, is aligned to 64, and is never written again.
            unsafe { self.encoder.bind_input(MASK, memory, element(I64), &dims) }.map_err(runtime_failed)?;
        }
        self.encoder.run().map_err(runtime_failed)
    }

    /// Calls the decoder for one token after the other, and tells the host of the first.
    fn decode(&mut self, value_count: usize, id: ResponseId) -> Result<(), PluginError> {
        let plan = Arc::clone(&self.plan);
        let tokens_max = plan.tokens_max(value_count);
        self.tokens.clear();
        self.begin(&plan, value_count)?;
        let mut before = plan.generation.start_token;
        loop {
            self.step(&plan, before)?;
            let logits = self.decoder.output(0).map_err(runtime_failed)?;
            let token = likeliest(logits.element, &logits.dims, logits.bytes)?;
            self.tokens.push(token);
            if self.tokens.len() == 1 {
                self.host.first_token(&[Response::new(id, &[]).with_token_count(1)]);
            }
            if token == plan.generation.end_token || self.tokens.len() == tokens_max {
                self.decoder.unbind();
                return Ok(());
            }
            for cache in plan.decoder.caches.iter().filter(|cache| self.tokens.len() == 1 || !cache.once) {
                let value = self.decoder.take_output(cache.output).map_err(runtime_failed)?;
                self.decoder.give_input(cache.input, value);
            }
            before = token;
        }
    }

    /// Binds the values that stay from call to call, and empty caches.
    fn begin(&mut self, plan: &Plan, value_count: usize) -> Result<(), PluginError> {
        let states = self.encoder.take_output(0).map_err(runtime_failed)?;
        self.decoder.give_input(plan.decoder.states, states);
        if let Some(mask) = plan.decoder.mask {
            let memory = self.mask_of(value_count);
            // SAFETY: the mask is the instance's, is aligned to 64, and is never written again.
            unsafe { self.decoder.bind_input(mask, memory, element(I64), &[1, dim(value_count)]) }
                .map_err(runtime_failed)?;
        }
        for cache in &plan.decoder.caches {
            let memory = Memory { data: self.nothing.bytes_mut().as_mut_ptr(), size_bytes: 0 };
            // SAFETY: no byte of the memory is used; it is the instance's, and aligned to 64.
            unsafe { self.decoder.bind_input(cache.input, memory, element(F32), &cache.first_dims) }
                .map_err(runtime_failed)?;
        }
        Ok(())
    }

    /// Calls the decoder with the token before.
    fn step(&mut self, plan: &Plan, before: u32) -> Result<(), PluginError> {
        self.token = [before.into()];
        self.use_cache = [u8::from(!self.tokens.is_empty())];
        let token = Memory { data: self.token.as_mut_ptr().cast(), size_bytes: size_of::<i64>() };
        // SAFETY: the token is the instance's, which is borrowed exclusively until `run_again` has returned, and is
        // bound again before the next call. It is aligned as i64 are.
        unsafe { self.decoder.bind_input(plan.decoder.tokens, token, element(I64), &[1, 1]) }
            .map_err(runtime_failed)?;
        if let Some(use_cache) = plan.decoder.use_cache {
            let memory = Memory { data: self.use_cache.as_mut_ptr(), size_bytes: 1 };
            // SAFETY: as for the token.
            unsafe { self.decoder.bind_input(use_cache, memory, element(Bool), &[1]) }
                .map_err(runtime_failed)?;
        }
        self.decoder.run_again().map_err(runtime_failed)
    }

    /// Returns the memory of a mask of ones, for up to as many values as a sample may have.
    fn mask_of(&mut self, value_count: usize) -> Memory {
        Memory { data: self.mask.bytes_mut().as_mut_ptr(), size_bytes: I64.bytes_of(value_count) }
    }
}

/// Returns the token with the largest logit, the first of equals; `[1, 1, tokens]` are of f32.
fn likeliest(element: ElementType, dims: &[usize], bytes: &[u8]) -> Result<u32, PluginError> {
    let count = dims.last().copied().unwrap_or(0);
    let logits = bytes.as_chunks::<4>().0;
    if element != F32 || count == 0 || logits.len() != count {
        return Err(PluginError::failed(format!("the logits are {element}{dims:?}, and not f32[1, 1, n]")));
    }
    let mut best = None;
    for (token, logit) in (0..).zip(logits.iter().map(|bytes| f32::from_ne_bytes(*bytes))) {
        if best.map_or(!logit.is_nan(), |(_, most)| logit > most) {
            best = Some((token, logit));
        }
    }
    best.map(|(token, _)| token).ok_or_else(|| PluginError::failed("no logit is a number"))
}

/// Writes tokens as integers of a type, for which `to` has exactly the room.
fn write_tokens(tokens: &[u32], element: ElementType, to: &mut [u8]) {
    match element {
        I64 => {
            let places = to.as_chunks_mut().0.iter_mut();
            places.zip(tokens).for_each(|(to, token)| *to = i64::from(*token).to_ne_bytes());
        }
        _ => {
            let places = to.as_chunks_mut().0.iter_mut();
            places.zip(tokens).for_each(|(to, token)| *to = token.cast_signed().to_ne_bytes());
        }
    }
}

impl Instance for GenerationInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let begin_ns = self.host.now_ns();
        for position in 0..batch.sample_count() {
            if let Err(error) = self.answer(batch, position) {
                // The next sample has tensors of its own.
                self.decoder.unbind();
                return Err(error);
            }
        }
        // Encoder and decoder take turns, sample by sample.
        batch.set_stages(&[Stage::new(Stage::COMPUTE, begin_ns, self.host.now_ns())]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_logits_is_the_token() {
        let of = |logits: &[f32], dims: &[usize]| {
            let bytes: Vec<u8> = logits.iter().flat_map(|logit| logit.to_ne_bytes()).collect();
            likeliest(F32, dims, &bytes).map_err(|error| error.to_string())
        };
        assert_eq!(of(&[0.5, 2.0, 2.0, f32::NAN], &[1, 1, 4]), Ok(1));
        assert_eq!(of(&[f32::NAN, f32::NEG_INFINITY], &[1, 1, 2]), Ok(1));
        assert!(of(&[f32::NAN], &[1, 1, 1]).unwrap_err().contains("no logit is a number"));
        assert!(of(&[1.0, 2.0], &[1, 2, 1]).unwrap_err().contains("f32[1, 2, 1]"));
    }

    #[test]
    fn tokens_are_integers_of_either_type() {
        let (mut short, mut long) = ([0; 8], [0; 16]);
        write_tokens(&[7, 300], I32, &mut short);
        write_tokens(&[7, 300], I64, &mut long);
        assert_eq!(short, *[7_i32, 300].map(i32::to_ne_bytes).as_flattened());
        assert_eq!(long, *[7_i64, 300].map(i64::to_ne_bytes).as_flattened());
    }
}
