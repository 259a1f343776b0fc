//! The CPU RNN plugin: LSTM and GRU inference in f32 from safetensors.
