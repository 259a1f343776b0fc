"""Makes every file of the digits benchmark: the images, the split, three trained models and their reference.

    python -m venv /tmp/digits && /tmp/digits/bin/pip install -r requirements.txt && /tmp/digits/bin/python make.py

The order is the order of main(): data, training, export, reference, checksums. Training sees the training split only;
the validation split is scored after the last step, to write down what each model reaches.
"""

import hashlib
import json
import os
import struct
from functools import partial
from pathlib import Path

# One thread for each product, so that sums are taken in the same order every time.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save
from sklearn.datasets import load_digits

from checksums import write_checksums

HERE = Path(__file__).resolve().parent
SEED = 1998  # The year of the data set.
TRAINING, CALIBRATION, VALIDATION = 1097, 100, 600
CLASSES = 10
HIDDEN = 64  # Width of the LSTM's state.
EPOCHS, BATCH, LEARNING_RATE, WEIGHT_DECAY = 120, 64, 3e-3, 1e-2
REFERENCE_SAMPLES = 16  # So many validation samples have their logits in reference.json.
OPSET, IR_VERSION = 17, 8


# ---- Data ----------------------------------------------------------------------------------------------------


def write_idx(path, array):
    """Writes unsigned bytes in the IDX form of MNIST: 0, 0, type 8, rank, big-endian extents, elements."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


def make_split(count):
    """A seeded permutation cut in three. The order is kept, so an index says nothing about its digit."""
    order = np.random.Generator(np.random.PCG64(SEED)).permutation(count).tolist()
    assert count == TRAINING + CALIBRATION + VALIDATION
    cuts = TRAINING, TRAINING + CALIBRATION
    return {"training": order[: cuts[0]], "calibration": order[cuts[0] : cuts[1]], "validation": order[cuts[1] :]}


def write_split(path, split):
    lines = ["# Which images belong to which part: indices into images.idx3-ubyte. Written by make.py."]
    for name, indices in split.items():
        lines.append(f"\n{name} = [")
        for start in range(0, len(indices), 20):
            lines.append("    " + ", ".join(str(index) for index in indices[start : start + 20]) + ",")
        lines.append("]")
    path.write_text("\n".join(lines) + "\n")


# ---- Models: parameters by PyTorch's names and layouts, and the forward pass over [batch, 8, 8] in [0, 1] -----


def uniform(key, shape, fan_in):
    bound = 1.0 / np.sqrt(fan_in)
    return jax.random.uniform(key, shape, jnp.float32, -bound, bound)


def layer(keys, name, shape):
    """A weight [out, in, ...] and its bias [out]."""
    fan_in = int(np.prod(shape[1:]))
    weight, bias = uniform(next(keys), shape, fan_in), uniform(next(keys), shape[:1], fan_in)
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def lstm_parameters(keys):
    rows = 4 * HIDDEN  # Gates in the order input, forget, cell, output.
    return {
        "lstm.weight_ih_l0": uniform(next(keys), (rows, 8), HIDDEN),
        "lstm.weight_hh_l0": uniform(next(keys), (rows, HIDDEN), HIDDEN),
        "lstm.bias_ih_l0": uniform(next(keys), (rows,), HIDDEN),
        "lstm.bias_hh_l0": uniform(next(keys), (rows,), HIDDEN),
    } | layer(keys, "fc", (CLASSES, HIDDEN))


def lstm_forward(p, images):
    def step(state, row):
        h, c = state
        gates = row @ p["lstm.weight_ih_l0"].T + p["lstm.bias_ih_l0"]
        gates = gates + h @ p["lstm.weight_hh_l0"].T + p["lstm.bias_hh_l0"]
        i, f, g, o = jnp.split(gates, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((images.shape[0], HIDDEN), jnp.float32)
    (h, _), _ = jax.lax.scan(step, (zeros, zeros), images.transpose(1, 0, 2))
    return h @ p["fc.weight"].T + p["fc.bias"]


def cnn_parameters(keys):
    return (
        layer(keys, "conv1", (16, 1, 3, 3)) | layer(keys, "conv2", (32, 16, 3, 3)) | layer(keys, "fc", (CLASSES, 512))
    )


def cnn_forward(p, images):
    x = images[:, None]
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "SAME")
        x = jax.nn.relu(x + p[f"{name}.bias"][None, :, None, None])
    x = x.reshape(-1, 32, 4, 2, 4, 2).max((3, 5))  # Max pooling, 2x2.
    return x.reshape(-1, 512) @ p["fc.weight"].T + p["fc.bias"]


def mlp_parameters(keys):
    return layer(keys, "fc1", (128, 64)) | layer(keys, "fc2", (64, 128)) | layer(keys, "fc3", (CLASSES, 64))


def mlp_forward(p, images):
    x = images.reshape(-1, 64)
    x = jax.nn.relu(x @ p["fc1.weight"].T + p["fc1.bias"])
    x = jax.nn.relu(x @ p["fc2.weight"].T + p["fc2.bias"])
    return x @ p["fc3.weight"].T + p["fc3.bias"]


# ---- Training --------------------------------------------------------------------------------------------------------


def shifted(images, generator):
    """Moves half of the images by -1, 0 or 1 pixel each way, zeros moving in: a writer's hand is not exact either."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    moves = generator.integers(0, 3, (len(images), 2))
    moves[generator.random(len(images)) < 0.5] = 1  # The middle: not moved.
    return np.stack([image[y : y + 8, x : x + 8] for image, (y, x) in zip(padded, moves)])


