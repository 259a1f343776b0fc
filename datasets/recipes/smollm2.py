"""SmolLM2 from a GGUF file, in float64 by numpy: an implementation of its own, for the right answers of the benchmark.

Source of the form of the file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3. Source of the
blocks of quantised weights: `ggml-common.h` there. The network is the family's: RMS norm, rotary positions on
neighbouring pairs of values (the order in which files of this kind hold queries and keys), grouped-query attention,
SwiGLU, and an embedding that is the last matrix, too.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

# Kinds of plain values, by their number in a file.
PLAIN = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1"}
PLAIN |= {10: "<u8", 11: "<i8", 12: "<f8"}
TEXT, LIST = 8, 9
# Blocks of 32 weights, by the number of their kind.
BLOCKS = {
    3: np.dtype([("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", 16)]),
    8: np.dtype([("scale", "<f2"), ("steps", "i1", 32)]),
}


class Gguf:
    """The values of a file by name, and its tensors."""

    def __init__(self, path: Path):
        self.data = path.read_bytes()
        self.at = 0
        magic, version = self.take("<4sI")
        if magic != b"GGUF" or version != 3:
            raise SystemExit(f"{path} is no GGUF file of version 3")
        tensor_count, value_count = self.take("<QQ")
        self.values = {}
        for _ in range(value_count):
            name = self.text()
            self.values[name] = self.value(*self.take("<I"))
        self.tensors = {}
        for _ in range(tensor_count):
            name = self.text()
            (rank,) = self.take("<I")
            # The extent that lies together comes first in a file of this kind.
            shape = self.take(f"<{rank}Q")[::-1]
            self.tensors[name] = (shape, *self.take("<IQ"))
        alignment = self.values.get("general.alignment", 32)
        self.start = (self.at + alignment - 1) // alignment * alignment

    def take(self, form: str) -> tuple:
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self) -> str:
        (length,) = self.take("<Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind: int):
        if kind == TEXT:
            return self.text()
        if kind == LIST:
            kind, count = self.take("<IQ")
            if kind in (TEXT, LIST):
                return [self.value(kind) for _ in range(count)]
            values = np.frombuffer(self.data, PLAIN[kind], count, self.at)
            self.at += values.nbytes
            return values
        value = np.frombuffer(self.data, PLAIN[kind], 1, self.at)[0].item()
        self.at += np.dtype(PLAIN[kind]).itemsize
        return value

    def tensor(self, name: str) -> np.ndarray:
        """A tensor in float64, whatever its kind."""
        shape, kind, offset = self.tensors[name]
        count, start = int(np.prod(shape)), self.start + offset
        if kind == 0:
            return np.frombuffer(self.data, "<f4", count, start).astype(np.float64).reshape(shape)
        blocks = np.frombuffer(self.data, BLOCKS[kind], count // 32, start)
        scale = blocks["scale"].astype(np.float64)[:, None]
        if kind == 8:
            return (blocks["steps"] * scale).reshape(shape)
        # The first half of a block is in the lower halves of its bytes.
        steps = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
        return (steps * scale + blocks["least"].astype(np.float64)[:, None]).reshape(shape)


class Network:
    """The decoder. `logits` reads further tokens of a text, which begins with the first call after `begin`."""

    def __init__(self, file: Gguf):
        values = {name.removeprefix("llama."): value for name, value in file.values.items()}
        self.layers = values["block_count"]
        self.heads, self.groups = values["attention.head_count"], values["attention.head_count_kv"]
        self.width = values["embedding_length"] // self.heads
        self.epsilon = values["attention.layer_norm_rms_epsilon"]
        self.turns = values["rope.freq_base"] ** (-np.arange(0, self.width, 2) / self.width)
        self.weights = {name: file.tensor(name) for name in file.tensors}
        self.begin()

    def begin(self) -> None:
        self.seen: list[list[np.ndarray]] = [[] for _ in range(self.layers)]
        self.length = 0

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * self.weights[f"{name}.weight"]

    def turned(self, x: np.ndarray) -> np.ndarray:
        """Turns pairs of values of each head, `[token, head, width]`, as numbers of the complex plane."""
        angles = np.arange(self.length, self.length + len(x))[:, None] * self.turns
        pairs = x[..., ::2] + 1j * x[..., 1::2]
        pairs = pairs * np.exp(1j * angles)[:, None, :]
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)

    def attention(self, layer: int, x: np.ndarray) -> np.ndarray:
        def part(name: str, heads: int) -> np.ndarray:
            return (x @ self.weights[f"blk.{layer}.attn_{name}.weight"].T).reshape(len(x), heads, self.width)

        q, k, v = self.turned(part("q", self.heads)), self.turned(part("k", self.groups)), part("v", self.groups)
        if self.seen[layer]:
            k, v = np.concatenate([self.seen[layer][0], k]), np.concatenate([self.seen[layer][1], v])
        self.seen[layer] = [k, v]
        later = np.arange(len(k))[None, :] > np.arange(self.length, self.length + len(x))[:, None]
        mixed = np.empty_like(q)
        for head in range(self.heads):
            group = head * self.groups // self.heads
            scores = q[:, head] @ k[:, group].T / np.sqrt(self.width)
            scores[later] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            mixed[:, head] = shares / shares.sum(-1, keepdims=True) @ v[:, group]
        return mixed.reshape(len(x), -1) @ self.weights[f"blk.{layer}.attn_output.weight"].T

    def logits(self, tokens: list[int]) -> np.ndarray:
        """The logits after each of these tokens, `[token, word]`."""
        weights = self.weights
        x = weights["token_embd.weight"][tokens]
        for layer in range(self.layers):
            name = f"blk.{layer}"
            x = x + self.attention(layer, self.norm(x, f"{name}.attn_norm"))
            inside = self.norm(x, f"{name}.ffn_norm")
            gate, up = (inside @ weights[f"{name}.ffn_{part}.weight"].T for part in ("gate", "up"))
            x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{name}.ffn_down.weight"].T
        self.length += len(tokens)
        return self.norm(x, "output_norm") @ weights["token_embd.weight"].T
