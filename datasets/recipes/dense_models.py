"""DLRM, DLRM-v2 and 3D-UNet, as models.md defines them, in numpy: weights, samples and answers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from engine_models import BEFORE_RELU, F32, linear as add_linear, steady
from recipes import Inputs, Recipe, positions

HOTS_V2 = [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1]
ROWS = [
    *(39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938),
    *(155, 4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36),
]
ROWS_V2 = [
    *(40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938),
    *(155, 4, 976, 14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36),
]


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def relu(x):
    return np.maximum(x, 0.0)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def dlrm(w, dense, categories):
    x = dense.astype(np.float64)
    for layer in (0, 2, 4):
        if f"bot_l.{layer}.weight" in w:
            x = relu(linear(w, f"bot_l.{layer}", x))
    features = [x]
    for table in range(26):
        rows = w[f"emb_l.{table}.weight"]
        features.append(rows[categories[:, table] % len(rows)])
    features = np.stack(features, axis=1)
    products = np.einsum("rid,rjd->rij", features, features)
    below = [(i, j) for i in range(27) for j in range(i)]
    x = np.concatenate([x] + [products[:, i, j][:, None] for i, j in below], axis=1)
    layers = sorted(int(name.split(".")[1]) for name in w if name.startswith("top_l.") and name.endswith("weight"))
    for layer in layers[:-1]:
        x = relu(linear(w, f"top_l.{layer}", x))
    return sigmoid(linear(w, f"top_l.{layers[-1]}", x))[:, 0]


def mlp(w, prefix, x):
    layer = 0
    while f"{prefix}._mlp.{layer}._linear.weight" in w:
        x = relu(linear(w, f"{prefix}._mlp.{layer}._linear", x))
        layer += 1
    return x


def dlrm_v2(w, dense, *categories):
    x = mlp(w, "dense_arch.model", dense.astype(np.float64))
    features = [x]
    for table, rows_of_user in enumerate(categories):
        assert rows_of_user.shape[1] == HOTS_V2[table]
        rows = w[f"sparse_arch.embedding_bag_collection.embedding_bags.t_cat_{table}.weight"]
        features.append(sum(rows[column % len(rows)] for column in rows_of_user.T))
    first = x = np.concatenate(features, axis=1)
    for layer in range(3):
        down, up, bias = (w[f"inter_arch.crossnet.{part}.{layer}"] for part in ("V_kernels", "W_kernels", "bias"))
        x = first * (x @ down.T @ up.T + bias) + x
    return sigmoid(linear(w, "over_arch.model.1", mlp(w, "over_arch.model.0", x)))[:, 0]


def convolution(x, kernel, stride=1):
    """3x3x3 over [channel, depth, height, width], one voxel of zeros around."""
    x = np.pad(x, [(0, 0)] + 3 * [(1, 1)])
    extents = [(n - 3) // stride + 1 for n in x.shape[1:]]
    y = np.zeros((len(kernel), *extents))
    for at in itertools.product(range(3), repeat=3):
        part = x[(slice(None), *(slice(a, a + stride * (n - 1) + 1, stride) for a, n in zip(at, extents)))]
        y += np.tensordot(kernel[(slice(None), slice(None), *at)], part, axes=1)
    return y


def block(w, name, x, slope, stride):
    for conv, step in (("conv1", stride), ("conv2", 1)):
        x = convolution(x, w[f"{name}.{conv}.0.weight"], step)
        mean, variance = (f(x, axis=(1, 2, 3), keepdims=True) for f in (np.mean, np.var))
        gain, bias = (w[f"{name}.{conv}.1.{part}"][:, None, None, None] for part in ("weight", "bias"))
        x = (x - mean) / np.sqrt(variance + 1e-5) * gain + bias
        x = np.where(x > 0, x, slope * x)
    return x


def doubled(w, name, x):
    """A transposed convolution of 2x2x2 voxels, 2 voxels apart."""
    weight = w[f"{name}.weight"]
    y = np.zeros((weight.shape[1], *(2 * n for n in x.shape[1:])))
    for at in itertools.product(range(2), repeat=3):
        y[(slice(None), *(slice(a, None, 2) for a in at))] = np.tensordot(weight[(..., *at)].T, x, axes=1)
    return y + w[f"{name}.bias"][:, None, None, None]


def unet(w, x, slope):
    levels = [block(w, "input_block", x.astype(np.float64), slope, 1)]
    while f"downsample.{len(levels) - 1}.conv1.0.weight" in w:
        levels.append(block(w, f"downsample.{len(levels) - 1}", levels[-1], slope, 2))
    x = block(w, "bottleneck", levels[-1], slope, 2)
    for index, level in enumerate(reversed(levels)):
        x = np.concatenate([doubled(w, f"upsample.{index}.upsample_conv.0", x), level])
        x = block(w, f"upsample.{index}", x, slope, 1)
    bias = w["output.conv.0.bias"][:, None, None, None]
    return np.tensordot(w["output.conv.0.weight"][:, :, 0, 0, 0], x, axes=1) + bias


def numbers(name: str, sample: int, tensor: str, shape: tuple[int, ...], scale: float) -> np.ndarray:
    count = int(np.prod(shape))
    return Inputs(name, sample).stream(tensor).uniform(positions(count), scale).reshape(shape)


@dataclass
class Dlrm:
    """A network over few rows of each table; `rank` is that of DLRM-v2's cross network, 0 for DLRM."""

    bottom: tuple[int, ...]
    top: tuple[int, ...]
    rows_max: int
    rank: int = 0

    def recipe(self, name: str) -> Recipe:
        recipe, width, extents = Recipe(name), self.bottom[-1], (13, *self.bottom)
        for index, (inputs, outputs) in enumerate(itertools.pairwise(extents)):
            layer = f"dense_arch.model._mlp.{index}._linear" if self.rank else f"bot_l.{2 * index}"
            add_linear(recipe, layer, outputs, inputs, F32(0.25) if index == 0 else BEFORE_RELU)
        for index, (rows, hots) in enumerate(zip(ROWS_V2 if self.rank else ROWS, HOTS_V2)):
            table = f"sparse_arch.embedding_bag_collection.embedding_bags.t_cat_{index}" if self.rank else f"emb_l.{index}"
            scale = steady(hots) if self.rank else np.sqrt(steady(width)) * F32(1.316)
            recipe.add(f"{table}.weight", (min(rows, self.rows_max), width), float(scale))
        features = 27 * width if self.rank else width + 351
        for index in range(3 if self.rank else 0):
            cross = "inter_arch.crossnet"
            recipe.add(f"{cross}.V_kernels.{index}", (self.rank, features), float(steady(features)))
            recipe.add(f"{cross}.W_kernels.{index}", (features, self.rank), float(F32(0.5) * steady(self.rank)))
            recipe.add(f"{cross}.bias.{index}", (features,), 0.125)
        extents = (features, *self.top, 1)
        for index, (inputs, outputs) in enumerate(itertools.pairwise(extents)):
            layer = f"over_arch.model.0._mlp.{index}._linear" if self.rank else f"top_l.{2 * index}"
            layer = "over_arch.model.1" if self.rank and outputs == 1 else layer
            add_linear(recipe, layer, outputs, inputs, F32(1.0) if outputs == 1 else BEFORE_RELU)
        return recipe

    def answer(self, name: str, weights: dict, sample: int) -> dict[str, np.ndarray]:
        dense = numbers(name, sample, "dense", (1, 13), 2.0)
        stream = Inputs(name, sample).stream
        integers = lambda tensor, count: stream(tensor).below(positions(count), 40_000_000)[None]
        if self.rank == 0:
            return {"predictions": dlrm(weights, dense, integers("categories", 26))}
        categories = [integers(f"categories_{index}", hots) for index, hots in enumerate(HOTS_V2)]
        return {"predictions": dlrm_v2(weights, dense, *categories)}


