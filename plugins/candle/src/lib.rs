//! The candle plugin: models by name, from safetensors files.
