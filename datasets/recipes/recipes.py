"""Generated weights and inputs, as plugins/cpu-rnn/models/src/nets/README.md defines them, in numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MASK = (1 << 64) - 1


def mix(z: np.ndarray) -> np.ndarray:
    """The output function of splitmix64, element by element."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def fnv1a64(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


class Stream:
    """Uniform bits by position."""

    def __init__(self, seed: int, name: str, sample: int | None = None):
        self.key = mix(np.array([(seed ^ fnv1a64(name)) & MASK], dtype=np.uint64))
        if sample is not None:
            self.key = self.bits(np.array([sample], dtype=np.uint64))

    def bits(self, positions: np.ndarray) -> np.ndarray:
        return mix(self.key + (positions + np.uint64(1)) * GAMMA)

    def uniform(self, positions: np.ndarray, scale: float) -> np.ndarray:
        steps = (self.bits(positions) >> np.uint64(40)).astype(np.float32)
        return (steps * np.float32(2.0**-23) - np.float32(1.0)) * np.float32(scale)

    def unit(self, positions: np.ndarray) -> np.ndarray:
        return (self.bits(positions) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, positions: np.ndarray, count: int) -> np.ndarray:
        return (((self.bits(positions) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.int64)


def positions(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64)


@dataclass
class Tensor:
    """How one tensor of weights is made, around its center; fills are (start, count, value)."""

    name: str
    shape: tuple[int, ...]
    scale: float
    fills: list[tuple[int, int, float]] = field(default_factory=list)
    center: float = 0.0

    def values(self, seed: int) -> np.ndarray:
        flat = Stream(seed, self.name).uniform(positions(math.prod(self.shape)), self.scale)
        flat += np.float32(self.center)
        for start, count, value in self.fills:
            flat[start : start + count] = np.float32(value)
        return flat.reshape(self.shape)


@dataclass
class Recipe:
    """The tensors of a model."""

    name: str
    tensors: list[Tensor] = field(default_factory=list)

    def add(self, name: str, shape: tuple[int, ...], scale: float, center: float = 0.0) -> Tensor:
        self.tensors.append(Tensor(name, shape, scale, center=center))
        return self.tensors[-1]

    def rnn(
        self,
        prefix: str,
        gates: int,
        sizes: list[tuple[int, int]],
        bidirectional: bool = False,
        scale: float | None = None,
    ) -> None:
        """Layers of a stack, each (input, hidden), with PyTorch's names and, unless given, scale."""
        for index, (width, hidden) in enumerate(sizes):
            scale = scale or root(hidden)
            for suffix in ["", "_reverse"] if bidirectional else [""]:
                end = f"l{index}{suffix}"
                self.add(f"{prefix}.weight_ih_{end}", (gates * hidden, width), scale)
                self.add(f"{prefix}.weight_hh_{end}", (gates * hidden, hidden), scale)
                self.add(f"{prefix}.bias_ih_{end}", (gates * hidden,), scale)
                self.add(f"{prefix}.bias_hh_{end}", (gates * hidden,), scale)

    def tensor(self, name: str) -> Tensor:
        return next(tensor for tensor in self.tensors if tensor.name == name)

    def weights(self) -> dict[str, np.ndarray]:
        """All tensors, in f64."""
        seed = fnv1a64(self.name)
        return {tensor.name: tensor.values(seed).astype(np.float64) for tensor in self.tensors}


def root(width: int) -> float:
    """1 / sqrt(width), rounded as f32 rounds it."""
    return float(np.float32(1.0) / np.sqrt(np.float32(width)))


def unit_alone(recipe: Recipe, prefix: str, end: str, width: int, hidden: int, step: float) -> None:
    """Makes unit 0 of an LSTM layer depend on nothing but the number of steps: its cell grows by tanh(step) in each."""
    gates = [20.0, 20.0, step, 20.0]
    for gate, bias in enumerate(gates):
        row = gate * hidden
        recipe.tensor(f"{prefix}.weight_ih_{end}").fills.append((row * width, width, 0.0))
        recipe.tensor(f"{prefix}.weight_hh_{end}").fills.append((row * hidden, hidden, 0.0))
        recipe.tensor(f"{prefix}.bias_ih_{end}").fills.append((row, 1, bias))
        recipe.tensor(f"{prefix}.bias_hh_{end}").fills.append((row, 1, 0.0))


def text_similarity(name: str, vocabulary: int, width: int, hidden: int, dense: int) -> Recipe:
    recipe = Recipe(name)
    recipe.add("embedding.weight", (vocabulary, width), 1.0)
    recipe.rnn("gru", 3, [(width, hidden)], bidirectional=True)
    recipe.add("dense.weight", (dense, 2 * hidden), root(2 * hidden))
    recipe.add("dense.bias", (dense,), root(2 * hidden))
    return recipe


def attention_sum_reader(name: str, vocabulary: int, width: int, hidden: int) -> Recipe:
    recipe = Recipe(name)
    recipe.add("embedding.weight", (vocabulary, width), 1.0)
    recipe.rnn("question", 3, [(width, hidden)], bidirectional=True)
    recipe.rnn("context", 3, [(width, hidden)], bidirectional=True)
    return recipe


def bidaf(name: str, vocabulary: int, width: int, hidden: int) -> Recipe:
    recipe = Recipe(name)
    recipe.add("embedding.weight", (vocabulary, width), 1.0)
    for layer in range(2):
        for part in ["transform", "gate"]:
            recipe.add(f"highway.{layer}.{part}.weight", (width, width), root(width))
            recipe.add(f"highway.{layer}.{part}.bias", (width,), root(width))
    recipe.rnn("phrase", 4, [(width, hidden)], bidirectional=True)
    recipe.add("attention.weight", (6 * hidden,), 3.0)
    recipe.rnn("modeling", 4, [(8 * hidden, hidden), (2 * hidden, hidden)], bidirectional=True)
    recipe.rnn("output", 4, [(14 * hidden, hidden)], bidirectional=True)
    recipe.add("start.weight", (10 * hidden,), 3.0)
    recipe.add("end.weight", (10 * hidden,), 3.0)
    return recipe


END = 2


@dataclass
class GnmtSizes:
    """Sizes and scales of a translation model."""

    vocabulary: int
    hidden: int
    scale: float
    output_scale: float
    sharpness: float
    count_step: float
    end_weight: float


def gnmt(name: str, s: GnmtSizes) -> Recipe:
    recipe, hidden, scale = Recipe(name), s.hidden, s.scale
    recipe.add("encoder.embedding.weight", (s.vocabulary, hidden), 1.0)
    recipe.rnn("encoder.lstm0", 4, [(hidden, hidden)], bidirectional=True, scale=scale)
    recipe.rnn("encoder.lstm1", 4, [(2 * hidden, hidden)], scale=scale)
    recipe.rnn("encoder.lstm2", 4, [(hidden, hidden)], scale=scale)
    recipe.rnn("encoder.lstm3", 4, [(hidden, hidden)], scale=scale)
    recipe.add("attention.memory.weight", (hidden, hidden), scale)
    recipe.add("attention.query.weight", (hidden, hidden), scale)
    recipe.add("attention.v", (hidden,), 1.0)
    recipe.add("attention.g", (1,), 1.0).fills.append((0, 1, s.sharpness))
    recipe.add("attention.bias", (hidden,), scale)
    recipe.add("decoder.embedding.weight", (s.vocabulary, hidden), 1.0)
    for layer in range(4):
        recipe.rnn(f"decoder.lstm{layer}", 4, [(2 * hidden, hidden)], scale=scale)
    output = recipe.add("decoder.output.weight", (s.vocabulary, hidden), s.output_scale)
    output.fills.append((END * hidden, 1, s.end_weight))
    unit_alone(recipe, "encoder.lstm3", "l0", hidden, hidden, -s.count_step)
    unit_alone(recipe, "decoder.lstm1", "l0", 2 * hidden, hidden, 0.0)
    unit_alone(recipe, "decoder.lstm2", "l0", 2 * hidden, hidden, 0.0)
    unit_alone(recipe, "decoder.lstm3", "l0", 2 * hidden, hidden, s.count_step)
    return recipe


@dataclass
class RnntSizes:
    """Sizes and scales of a transducer."""

    width: int
    hidden: int
    prediction: int
    joint: int
    labels: int
    encoder_scale: float
    prediction_scale: float
    joint_scale: float
    output_scale: float
    frame_step: float
    symbol_step: float
    pace_weight: float


def rnnt(name: str, s: RnntSizes) -> Recipe:
    recipe, hidden, prediction = Recipe(name), s.hidden, s.prediction
    recipe.rnn("encoder.pre_rnn.lstm", 4, [(s.width, hidden), (hidden, hidden)])
    recipe.rnn("encoder.post_rnn.lstm", 4, [(2 * hidden, hidden), (hidden, hidden), (hidden, hidden)])
    recipe.add("prediction.embed.weight", (s.labels, prediction), 1.0)
    recipe.rnn("prediction.dec_rnn.lstm", 4, [(prediction, prediction), (prediction, prediction)])
    for tensor in recipe.tensors:
        if ".weight_ih_" in tensor.name:
            tensor.scale = s.encoder_scale if tensor.name.startswith("encoder") else s.prediction_scale
    unit_alone(recipe, "encoder.post_rnn.lstm", "l2", hidden, hidden, s.frame_step)
    unit_alone(recipe, "prediction.dec_rnn.lstm", "l1", prediction, prediction, s.symbol_step)
    width, blank, weight = hidden + prediction, s.labels, s.pace_weight
    first = recipe.add("joint.net.0.weight", (s.joint, width), s.joint_scale)
    first.fills += [(0, 2 * width, 0.0), (0, 1, -weight), (hidden, 1, weight)]
    first.fills += [(width, 1, weight), (width + hidden, 1, -weight)]
    recipe.add("joint.net.0.bias", (s.joint,), 0.1).fills.append((0, 2, 0.0))
    last = recipe.add("joint.net.3.weight", (blank + 1, s.joint), s.output_scale)
    last.fills += [(blank * s.joint, 1, weight), (blank * s.joint + 1, 1, -weight)]
    recipe.add("joint.net.3.bias", (blank + 1,), 0.1).fills.append((blank, 1, 1.0))
    return recipe


GNMT = GnmtSizes(32317, 1024, 0.1, 0.1, 8.0, 2.0**-4, 25.0)
GNMT_TINY = GnmtSizes(40, 16, 0.5, 3.0, 4.0, 2.0**-3, 40.0)
RNNT = RnntSizes(240, 1024, 320, 512, 28, 0.3, 1.0, 0.2, 0.1, 2.0**-8, 1.25 * 2.0**-8, 16.0)
RNNT_TINY = RnntSizes(240, 10, 7, 9, 28, 0.3, 1.0, 1.0, 3.0, 2.0**-8, 1.25 * 2.0**-8, 8.0)

RECIPES = {
    "text-similarity": lambda name: text_similarity(name, 50000, 200, 512, 128),
    "text-similarity-33": lambda _: text_similarity("text-similarity", 50000, 200, 512, 128),
    "text-similarity-tiny": lambda name: text_similarity(name, 50, 12, 16, 8),
    "attention-sum-reader": lambda name: attention_sum_reader(name, 20000, 200, 256),
    "attention-sum-reader-tiny": lambda name: attention_sum_reader(name, 30, 12, 16),
    "bidaf": lambda name: bidaf(name, 50000, 50, 100),
    "bidaf-tiny": lambda name: bidaf(name, 40, 6, 5),
    "gnmt": lambda name: gnmt(name, GNMT),
    "gnmt-tiny": lambda name: gnmt(name, GNMT_TINY),
    "rnnt": lambda name: rnnt(name, RNNT),
    "rnnt-tiny": lambda name: rnnt(name, RNNT_TINY),
}


def recipe(name: str) -> Recipe:
    return RECIPES[name](name)


class Inputs:
    """The samples of a model. Each method makes one input of one sample."""

    def __init__(self, name: str, sample: int):
        self.seed, self.sample = fnv1a64(name), sample

    def stream(self, name: str) -> Stream:
        return Stream(self.seed, name, self.sample)

    def lengths(self, name: str, count: int, low: int, high: int) -> np.ndarray:
        return low + self.stream(name).below(positions(count), high - low + 1)

    def words(self, name: str, lengths: np.ndarray, steps: int, vocabulary: int, first: int = 0) -> np.ndarray:
        place = self.stream(name).unit(positions(len(lengths) * steps))
        words = first + np.floor(place * place * place * (vocabulary - first)).astype(np.int64)
        used = np.arange(steps)[None, :] < lengths[:, None]
        return np.where(used, words.reshape(len(lengths), steps), 0)

    def mask(self, name: str, steps: int, low: int, high: int) -> np.ndarray:
        """Ones up to the length of the sample."""
        return (np.arange(steps) < self.lengths(name, 1, low, high)[0]).astype(np.int64)

    def segments(self, name: str, mask: np.ndarray, low: int, high: int) -> np.ndarray:
        """Zeros in the first segment, ones in the second, zeros beyond the length."""
        first = self.lengths(name, 1, low, high)[0]
        return np.where(np.arange(len(mask)) < first, 0, mask)

    def candidates(self, name: str, count: int, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        stream, picked = self.stream(name), []
        for index in range(count):
            sequence = index % len(lengths)
            step = stream.below(np.array([index], dtype=np.uint64), int(lengths[sequence]))[0]
            picked.append(words[sequence, step])
        return np.array(picked)

    def uniform(self, name: str, length: int, shape: tuple[int, int], scale: float) -> np.ndarray:
        values = self.stream(name).uniform(positions(math.prod(shape)), scale).reshape(shape).astype(np.float64)
        values[length:] = 0.0
        return values
