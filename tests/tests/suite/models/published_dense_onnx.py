"""Answers of an ONNX file to samples by the Python package of ONNX Runtime, in the form of a benchmark.

Argument: a file of JSON with the model, the form of its answers, and type, shape and file of each tensor of each sample.
Leaves `answer-<sample>.bin` beside it.
"""

import json
import sys
from pathlib import Path

import numpy
import onnxruntime

sys.path.insert(0, str(Path(__file__).parents[4] / "plugins/onnx/tests/suite/dense"))
from peer import labels  # noqa: E402

NUMPY = {"f32": "<f4", "i32": "<i4", "i64": "<i8"}


def main():
    path = Path(sys.argv[1])
    case = json.loads(path.read_text())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(case["model"], options, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()

    def run(*tensors):
        kinds = [numpy.int32 if taken.type == "tensor(int32)" else numpy.float32 for taken in inputs]
        return session.run(None, {taken.name: it.astype(kind) for taken, it, kind in zip(inputs, tensors, kinds)})

    for index, sample in enumerate(case["samples"]):
        tensors = [
            numpy.fromfile(path.parent / it["file"], NUMPY[it["type"]]).reshape(it["shape"]) for it in sample
        ]
        match case["form"]:
            case "rows":
                answer = run(*tensors)[0].astype("<f4")
            case "pairs":
                answer = numpy.stack([it[0] for it in run(*(it[None] for it in tensors))], axis=-1)
            case "scores":
                answer = run(tensors[0][None])[0][0].astype("<f2")
            case "labels":
                extent = inputs[0].shape[-1]
                answer = labels(lambda window: run(window[None])[0][0], tensors[0], extent)[0].astype("u1")
        answer.tofile(path.parent / f"answer-{index}.bin")


main()
