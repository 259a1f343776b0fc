"""Computes what SmolLM2-135M-Instruct answers: datasets/recipes/reference/smollm2-135m-generate.json, in float64.

    python make_smollm2_reference.py PATH/SmolLM2-135M-Instruct.Q4_1.gguf

Needs numpy and tokenizers, and some minutes. The prompts and the text are those of datasets/smollm2-prompts, and the
tokens are made of them by the library `tokenizers` with the vocabulary of the file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import tomllib
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from smollm2 import Gguf, Network

PROMPTS = Path(__file__).parent.parent / "smollm2-prompts"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# Room for an answer in the benchmark.
TOKENS_MAX = 48
END = "<|im_end|>"
# Texts for tests of a tokenizer beside the prompts.
TEXTS = [
    "", " ", "a", "Hello, world!", "Hello  world", "  two spaces before, two after  ",
    "tabs\tand\r\nlines\n\n\nand more",
    "It's what we've said: they'll, I'm, you'd, he's; 'S 'LL don''t", "12345 and 3.14 and 1,000,000", "x5y 7z  8 9",
    "naïve café, Straße, Ångström", "Привет, мир! 你好,世界。 こんにちは", "🙂👍🏽 and \u200d joined", "½ ² Ⅷ ٣",
    "no\u00a0break \u2003em \u3000wide", "e\u0301 combining", "a_b-c/d\\e(f)[g]{h}<i>|j", "'", "''s", " 's",
    "…“quoted”—dash",
    "<|im_start|>user\nhi<|im_end|>\n", "<|im_start", "<|endoftext|><|endoftext|> ", "def f(x):\n    return x + 1\n",
    "   \n   \n", "end with spaces   ", "\u0085next \u2028line", "word\u0000zero",
]


def tokenizer(file: Gguf) -> Tokenizer:
    names, kinds = file.values["tokenizer.ggml.tokens"], file.values["tokenizer.ggml.token_type"]
    pairs = [tuple(pair.split(" ")) for pair in file.values["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=pairs))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    control = 3
    made.add_special_tokens([AddedToken(name, special=True) for name, kind in zip(names, kinds) if kind == control])
    return made


def chat(system: str, prompt: str) -> str:
    parts = [("system", system), ("user", prompt)]
    return "".join(f"<|im_start|>{who}\n{text}<|im_end|>\n" for who, text in parts) + "<|im_start|>assistant\n"


def answer(network: Network, prompt: list[int], end: int) -> dict:
    """Greedy words, the first of equals; the end is not taken as the first word, as in `llama.md`."""
    tokens, margin = [], np.inf
    network.begin()
    logits = network.logits(prompt)[-1]
    while len(tokens) < TOKENS_MAX and (not tokens or tokens[-1] != end):
        logits = logits.copy()
        if not tokens:
            logits[end] = -np.inf
        best = int(logits.argmax())
        others = np.delete(logits, best)
        margin = min(margin, float(logits[best] - others.max()))
        tokens.append(best)
        if len(tokens) < TOKENS_MAX and best != end:
            logits = network.logits([best])[-1]
    return {"tokens": tokens, "margin": [float(f"{margin:.4g}")]}


def likelihoods(network: Network, tokens: list[int]) -> list[float]:
    """The logarithm of the probability of each token but the first, after those before it."""
    network.begin()
    logits = network.logits(tokens)[:-1]
    most = logits.max(-1)
    sums = most + np.log(np.exp(logits - most[:, None]).sum(-1))
    return (logits[np.arange(len(tokens) - 1), tokens[1:]] - sums).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "reference" / "smollm2-135m-generate.json")
    arguments = parser.parse_args()
    if hashlib.sha256(arguments.file.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{arguments.file} is another file: its SHA-256 is not {SHA256}")
    file = Gguf(arguments.file)
    words, network = tokenizer(file), Network(file)
    given = tomllib.loads((PROMPTS / "prompts.toml").read_text())
    text = words.encode((PROMPTS / "text.txt").read_text().rstrip("\n")).ids
    samples, end = [], words.token_to_id(END)
    for prompt in given["prompts"]:
        ids = words.encode(chat(given["system"], prompt)).ids
        samples.append(answer(network, ids, end) | {"prompt": ids})
        print(repr(words.decode(samples[-1]["tokens"])), samples[-1]["margin"], flush=True)
    of_text = likelihoods(network, text)
    reference = {
        "model": "smollm2-135m-generate",
        "made_by": f"datasets/recipes/make_smollm2_reference.py, numpy {np.__version__}, tokenizers "
        f"{tokenizers.__version__}, Python {platform.python_version()}",
        "file_sha256": SHA256,
        "perplexity": float(f"{np.exp(-np.mean(of_text)):.7g}"),
        "text": {"tokens": text, "log_likelihoods": [float(f"{value:.7g}") for value in of_text]},
        "tokenizer": [{"text": text, "tokens": words.encode(text).ids} for text in TEXTS],
        "samples": samples,
    }
    print("perplexity", reference["perplexity"])
    head = {key: value for key, value in reference.items() if key not in ("tokenizer", "samples")}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key in ("tokenizer", "samples"):
        rows = ",\n".join(f"    {json.dumps(row)}" for row in reference[key])
        lines.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
    arguments.out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
