"""Weights and samples of the models of general engines, as models.md defines them, in numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recipes import Inputs, Recipe, positions, root

F32 = np.float32
BEFORE_RELU = F32(1.414)


def steady(inputs: int) -> np.float32:
    """The bound of uniform weights whose sum of so many products has the deviation of the inputs, rounded as f32 rounds."""
    return np.sqrt(F32(3.0) / F32(inputs))


def convolution(recipe: Recipe, name: str, shape: tuple[int, int, int, int], gain: np.float32 = BEFORE_RELU) -> None:
    recipe.add(f"{name}.weight", shape, float(F32(gain) * steady(shape[1] * shape[2] * shape[3])))


def batch_norm(recipe: Recipe, name: str, channels: int, gain: float = 1.0) -> None:
    recipe.add(f"{name}.weight", (channels,), 0.25 * gain, center=gain)
    recipe.add(f"{name}.bias", (channels,), 0.25)
    recipe.add(f"{name}.running_mean", (channels,), 0.25)
    recipe.add(f"{name}.running_var", (channels,), 0.25, center=1.0)


def linear(recipe: Recipe, name: str, outputs: int, inputs: int, gain: float = 1.0) -> None:
    recipe.add(f"{name}.weight", (outputs, inputs), float(F32(gain) * steady(inputs)))
    recipe.add(f"{name}.bias", (outputs,), 0.125)


def layer_norm(recipe: Recipe, name: str, width: int) -> None:
    recipe.add(f"{name}.weight", (width,), 0.25, center=1.0)
    recipe.add(f"{name}.bias", (width,), 0.125)


def image(name: str, sample: int, extent: int) -> np.ndarray:
    """Tiles of one colour, and noise over them."""
    stream, count, tiles = Inputs(name, sample).stream("image"), 3 * extent * extent, 4
    noise = stream.uniform(positions(count), 0.5).reshape(3, extent, extent)
    colours = stream.uniform(positions(3 * tiles * tiles) + np.uint64(count), 2.0).reshape(3, tiles, tiles)
    return (colours.repeat(extent // tiles, 1).repeat(extent // tiles, 2) + noise).astype(np.float64)


@dataclass
class ResNet:
    """A residual network of bottlenecks."""

    image: int
    width: int
    blocks: tuple[int, int, int, int]
    classes: int

    def recipe(self, name: str) -> Recipe:
        recipe, inputs = Recipe(name), self.width
        convolution(recipe, "conv1", (self.width, 3, 7, 7))
        batch_norm(recipe, "bn1", self.width)
        for stage, count in enumerate(self.blocks):
            width = self.width << stage
            for index in range(count):
                block = f"layer{stage + 1}.{index}"
                convolution(recipe, f"{block}.conv1", (width, inputs, 1, 1))
                batch_norm(recipe, f"{block}.bn1", width)
                convolution(recipe, f"{block}.conv2", (width, width, 3, 3))
                batch_norm(recipe, f"{block}.bn2", width)
                convolution(recipe, f"{block}.conv3", (4 * width, width, 1, 1))
                batch_norm(recipe, f"{block}.bn3", 4 * width, 0.25)
                if index == 0:
                    convolution(recipe, f"{block}.downsample.0", (4 * width, inputs, 1, 1), F32(1.0))
                    batch_norm(recipe, f"{block}.downsample.1", 4 * width)
                inputs = 4 * width
        linear(recipe, "fc", self.classes, inputs)
        return recipe

    def sample(self, name: str, index: int) -> dict[str, np.ndarray]:
        return {"image": image(name, index, self.image)}


@dataclass
class MobileNet:
    """A network of depthwise and pointwise convolutions."""

    image: int
    width: int
    classes: int

    def recipe(self, name: str) -> Recipe:
        recipe, inputs = Recipe(name), self.width
        convolution(recipe, "mobilenet_v1.conv_stem.convolution", (inputs, 3, 3, 3))
        batch_norm(recipe, "mobilenet_v1.conv_stem.normalization", inputs)
        for pair, multiple in enumerate([2, 4, 4, 8, 8, 16, 16, 16, 16, 16, 16, 32, 32]):
            outputs = multiple * self.width
            depthwise, pointwise = (f"mobilenet_v1.layer.{2 * pair + part}" for part in (0, 1))
            convolution(recipe, f"{depthwise}.convolution", (inputs, 1, 3, 3))
            batch_norm(recipe, f"{depthwise}.normalization", inputs)
            convolution(recipe, f"{pointwise}.convolution", (outputs, inputs, 1, 1))
            batch_norm(recipe, f"{pointwise}.normalization", outputs)
            inputs = outputs
        linear(recipe, "classifier", self.classes, inputs)
        return recipe

    def sample(self, name: str, index: int) -> dict[str, np.ndarray]:
        return {"image": image(name, index, self.image)}


@dataclass
class Bert:
    """An encoder with the head for questions and answers, or as an embedding."""

    file: str
    vocabulary: int
    positions: int
    width: int
    layers: int
    heads: int
    steps: int
    is_embedding: bool
    lengths: tuple[int, int]
    first_segments: tuple[int, int]
    first_word: int

    def recipe(self, name: str) -> Recipe:
        recipe, width = Recipe(self.file), self.width
        for kind, rows, scale in [("word", self.vocabulary, 1.0), ("position", self.positions, 1.0), ("token_type", 2, 0.5)]:
            recipe.add(f"bert.embeddings.{kind}_embeddings.weight", (rows, width), scale)
        layer_norm(recipe, "bert.embeddings.LayerNorm", width)
        for index in range(self.layers):
            layer = f"bert.encoder.layer.{index}"
            for part, gain in [("self.query", 2.0), ("self.key", 2.0), ("self.value", 1.0), ("output.dense", 0.5)]:
                linear(recipe, f"{layer}.attention.{part}", width, width, gain)
            layer_norm(recipe, f"{layer}.attention.output.LayerNorm", width)
            linear(recipe, f"{layer}.intermediate.dense", 4 * width, width)
            linear(recipe, f"{layer}.output.dense", width, 4 * width, 0.5)
            layer_norm(recipe, f"{layer}.output.LayerNorm", width)
        linear(recipe, "qa_outputs", 2, width)
        return recipe

    def sample(self, name: str, index: int) -> dict[str, np.ndarray]:
        inputs = Inputs(name, index)
        mask = inputs.mask("input_mask", self.steps, *self.lengths)
        ids = inputs.words("input_ids", np.array([mask.sum()]), self.steps, self.vocabulary, self.first_word)
        segments = inputs.segments("segment_ids", mask, *self.first_segments)
        return {"input_ids": ids[0], "input_mask": mask, "segment_ids": segments}


@dataclass
class LstmStack:
    """A stack of LSTM layers."""

    input: int
    hidden: int
    layers: int
    steps: int

    def recipe(self, name: str) -> Recipe:
        recipe = Recipe(name)
        sizes = [(self.input, self.hidden)] + [(self.hidden, self.hidden)] * (self.layers - 1)
        recipe.rnn("lstm", 4, sizes, scale=2.0 * root(self.hidden))
        return recipe

    def sample(self, name: str, index: int) -> dict[str, np.ndarray]:
        return {"x": Inputs(name, index).uniform("x", self.steps, (self.steps, self.input), 1.0)}


def bert(file: str, width: int, layers: int, heads: int, is_embedding: bool = False) -> Bert:
    if is_embedding:
        return Bert(file, 30522, 512, width, layers, heads, 128, True, (16, 128), (128, 128), 999)
    return Bert(file, 30522, 512, width, layers, heads, 384, False, (128, 384), (8, 24), 999)


def bert_tiny(is_embedding: bool) -> Bert:
    lengths, first = ((4, 16), (16, 16)) if is_embedding else ((6, 16), (2, 5))
    return Bert("bert-tiny", 100, 24, 32, 2, 4, 16, is_embedding, lengths, first, 10)


MODELS = {
    "resnet50": ResNet(224, 64, (3, 4, 6, 3), 1000),
    "resnet50-tiny": ResNet(64, 8, (1, 2, 1, 1), 10),
    "mobilenet-v1": MobileNet(224, 32, 1001),
    "mobilenet-v1-tiny": MobileNet(64, 8, 11),
    "bert-base": bert("bert-base", 768, 12, 12),
    "bert-large": bert("bert-large", 1024, 24, 16),
    "bert-tiny": bert_tiny(False),
    "bert-base-embedding": bert("bert-base", 768, 12, 12, True),
    "bert-tiny-embedding": bert_tiny(True),
    "lstm-stack": LstmStack(512, 512, 3, 50),
    "lstm-stack-tiny": LstmStack(6, 8, 2, 5),
}
