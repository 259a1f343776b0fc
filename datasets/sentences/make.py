"""Makes the files of the sentences from their pairs: the list of samples, and the vector that the model has for each.

    python -m venv /tmp/sentences && /tmp/sentences/bin/pip install -r requirements.txt
    /tmp/sentences/bin/python make.py FOLDER

FOLDER has model.onnx and tokenizer.json of minilm-int8. Nothing of Proctor is used: tokens are those of the library
tokenizers, the model runs in ONNX Runtime, one sentence at a time and without padding, and the rest is f64 in NumPy.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent


def read_pairs():
    """Both sentences of each line, which a tab separates."""
    lines = (HERE / "pairs.tsv").read_text("utf-8").splitlines()
    pairs = [line.split("\t") for line in lines]
    assert all(len(pair) == 2 for pair in pairs)
    return pairs


class Model:
    """Vectors of sentences."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(folder / "model.onnx", options, ["CPUExecutionProvider"])

    def tokens(self, sentence):
        return self.tokenizer.encode(sentence).ids

    def vectors(self, rows, length):
        """The mean of the last layer over the tokens of each row, scaled to the length 1; rows are padded."""
        ids = np.zeros((len(rows), length), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self.session.run(["last_hidden_state"], inputs)[0].astype(np.float64)
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def nearest(vectors):
    """The sentence with the greatest cosine to each, other than itself."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    return cosines.argmax(1)


def main():
    model = Model(Path(sys.argv[1]))
    pairs = read_pairs()
    sentences = sorted({sentence for pair in pairs for sentence in pair})
    assert len(sentences) == 2 * len(pairs), "a sentence is there twice"
    place = {sentence: index for index, sentence in enumerate(sentences)}
    partner = np.zeros(len(sentences), np.int64)
    for first, second in pairs:
        partner[place[first]], partner[place[second]] = place[second], place[first]

    rows = [model.tokens(sentence) for sentence in sentences]
    vectors = np.concatenate([model.vectors([row], len(row)) for row in rows])
    lengths = [len(row) for row in rows]
    print(f"{len(rows)} sentences of {min(lengths)} to {max(lengths)} tokens, {np.mean(lengths):.1f} in the mean")
    found = nearest(vectors) == partner
    print(f"nearest is the other of the pair: {found.sum()} of {found.size}")
    for count, length in [(1, 32), (8, 32), (8, 64), (len(rows), 32)]:
        parts = [model.vectors(rows[at : at + count], length) for at in range(0, len(rows), count)]
        largest = np.abs(np.concatenate(parts) - vectors).max()
        print(f"in batches of {count}, padded to {length}: a value differs by {largest:.1e} at most")

    (HERE / "sentences.txt").write_text("".join(f"{sentence}\n" for sentence in sentences), "utf-8")
    np.save(HERE / "embeddings.npy", vectors.astype("<f4"))


if __name__ == "__main__":
    main()
