"""Graphs of TensorFlow in NumPy, and their ONNX files in ONNX Runtime.

    python3 peer.py FOLDER

prints a line for each case of the folder: its name and the largest difference of a value. Exits with 3 where a package
is missing.
"""

import itertools
import json
import pathlib
import sys

try:
    import numpy as np
    import onnxruntime
except (ImportError, OSError) as error:
    print(f"no Python package: {error}")
    sys.exit(3)

SAMPLES = 3
TYPES = {"float32": "<f4", "int32": "<i4", "bool": "?"}


def weights(case, manifest):
    data, start, found = (case / "weights.bin").read_bytes(), 0, {}
    for entry in manifest[0]["weights"]:
        kind = np.dtype(TYPES[entry["dtype"]])
        count = int(np.prod(entry["shape"], dtype=int))
        found[entry["name"]] = np.frombuffer(data, kind, count, start).reshape(entry["shape"])
        start += count * kind.itemsize
    return found


def attribute(node, name, default=None):
    value = node["attr"].get(name)
    if value is None:
        return default
    if "list" in value:
        return [int(item) for item in value["list"]["i"]]
    if "s" in value:
        return bytes(value["s"]).decode()
    return int(value["i"]) if "i" in value else value.get("f", value.get("b"))


def places(node, rows, extents, dilations):
    """For each axis its padding and its number of results."""
    axes = []
    for extent, stride, step, count in zip(extents, attribute(node, "strides")[1:-1], dilations, rows):
        reach = (extent - 1) * step + 1
        if attribute(node, "padding") == "VALID":
            axes.append((0, 0, stride, (count - reach) // stride + 1))
        else:
            results = (count + stride - 1) // stride
            total = max((results - 1) * stride + reach - count, 0)
            axes.append((total // 2, total - total // 2, stride, results))
    return axes


def windows(node, x, extents, fill=0.0):
    """Yields each place of the window with the values that are there for each result."""
    dilations = attribute(node, "dilations", [1] * (len(extents) + 2))[1:-1]
    axes = places(node, x.shape[1:-1], extents, dilations)
    padded = np.pad(x, [(0, 0), *((before, behind) for before, behind, _, _ in axes), (0, 0)], constant_values=fill)
    for place in itertools.product(*map(range, extents)):
        at = [
            slice(offset * step, offset * step + (results - 1) * stride + 1, stride)
            for offset, step, (_, _, stride, results) in zip(place, dilations, axes)
        ]
        yield place, padded[(slice(None), *at)]


def convolution(node, x, kernel):
    *extents, inputs, outputs = kernel.shape
    groups = x.shape[-1] // inputs
    total = 0
    for place, values in windows(node, x, extents):
        parts = zip(np.split(values, groups, -1), np.split(kernel[place], groups, -1))
        total = total + np.concatenate([part @ weight for part, weight in parts], -1)
    return total


def depthwise(node, x, kernel):
    total = 0
    for place, values in windows(node, x, kernel.shape[:-2]):
        total = total + values[..., None] * kernel[place]
    return total.reshape(*total.shape[:-2], -1)


def transposed(node, target, kernel, x):
    """The gradient of the convolution that makes x of the target."""
    target = [int(extent) for extent in target]
    axes = places(node, target[1:-1], kernel.shape[:-2], [1] * len(kernel.shape[:-2]))
    assert [results for *_, results in axes] == list(x.shape[1:-1])
    padded = np.zeros(
        [target[0], *(count + before + behind for count, (before, behind, _, _) in zip(target[1:-1], axes)), target[-1]]
    )
    for place in itertools.product(*map(range, kernel.shape[:-2])):
        at = [
            slice(offset, offset + (results - 1) * stride + 1, stride)
            for offset, (_, _, stride, results) in zip(place, axes)
        ]
        padded[(slice(None), *at)] += x @ kernel[place].T
    inner = [slice(before, before + count) for count, (before, _, _, _) in zip(target[1:-1], axes)]
    return padded[(slice(None), *inner)]


def norm(node, x, scale, offset, mean, variance):
    return (x - mean) / np.sqrt(variance + attribute(node, "epsilon")) * scale + offset


def part(node, x, begin, end, step):
    values = x[int(begin[0]) : int(end[0]) : int(step[0])]
    return values[0] if attribute(node, "shrink_axis_mask", 0) & 1 else values


OPERATORS = {
    "Identity": lambda node, x: x,
    "Switch": lambda node, x, condition: (None, x) if condition else (x, None),
    "Merge": lambda node, *branches: next(branch for branch in branches if branch is not None),
    "RandomUniform": lambda node, shape: None,
    "Conv2D": convolution,
    "Conv3D": convolution,
    "DepthwiseConv2dNative": depthwise,
    "Conv2DBackpropInput": transposed,
    "Conv3DBackpropInputV2": transposed,
    "MaxPool": lambda node, x: np.max([it for _, it in windows(node, x, attribute(node, "ksize")[1:-1], -np.inf)], 0),
    "FusedBatchNorm": norm,
    "Add": lambda node, a, b: a + b,
    "AddV2": lambda node, a, b: a + b,
    "BiasAdd": lambda node, a, b: a + b,
    "AddN": lambda node, *parts: sum(parts),
    "Sub": lambda node, a, b: a - b,
    "Mul": lambda node, a, b: a * b,
    "Relu": lambda node, x: np.maximum(x, 0),
    "Relu6": lambda node, x: np.clip(x, 0, 6),
    "Sigmoid": lambda node, x: 1 / (1 + np.exp(-x)),
    "Exp": lambda node, x: np.exp(x),
    "Shape": lambda node, x: np.array(x.shape),
    "Reshape": lambda node, x, target: x.reshape([int(extent) for extent in target]),
    "ExpandDims": lambda node, x, axis: np.expand_dims(x, int(axis)),
    "Squeeze": lambda node, x: np.squeeze(x, tuple(attribute(node, "squeeze_dims"))),
    "Pack": lambda node, *parts: np.stack(parts, attribute(node, "axis", 0)),
    "Unpack": lambda node, x: tuple(np.moveaxis(x, attribute(node, "axis", 0), 0)),
    "StridedSlice": part,
    "ConcatV2": lambda node, *parts: np.concatenate(parts[:-1], int(parts[-1])),
    "Transpose": lambda node, x, order: np.transpose(x, order),
    "Tile": lambda node, x, repeats: np.tile(x, repeats),
}
OPERATORS["MaxPool3D"] = OPERATORS["MaxPool"]


def compute(nodes, constants, x):
    known = {name: value.astype(float) if value.dtype == "<f4" else value for name, value in constants.items()}
    known["x"] = x.astype(float)

    def value(source):
        name, _, port = source.partition(":")
        if name not in known:
            node = nodes[name]
            known[name] = OPERATORS[node["op"]](node, *(value(it) for it in node["input"]))
        found = known[name]
        return found[int(port or 0)] if isinstance(found, tuple) else found

    return value("y")


def main(folder):
    for case in sorted(folder.iterdir()):
        model = json.loads((case / "model.json").read_text())
        nodes = {node["name"]: node for node in model["modelTopology"]["node"]}
        shape = json.loads((case / "shape.json").read_text())
        x = np.random.default_rng(1).normal(size=(SAMPLES, *shape)).astype(np.float32)
        expected = compute(nodes, weights(case, model["weightsManifest"]), x)
        session = onnxruntime.InferenceSession(case / "model.onnx", providers=["CPUExecutionProvider"])
        (got,) = session.run(None, {"x": x})
        assert got.shape == expected.shape, f"{case.name}: {got.shape} and {expected.shape}"
        single = session.run(None, {"x": x[:1]})[0]
        print(case.name, max(np.abs(got - expected).max(), np.abs(single - expected[:1]).max()))


main(pathlib.Path(sys.argv[1]))
