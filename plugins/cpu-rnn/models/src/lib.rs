//! Models around recurrent layers, from ONNX and safetensors files.
