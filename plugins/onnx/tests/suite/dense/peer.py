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

# The networks, as the reference outputs are computed.
sys.path.insert(0, str(Path(__file__).parents[5] / "datasets/recipes"))
from dense_models import dlrm, dlrm_v2, unet  # noqa: E402


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


def bell(extent):
    middle = (extent - 1) / 2
    line = np.exp(-0.5 * ((np.arange(extent) - middle) / (extent / 8)) ** 2)
    cube = np.cbrt(line[:, None, None] * line[:, None] * line)
    return cube / cube.max()


def labels(scores, volume, extent):
    """Labels of a volume, by `scores` of windows that overlap by half, and the gaps between the two best means."""
    weight, shape = bell(extent), volume.shape[1:]
    sums = norm = 0.0
    for start in itertools.product(*(range(0, n - extent + 1, extent // 2) for n in shape)):
        box = tuple(slice(at, at + extent) for at in start)
        around = [(at, n - at - extent) for at, n in zip(start, shape)]
        sums = sums + np.pad(scores(volume[(slice(None), *box)]) * weight, [(0, 0), *around])
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
                of_window = lambda window: unet(w, window, 0.0)
                (answer, gap), kind = labels(of_window, *tensors, case["extent"]), "u1"
        answer.astype(kind).tofile(folder / f"answer-{index}.bin")
        if gap is not None:
            gap.astype("<f4").tofile(folder / f"gap-{index}.bin")


if __name__ == "__main__":
    main()
