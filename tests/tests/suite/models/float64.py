"""Answers of a generated network in float64: of a JSON list of samples on stdin, as a list of the same order on stdout.

    python float64.py datasets/recipes gnmt-tiny      # a sample: the numbers of its tokens
    python float64.py datasets/recipes rnnt-tiny      # a sample: the path of its features, f32 [rows, 240]

An answer has its tokens, and the least margin by which a choice was made.
"""

import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import networks
import recipes

weights = recipes.recipe(sys.argv[2]).weights()


def gnmt(sample, margins):
    source = np.array([sample], dtype=np.int64)
    return networks.gnmt(weights, source, [len(sample)], 4, 0.6, 0.1, margins)


def rnnt(sample, margins):
    features = np.fromfile(sample, dtype=np.float32).astype(np.float64).reshape(-1, 240)
    return networks.rnnt(weights, features, [len(features)], 3, 500, margins)


def answer(sample):
    margins = []
    outputs = {"gnmt-tiny": gnmt, "rnnt-tiny": rnnt}[sys.argv[2]](sample, margins)
    return {"tokens": [int(token) for token in outputs["tokens"]], "margin": min(margins)}


print(json.dumps([answer(sample) for sample in json.load(sys.stdin)]))
