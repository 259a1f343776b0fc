"""Answers of DLRM, DLRM-v2 and 3D-UNet by NumPy alone: `peer.py FOLDER`.

`case.json` there names the task, the file of weights, and of each sample the type, shape and file of each input. Leaves
`answer-<sample>.bin` for each: probabilities or scores as f32, or labels as u8 with the gaps between the two best means
as f32 in `gap-<sample>.bin`.
"""

import itertools
import json
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(3)

HOTS_V2 = [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1]


def weights_of(path):
    """The tensors of a safetensors file, in f64."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    tensors, data = json.loads(data[8 : 8 + length]), data[8 + length :]
    del tensors["__metadata__"]
    found = {}
    for name, tensor in tensors.items():
        start, end = tensor["data_offsets"]
        found[name] = np.frombuffer(data[start:end], "<f4").astype(np.float64).reshape(tensor["shape"])
    return found


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


def bell(extent):
    middle = (extent - 1) / 2
    line = np.exp(-0.5 * ((np.arange(extent) - middle) / (extent / 8)) ** 2)
    cube = np.cbrt(line[:, None, None] * line[:, None] * line)
    return cube / cube.max()


def labels(w, volume, extent):
    """Labels of a volume, by windows that overlap by half, and the gaps between the two best means."""
    weight, shape = bell(extent), volume.shape[1:]
    sums = norm = 0.0
    for start in itertools.product(*(range(0, n - extent + 1, extent // 2) for n in shape)):
        box = tuple(slice(at, at + extent) for at in start)
        around = [(at, n - at - extent) for at, n in zip(start, shape)]
        sums = sums + np.pad(unet(w, volume[(slice(None), *box)], 0.0) * weight, [(0, 0), *around])
        norm = norm + np.pad(weight, around)
    means = sums / norm
    best = np.sort(means, axis=0)
    return np.argmax(means, axis=0), best[-1] - best[-2]


def main():
    folder = Path(sys.argv[1])
    case = json.loads((folder / "case.json").read_text())
    w = weights_of(folder / case["weights"])
    for index, sample in enumerate(case["samples"]):
        tensors = [
            np.fromfile(folder / tensor["file"], {"f32": "<f4", "i32": "<i4"}[tensor["type"]]).reshape(tensor["shape"])
            for tensor in sample
        ]
        kind, gap = "<f4", None
        match case["task"]:
            case "dlrm":
                answer = dlrm(w, *tensors)
            case "dlrm-v2":
                answer = dlrm_v2(w, *tensors)
            case "scores":
                answer = unet(w, *tensors, 0.01)
            case "labels":
                (answer, gap), kind = labels(w, *tensors, case["extent"]), "u1"
        answer.astype(kind).tofile(folder / f"answer-{index}.bin")
        if gap is not None:
            gap.astype("<f4").tofile(folder / f"gap-{index}.bin")


main()
