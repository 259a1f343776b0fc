//! A batch of prompts in; logits, or texts, out.

use candle_core::{Result, Tensor, bail};
use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::ElementType::I32;

use super::{
    attention::Words,
    beam_search::{BeamSearch, Limits},
    cache::{Capacity, KvCache},
    config::{LlamaConfig, Use},
    decoder::Decoder,
};
use crate::{
    error::LoadError,
    models::tensors::{Expected, fit_inputs, fit_outputs},
    network::{LoadRequest, Network, NetworkCall, Output},
};

/// A decoder with its sizes.
#[derive(Debug)]
pub(super) struct Llama {
    decoder: Decoder,
    /// Positions of the inputs with the words, and with their number.
    places: [usize; 2],
    generation: Option<Generation>,
}

/// Rules for continuing a text.
#[derive(Debug)]
struct Generation {
    limits: Limits,
    capacity: Capacity,
    /// One cache for each instance; a batch borrows one for its duration.
    caches: Mutex<Vec<KvCache>>,
}

/// Loads a decoder for the use that its id says: see [`LlamaConfig::of`].
pub(in crate::models) fn load(request: &LoadRequest<'_>) -> std::result::Result<Box<dyn Network>, LoadError> {
    let (config, usage) = LlamaConfig::of(request.model)
        .ok_or_else(|| LoadError::unknown_model(request.model, super::config::IDS))?;
    let words = Expected::new("input_ids", I32, &[None]);
    let places = fit_inputs(request.inputs, [words, Expected::new("input_length", I32, &[Some(1)])])?;
    let prompt_words = request.inputs[places[0]].shape[0];
    let Use::Generate { beam } = usage else {
        fit_outputs(request.outputs, [Expected::f32("logits", &[config.vocab_size])])?;
        let decoder = Decoder::load(config, prompt_words, request.weights)?;
        return Ok(Box::new(Llama { decoder, places, generation: None }));
    };
    let [place] = fit_outputs(request.outputs, [Expected::new("tokens", I32, &[None])])?;
    let tokens_max = request.outputs[place].shape[0];
    if tokens_max < 2 {
        return Err(LoadError::tensors("gives texts of 2 tokens or more", &format!("room for {tokens_max}")));
    }
    let capacity = Capacity {
        prompts: request.batch_size_max,
        beam: request.beam.unwrap_or(beam),
        prompt_words,
        fed_words: tokens_max - 1,
    };
    let decoder = Decoder::load(config, prompt_words + tokens_max - 1, request.weights)?;
    let caches: Result<_> = (0..request.instance_count).map(|_| decoder.cache(capacity)).collect();
    let caches = Mutex::new(caches.map_err(|error| request.weights.refused(error))?);
    let limits = Limits { tokens_max, end: config.eos_token_id };
    Ok(Box::new(Llama { decoder, places, generation: Some(Generation { limits, capacity, caches }) }))
}

impl Network for Llama {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let prompts = self.prompts(call)?;
        match &self.generation {
            None => Ok(vec![Output::Tensor(self.decoder.read_prompts(&prompts, None)?.0)]),
            Some(generation) => generation.run(&self.decoder, call, &prompts),
        }
    }

    fn summary(&self) -> String {
        let LlamaConfig { vocab_size, hidden_size, intermediate_size, num_hidden_layers, .. } =
            *self.decoder.config();
        let LlamaConfig { num_attention_heads, num_key_value_heads, .. } = *self.decoder.config();
        let usage = match &self.generation {
            None => "logits".to_owned(),
            Some(Generation { limits, capacity: Capacity { beam: 1, .. }, .. }) => {
                format!("greedy, up to {} tokens", limits.tokens_max)
            }
            Some(Generation { limits, capacity, .. }) => {
                format!("beam of {}, up to {} tokens", capacity.beam, limits.tokens_max)
            }
        };
        format!(
            "{num_hidden_layers} layers of {hidden_size} and {intermediate_size} values, {num_attention_heads} heads on \
             {num_key_value_heads} of keys, {vocab_size} words; {usage}"
        )
    }
}

