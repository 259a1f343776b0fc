"""Makes the network of the benchmark fashion-mnist in all its files, and what it reaches as a reference.

    python3 -m venv /tmp/fashion && /tmp/fashion/bin/pip install -r requirements.txt
    /tmp/fashion/bin/python make.py --data FOLDER

FOLDER has the four files of Fashion-MNIST as `host data get fashion-mnist` places them, or packed by gzip as Debian's
package dataset-fashion-mnist has them. Training sees images 0 to 59,499 of the training file, and the scales of the
8-bit file come from the 500 after them. The test images are scored after the last step, to write down what each file reaches.
"""

import argparse
import gzip
import hashlib
import json
import os
import struct
import sys
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

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "digits"))

from checksums import write_checksums
from quantise import f16, int8, ranges

NAME = "fashion-mnist-cnn"
SEED = 2017  # The year of the data set.
TRAINING, CALIBRATION, TEST = 59_500, 500, 10_000
SIDE, CLASSES = 28, 10
EPOCHS, BATCH, LEARNING_RATE, WEIGHT_DECAY = 10, 125, 3e-3, 1e-2
REFERENCE_SAMPLES = 64  # So many test samples are in samples.idx3-ubyte, and have their logits in reference.json.
SCORED_AT_ONCE = 500
OPSET, IR_VERSION = 17, 8


# ---- Data ------------------------------------------------------------------------------------------------------------


def read_idx(folder, name, rank):
    """Reads an IDX file of unsigned bytes, packed or not."""
    path = folder / name
    data = path.read_bytes() if path.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())
    zero, kind, file_rank = struct.unpack(">HBB", data[:4])
    assert (zero, kind, file_rank) == (0, 8, rank), f"{path} is no IDX file of {rank} dimensions"
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_part(folder, part):
    """The images of a part as [count, 28, 28] in [0, 1], and their classes."""
    images = read_idx(folder, f"{part}-images-idx3-ubyte", 3).astype(np.float32) / 255
    return images, read_idx(folder, f"{part}-labels-idx1-ubyte", 1).astype(np.int32)


# ---- The network: parameters by PyTorch's names and layouts, and the forward pass over [batch, 28, 28] in [0, 1] -----


def layer(keys, name, shape):
    """A weight [out, in, ...] and its bias [out]."""
    bound = 1.0 / np.sqrt(np.prod(shape[1:]))
    weight = jax.random.uniform(next(keys), shape, jnp.float32, -bound, bound)
    bias = jax.random.uniform(next(keys), shape[:1], jnp.float32, -bound, bound)
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def parameters(seed):
    keys = iter(jax.random.split(jax.random.key(seed), 8))
    convolutions = layer(keys, "conv1", (16, 1, 3, 3)) | layer(keys, "conv2", (32, 16, 3, 3))
    return convolutions | layer(keys, "conv3", (32, 32, 3, 3)) | layer(keys, "fc", (CLASSES, 32 * 7 * 7))


def forward(p, images):
    x = images[:, None]
    for name in ("conv1", "conv2", "conv3"):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "SAME")
        x = jax.nn.relu(x + p[f"{name}.bias"][None, :, None, None])
        if name != "conv3":  # Max pooling, 2x2.
            batch, channels, side, _ = x.shape
            x = x.reshape(batch, channels, side // 2, 2, side // 2, 2).max((3, 5))
    return x.reshape(len(images), -1) @ p["fc.weight"].T + p["fc.bias"]


# ---- Training --------------------------------------------------------------------------------------------------------


def moved(images, generator):
    """Mirrors half of the images, for clothes have no left or right, and shifts half by up to a pixel each way."""
    images = np.where(generator.random(len(images))[:, None, None] < 0.5, images[:, :, ::-1], images)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    moves = generator.integers(0, 3, (len(images), 2))
    moves[generator.random(len(images)) < 0.5] = 1  # The middle: not shifted.
    return np.stack([image[y : y + SIDE, x : x + SIDE] for image, (y, x) in zip(padded, moves)])


@jax.jit
def adamw_step(p, moments, number, rate, images, labels):
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


def train(images, labels):
    """Trains for a fixed number of epochs, the rate falling to 0 along half a cosine; returns the last weights."""
    p = parameters(SEED)
    moments = jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)
    generator = np.random.Generator(np.random.PCG64(SEED))
    batches = len(images) // BATCH
    for epoch in range(EPOCHS):
        order = generator.permutation(len(images))
        seen = moved(images, generator)
        for batch in range(batches):
            chosen = order[batch * BATCH :][:BATCH]
            number = epoch * batches + batch
            rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * number / (EPOCHS * batches)))
            p, moments = adamw_step(p, moments, number + 1.0, rate, seen[chosen], labels[chosen])
        print(f"epoch {epoch + 1} of {EPOCHS}", flush=True)
    return {name: np.asarray(value) for name, value in p.items()}


