"""Computes what the generated models answer: datasets/recipes/reference/<model>.json, in float64.

    python make_reference.py                  # all models
    python make_reference.py gnmt rnnt        # these
    python make_reference.py gnmt --samples 100 --out folder

Needs numpy alone. The full-size models take some minutes and about 4 GB for gnmt.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from pathlib import Path

import numpy as np

import networks
import recipes
from recipes import Inputs


def text_similarity(name, weights, sample, vocabulary, steps, documents):
    inputs = Inputs(name, sample)
    low = min(5, steps)
    query_length = inputs.lengths("query_length", 1, low, steps)
    query = inputs.words("query", query_length, steps, vocabulary)
    lengths = inputs.lengths("document_lengths", documents, low, steps)
    texts = inputs.words("documents", lengths, steps, vocabulary)
    return networks.text_similarity(weights, query, query_length, texts, lengths)


def attention_sum_reader(name, weights, sample, vocabulary, question_steps, contexts, steps, candidates):
    inputs = Inputs(name, sample)
    question_length = inputs.lengths("question_length", 1, question_steps // 2, question_steps)
    question = inputs.words("question", question_length, question_steps, vocabulary)
    lengths = inputs.lengths("context_lengths", contexts, steps // 2, steps)
    words = inputs.words("contexts", lengths, steps, vocabulary)
    picked = inputs.candidates("candidates", candidates, words, lengths)
    return networks.attention_sum_reader(weights, question, question_length, words, lengths, picked)


def bidaf(name, weights, sample, vocabulary, question_steps, steps):
    inputs = Inputs(name, sample)
    question_length = inputs.lengths("question_length", 1, question_steps // 2, question_steps)
    question = inputs.words("question", question_length, question_steps, vocabulary)
    length = inputs.lengths("context_length", 1, steps // 2, steps)
    context = inputs.words("context", length, steps, vocabulary)
    return networks.bidaf(weights, question, question_length, context, length)


def gnmt(name, weights, sample, vocabulary, steps, beam, length_weight, coverage_weight):
    inputs, margins = Inputs(name, sample), []
    length = inputs.lengths("source_length", 1, min(5, steps // 2), steps)
    source = inputs.words("source", length, steps, vocabulary, first=3)
    outputs = networks.gnmt(weights, source, length, beam, length_weight, coverage_weight, margins)
    return outputs | {"margin": np.array([min(margins)])}


def rnnt(name, weights, sample, width, steps, symbols_max, room):
    inputs, margins = Inputs(name, sample), []
    length = inputs.lengths("feature_length", 1, steps // 5, steps)
    features = inputs.uniform("features", length[0], (steps, width), 2.0)
    outputs = networks.rnnt(weights, features, length, symbols_max, room, margins)
    return outputs | {"margin": np.array([min(margins)])}


RUNS = {
    "text-similarity": lambda n, w, s: text_similarity(n, w, s, 50000, 20, 10),
    "text-similarity-33": lambda n, w, s: text_similarity(n, w, s, 50000, 20, 33),
    "text-similarity-tiny": lambda n, w, s: text_similarity(n, w, s, 50, 6, 3),
    "attention-sum-reader": lambda n, w, s: attention_sum_reader(n, w, s, 20000, 20, 10, 100, 10),
    "attention-sum-reader-tiny": lambda n, w, s: attention_sum_reader(n, w, s, 30, 5, 3, 9, 4),
    "bidaf": lambda n, w, s: bidaf(n, w, s, 50000, 15, 100),
    "bidaf-tiny": lambda n, w, s: bidaf(n, w, s, 40, 4, 9),
    "gnmt": lambda n, w, s: gnmt(n, w, s, 32317, 50, 10, 1.0, 0.0),
    "gnmt-tiny": lambda n, w, s: gnmt(n, w, s, 40, 8, 4, 0.6, 0.1),
    "rnnt": lambda n, w, s: rnnt(n, w, s, 240, 500, 30, 500),
    "rnnt-tiny": lambda n, w, s: rnnt(n, w, s, 240, 500, 3, 500),
}
SAMPLES = 16


def layer(name: str, samples: int) -> dict:
    """A single recurrent layer `rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]`, cells lstm and gru."""
    _, cell, width, hidden, _, seq, *bi = name.split("-")
    recipe = recipes.Recipe(name)
    recipe.rnn(cell, {"lstm": 4, "gru": 3}[cell], [(int(width), int(hidden))], bidirectional=bool(bi))
    weights = recipe.weights()
    shape = (int(seq), int(width))
    run = lambda s: {"y": networks.layer(weights, cell, Inputs(name, s).uniform("x", shape[0], shape, 1.0))[0]}
    return describe(recipe, weights, [run(sample) for sample in range(samples)])


def describe(recipe: recipes.Recipe, weights: dict, answers: list[dict]) -> dict:
    tensors = {
        t.name: {"shape": list(t.shape), "sum_of_first_16": float(weights[t.name].ravel()[:16].sum())}
        for t in recipe.tensors
    }
    return {
        "model": recipe.name,
        "made_by": f"datasets/recipes/make_reference.py, numpy {np.__version__}, Python {platform.python_version()}",
        "parameters": sum(math.prod(t.shape) for t in recipe.tensors),
        "tensors": tensors,
        "samples": [{key: numbers(value) for key, value in answer.items()} for answer in answers],
    }


def numbers(values: np.ndarray) -> list:
    """Integers as they are, others with the 9 digits that tell any two f32 apart."""
    flat = values.ravel()
    return [int(v) for v in flat] if flat.dtype.kind == "i" else [float(f"{v:.9g}") for v in flat]


def network(name: str, samples: int) -> dict:
    recipe = recipes.recipe(name)
    weights = recipe.weights()
    reference = describe(recipe, weights, [RUNS[name](name, weights, sample) for sample in range(samples)])
    return reference | {"model": name}


def dump(reference: dict) -> str:
    """One line for each tensor and sample."""
    lines = ["{"]
    for key in ["model", "made_by", "parameters"]:
        lines.append(f"  {json.dumps(key)}: {json.dumps(reference[key])},")
    tensors = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in reference["tensors"].items()]
    samples = [f"    {json.dumps(sample)}" for sample in reference["samples"]]
    lines += ['  "tensors": {', ",\n".join(tensors), "  },", '  "samples": [', ",\n".join(samples), "  ]", "}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    layers = ["rnn-lstm-3-5-2-4-bi", "rnn-gru-3-5-2-4"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=[*RUNS, *layers])
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "reference")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.models:
        make = network if name in RUNS else layer
        (arguments.out / f"{name}.json").write_text(dump(make(name, arguments.samples)))
        print(name, flush=True)


if __name__ == "__main__":
    main()
