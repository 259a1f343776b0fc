"""The arrays of DLRMv2 and the draws of sample sizes by NumPy: `arrays.py FOLDER`.

Reads the generated set in FOLDER/made, writes another one to FOLDER/numpy, and prints JSON: sums of the arrays read,
digests of samples of 100 rows of the set written, and draws.
"""

import hashlib
import json
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(3)

HOT = [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1]
ROWS = 950
folder = Path(sys.argv[1])

made = folder / "made"
arrays = [np.load(made / "day_23_dense_sample.npy")]
with np.load(made / "day_23_sparse_multi_hot_sample.npz") as archive:
    arrays += [archive[f"{feature}"] for feature in range(len(HOT))]
assert [array.dtype.str for array in arrays] == ["<f4"] + ["<i4"] * 26
sums = [float(array.astype(np.float64).sum()) for array in arrays]
labels = np.load(made / "day_23_labels_sample.npy")
clicks = (arrays[0][:, 0] >= 1.5).astype(np.int32)
assert labels.dtype == np.int32 and (labels[:, 0] == clicks).all()

rng = np.random.default_rng(9)
ours = folder / "numpy"
ours.mkdir()
dense = rng.standard_normal((ROWS, 13)).astype(np.float32)
features = [rng.integers(0, 3, (ROWS, hot)).astype(np.int32) for hot in HOT]
np.save(ours / "day_23_dense_debug.npy", dense)
np.save(ours / "day_23_labels_debug.npy", rng.integers(0, 2, (ROWS, 1)).astype(np.int32))
named = {str(feature): array for feature, array in enumerate(features)}
np.savez(ours / "day_23_sparse_multi_hot_debug.npz", **named)
digests = []
for start in range(0, ROWS, 100):
    parts = [array[start : start + 100].tobytes() for array in [dense, *features]]
    digests.append(hashlib.sha256(b"".join(parts)).hexdigest())

draws = []
for least, most in [(1, 1), (1, 2), (100, 700), (3, 130), (5, 4100), (1, 1 << 20)]:
    np.random.seed(123)
    draws.append([least, most, np.random.randint(least, most + 1, size=1000).tolist()])
np.random.seed(123)
quantiles = [100, 100] + [200] * 12 + [300, 300, 400, 500, 600, 700]
drawn = [quantiles[int(np.random.randint(low=0, high=20))] for _ in range(5000)]
print(json.dumps({"sums": sums, "rows": len(labels), "digests": digests, "draws": draws, "drawn": drawn}))
