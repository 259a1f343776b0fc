"""Prepares the scan of a case as MLPerf's reference does, some times over: `speed.py FILE COUNT`.

Prints the seconds of each time, and a line with the sum of the values.
"""

import sys
import time

import nibabel
import numpy as np
from scipy.ndimage import zoom


def prepare(path):
    image = nibabel.load(path)
    factor = np.array(image.header["pixdim"][1:4].tolist()) / np.array([1.6, 1.2, 1.2])
    scan = image.get_fdata().astype(np.float32)
    scan = zoom(scan, factor, order=1, mode="constant", cval=scan.min(), grid_mode=False)
    scan = (np.clip(scan, -79, 304) - 101.0) / 76.9
    short = [max(0, 128 - length) for length in scan.shape]
    scan = np.pad(scan, [(n // 2, n - n // 2) for n in short], mode="edge")
    rests = [length % 64 if length % 64 < 32 else 0 for length in scan.shape]
    scan = scan[tuple(slice(r // 2, n - (r - r // 2)) for r, n in zip(rests, scan.shape))]
    missing = [-length % 64 for length in scan.shape]
    widths = [(n // 2, n - n // 2) for n in missing]
    return np.ascontiguousarray(np.pad(scan, widths, mode="constant", constant_values=-2.2))


for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    values = prepare(sys.argv[1])
    print(time.perf_counter() - start)
print(values.shape, values.astype(np.float64).sum())
