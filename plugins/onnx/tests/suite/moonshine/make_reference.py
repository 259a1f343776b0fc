"""Transcribes recordings by the Moonshine model with ONNX Runtime and NumPy alone, and writes tokens and texts as JSON.

    python -m venv /tmp/moonshine && /tmp/moonshine/bin/pip install numpy==2.4.6 onnxruntime==1.32.0
    /tmp/moonshine/bin/python make_reference.py DATA > reference.json

DATA is a data root with the folders moonshine-tiny and librivox. Nothing of Proctor is used.
"""

import json
import sys
import wave
from pathlib import Path

import numpy as np
import onnxruntime

START, END = 1, 2
RATE = 16000
TOKENS_PER_SECOND = 6.5
TOKENS_MORE = 2


def read_pieces(path):
    """The bytes of each token: a length of one or two bytes, seven bits in each, the lower first; then the bytes."""
    data, pieces, at = path.read_bytes(), [], 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128:
            length += 128 * (data[at] - 1)
            at += 1
        pieces.append(data[at : at + length])
        at += length
    return pieces


def read_waveform(path):
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
        frames = file.readframes(file.getnframes())
    return np.frombuffer(frames, "<i2").astype(np.float32) / 32768


class Model:
    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = lambda name: onnxruntime.InferenceSession(str(folder / name), options, ["CPUExecutionProvider"])
        self.encoder, self.decoder = session("encoder_model.ort"), session("decoder_model_merged.ort")
        self.caches = {
            value.name: [0 if isinstance(extent, str) and place else extent for place, extent in enumerate(value.shape)]
            for value in self.decoder.get_inputs()
            if value.name.startswith("past_key_values.")
        }
        self.presents = [value.name for value in self.decoder.get_outputs() if value.name.startswith("present.")]

    def tokens(self, waveform):
        mask = np.ones((1, len(waveform)), np.int64)
        (states,) = self.encoder.run(None, {"input_values": waveform[None], "attention_mask": mask})
        past = {name: np.zeros([1] + shape[1:], np.float32) for name, shape in self.caches.items()}
        tokens = []
        for step in range(int(len(waveform) * TOKENS_PER_SECOND / RATE) + TOKENS_MORE):
            inputs = {
                "input_ids": np.array([[tokens[-1] if tokens else START]], np.int64),
                "encoder_hidden_states": states,
                "encoder_attention_mask": mask,
                "use_cache_branch": np.array([step > 0]),
            }
            logits, *present = self.decoder.run(["logits", *self.presents], inputs | past)
            tokens.append(int(logits[0, -1].argmax()))
            if tokens[-1] == END:
                break
            for name, value in zip(self.presents, present):
                # What is computed of the recording comes in the first step alone.
                if step == 0 or ".decoder." in name:
                    past[name.replace("present.", "past_key_values.")] = value
        return tokens


def main():
    root = Path(sys.argv[1])
    model, pieces = Model(root / "moonshine-tiny"), read_pieces(root / "moonshine-tiny" / "tokenizer.bin")
    found = {}
    for name in (root / "librivox" / "fileids").read_text().split():
        waveform = read_waveform(root / "librivox" / f"{name}.wav")
        tokens = model.tokens(waveform)
        text = b"".join(pieces[token] for token in tokens if token > END).replace("\u2581".encode(), b" ")
        found[name] = {"samples": len(waveform), "tokens": tokens, "text": text.decode().strip()}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
