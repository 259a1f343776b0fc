"""Writes the node tests of the installed `onnx` package for the operators that are run here to the folder given."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests

OPERATORS = set(
    "LSTM GRU RNN MatMul Gemm Add Sub Mul Div Relu Sigmoid Tanh Softmax Transpose Reshape Squeeze Unsqueeze Slice Gather "
    "Concat Split ReduceMax ReduceMean ReduceSum Identity Constant Shape Flatten".split()
)
TYPES = {TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64}


def is_ours(model: onnx.ModelProto) -> bool:
    """One operator that is run here, on tensors of types that are run here."""
    values = [*model.graph.input, *model.graph.output]
    types = {value.type.tensor_type.elem_type for value in values}
    return len(model.graph.node) == 1 and model.graph.node[0].op_type in OPERATORS and types <= TYPES


def main() -> None:
    target = Path(sys.argv[1])
    for case in load_node_model_tests():
        if not is_ours(case.model):
            continue
        folder = target / case.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        for kind, values, infos in [("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)]:
            for index, (value, info) in enumerate(zip(values, infos)):
                tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(value, info.name)
                (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


if __name__ == "__main__":
    main()