impl Llama {
    /// Returns the prompts of a batch without their padding.
    fn prompts(&self, call: &NetworkCall) -> Result<Vec<Vec<u32>>> {
        let [words, lengths] = self.places.map(|place| &call.inputs[place]);
        let lengths = lengths.flatten_all()?.to_vec1::<u32>()?;
        let vocabulary = self.decoder.config().vocab_size;
        let mut prompts = words.to_vec2::<u32>()?;
        for ((prompt, length), sample) in prompts.iter_mut().zip(lengths).zip(&call.indices) {
            let room = prompt.len();
            let words = usize::try_from(length).ok().filter(|words| (1..=room).contains(words));
            let Some(words) = words else {
                bail!("sample {sample}: input_length is {}, not from 1 to {room}", length.cast_signed());
            };
            prompt.truncate(words);
            let is_known = |word: &u32| usize::try_from(*word).is_ok_and(|word| word < vocabulary);
            if let Some(place) = prompt.iter().position(|word| !is_known(word)) {
                let word = prompt[place].cast_signed();
                bail!(
                    "sample {sample}: input_ids[{place}] is {word}, which is none of the {vocabulary} words"
                );
            }
        }
        Ok(prompts)
    }
}

impl Generation {
    fn run(&self, decoder: &Decoder, call: &NetworkCall, prompts: &[Vec<u32>]) -> Result<Vec<Output>> {
        let cache = self.caches.lock().pop();
        let cache = match cache {
            Some(cache) => cache,
            // More calls at a time than there are instances: a mistake of the host, but no reason to fail.
            None => decoder.cache(self.capacity)?,
        };
        let texts = self.texts(decoder, call, prompts, &cache);
        self.caches.lock().push(cache);
        Ok(vec![Output::Tokens(texts?)])
    }

    /// Returns the answers to the prompts of a batch. All are fed in step until the last one is done.
    fn texts(
        &self,
        decoder: &Decoder,
        call: &NetworkCall,
        prompts: &[Vec<u32>],
        cache: &KvCache,
    ) -> Result<Vec<Vec<i32>>> {
        let beam = self.capacity.beam;
        let mut searches: Vec<Progress> = prompts.iter().map(|_| Progress::new(beam, self.limits)).collect();
        let (logits, batch) = decoder.read_prompts(prompts, Some(cache))?;
        advance(&mut searches, &logits, call)?;
        for fed in 0..self.capacity.fed_words {
            if searches.iter().all(|progress| progress.search.is_done()) {
                break;
            }
            let (parents, next) = next(&searches, beam);
            cache.reorder(&parents, fed)?;
            let position = |text: usize| (prompts[text / beam].len() + fed) as u32;
            let positions = decoder.positions((0..next.len()).map(position).collect())?;
            let logits = decoder.feed(&next, &batch, &Words { beam, fed, positions }, cache)?;
            advance(&mut searches, &logits, call)?;
        }
        let tokens = |search: &BeamSearch| search.tokens().iter().map(|token| token.cast_signed()).collect();
        Ok(searches.iter().map(|progress| tokens(&progress.search)).collect())
    }
}

/// The search of one sample.
struct Progress {
    search: BeamSearch,
    /// Whether the first token was reported.
    reported: bool,
}

impl Progress {
    fn new(beam: usize, limits: Limits) -> Self {
        Self { search: BeamSearch::new(beam, limits), reported: false }
    }
}

/// Hands each search the logits of its texts, `[sample * text, word]`, and reports the first tokens that are known
/// then.
fn advance(searches: &mut [Progress], logits: &Tensor, call: &NetworkCall) -> Result<()> {
    let logits = logits.flatten_all()?.to_vec1::<f32>()?;
    let share = logits.len() / searches.len();
    for (sample, (progress, logits)) in searches.iter_mut().zip(logits.chunks_exact(share)).enumerate() {
        if progress.search.is_done() {
            continue;
        }
        progress.search.advance(logits)?;
        if !progress.reported && progress.search.first_token().is_some() {
            call.first_token(sample);
            progress.reported = true;
        }
    }
    Ok(())
}

/// Returns for each text of the batch the text that it continues, and the word to feed. Words of a finished search are
/// arbitrary, and stay what they are.
fn next(searches: &[Progress], beam: usize) -> (Vec<u32>, Vec<u32>) {
    let mut parents = Vec::with_capacity(searches.len() * beam);
    let mut words = Vec::with_capacity(searches.len() * beam);
    for (sample, progress) in searches.iter().enumerate() {
        let first = (sample * beam) as u32;
        if progress.search.is_done() {
            parents.extend(first..first + beam as u32);
            words.extend(std::iter::repeat_n(0, beam));
        } else {
            let next = progress.search.next().map(|(parent, word)| (first + parent, word));
            next.for_each(|(parent, word)| {
                parents.push(parent);
                words.push(word);
            });
        }
    }
    (parents, words)
}
