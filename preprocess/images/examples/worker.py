"""Prepares JPEG files as the references do, once for each line on standard input, which names a pipeline and the height and
the width of its tensor; answers each with a line.

Usage: worker.py FOLDER_OF_THE_PACKAGES FOLDER_OF_THE_REFERENCES FILE...
"""

import sys

sys.path[:0] = sys.argv[1:3]
import cv2  # noqa: E402
import numpy as np  # noqa: E402
from references import PIPELINES, decoded  # noqa: E402

# One process for each processor: more threads would only be in each other's way.
cv2.setNumThreads(1)


def main():
    files = sys.argv[3:]
    for line in sys.stdin:
        name, height, width = line.split()
        for path in files:
            with open(path, "rb") as file:
                image = decoded(file.read())
            tensor = PIPELINES[name](image, int(height), int(width))
            np.ascontiguousarray(tensor.transpose(2, 0, 1))
        print("done", flush=True)


if __name__ == "__main__":
    main()