@dataclass
class Unet:
    """A network for volumes of some extents."""

    inputs: int
    extents: tuple[int, int, int]
    channels: tuple[int, ...]
    classes: int
    slope: float

    def recipe(self, name: str) -> Recipe:
        recipe, channels = Recipe(name), self.channels
        names = ["input_block", *(f"downsample.{level}" for level in range(len(channels) - 2)), "bottleneck"]
        for block, (inputs, outputs) in zip(names, itertools.pairwise((self.inputs, *channels))):
            self.block(recipe, block, inputs, outputs)
        for index, (inputs, outputs) in enumerate(itertools.pairwise(reversed(channels))):
            up = f"upsample.{index}.upsample_conv.0"
            recipe.add(f"{up}.weight", (inputs, outputs, 2, 2, 2), float(steady(inputs)))
            recipe.add(f"{up}.bias", (outputs,), 0.125)
            self.block(recipe, f"upsample.{index}", 2 * outputs, outputs)
        shape = (self.classes, channels[0], 1, 1, 1)
        recipe.add("output.conv.0.weight", shape, float(F32(2.0) * steady(channels[0])))
        recipe.add("output.conv.0.bias", (self.classes,), 0.125)
        return recipe

    def block(self, recipe: Recipe, name: str, inputs: int, outputs: int) -> None:
        for conv, width in (("conv1", inputs), ("conv2", outputs)):
            shape = (outputs, width, 3, 3, 3)
            recipe.add(f"{name}.{conv}.0.weight", shape, float(BEFORE_RELU * steady(27 * width)))
            recipe.add(f"{name}.{conv}.1.weight", (outputs,), 0.25, center=1.0)
            recipe.add(f"{name}.{conv}.1.bias", (outputs,), 0.25)

    def answer(self, name: str, weights: dict, sample: int) -> dict[str, np.ndarray]:
        volume = numbers(name, sample, "input", (self.inputs, *self.extents), 2.0)
        return {"output": unet(weights, volume, self.slope)}


MODELS = {
    "dlrm-small-tables": Dlrm((512, 256, 128), (1024, 1024, 512, 256), 10_000),
    "dlrm-tiny": Dlrm((16, 8), (32, 16), 50),
    "dlrm-v2-small-tables": Dlrm((512, 256, 128), (1024, 1024, 512, 256), 10_000, 512),
    "dlrm-v2-tiny": Dlrm((16, 8), (32, 16), 50, 4),
    "3d-unet-kits19-tiny": Unet(1, (16, 16, 16), (4, 6, 8), 3, 0.0),
    "3d-unet-brats-tiny": Unet(4, (12, 16, 8), (4, 6, 8), 4, 0.01),
}