@partial(jax.jit, static_argnames="forward")
def adamw_step(forward, p, moments, number, rate, images, labels):
    """One step of Adam with decoupled weight decay (Loshchilov and Hutter, 2019) on the mean cross-entropy."""

    def loss(p):
        return -jnp.take_along_axis(jax.nn.log_softmax(forward(p, images)), labels[:, None], axis=1).mean()

    gradient = jax.grad(loss)(p)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradient)

    def update(w, m, v):
        step = (m / (1 - 0.9**number)) / (jnp.sqrt(v / (1 - 0.999**number)) + 1e-8)
        return w - rate * (step + WEIGHT_DECAY * w)

    return jax.tree.map(update, p, first, second), (first, second)


def train(parameters, forward, seed, images, labels):
    """Trains for a fixed number of epochs, the rate falling to 0 along half a cosine; returns the last weights."""
    keys = iter(jax.random.split(jax.random.key(seed), 16))
    p = parameters(keys)
    moments = jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)
    generator = np.random.Generator(np.random.PCG64(seed))
    batches = len(images) // BATCH
    for number in range(EPOCHS * batches):
        if number % batches == 0:
            order = generator.permutation(len(images))
            moved = shifted(images, generator)
        chosen = order[number % batches * BATCH :][:BATCH]
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * number / (EPOCHS * batches)))
        p, moments = adamw_step(forward, p, moments, number + 1.0, rate, moved[chosen], labels[chosen])
    return {name: np.asarray(value) for name, value in p.items()}


# ---- ONNX ------------------------------------------------------------------------------------------------------------


def onnx_model(name, shape, nodes, weights):
    """A checked model from `image` [batch, *shape] to `logits` [batch, 10]."""
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", *shape])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(value), key) for key, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, producer_name="make.py", ir_version=IR_VERSION, opset_imports=opsets)
    onnx.checker.check_model(model, full_check=True)
    return model


def gemm(x, layer_name, y):
    return helper.make_node("Gemm", [x, f"{layer_name}.weight", f"{layer_name}.bias"], [y], transB=1)


def lstm_onnx(p):
    def onnx_gates(w):
        """ONNX orders the gates input, output, forget, cell and has a leading axis for the direction."""
        i, f, g, o = np.split(w, 4)
        return np.concatenate([i, o, f, g])[None]

    weights = {
        "lstm.w": onnx_gates(p["lstm.weight_ih_l0"]),
        "lstm.r": onnx_gates(p["lstm.weight_hh_l0"]),
        "lstm.b": np.concatenate([onnx_gates(p["lstm.bias_ih_l0"]), onnx_gates(p["lstm.bias_hh_l0"])], axis=1),
        "fc.weight": p["fc.weight"],
        "fc.bias": p["fc.bias"],
        "first_axis": np.array([0], np.int64),
    }
    nodes = [
        helper.make_node("Transpose", ["image"], ["rows"], perm=[1, 0, 2]),  # [time, batch, feature]
        helper.make_node("LSTM", ["rows", "lstm.w", "lstm.r", "lstm.b"], ["", "hidden"], hidden_size=HIDDEN),
        helper.make_node("Squeeze", ["hidden", "first_axis"], ["last"]),
        gemm("last", "fc", "logits"),
    ]
    return onnx_model("digits-lstm", [8, 8], nodes, weights)


