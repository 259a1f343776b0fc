"""Makes the digits CNN in less precision: in 8-bit integers, calibrated on the calibration split, and in 16-bit floats.

    python -m venv /tmp/digits && /tmp/digits/bin/pip install -r requirements.txt && /tmp/digits/bin/python quantise.py

Reads digits-cnn.onnx and the images, writes digits-cnn-int8.onnx and digits-cnn-f16.onnx beside them, and the list of
checksums again. With `--wrong-scale FACTOR --out FILE` it writes instead an 8-bit model whose scale of the image is so many
times too small, so that all bright pixels become one: tests show with it that a bad quantisation is found out.

The 8-bit graph is the one of 32 bits with a pair of QuantizeLinear and DequantizeLinear around each operation that engines
have in integers: they see the pairs and compute with the integers between them; one that does not computes in floats and
rounds where the pairs stand.
"""

import argparse
import tomllib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from checksums import write_checksums

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "digits-cnn.onnx"
IMAGE_HEADER_BYTES = 16
ACTIVATION_MAX = 255  # Unsigned, from zero: all activations between the layers come out of a Relu.
# Seven bits and the sign would be 127. On processors without an instruction for products of bytes, engines add pairs of
# products in 16 bits, which two of 255 x 127 overflow and two of 255 x 64 do not. So the answers are the same everywhere.
WEIGHT_MAX = 64


# ---- Data ------------------------------------------------------------------------------------------------------------


def images(part):
    """The images of a part of the split: [count, 1, 8, 8] in [0, 1]."""
    indices = tomllib.loads((HERE / "split.toml").read_text())[part]
    pixels = np.frombuffer((HERE / "images.idx3-ubyte").read_bytes()[IMAGE_HEADER_BYTES:], np.uint8)
    return pixels.reshape(-1, 1, 8, 8)[indices].astype(np.float32) / 16


def logits(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"image": inputs})[0]


# ---- Calibration -----------------------------------------------------------------------------------------------------


def ranges(model, inputs):
    """The largest value of each tensor between the operations over all inputs, by name; none is below zero."""
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name != "logits"]
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(watched.SerializeToString(), providers=["CPUExecutionProvider"])
    values = dict(zip(names, session.run(names, {"image": inputs}))) | {"image": inputs}
    return {name: float(value.max()) for name, value in values.items()}


# ---- 8 bits ----------------------------------------------------------------------------------------------------------


class Quantised:
    """The nodes and weights of the 8-bit graph, as they are added."""

    def __init__(self, weights, scales):
        self.weights, self.scales = weights, scales
        self.nodes, self.initializers = [], []

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def dequantised(self, name, integers, scale):
        """A constant in integers with a scale for each output channel, which are the first axis."""
        zero_point = self.constant(f"{name}_zero_point", np.zeros(scale.shape, integers.dtype))
        inputs = [self.constant(f"{name}_quantized", integers), self.constant(f"{name}_scale", scale), zero_point]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [f"{name}_dequantized"], axis=0))
        return f"{name}_dequantized"

    def pair(self, name, scale_of=None):
        """A pair of nodes behind tensor `name`, by the scale of that tensor or of another one."""
        if scale_of is None:
            scale_of = name
            self.constant(f"{name}_scale", np.float32(self.scales[name]))
            self.constant(f"{name}_zero_point", np.uint8(0))
        how = [f"{scale_of}_scale", f"{scale_of}_zero_point"]
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *how], [f"{name}_quantized"]))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_quantized", *how], [f"{name}_dequantized"]))
        return f"{name}_dequantized"

    def layer(self, node, x, x_scale):
        """A Conv or Gemm on dequantised input, with weights in 8 bits and biases in the 32 bits of the sums."""
        weight, bias = (self.weights[name] for name in node.input[1:3])
        channels = weight.reshape(len(weight), -1)
        scale = (np.abs(channels).max(axis=1) / WEIGHT_MAX).astype(np.float32)
        integers = np.rint(channels / scale[:, None]).astype(np.int8).reshape(weight.shape)
        sum_scale = (np.float32(x_scale) * scale).astype(np.float32)
        w = self.dequantised(node.input[1], integers, scale)
        b = self.dequantised(node.input[2], np.rint(bias / sum_scale).astype(np.int32), sum_scale)
        self.copy(node, [x, w, b])

    def copy(self, node, inputs):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = inputs
        self.nodes.append(copy)


