"""Digits by ONNX Runtime, with the model that comes with the benchmark.

    host run --plugin digits_onnx.py --benchmark digits-cnn --scenario SingleStream
"""

import onnxruntime
import proctor


@proctor.backend(
    name="onnx-digits",
    version="1.0",
    license="Apache-2.0",
    models="digits-*",
    formats="onnx",
    options={"threads": proctor.Option(1, "Threads of ONNX Runtime for each instance.", minimum=1, maximum=64)},
)
class Digits:
    """Classifies digits by ONNX Runtime."""

    def load(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = model.options["threads"]
        options.inter_op_num_threads = 1
        path = str(model.files["onnx"])
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def execute(self, batch):
        (logits,) = self.session.run(["logits"], {"image": batch.inputs["image"]})
        return logits


if __name__ == "__main__":
    print(proctor.run(benchmark="digits-cnn", scenario="Offline", plugin=Digits))