def cnn_onnx(p):
    def conv(x, layer_name, y):
        inputs = [x, f"{layer_name}.weight", f"{layer_name}.bias"]
        return helper.make_node("Conv", inputs, [y], kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    nodes = [
        conv("image", "conv1", "a"),
        helper.make_node("Relu", ["a"], ["b"]),
        conv("b", "conv2", "c"),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["e"], ["f"], axis=1),
        gemm("f", "fc", "logits"),
    ]
    return onnx_model("digits-cnn", [1, 8, 8], nodes, p)


def mlp_onnx(p):
    nodes = [
        gemm("image", "fc1", "a"),
        helper.make_node("Relu", ["a"], ["b"]),
        gemm("b", "fc2", "c"),
        helper.make_node("Relu", ["c"], ["d"]),
        gemm("d", "fc3", "logits"),
    ]
    return onnx_model("digits-mlp", [64], nodes, p)


MODELS = {
    "digits-lstm": (lstm_parameters, lstm_forward, lstm_onnx, (8, 8)),
    "digits-cnn": (cnn_parameters, cnn_forward, cnn_onnx, (1, 8, 8)),
    "digits-mlp": (mlp_parameters, mlp_forward, mlp_onnx, (64,)),
}


# ---- All together ----------------------------------------------------------------------------------------------------


def make_model(number, name, training, validation):
    """Trains and writes one model; returns its entry of reference.json."""
    parameters, forward, to_onnx, shape = MODELS[name]
    p = train(parameters, forward, SEED + number, *training)
    (HERE / f"{name}.safetensors").write_bytes(save(p))
    onnx.save(to_onnx(p), HERE / f"{name}.onnx")

    images, labels = validation
    session = onnxruntime.InferenceSession(HERE / f"{name}.onnx", providers=["CPUExecutionProvider"])
    (logits,) = session.run(["logits"], {"image": images.reshape(-1, *shape)})
    np.testing.assert_allclose(logits, forward(p, images), rtol=1e-4, atol=1e-4)
    one_by_one = [session.run(["logits"], {"image": image.reshape(1, *shape)})[0][0] for image in images[:2]]
    np.testing.assert_allclose(logits[:2], one_by_one, rtol=1e-4, atol=1e-4)

    correct = int((logits.argmax(axis=1) == labels).sum())
    print(f"{name}: {correct} of {len(labels)} correct, {100 * correct / len(labels):.2f} %")
    return {
        "validation_top1": correct / len(labels),
        "correct_count": correct,
        "sample_count": len(labels),
        # A digit for each validation sample.
        "predictions": "".join(str(digit) for digit in logits.argmax(axis=1)),
        # Nine digits name a float32 exactly.
        "logits": [[float(f"{value:.9g}") for value in row] for row in logits[:REFERENCE_SAMPLES]],
    }


def main():
    digits = load_digits()
    pixels, labels = digits.images.astype(np.uint8), digits.target.astype(np.int32)
    split = make_split(len(pixels))
    write_idx(HERE / "images.idx3-ubyte", pixels)
    write_idx(HERE / "labels.idx1-ubyte", labels)
    write_split(HERE / "split.toml", split)

    images = pixels.astype(np.float32) / 16
    training = images[split["training"]], labels[split["training"]]
    validation = images[split["validation"]], labels[split["validation"]]
    models = {name: make_model(number, name, training, validation) for number, name in enumerate(MODELS)}
    inputs = validation[0][:REFERENCE_SAMPLES].astype("<f4").tobytes()
    reference = {"inputs_sha256": hashlib.sha256(inputs).hexdigest(), "models": models}
    (HERE / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
    write_checksums()


if __name__ == "__main__":
    main()
