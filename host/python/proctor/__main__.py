"""The program ``host`` within this interpreter: ``python -m proctor run ...``."""

import sys

from . import _native

_native.main(["host", *sys.argv[1:]])
