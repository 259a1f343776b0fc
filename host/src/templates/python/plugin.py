"""The plugin @NAME@: classifies handwritten digits.

Start here: put your own model into Network.load and Network.execute. `help(proctor.Batch)` says what a batch has.
"""

import json

import numpy as np
import proctor


@proctor.backend(name="@NAME@", version="0.1", models="digits-mlp", formats="safetensors")
class Network:
    """Classifies handwritten digits by a small network."""

    def load(self, model):
        weights = read(model.files["safetensors"])
        layers = [(weights[f"fc{layer}.weight"].T, weights[f"fc{layer}.bias"]) for layer in (1, 2, 3)]
        self.layers = [(np.ascontiguousarray(weight), bias) for weight, bias in layers]

    def execute(self, batch):
        # A row for each sample; read-only, since the samples are the host's.
        values = batch.inputs["image"]
        for weight, bias in self.layers[:-1]:
            values = np.maximum(values @ weight + bias, 0)
        weight, bias = self.layers[-1]
        np.matmul(values, weight, out=batch.outputs["logits"])
        batch.outputs["logits"] += bias


def read(path):
    """Returns the tensors of a file of safetensors, all of them f32."""
    data = path.read_bytes()
    header_size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + header_size])
    header.pop("__metadata__", None)
    begin = 8 + header_size
    tensors = {}
    for name, tensor in header.items():
        first, last = tensor["data_offsets"]
        tensors[name] = np.frombuffer(data[begin + first : begin + last], np.float32).reshape(tensor["shape"])
    return tensors
