"""Makes vectors.json: a small vocabulary of byte pairs, and the tokens of some texts, by the library `tokenizers`.

    pip install tokenizers==0.23.3
    python make.py
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[2] / "recipes"))
PROMPTS = HERE.parents[2] / "smollm2-prompts"

from make_smollm2_reference import TEXTS  # noqa: E402


def main() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=520, special_tokens=control, initial_alphabet=alphabet, show_progress=False
    )
    texts = tomllib.loads((PROMPTS / "prompts.toml").read_text())["prompts"] + [(PROMPTS / "text.txt").read_text()]
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vectors = {
        "tokens": sorted(model["vocab"], key=model["vocab"].get),
        "merges": [" ".join(pair) for pair in model["merges"]],
        "control": control,
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in vectors.items()]
    rows = [json.dumps({"text": text, "tokens": tokenizer.encode(text).ids}) for text in TEXTS + texts]
    lines.append('  "texts": [\n    ' + ",\n    ".join(rows) + "\n  ]")
    (HERE / "vectors.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