def int8(model, largest, wrong_by=1.0):
    """The model with pairs of nodes, by the largest value of each tensor."""
    scales = {name: value / ACTIVATION_MAX for name, value in largest.items()}
    scales["image"] /= wrong_by
    graph = Quantised({it.name: numpy_helper.to_array(it) for it in model.graph.initializer}, scales)
    # Where each tensor stands now, and whose scale it has: pooling and flattening keep it.
    now, scale_of = {"image": graph.pair("image")}, {"image": "image"}
    for node in model.graph.node:
        x, y = node.input[0], node.output[0]
        match node.op_type:
            case "Conv" | "Gemm":
                graph.layer(node, now[x], scales[scale_of[x]])
                now[y] = y
            case "Relu":
                graph.copy(node, [now[x]])
                now[y], scale_of[y] = graph.pair(y), y
            case "MaxPool" | "Flatten":
                graph.copy(node, [now[x]])
                now[y], scale_of[y] = graph.pair(y, scale_of[x]), scale_of[x]
            case other:
                raise ValueError(f"{model.graph.name} has a {other}, which is not known here")
    return rebuilt(model, f"{model.graph.name}-int8", graph.nodes, graph.initializers)


# ---- 16 bits ---------------------------------------------------------------------------------------------------------


def f16(model):
    """The model with weights and sums in 16-bit floats; what goes in and comes out keeps its 32 bits."""
    nodes = [helper.make_node("Cast", ["image"], ["image_f16"], to=TensorProto.FLOAT16)]
    renamed = {"image": "image_f16", "logits": "logits_f16"}
    halved = {it.name: numpy_helper.to_array(it).astype(np.float16) for it in model.graph.initializer}
    for node in model.graph.node:
        inputs = [renamed.get(name, name) for name in node.input]
        outputs = [renamed.get(name, name) for name in node.output]
        if node.op_type == "Gemm":
            # Some engines have Gemm in 32 bits alone. Its weights are [out, in].
            x, weight, bias = inputs
            halved[weight] = np.ascontiguousarray(halved[weight].T)
            nodes.append(helper.make_node("MatMul", [x, weight], [f"{outputs[0]}_product"]))
            nodes.append(helper.make_node("Add", [f"{outputs[0]}_product", bias], outputs))
            continue
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:], copy.output[:] = inputs, outputs
        nodes.append(copy)
    nodes.append(helper.make_node("Cast", ["logits_f16"], ["logits"], to=TensorProto.FLOAT))
    initializers = [numpy_helper.from_array(value, name) for name, value in halved.items()]
    return rebuilt(model, f"{model.graph.name}-f16", nodes, initializers)


# ---- All together ----------------------------------------------------------------------------------------------------


def rebuilt(model, name, nodes, initializers):
    """A checked model with other nodes and weights, and the same inputs, outputs and operator set."""
    graph = helper.make_graph(nodes, name, model.graph.input, model.graph.output, initializers)
    opsets, version = model.opset_import, model.ir_version
    made = helper.make_model(graph, producer_name="quantise.py", ir_version=version, opset_imports=opsets)
    onnx.checker.check_model(made, full_check=True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wrong-scale", type=float, metavar="FACTOR", help="divide the scale of the input by this")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the model with the wrong scale goes")
    flags = parser.parse_args()
    if (flags.wrong_scale is None) != (flags.out is None):
        parser.error("give both of --wrong-scale and --out, or neither")

    model = onnx.load(SOURCE)
    largest = ranges(model, images("calibration"))
    if flags.out:
        files = {flags.out: int8(model, largest, flags.wrong_scale)}
    else:
        files = {HERE / "digits-cnn-int8.onnx": int8(model, largest), HERE / "digits-cnn-f16.onnx": f16(model)}
    validation = images("validation")
    expected = logits(model, validation).argmax(axis=1)
    for path, made in files.items():
        onnx.save(made, path)
        same = int((logits(made, validation).argmax(axis=1) == expected).sum())
        print(f"{path.name}: {path.stat().st_size} bytes, the digit of the f32 model on {same} of {len(expected)} images")
    if not flags.out:
        write_checksums()


if __name__ == "__main__":
    main()
