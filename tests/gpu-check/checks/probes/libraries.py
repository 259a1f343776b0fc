"""Prints the versions of NVIDIA's libraries that the plugin cuda would load, as JSON. A process of its own: a library can
crash."""

import ctypes
import json
import sys
from pathlib import Path

TOOLKIT = Path("/usr/local/cuda/lib64")


def load(names, package, compiler):
    """The first library that loads, where the plugin looks for it: in Python's packages beside the compiler's, where the
    system looks, and in the toolkit."""
    folders = [compiler, compiler / "../.." / package / "lib"] if compiler else []
    for folder in [*folders, None, TOOLKIT]:
        for name in names:
            try:
                return ctypes.CDLL(str(folder / name) if folder else name)
            except OSError:
                pass
    return None


def version(library, function):
    """A version such as 12.9.1, by a function that returns 120901; versions of cuDNN before 9 have fewer digits."""
    function = getattr(library, function)
    function.restype = ctypes.c_size_t
    number = function()
    major = 10_000 if number >= 10_000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def main() -> dict:
    compiler = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    products = load(["libcublasLt.so.13", "libcublasLt.so.12"], "cublas", compiler)
    convolutions = load(["libcudnn.so.9"], "cudnn", compiler)
    return {
        "cublaslt": products and version(products, "cublasLtGetVersion"),
        "cudnn": convolutions and version(convolutions, "cudnnGetVersion"),
    }


if __name__ == "__main__":
    print(json.dumps(main()))