# ---- ONNX ------------------------------------------------------------------------------------------------------------


def to_onnx(p):
    """A checked model from `image` [batch, 1, 28, 28] to `logits` [batch, 10]."""
    nodes, x = [], "image"
    for name in ("conv1", "conv2", "conv3"):
        inputs = [x, f"{name}.weight", f"{name}.bias"]
        nodes.append(helper.make_node("Conv", inputs, [name], kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [name], [f"{name}_relu"]))
        x = f"{name}_relu"
        if name != "conv3":
            nodes.append(helper.make_node("MaxPool", [x], [f"{name}_pool"], kernel_shape=[2, 2], strides=[2, 2]))
            x = f"{name}_pool"
    nodes.append(helper.make_node("Flatten", [x], ["features"], axis=1))
    nodes.append(helper.make_node("Gemm", ["features", "fc.weight", "fc.bias"], ["logits"], transB=1))
    graph = helper.make_graph(
        nodes,
        NAME,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(value), key) for key, value in p.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, producer_name="make.py", ir_version=IR_VERSION, opset_imports=opsets)
    onnx.checker.check_model(model, full_check=True)
    return model


def logits_of(model, images):
    """The logits of ONNX Runtime on one processor, in batches."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    parts = np.split(images[:, None], range(SCORED_AT_ONCE, len(images), SCORED_AT_ONCE))
    return np.concatenate([session.run(["logits"], {"image": part})[0] for part in parts])


# ---- All together ----------------------------------------------------------------------------------------------------


def score(name, logits, labels):
    """What a file reaches on the test images, for reference.json."""
    classes = logits.argmax(axis=1)
    correct = int((classes == labels).sum())
    print(f"{name}: {correct} of {len(labels)} correct, {100 * correct / len(labels):.2f} %")
    return {
        "test_top1": correct / len(labels),
        "correct_count": correct,
        "sample_count": len(labels),
        # A class for each test sample.
        "predictions": "".join(str(one) for one in classes),
        # Nine digits name a float32 exactly.
        "logits": [[float(f"{value:.9g}") for value in row] for row in logits[:REFERENCE_SAMPLES]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the four files of Fashion-MNIST")
    flags = parser.parse_args()
    images, labels = read_part(flags.data, "train")
    assert len(images) == TRAINING + CALIBRATION
    p = train(images[:TRAINING], labels[:TRAINING])
    (HERE / f"{NAME}.safetensors").write_bytes(save(p))
    model = to_onnx(p)
    largest = ranges(model, images[TRAINING:, None])
    models = {NAME: model, f"{NAME}-int8": int8(model, largest), f"{NAME}-f16": f16(model)}
    test, classes = read_part(flags.data, "t10k")
    assert len(test) == TEST
    np.testing.assert_allclose(logits_of(model, test[:100]), forward(p, test[:100]), rtol=1e-4, atol=1e-4)
    reference = {}
    for name, made in models.items():
        onnx.save(made, HERE / f"{name}.onnx")
        reference[name] = score(name, logits_of(made, test), classes)
    first = read_idx(flags.data, "t10k-images-idx3-ubyte", 3)[:REFERENCE_SAMPLES]
    header = struct.pack(">HBB3I", 0, 8, first.ndim, *first.shape)
    (HERE / "samples.idx3-ubyte").write_bytes(header + first.tobytes())
    inputs = hashlib.sha256(test[:REFERENCE_SAMPLES].astype("<f4").tobytes()).hexdigest()
    (HERE / "reference.json").write_text(json.dumps({"inputs_sha256": inputs, "models": reference}, indent=1) + "\n")
    write_checksums(HERE)


if __name__ == "__main__":
    main()
